"""A cluster under test as a state of the spec: one of its topics, what its brokers are, and its leaders."""

from __future__ import annotations

from uuid import UUID

from checker.lang import Bag, Map
from impl.adapters.kraft.cluster import Cluster, ProcessHost
from impl.kraft.broker import Broker as Core
from impl.kraft.broker import PartitionLeader
from impl.kraft.image import Image, PartitionKey
from spec.kraft import initial, processes, state, types
from spec.kraft.metadata import Metadata, Partition, Registration

NO_LEADER = -1


def mapped(cluster: Cluster, topic: UUID | None, records: tuple[str, ...] | None = None) -> state.Cluster:
    """The state of the spec in which `topic` is the one there is. records: what is known of its partitions' records.

    Left out: messages under way, what only histories tell, and what leaders keep of their images.
    """
    image = cluster.committed
    host = cluster.controllers[0]
    lapsed = {id_ for id_, one in image.registrations.items() if not one.fenced}
    lapsed -= {id_ for id_ in lapsed if host.core.has_valid_session(id_, host.now_ms)}
    controller = initial.in_role(types.Role.ACTIVE, metadata(image, topic))
    controller.expired_leases = frozenset(types.Broker(id_) for id_ in lapsed)
    known = records or ("UNWRITTEN",) * len(types.TopicPartition)
    return state.Cluster(
        controllers=Map({voter: controller for voter in types.Voter}),
        stable=(),
        previous=(),
        snapshots=(),
        processes=Map({place: process(cluster.processes[place.index], topic) for place in types.Process}),
        lifecycle=Bag(),
        alterations=Bag(),
        produced=Map({p: types.RecordStatus[known[p.index]] for p in types.TopicPartition}),
        last_service=Map(dict.fromkeys(types.TopicPartition)),
        start=(state.FirstEpochs(types.LeaderEpoch(0), types.PartitionEpoch(0)),),
        last_target=Map(dict.fromkeys(types.TopicPartition, ())),
        answer=(),
        last_removal=(),
        last_listing=(),
        faults=state.Faults(**initial.NO_FAULTS),
    )


def topic_id(topic: UUID | None) -> types.TopicId:
    return types.TopicId(0 if topic is None else topic.int)


def metadata(image: Image, topic: UUID | None) -> Metadata:
    # No partition is found under a topic of None, hence `type: ignore` of such keys here and below.
    there = topic if topic in image.topics else None
    return Metadata(
        registrations=Map({broker: registration(image, broker.index) for broker in types.Broker}),
        topic=None if there is None else topic_id(there),
        partitions=Map({p: partition(image, (topic, p.index)) for p in types.TopicPartition}),  # type: ignore[arg-type]  # see above
        offset=None,
    )


def registration(image: Image, broker_id: int) -> Registration | None:
    one = image.registrations.get(broker_id)
    if one is None:
        return None
    return Registration(
        types.Incarnation(one.incarnation_id.int), types.BrokerEpoch(one.broker_epoch), one.fenced,
        one.in_controlled_shutdown, (),
    )  # fmt: skip


def partition(image: Image, key: PartitionKey) -> Partition | None:
    one = image.partitions.get(key)
    if one is None:
        return None
    return Partition(
        replicas=tuple(map(types.Broker, one.replicas)),
        isr=frozenset(map(types.Broker, one.isr)),
        leader=None if one.leader == NO_LEADER else types.Broker(one.leader),
        leader_epoch=types.LeaderEpoch(one.leader_epoch),
        partition_epoch=types.PartitionEpoch(one.partition_epoch),
        adding=tuple(map(types.Broker, one.adding_replicas)),
        removing=tuple(map(types.Broker, one.removing_replicas)),
    )


def process(host: ProcessHost, topic: UUID | None) -> processes.BrokerProcess:
    core = host.core
    logs = host.disk if core is None else core.logs
    replicas = {}
    for p in types.TopicPartition:
        log = logs.get((topic, p.index))  # type: ignore[arg-type]  # see above
        idle = processes.unassigned(topic_id(topic), has_record=log is not None and log.end_offset > 0)
        replicas[p] = idle if core is None else replica(core, (topic, p.index), idle)  # type: ignore[arg-type]  # see above
    made = processes.stopped(Map(replicas))
    if core is not None:
        epoch = core.broker_epoch
        made.state = types.BrokerState[core.state.name]
        made.broker_epoch = None if epoch is None else types.BrokerEpoch(epoch)
        made.wants_fence = core.lifecycle.wants_fence
        made.caught_up = epoch is not None and core.applied_offset >= epoch
    return made


def replica(core: Core, key: PartitionKey, idle: processes.Replica) -> processes.Replica:
    leader, follower = core.leaders.get(key), core.followers.get(key)
    epoch = leader.leader_epoch if leader else follower.leader_epoch if follower else None
    if epoch is not None:
        idle.leader_epoch = types.LeaderEpoch(epoch)
        idle.high_watermark = core.logs[key].high_watermark > 0
    if leader is not None:
        idle.leadership = leadership(leader)
    return idle


def leadership(leader: PartitionLeader) -> processes.Leadership:
    asked = None
    if leader.pending_change is not None:
        isr = {member.broker_id for member in leader.pending_change.new_isr}
        changed = types.Broker(min(isr ^ leader.isr))
        asked = processes.IsrChange(changed, types.BrokerEpoch(0) if changed.index in isr else None)
    return processes.Leadership(
        partition_epoch=types.PartitionEpoch(leader.partition_epoch),
        isr=frozenset(map(types.Broker, leader.isr)),
        pending_change=asked,
        reply=None,
        awaits_metadata=False,
        is_ahead=False,
        replicas_with_record=frozenset(
            types.Broker(id_) for id_, seen in leader.followers.items() if seen.log_end_offset > 0
        ),
        caught_up=(),
        starts_with_record=leader.epoch_start_offset > 0,
        applied=None,
        candidates=frozenset(),
    )
