"""The structures that spec and implementation are compared by, and how each of the two is seen as one."""

from __future__ import annotations

from typing import Any, NamedTuple

from checker.conform.system import Ordinal
from impl.adapters.heartbeat import ordinals
from impl.adapters.heartbeat.cluster import (
    PARTITION,
    Answer,
    Cluster,
    ControllerHost,
    InFlight,
    ProcessHost,
    replica_of,
)
from impl.heartbeat.control_requests import NO_LEADER
from impl.heartbeat.design import Design
from impl.heartbeat.messages import (
    UNKNOWN,
    BrokerState,
    ErrorCode,
    IsrChangeRequest,
    IsrChangeResponse,
    MetadataHeartbeatRequest,
    MetadataHeartbeatResponse,
)
from impl.heartbeat.partitions import Partition
from impl.heartbeat.znodes import LeaderAndIsr, id_path, read_broker, read_state, state_path


class PartitionView(NamedTuple):
    leader: int | None
    leader_epoch: Ordinal
    isr: frozenset[int]
    version: Ordinal
    incarnations: frozenset[tuple[int, Ordinal]]
    controller_epoch: Ordinal


class HeartbeatView(NamedTuple):
    """A heartbeat. Its epoch is not shown: a process that knows none sends -1, and in the spec reads it."""

    incarnation: Ordinal
    target: str


class ReplyView(NamedTuple):
    error: str
    state: str
    incarnation: Ordinal
    controller_epoch: Ordinal | None


class ChangeView(NamedTuple):
    incarnation: Ordinal
    leader_epoch: Ordinal
    isr: frozenset[int]
    version: Ordinal | None
    added: Ordinal | None


class IsrReplyView(NamedTuple):
    error: str
    isr: frozenset[int]
    version: Ordinal | None


class ProcessView(NamedTuple):
    """A process. followers: those whose fetches it has taken, each at its incarnation."""

    up: bool
    owned: Ordinal | None
    incarnation: Ordinal | None
    fenced: bool
    target: str
    heartbeat: HeartbeatView | None
    reply: ReplyView | None
    controller_epoch: Ordinal | None
    leader_epoch: Ordinal | None
    leads: bool
    isr: frozenset[int]
    version: Ordinal | None
    proposed: frozenset[int]
    change: ChangeView | None
    isr_reply: IsrReplyView | None
    followers: frozenset[tuple[int, Ordinal]]
    caught_up: frozenset[int]
    in_hand: bool
    has_record: bool


class ControllerView(NamedTuple):
    """A controller in office, as it believes; of another nothing is shown. metadata: whom it shows."""

    epoch: Ordinal
    known: tuple[Ordinal | None, ...]
    states: tuple[str, ...]
    owed: frozenset[int]
    metadata: frozenset[int]
    partition: PartitionView


class ClusterView(NamedTuple):
    ids: tuple[tuple[int, Ordinal, bool] | None, ...]
    partition: PartitionView
    processes: tuple[ProcessView, ...]
    controllers: tuple[ControllerView | None, ...]
    late: frozenset[tuple[ChangeView, int]]
    written: bool
    acknowledged: bool


# The implementation.


def observe(cluster: Cluster) -> ClusterView:
    brokers = sorted({host.broker for host in cluster.processes})
    state = cluster.zookeeper.tree[state_path(PARTITION)]
    late = [_change(cluster.design, one) for one in cluster.late]
    return ClusterView(
        ids=tuple(_registered(cluster, broker) for broker in brokers),
        partition=_partition(read_state("", state.data), state.stat.version),
        processes=tuple(_process(cluster, host) for host in cluster.processes),
        controllers=tuple(_controller(host, brokers) for host in cluster.controllers),
        late=frozenset((one, late.count(one)) for one in late),
        written=cluster.written,
        acknowledged=cluster.acknowledged,
    )


def _registered(cluster: Cluster, broker: int) -> tuple[int, Ordinal, bool] | None:
    znode = cluster.zookeeper.tree.get(id_path(broker))
    if znode is None:
        return None
    info = read_broker("", znode.data)
    return info.port - 1, ordinals.incarnation(znode.stat.czxid), info.is_legacy


def _partition(state: LeaderAndIsr, version: int) -> PartitionView:
    return PartitionView(
        None if state.leader == NO_LEADER else state.leader,
        ordinals.leader_epoch(state.leader_epoch),
        frozenset(state.isr),
        ordinals.version(version),
        frozenset((member, ordinals.incarnation(one)) for member, one in state.named().items()),
        ordinals.controller_epoch(state.controller_epoch),
    )


