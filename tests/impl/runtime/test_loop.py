"""The loop around a core: the order of steps, timers after a pause, an orderly stop."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Hashable

import pytest

from impl.runtime.loop import CoreLoop, on_signals


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now_ms = 1000

    def __call__(self) -> int:
        return self.now_ms


def recording(
    clock: Clock, before_each: Callable[[], None] | None = None, *, hears_first: bool = False
) -> tuple[CoreLoop[str], list[str]]:
    """A loop whose effects are texts, which are collected; "stop" stops it."""
    done: list[str] = []

    def carry_out(effect: str) -> None:
        done.append(effect)
        if effect.startswith("stop"):
            loop.stop()

    def on_timer(timer: Hashable, now_ms: int) -> list[str]:
        return [f"{timer} at {now_ms}"]

    loop = CoreLoop[str](on_timer, carry_out, before_each=before_each, clock_ms=clock, hears_first=hears_first)
    return loop, done


def test_steps_are_taken_in_order_and_what_is_first_precedes_them() -> None:
    async def run() -> list[str]:
        loop, done = recording(Clock())
        loop.post(lambda now_ms: [f"one at {now_ms}"])
        loop.post(lambda now_ms: [f"two at {now_ms}"])
        loop.post(lambda now_ms: [f"stop at {now_ms}"])
        loop.post(lambda now_ms: ["expired"], first=True)
        await loop.run()
        return done

    assert asyncio.run(run()) == ["expired", "one at 1000", "two at 1000", "stop at 1000"]


def test_after_a_pause_a_due_timer_precedes_what_waits() -> None:
    async def run() -> list[str]:
        clock = Clock()
        loop, done = recording(clock)
        loop.set_timer("lease", 1500)
        loop.set_timer("other", 9000)
        loop.post(lambda _: ["request"])
        loop.post(lambda _: ["stop"])
        clock.now_ms = 6000
        await loop.run()
        return done

    assert asyncio.run(run()) == ["lease at 6000", "request", "stop"]


@pytest.mark.parametrize(
    ("took_ms", "wanted"),
    [
        (99, ["long", "others were silent at 1099", "said", "stop at 1120"]),
        (100, ["long", "said", "others were silent at 1120", "stop at 1120"]),
    ],
)
def test_who_was_busy_hears_what_others_have_said_meanwhile_before_it_takes_them_for_silent(
    took_ms: int, wanted: list[str]
) -> None:
    async def run() -> list[str]:
        clock = Clock()
        loop, done = recording(clock, hears_first=True)

        def long(_: int) -> list[str]:
            clock.now_ms += took_ms
            asyncio.get_running_loop().call_later(0.001, loop.post, said)
            return ["long"]

        def said(_: int) -> list[str]:
            asyncio.get_running_loop().call_later(0.001, later)
            return ["said"]

        def later() -> None:
            clock.now_ms = 1120
            loop.post(lambda now_ms: [f"stop at {now_ms}"])

        loop.set_timer("others were silent", 1050)
        loop.post(long)
        await loop.run()
        return done

    assert asyncio.run(asyncio.wait_for(run(), 20)) == wanted


def test_a_timer_for_now_waits_its_turn_and_may_be_moved_or_cancelled() -> None:
    async def run() -> list[str]:
        clock = Clock()
        loop, done = recording(clock)
        loop.post(lambda _: ["waiting"])
        for timer in ("moved", "cancelled", "decide"):
            loop.set_timer(timer, clock.now_ms)
        loop.set_timer("moved", clock.now_ms)
        loop.cancel_timer("cancelled")
        loop.post(lambda _: ["stop"])
        await loop.run()
        return done

    assert asyncio.run(run()) == ["waiting", "decide at 1000", "moved at 1000", "stop"]


def test_a_timer_fires_when_its_time_comes() -> None:
    async def run() -> list[str]:
        done: list[str] = []

        def on_timer(timer: Hashable, now_ms: int) -> list[str]:
            loop.stop()
            return [str(timer)]

        loop = CoreLoop[str](on_timer, done.append)
        started_ms = loop._clock_ms()
        loop.set_timer("later", started_ms + 20)
        await loop.run()
        assert loop._clock_ms() >= started_ms + 20
        return done

    assert asyncio.run(run()) == ["later"]


def test_what_has_to_be_known_before_each_step_comes_first() -> None:
    async def run() -> list[str]:
        checked: list[bool] = []

        def check() -> None:
            if not checked:
                checked.append(True)
                loop.post(lambda _: ["out of touch"], first=True)

        clock = Clock()
        loop, done = recording(clock, check)
        loop.set_timer("lease", 1500)
        loop.post(lambda _: ["stop: a request"])
        clock.now_ms = 6000
        await loop.run()
        return done

    assert asyncio.run(run()) == ["out of touch", "lease at 6000", "stop: a request"]


def test_others_read_and_write_while_many_steps_wait() -> None:
    async def run() -> list[str]:
        loop, done = recording(Clock())
        for number in range(1_000):
            loop.post(lambda _, number=number: [f"step {number}"])  # type: ignore[misc]  # a default has no type
        asyncio.get_running_loop().call_soon(asyncio.get_running_loop().call_soon, done.append, "another")
        loop.post(lambda _: ["stop"])
        loop.post(lambda _: ["dropped"])
        await loop.run()
        return done

    done = asyncio.run(run())
    assert 0 < done.index("another") < 100
    assert [one for one in done if one != "another"] == [*(f"step {number}" for number in range(1_000)), "stop"]


def test_a_timer_that_is_set_for_earlier_does_not_wait_for_the_first() -> None:
    async def run() -> list[str]:
        done: list[str] = []

        def on_timer(timer: Hashable, now_ms: int) -> list[str]:
            loop.stop()
            return [str(timer)]

        loop = CoreLoop[str](on_timer, done.append)
        now_ms = loop._clock_ms()
        loop.set_timer("in an hour", now_ms + 3_600_000)
        asyncio.get_running_loop().call_later(0.01, loop.set_timer, "soon", now_ms + 20)
        await asyncio.wait_for(loop.run(), 60)
        return done

    assert asyncio.run(run()) == ["soon"]


def test_an_exception_of_the_core_ends_the_loop() -> None:
    async def run() -> None:
        loop, _ = recording(Clock())
        loop.post(lambda _: [str(1 // 0)])
        await loop.run()

    with pytest.raises(ZeroDivisionError):
        asyncio.run(run())


@pytest.mark.parametrize("is_late", [False, True])
def test_an_exception_beside_the_steps_ends_the_loop_and_what_else_runs(is_late: bool) -> None:
    """Before the loop runs, or while it waits for nothing that would wake it."""
    cancelled: list[str] = []

    async def goes_on() -> None:
        try:
            await asyncio.sleep(3_600)
        except asyncio.CancelledError:
            cancelled.append("another")
            raise

    async def breaks() -> None:
        if is_late:
            await asyncio.sleep(0.01)
        raise ZeroDivisionError

    async def run() -> None:
        loop, _ = recording(Clock())
        loop.begin(goes_on())
        await asyncio.wait([loop.begin(breaks())], timeout=0)
        await asyncio.wait_for(loop.run(), 10)

    with pytest.raises(ZeroDivisionError):
        asyncio.run(run())
    assert cancelled == ["another"]


def test_what_runs_beside_the_steps_may_stop_the_loop() -> None:
    async def run() -> None:
        loop, _ = recording(Clock())

        async def ends() -> None:
            loop.stop()

        loop.begin(ends())
        await asyncio.wait_for(loop.run(), 10)

    asyncio.run(run())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_in_good_order(number: signal.Signals) -> None:
    async def run() -> list[str]:
        loop, done = recording(Clock())
        on_signals(loop.stop)

        def signalled(_: int) -> list[str]:
            os.kill(os.getpid(), number)
            return ["signalled"]

        loop.post(signalled)
        await asyncio.wait_for(loop.run(), 10)
        return done

    assert asyncio.run(run()) == ["signalled"]
