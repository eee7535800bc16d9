"""Names and enumerations of the KIP-268 spec, and what a process runs after so many bounces."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

from checker.lang import Identity, Option, Range, choose
from spec.streams.design import Design
from spec.streams.releases import Release, version_of

Version = Annotated[int, Range(1, 5)]
"""A metadata version."""


class Process(Identity, size=lambda: Design.processes):
    """A process, one KafkaStreams instance."""


class Thread(Identity, size=lambda: Design.processes * Design.threads):
    """A stream thread, which is a member of the group. The first ones are process 0's."""


class Task(Identity, size=lambda: max(1, Design.tasks)):
    """A task: a part of the topology and the partitions that it reads."""


class ThreadState(Enum):
    """Where a thread is between two rebalances."""

    DOWN = "DOWN"  # its process is
    OUT = "OUT"  # it has no member id
    RETRY = "RETRY"  # it has to send its JoinGroup again, with its member id
    JOINING = "JOINING"  # its JoinGroup is parked
    JOINED = "JOINED"  # it has the answer
    SYNCING = "SYNCING"  # its SyncGroup is parked, or the answer under way
    RUNNING = "RUNNING"  # it has taken its assignment
    DEAD = "DEAD"  # it died of a version
    STOPPED = "STOPPED"  # it stopped: a source topic is missing


class GroupState(Enum):
    """States of a group at its coordinator."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"


class Cause(Enum):
    """What a thread dies of."""

    FUTURE_SUBSCRIPTION = "as leader, of a subscription in a version that it does not know"
    FUTURE_BESIDE_OLD = "as leader, of a version that it does not know beside version 1 or 2"
    CANNOT_ENCODE = "of a version to send that it does not support"
    CANNOT_READ = "of an assignment in a version above what it sent"


def place(thread: Thread) -> int:
    """The place of a thread in the list of all."""
    return sum(1 for t in Thread if t != thread and choose({t, thread}) == t)


def number(process: Process) -> int:
    """The place of a process in the list of all."""
    return sum(1 for p in Process if p != process and choose({p, process}) == p)


def process_of(thread: Thread) -> Process:
    """Whose thread it is."""
    return choose(p for p in Process if number(p) == place(thread) // Design.threads)


def has_two_bounces() -> bool:
    """An upgrade from a release that cannot probe: by two bounces, the first one with upgrade.from."""
    old, new = version_of(Design.from_release), version_of(Design.to_release)
    return old < 3 and old < new and Design.sets_upgrade_from and not Design.offline


def upgraded() -> int:
    """The bounces after which a process runs the new release without upgrade.from."""
    return 2 if has_two_bounces() else 1


def last_bounce() -> int:
    """The bounces of the whole procedure."""
    return upgraded() if Design.then_release == Release.NONE else upgraded() + 1


Bounces = Annotated[int, Range(0, 3)]


def supported(bounces: int) -> Version:
    """The newest version that a process supports after so many bounces."""
    if bounces == 0:
        return version_of(Design.from_release)
    return version_of(Design.to_release) if bounces <= upgraded() else version_of(Design.then_release)


def stands_for(bounces: int) -> Option[Version]:
    """The version that upgrade.from of a process stands for, if it is set."""
    return version_of(Design.from_release) if bounces > 0 and bounces < upgraded() else None


def first_used(bounces: int) -> Version:
    """The version that a thread uses when it starts."""
    return supported(bounces) if stands_for(bounces) is None else version_of(Design.from_release)
