"""The cluster under test brought to an initial state of the spec, by its own entry points.

The log is what the state's metadata asks for; a controller replays it and claims the active role. Processes that run
start, are told their epochs as the incarnations that are registered, replay the log, and send a heartbeat.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

from checker.conform.system import Refusal
from impl.adapters.kraft import processes
from impl.adapters.kraft.at_will import late
from impl.adapters.kraft.cluster import (
    FEATURES,
    TOPIC,
    Cluster,
    ControllerHost,
    Envelope,
    LifecycleRequest,
    Log,
    ProcessHost,
    Shape,
    Stable,
    incarnation_id,
    listeners,
    rack,
    registration_request,
    topic_id,
)
from impl.adapters.kraft.controllers import handle_lifecycle
from impl.adapters.kraft.core import Core
from impl.adapters.kraft.deciding import decide
from impl.adapters.kraft.epoch_history import Entry, EpochHistory, replayed
from impl.adapters.kraft.quorum import stepped_down
from impl.adapters.kraft.running import begun
from impl.adapters.kraft.values import Call, replace
from impl.kraft.broker import BrokerState
from impl.kraft.errors import ErrorCode
from impl.kraft.image import Image
from impl.kraft.messages import (
    AlterPartitionRequest,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationResponse,
    IsrMember,
    Response,
)
from impl.kraft.records import NO_LEADER, Batch, PartitionRecord, Record, RegisterBrokerRecord, TopicRecord

FIRST_EPOCH = 1
NEVER_ISSUED = 0  # as a broker epoch: where nobody is registered the log begins with the topic
CAUGHT_UP = BrokerHeartbeatResponse(ErrorCode.NONE, is_caught_up=True, is_fenced=False)
"""The answer to the first heartbeat of one that starts, which wants the fence, and would get it of the controller."""


def begin(core: Core, constants: Mapping[str, Any], state: Any) -> Cluster:
    """The cluster in what the spec calls the initial state `state`."""
    shape = shape_of(core, constants, state)
    image = next(iter(state.controllers.values())).image
    log = tuple(log_of(image))
    registered = [one for one in image.registrations.values() if one is not None]
    cluster = Cluster(
        shape=shape,
        controllers=(standby(shape, log),),
        processes=tuple(ProcessHost() for _ in shape.node_ids),
        log=Log(log),
        incarnations=len(registered),
        records=tuple(status.name for status in state.produced.values()),
    )
    first = replace(cluster.controllers[0], epoch=FIRST_EPOCH)
    cluster, _ = decide(cluster.with_controller(0, first), 0, Call("claim", (FIRST_EPOCH,)))
    for place, process in enumerate(state.processes.values()):
        if process.broker_epoch is not None:
            cluster = running(cluster, place, image.registrations)
    for request in state.alterations:
        if not request.late:
            cluster = addition_pending(cluster, request)
    if state.lifecycle:
        cluster = with_late_requests(cluster, state)
    return with_others(cluster, state) if len(state.controllers) > 1 else cluster


def with_late_requests(cluster: Cluster, state: Any) -> Cluster:
    """The cluster with late requests under way of one whose epoch was never issued."""
    envelopes, ids = list[Envelope](), cluster.shape.node_ids
    for one in state.lifecycle:
        id_ = ids[one.sender.index]
        if hasattr(one, "incarnation"):
            request: LifecycleRequest = registration_request(id_, incarnation_id(one.incarnation.value))
        else:
            request = BrokerHeartbeatRequest(id_, NEVER_ISSUED, NEVER_ISSUED - 1, one.want_fence, one.want_shut_down)
        envelopes.append(late(one.sender.index, one.to.index, request))
    changes = tuple(late(one.sender.index, one.to.index, late_change(cluster, one)) for one in state.alterations)
    return replace(cluster, lifecycle=tuple(envelopes), alterations=changes, incarnations=1)


def late_change(cluster: Cluster, one: Any) -> AlterPartitionRequest:
    topic, p, id_ = topic_id(0), one.partition.index, cluster.shape.node_ids[one.sender.index]
    partition = cluster.committed.partitions[topic, p]
    isr = tuple(IsrMember(member.index) for member in one.isr)
    return AlterPartitionRequest(id_, NEVER_ISSUED, topic, p, partition.leader_epoch, partition.partition_epoch, isr)


def addition_pending(cluster: Cluster, request: Any) -> Cluster:
    """The leader asks to add a follower that fetches, and asks once more."""
    leader, p = request.sender, request.partition
    isr = cluster.processes[leader.index].broker.image.partitions[topic_id(0), p.index].isr
    follower = next(member for member in request.isr if member.index not in isr)
    fetching = {"follower": follower, "leader": leader, "p": p, "answered": False}
    cluster = done(processes.send_alter_isr(done(processes.fetch(cluster, fetching, None)), fetching, None))
    return replace(cluster, alterations=(*cluster.alterations, replace(cluster.alterations[-1], late=True)))


def with_others(cluster: Cluster, state: Any) -> Cluster:
    """The cluster with all its controllers: they have the same log, all of it committed."""
    host = cluster.controllers[0]
    others = [standby(cluster.shape, cluster.log.batches, voter) for voter in range(1, len(state.controllers))]
    entries = [Entry(number, batch) for number, batch in enumerate(cluster.log.batches)]
    *_, (history, image) = replayed(EpochHistory({}), Image(), entries)
    cluster = replace(
        cluster,
        controllers=tuple(
            replace(one, image=image, epoch=host.epoch, high_watermark=image.offset) for one in (host, *others)
        ),
        stable=Stable(image, history),
        written=len(entries),
    )
    is_led = next(iter(state.controllers.values())).role.name != "STANDBY"
    return cluster if is_led else stepped_down(cluster, 0, host.epoch)


def shape_of(core: Core, constants: Mapping[str, Any], state: Any) -> Shape:
    brokers = len(next(iter(state.controllers.values())).image.registrations)
    return Shape(
        brokers=brokers,
        partitions=len(state.produced),
        node_ids=tuple(place if place < brokers else 0 for place in range(len(state.processes))),
        min_insync_replicas=constants.get("min_insync_replicas", 1),
        limits=dict(constants),
        core=core,
    )


def log_of(image: Any) -> Iterator[Batch]:
    """A log that gives this image of the spec: one batch for each registration, in their order, and the topic's."""
    offset = 0
    held = [(broker.index, one) for broker, one in image.registrations.items() if one is not None]
    for broker_id, one in sorted(held, key=lambda pair: int(pair[1].broker_epoch.value)):
        record = RegisterBrokerRecord(
            broker_id=broker_id,
            incarnation_id=incarnation_id(one.incarnation.value),
            broker_epoch=offset,
            endpoints=listeners(broker_id),
            features=FEATURES,
            rack=rack(broker_id),
            fenced=one.fenced,
            in_controlled_shutdown=one.in_controlled_shutdown,
        )
        yield Batch(offset, 0, (record,))
        offset += 1
    if image.topic is not None:
        yield Batch(offset, 0, (TopicRecord(TOPIC, topic_id(image.topic.value)), *partitions_of(image)))


