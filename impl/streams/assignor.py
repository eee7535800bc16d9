"""Streams' partition assignor: what a member says, what the leader makes of it, what a member makes of the answer.

Each is one pure function. Who dies of a version does so by an exception of `impl.streams.errors`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from impl.runtime.properties import ConfigError, address
from impl.streams.codec import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    shared_bytes,
)
from impl.streams.consumer_protocol import ConsumerAssignment
from impl.streams.errors import Cause, IllegalStateException, TaskAssignmentException
from impl.streams.metadata import (
    INCOMPLETE_SOURCE_TOPIC_METADATA,
    UNKNOWN,
    AssignmentInfo,
    FutureAssignment,
    FutureSubscription,
    HostPartitions,
    OffsetSum,
    StandbyTask,
    SubscriptionInfo,
    TaskId,
    TopicPartition,
)
from impl.streams.tasks import Candidate, TopicGroups, missing_topics, shared_out, tasks_of
from impl.streams.versions import FIRST_PROBING, Release

_FUTURE_PROCESS = UUID(int=0)
_TWO_BOUNCES = "upgrade by two bounces, the first one with upgrade.from set to the release of the old members"


@dataclass(frozen=True, slots=True)
class Said:
    """What a member says of itself in a subscription."""

    used: int
    process_id: UUID
    previous: Sequence[TaskId] = ()
    on_disk: Sequence[OffsetSum] = ()
    endpoint: str = ""
    unique: int = 0


def subscription(release: Release, said: Said) -> bytes:
    """The user data of a subscription. Raises TaskAssignmentException above what the release supports."""
    info = SubscriptionInfo(
        said.used,
        UNKNOWN if said.used < FIRST_PROBING else release.latest,
        said.process_id,
        tuple(sorted(said.previous)),
        tuple(sorted(said.on_disk)),
        said.endpoint,
        said.unique,
    )
    return encode_subscription(info, release.form)


# The leader's half.


def _endpoint(member: str, endpoint: str) -> tuple[str, int]:
    try:
        return address("user endpoint", endpoint)
    except ConfigError as error:
        raise TaskAssignmentException(f"the subscription of {member}: {error}") from None


@dataclass(frozen=True, slots=True)
class Sources:
    """What there is to be assigned: the topology's source topics, and how many partitions each has."""

    groups: TopicGroups = field(default_factory=dict)
    partitions: Mapping[str, int] = field(default_factory=dict)

    @property
    def topics(self) -> list[str]:
        return sorted({topic for topics in self.groups.values() for topic in topics})


class Received:
    """The subscriptions of a generation, as a leader of a release reads them. Raises TaskAssignmentException."""

    def __init__(self, release: Release, user_data: Mapping[str, bytes]) -> None:
        self.release = release
        own = release.latest
        self.known: dict[str, SubscriptionInfo] = {}
        self.future: dict[str, FutureSubscription] = {}
        self.endpoints: dict[str, tuple[str, int]] = {}
        for member in sorted(user_data):
            info = decode_subscription(user_data[member], release.form)
            if isinstance(info, FutureSubscription):
                self.future[member] = info
            else:
                self.known[member] = info
                if info.endpoint:
                    self.endpoints.setdefault(info.endpoint, _endpoint(member, info.endpoint))
        self.lowest = min((info.used for info in self.known.values()), default=own)
        """The lowest version received of those that can be read, at most the leader's own."""

    @property
    def is_mixed(self) -> bool:
        """A future subscription stands beside one of version 1 or 2."""
        return bool(self.future) and self.lowest < FIRST_PROBING

    @property
    def offered(self) -> int:
        """The supported version that assignments carry."""
        own, design = self.release.latest, self.release.design
        if not (design.group_minimum and design.minimum_is_encoded):
            return own
        said = [info.supported for info in self.known.values()] + [info.supported for info in self.future.values()]
        return min(own, *(version for version in said if version != UNKNOWN))

    def check(self) -> None:
        """Raise what a leader of the release dies of, if there is anything."""
        if not self.future:
            return
        own, newest = self.release.latest, max(info.used for info in self.future.values())
        if not self.release.probes or not self.release.design.future_is_probed:
            raise TaskAssignmentException(
                f"a subscription of version {newest} has come to a leader that supports versions up to {own}: "
                f"{_TWO_BOUNCES}",
                Cause.FUTURE_SUBSCRIPTION,
            )
        if self.is_mixed and not self.release.design.mixed_is_survived:
            raise IllegalStateException(
                f"a subscription of version {newest} stands beside one of version {self.lowest}, and the leader "
                f"supports versions up to {own}: end the upgrade from version {self.lowest} before the next one",
                Cause.FUTURE_BESIDE_OLD,
            )

    @property
    def probe_is_empty(self) -> bool:
        """Who probes gets nothing."""
        return self.is_mixed or not self.release.design.future_gets_tasks


