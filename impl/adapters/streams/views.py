"""The structures that spec and implementation are compared by, and how each of the two is seen as one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from impl.adapters.streams.cluster import Cluster, host, real
from impl.streams.codec import decode_assignment, decode_subscription
from impl.streams.consumer_protocol import PROTOCOL_NAME, read_assignment, read_subscription
from impl.streams.coordinator import GroupState, MemberMetadata
from impl.streams.messages import ErrorCode, SyncedGroup
from impl.streams.metadata import UNKNOWN, AssignmentInfo, SubscriptionInfo, TaskId
from impl.streams.versions import FIRST_PROBING


class SubscriptionView(NamedTuple):
    used: int
    supported: int
    previous: frozenset[int]


class AssignmentView(NamedTuple):
    used: int
    supported: int
    tasks: frozenset[int]
    error: bool


class ThreadView(NamedTuple):
    """A thread. cause: of its death."""

    state: str
    used: int
    tasks: frozenset[int]
    previous: frozenset[int]
    reply: AssignmentView | None
    wants_to_rejoin: bool
    cause: str | None


class GroupView(NamedTuple):
    """hosts: the tasks that each process is listed with."""

    state: str
    leader: int | None
    subscriptions: tuple[SubscriptionView | None, ...]
    joined: frozenset[int]
    syncing: frozenset[int]
    assignments: tuple[AssignmentView | None, ...]
    hosts: tuple[frozenset[int], ...]


class StoredView(NamedTuple):
    """hosts: the tasks that each process is listed with. known: who still has the member id that is stored."""

    leader: int | None
    subscriptions: tuple[SubscriptionView | None, ...]
    assignments: tuple[AssignmentView | None, ...]
    hosts: tuple[frozenset[int], ...]
    known: frozenset[int]


class ClusterView(NamedTuple):
    processes: tuple[tuple[bool, int], ...]
    threads: tuple[ThreadView, ...]
    group: GroupView
    stored: StoredView


# The implementation.


def observe(cluster: Cluster) -> ClusterView:
    threads = range(len(cluster.hosts))
    return ClusterView(
        tuple((one.up, one.bounces) for one in cluster.processes),
        tuple(_thread(cluster, thread) for thread in threads),
        _group(cluster),
        _stored(cluster),
    )


def _thread(cluster: Cluster, thread: int) -> ThreadView:
    host = cluster.hosts[thread]
    core = host.core
    if core is None:
        process = cluster.process_of(thread)
        used = cluster.procedure.config(process, cluster.processes[process].bounces).first_used
        return ThreadView("DOWN", used, frozenset(), frozenset(), None, False, None)
    return ThreadView(
        core.state.name,
        core.used,
        _numbers(core.tasks),
        _numbers(core.previous),
        _assignment(host.reply),
        core.wants_to_rejoin,
        None if core.death is None else core.death.cause.name,
    )


def _numbers(tasks: Iterable[TaskId]) -> frozenset[int]:
    return frozenset(task.partition for task in tasks)


def _assignment(reply: SyncedGroup | None) -> AssignmentView | None:
    if reply is None:
        return None
    info = decode_assignment(read_assignment(reply.assignment).user_data)
    assert isinstance(info, AssignmentInfo)
    return AssignmentView(info.used, info.supported, _numbers(info.active), bool(info.error))


def _subscription(one: MemberMetadata) -> SubscriptionView:
    info = decode_subscription(read_subscription(dict(one.protocols)[PROTOCOL_NAME]).user_data)
    assert isinstance(info, SubscriptionInfo)
    return SubscriptionView(info.used, info.supported, _numbers(info.previous))


def _group(cluster: Cluster) -> GroupView:
    coordinator = cluster.coordinator
    members = [cluster.member_id(thread) for thread in range(len(cluster.hosts))]
    known = [None if member is None else coordinator.members[member] for member in members]
    is_stable = coordinator.state is GroupState.STABLE
    return GroupView(
        coordinator.state.name,
        members.index(coordinator.leader) if coordinator.leader else None,
        tuple(None if one is None else _subscription(one) for one in known),
        frozenset(place for place, one in enumerate(known) if one is not None and one.joining is not None),
        frozenset(place for place, one in enumerate(known) if one is not None and one.syncing is not None),
        tuple(
            _assignment(SyncedGroup(ErrorCode.NONE, one.assignment)) if one is not None and is_stable else None
            for one in known
        ),
        _hosts(cluster, known if is_stable else []),
    )


def _hosts(cluster: Cluster, members: Iterable[MemberMetadata | None]) -> tuple[frozenset[int], ...]:
    """With which partitions, which are the tasks' numbers, each process is listed by what these members are sent."""
    listed: dict[str, frozenset[int]] = {}
    for one in members:
        if one is not None and one.assignment:
            info = decode_assignment(read_assignment(one.assignment).user_data)
            assert isinstance(info, AssignmentInfo)
            for each in info.hosts:
                partitions = frozenset(partition.partition for partition in each.partitions)
                assert listed.setdefault(each.host, partitions) == partitions, "all are told the same"
    return tuple(listed.get(host(process), frozenset()) for process in range(len(cluster.processes)))


