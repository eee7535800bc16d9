"""What waits in a thread, and ends early where the process is asked to stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from contextlib import contextmanager
from typing import Any

_ASKED = threading.Event()
_LOOK_S = 0.2


class StoppedError(Exception):
    """The process is asked to stop."""


def asked() -> bool:
    """The process is asked to stop."""
    return _ASKED.is_set()


def sleep(seconds: float) -> None:
    """Let time pass. Raises StoppedError at once where the process is, or was, asked to stop."""
    if _ASKED.wait(max(0.0, seconds)):
        raise StoppedError


def wait_for(running: Iterable[Future[Any]]) -> None:
    """Wait for all, or for the first that raises, and raise that.

    Looks again and again: a signal that another thread receives is handled only when the main thread runs, and one that
    waits for a lock alone does not.
    """
    others = set(running)
    while others:
        done, others = wait(others, _LOOK_S, FIRST_EXCEPTION)
        for one in done:
            one.result()


@contextmanager
def on_signals() -> Iterator[None]:
    """Within this, Ctrl-C and SIGTERM ask to stop: nothing is interrupted but `sleep`."""
    former = {number: signal.signal(number, _ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
        _ASKED.clear()


def _ask(_number: int, _frame: object) -> None:
    _ASKED.set()
