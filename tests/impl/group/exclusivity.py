"""Exclusivity as consumers' own records show it: a former coordinator pings on while its successor starts another one.

The coordinator is cut off from ZooKeeper only, and another consumer registers with the next one; records are produced
all the while, and for two seconds more. Run in any setting: what is measured is who consumed what, and when.

usage: python -m tests.impl.group.exclusivity [SETTING ...]
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.cluster.zookeeper import Ensemble, zookeeper
from tests.impl.group.cluster import Cluster, Consumed

SETTINGS = ("draft", "shipped", "repaired")
FORMER, NEWCOMER = ("a", "b"), "c"
PARTITIONS, DATA, BROKERS = 3, 2, 2
_PRODUCE_S, _GOES_ON_S = 0.04, 2.0


@dataclass(frozen=True)
class Exclusivity:
    """What a run shows of partitions that somebody else has begun to consume.

    late: records of theirs that those consumed who had them before; both_ms: the longest time from the beginning to
    the last of these.
    """

    records: int
    late: int
    both_ms: float


def exclusivity(consumed: Iterable[Consumed], until_ns: int) -> Exclusivity:
    """The figures of what was consumed, in the order of time, up to a time before which nobody gives back anything."""
    begun: dict[str, int] = {}
    records = late = both_ns = 0
    for one in consumed:
        if one.time_ns > until_ns:
            break
        records += 1
        if one.consumer == NEWCOMER:
            begun.setdefault(one.partition, one.time_ns)
        elif one.partition in begun:
            late += 1
            both_ns = max(both_ns, one.time_ns - begun[one.partition])
    return Exclusivity(records, late, both_ns / 1e6)


def measured(ensemble: Ensemble, folder: Path, setting: str) -> Exclusivity:
    """One run. Raises AssertionError where the newcomer consumes nothing."""
    folder.mkdir(parents=True)
    run = Cluster(ensemble, folder, brokers=0, topics="", further={"group.setting": setting}, is_linked=True)
    is_over = threading.Event()
    try:
        begin(run, setting)
        producer = threading.Thread(target=produce, args=(run, is_over), daemon=True)
        producer.start()
        run.wait_for(lambda: {one.consumer for one in run.consumed()} == set(FORMER))
        former = run.coordinator()
        assert former is not None
        run.links[former].cut()
        run.wait_for(lambda: run.coordinator() not in (None, former))
        run.start_consumer(NEWCOMER, group_setting=setting)
        run.wait_for(lambda: any(one.consumer == NEWCOMER for one in run.consumed()))
        time.sleep(_GOES_ON_S)
        until_ns = time.monotonic_ns()
        is_over.set()
        producer.join()
        return exclusivity(run.consumed(), until_ns)
    finally:
        is_over.set()
        run.stop()


def begin(run: Cluster, setting: str) -> None:
    run.start_data_broker(DATA, f"t:{PARTITIONS}")
    run.wait_for(lambda: len(run.known_addresses()) == 1)
    for broker in range(BROKERS):
        run.start_broker(broker)
    for number, consumer in enumerate(FORMER):  # one after the other: the draft forgets who joins during a rebalance
        run.start_consumer(consumer, group_setting=setting)
        run.wait_for(partial(run.are_fetched, PARTITIONS, set(FORMER[: number + 1])))


def produce(run: Cluster, is_over: threading.Event) -> None:
    number = 0
    while not is_over.wait(_PRODUCE_S):
        for partition in range(PARTITIONS):
            run.produce(DATA, partition, [f"{partition}-{number}"])
        number += 1


def main(arguments: Sequence[str]) -> None:
    """Measure a run of each setting."""
    with zookeeper() as ensemble, tempfile.TemporaryDirectory(prefix="exclusivity-") as folder:
        for setting in arguments or SETTINGS:
            found = measured(ensemble, Path(folder) / setting, setting)
            print(
                f"{setting}: {found.late:,} of {found.records:,} records are consumed by who had the partition before, "
                f"for {found.both_ms:,.0f} ms",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
