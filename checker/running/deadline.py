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

    def check_memory(self, child_bytes: int = 0) -> None:
        """Raise Stopped if this process, with `child_bytes` of its children, holds more memory than the limit."""
        limit = self._limits.memory_bytes
        if limit is not None and resident_bytes() + child_bytes > limit:
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


class CompilationDeadline:
    """The limits of compiling a model, checked as it goes.

    progress: called with how far it is. started: `time.monotonic()` from which the time limit counts, None: now.
    """

    def __init__(
        self, limits: Limits, progress: Callable[[Stage], None] | None = None, started: float | None = None
    ) -> None:
        self._deadline = Deadline(time.monotonic() if started is None else started, limits, progress, resident_bytes())
        self._deadline.stage = "compiling"

    def bindings(self, done: int, total: int) -> None:
        """Raise CompilationStopped if a limit is reached, after so many bindings of actions."""
        self._check(done, total, "bindings of actions", 0)

    def code(self, lines: int, child_bytes: int) -> None:
        """Raise CompilationStopped if a limit is reached, while a process that holds `child_bytes` compiles code."""
        self._check(0, lines, "lines of code", child_bytes)

    def _check(self, done: int, total: int, what: str, child_bytes: int) -> None:
        try:
            self._deadline.check(done, total, what)
            self._deadline.check_memory(child_bytes)
        except Stopped as stopped:
            reason = f"{stopped} while compiling ({done:,} of {total:,} {what})"
            raise CompilationStopped(reason) from None
