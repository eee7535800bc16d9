"""When a process looks for cycles of garbage among all that it has: once an hour, and not as that grows.

At 100,000 partitions a look takes a tenth of a second, in which nobody is answered. What is young is looked at as ever.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

_NEVER = 1 << 30
INTERVAL_S = 3_600.0


@asynccontextmanager
async def looked_at_seldom(interval_s: float = INTERVAL_S) -> AsyncIterator[Callable[[], None]]:
    """Within this. What the process has when it calls what it is given is not looked at any more."""
    before = gc.get_threshold()
    gc.set_threshold(*before[:2], _NEVER)
    looking = asyncio.get_running_loop().create_task(_look(interval_s))
    try:
        yield gc.freeze
    finally:
        looking.cancel()
        with suppress(asyncio.CancelledError):
            await looking
        gc.set_threshold(*before)
        gc.unfreeze()


async def _look(interval_s: float) -> None:
    while True:
        await asyncio.sleep(interval_s)
        gc.collect()
