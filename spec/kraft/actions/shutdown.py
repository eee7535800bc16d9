"""Controlled shutdown: how a broker asks for it, and when the active controller lets it go.

A broker that gets SIGTERM says so in its heartbeats. The controller moves its leaderships away, remembers the
offset at which that happened, and tells the broker to shut down once it leads nothing and every active broker
has reported in a heartbeat that its image reaches the offset. What it remembers is soft state.
Leaves out: the time limit (Kafka: five minutes) after which a broker gives up and stops as in a crash.
"""

from __future__ import annotations

from enum import Enum

from checker.lang import Map, Option, Set, action, replace, require
from spec.kraft.design import Design
from spec.kraft.messages import Heartbeat
from spec.kraft.metadata import Metadata, Registration, active_brokers, is_unfenced
from spec.kraft.processes import disk, is_alive, stopped
from spec.kraft.state import Cluster, Controller, Shutdown
from spec.kraft.types import Broker, BrokerState, MetadataOffset, Process, TopicPartition


class BrokerControlState(Enum):
    """The controller's decision on a broker's heartbeat."""

    FENCED = "FENCED"
    UNFENCED = "UNFENCED"
    CONTROLLED_SHUTDOWN = "CONTROLLED_SHUTDOWN"
    SHUTDOWN_NOW = "SHUTDOWN_NOW"


def next_broker_state(
    controller: Controller, registration: Registration, broker: Broker, request: Heartbeat
) -> BrokerControlState:
    """The decision on a broker's heartbeat (Kafka: BrokerHeartbeatManager.calculateNextBrokerState)."""
    shutdown = controller.shutdowns[broker]
    if shutdown is not None:
        return (
            BrokerControlState.SHUTDOWN_NOW
            if may_shut_down_now(controller, broker, shutdown)
            else BrokerControlState.CONTROLLED_SHUTDOWN
        )
    if request.want_shut_down:
        return state_at_first_shutdown_request(controller.image, registration, broker, request)
    if request.want_fence or (registration.fenced and not may_be_unfenced(controller.image, registration, request)):
        return BrokerControlState.FENCED
    return BrokerControlState.UNFENCED


def state_at_first_shutdown_request(
    image: Metadata, registration: Registration, broker: Broker, request: Heartbeat
) -> BrokerControlState:
    """The decision on a broker that asks to shut down, and for which no offset is remembered."""
    if registration.in_controlled_shutdown:
        waits = Design.shutdown_outlives_soft_state
    elif registration.fenced:
        waits = Design.fenced_shutdown_waits
    else:
        waits = Design.idle_shutdown_waits
    moves_leaders = leads_a_partition(image, broker) and not (registration.fenced or request.want_fence)
    if waits or moves_leaders:
        return BrokerControlState.CONTROLLED_SHUTDOWN
    return BrokerControlState.SHUTDOWN_NOW


def may_be_unfenced(image: Metadata, registration: Registration, request: Heartbeat) -> bool:
    """A fenced broker's image must reach its own registration, as amended, and it must not be on its way out."""
    if Design.shutdown_is_final and registration.in_controlled_shutdown:
        return False
    if not reaches_registration(registration, request):
        return False
    return Design.kafka_13959 or request.applied == image.offset


def reaches_registration(registration: Registration, request: Heartbeat) -> bool:
    """The image of a broker reaches its registration, as amended (Kafka: ReplicationControlManager, isCaughtUp)."""
    return (
        request.caught_up
        and request.lacks == 0
        and all(has_applied(request.applied, offset) for offset in registration.amended)
    )


def has_applied(applied: Option[MetadataOffset], offset: MetadataOffset) -> bool:
    """An image that reaches `applied` has what was written at an offset."""
    return applied is not None and offset <= applied


def may_shut_down_now(controller: Controller, broker: Broker, shutdown: Shutdown) -> bool:
    """A broker in controlled shutdown leads nothing, and every active broker has seen that."""
    if leads_a_partition(controller.image, broker):
        return False
    return not Design.shutdown_awaits_images or not shutdown.lagging & awaited_brokers(controller)


def awaited_brokers(controller: Controller) -> Set[Broker]:
    """The brokers whose images a shutdown waits for. A new controller may take one that shuts down for active."""
    if Design.failover_knows_shutdowns:
        return active_brokers(controller.image)
    return frozenset(b for b in Broker if is_unfenced(controller.image, b) and controller.shutdowns[b] is None)


def leads_a_partition(image: Metadata, broker: Broker) -> bool:
    return any(leads_partition(image, broker, p) for p in TopicPartition)


def leads_partition(image: Metadata, broker: Broker, p: TopicPartition) -> bool:
    partition = image.partitions[p]
    return partition is not None and partition.leader == broker


def with_shutdown(
    shutdowns: Map[Broker, Option[Shutdown]], broker: Broker, shutdown: Option[Shutdown]
) -> Map[Broker, Option[Shutdown]]:
    """The memory of all shutdowns once that of a broker begins, or ends."""
    return Map({b: shutdown if b == broker else shutdowns[b] for b in Broker})


def with_reports(
    shutdowns: Map[Broker, Option[Shutdown]], sender: Broker, applied: Option[MetadataOffset]
) -> Map[Broker, Option[Shutdown]]:
    """The memory of all shutdowns once a broker has reported how far its image reaches."""
    return Map({broker: with_report(shutdowns[broker], sender, applied) for broker in Broker})


def with_report(shutdown: Option[Shutdown], sender: Broker, applied: Option[MetadataOffset]) -> Option[Shutdown]:
    """The memory of a shutdown once a broker has reported how far its image reaches."""
    if shutdown is None:
        return None
    return replace(
        shutdown,
        lagging=shutdown.lagging - {sender} if has_applied(applied, shutdown.offset) else shutdown.lagging | {sender},
    )


# The broker.


@action(
    who="broker {process}",
    source="KIP-631, Controlled Shutdown; PENDING_CONTROLLED_SHUTDOWN",
    kafka="BrokerLifecycleManager.beginControlledShutdown",
    deviates="outside RUNNING the process stops in the same step: it asks nobody",
)
def sigterm(s: Cluster, process: Process) -> None:
    """A process is asked to stop. Only one that is RUNNING asks the controller first."""
    broker = s.processes[process]
    require(is_alive(broker))
    require(broker.state not in (BrokerState.PENDING_CONTROLLED_SHUTDOWN, BrokerState.SHUTTING_DOWN))
    require(s.faults.shutdowns < Design.max_shutdowns)
    if broker.state == BrokerState.RUNNING:
        broker.state = BrokerState.PENDING_CONTROLLED_SHUTDOWN
    else:
        s.processes[process] = stopped(disk(broker))
    s.faults.shutdowns += 1


@action(
    who="broker {process}",
    source="KIP-631, SHUTTING_DOWN",
    kafka="BrokerServer.shutdown",
)
def finish_shutdown(s: Cluster, process: Process) -> None:
    """A process that was told to shut down has closed its logs, and is gone."""
    broker = s.processes[process]
    require(broker.state == BrokerState.SHUTTING_DOWN)
    s.processes[process] = stopped(disk(broker))
