"""The frame of a core: work is done by *scripts*, one at a time, which yield operations and are sent their results.

A script yields a tuple of operations, which are submitted together, and is sent as many results. Events and requests
that arrive while one runs wait in a queue. A script that loses its connection is dropped where it stands; whoever
connects again reads everything again, so nothing of what was read may be kept beyond a script that is not repaired by
that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from typing import Generic, TypeVar

from impl.heartbeat.effects import Effect, Effects, SetTimer, Timer
from impl.runtime.effects import Did, Facts, Log
from impl.zookeeper import ErrorCode, Failed, Operation, Outcome, Result, Submit, Unknown

T = TypeVar("T")
Item = TypeVar("Item")
Script = Generator[tuple[Operation, ...], tuple[Result, ...], T]
LANES = 4
"""Cores with one session share its stream of results: the id of an operation modulo this says whose it is."""


def do(operation: Operation) -> Script[Outcome]:
    """One operation, and its outcome."""
    (result,) = yield (operation,)
    return result.outcome


class Context:
    """What the parts of a core share: the time, the place in ZooKeeper's history, and the effects to be."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.zxid = 0
        self.effects: list[Effect] = []

    def set_timer(self, timer: Timer, at_ms: int) -> None:
        self.effects.append(SetTimer(timer, at_ms))

    def did(self, action: str, **facts: object) -> None:
        self.effects.append(Did(action, self.zxid, facts))

    def log(self, event: str, facts: Facts, *, is_warning: bool = False) -> None:
        self.effects.append(Log(event, facts, is_warning))

    def taken(self) -> Effects:
        """The effects since they were last taken."""
        effects, self.effects = self.effects, []
        return effects


class Scripts(Generic[Item]):
    """The queue of a core and the script at hand. lane: see LANES."""

    def __init__(self, lane: int, context: Context) -> None:
        self.lane = lane
        self.context = context
        self.queue = deque[Item]()
        self.running: Script[None] | None = None
        self._results: list[Result | None] = []
        self._first = 0
        """The number of the first operation that is awaited. What was submitted as the connection was lost is answered
        late, when another script runs."""

    def add(self, item: Item, *, first: bool = False) -> None:
        """An item for the queue, once. first: it is the next one, even where the same one waits behind others."""
        if first:
            if item in self.queue:
                self.queue.remove(item)
            self.queue.appendleft(item)
        elif item not in self.queue:
            self.queue.append(item)

    def begin(self, script: Script[None]) -> None:
        """Run a script up to its first operations, or its end."""
        assert self.running is None, "one script at a time"
        self.running = script
        self._advance(None)

    def take(self, result: Result) -> None:
        """A result of this lane."""
        place = result.id // LANES - self._first
        if self.running is None or place < 0 or self._is_without_answer(result.outcome):
            return  # of a script that was dropped; or its drop follows
        self._results[place] = result
        self.context.zxid = max(self.context.zxid, result.zxid)
        found = tuple(one for one in self._results if one is not None)
        if len(found) == len(self._results):
            self._advance(found)

    def drop(self) -> None:
        """The connection is lost, and with it what was under way."""
        if self.running is not None:
            self.running.close()
            self.running = None

    def _advance(self, results: tuple[Result, ...] | None) -> None:
        assert self.running is not None
        try:
            operations = self.running.send(results) if results is not None else next(self.running)
        except StopIteration:
            self.running = None
            return
        self._first += len(self._results)
        self._results = [None] * len(operations)
        for number, operation in enumerate(operations, self._first):
            self.context.effects.append(Submit(number * LANES + self.lane, operation))

    @staticmethod
    def _is_without_answer(outcome: Outcome) -> bool:
        return isinstance(outcome, Unknown) or (
            isinstance(outcome, Failed) and outcome.code is ErrorCode.SESSION_EXPIRED
        )
