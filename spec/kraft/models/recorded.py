"""The model that runs of a real cluster are validated on: the controller as it is, with brokers as its environment.

What the metadata log of a cluster shows is decisions of the active controller. Here these are the steps of
`actions.controller`, `actions.administration` and `actions.topics`, word for word; a broker asks for what it likes, as
long as it is alive and registered, so that nothing has to be known of images, fetches and replies in between. Whoever
records names the request that a decision implies, just before it. What the log does not show (leases that run out,
heartbeats that decide nothing, a process that ends) are silent steps of a trace.
One topic, of which one or two partitions are recorded. A failover loses soft state: what is committed stays.
Leaves out: refusals, which leave nothing in the log, but those of registrations; data; why a leader asks for an ISR.
Budgets are those of runs of minutes, so it is not for `fencepost check`.
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import (
    Arrangement,
    Map,
    Model,
    Option,
    Seq,
    Set,
    action,
    choose,
    fresh,
    init,
    replace,
    require,
    require_some,
)
from spec.kraft.actions import administration, broker, controller, faults, network, shutdown, topics
from spec.kraft.actions.controller import has_valid_session
from spec.kraft.actions.shutdown import with_reports
from spec.kraft.decisions.log import appended
from spec.kraft.decisions.membership import broker_in_controlled_shutdown
from spec.kraft.decisions.partition import first_replica_among, replica_set
from spec.kraft.design import SETTINGS, Design
from spec.kraft.initial import nothing_registered
from spec.kraft.messages import AlterIsr, Heartbeat
from spec.kraft.metadata import Partition, active_brokers, broker_epoch_of
from spec.kraft.models.sizes import one_controller
from spec.kraft.processes import disk, stopped
from spec.kraft.state import Cluster, Shutdown, is_silent
from spec.kraft.types import (
    Broker,
    BrokerState,
    MetadataOffset,
    Process,
    TopicId,
    TopicPartition,
    Voter,
    node_id,
)

Replicas = Annotated[Seq[Broker], Arrangement]


@init
def nothing_there() -> Cluster:
    """No process runs, no broker is registered, and there is no topic."""
    s: Cluster = nothing_registered()
    image = s.controllers[Voter(0)].image
    s.controllers[Voter(0)].image = replace(image, topic=None, partitions=Map(dict.fromkeys(TopicPartition)))
    return s


# Brokers, as the environment.


@action(
    who="broker {process}",
    source="KIP-631, The Broker State Machine",
    kafka="LogManager.startup, BrokerLifecycleManager.setReadyToUnfence",
    deviates="metadata and recovery in one step",
)
def recover(s: Cluster, process: Process) -> None:
    """A registered process has its metadata and its log, and from now on asks to be unfenced."""
    broker = s.processes[process]
    require(broker.state == BrokerState.STARTING and broker.broker_epoch is not None)
    broker.state = BrokerState.RECOVERY
    broker.wants_fence = False


@action(
    who="broker {process}",
    source="KIP-631, Broker Leases",
    kafka="BrokerLifecycleManager.sendBrokerHeartbeat",
    deviates="its image reaches the end of the log",
    api="BrokerHeartbeat v0",
)
def ask_by_heartbeat(s: Cluster, process: Process) -> None:
    """A process that has the newest metadata sends a heartbeat, which asks to shut down once it got SIGTERM."""
    broker = s.processes[process]
    epoch = require_some(broker.broker_epoch)
    require(broker.state != BrokerState.STARTING and broker.state != BrokerState.SHUTTING_DOWN)
    stops = broker.state == BrokerState.PENDING_CONTROLLED_SHUTDOWN
    applied = s.controllers[broker.controller].image.offset
    s.lifecycle = s.lifecycle.add(
        Heartbeat(process, epoch, False, stops, True, applied, late=False, to=broker.controller, lacks=0)
    )


@action(
    who="broker {process}",
    source="KIP-631, Broker Leases",
    kafka="BrokerLifecycleManager.sendBrokerHeartbeat",
    deviates="it says what it was heard to say; of its offset, whether that reaches a controlled shutdown's",
    api="BrokerHeartbeat v0",
)
def send_heartbeat_as_heard(
    s: Cluster, process: Process, want_fence: bool, want_shut_down: bool, caught_up: bool, reached: Option[Broker]
) -> None:
    """A process sends a heartbeat, of which all is known. reached: the last to shut down that its image shows."""
    broker = s.processes[process]
    epoch = require_some(broker.broker_epoch)
    require(not want_shut_down or broker.state == BrokerState.PENDING_CONTROLLED_SHUTDOWN)
    applied = None
    if reached is not None:
        applied = require_some(s.controllers[broker.controller].shutdowns[reached]).offset
    heartbeat = Heartbeat(
        process, epoch, want_fence, want_shut_down, caught_up, applied, late=False, to=broker.controller, lacks=0
    )
    s.lifecycle = s.lifecycle.add(heartbeat)


@action(
    who="controller {voter}",
    source="KIP-631, Broker Leases",
    kafka="BrokerHeartbeatManager.touch",
    deviates="request and handling in one step",
    api="BrokerHeartbeat v0",
)
def report(s: Cluster, voter: Voter, process: Process) -> None:
    """A heartbeat counts as contact and as a report that its sender has the newest metadata, and decides nothing."""
    controller = s.controllers[voter]
    broker = node_id(process)
    registration = require_some(controller.image.registrations[broker])
    require(s.processes[process].broker_epoch == registration.broker_epoch)
    controller.expired_leases -= {broker}
    controller.checks_leases = True
    controller.shutdowns = with_reports(controller.shutdowns, broker, controller.image.offset)


@action(
    who="controller {voter}",
    source="KIP-631, Broker Leases",
    kafka="BrokerHeartbeatManager.hasValidSession",
    deviates="not counted, so that the traces that could have had it do not differ for ever",
)
def expire_lease_of_live(s: Cluster, voter: Voter, broker: Broker) -> None:
    """The lease of a broker runs out although it is alive: it is paused, or its heartbeats did not get through."""
    controller = s.controllers[voter]
    require(has_valid_session(controller, broker) and not is_silent(s, voter, broker))
    controller.expired_leases |= {broker}


@action(
    who="broker {leader}",
    source="KIP-497; KIP-841; KIP-903",
    kafka="AlterPartitionManager.maybePropagateIsrChanges",
    deviates="any ISR; it has the newest metadata, and adds one member at most",
    api="AlterPartition v3",
)
def ask_for_isr(s: Cluster, leader: Process, p: TopicPartition, isr: Set[Broker]) -> None:
    """A leader asks for an ISR. Its process may be gone by the time that the controller decides."""
    controller = s.controllers[Voter(0)]
    registration = require_some(controller.image.registrations[node_id(leader)])
    partition = require_some(controller.image.partitions[p])
    topic = require_some(controller.image.topic)
    added = isr - partition.isr
    require(partition.leader == node_id(leader) and isr != partition.isr and len(added) <= 1)
    request = AlterIsr(
        sender=leader,
        broker_epoch=registration.broker_epoch,
        topic=topic,
        partition=p,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        isr=isr,
        added_epoch=broker_epoch_of(controller.image, choose(added)) if added else None,
        late=True,
        to=Voter(0),
    )
    s.alterations = s.alterations.add(request)


@action(
    who="broker {process}",
    source="KIP-631, Controlled Shutdown; SHUTTING_DOWN",
    kafka="BrokerServer.shutdown",
    deviates="a fenced broker may have been let go by a reply that left nothing in the log",
)
def end_stopped(s: Cluster, process: Process) -> None:
    """A process that got SIGTERM has closed its logs, and is gone: the controller has fenced it by then."""
    stopping = s.processes[process]
    registration = require_some(s.controllers[stopping.controller].image.registrations[node_id(process)])
    require(stopping.state in (BrokerState.PENDING_CONTROLLED_SHUTDOWN, BrokerState.SHUTTING_DOWN))
    require(stopping.broker_epoch == registration.broker_epoch and registration.fenced)
    s.processes[process] = stopped(disk(stopping))


# Decisions that concern what the trace of a partition leaves out.


@action(
    who="controller {voter}",
    source="KIP-631, Controlled Shutdown",
    kafka="ReplicationControlManager.handleBrokerInControlledShutdown",
    deviates="the broker leads partitions that are not recorded, so that it has to wait",
    api="BrokerHeartbeat v0",
)
def begin_shutdown(s: Cluster, voter: Voter, process: Process) -> None:
    """A broker that leads other partitions asks to shut down, and the controller moves its leaderships away."""
    controller = s.controllers[voter]
    broker = node_id(process)
    registration = require_some(controller.image.registrations[broker])
    require(s.processes[process].broker_epoch == registration.broker_epoch)
    require(s.processes[process].state == BrokerState.PENDING_CONTROLLED_SHUTDOWN)
    require(controller.shutdowns[broker] is None)
    require(Design.shutdown_outlives_soft_state or not registration.in_controlled_shutdown)
    before = replace(controller.image)
    offset = fresh(s, MetadataOffset)
    controller.expired_leases -= {broker}
    controller.image = broker_in_controlled_shutdown(s, before, broker, offset)
    controller.shutdowns[broker] = Shutdown(offset, lagging=frozenset(Broker))
    controller.log = appended(controller, before)


@action(
    who="controller {voter}",
    source="KIP-631, TopicRecord; PartitionRecord",
    kafka="ReplicationControlManager.createTopic",
    deviates="replicas as whoever recorded them found them, for each partition the same",
    api="CreateTopics v7",
)
def create_topic_on(s: Cluster, voter: Voter, replicas: Replicas) -> None:
    """The controller creates the topic. Fenced brokers get replicas, too; those that are unfenced make the ISR."""
    controller = s.controllers[voter]
    image = controller.image
    active = active_brokers(image) & replica_set(replicas)
    require(image.topic is None and len(active) > 0)
    require(all(image.registrations[broker] is not None for broker in replicas))
    before = replace(image)
    start = s.start[0]
    first = Partition(
        replicas, active, first_replica_among(replicas, active), start.leader_epoch, start.partition_epoch, (), ()
    )
    image.topic = fresh(s, TopicId)
    image.partitions = Map({p: first for p in TopicPartition})
    controller.log = appended(controller, before)


RECORDED = Model(
    name="recorded",
    doc="Three brokers and a topic, with budgets of minutes: for traces of real clusters. Does not close.",
    init=nothing_there,
    actions=(
        broker.start,
        broker.send_registration,
        controller.handle_registration,
        broker.receive_registration_reply,
        broker.register_again,
        recover,
        ask_by_heartbeat,
        send_heartbeat_as_heard,
        controller.handle_heartbeat,
        broker.receive_heartbeat_reply,
        network.lose_lifecycle_reply,
        report,
        begin_shutdown,
        shutdown.sigterm,
        end_stopped,
        faults.crash,
        controller.expire_lease,
        expire_lease_of_live,
        controller.fence_expired,
        faults.fail_over,
        ask_for_isr,
        controller.handle_alter_isr,
        create_topic_on,
        topics.delete_topic,
        administration.reassign,
        administration.cancel_reassignment,
        administration.elect_preferred,
    ),
    properties=(),
    constants={
        "brokers": 3,
        "max_crashes": 200,
        "max_shutdowns": 200,
        "max_failovers": 200,
        "max_reassignments": 200,
        "max_topics": 1,
    },
    settings=SETTINGS,
    faults="crashes, SIGTERMs, pauses, failovers, reassignments, topics: as a run of minutes has them",
    not_modelled="what a broker knows when it asks; refusals but of registrations; data; ELR, KIP-858, KIP-853",
    assumptions=(one_controller,),
)

MODELS = [RECORDED]
