"""Figures of a coordinator of impl/group as a process on a real ZooKeeper, with thousands of consumers that it pings.

usage: python -m tests.benchmarks.group_scale [--consumers N] [--groups N] [--minutes N] [--largest N]

The consumers are whole but for their fetchers: the partitions that they are assigned move by an offset every few
seconds. All are in this process, so that what is measured has its time in it, too: how late it is, and by whose doing,
is told beside that of the coordinator. They start at once; then pings are measured for so many minutes; then one more
group starts, of so many consumers as --largest says; then the coordinator is killed, and the other broker is elected.
Ctrl-C and SIGTERM end all processes, with exit code 3.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import io
import itertools
import json
import os
import re
import signal
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from impl.group.consumer import State
from impl.group.consumer_process import ConsumerProcess
from impl.group.settings import BrokerSettings, ConsumerSettings
from impl.runtime.lag import Lag, watch_lag
from tests.benchmarks.printing import line
from tests.cluster.zookeeper import zookeeper
from tests.impl.group.cluster import Cluster

CONSUMERS, GROUPS, MINUTES, LARGEST = 5_000, 100, 10.0, 1_000
SESSION_MS, PARTITIONS, DATA = 6_000, 100, 9
_SPREAD_S, _MOVES_S, _WAIT_S, _LIMIT_S, _SETTLES_S = 5.0, 5.0, 0.1, 300.0, 5.0
_PARTS = 50
_BROKER = {
    "zk.sessiontimeout.ms": "6000", "consumer.min.session.timeout.ms": str(SESSION_MS),
    "consumer.max.session.timeout.ms": str(SESSION_MS), "consumer.max.failed.pings": "3",
    "consumer.offset.commit.interval.ms": "10000", "rebalance.backoff.ms": "2000", "metrics.port": "0",
}  # fmt: skip
_LONGEST_MS = BrokerSettings(0, "", max_consumer_session_ms=SESSION_MS).longest_session_ms


class NoFetchers:
    """In the place of a consumer's fetchers: nothing is fetched."""

    def changed(self) -> None:
        pass

    async def stop(self) -> None:
        pass


class LoadingConsumer(ConsumerProcess):
    """A consumer, as far as a coordinator has to do with it."""

    def __init__(self, settings: ConsumerSettings) -> None:
        super().__init__(settings, io.BytesIO())
        self._fetchers = NoFetchers()  # type: ignore[assignment]  # stands in for it

    def move(self) -> None:
        """A record of each of its partitions is consumed."""
        for of, fetched in self.core.fetched.items():
            self.core.begin_at(of, 0)
            fetched.offset += 1


