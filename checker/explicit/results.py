"""What a search is asked to respect, and what it tells."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from checker.explicit.coverage import ActionCoverage, SiteCoverage
from checker.lang.ir import EventKind, Site

if TYPE_CHECKING:
    from checker.explicit.path import Pick

_SHARE = 0.8  # of the memory that is available: the default limit


@dataclass(frozen=True)
class Limits:
    """Where a search stops, None: nowhere. memory_bytes None: 80 % of what the machine has available."""

    max_states: int | None = None
    max_depth: int | None = None
    time_limit_s: float | None = None
    memory_bytes: int | None = None


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


class Explored(Protocol):
    """The states that a search stored, wherever they are. initial, initial_bits: as in `Findings`."""

    initial: npt.NDArray[np.uint64]
    initial_bits: npt.NDArray[np.int64]

    def select(self, level: int, pick: Pick) -> list[npt.NDArray[np.uint64]]:
        """The states of a level (from 1) that `pick` picks, in parts of shape (n, words)."""


@dataclass(frozen=True)
class SeenLeaf:
    """Values of one leaf over all stored states: which codes, or for leaves of more than 6 bits the OR of all."""

    codes: frozenset[int] | None
    union: int | None


@dataclass
class SearchResult:
    """How a search ended.

    stopped: None when it ran to its end, else why it stopped early. generated: initial states and every
    successor. outside: those of them that break a state constraint. depth: the initial states are level 1.
    broken, witnesses: property -> level of the first state that breaks or reaches it (of the state an edge
    leads to, for transition properties).
    errors: site -> level of the state out of which it happens. deadlock: level of the first state that
    has no enabled action and is not terminal. new per action: states first generated in that level,
    credited to the least action that generates them. bytes_per_state: packed words.
    peak_memory_bytes: most that was held at once in tables, stored states, origins, boxes and counters;
    growing a table counts with the new table, the old one is freed before. On Spark: the largest process of
    Python, all that it holds.
    workers: how many shared the work, and what one of them is called.
    explored: where the states are; of the local engine: its `Exploration`.
    """

    stopped: str | None
    generated: int
    distinct: int
    depth: int
    outside: int
    actions: list[ActionCoverage]
    sites: list[SiteCoverage]
    seen: list[SeenLeaf]
    broken: dict[int, int]
    errors: dict[int, int]
    deadlock: int | None
    witnesses: dict[int, int]
    seconds: float
    bytes_per_state: int
    peak_memory_bytes: int
    workers: int
    worker: str
    exploration: Any

    @property
    def violated(self) -> bool:
        """Whether a property or a type bound is broken."""
        return bool(self.broken or self.errors)

    def cuts(self, sites: list[Site]) -> dict[int, int]:
        """Site -> how often it cut a step, for the sites that did."""
        return {
            index: coverage.ended
            for index, (site, coverage) in enumerate(zip(sites, self.sites, strict=True))
            if site.kind is EventKind.CUT and coverage.ended
        }


def default_memory() -> int:
    """80 % of the bytes that the machine, or the control group this process is in, has available."""
    available = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                available = int(line.split()[1]) * 1024
    except OSError:
        pass  # not Linux: all of the memory there is
    return int(min(available, _group_memory(available)) * _SHARE)


def _group_memory(otherwise: int) -> int:
    """What the control group (v2, then v1) still allows."""
    for limit, usage in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        try:
            return max(0, int(Path(limit).read_text()) - int(Path(usage).read_text()))
        except (OSError, ValueError):
            continue  # no such group, or no limit ("max")
    return otherwise
