"""Limits that long work respects, and the progress of a search."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits of a search, None: unlimited. memory_bytes None: 80 % of what the machine has available.

    spent_s: seconds of the time limit that were used before the search, for compiling.
    """

    max_states: int | None = None
    max_depth: int | None = None
    time_limit_s: float | None = None
    memory_bytes: int | None = None
    spent_s: float = 0.0


@dataclass(frozen=True)
class Progress:
    """A search under way. depth: the level being expanded; frontier: its states; queue: those still to expand.

    On Spark: sent_bytes, candidates that went through a shuffle so far; tasks: of the level, (done, all).
    """

    generated: int
    distinct: int
    depth: int
    frontier: int
    queue: int
    seconds: float
    memory_bytes: int
    sent_bytes: int = 0
    tasks: tuple[int, int] | None = None
