"""Mutual exclusion: who waits gets in, or starves, by what is fair.

A lock. A process asks, enters when the lock is free, and leaves. While 0 waits, 1 can ask, enter and leave again and
again. The lock is free infinitely often, so entering is enabled infinitely often for 0, but not always: weak
fairness lets 0 starve, strong fairness does not. Without fairness of `leave`, nobody ever has to leave.

Peterson's algorithm. Weak fairness of every step but asking is enough: once 0 waits, either 1 stays out, and
nothing keeps 0 from entering, or 1 asks, gives the turn to 0, and cannot enter before 0 (Peterson, Myths about the
mutual exclusion problem, 1981). Without fairness a process may wait forever where it stands: 2 states.
"""

from __future__ import annotations

import enum
from typing import Annotated

from checker.lang import Map, Model, Range, action, eventually, init, leads_to, replace, require, state

Process = Annotated[int, Range(0, 1)]
SOURCE = "Peterson 1981"


class At(enum.Enum):
    IDLE = enum.auto()
    WAITING = enum.auto()
    CRITICAL = enum.auto()


@state
class Mutex:
    at: Map[Process, At]
    turn: Process


@init
def all_idle() -> Mutex:
    return Mutex(at=Map({p: At.IDLE for p in range(2)}), turn=0)


@action(who="process {p}", source=SOURCE)
def ask(s: Mutex, p: Process) -> None:
    """A process wants to enter, and gives the turn to the other."""
    require(s.at[p] == At.IDLE)
    s.at[p] = At.WAITING
    s.turn = 1 - p


@action(who="process {p}", source=SOURCE, fair="weak")
def enter_in_turn(s: Mutex, p: Process) -> None:
    """A process enters when the other is out or it is its turn."""
    require(s.at[p] == At.WAITING)
    require(s.at[1 - p] == At.IDLE or s.turn == p)
    s.at[p] = At.CRITICAL


@action(who="process {p}", source=SOURCE, fair="weak")
def enter_free_lock(s: Mutex, p: Process) -> None:
    """A process enters when the other has not entered."""
    require(s.at[p] == At.WAITING)
    require(s.at[1 - p] != At.CRITICAL)
    s.at[p] = At.CRITICAL


@action(who="process {p}", source=SOURCE, fair="weak")
def leave(s: Mutex, p: Process) -> None:
    """A process leaves."""
    require(s.at[p] == At.CRITICAL)
    s.at[p] = At.IDLE


@leads_to(source=SOURCE)
def who_waits_enters(s: Mutex, p: Process) -> tuple[bool, bool]:
    """A process that waits enters, sooner or later."""
    return s.at[p] == At.WAITING, s.at[p] == At.CRITICAL


@leads_to(source=SOURCE)
def who_enters_leaves(s: Mutex, p: Process) -> tuple[bool, bool]:
    """A process that has entered leaves, sooner or later."""
    if s.at[p] != At.CRITICAL:
        return False, True
    return True, s.at[p] == At.IDLE


@eventually(source=SOURCE)
def somebody_enters(s: Mutex) -> bool:
    """The lock is used at all. Nobody has to ask for it."""
    return any(s.at[p] == At.CRITICAL for p in range(2))


def lock(name: str, doc: str, entering: str, leaving: str = "weak") -> Model:
    actions = [ask, replace(enter_free_lock, fair=entering), replace(leave, fair=leaving)]
    return Model(name, doc, all_idle, actions, [who_waits_enters, who_enters_leaves])


MODELS = [
    Model("peterson", "Peterson's algorithm, fair.", all_idle, [ask, enter_in_turn, leave],
          [who_waits_enters, who_enters_leaves]),
    Model("unfair", "Peterson's algorithm, where nothing has to happen.", all_idle,
          [ask, replace(enter_in_turn, fair=""), replace(leave, fair="")], [who_waits_enters, who_enters_leaves]),
    Model("nobody_asks", "Peterson's algorithm, fair to those who ask.", all_idle, [ask, enter_in_turn, leave],
          [somebody_enters]),
    lock("weak_lock", "A lock that is weakly fair.", "weak"),
    lock("strong_lock", "A lock that is strongly fair.", "strong"),
    lock("kept_lock", "A lock that is strongly fair, and that nobody has to leave.", "strong", leaving=""),
]  # fmt: skip
