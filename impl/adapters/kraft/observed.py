"""The view of the cluster under test: the replay of emitted records, the messages it sent, the replies it gave.

Views of a host are remembered with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar
from uuid import UUID

from checker.conform.system import Ordinal
from impl.adapters.kraft.cluster import (
    FEATURES,
    TOPIC,
    Answer,
    Cluster,
    ControllerHost,
    Envelope,
    ProcessHost,
    Shape,
    is_described,
    listeners,
    put,
    rack,
)
from impl.adapters.kraft.core import BrokerCore, end_of_snapshot_with, fenced_have_leases
from impl.adapters.kraft.epoch_history import EpochHistory, Marks, topic_number
from impl.adapters.kraft.epoch_history import replayed as replays
from impl.adapters.kraft.values import recalled, remembered
from impl.adapters.kraft.views import (
    AlterIsrReplyView,
    AlterIsrView,
    Bag,
    BatchView,
    ClusterView,
    ControllerView,
    DeltaView,
    HeartbeatReplyView,
    HeartbeatView,
    LeadershipView,
    MetadataView,
    PartitionView,
    ProcessView,
    RegisterReplyView,
    RegisterView,
    RegistrationView,
    RemovedView,
    ReplicaView,
    ShutdownView,
    StableView,
    bag,
)
from impl.kraft.broker import InMemoryReplicaLog, PartitionLeader, ReplicaLog
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
from impl.kraft.records import NO_LEADER, Batch, RegisterBrokerRecord
from impl.kraft.snapshot import load_snapshot

T = TypeVar("T")


def observe(cluster: Cluster) -> ClusterView:
    """The view of the whole cluster."""
    return ClusterView(
        controllers=tuple([controller(cluster, host) for host in cluster.controllers]),
        committed=stable(cluster),
        snapshot=snapshot(cluster),
        processes=tuple([process(cluster, host) for host in cluster.processes]),
        lifecycle=bag_of(lifecycle_request(cluster, envelope) for envelope in cluster.lifecycle),
        alterations=bag_of(alter_isr(cluster, envelope) for envelope in cluster.alterations),
        records=cluster.records,
        answer=cluster.answer,
        removal=None if cluster.removal is None else cluster.removal.is_confirmed,
        listing=cluster.listing,
    )


def bag_of(views: Iterable[tuple[object, ...]]) -> Bag:
    """The bag of these views, of which equal ones are one object."""
    together = tuple(views)
    return the_bag(*together) if together else NOTHING


@recalled
def the_bag(*views: tuple[object, ...]) -> Bag:
    return bag(list(views))


NOTHING: Bag = frozenset()


# Controllers.


def controller(cluster: Cluster, host: ControllerHost) -> ControllerView:
    found: ControllerView | None = host.memory.get(cluster.lens.view)  # type: ignore[assignment]  # as it was put there
    if found is None:
        found = host.memory[cluster.lens.view] = view_of_controller(cluster, host)
    return found


def view_of_controller(cluster: Cluster, host: ControllerHost) -> ControllerView:
    """Of one that is out of sight, only that it is."""
    core, shape, is_blank = host.core, cluster.shape, host.is_out_of_sight
    leased = leased_in(host) if core.is_active and not is_blank else ()
    history, log = (cluster.history, ()) if is_blank or not host.log else log_of(cluster, host)
    return ControllerView(
        role="ACTIVE" if core.is_active else "ELECTED" if host.is_elected else "STANDBY",
        epoch=controller_epoch(host.epoch),
        image=metadata_in(history, shape, Image() if is_blank else host.image, cluster.marks),
        expired_leases=tuple(id_ for id_ in leased if not core.has_valid_session(id_, host.now_ms)),
        shutdowns=tuple(None if host.is_lost else shutdown(history, host, id_) for id_ in range(shape.brokers)),
        lags_since=None if host.lags_since is None else controller_epoch(host.lags_since),
        log=log,
    )


def leased_in(host: ControllerHost) -> tuple[int, ...]:
    """The brokers whose leases decide anything."""
    registered = sorted(host.image.registrations.items())
    return tuple(id_ for id_, one in registered if not one.fenced or fenced_have_leases(host.core))


def controller_epoch(value: int) -> Ordinal:
    return Ordinal("ControllerEpoch", value)


def log_of(cluster: Cluster, host: ControllerHost) -> tuple[EpochHistory, tuple[BatchView, ...]]:
    """A controller's log beyond the high watermark, and the history of all epochs that it knows of."""
    committed = stable(cluster)
    assert committed is not None
    known, shown, views = cluster.history, committed.image, list[BatchView]()
    for entry, (history, image) in zip(host.log, replays(known, cluster.committed, host.log), strict=True):
        before, shown = shown, metadata_in(history, cluster.shape, image, ())
        views.append(batch(entry.batch, before, shown))
        known = history
    return known, tuple(views)


