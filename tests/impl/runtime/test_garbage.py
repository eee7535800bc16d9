"""All that a process has is looked at once in a while, and then garbage goes; what it began with is left alone."""

from __future__ import annotations

import asyncio
import gc
import weakref

from impl.runtime.garbage import looked_at_seldom


class Cycle:
    def __init__(self) -> None:
        self.own = self


def test_old_garbage_goes_in_a_while_and_not_before() -> None:
    async def run() -> None:
        async with looked_at_seldom(0.05) as freeze:
            freeze()
            assert gc.get_threshold()[2] > 1_000_000 and gc.get_freeze_count() > 0
            dead = weakref.ref(Cycle())
            gc.collect(1)  # it is young still
            assert dead() is None
            cycle = Cycle()
            old = weakref.ref(cycle)
            gc.collect(1)
            gc.collect(1)
            del cycle
            gc.collect(1)
            assert old() is not None, "only a look at everything finds it"
            while old() is not None:
                await asyncio.sleep(0.01)

    before = gc.get_threshold()
    asyncio.run(asyncio.wait_for(run(), 20))
    assert gc.get_threshold() == before and gc.get_freeze_count() == 0
