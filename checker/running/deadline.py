"""Limits of time and memory of long work, and reports of its progress."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from checker.errors import FencepostError
from checker.running.limits import Limits
from checker.running.memory import resident_bytes
from checker.verdicts import INCOMPLETE, ExitCode

PROGRESS_S = 0.1


@dataclass(frozen=True)
class Stage:
    """Work under way. name: what is done; done, total: of `what` (total None: not known). seconds: since the start."""

    name: str
    done: int
    total: int | None
    what: str
    seconds: float
    memory_bytes: int


class Stopped(Exception):
    """A limit was reached. The message says which."""


class CompilationStopped(FencepostError):
    """A limit was reached before there was anything to search. The message says which, and how far it was."""

    exit_code = ExitCode.INCOMPLETE

    @property
    def message(self) -> str:
        return f"{INCOMPLETE}: {self}"


class Deadline:
    """Limits that long work checks as it goes. started: `time.monotonic()` from which the time limit counts."""

    def __init__(
        self, started: float, limits: Limits, progress: Callable[[Stage], None] | None = None, memory_bytes: int = 0
    ) -> None:
        self._started = started
        self._limits = limits
        self._progress = progress
        self._memory_bytes = memory_bytes
        self._last = 0.0
        self.stage = ""

    def check_memory(self) -> None:
        """Raise Stopped if this process holds more memory than the limit."""
        limit = self._limits.memory_bytes
        if limit is not None and resident_bytes() > limit:
            raise Stopped(f"memory limit of {limit / 2**30:.3g} GiB")

    def check(self, done: int, total: int | None, what: str) -> None:
        """Raise Stopped if the time is up; report how far the stage is."""
        now = time.monotonic()
        limit = self._limits.time_limit_s
        if limit is not None and now - self._started >= limit:
            raise Stopped(f"time limit of {limit:g} s")
        if self._progress is not None and now - self._last >= PROGRESS_S:
            self._last = now
            self._progress(Stage(self.stage, done, total, what, now - self._started, self._memory_bytes))