def batch(one: Batch, before: MetadataView, after: MetadataView) -> BatchView:
    """A batch that leads from one image to another. A registration that is written again is one that changes."""
    written = {record.broker_id for record in one.records if isinstance(record, RegisterBrokerRecord)}
    pairs = enumerate(zip(before.registrations, after.registrations, strict=True))
    delta = DeltaView(
        removed=removed(before, after),
        registrations=tuple(new if old != new or id_ in written else None for id_, (old, new) in pairs),
        topic=None if before.topic == after.topic else after.topic,
        partitions=tuple(changes(before.partitions, after.partitions)),
    )
    return BatchView(controller_epoch(one.epoch), delta)


def removed(before: MetadataView, after: MetadataView) -> RemovedView | None:
    topic = before.topic is not None and after.topic is None
    registrations = zip(before.registrations, after.registrations, strict=True)
    gone = tuple(id_ for id_, (old, new) in enumerate(registrations) if old is not None and new is None)
    return RemovedView(topic, gone) if topic or gone else None


def changes(before: Iterable[T], after: Iterable[T]) -> Iterator[T | None]:
    return (None if old == new else new for old, new in zip(before, after, strict=True))


def stable(cluster: Cluster) -> StableView | None:
    if cluster.stable is None:
        return None
    image, epoch = cluster.stable.image, cluster.log.batches[-1].epoch
    return remembered(
        cluster.stable.memory, "view", lambda: StableView(metadata(cluster, image), controller_epoch(epoch))
    )


def snapshot(cluster: Cluster) -> MetadataView | None:
    taken = cluster.snapshot
    if taken is None:
        return None
    return remembered(taken.memory, cluster.lens.view, lambda: metadata(cluster, load_snapshot(taken.snapshot)))


def shutdown(history: EpochHistory, host: ControllerHost, broker_id: int) -> ShutdownView | None:
    sessions, registrations = host.core.sessions, host.image.registrations
    offset = sessions.shutdown_offset(broker_id)
    if offset is None:
        return None
    active = (id_ for id_, registration in sorted(registrations.items()) if registration.is_active)
    behind = tuple(id_ for id_ in active if not sessions.all_reach(offset, [id_]))
    return ShutdownView(history.offset(offset), behind)


def metadata(cluster: Cluster, image: Image) -> MetadataView:
    """An image of what is committed."""
    return metadata_in(cluster.history, cluster.shape, image, cluster.marks)


def metadata_in(history: EpochHistory, shape: Shape, image: Image, marks: Marks) -> MetadataView:
    topic = image.topic_ids.get(TOPIC)
    keys = [(topic, p) for p in range(shape.partitions)] if topic is not None else []
    return MetadataView(
        registrations=tuple(registration(history, id_, image.registrations.get(id_)) for id_ in range(shape.brokers)),
        topic=None if topic is None else Ordinal("TopicId", topic_number(topic)),
        partitions=tuple(partition(history, key, image.partitions.get(key)) for key in keys)
        or (None,) * shape.partitions,
        offset=history.reached(marks, image.offset),
    )


def registration(history: EpochHistory, id_: int, one: Registration | None) -> RegistrationView | None:
    if one is None:
        return None
    return RegistrationView(
        incarnation=Ordinal("Incarnation", one.incarnation_id.int),
        broker_epoch=history.broker_epoch(one.broker_epoch),
        fenced=one.fenced,
        in_controlled_shutdown=one.in_controlled_shutdown,
        is_described=(one.endpoints, one.features, one.rack) == (listeners(id_), FEATURES, rack(id_)),
    )


def partition(history: EpochHistory, key: PartitionKey, one: Partition | None) -> PartitionView | None:
    if one is None:
        return None
    return PartitionView(
        replicas=one.replicas,
        isr=tuple(sorted(one.isr)),
        leader=None if one.leader == NO_LEADER else one.leader,
        leader_epoch=history.leader_epoch(key, one.leader_epoch),
        partition_epoch=history.partition_epoch(key, one.partition_epoch),
        adding=one.adding_replicas,
        removing=one.removing_replicas,
    )


# Processes.


