"""Work that waits for ZooKeeper, as *scripts*: they yield operations and are sent their results, many at once.

A script yields a tuple of operations, which are submitted together, and is sent as many results. All that it reads is
of one session: a script that loses its connection is dropped where it stands, and is begun again with the next one.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

from impl.group.effects import Context
from impl.zookeeper import (
    Absent,
    Children,
    ErrorCode,
    Failed,
    Found,
    GetChildren,
    GetData,
    Operation,
    Outcome,
    Result,
    Submit,
    Unknown,
)

T = TypeVar("T")
Script = Generator[tuple[Operation, ...], tuple[Result, ...], T]


class LostError(Exception):
    """What was asked is not known: the session is over."""


class RefusedError(LostError):
    """ZooKeeper refuses what it was asked, and would in this session again. The message says what and why."""


def refusal(outcome: Outcome) -> LostError:
    """The error of an outcome that is none of those expected."""
    if isinstance(outcome, Failed) and not is_over(outcome):
        return RefusedError(f"{outcome.code.value} {outcome.message}".strip())
    return LostError()


def do(operation: Operation) -> Script[Outcome]:
    """One operation, and its outcome."""
    (result,) = yield (operation,)
    return result.outcome


def children(paths: list[str], *, watch: bool = False) -> Script[list[tuple[str, ...] | None]]:
    """The children of some znodes; None where one is absent."""
    if not paths:
        return []
    results = yield tuple(GetChildren(path, watch) for path in paths)
    return [_children(result.outcome) for result in results]


def data(paths: list[str], *, watch: bool = False) -> Script[list[bytes | None]]:
    """The data of some znodes; None where one is absent."""
    if not paths:
        return []
    results = yield tuple(GetData(path, watch) for path in paths)
    return [_data(result.outcome) for result in results]


def _children(outcome: Outcome) -> tuple[str, ...] | None:
    match outcome:
        case Children(names=names):
            return names
        case Absent():
            return None
    raise refusal(outcome)


def _data(outcome: Outcome) -> bytes | None:
    match outcome:
        case Found():
            return outcome.data or b""
        case Absent():
            return None
    raise refusal(outcome)


class Running:
    """A script that waits for results."""

    def __init__(self, script: Script[None]) -> None:
        self.script = script
        self.results: list[Result | None] = []
        self.missing = 0


class Scripts:
    """The scripts of a core. first_id: of their operations; what is below is somebody else's."""

    def __init__(self, context: Context, first_id: int) -> None:
        self.context = context
        self.first_id = first_id
        self._last_id = first_id
        self._awaited: dict[int, tuple[Running, int]] = {}

    @property
    def are_done(self) -> bool:
        return not self._awaited

    def begin(self, script: Script[None]) -> None:
        """Run a script up to its first operations, or its end."""
        self._advance(Running(script), None)

    def take(self, result: Result) -> None:
        """A result of one of the scripts."""
        running, place = self._awaited.pop(result.id, (None, 0))
        if running is None:
            return  # of a script that was dropped
        if isinstance(result.outcome, Unknown):
            self._forget(running)
            return
        self.context.zxid = max(self.context.zxid, result.zxid)
        running.results[place] = result
        running.missing -= 1
        if not running.missing:
            self._advance(running, tuple(one for one in running.results if one is not None))

    def drop(self) -> None:
        """The connection is lost, and with it what was under way."""
        for running, _ in tuple(self._awaited.values()):
            running.script.close()
        self._awaited.clear()

    def _forget(self, running: Running) -> None:
        running.script.close()
        for number in [number for number, (other, _) in self._awaited.items() if other is running]:
            del self._awaited[number]

    def _advance(self, running: Running, results: tuple[Result, ...] | None) -> None:
        try:
            operations = running.script.send(results) if results is not None else next(running.script)
        except RefusedError as refused:
            self.context.log("ZooKeeper refuses", is_warning=True, why=str(refused))
            return
        except (StopIteration, LostError):
            return
        running.results, running.missing = [None] * len(operations), len(operations)
        for place, operation in enumerate(operations):
            self._last_id += 1
            self._awaited[self._last_id] = running, place
            self.context.effects.append(Submit(self._last_id, operation))


def is_over(outcome: Outcome) -> bool:
    """The operation was not done: its session is over."""
    return isinstance(outcome, Failed) and outcome.code is ErrorCode.SESSION_EXPIRED
