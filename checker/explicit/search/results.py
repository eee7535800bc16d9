"""Results of a search: counts, coverage, what is broken at which level, and where the states are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checker.explicit.kernel.coverage import ActionCoverage, SiteCoverage
from checker.lang.ir import EventKind, Site


@dataclass(frozen=True)
class SeenLeaf:
    """Values of one leaf over all stored states: which codes, or for leaves of more than 6 bits the OR of all."""

    codes: frozenset[int] | None
    union: int | None


@dataclass
class SearchResult:
    """The end of a search.

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
        """True if a property or a type bound is broken."""
        return bool(self.broken or self.errors)

    def cuts(self, sites: list[Site]) -> dict[int, int]:
        """Site -> how often it cut a step, for the sites that did."""
        return {
            index: coverage.ended
            for index, (site, coverage) in enumerate(zip(sites, self.sites, strict=True))
            if site.kind is EventKind.CUT and coverage.ended
        }