def process(cluster: Cluster, host: ProcessHost) -> ProcessView:
    if host.stand_in is not None:
        return with_replies(cluster.history, host.stand_in, host)
    found: ProcessView | None = host.memory.get(cluster.lens.view)  # type: ignore[assignment]  # as it was put there
    if found is None:
        found = host.memory[cluster.lens.view] = view_of_process(cluster, host)
    return found


def with_replies(history: EpochHistory, view: ProcessView, host: ProcessHost) -> ProcessView:
    """The view of a stand-in."""
    if host.answer is not None:
        return view._replace(reply=reply(history, host.answer))
    for (_, p), answer in host.isr_answers.items():
        answered = alter_isr_reply(history, answer)
        return view._replace(replicas=put(view.replicas, p, view.replicas[p]._replace(reply=answered)))
    return view


def view_of_process(cluster: Cluster, host: ProcessHost) -> ProcessView:
    shape, core, history = cluster.shape, host.core, cluster.history
    if core is None:
        return ProcessView(
            state="NOT_RUNNING",
            incarnation=None,
            broker_epoch=None,
            controller=0,
            reply=None,
            wants_fence=False,
            caught_up=host.reaches >= 0,
            applied=history.reached(cluster.marks, host.reaches) if host.reaches >= 0 else None,
            reach=0,
            lacks=(0,) * len(cluster.controllers),
            replicas=tuple(left(host, p) for p in range(shape.partitions)),
        )
    epoch, id_, voters = core.broker_epoch, core.broker_id, range(len(cluster.controllers))
    caught_up = epoch is not None and core.applied_offset >= epoch
    return ProcessView(
        state=core.state.name,
        incarnation=Ordinal("Incarnation", core.lifecycle.incarnation_id.int) if epoch is None else None,
        broker_epoch=None if epoch is None else history.broker_epoch(epoch),
        controller=host.controller,
        reply=None if host.answer is None else reply(history, host.answer),
        wants_fence=core.lifecycle.wants_fence,
        caught_up=caught_up,
        applied=history.reached(cluster.marks, core.applied_offset) if caught_up else None,
        reach=reach(cluster, core.applied_offset),
        lacks=tuple(lack(cluster, voter, id_, core.lifecycle.incarnation_id, core.applied_offset) for voter in voters),
        replicas=tuple(replica(history, host, core, p) for p in range(shape.partitions)),
    )


def reach(cluster: Cluster, offset: int) -> int:
    """How far an image reaches, where that counts."""
    if not cluster.shape.snapshot_end_counts:
        return 0
    if offset >= cluster.committed.offset:
        return 2
    return int(cluster.snapshot is not None and offset >= cluster.snapshot.snapshot.offset)


def lack(cluster: Cluster, voter: int, broker_id: int, incarnation: UUID, offset: int) -> int:
    """1 where a controller has a registration from a snapshot of which an image up to this offset lacks something."""
    if not cluster.shape.snapshot_end_counts:
        return 0
    return int(offset < end_of_snapshot_with(cluster.controllers[voter].core, broker_id, incarnation))


def reply(history: EpochHistory, answer: Answer) -> RegisterReplyView | HeartbeatReplyView:
    match answer.response:
        case BrokerRegistrationResponse(error, epoch):
            return RegisterReplyView(error.name, history.broker_epoch(epoch) if error == ErrorCode.NONE else None)
        case BrokerHeartbeatResponse(error, _, is_fenced, should_shut_down):
            return HeartbeatReplyView(error.name, is_fenced, should_shut_down)
    raise AssertionError("an AlterPartition response is kept with its partition")


def has_record(log: ReplicaLog | None) -> bool:
    return log is not None and log.end_offset > 0


def key_of(logs: dict[PartitionKey, InMemoryReplicaLog], p: int) -> PartitionKey | None:
    """The partition `p` of whatever topic there is a log with a record of."""
    return next((key for key, log in logs.items() if key[1] == p and has_record(log)), None)


def left(host: ProcessHost, p: int) -> ReplicaView:
    """The replica on the disk of a process that does not run."""
    key = key_of(host.disk, p)
    topic = None if key is None else Ordinal("TopicId", topic_number(key[0]))
    return ReplicaView(topic, None, None, None, False, key is not None)


