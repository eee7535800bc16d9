"""Tasks, and who gets which: sticky, evenly, deterministic, in time that grows with members and tasks.

A member keeps what it had, up to a fair share. What is left goes to who has it on disk and has room, then to the
members with the fewest tasks, in turn, so that tasks of a topic group are spread. Standby tasks go to other processes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple
from uuid import UUID

from impl.streams.metadata import TaskId, TopicPartition

TopicGroups = Mapping[int, Sequence[str]]
"""The source topics of each topic group (a part of the topology) by its number."""
Tasks = Mapping[TaskId, Sequence[TopicPartition]]
"""The partitions of each task."""


class Candidate(NamedTuple):
    """A member that may get tasks. previous: active tasks of its last ownership. on_disk: others whose state it has."""

    member: str
    process: UUID
    previous: Sequence[TaskId] = ()
    on_disk: Sequence[TaskId] = ()


class Shares(NamedTuple):
    """Tasks by member, sorted."""

    active: Mapping[str, Sequence[TaskId]]
    standby: Mapping[str, Sequence[TaskId]]


def missing_topics(groups: TopicGroups, partitions: Mapping[str, int]) -> list[str]:
    """Source topics without partitions."""
    return sorted({topic for topics in groups.values() for topic in topics if not partitions.get(topic)})


def tasks_of(groups: TopicGroups, partitions: Mapping[str, int]) -> dict[TaskId, list[TopicPartition]]:
    """A task for each topic group and partition number, as many as its topic with the most partitions has. Sorted."""
    found: dict[TaskId, list[TopicPartition]] = {}
    for group in sorted(groups):
        topics = sorted(groups[group])
        for number in range(max((partitions[topic] for topic in topics), default=0)):
            found[TaskId(group, number)] = [TopicPartition(t, number) for t in topics if number < partitions[t]]
    return found


def shared_out(tasks: Iterable[TaskId], candidates: Sequence[Candidate], standby_replicas: int = 0) -> Shares:
    """The tasks of each candidate. Where several could have a task, it is the first of them."""
    order = sorted(tasks)
    active = _active(order, candidates)
    return Shares(active, _standby(order, active, candidates, standby_replicas))


class _Room:
    """How many active tasks each candidate has, and whether it has room: no two may differ by more than one task."""

    def __init__(self, tasks: int, candidates: int) -> None:
        self.load = [0] * candidates
        self.least, self.more = divmod(tasks, candidates)
        """So many tasks each gets at least; so many candidates get one more."""

    def take(self, place: int) -> bool:
        """Count one more task of a candidate, if it has room for it."""
        if self.load[place] > self.least or (self.load[place] == self.least and not self.more):
            return False
        if self.load[place] == self.least:
            self.more -= 1
        self.load[place] += 1
        return True


def _active(order: Sequence[TaskId], candidates: Sequence[Candidate]) -> dict[str, list[TaskId]]:
    if not candidates:
        return {}
    room = _Room(len(order), len(candidates))
    owners = _kept(order, candidates, room)
    on_disk: dict[TaskId, list[int]] = {}
    for place, candidate in enumerate(candidates):
        for task in candidate.on_disk:
            on_disk.setdefault(task, []).append(place)
    for task in order:
        if task not in owners and task in on_disk:
            place = min(on_disk[task], key=lambda one: (room.load[one], one))
            if room.take(place):
                owners[task] = place
    fewest = [(count, place) for place, count in enumerate(room.load)]
    heapify(fewest)
    for task in order:
        if task not in owners:
            count, owners[task] = heappop(fewest)
            heappush(fewest, (count + 1, owners[task]))
    shares: dict[str, list[TaskId]] = {candidate.member: [] for candidate in candidates}
    for task in order:
        shares[candidates[owners[task]].member].append(task)
    return shares


def _kept(order: Sequence[TaskId], candidates: Sequence[Candidate], room: _Room) -> dict[TaskId, int]:
    """The place of who keeps a task: of two that had it, the first; one of its first tasks, as far as it has room."""
    missing = set(order)
    owners: dict[TaskId, int] = {}
    for place, candidate in enumerate(candidates):
        own = missing.intersection(candidate.previous)
        missing -= own
        for task in sorted(own):
            if not room.take(place):
                break
            owners[task] = place
    return owners


class _Process:
    """The members of a process, as standby tasks are given to it."""

    def __init__(self) -> None:
        self.members: list[str] = []
        self.given = 0
        self.holds: set[TaskId] = set()

    def load(self) -> float:
        return self.given / len(self.members)

    def take(self, task: TaskId, shares: Mapping[str, list[TaskId]]) -> None:
        """Its members get standby tasks in turn."""
        shares[self.members[self.given % len(self.members)]].append(task)
        self.given += 1
        self.holds.add(task)


def _standby(
    order: Sequence[TaskId], active: Mapping[str, Sequence[TaskId]], candidates: Sequence[Candidate], replicas: int
) -> dict[str, list[TaskId]]:
    shares: dict[str, list[TaskId]] = {candidate.member: [] for candidate in candidates}
    processes: dict[UUID, _Process] = {}
    on_disk: dict[TaskId, list[_Process]] = {}
    for candidate in candidates:
        process = processes.setdefault(candidate.process, _Process())
        process.members.append(candidate.member)
        process.holds.update(active[candidate.member])
        for task in (*candidate.on_disk, *candidate.previous) if replicas else ():
            on_disk.setdefault(task, []).append(process)
    most = -(-len(order) * replicas // max(1, len(candidates)))
    fewest = [(0.0, place) for place in range(len(processes))]
    places = list(processes.values())
    for task in order if replicas else ():
        missing = min(replicas, len(processes) - 1)
        for process in on_disk.get(task, ()):
            if missing and task not in process.holds and process.load() < most:
                process.take(task, shares)
                missing -= 1
        _give(task, missing, fewest, places, shares)
    return shares


def _give(
    task: TaskId,
    missing: int,
    fewest: list[tuple[float, int]],
    places: Sequence[_Process],
    shares: Mapping[str, list[TaskId]],
) -> None:
    """Give a standby task to so many of the processes with the fewest, which do not hold it."""
    seen = list[int]()
    while missing and fewest:
        load, place = heappop(fewest)
        process = places[place]
        if load < process.load():  # it got a task on another way
            heappush(fewest, (process.load(), place))
            continue
        seen.append(place)
        if task not in process.holds:
            process.take(task, shares)
            missing -= 1
    for place in seen:
        heappush(fewest, (places[place].load(), place))
