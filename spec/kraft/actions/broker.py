"""The life of broker processes: start, register, catch up, ask to be unfenced, run.

A broker keeps one registration or heartbeat under way at a time and repeats what was lost. As shipped Kafka
does, it keeps running when it is fenced, and when it gets STALE_BROKER_EPOCH it continues and never
registers again; `stop_when_stale` repairs that, in `conflicts_end`: in the other models it continues.
Fetching metadata is one step that copies what is committed at that moment: an image is a committed state, and
lags until the next such step. Where previous images are modelled, it may also stop one batch before.
SIGTERM is in `shutdown`. Leaves out: the time limit of the first registration.
"""

from __future__ import annotations

from checker.lang import Map, Option, Set, action, fresh, replace, require, require_some
from spec.kraft.decisions.partition import replica_set
from spec.kraft.design import Design
from spec.kraft.messages import Heartbeat, HeartbeatReply, Register, RegisterReply
from spec.kraft.metadata import Metadata, Partition, active_brokers, is_fenced, is_unfenced, newest_registration
from spec.kraft.processes import (
    BrokerProcess,
    Leadership,
    Listing,
    Listings,
    Replica,
    at_once,
    caught_up_among,
    disk,
    is_alive,
    is_deferred,
    nothing_lacking,
    stopped,
    unassigned,
    up_to_date,
)
from spec.kraft.state import Cluster, Service, another_is_alive, committed, lifecycle_exchanges
from spec.kraft.types import Broker, BrokerState, Error, Incarnation, Process, TopicId, TopicPartition, node_id


@action(
    who="broker {process}",
    source="KIP-631, The Broker State Machine",
    kafka="BrokerServer.startup",
)
def start(s: Cluster, process: Process) -> None:
    """A process starts, or starts again, as a new incarnation of its broker id."""
    broker = s.processes[process]
    require(not is_alive(broker))
    require(not another_is_alive(s, process))
    broker.state = BrokerState.STARTING
    broker.incarnation = fresh(s, Incarnation)
    broker.wants_fence = True


@action(
    who="broker {process}",
    source="KIP-631, Broker Registration",
    kafka="BrokerLifecycleManager.sendBrokerRegistration",
    api="BrokerRegistration v0",
)
def send_registration(s: Cluster, process: Process) -> None:
    """A process that has no broker epoch asks the controller for one, again if need be."""
    broker = s.processes[process]
    incarnation = require_some(broker.incarnation)
    require(broker.reply is None)
    require(lifecycle_exchanges(s) < Design.lifecycle_in_flight)
    require(not any(isinstance(m, Register) and m.incarnation == incarnation and not m.late for m in s.lifecycle))
    s.lifecycle = s.lifecycle.add(Register(process, incarnation, late=False, to=broker.controller))


@action(
    who="broker {process}",
    source="KIP-631, Broker Registration",
    kafka="BrokerLifecycleManager.BrokerRegistrationResponseHandler",
    api="BrokerRegistration v0",
)
def receive_registration_reply(s: Cluster, process: Process) -> None:
    """A process learns its broker epoch, or that another incarnation holds its id."""
    broker = s.processes[process]
    reply = require_some(broker.reply)
    require(isinstance(reply, RegisterReply) and not is_deferred(broker.deferral))
    assert isinstance(reply, RegisterReply)
    if reply.error == Error.NONE:
        broker.broker_epoch = reply.broker_epoch
        broker.incarnation = None
    broker.reply = None


@action(
    who="broker {process}",
    source="KIP-858, Brokers; Kafka, BrokerRegistrationTracker",
    kafka="BrokerRegistrationTracker.onMetadataUpdate, BrokerLifecycleManager.resendBrokerRegistrationUnlessZkMode",
    deviates="at any time, though Kafka's has reason to only when the metadata version changes; it awaits no reply",
    api="BrokerRegistration v0",
)
def register_again(s: Cluster, process: Process) -> None:
    """A process that is registered registers a second time, as the incarnation that it is."""
    broker = s.processes[process]
    registration = require_some(committed(s).registrations[node_id(process)])
    require(broker.broker_epoch == registration.broker_epoch and broker.reply is None)
    require(broker.state != BrokerState.SHUTTING_DOWN)
    require(lifecycle_exchanges(s) < Design.lifecycle_in_flight)
    require(not any(m.sender == process and not m.late for m in s.lifecycle))
    s.lifecycle = s.lifecycle.add(Register(process, registration.incarnation, late=False, to=broker.controller))


@action(
    who="broker {process}",
    source="KIP-631, Broker Leases",
    kafka="BrokerLifecycleManager.sendBrokerHeartbeat",
    api="BrokerHeartbeat v0",
)
def send_heartbeat(s: Cluster, process: Process) -> None:
    """A registered process renews its lease. It wants the fence until its log is recovered."""
    broker = s.processes[process]
    epoch = require_some(broker.broker_epoch)
    require(broker.reply is None and broker.state != BrokerState.SHUTTING_DOWN)
    require(lifecycle_exchanges(s) < Design.lifecycle_in_flight)
    require(not any(isinstance(m, Heartbeat) and m.broker_epoch == epoch and not m.late for m in s.lifecycle))
    stops = broker.state == BrokerState.PENDING_CONTROLLED_SHUTDOWN
    heartbeat = Heartbeat(
        process,
        epoch,
        broker.wants_fence,
        stops,
        broker.caught_up,
        broker.applied,
        late=False,
        to=broker.controller,
        lacks=broker.lacks[broker.controller],
    )
    s.lifecycle = s.lifecycle.add(heartbeat)