def _process(cluster: Cluster, host: ProcessHost) -> ProcessView:
    core, design = host.core, cluster.design
    replica = replica_of(host)
    log = replica.log if replica is not None else host.log
    change = None if host.change is None else _change(design, host.change)
    if core is None:
        return _down(change, has_record=log is not None and bool(log.batches))
    leads = replica is not None and replica.leads
    followers = replica.followers if replica is not None and leads else {}
    return ProcessView(
        up=True,
        owned=ordinals.incarnation(core.registration.owned) if core.registration.owned else None,
        incarnation=ordinals.incarnation(core.registration.incarnation) if core.registration.incarnation else None,
        fenced=core.fence.is_fenced,
        target=core.target.name,
        heartbeat=_heartbeat(host),
        reply=_reply(design, host),
        controller_epoch=ordinals.controller_epoch(core.controller_epoch) if core.controller_epoch != UNKNOWN else None,
        leader_epoch=ordinals.leader_epoch(replica.leader_epoch)
        if replica is not None and replica.leader_epoch >= 0
        else None,
        leads=leads,
        isr=frozenset(replica.isr) if replica is not None and leads else frozenset(),
        version=ordinals.version(replica.version) if replica is not None and leads else None,
        proposed=frozenset(replica.proposed) if replica is not None and leads else frozenset(),
        change=change,
        isr_reply=_isr_reply(design, host),
        followers=frozenset((broker, ordinals.incarnation(seen.incarnation)) for broker, seen in followers.items()),
        caught_up=frozenset(broker for broker, seen in followers.items() if seen.is_caught_up),
        in_hand=host.accepted or (replica is not None and bool(replica.in_hand)),
        has_record=log is not None and bool(log.batches),
    )


def _down(change: ChangeView | None, *, has_record: bool) -> ProcessView:
    nobody = frozenset[int]()
    return ProcessView(
        False, None, None, False, "ACTIVE", None, None, None, None, False, nobody, None, nobody, change,
        None, frozenset(), nobody, False, has_record,
    )  # fmt: skip


def _heartbeat(host: ProcessHost) -> HeartbeatView | None:
    if host.heartbeat is None:
        return None
    request = host.heartbeat.ask.request
    assert isinstance(request, MetadataHeartbeatRequest)
    return HeartbeatView(ordinals.incarnation(request.incarnation_id), BrokerState(request.target_state).name)


def _reply(design: Design, host: ProcessHost) -> ReplyView | None:
    if host.reply is None:
        return None
    response = host.reply.response
    assert isinstance(response, MetadataHeartbeatResponse)
    return ReplyView(
        ErrorCode(response.error_code).name,
        BrokerState(response.current_state).name,
        ordinals.incarnation(response.incarnation_id),
        ordinals.controller_epoch(response.controller_epoch) if design.controller_epoch_in_heartbeat else None,
    )


def _change(design: Design, sent: InFlight) -> ChangeView:
    request = sent.ask.request
    assert isinstance(request, IsrChangeRequest)
    (change,) = request.topics[0].partitions
    return ChangeView(
        ordinals.incarnation(request.incarnation_id),
        ordinals.leader_epoch(change.leader_epoch),
        frozenset(change.isr),
        ordinals.version(change.version) if design.partition_version else None,
        None,
    )


def _isr_reply(design: Design, host: ProcessHost) -> IsrReplyView | None:
    """The answer to what the leader waits for; any other it will not look at."""
    answer, core, replica = host.isr_reply, host.core, replica_of(host)
    if answer is None or core is None or replica is None or core.leader.asked is None:
        return None
    (_, change), *_ = core.leader.asked.changes
    awaits = replica.leads and (replica.leader_epoch, replica.proposed) == (change.leader_epoch, change.isr)
    if core.leader.asked.number != answer.number or not awaits:
        return None
    return _answered(design, answer)


def _answered(design: Design, answer: Answer) -> IsrReplyView:
    response = answer.response
    assert isinstance(response, IsrChangeResponse)
    if response.top_level_error_code != ErrorCode.NONE:
        return IsrReplyView(ErrorCode(response.top_level_error_code).name, frozenset(), None)
    result = response.results[0]
    code = ErrorCode(result.error_code)
    if not design.partition_version or code is ErrorCode.NOT_LEADER_FOR_PARTITION:
        return IsrReplyView(code.name, frozenset(), None)
    return IsrReplyView(code.name, frozenset(result.isr), ordinals.version(result.version))


def _controller(host: ControllerHost, brokers: list[int]) -> ControllerView | None:
    core = host.core
    if core.office is None:
        return None
    known = [core.registry.brokers.get(broker) for broker in brokers]
    partition = core.partitions.known.get(PARTITION, Partition((), None, 0))
    assert partition.state is not None, "it has read the partition"
    return ControllerView(
        epoch=ordinals.controller_epoch(core.office.epoch),
        known=tuple(None if one is None else ordinals.incarnation(one.incarnation) for one in known),
        states=tuple("INITIAL" if one is None else one.state.name for one in known),
        owed=frozenset(broker for broker, one in zip(brokers, known, strict=True) if one is not None and one.is_owed),
        metadata=frozenset(core.registry.counted()),
        partition=_partition(partition.state, partition.version),
    )