def _stored(cluster: Cluster) -> StoredView:
    """By the names of threads that members gave when they joined."""
    stored, threads = cluster.stored, range(len(cluster.hosts))
    ids = {} if stored is None else {one.client_id: member for member, one in stored.members.items()}
    members = [None if stored is None or f"t{t}" not in ids else stored.members[ids[f"t{t}"]] for t in threads]
    cores = [host.core for host in cluster.hosts]
    return StoredView(
        None if stored is None else next(t for t in threads if ids.get(f"t{t}") == stored.leader),
        tuple(None if one is None else _subscription(one) for one in members),
        tuple(None if one is None else _assignment(SyncedGroup(ErrorCode.NONE, one.assignment)) for one in members),
        _hosts(cluster, members),
        frozenset(t for t in threads if (core := cores[t]) is not None and core.member_id == ids.get(f"t{t}")),
    )


# The spec.


def expect(state: Any, *, is_unique: bool) -> ClusterView:
    """is_unique: versions stand for the first ones that have the unique field."""
    group, stored = state.group, state.stored

    def version(of: int) -> int:
        return real(of, is_unique)

    def supported(info: Any) -> int:
        return UNKNOWN if info.used < FIRST_PROBING else version(info.supported)

    def assignment(info: Any) -> AssignmentView | None:
        if info is None:
            return None
        return AssignmentView(version(info.used), supported(info), _indices(info.tasks), info.error)

    def subscriptions(of: Any) -> tuple[SubscriptionView | None, ...]:
        return tuple(
            None if one is None else SubscriptionView(version(one.used), supported(one), _indices(one.previous))
            for one in of.subscriptions.values()
        )

    def assignments(of: Any) -> tuple[AssignmentView | None, ...]:
        return tuple(assignment(one) for one in of.assignments.values())

    def hosts(of: Any) -> tuple[frozenset[int], ...]:
        return tuple(_indices(tasks) for tasks in of.hosts.values())

    def leader(of: Any) -> int | None:
        return None if of.leader is None else int(of.leader.index)

    def thread(name: Any, one: Any) -> ThreadView:
        cause = state.deaths[name] if one.state.name == "DEAD" else None
        return ThreadView(
            one.state.name,
            version(one.used),
            _indices(one.tasks),
            _indices(one.previous),
            assignment(one.reply),
            one.wants_to_rejoin,
            None if cause is None else cause.name,
        )

    return ClusterView(
        tuple((one.up, one.bounces) for one in state.processes.values()),
        tuple(thread(name, one) for name, one in state.threads.items()),
        GroupView(
            group.state.name,
            leader(group),
            subscriptions(group),
            _indices(group.joined),
            _indices(group.syncing),
            assignments(group),
            hosts(group),
        ),
        StoredView(leader(stored), subscriptions(stored), assignments(stored), hosts(stored), _indices(stored.known)),
    )


def _indices(names: Iterable[Any]) -> frozenset[int]:
    return frozenset(name.index for name in names)