def assign(
    release: Release, sources: Sources, user_data: Mapping[str, bytes], standby_replicas: int = 0
) -> dict[str, ConsumerAssignment]:
    """The assignment of each member, given the user data of all subscriptions. Raises FatalError: the leader dies."""
    received = Received(release, user_data)
    received.check()
    if missing_topics(sources.groups, sources.partitions):
        return _errors(received)
    tasks = tasks_of(sources.groups, sources.partitions)
    active, standby = _shares(received, list(tasks), standby_replicas)
    design = release.design
    listed = active if design.lists_what_is_given else _shared_out(received, list(tasks), standby_replicas)[0]
    hosts, standby_hosts = _hosts(received, tasks, listed), _hosts(received, tasks, standby)
    used = release.latest if not release.probes and not design.answers_in_lowest else received.lowest
    supported = UNKNOWN if used < FIRST_PROBING else received.offered
    shared = shared_bytes(used, hosts, standby_hosts, release.form)
    made: dict[str, ConsumerAssignment] = {}
    for member in (*received.known, *received.future):
        if member in received.future and received.probe_is_empty and not received.is_mixed:
            versions = (used, supported) if design.group_minimum else (release.latest, release.latest)
            made[member] = ConsumerAssignment((), encode_assignment(AssignmentInfo(*versions), release.form))
            continue
        pairs = sorted((partition, task) for task in active.get(member, ()) for partition in tasks[task])
        info = AssignmentInfo(
            used,
            supported,
            tuple(task for _, task in pairs),
            tuple(StandbyTask(task, tuple(tasks[task])) for task in standby.get(member, ())),
        )
        partitions = tuple(partition for partition, _ in pairs)
        made[member] = ConsumerAssignment(partitions, encode_assignment(info, release.form, shared))
    return made


def _shares(
    received: Received, tasks: Sequence[TaskId], standby_replicas: int
) -> tuple[Mapping[str, Sequence[TaskId]], Mapping[str, Sequence[TaskId]]]:
    """Active and standby tasks by member."""
    known, design = received.known, received.release.design
    if not received.future or design.probe_moves_tasks:
        return _shared_out(received, tasks, standby_replicas)
    there = set(tasks)
    if design.thread_keeps_its_own:
        return {member: sorted(there.intersection(info.previous)) for member, info in known.items()}, {}
    had: dict[UUID, set[TaskId]] = {}
    for info in known.values():
        had.setdefault(info.process_id, set()).update(info.previous)
    return {member: sorted(there & had[info.process_id]) for member, info in known.items()}, {}


def _shared_out(
    received: Received, tasks: Sequence[TaskId], standby_replicas: int
) -> tuple[Mapping[str, Sequence[TaskId]], Mapping[str, Sequence[TaskId]]]:
    """Active and standby tasks by member, where tasks are assigned as ever."""
    known = received.known.items()
    candidates = [
        Candidate(member, info.process_id, info.previous, [one.task for one in info.standby]) for member, info in known
    ]
    if not received.probe_is_empty:
        candidates += [Candidate(member, _FUTURE_PROCESS) for member in received.future]
    return shared_out(tasks, sorted(candidates), standby_replicas)


def _hosts(
    received: Received, tasks: Mapping[TaskId, Sequence[TopicPartition]], shares: Mapping[str, Sequence[TaskId]]
) -> list[HostPartitions]:
    """The partitions of each process that has an endpoint, sorted."""
    found: dict[str, list[TopicPartition]] = {}
    for member, info in received.known.items():
        if info.endpoint:
            partitions = found.setdefault(info.endpoint, [])
            for task in shares.get(member, ()):
                partitions += tasks[task]
    return [HostPartitions(*received.endpoints[endpoint], tuple(sorted(found[endpoint]))) for endpoint in sorted(found)]


def _errors(received: Received) -> dict[str, ConsumerAssignment]:
    """Every member is told that a source topic is missing. Versions below 4 have no field for it: there, nothing."""
    release = received.release
    used = received.lowest if release.design.error_in_readable_version else release.latest
    supported = UNKNOWN if used < FIRST_PROBING else used
    info = AssignmentInfo(used, supported, error=INCOMPLETE_SOURCE_TOPIC_METADATA)
    data = encode_assignment(info, release.form)
    return {member: ConsumerAssignment((), data) for member in (*received.known, *received.future)}


# A member's half.


class Outcome(NamedTuple):
    """What a member makes of its assignment: the version that it uses from now on, and whether it wants to rejoin.

    takes: it takes the tasks that it is given; else it goes on by what it had.
    """

    info: AssignmentInfo
    used: int
    rejoins: bool
    takes: bool


def on_assignment(release: Release, sent: int, is_leader: bool, assignment: ConsumerAssignment) -> Outcome:
    """A member that sent version `sent` takes its assignment. Raises TaskAssignmentException: it dies."""
    info = decode_assignment(assignment.user_data, release.form)
    if isinstance(info, FutureAssignment) or info.used > sent:
        raise TaskAssignmentException(
            f"an assignment of version {info.used} has come to a member that sent version {sent} and supports versions "
            f"up to {release.latest}: the leader has no fix of KAFKA-6054; {_TWO_BOUNCES}",
            Cause.CANNOT_READ,
        )
    if len(info.active) != len(assignment.partitions):
        raise TaskAssignmentException(
            f"{len(assignment.partitions)} partitions and {len(info.active)} active task ids were assigned"
        )
    used = used_after(release, sent, info)
    rejoins = _rejoins(release, sent, used, is_leader, info)
    return Outcome(info, used, rejoins, release.design.probe_is_taken or not rejoins)


def used_after(release: Release, sent: int, info: AssignmentInfo) -> int:
    """The version that a member uses once it has taken an assignment."""
    if info.used < FIRST_PROBING:
        return sent
    if info.supported > sent:
        return min(info.supported, release.latest) if release.design.own_bound else info.supported
    return info.supported if info.used < sent else sent


def _rejoins(release: Release, sent: int, used: int, is_leader: bool, info: AssignmentInfo) -> bool:
    design = release.design
    if used > sent:
        return design.lower_sender_rises_at_once or (design.leader_rises_at_once and is_leader)
    if used < sent:
        return True
    return FIRST_PROBING <= info.used < sent and not design.rejoins_only_on_change
