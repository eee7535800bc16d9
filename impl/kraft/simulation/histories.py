"""Linearizability of what clients saw: each appends something of its own, and is answered with the log up to there.

That is append and read in one, through the quorum. A history of such operations is linearizable if and only if all
answers are prefixes of one log, each ends in what its operation has appended, and an operation that was answered before
another one began is in the answer of that. What was never answered may have happened, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class NotLinearizableError(AssertionError):
    """No log explains what clients were answered. The message begins with what is wrong, and a colon."""


@dataclass(slots=True)
class Operation:
    """value: what it has appended, unlike any other. seen: the log, once it is answered.

    Times are counts of events: what begins at the count at which another is answered begins after that.
    """

    value: int
    began: int
    answered: int | None = None
    seen: tuple[int, ...] = ()


def check(history: Sequence[Operation]) -> None:
    """Raises NotLinearizableError."""
    answered = sorted((one for one in history if one.answered is not None), key=lambda one: len(one.seen))
    longest = answered[-1].seen if answered else ()
    places = {value: place for place, value in enumerate(longest)}
    if len(places) < len(longest):
        twice = [value for place, value in enumerate(longest) if places[value] != place]
        raise NotLinearizableError(f"appended twice: {twice}")
    for one in answered:
        if one.seen[-1:] != (one.value,):
            raise NotLinearizableError(f"does not end in it: what the append of {one.value} is answered with")
        if one.seen != longest[: len(one.seen)]:
            raise NotLinearizableError(f"others have not seen it: the log that the append of {one.value} has")
    ends = sorted((one.answered, places[one.value]) for one in answered if one.answered is not None)
    furthest, following = -1, iter([*ends, (None, 0)])
    end, place = next(following)
    for one in sorted(answered, key=lambda one: one.began):
        while end is not None and end <= one.began:
            furthest = max(furthest, place)
            end, place = next(following)
        if places[one.value] <= furthest:
            raise NotLinearizableError(f"before one that was answered when it began: the append of {one.value}")


class Clients:
    """The operations of a run, as they begin and are answered."""

    def __init__(self) -> None:
        self.history: list[Operation] = []
        self._waiting: dict[int, list[tuple[int, Operation]]] = {}

    def begin(self, node: int, end_offset: int, value: int, now: int) -> None:
        operation = Operation(value, now)
        self.history.append(operation)
        self._waiting.setdefault(node, []).append((end_offset, operation))

    def give_up(self, node: int) -> None:
        """The node leads no more, or its process has ended: nobody is answered."""
        self._waiting.pop(node, None)

    def commit(self, node: int, log: Sequence[tuple[int, int]], now: int) -> None:
        """log: of end offsets and values, as far as the node has it committed."""
        waiting, ends = self._waiting.get(node, []), [end for end, _ in log]
        while waiting and ends and waiting[0][0] <= ends[-1]:
            end_offset, operation = waiting.pop(0)
            operation.answered = now
            operation.seen = tuple(value for end, value in log if end <= end_offset)
