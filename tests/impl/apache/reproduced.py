"""Findings about releases of Apache Kafka, seen on a real cluster of that release, and how large their effect is.

usage: python -m tests.impl.apache.reproduced [--release VERSION] [NAME ...]

Names are the links of docs/findings/kip-631.md; without one, all that are known here. A cluster has one controller and
three or four brokers on this machine, or three controllers and one broker, with Kafka's leases and heartbeats; a
finding takes a minute or two. Exit codes: 0 each was seen, 1 one was not (as in a release that has it not), 2 there are
no jars, or a cluster did not get so far.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from impl.apache.errors import ApacheError
from impl.apache.recording.cluster import Node, cluster, until
from impl.apache.recording.driving import Driver, client_library
from impl.apache.recording.network import Way
from impl.apache.recording.record import PROBLEMS, VERSION
from impl.apache.recording.scenario import Step
from impl.apache.release import missing

TOPIC = "orders"
REFUSED = b"failed with DuplicateBrokerRegistrationException"
LEASE_S = 9.0
LEASES = {"broker.session.timeout.ms": round(LEASE_S * 1000), "broker.heartbeat.interval.ms": 2_000}
STUCK_S = 30.0
SNAPSHOT_S = 20.0
SNAPSHOTS = {
    "metadata.log.max.snapshot.interval.ms": round(SNAPSHOT_S * 1000),
    "metadata.max.retention.bytes": 1,  # once a minute the log is deleted up to the newest snapshot
    "metadata.max.idle.interval.ms": 0,  # no NoOpRecord is written while there is nothing to do
    "broker.session.timeout.ms": 60_000,
}
_STOPS_S, _WRITES_MS, _SETTLES_S = 60.0, 5_000, 10.0
_BECOMES_ACTIVE, _RENOUNCES, _MOST_ELECTIONS = "Becoming the active controller", "Renouncing the leadership", 30


@dataclass(frozen=True)
class Seen:
    """said: what was measured, a line each. is_there: what the finding says was seen."""

    is_there: bool
    said: tuple[str, ...]


class Scene:
    """A cluster that runs, with what a client sees of one partition."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self._kafka = client_library()

    def take(self, do: str, node: int = -1, replicas: Sequence[int] = (), wait_s: float = 0.0) -> None:
        """A step, which must have its occasion. Raises ApacheError."""
        before = self.driver.skipped
        self.driver.take(Step(do, node, "" if node >= 0 else TOPIC, tuple(replicas), wait_s=wait_s))
        if self.driver.skipped > before:
            raise ApacheError(f"{do} {node if node >= 0 else TOPIC} was refused")

    def stop(self, broker: int) -> None:
        """By SIGTERM; it is gone then. Raises ApacheError."""
        self.take("terminate", broker)
        if not self.driver.cluster.nodes[broker].wait(_STOPS_S):
            raise ApacheError(f"broker {broker} does not stop within {_STOPS_S:g} s")

    def restarted(self, broker: int) -> tuple[float, int]:
        """Seconds from the start of a broker until it serves, and how often its registration was refused meanwhile."""
        began, before = time.monotonic(), self._refusals()
        self.take("start", broker)
        self.take("await", broker)
        return time.monotonic() - began, self._refusals() - before

    def _refusals(self) -> int:
        return sum(node.log.read_bytes().count(REFUSED) for node in self.driver.cluster.controllers)

    @contextmanager
    def _admin(self) -> Iterator[Any]:
        client = self._kafka.KafkaAdminClient(bootstrap_servers=self._addresses())
        try:
            yield client
        finally:
            client.close()

    def _addresses(self) -> list[str]:
        nodes = self.driver.cluster.nodes
        return [address for broker, address in self.driver.cluster.bootstrap.items() if nodes[broker].is_running]

    def create(self, replicas: Sequence[int], configs: Mapping[str, str]) -> None:
        self._create(TOPIC, replicas, configs)
        self.await_isr(replicas)

    def _create(self, topic: str, replicas: Sequence[int], configs: Mapping[str, str]) -> None:
        with self._admin() as client:
            client.create_topics({topic: {"assignments": {0: list(replicas)}, "configs": dict(configs)}})

    def partition(self) -> dict[str, Any]:
        """As a broker tells of it; nothing is known where the client asks one that is gone."""
        with suppress(self._kafka.errors.KafkaError), self._admin() as client:
            (topic,) = client.describe_topics([TOPIC])
            if topic["partitions"]:
                return dict(topic["partitions"][0])
        return {"isr_nodes": [], "replica_nodes": []}

    def await_isr(self, brokers: Sequence[int]) -> None:
        until(lambda: sorted(self.partition()["isr_nodes"]) == sorted(brokers), f"the ISR is {sorted(brokers)}")

    def is_reassigned(self) -> bool:
        """Is a reassignment under way?"""
        with self._admin() as client:
            return bool(client.list_partition_reassignments())

    def refused_creation(self) -> str:
        """What the creation of the topic is refused with; "" where it is created."""
        try:
            self._create(TOPIC, (0,), {})
        except self._kafka.errors.KafkaError as error:
            return type(error).__name__
        return ""

    def topics(self) -> list[str]:
        with self._admin() as client:
            return sorted(client.list_topics())

    # Controllers.

    def active(self) -> Node:
        """The controller that became active last."""
        times = {node.node_id: _last_line(node, _BECOMES_ACTIVE) for node in self.driver.cluster.controllers}
        return self.driver.cluster.nodes[max(times, key=lambda id_: times[id_])]

    def depose(self) -> None:
        """The active controller stands still until another is active, and then renounces. Raises ApacheError."""
        deposed = self.active()
        renounced = _last_line(deposed, _RENOUNCES)
        deposed.signal(signal.SIGSTOP)
        try:
            until(lambda: self.active() is not deposed, "another controller is active", _STOPS_S)
        finally:
            deposed.signal(signal.SIGCONT)
        until(lambda: _last_line(deposed, _RENOUNCES) > renounced, "the deposed controller renounces", _STOPS_S)
        time.sleep(_SETTLES_S / 2)  # it fetches again, and may be elected

    def elect(self, node: Node) -> None:
        """Depose who is active until it is this one. Raises ApacheError."""
        for _ in range(_MOST_ELECTIONS):
            if self.active() is node:
                return
            self.depose()
        raise ApacheError(f"controller {node.node_id} was not elected in {_MOST_ELECTIONS} elections")

    def write_snapshots(self, writers: Collection[Node]) -> None:
        """These controllers write a snapshot each, which ends with a new topic. Raises ApacheError."""
        time.sleep(SNAPSHOT_S)
        before = max((name for node in writers for name in snapshots(node)), default="")
        self._create(f"snapshot-{len(self.topics())}", (0,), {})
        until(lambda: all(max(snapshots(node), default="") > before for node in writers), "snapshots are written")

    def running_controllers(self) -> int:
        return sum(node.is_running for node in self.driver.cluster.controllers)

    def refusal(self) -> str:
        """What a record is refused with that all in sync are to have; "" where it is written."""
        producer = self._kafka.KafkaProducer(
            bootstrap_servers=self._addresses(), acks="all", retries=0, delivery_timeout_ms=_WRITES_MS,
            request_timeout_ms=_WRITES_MS - 1_000, max_block_ms=_WRITES_MS, enable_idempotence=False,
        )  # fmt: skip
        try:
            producer.send(TOPIC, b"a record").get(timeout=_WRITES_MS / 1000)
        except self._kafka.errors.KafkaError as error:
            return type(error).__name__
        finally:
            producer.close(timeout=1)
        return ""


