"""Cost of the controller of impl/kraft at 100,000 partitions, beside the same at 1,000: CPU seconds, best of some.

What touches as many partitions in both should cost the same; a copy, and what follows it, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import islice
from uuid import UUID

from impl.kraft.controller import Controller, ControllerSettings, lease_timer
from impl.kraft.image import Image
from impl.kraft.messages import (
    AlterPartitionRequest,
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    CreateTopicRequest,
    IsrMember,
    Request,
)
from impl.kraft.records import NO_LEADER
from tests.benchmarks.impl_controller import CLUSTER, ask, commit
from tests.benchmarks.printing import line

BROKERS = 30
PARTITIONS_A_TOPIC = 100
FEW, MANY = 1_000, 100_000
SESSION_MS = ControllerSettings(CLUSTER).session_timeout_ms
REPEATS = 7

Act = Callable[[Controller], None]


def impl_scale() -> None:
    """Cost at 100,000 partitions: heartbeat, fence, registration, AlterPartition, unfence, snapshots, copy."""
    controllers = {partitions: running(partitions) for partitions in (FEW, MANY)}
    for what, act in (
        ("1,000 heartbeats", heartbeats),
        ("registration of a new broker", registration),
        ("AlterPartition of 100 partitions", alterations),
        ("copy, and a heartbeat of the copy", lambda controller: heartbeat(controller.copy(), 1)),
        ("copy, and a change of a partition in the copy", lambda controller: alterations(controller.copy(), 1)),
    ):
        seconds = {partitions: best(controller, act) for partitions, controller in controllers.items()}
        line(f"{what}, ms", f"{1000 * seconds[MANY]:.2f}")
        line(f"{what}: cost with {MANY:,} partitions to cost with {FEW:,}", f"{seconds[MANY] / seconds[FEW]:.2f}", "1")
    of_one_broker(controllers[MANY])
    snapshots(controllers[MANY])


def running(partitions: int) -> Controller:
    """Active brokers, and partitions of three replicas. Broker 0 leads every tenth, and is in the ISR of no other."""
    controller = Controller(ControllerSettings(CLUSTER))
    commit(controller, controller.claim(1, 0))
    for broker_id in range(BROKERS):
        ask(controller, BrokerRegistrationRequest(broker_id, CLUSTER, UUID(int=broker_id)))
        heartbeat(controller, broker_id)
    for number in range(partitions // PARTITIONS_A_TOPIC):
        first = number * PARTITIONS_A_TOPIC
        assignments = tuple(replicas(first + one) for one in range(PARTITIONS_A_TOPIC))
        topic_id = UUID(int=number + 1)
        ask(controller, CreateTopicRequest(f"topic-{number}", topic_id, assignments=assignments))
    return controller


def replicas(number: int) -> tuple[int, ...]:
    others = [1 + (number + by) % (BROKERS - 1) for by in range(3)]
    return (0, *others[:2]) if number % 10 == 0 else tuple(others)


def heartbeat(controller: Controller, broker_id: int, *, now_ms: int = 0) -> None:
    epoch = controller.speculative.registrations[broker_id].broker_epoch
    request = BrokerHeartbeatRequest(broker_id, epoch, controller.committed.offset, False, False)
    commit(controller, controller.handle(0, request, now_ms))


def heartbeats(controller: Controller) -> None:
    for number in range(1000):
        heartbeat(controller, 1 + number % (BROKERS - 1))


def registration(controller: Controller) -> None:
    new = max(controller.speculative.registrations) + 1
    ask(controller, BrokerRegistrationRequest(new, CLUSTER, UUID(int=new)))


def alterations(controller: Controller, count: int = 100) -> None:
    """Leaders ask for an ISR of two or, where it is one of two, of three."""
    image = controller.speculative
    for key in list(islice(image.partitions, count)):
        ask(controller, alteration(image, key))


def alteration(image: Image, key: tuple[UUID, int]) -> Request:
    partition = image.partitions[key]
    isr = partition.replicas[:2] if len(partition.isr) == 3 else partition.replicas
    members = tuple(IsrMember(member, image.registrations[member].broker_epoch) for member in isr)
    leader = image.registrations[partition.leader]
    return AlterPartitionRequest(
        leader.broker_id, leader.broker_epoch, *key, partition.leader_epoch, partition.partition_epoch, members
    )


def best(controller: Controller, act: Act) -> float:
    """CPU seconds of the fastest of some."""
    found = float("inf")
    for _ in range(REPEATS):
        found = min(found, taken(lambda: act(controller)))
    return found


def taken(act: Callable[[], object]) -> float:
    started = time.process_time()
    act()
    return time.process_time() - started


def of_one_broker(controller: Controller) -> None:
    """Broker 0 leads 10,000 partitions: it is fenced, unfenced, and leads again what nobody else may lead."""
    led = sum(one.leader == 0 for one in controller.speculative.partitions.values())
    end_ms = 2 * SESSION_MS
    for broker_id in range(1, BROKERS):
        heartbeat(controller, broker_id, now_ms=end_ms)
    fence = taken(lambda: commit(controller, controller.on_timer(lease_timer(0), end_ms)))
    assert controller.speculative.registrations[0].fenced
    line(f"fence of a broker that leads {led:,}, ms", f"{1000 * fence:.0f}")
    line("of these, for each partition, µs", f"{1e6 * fence / led:.1f}")
    unfence = taken(lambda: heartbeat(controller, 0, now_ms=end_ms))
    assert not controller.speculative.registrations[0].fenced
    leaderless = sum(one.leader == NO_LEADER for one in controller.speculative.partitions.values())
    line(f"unfence of it ({leaderless:,} without a leader), ms", f"{1000 * unfence:.2f}")


def snapshots(controller: Controller) -> None:
    records = len(controller.snapshot().records)
    write = min(taken(controller.snapshot) for _ in range(3))
    written = controller.snapshot()
    loaded = [Controller.load(controller.settings, written) for _ in range(3)]
    first_copy = min(taken(one.copy) for one in loaded)
    load = min(taken(lambda: Controller.load(controller.settings, written)) for _ in range(3))
    line(f"snapshot of {records:,} records: write, s", f"{write:.2f}")
    line(f"snapshot of {records:,} records: load, s", f"{load:.2f}")
    line("the first copy of what was loaded, ms", f"{1000 * first_copy:.1f}")
