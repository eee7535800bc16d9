"""What clients saw: each appends something of its own, and is answered with the log up to there; others only read.

That is append and read in one, through the quorum. A history of such operations is linearizable if and only if all
answers are prefixes of one log, each ends in what its operation has appended, and an operation that was answered before
another one began is in the answer of that. What was never answered may have happened, once.

What only reads does not go through the log: a controller answers it at once, by what it has applied. That is something
that was committed, and no less than what was read before on the same connection, which ends with the controller's
process. It is not linearizable: a leader may be deposed, and not have noticed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class NotLinearizableError(AssertionError):
    """No log explains what clients were answered. The message begins with what is wrong, and a colon."""


class WrongReadError(AssertionError):
    """A controller has told of what is not committed, or less than before. Begins with what is wrong, and a colon."""


@dataclass(slots=True)
class Operation:
    """value: what it has appended, unlike any other. seen: the log, once it is answered.

    Times are counts of events: what begins at the count at which another is answered begins after that.
    """

    value: int
    began: int
    answered: int | None = None
    seen: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Read:
    """Something that was read. length: of the committed log, as far as it was read. Times are as in `Operation`."""

    node: int
    began: int
    answered: int
    length: int


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


def check_reads(history: Sequence[Operation], reads: Sequence[Read]) -> None:
    """Are reads linearizable, too? They need not be. Raises NotLinearizableError."""
    known = [(one.answered, len(one.seen)) for one in history if one.answered is not None]
    known += [(one.answered, one.length) for one in reads]
    for one in reads:
        longest = max((length for answered, length in known if answered <= one.began), default=0)
        if one.length < longest:
            raise NotLinearizableError(f"reads the past: node {one.node} has {one.length}, when {longest} were known")


class Clients:
    """The operations of a run, as they begin and are answered, and what was read."""

    def __init__(self) -> None:
        self.history: list[Operation] = []
        self.reads: list[Read] = []
        self._waiting: dict[int, list[tuple[int, Operation]]] = {}
        self.read_up_to: dict[int, int] = {}

    def begin(self, node: int, end_offset: int, value: int, now: int) -> None:
        operation = Operation(value, now)
        self.history.append(operation)
        self._waiting.setdefault(node, []).append((end_offset, operation))

    def read(self, node: int, seen: Sequence[int], committed: Sequence[int], began: int, now: int) -> None:
        """A client was answered with a log. committed: what is, anywhere, by now. Raises WrongReadError."""
        if list(seen) != list(committed[: len(seen)]):
            raise WrongReadError(f"is not committed: what node {node} tells of, {len(seen)} values")
        self.go_on(node, len(seen))
        self.reads.append(Read(node, began, now, len(seen)))

    def go_on(self, node: int, length: int) -> None:
        """On the connection to a node no less is read than before. Raises WrongReadError."""
        before = self.read_up_to.get(node, 0)
        if length < before:
            raise WrongReadError(f"goes back: node {node} has told of {before}, and tells of {length}")
        self.read_up_to[node] = length

    def disconnect(self, node: int) -> None:
        """Its process has ended."""
        self.read_up_to.pop(node, None)

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