def snapshots(node: Node) -> list[str]:
    """Of the metadata log, the oldest first."""
    return sorted(path.name for path in node.data.glob("__cluster_metadata-0/*.checkpoint"))


def _last_line(node: Node, what: str) -> str:
    """The last line of a node's log that says this; lines begin with their time."""
    return next((line for line in reversed(node.log.read_text(errors="replace").splitlines()) if what in line), "")


def fenced_holder(scene: Scene) -> Seen:
    """A broker is shut down in order, and started again at once; then again, once its lease is over."""
    scene.stop(2)
    at_once_s, refused = scene.restarted(2)
    scene.stop(2)
    time.sleep(1.5 * LEASE_S)
    later_s, refused_later = scene.restarted(2)
    return Seen(refused > refused_later, (
        f"started again at once it serves after {at_once_s:.1f} s, and was refused {refused} times",
        f"once its lease of {LEASE_S:g} s is over, after {later_s:.1f} s, and was refused {refused_later} times",
    ))  # fmt: skip


def removed_addition(scene: Scene) -> Seen:
    """[0, 1] are to become [2], and before that is complete, [0]."""
    scene.create((0, 1), {})
    scene.stop(2)
    scene.take("reassign", replicas=(2,))
    scene.take("reassign", replicas=(0,))
    began = time.monotonic()
    scene.take("start", 2)
    scene.take("await", 2)
    while scene.is_reassigned() and time.monotonic() < began + STUCK_S:
        time.sleep(0.5)
    took_s, partition = time.monotonic() - began, scene.partition()
    is_stuck = scene.is_reassigned()
    ends = f"under way still after {took_s:.0f} s" if is_stuck else f"complete after {took_s:.1f} s"
    return Seen(is_stuck, (
        f"the second reassignment is {ends}, replicas {partition['replica_nodes']}, ISR {partition['isr_nodes']}",
    ))  # fmt: skip


