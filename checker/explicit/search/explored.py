"""The states that a search stored, as paths, liveness and tables ask for them, wherever they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from checker.explicit.kernel.kernel import Kernel
from checker.explicit.search.store import Shard
from checker.running.arrays import Longs, Words
from checker.running.deadline import Deadline
from checker.running.limits import Limits


class Picking(Protocol):
    """Describes which states of a level to pick; it can be sent to where the states are."""

    def prepare(self, kernel: Kernel) -> Callable[[Words], Words]:
        """A function that picks from states (contiguous, shape (n, words))."""


class Stored(Protocol):
    """States in the memory of this process. initial, initial_bits: as in `Findings`.

    bounds[l]: per shard, the index of the first state of level l + 1; the last entry is where the next level goes.
    """

    initial: Words
    initial_bits: Longs
    bounds: list[list[int]]

    @property
    def shards(self) -> Sequence[Shard]: ...


class Explored(Protocol):
    """States wherever they are. started: `time.monotonic()` when the search began. limits: those it was given."""

    initial: Words
    initial_bits: Longs
    started: float
    limits: Limits

    def select(self, level: int, pick: Picking) -> list[Words]:
        """The states of a level (from 1) that `pick` picks, in parts of shape (n, words)."""

    def at_hand(self, deadline: Deadline) -> Stored:
        """The same states in the memory of this process. Raises Stopped where there is no room, or no time."""
