"""Throughput of the controller of impl/kraft: requests per second, by the number of partitions; loading a snapshot.

Every request is decided, replayed, committed and answered; nothing is written or sent.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from itertools import count, islice
from uuid import UUID

from impl.kraft.controller import Controller, ControllerSettings
from impl.kraft.effects import Append, Effects
from impl.kraft.messages import (
    AlterPartitionRequest,
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    CreateTopicRequest,
    IsrMember,
    Request,
)
from tests.benchmarks.printing import line

CLUSTER = "bench"
BROKERS = 10
FEW, MANY, SNAPSHOT = 10, 10_000, 100_000
PARTITIONS_A_TOPIC = 10
CHUNK, CHUNKS = 500, 60


def impl_controller() -> None:
    """The controller of impl/kraft: requests per second with 10 and 10,000 partitions, a snapshot of 100,000."""
    controllers = {partitions: running(partitions) for partitions in (FEW, MANY)}
    for what, requests in (
        ("registrations", registrations),
        ("heartbeats", heartbeats),
        ("AlterPartition requests", alterations),
    ):
        seconds = best_seconds(controllers, requests)
        for partitions in controllers:
            line(f"{what}/s with {partitions:,} partitions", f"{CHUNK / seconds[partitions]:,.0f}")
        line(f"{what}: cost with {MANY:,} to cost with {FEW}", f"{seconds[MANY] / seconds[FEW]:.2f}", "1")
    snapshot()


def best_seconds(
    controllers: dict[int, Controller], requests: Callable[[Controller], Iterator[Request]]
) -> dict[int, float]:
    """Of each controller, the seconds of its fastest chunk of requests; they take turns."""
    copies = {partitions: controller.copy() for partitions, controller in controllers.items()}
    streams = {partitions: requests(controller) for partitions, controller in copies.items()}
    best = dict.fromkeys(copies, float("inf"))
    for _ in range(CHUNKS):
        for partitions, controller in copies.items():
            taken = seconds_of(controller, islice(streams[partitions], CHUNK))
            best[partitions] = min(best[partitions], taken)
    return best


def running(partitions: int) -> Controller:
    """A controller of active brokers that lead as many partitions each."""
    controller = Controller(ControllerSettings(CLUSTER))
    commit(controller, controller.claim(1, 0))
    for broker_id in range(BROKERS):
        ask(controller, BrokerRegistrationRequest(broker_id, CLUSTER, UUID(int=broker_id)))
        epoch = controller.speculative.registrations[broker_id].broker_epoch
        ask(controller, BrokerHeartbeatRequest(broker_id, epoch, epoch, False, False))
    for number in range(partitions // PARTITIONS_A_TOPIC):
        ask(controller, CreateTopicRequest(f"topic-{number}", UUID(int=number + 1), PARTITIONS_A_TOPIC, 3))
    return controller


def ask(controller: Controller, request: Request) -> None:
    commit(controller, controller.handle(0, request, 0))


def commit(controller: Controller, effects: Effects) -> None:
    for effect in effects:
        if isinstance(effect, Append):
            controller.on_commit(effect.batch.last_offset + 1, 0)


def seconds_of(controller: Controller, requests: Iterable[Request]) -> float:
    """Making the requests is not counted."""
    seconds = 0.0
    for request in requests:
        started = time.perf_counter()
        ask(controller, request)
        seconds += time.perf_counter() - started
    return seconds


def registrations(_: Controller) -> Iterator[Request]:
    """Of brokers that are not there yet."""
    for number in count():
        yield BrokerRegistrationRequest(BROKERS + number, CLUSTER, UUID(int=number))


def heartbeats(controller: Controller) -> Iterator[Request]:
    """Of brokers that go on as they are."""
    for number in count():
        broker_id = number % BROKERS
        epoch = controller.speculative.registrations[broker_id].broker_epoch
        yield BrokerHeartbeatRequest(broker_id, epoch, controller.committed.offset, False, False)


def alterations(controller: Controller) -> Iterator[Request]:
    """Leaders remove a follower from the ISR, and add it again."""
    image = controller.speculative
    keys = list(image.partitions)
    for number in count():
        key = keys[number // 2 % len(keys)]
        partition = image.partitions[key]
        isr = partition.replicas[:2] if len(partition.isr) == 3 else partition.replicas
        members = tuple(IsrMember(member, image.registrations[member].broker_epoch) for member in isr)
        leader = partition.leader
        yield AlterPartitionRequest(
            leader, image.registrations[leader].broker_epoch, *key,
            partition.leader_epoch, partition.partition_epoch, members,
        )  # fmt: skip


def snapshot() -> None:
    controller = running(SNAPSHOT)
    written = controller.snapshot()
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        Controller.load(controller.settings, written)
        seconds.append(time.perf_counter() - started)
    tracemalloc.start()
    loaded = Controller.load(controller.settings, written)
    size_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    line(f"snapshot of {len(loaded.committed.partitions):,} partitions: seconds to load", f"{min(seconds):.2f}")
    line("its image in memory, MiB beyond the records", f"{size_bytes / 2**20:,.0f}")