def cancel_min_isr(scene: Scene) -> Seen:
    """Two must be in sync; one more has come by a reassignment, one of the old ones is dead, and it is cancelled."""
    scene.create((0, 1), {"min.insync.replicas": "2"})
    scene.take("kill", 3, wait_s=1.5 * LEASE_S)  # a client may be told to ask it until it is fenced
    scene.take("reassign", replicas=(2, 3))
    scene.await_isr((0, 1, 2))
    scene.take("kill", 1)
    scene.await_isr((0, 2))
    before = scene.refusal()
    scene.take("cancel")
    scene.await_isr((0,))
    began, after = time.monotonic(), scene.refusal()
    scene.take("start", 1)
    scene.take("await", 1)
    until(lambda: not scene.refusal(), "records are written again")
    return Seen(not before and bool(after), (
        f"a record is {before or 'written'} before the cancel, and behind it {after or 'written'}",
        f"records are written again {time.monotonic() - began:.1f} s later, as the dead replica was started then",
    ))  # fmt: skip


def forgotten_record(scene: Scene) -> Seen:
    """A topic is deleted right behind a snapshot. Who has to load that is elected, deposed, and elected again."""
    controllers = scene.driver.cluster.controllers
    scene.create((0,), {})
    scene.write_snapshots(controllers)
    late = next(node for node in controllers if node is not scene.active())
    others = [node for node in controllers if node is not late]
    scene.driver.cluster.network.cut(late.node_id, Way.BOTH)
    scene.write_snapshots(others)
    scene.take("delete")
    until(lambda: all(len(snapshots(node)) == 1 for node in others), "logs are deleted up to the snapshot")
    scene.driver.cluster.network.heal(late.node_id)
    until(lambda: snapshots(late) == snapshots(others[0]), "the snapshot is loaded")
    time.sleep(_SETTLES_S)
    scene.elect(late)
    scene.depose()
    scene.elect(late)
    listed, refused = TOPIC in scene.topics(), scene.refused_creation()
    scene.driver.take(Step("delete", -1, TOPIC, wait_s=_SETTLES_S))
    left = scene.running_controllers()
    for node in controllers:
        node.kill()
        node.start()
    time.sleep(2 * _SETTLES_S)
    return Seen(bool(refused) and left < len(controllers), (
        f"the topic that is deleted is {'listed' if listed else 'not listed'}, and to create it is refused: {refused}",
        f"once it is deleted again, {left} of {len(controllers)} controllers run",
        f"all are started again, and {scene.running_controllers()} run {2 * _SETTLES_S:g} s later",
    ))  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """act: what is done. controllers, brokers: that it takes. settings: of all nodes."""

    act: Callable[[Scene], Seen]
    controllers: int = 1
    brokers: int = 3
    settings: Mapping[str, int] = field(default_factory=lambda: LEASES)


KNOWN: Mapping[str, Finding] = {
    "a-fenced-holder-keeps-its-id": Finding(fenced_holder),
    "a-reassignment-waits-for-what-it-removes": Finding(removed_addition),
    "a-cancel-takes-the-isr-below-the-minimum": Finding(cancel_min_isr, brokers=4),
    "a-controller-forgets-the-record-behind-its-snapshot": Finding(forgotten_record, 3, 1, SNAPSHOTS),
}
"""By the link of the finding."""


def reproduced(name: str, release: str, folder: Path) -> Seen:
    """folder: of its own, for the cluster. Raises ApacheError, OSError."""
    known = KNOWN[name]
    with cluster(folder, release, known.controllers, known.brokers, known.settings) as made:
        driver = Driver(made, lambda _said: None)
        driver.begin()
        return known.act(Scene(driver))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.impl.apache.reproduced")
    parser.add_argument("--release", default=VERSION)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(KNOWN))
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.names if name not in KNOWN]:
        parser.error(f"{', '.join(unknown)}: known are {', '.join(KNOWN)}")
    if why := missing(options.release, ("java",)):
        parser.error(why)
    are_there = []
    for name in options.names or KNOWN:
        with tempfile.TemporaryDirectory(prefix="fencepost-kafka-") as folder:
            try:
                seen = reproduced(name, options.release, Path(folder) / "cluster")
            except PROBLEMS as problem:
                print(f"{name}: {problem}", file=sys.stderr)
                return 2
        print(f"Kafka {options.release}, {name}: {'seen' if seen.is_there else 'not seen'}", *seen.said, sep="\n  ")
        are_there.append(seen.is_there)
    return 0 if all(are_there) else 1


if __name__ == "__main__":
    sys.exit(main())