def replica(history: EpochHistory, host: ProcessHost, core: BrokerCore, p: int) -> ReplicaView:
    logs: dict[PartitionKey, InMemoryReplicaLog] = core.logs  # type: ignore[assignment]  # the disks here are in memory
    leads = next((key for key in core.leaders if key[1] == p), None)
    follows = next((key for key in core.followers if key[1] == p), None)
    key = leads or follows or key_of(logs, p)
    if key is None:
        return ReplicaView(None, None, None, None, False, False)
    log = logs[key]
    leader = core.leaders[key] if leads is not None else None
    epoch = leader.leader_epoch if leader is not None else core.followers[key].leader_epoch if follows else None
    answer = host.isr_answers.get(key)
    return ReplicaView(
        topic=Ordinal("TopicId", topic_number(key[0])),
        leader_epoch=None if epoch is None else history.leader_epoch(key, epoch),
        leadership=None if leader is None else leadership(history, leader),
        reply=None if answer is None else alter_isr_reply(history, answer),
        high_watermark=epoch is not None and log.high_watermark > 0,
        has_record=has_record(log),
    )


def leadership(history: EpochHistory, leader: PartitionLeader) -> LeadershipView:
    asked, added_epoch = None, None
    if leader.pending_change is not None:
        asked = tuple(sorted(member.broker_id for member in leader.pending_change.new_isr))
        added = next((member for member in leader.pending_change.new_isr if member.broker_id not in leader.isr), None)
        added_epoch = None if added is None else history.broker_epoch(added.broker_epoch)
    holds = has_record(leader.log)
    return LeadershipView(
        partition_epoch=history.partition_epoch(leader.key, leader.partition_epoch),
        isr=tuple(sorted(leader.isr)),
        pending_change=asked,
        added_epoch=added_epoch,
        replicas_with_record=tuple(
            id_ for id_, f in sorted(leader.followers.items()) if holds and f.log_end_offset > 0
        ),
        starts_with_record=leader.epoch_start_offset > 0,
    )


def alter_isr_reply(history: EpochHistory, answer: Answer) -> AlterIsrReplyView:
    request, response = answer.request, answer.response
    assert isinstance(request, AlterPartitionRequest) and isinstance(response, AlterPartitionResponse)
    if response.error != ErrorCode.NONE:
        return AlterIsrReplyView(response.error.name, False, None, ())
    return AlterIsrReplyView(
        error=response.error.name,
        at_new_leader_epoch=response.leader_epoch != request.leader_epoch,
        partition_epoch=history.partition_epoch((request.topic_id, request.partition_id), response.partition_epoch),
        isr=tuple(sorted(response.isr)),
    )


# Requests under way.


def lifecycle_request(cluster: Cluster, envelope: Envelope) -> RegisterView | HeartbeatView:
    return remembered(envelope.memory, cluster.lens.view, lambda: lifecycle_view(cluster, envelope))


def lifecycle_view(cluster: Cluster, envelope: Envelope) -> RegisterView | HeartbeatView:
    request, history = envelope.request, cluster.history
    if isinstance(request, BrokerRegistrationRequest):
        incarnation = Ordinal("Incarnation", request.incarnation_id.int)
        described = is_described(cluster.shape.node_ids[envelope.sender], request)
        return RegisterView(envelope.sender, incarnation, envelope.late, envelope.to, described)
    assert isinstance(request, BrokerHeartbeatRequest)
    offset = request.current_metadata_offset
    caught_up = offset >= request.broker_epoch
    return HeartbeatView(
        sender=envelope.sender,
        is_own=request.broker_id == cluster.shape.node_ids[envelope.sender],
        broker_epoch=history.broker_epoch(request.broker_epoch),
        want_fence=request.want_fence,
        want_shut_down=request.want_shut_down,
        offline_log_dirs=request.offline_log_dirs,
        caught_up=caught_up,
        applied=history.reached(cluster.marks, offset) if caught_up else None,
        lacks=envelope.lacks,
        late=envelope.late,
        to=envelope.to,
    )


def alter_isr(cluster: Cluster, envelope: Envelope) -> AlterIsrView:
    return remembered(envelope.memory, cluster.lens.view, lambda: alter_isr_view(cluster.history, envelope))


def alter_isr_view(history: EpochHistory, envelope: Envelope) -> AlterIsrView:
    request = envelope.request
    assert isinstance(request, AlterPartitionRequest)
    key = (request.topic_id, request.partition_id)
    seen = {member.broker_id: member.broker_epoch for member in request.new_isr}
    return AlterIsrView(
        sender=envelope.sender,
        broker_epoch=history.broker_epoch(request.broker_epoch),
        topic=Ordinal("TopicId", topic_number(key[0])),
        partition=key[1],
        leader_epoch=history.leader_epoch(key, request.leader_epoch),
        partition_epoch=history.partition_epoch(key, request.partition_epoch),
        isr=tuple(sorted(seen)),
        added_epoch=None if envelope.added is None else history.broker_epoch(seen[envelope.added]),
        late=envelope.late,
        to=envelope.to,
    )