def partitions_of(image: Any) -> Iterator[Record]:
    for p, one in image.partitions.items():
        yield PartitionRecord(
            partition_id=p.index,
            topic_id=topic_id(image.topic.value),
            replicas=tuple(broker.index for broker in one.replicas),
            isr=tuple(sorted(broker.index for broker in one.isr)),
            leader=NO_LEADER if one.leader is None else one.leader.index,
            leader_epoch=one.leader_epoch.value,
            partition_epoch=one.partition_epoch.value,
        )


def standby(shape: Shape, log: tuple[Batch, ...], voter: int = 0) -> ControllerHost:
    """A controller that has replayed a log."""
    core, image = shape.controller(voter=voter), Image()
    for batch in log:
        core.replay(batch)
        image.replay(batch)
    return ControllerHost(core, image, {}, is_elected=False)


def running(cluster: Cluster, place: int, registrations: Any) -> Cluster:
    """The cluster once the process at this place runs, which is registered and unfenced already."""
    incarnation = next(one.incarnation.value for b, one in registrations.items() if b.index == place)
    cluster = cluster.with_process(place, begun(cluster.shape.broker(place, incarnation)))
    who = {"process": SimpleNamespace(index=place)}
    cluster = told_its_epoch(cluster, processes.send_registration(cluster, who, None))
    cluster = done(processes.receive_reply(cluster, who, None))
    cluster = done(processes.apply_metadata(cluster, who, None))
    if cluster.processes[place].broker.state == BrokerState.STARTING:
        cluster = answered(cluster, processes.send_heartbeat(cluster, who, None), CAUGHT_UP)
        cluster = done(processes.receive_reply(cluster, who, None))
    cluster = done(processes.finish_recovery(cluster, who, None))
    cluster = exchanged(cluster, processes.send_heartbeat(cluster, who, None))
    return done(processes.receive_reply(cluster, who, None))


def done(after: Cluster | Refusal) -> Cluster:
    if isinstance(after, Refusal):
        raise AssertionError(f"the cluster cannot be brought to its initial state: {after.reason}")
    return after


def told_its_epoch(before: Cluster, sent: Cluster | Refusal) -> Cluster:
    """The cluster once the sender of this registration has its answer. The log has the registration already."""
    cluster = done(sent)
    held = cluster.committed.registrations[cluster.lifecycle[-1].request.broker_id]
    return answered(before, sent, BrokerRegistrationResponse(ErrorCode.NONE, held.broker_epoch))


def answered(before: Cluster, sent: Cluster | Refusal, response: Response) -> Cluster:
    """The cluster once the request that was just sent has an answer. No controller has heard of it."""
    cluster = done(sent)
    return processes.answered(replace(cluster, lifecycle=before.lifecycle), cluster.lifecycle[-1], response)


def exchanged(before: Cluster, sent: Cluster | Refusal) -> Cluster:
    """The cluster once the request that was just sent is handled."""
    cluster = done(sent)
    return handle_lifecycle(replace(cluster, lifecycle=before.lifecycle), cluster.lifecycle[-1])
