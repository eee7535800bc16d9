"""Ctrl-C, and the signals that ask a process to end: all of them stop the work at hand, which reports what it has.

A SIGINT that was ignored when the process started (a job that a script put into the background) stays ignored; such a
process is stopped with SIGTERM.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import Protocol

from checker.verdicts import INTERRUPTED

_ENDING = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
_PDEATHSIG = 1
_stops: list[Callable[[], None]] = []  # the innermost `stopped_by` last


def end_as_by_ctrl_c() -> None:
    """From now on SIGTERM, and SIGHUP unless it is ignored (nohup), do in this process what Ctrl-C does."""
    process = os.getpid()

    def end(number: int, frame: FrameType | None) -> None:
        if os.getpid() != process:  # forked, and not yet at `leave_to_parent`
            return
        if not _stops:
            raise KeyboardInterrupt
        _stops[-1]()

    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, end)


@contextmanager
def stopped_by(stop: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C calls `stop` instead of raising KeyboardInterrupt. In other threads than the main one nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda number, frame: stop())
    _stops.append(stop)
    try:
        yield
    finally:
        _stops.remove(stop)
        signal.signal(signal.SIGINT, before)


def leave_to_parent() -> None:
    """In a forked worker: Ctrl-C, SIGTERM and SIGHUP are the parent's business; its death ends the worker.

    All three may come to every process of a group at once (a terminal, `timeout`, systemd).
    """
    for number in (signal.SIGINT, *_ENDING):
        signal.signal(number, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)


class Stoppable(Protocol):
    """A search that can be stopped from outside, with a reason."""

    def stop(self, reason: str) -> None: ...


def interrupts(search: Stoppable) -> AbstractContextManager[None]:
    """Ctrl-C stops the search at the end of the round."""
    return stopped_by(lambda: search.stop(INTERRUPTED))