@action(
    who="broker {process}",
    source="KIP-631, The Broker State Machine",
    kafka="BrokerLifecycleManager.BrokerHeartbeatResponseHandler",
    api="BrokerHeartbeat v0",
)
def receive_heartbeat_reply(s: Cluster, process: Process) -> None:
    """A process that has recovered runs once it hears that it is unfenced, and shuts down when it is told to."""
    broker = s.processes[process]
    reply = require_some(broker.reply)
    require(isinstance(reply, HeartbeatReply) and not is_deferred(broker.deferral))
    assert isinstance(reply, HeartbeatReply)
    if broker.state == BrokerState.STARTING and reply.error == Error.NONE:
        broker.state = BrokerState.RECOVERY
    elif broker.state == BrokerState.RECOVERY and not reply.is_fenced:
        broker.state = BrokerState.RUNNING
    if broker.state == BrokerState.PENDING_CONTROLLED_SHUTDOWN and reply.should_shut_down:
        broker.state = BrokerState.SHUTTING_DOWN
    broker.reply = None


@action(
    who="broker {process}",
    source="KIP-631, Handling Broker ID Conflicts; UnregisterBroker",
    deviates="Kafka's process continues, and never registers again",
    api="BrokerHeartbeat v0",
)
def stop_when_stale(s: Cluster, process: Process) -> None:
    """A process ends that is told that its broker epoch is stale: it lost its id, or its id was unregistered."""
    broker = s.processes[process]
    reply = require_some(broker.reply)
    require(Design.stale_process_stops and not is_deferred(broker.deferral))
    require(isinstance(reply, HeartbeatReply) and reply.error == Error.STALE_BROKER_EPOCH)
    s.processes[process] = stopped(disk(broker))


@action(
    who="broker {process}",
    source="KIP-631, The Broker State Machine",
    kafka="LogManager.startup, BrokerLifecycleManager.setReadyToUnfence",
)
def finish_recovery(s: Cluster, process: Process) -> None:
    """A registered process has recovered its log, and from now on asks to be unfenced."""
    broker = s.processes[process]
    require(broker.state == BrokerState.RECOVERY and broker.wants_fence)
    require(broker.broker_epoch is not None)
    broker.wants_fence = False


# Metadata.


def acts_on_image(s: Cluster, process: Process, image: Metadata) -> bool:
    """True when a process that has this image leads and follows as it says.

    It waits for its broker epoch, so that the image reaches its own registration. Where another process
    has registered its id since, it sees a broker epoch there that is not its own; where its id was unregistered, none.
    """
    broker = s.processes[process]
    registration = image.registrations[node_id(process)]
    if broker.broker_epoch is None:
        return False
    is_current = registration is not None and broker.broker_epoch == registration.broker_epoch
    return is_current or not Design.superseded_stops


def new_leadership(image: Metadata, replica: Replica, partition: Partition) -> Leadership:
    """The memory of a leader that begins, or that still leads after the partition changed.

    A partition epoch older than a reply has shown changes nothing (Kafka: Partition.makeLeader skips it).
    """
    applied = newest_registration(image)
    candidates = active_brokers(image) & replica_set(partition.replicas)
    if replica.leadership is None or replica.leader_epoch != partition.leader_epoch:
        return Leadership(
            partition_epoch=partition.partition_epoch,
            isr=partition.isr,
            pending_change=None,
            reply=None,
            awaits_metadata=False,
            is_ahead=False,
            replicas_with_record=frozenset(),
            caught_up=caught_up_among(partition.isr),
            starts_with_record=replica.has_record,
            applied=applied,
            candidates=candidates,
        )
    if partition.partition_epoch < replica.leadership.partition_epoch:
        return replace(replica.leadership, applied=applied, candidates=candidates)
    is_newer = replica.leadership.partition_epoch != partition.partition_epoch
    is_resolved = is_newer or replica.leadership.is_ahead
    return replace(
        replica.leadership,
        partition_epoch=partition.partition_epoch,
        isr=partition.isr,
        pending_change=None if is_resolved else replica.leadership.pending_change,
        reply=None if is_resolved else replica.leadership.reply,
        awaits_metadata=not is_resolved and replica.leadership.awaits_metadata,
        is_ahead=False,
        applied=applied,
        candidates=candidates,
    )


