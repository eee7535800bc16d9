"""The loop of every search that goes breadth-first, level by level."""

from __future__ import annotations

from abc import ABC, abstractmethod


class LevelSearch(ABC):
    """A search by levels, which says how to do one. stopped: why it was not finished, None where nothing stopped it."""

    stopped: str | None = None

    @property
    @abstractmethod
    def depth(self) -> int:
        """Levels that count, as far as depth is limited."""

    @property
    @abstractmethod
    def frontier(self) -> int:
        """The number of states to expand in the next level."""

    @abstractmethod
    def begin(self) -> None:
        """Enter the initial level, or the levels of an earlier search; save it."""

    @abstractmethod
    def decided(self) -> bool:
        """True if what is looked for was found."""

    @abstractmethod
    def limit(self) -> str | None:
        """The limit that is reached now, if any."""

    @abstractmethod
    def expand_level(self) -> None:
        """Expand the last level into a new one; save that where it is whole."""

    def stop(self, reason: str) -> None:
        """End the search at the next opportunity; the first reason counts."""
        self.stopped = self.stopped or reason

    def is_over(self) -> bool:
        """True if a limit or something else stops the search; to be asked in the middle of a long level, too."""
        reason = self.limit()
        if reason is not None:
            self.stop(reason)
        return self.stopped is not None

    def explore(self, max_depth: int | None) -> None:
        """Expand level after level until nothing is left, something is decided, or something stops the search."""
        self.begin()
        while self.frontier and not self.decided() and not self.is_over():
            if max_depth is not None and self.depth >= max_depth:
                self.stop(f"depth limit of {max_depth}")
                return
            self.expand_level()