class Load:
    """The consumers of a run."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.consumers: list[LoadingConsumer] = []
        self.lags: list[Lag] = []
        """Of the loop that all of them share, in the order of time."""
        self._tasks: list[asyncio.Task[object]] = [asyncio.create_task(watch_lag(self.lags.append))]

    async def add(self, names: Sequence[tuple[str, str]]) -> None:
        """Start consumers: group and id of each."""
        bootstrap = tuple(self.cluster.addresses().values())
        for group, name in names:
            settings = ConsumerSettings(bootstrap, group, name, '{"t": 1}', SESSION_MS)
            self.consumers.append(LoadingConsumer(settings))
            self._tasks.append(asyncio.create_task(self.consumers[-1].run()))
            await asyncio.sleep(_SPREAD_S / len(names))

    async def moves(self) -> None:
        """Consume, for ever."""
        for part in itertools.cycle(range(_PARTS)):
            await asyncio.sleep(_MOVES_S / _PARTS)
            for consumer in self.consumers[part::_PARTS]:
                consumer.move()

    async def until(self, holds: Callable[[LoadingConsumer], bool]) -> float:
        """How long it takes until this holds for all, in s."""
        began_s = time.monotonic()
        while not all(holds(one) for one in self.consumers):
            if time.monotonic() - began_s > _LIMIT_S:
                count = sum(not holds(one) for one in self.consumers)
                raise SystemExit(f"after {_LIMIT_S:.0f} s, {count} consumers are not started: the machine is too slow")
            await asyncio.sleep(_WAIT_S)
        return time.monotonic() - began_s

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # The coordinator's own figures.

    def log(self) -> str:
        return "".join(one.log.read_text(errors="replace") for one in self.cluster.processes)

    def longest_rebalance_ms(self, of: Callable[[str], bool]) -> int:
        """The longest rebalance of a group that was done, with every member started."""
        lines = self.lines("rebalance has ended")
        return max((one["took_ms"] for one in lines if one["outcome"] == "done" and of(one["group"])), default=-1)

    def lines(self, event: str) -> list[dict[str, Any]]:
        """The lines of the brokers' logs about an event."""
        return [json.loads(one) for one in self.log().splitlines() if f'"event": "{event}"' in one]

    def elected_s(self) -> float:
        """When the newest coordinator was elected, in s of the wall clock."""
        return max(datetime.fromisoformat(one["time"]).timestamp() for one in self.lines("elected"))

    def cpu_s(self) -> tuple[float, float]:
        """The processor time used so far: by the coordinator, and by these consumers."""
        return self.cluster.brokers[self.cluster.coordinator() or 0].cpu_s, time.process_time()

    def metrics(self) -> dict[str, float]:
        """The samples of the coordinator, by name; of PingTimeMs also by bucket."""
        log = self.cluster.brokers[self.cluster.coordinator() or 0].log.read_text(errors="replace")
        address = re.search(r'"event": "metrics".*"address": "([^"]*)"', log)
        assert address is not None, "the coordinator serves its metrics"
        with urllib.request.urlopen(f"http://{address[1]}/metrics") as answer:
            families = list(text_string_to_metric_families(answer.read().decode()))
        return {one.name + one.labels.get("le", ""): one.value for family in families for one in family.samples}


def is_started(consumer: LoadingConsumer) -> bool:
    """It has joined, and was started since it looked for the coordinator."""
    return consumer.core.state is State.JOINED and consumer.core.is_started


def within_ms(name: str, share: float, before: dict[str, float], after: dict[str, float]) -> float:
    """A bound of a histogram's below which this share is of what was observed between two looks."""
    count = after[f"{name}_count"] - before[f"{name}_count"]
    buckets = [one for one in after if one.startswith(f"{name}_bucket")]
    bounds = {float(one.removeprefix(f"{name}_bucket")): after[one] - before[one] for one in buckets}
    return min(bound for bound, below in bounds.items() if below >= share * count)


def told(before: dict[str, float], after: dict[str, float], took_s: float) -> None:
    """What was answered between two looks, and how fast; how late the coordinator was, and by whose doing."""
    count = after["PingTimeMs_count"] - before["PingTimeMs_count"]
    p99_ms = within_ms("PingTimeMs", 0.99, before, after)
    line(f"pings answered in {took_s:.0f} s", f"{count:,.0f}, 99% of them within {p99_ms:,.0f} ms", "100 ms")
    late_ms = [f"{within_ms('LoopLagMs', share, before, after):,.0f} ms" for share in (0.99, 1.0)]
    line("timers of the coordinator late, 99% of them, and all", f"by up to {' and '.join(late_ms)}", "-")
    waited_ms = after["ProcessorWaitMs_total"] - before["ProcessorWaitMs_total"]
    line("of each second, it waited for a processor", f"{waited_ms / took_s:.0f} ms", "-")


def told_of_consumers(lags: Sequence[Lag], took_s: float) -> None:
    """How late the process of the consumers was."""
    late_ms = sorted(lag.late_ms for lag in lags)
    bounds = f"by up to {late_ms[int(0.99 * len(late_ms))]:,.0f} ms and {late_ms[-1]:,.0f} ms"
    line("timers of the consumers late, 99% of them, and all", bounds, "-")
    waited_ms = sum(lag.waited_ms for lag in lags)
    line("of each second, they waited for a processor", f"{waited_ms / took_s:.0f} ms", "-")


