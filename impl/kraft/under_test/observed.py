"""What the cluster under test shows: the replay of emitted records, the messages it sent, the replies it gave.

Views of a host are remembered with it. What a process that lost its id says of its image decides nothing, and is
left out here as in `expected`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import TypeVar

from impl.kraft.broker import Broker, InMemoryReplicaLog, PartitionLeader, ReplicaLog
from impl.kraft.errors import ErrorCode
from impl.kraft.image import Image, Partition, PartitionKey, Registration
from impl.kraft.messages import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from impl.kraft.records import NO_LEADER
from impl.kraft.under_test.cluster import (
    TOPIC,
    Answer,
    Cluster,
    ControllerHost,
    Envelope,
    ProcessHost,
    Shape,
    put,
    topic_number,
)
from impl.kraft.under_test.views import (
    AlterIsrReplyView,
    AlterIsrView,
    ClusterView,
    ControllerView,
    HeartbeatReplyView,
    HeartbeatView,
    LeadershipView,
    MetadataView,
    Ordinal,
    PartitionView,
    ProcessView,
    RegisterReplyView,
    RegisterView,
    RegistrationView,
    ReplicaView,
    ShutdownView,
    bag,
    broker_epoch,
    leader_epoch,
    partition_epoch,
)

T = TypeVar("T")
Marks = tuple[int, ...]


def observe(cluster: Cluster) -> ClusterView:
    """What the whole cluster shows."""
    committed = cluster.committed
    return ClusterView(
        controllers=tuple(controller(cluster, host) for host in cluster.controllers),
        processes=tuple(process(cluster, committed, place) for place in range(len(cluster.processes))),
        lifecycle=bag([lifecycle_request(cluster, committed, envelope) for envelope in cluster.lifecycle]),
        alterations=bag([alter_isr(envelope) for envelope in cluster.alterations]),
        records=cluster.records,
        answer=cluster.answer,
    )


def remembered(memory: dict[object, object], key: object, make: Callable[[], T]) -> T:
    found = memory.get(key)
    if found is None:
        found = memory[key] = make()
    return found  # type: ignore[return-value]  # a key is always of what `make` gives


def reached(marks: Marks, offset: int) -> Ordinal | None:
    """The last offset that somebody waits for and that `offset` reaches."""
    found = bisect_right(marks, offset)
    return Ordinal("MetadataOffset", marks[found - 1]) if found else None


# Controllers.


def controller(cluster: Cluster, host: ControllerHost) -> ControllerView:
    return remembered(host.memory, ("view", cluster.marks), lambda: view_of_controller(cluster, host))


def view_of_controller(cluster: Cluster, host: ControllerHost) -> ControllerView:
    core, shape = host.core, cluster.shape
    unfenced = (id_ for id_, registration in sorted(host.image.registrations.items()) if not registration.fenced)
    return ControllerView(
        role="ACTIVE" if core.is_active else "STANDBY",
        epoch=Ordinal("ControllerEpoch", core.epoch or 0),
        image=metadata(shape, host.image, cluster.marks),
        lapsed=tuple(id_ for id_ in unfenced if not core.has_valid_session(id_, host.now_ms)),
        shutdowns=tuple(shutdown(host, id_) for id_ in range(shape.brokers)),
    )


def shutdown(host: ControllerHost, broker_id: int) -> ShutdownView | None:
    sessions, registrations = host.core.sessions, host.image.registrations
    offset = sessions.shutdown_offset(broker_id)
    if offset is None:
        return None
    active = (id_ for id_, registration in sorted(registrations.items()) if registration.is_active)
    behind = tuple(id_ for id_ in active if not sessions.all_reach(offset, [id_]))
    return ShutdownView(Ordinal("MetadataOffset", offset), behind)


def metadata(shape: Shape, image: Image, marks: Marks) -> MetadataView:
    topic = image.topic_ids.get(TOPIC)
    keys = [(topic, p) for p in range(shape.partitions)] if topic is not None else []
    return MetadataView(
        registrations=tuple(registration(image.registrations.get(id_)) for id_ in range(shape.brokers)),
        topic=None if topic is None else Ordinal("TopicId", topic_number(topic)),
        partitions=tuple(partition(key, image.partitions.get(key)) for key in keys) or (None,) * shape.partitions,
        offset=reached(marks, image.offset),
    )


def registration(one: Registration | None) -> RegistrationView | None:
    if one is None:
        return None
    return RegistrationView(
        incarnation=Ordinal("Incarnation", one.incarnation_id.int),
        broker_epoch=broker_epoch(one.broker_epoch),
        fenced=one.fenced,
        in_controlled_shutdown=one.in_controlled_shutdown,
    )


def partition(key: PartitionKey, one: Partition | None) -> PartitionView | None:
    if one is None:
        return None
    topic = topic_number(key[0])
    return PartitionView(
        replicas=one.replicas,
        isr=tuple(sorted(one.isr)),
        leader=None if one.leader == NO_LEADER else one.leader,
        leader_epoch=leader_epoch(topic, key[1], one.leader_epoch),
        partition_epoch=partition_epoch(topic, key[1], one.partition_epoch),
        adding=one.adding_replicas,
        removing=one.removing_replicas,
    )


# Processes.


def is_superseded(committed: Image, broker_id: int, epoch: int | None) -> bool:
    """The process of this broker epoch has lost its id."""
    holder = committed.registrations.get(broker_id)
    return epoch is not None and (holder is None or holder.broker_epoch != epoch)


def process(cluster: Cluster, committed: Image, place: int) -> ProcessView:
    host = cluster.processes[place]
    if host.stand_in is not None:
        return with_replies(host.stand_in, host)
    superseded = host.core is not None and is_superseded(
        committed, cluster.shape.node_ids[place], host.core.broker_epoch
    )
    key = ("view", cluster.marks, superseded)
    return remembered(host.memory, key, lambda: view_of_process(cluster, host, superseded=superseded))


def with_replies(view: ProcessView, host: ProcessHost) -> ProcessView:
    """What a stand-in shows."""
    if host.answer is not None:
        return view._replace(reply=reply(host.answer))
    for (topic, p), answer in host.isr_answers.items():
        told = alter_isr_reply(answer, topic_number(topic), p)
        return view._replace(replicas=put(view.replicas, p, view.replicas[p]._replace(reply=told)))
    return view


def view_of_process(cluster: Cluster, host: ProcessHost, *, superseded: bool) -> ProcessView:
    shape, core = cluster.shape, host.core
    if core is None:
        return ProcessView(
            state="NOT_RUNNING",
            incarnation=None,
            broker_epoch=None,
            controller=0,
            reply=None,
            wants_fence=False,
            caught_up=False,
            applied=None,
            replicas=tuple(left(host, p) for p in range(shape.partitions)),
        )
    epoch = core.broker_epoch
    caught_up = epoch is not None and core.applied_offset >= epoch and not superseded
    return ProcessView(
        state=core.state.name,
        incarnation=Ordinal("Incarnation", core.lifecycle.incarnation_id.int) if epoch is None else None,
        broker_epoch=None if epoch is None else broker_epoch(epoch),
        controller=host.controller,
        reply=None if host.answer is None else reply(host.answer),
        wants_fence=core.lifecycle.wants_fence,
        caught_up=caught_up,
        applied=reached(cluster.marks, core.applied_offset) if caught_up else None,
        replicas=tuple(replica(host, core, p) for p in range(shape.partitions)),
    )


def reply(answer: Answer) -> RegisterReplyView | HeartbeatReplyView:
    match answer.response:
        case BrokerRegistrationResponse(error, epoch):
            return RegisterReplyView(error.name, broker_epoch(epoch) if error == ErrorCode.NONE else None)
        case BrokerHeartbeatResponse(error, _, is_fenced, should_shut_down):
            return HeartbeatReplyView(error.name, is_fenced, should_shut_down)
    raise AssertionError("an AlterPartition response is kept with its partition")


def has_record(log: ReplicaLog | None) -> bool:
    return log is not None and log.end_offset > 0


def key_of(logs: dict[PartitionKey, InMemoryReplicaLog], p: int) -> PartitionKey | None:
    """The partition `p` of whatever topic there is a log with a record of."""
    return next((key for key, log in logs.items() if key[1] == p and has_record(log)), None)


def left(host: ProcessHost, p: int) -> ReplicaView:
    """What is on the disk of a process that does not run."""
    key = key_of(host.disk, p)
    topic = None if key is None else Ordinal("TopicId", topic_number(key[0]))
    return ReplicaView(topic, None, None, None, False, key is not None)


def replica(host: ProcessHost, core: Broker, p: int) -> ReplicaView:
    logs: dict[PartitionKey, InMemoryReplicaLog] = core.logs  # type: ignore[assignment]  # the disks here are in memory
    leads = next((key for key in core.leaders if key[1] == p), None)
    follows = next((key for key in core.followers if key[1] == p), None)
    key = leads or follows or key_of(logs, p)
    if key is None:
        return ReplicaView(None, None, None, None, False, False)
    topic, log = topic_number(key[0]), logs[key]
    leader = core.leaders[key] if leads is not None else None
    epoch = leader.leader_epoch if leader is not None else core.followers[key].leader_epoch if follows else None
    answer = host.isr_answers.get(key)
    return ReplicaView(
        topic=Ordinal("TopicId", topic),
        leader_epoch=None if epoch is None else leader_epoch(topic, p, epoch),
        leadership=None if leader is None else leadership(leader, topic, p),
        reply=None if answer is None else alter_isr_reply(answer, topic, p),
        high_watermark=epoch is not None and log.high_watermark > 0,
        has_record=has_record(log),
    )


def leadership(leader: PartitionLeader, topic: int, p: int) -> LeadershipView:
    asked, added_epoch = None, None
    if leader.asked is not None:
        asked = tuple(sorted(member.broker_id for member in leader.asked.new_isr))
        added = next((member for member in leader.asked.new_isr if member.broker_id not in leader.isr), None)
        added_epoch = None if added is None else broker_epoch(added.broker_epoch)
    holds = has_record(leader.log)
    return LeadershipView(
        partition_epoch=partition_epoch(topic, p, leader.partition_epoch),
        isr=tuple(sorted(leader.isr)),
        asked=asked,
        added_epoch=added_epoch,
        holders=tuple(id_ for id_, f in sorted(leader.followers.items()) if holds and f.log_end_offset > 0),
        starts_with_record=leader.epoch_start_offset > 0,
    )


def alter_isr_reply(answer: Answer, topic: int, p: int) -> AlterIsrReplyView:
    request, response = answer.request, answer.response
    assert isinstance(request, AlterPartitionRequest) and isinstance(response, AlterPartitionResponse)
    if response.error != ErrorCode.NONE:
        return AlterIsrReplyView(response.error.name, False, None, ())
    return AlterIsrReplyView(
        error=response.error.name,
        at_new_leader_epoch=response.leader_epoch != request.leader_epoch,
        partition_epoch=partition_epoch(topic, p, response.partition_epoch),
        isr=tuple(sorted(response.isr)),
    )


# Requests under way.


def lifecycle_request(cluster: Cluster, committed: Image, envelope: Envelope) -> RegisterView | HeartbeatView:
    request = envelope.request
    if isinstance(request, BrokerRegistrationRequest):
        incarnation = Ordinal("Incarnation", request.incarnation_id.int)
        return RegisterView(envelope.sender, incarnation, envelope.late, envelope.to)
    assert isinstance(request, BrokerHeartbeatRequest)
    superseded = is_superseded(committed, request.broker_id, request.broker_epoch)
    caught_up = request.current_metadata_offset >= request.broker_epoch and not superseded
    return HeartbeatView(
        sender=envelope.sender,
        broker_epoch=broker_epoch(request.broker_epoch),
        want_fence=request.want_fence,
        want_shut_down=request.want_shut_down,
        caught_up=caught_up,
        applied=reached(cluster.marks, request.current_metadata_offset) if caught_up else None,
        late=envelope.late,
        to=envelope.to,
    )


def alter_isr(envelope: Envelope) -> AlterIsrView:
    request = envelope.request
    assert isinstance(request, AlterPartitionRequest)
    topic, p = topic_number(request.topic_id), request.partition_id
    seen = {member.broker_id: member.broker_epoch for member in request.new_isr}
    return AlterIsrView(
        sender=envelope.sender,
        broker_epoch=broker_epoch(request.broker_epoch),
        topic=Ordinal("TopicId", topic),
        partition=p,
        leader_epoch=leader_epoch(topic, p, request.leader_epoch),
        partition_epoch=partition_epoch(topic, p, request.partition_epoch),
        isr=tuple(sorted(seen)),
        added_epoch=None if envelope.added is None else broker_epoch(seen[envelope.added]),
        late=envelope.late,
        to=envelope.to,
    )