# The spec.


def expect(state: Any, design: Design) -> ClusterView:
    return ClusterView(
        ids=tuple(
            None if one is None else (one.process.index, ordinals.incarnation(one.czxid.value), one.legacy)
            for one in state.ids.values()
        ),
        partition=_expected_partition(state.partition),
        processes=tuple(_expected_process(one, design) for one in state.processes.values()),
        controllers=tuple(_expected_controller(one) for one in state.controllers.values()),
        late=frozenset((_expected_change(one, design), count) for one, count in _counted(state.late)),
        written=state.record.name != "UNWRITTEN",
        acknowledged=state.record.name in ("ACKNOWLEDGED", "FORFEITED"),
    )


def _counted(bag: Any) -> list[tuple[Any, int]]:
    members = list(bag)
    return [(one, members.count(one)) for one in dict.fromkeys(members)]


def _brokers(found: Any) -> frozenset[int]:
    return frozenset(broker.index for broker in found)


def _expected_partition(partition: Any) -> PartitionView:
    return PartitionView(
        None if partition.leader is None else partition.leader.index,
        ordinals.leader_epoch(partition.leader_epoch.value),
        _brokers(partition.isr),
        ordinals.version(partition.version.value),
        frozenset(
            (broker.index, ordinals.incarnation(one.value))
            for broker, one in partition.incarnations.items()
            if one is not None
        ),
        ordinals.controller_epoch(partition.controller_epoch.value),
    )


def _expected_process(process: Any, design: Design) -> ProcessView:
    heartbeat, reply, answer = process.heartbeat, process.reply, process.isr_reply
    names_epoch = design.controller_epoch_in_heartbeat
    return ProcessView(
        up=process.up,
        owned=None if process.owned is None else ordinals.incarnation(process.owned.value),
        incarnation=None if process.incarnation is None else ordinals.incarnation(process.incarnation.value),
        fenced=process.up and process.fenced,
        target=process.target.name,
        heartbeat=None
        if heartbeat is None
        else HeartbeatView(ordinals.incarnation(heartbeat.incarnation.value), heartbeat.target.name),
        reply=None
        if reply is None
        else ReplyView(
            reply.error.name,
            reply.state.name,
            ordinals.incarnation(reply.incarnation.value),
            ordinals.controller_epoch(reply.controller_epoch.value) if names_epoch else None,
        ),
        controller_epoch=None
        if process.controller_epoch is None
        else ordinals.controller_epoch(process.controller_epoch.value),
        leader_epoch=None if process.leader_epoch is None else ordinals.leader_epoch(process.leader_epoch.value),
        leads=process.leads,
        isr=_brokers(process.isr),
        version=None if process.version is None else ordinals.version(process.version.value),
        proposed=_brokers(process.proposed),
        change=None if process.change is None else _expected_change(process.change, design),
        isr_reply=None if answer is None else _expected_answer(answer, design),
        followers=frozenset(
            (broker.index, ordinals.incarnation(seen.value))
            for broker, seen in process.followers.items()
            if seen is not None
        ),
        caught_up=_brokers(process.caught_up),
        in_hand=process.in_hand,
        has_record=process.has_record,
    )


def _expected_change(change: Any, design: Design) -> ChangeView:
    return ChangeView(
        ordinals.incarnation(change.incarnation.value),
        ordinals.leader_epoch(change.leader_epoch.value),
        _brokers(change.isr),
        ordinals.version(change.version.value) if design.partition_version else None,
        None,
    )


def _expected_answer(answer: Any, design: Design) -> IsrReplyView:
    shows_state = answer.error.name not in ("NOT_CONTROLLER", "INVALID_INCARNATION_ID", "NOT_LEADER_FOR_PARTITION")
    if not design.partition_version or not shows_state:
        return IsrReplyView(answer.error.name, frozenset(), None)
    return IsrReplyView(answer.error.name, _brokers(answer.isr), ordinals.version(answer.version.value))


def _expected_controller(controller: Any) -> ControllerView | None:
    if controller.epoch is None:
        return None
    known = {broker.index: one for broker, one in controller.known.items()}
    return ControllerView(
        epoch=ordinals.controller_epoch(controller.epoch.value),
        known=tuple(None if one is None else ordinals.incarnation(one.value) for one in known.values()),
        states=tuple(one.name for one in controller.states.values()),
        owed=frozenset(broker.index for broker in controller.owed if known[broker.index] is not None),
        metadata=_brokers(controller.metadata),
        partition=_expected_partition(controller.partition),
    )