@action(
    who="broker {process}",
    source="KIP-631, The Broker State Machine; KIP-500, metadata fetch",
    kafka="BrokerMetadataPublisher.onMetadataUpdate, ReplicaManager.applyDelta, Partition.makeLeader",
    deviates="fetch and application in one step",
    api="Fetch v15 (__cluster_metadata)",
)
def apply_metadata(s: Cluster, process: Process) -> None:
    """A process catches up with the committed metadata, and leads or follows as it says from then on.

    A newer partition epoch settles what a leader had asked for: no copy of the request can commit any more. A change
    that the leader knows from its reply settles nothing, though in Kafka it does.
    """
    broker = s.processes[process]
    caught_up = broker.broker_epoch is not None
    after = with_image(s, process, committed(s), caught_up, 0)
    require(is_alive(broker) and after != broker)
    s.last_service = Map({p: first_service(s, process, p, after.replicas[p]) for p in TopicPartition})
    s.processes[process] = after


@action(
    who="broker {process}",
    source="KIP-500, metadata fetch; KIP-631, Controller Failover",
    kafka="MetadataLoader.handleCommit, BrokerMetadataPublisher.onMetadataUpdate",
    deviates="of the images between the one that it has and the newest, the last",
    api="Fetch v15 (__cluster_metadata)",
)
def apply_previous_metadata(s: Cluster, process: Process) -> None:
    """A process that lags by more than a batch applies the metadata up to the last batch but one, and lags by that."""
    broker = s.processes[process]
    require(is_alive(broker) and broker.lag > 1 and len(s.previous) > 0)
    image = s.previous[0]
    registration = image.registrations[node_id(process)]
    caught_up = registration is not None and registration.broker_epoch == broker.broker_epoch
    after = with_image(s, process, image, caught_up, 1)
    s.last_service = Map({p: first_service(s, process, p, after.replicas[p]) for p in TopicPartition})
    s.processes[process] = after


def with_image(s: Cluster, process: Process, image: Metadata, caught_up: bool, lag: int) -> BrokerProcess:
    """The process once it leads, follows and lists brokers as an image says that is newer than its own."""
    broker = s.processes[process]
    is_starting = broker.state == BrokerState.STARTING
    return replace(
        broker,
        state=BrokerState.RECOVERY if is_starting and Design.own_image_ends_start else broker.state,
        caught_up=caught_up,
        applied=image.offset,
        lag=lag,
        reach=up_to_date() if caught_up else 0,
        lacks=nothing_lacking() if caught_up else broker.lacks,
        listing=listing_of(image),
        replicas=Map({p: assigned(s, process, image, p) for p in TopicPartition}),
    )


def listing_of(image: Metadata) -> Listings:
    """The registrations in an image, where clients ask for them."""
    if Design.metadata_responses == 0:
        return ()
    registered = frozenset(broker for broker in Broker if image.registrations[broker] is not None)
    unfenced = frozenset(broker for broker in Broker if is_unfenced(image, broker))
    return (Listing(registered, fenced=fenced_brokers(image), unfenced=unfenced),)


def fenced_brokers(image: Metadata) -> Set[Broker]:
    return frozenset(broker for broker in Broker if is_fenced(image, broker))


def assigned(s: Cluster, process: Process, image: Metadata, p: TopicPartition) -> Replica:
    """A process's replica of a partition as an image wants it: leading, following or neither."""
    partition = image.partitions[p]
    topic = image.topic
    if not acts_on_image(s, process, image):
        return idle(s.processes[process].replicas[p])
    replica = without_deleted(s.processes[process].replicas[p], topic)
    if partition is None or topic is None:
        return idle(replica)
    if node_id(process) not in partition.replicas:
        return unassigned(topic, has_record=False)
    if partition.leader is None:
        return replace(idle(replica), topic=topic)
    leads = partition.leader == node_id(process)
    leadership = new_leadership(image, replica, partition) if leads else None
    asks_still = leadership is not None and leadership.reply is not None
    return replace(
        replica,
        topic=topic,
        leader_epoch=partition.leader_epoch,
        leadership=leadership,
        deferral=replica.deferral if asks_still else at_once(),
        image_leader=partition.leader if Design.max_shutdowns > 0 else None,
    )


def without_deleted(replica: Replica, topic: Option[TopicId]) -> Replica:
    """The replica when `topic` is the one there is: nothing of it, if it is of another."""
    if topic == replica.topic or not (Design.kafka_14616 or replica.leader_epoch is not None):
        return replace(replica)
    return unassigned(replica.topic if topic is None else topic, has_record=False)


def idle(replica: Replica) -> Replica:
    """A replica that neither leads nor follows any more, with what is on its disk."""
    return replace(replica, leader_epoch=None, leadership=None, deferral=at_once(), image_leader=None)


def first_service(s: Cluster, process: Process, p: TopicPartition, replica: Replica) -> Option[Service]:
    """The first process to lead in the newest leader epoch, once `process` has `replica`."""
    last, epoch, broker_epoch = s.last_service[p], replica.leader_epoch, s.processes[process].broker_epoch
    if replica.leadership is None or epoch is None or broker_epoch is None:
        return last
    return Service(epoch, broker_epoch) if last is None or last.leader_epoch < epoch else last
