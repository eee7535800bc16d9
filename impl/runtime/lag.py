"""How late a loop is, and whose doing that is: its own, or of what else runs on the machine."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

_INTERVAL_S = 0.1
_SCHEDULED = Path("/proc/thread-self/schedstat")


class Lag(NamedTuple):
    """A look at a loop, in ms. late_ms: how late a timer was.

    Since the last look its thread used a processor for used_ms, and waited for one for waited_ms (0 where the system
    does not say). Beyond the two it was blocked, or the machine stood still.
    """

    late_ms: float
    waited_ms: float
    used_ms: float


async def watch_lag(observe: Callable[[Lag], None], interval_s: float = _INTERVAL_S) -> None:
    """Look at the running loop for ever."""
    loop = asyncio.get_running_loop()
    waited_ms, used_ms = _waited_ms(None), 1000 * time.thread_time()
    while True:
        due_s = loop.time() + interval_s
        await asyncio.sleep(interval_s)
        late_ms = max(1000 * (loop.time() - due_s), 0.0)
        before, (waited_ms, used_ms) = (waited_ms, used_ms), (_waited_ms(waited_ms), 1000 * time.thread_time())
        waited = 0.0 if waited_ms is None or before[0] is None else max(waited_ms - before[0], 0.0)
        observe(Lag(late_ms, waited, used_ms - before[1]))


def _waited_ms(last: float | None) -> float | None:
    """For how long the kernel has kept this thread waiting for a processor (proc(5), schedstat: in ns, the second).

    Where it cannot be read, the last value goes on: None until a read has succeeded.
    """
    try:
        return int(_SCHEDULED.read_text().split()[1]) / 1e6
    except (OSError, ValueError, IndexError):
        return last
