"""Stalled jobs: executors that never come, tasks that never end. Both are reported, and given up if asked to."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

from checker.errors import FencepostError, FencepostWarning
from checker.verdicts import ExitCode

IDLE_S = 15.0  # without a task at work, before it is reported; Spark itself has waited half a minute for executors
SLOW_S = 120.0  # without a task that ended


class Cancelled(Exception):
    """A job that was given up."""


class StalledError(Cancelled, FencepostError):
    """A job in which no task ended for as long as it may take. The message says so."""

    exit_code = ExitCode.INCOMPLETE


class StallDetector:
    """Of one job. master: its URL. limit_s: how long no task may end, None: forever."""

    def __init__(self, master: str, limit_s: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._master, self._limit_s, self._clock = master, limit_s, clock
        self._done, self._since = -1, 0.0
        self._next = 0.0  # seconds without progress at which it is reported next, 0: when it must be

    def look(self, done: int, running: int) -> None:
        """Look at how many tasks are done, and run now. Raises StalledError; warns, at growing gaps."""
        now = self._clock()
        if done != self._done:
            self._done, self._since, self._next = done, now, 0.0
        waited = now - self._since
        if self._limit_s is not None and waited >= self._limit_s:
            raise StalledError(f"{self._said(self._limit_s, running)} (--task-timeout-s)")
        if waited >= max(self._next, SLOW_S if running else IDLE_S):
            self._next = 2 * waited
            warnings.warn(self._said(waited, running), FencepostWarning, stacklevel=2)

    def _said(self, seconds: float, running: int) -> str:
        if running:
            return f"no task has ended on {self._master} for {seconds:.0f} s; {running} running, {self._done} done"
        wanted = "an executor with free cores and as much memory as spark.executor.memory asks for"
        return f"{self._master} has run no task for {seconds:.0f} s: has it {wanted}?"
