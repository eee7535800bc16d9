"""Sticky assignment: previous tasks up to a fair share, then those with the fewest.

Shares are of members. That threads of one process are taken in turn is the implementation's.
"""

from __future__ import annotations

from checker.lang import Map, Option, Set, choose
from spec.streams.design import Design
from spec.streams.state import Owners
from spec.streams.types import Task, Thread, place

Previous = Map[Thread, Set[Task]]
"""The tasks of each member's last ownership, as far as the leader can read it."""


def position(task: Task) -> int:
    """The place of a task in the list of all."""
    return sum(1 for t in Task if t != task and choose({t, task}) == t)


def first_had(previous: Previous, eligible: Set[Thread], thread: Thread) -> Set[Task]:
    """The tasks that a thread had. Of two that had a task, it is the first one's."""
    earlier = frozenset(t for t in eligible if place(t) < place(thread))
    return frozenset(task for task in previous[thread] if not any(task in previous[t] for t in earlier))


def fair_share(previous: Previous, eligible: Set[Thread], thread: Thread) -> int:
    """How many tasks a thread may keep. Where they do not divide evenly, the first that had more keep one more."""
    members = max(1, len(eligible))
    least = Design.tasks // members
    ahead = sum(1 for t in eligible if place(t) < place(thread) and len(first_had(previous, eligible, t)) > least)
    return least + 1 if ahead < Design.tasks % members else least


def keeps(previous: Previous, eligible: Set[Thread], thread: Thread, task: Task) -> bool:
    """A task is one of the first of those that the thread had, as many as a fair share has."""
    own = first_had(previous, eligible, thread)
    before = sum(1 for t in own if position(t) < position(task))
    return thread in eligible and task in own and before < fair_share(previous, eligible, thread)


def kept(previous: Previous, eligible: Set[Thread]) -> Owners:
    """Per task who keeps it."""
    return Map(
        {
            task: choose(t for t in Thread if keeps(previous, eligible, t, task))
            if any(keeps(previous, eligible, t, task) for t in Thread)
            else None
            for task in Task
        }
    )


def load(owners: Owners, thread: Thread) -> int:
    """How many tasks a thread has."""
    return sum(1 for task in Task if owners[task] == thread)


def free_before(owners: Owners, eligible: Set[Thread], level: int, thread: Thread) -> int:
    """Free places below a level, and on it before a thread: who has the fewest tasks comes first."""
    below = sum(max(0, level - load(owners, t)) for t in eligible)
    beside = sum(1 for t in eligible if place(t) < place(thread) and load(owners, t) <= level)
    return below + beside


def assigned(previous: Previous, eligible: Set[Thread]) -> Owners:
    """Per task its owner in the next generation. None only where nobody is eligible, or there are no tasks."""
    owners: Owners = kept(previous, eligible)
    return Map({task: owner_of(owners, eligible, task) for task in Task})


def owner_of(owners: Owners, eligible: Set[Thread], task: Task) -> Option[Thread]:
    """Who keeps the task, or has the free place of its turn."""
    if Design.tasks == 0 or len(eligible) == 0 or owners[task] is not None:
        return owners[task]
    turn = sum(1 for t in Task if owners[t] is None and position(t) < position(task))
    return choose(
        t
        for t in eligible
        if any(
            load(owners, t) <= level and free_before(owners, eligible, level, t) == turn
            for level in range(Design.tasks)
        )
    )
