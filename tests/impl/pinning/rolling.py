"""Moves of the controller in a rolling restart of real brokers, by design and number of brokers.

usage: python -m tests.impl.pinning.rolling [--runs N] [--at-once N] [BROKERS ...]

A median and the least and the most of so many runs: what no pin decides is a matter of who wins an election.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median_low

from impl.pinning.messages import PIN_CONTROLLER, PinControllerRequest
from impl.pinning.tool import ask
from impl.zookeeper.office import CONTROLLER
from impl.zookeeper.transaction_log import read_logs
from tests.cluster.brokers import address_of
from tests.cluster.recordings import below
from tests.cluster.zookeeper import Ensemble, zookeeper
from tests.impl.pinning.cluster import Cluster

SIZES = (3, 5, 10)
LIMIT_S = 30.0
SETTLING_S = 1.0
TIMEOUT_MS = 15_000


@dataclass(frozen=True)
class Way:
    """A way to restart. pin: whom to pin before, as a function of the number of brokers."""

    name: str
    settings: dict[str, str] = field(default_factory=dict)
    pin: Callable[[int], int] | None = None


WAYS = (
    Way("no pin"),
    Way("draft, pinned to the last one first", {"controller.pinning.setting": "draft"}, lambda brokers: brokers - 1),
    Way("repaired, pinned to the first one first", {}, lambda brokers: 0),
    Way("repaired, pinned to the last one first", {}, lambda brokers: brokers - 1),
    Way("takeover, pinned to the last one first", {"controller.pinning.takeover": "true"}, lambda brokers: brokers - 1),
)


def moves(ensemble: Ensemble, folder: Path, way: Way, brokers: int) -> int:
    """Elections from the pin on, over a restart of each broker in the order of their ids."""
    root = f"/{folder.name}"
    cluster = Cluster(ensemble, root, folder, brokers=brokers, further=way.settings)
    try:
        cluster.begin()
        cluster.wait_for(cluster.is_quiet, LIMIT_S)
        began = cluster.admin.get(f"{root}{CONTROLLER}")[1].czxid
        if way.pin is not None:
            first = cluster.current[0]
            address = None if first is None else address_of(first.log)
            assert address is not None, "broker 0 listens"
            ask(*address, PIN_CONTROLLER, PinControllerRequest(way.pin(brokers), TIMEOUT_MS), TIMEOUT_MS)
        for broker in range(brokers):
            restart(cluster, broker)
        cluster.admin.get("/")
        last_zxid = cluster.admin.last_zxid
    finally:
        cluster.stop()
    log = below(read_logs(ensemble.servers[0].log_folder), root)
    created = [one for one in log if any(change.path == CONTROLLER and change.is_create for change in one.changes)]
    return sum(began < one.zxid <= last_zxid for one in created)


def restart(cluster: Cluster, broker: int) -> None:
    """Stop a broker in good order, start it again, and wait until nothing moves any more."""
    cluster.terminate(broker)
    begin(cluster, broker)


def begin(cluster: Cluster, broker: int) -> None:
    """Start a broker, and wait until nothing moves any more."""
    trace = cluster.start(broker).trace
    cluster.wait_for(lambda: trace.exists() and '"start"' in trace.read_text(), LIMIT_S)
    settle(cluster)


def settle(cluster: Cluster) -> None:
    """Wait until the same broker has been in office for a while."""
    controller = f"{cluster.root}{CONTROLLER}"
    while True:
        before = cluster.admin.exists(controller)
        cluster.wait_for(lambda: False, SETTLING_S)
        after = cluster.admin.exists(controller)
        if before is not None and after is not None and before.czxid == after.czxid:
            return


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.impl.pinning.rolling")
    parser.add_argument("brokers", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--at-once", type=int, default=4)
    options = parser.parse_args()
    with zookeeper() as ensemble, tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.at_once) as pool:
        for number, way in enumerate(WAYS):
            found = []
            for size in options.brokers:
                folders = [Path(folder) / f"way{number}-{size}-{run}" for run in range(options.runs)]
                counts = list(pool.map(moves, *zip(*((ensemble, each, way, size) for each in folders), strict=True)))
                found.append(f"{size} brokers: {median_low(counts)} ({min(counts)} to {max(counts)})")
            print(way.name, *found, sep="  ", flush=True)


if __name__ == "__main__":
    main()