async def measure(cluster: Cluster, consumers: int, groups: int, minutes: float, largest: int) -> None:
    load = Load(cluster)
    moves = asyncio.create_task(load.moves())
    began_s = time.monotonic()
    await load.add([(f"g{number % groups}", f"c{number}") for number in range(consumers)])
    await load.until(is_started)
    line(f"{consumers:,} consumers in {groups} groups are started", f"{time.monotonic() - began_s:.1f} s", "-")
    size = consumers // groups
    took_ms = await asyncio.to_thread(load.longest_rebalance_ms, lambda _: True)
    line(f"the longest rebalance of a group of {size}", f"{took_ms:,} ms", "1,000 ms")
    gc.collect()
    gc.freeze()  # else what is measured has the pauses of this process in it
    await asyncio.sleep(_SETTLES_S)
    load.lags.clear()
    before, began_s, used_before_s = await asyncio.to_thread(load.metrics), time.monotonic(), load.cpu_s()
    await asyncio.sleep(60 * minutes)
    lags, after, used_s = tuple(load.lags), await asyncio.to_thread(load.metrics), load.cpu_s()
    count = after["PingTimeMs_count"] - before["PingTimeMs_count"]
    each = " and ".join(f"{1e6 * (b - a) / count:.0f} us" for a, b in zip(used_before_s, used_s, strict=True))
    line("processor time a ping, of the coordinator and of consumers", each, "-")
    took_s = time.monotonic() - began_s
    told(before, after, took_s)
    told_of_consumers(lags, took_s)
    for one in await asyncio.to_thread(load.lines, "this process is late"):
        waited = f"{one['waited_ms']:,} ms of it without a processor, {one['used_ms']:,} ms with one"
        line(f"broker {one['broker']} was late by {one['late_ms']:,} ms", waited)
    committed = after["CommittedOffsetsPerSec_total"] - before["CommittedOffsetsPerSec_total"]
    line("offsets committed in that time", f"{committed:,.0f}", "-")
    suspected = (await asyncio.to_thread(load.log)).count('"event": "removed"')
    line("consumers that were suspected", f"{suspected}", "0")
    if largest:
        await load.add([("largest", f"l{number}") for number in range(largest)])
        await load.until(is_started)
        took_ms = await asyncio.to_thread(load.longest_rebalance_ms, lambda group: group == "largest")
        line(f"the longest rebalance of a group of {largest:,}", f"{took_ms:,} ms", "10,000 ms")
    killed = cluster.coordinator()
    assert killed is not None, "somebody is the coordinator"
    killed_s = time.time()
    cluster.brokers[killed].kill()
    epochs = [one.core.coordinator_epoch for one in load.consumers]
    newest = max(epochs)
    took_s = await load.until(lambda one: one.core.coordinator_epoch > newest and is_started(one))
    elected_s = await asyncio.to_thread(load.elected_s) - killed_s
    line("another broker was elected after", f"{elected_s:.1f} s", "-")
    line(f"all {len(epochs):,} started after a failover", f"{took_s:.1f} s", f"{_LONGEST_MS / 1000 + 10:.0f} s")
    line("processes that wanted to run, in the last minute", f"{os.getloadavg()[0]:.1f}", "-")
    moves.cancel()
    await load.stop()


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.group_scale")
    parser.add_argument("--consumers", type=int, default=CONSUMERS)
    parser.add_argument("--groups", type=int, default=GROUPS)
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--largest", type=int, default=LARGEST)
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))  # else processes are left behind
    with zookeeper() as ensemble, tempfile.TemporaryDirectory(prefix="scale-") as folder:
        cluster = Cluster(ensemble, Path(folder), brokers=0, topics="", further=_BROKER)
        try:
            cluster.start_data_broker(DATA, f"t:{PARTITIONS}")
            for broker in range(2):
                cluster.start_broker(broker)
            cluster.wait_for(lambda: cluster.coordinator() is not None)
            asyncio.run(measure(cluster, options.consumers, options.groups, options.minutes, options.largest))
        except KeyboardInterrupt:
            print("stopped before the end")
            return 3
        finally:
            cluster.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
