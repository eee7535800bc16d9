"""Steps of a core without I/O as callbacks of an asyncio loop: one at a time, timers, and an orderly stop.

A step is a call of the core with the time; what it returns is carried out before the next step. A timer that came due
precedes whatever waits: a process that was paused learns how late it is before it answers anybody. Only what is posted
first precedes timers, too: that it is out of touch. A timer that is set for now or earlier waits behind what waits
already. A core whose timers only tell how long others were silent may hear them first, once it was busy for long.

What a process does beside the steps (`begin`) belongs to the loop, too: an exception that it does not handle ends the
loop, as one of the core does, and the loop's end is its own.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections import deque
from collections.abc import Callable, Coroutine, Hashable, Iterable
from typing import Any, Generic, TypeVar

Effect = TypeVar("Effect")
_LONG_MS, _HEARING_MS = 100, 20
"""A step that took so long, and how long others are heard then before any timer."""
_STEPS_A_TURN, _TURN_MS = 16, 20
"""Others read and write after so many steps, for what they do between two turns costs more than a step; or after so
long."""


def monotonic_ms() -> int:
    """Milliseconds of a clock that never goes back, and that goes on while the process is paused."""
    return time.monotonic_ns() // 1_000_000


class CoreLoop(Generic[Effect]):
    """Runs the steps of one core.

    on_timer: the step for a timer that is due, given the timer and the time in ms. carry_out: is given each effect, and
    must not block. before_each: called before each step; what it posts first comes first. hears_first: after a long
    step, what others have said meanwhile precedes timers: a core that was busy must not take them for silent.
    """

    def __init__(
        self, on_timer: Callable[[Hashable, int], Iterable[Effect]], carry_out: Callable[[Effect], None], *,
        before_each: Callable[[], None] | None = None, clock_ms: Callable[[], int] = monotonic_ms,
        hears_first: bool = False,
    ) -> None:  # fmt: skip
        self._on_timer = on_timer
        self._carry_out = carry_out
        self._before_each = before_each
        self._clock_ms = clock_ms
        self._hears_first = hears_first
        self._hears_until_ms = 0
        self._first: deque[Callable[[int], Iterable[Effect]]] = deque()
        self._waiting: deque[Callable[[int], Iterable[Effect]]] = deque()
        self._timers: dict[Hashable, int] = {}
        self._due: dict[Hashable, object] = {}
        """Timers that were set for at once, each with a mark: a timer that is set again or cancelled loses its own."""
        self._ended: asyncio.Future[None] | None = None
        """While `run` is."""
        self._failure: Exception | None = None
        """Of what runs beside the steps: `run` ends with it."""
        self._tasks = set[asyncio.Task[None]]()
        self._turn: asyncio.Handle | None = None
        """The next turn, if it is to come at once."""
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_ms = 0
        self._is_stopping = False

    def post(self, step: Callable[[int], Iterable[Effect]], *, first: bool = False) -> None:
        """Take a step after those that wait; first: before them and any timer. Called in the loop's thread."""
        (self._first if first else self._waiting).append(step)
        self._turn_soon()

    def set_timer(self, timer: Hashable, at_ms: int) -> None:
        """Call `on_timer` at this time or later. A timer that is set again is moved."""
        self.cancel_timer(timer)
        if at_ms > self._clock_ms():
            self._timers[timer] = at_ms
            if self._alarm is None or at_ms < self._alarm_ms:
                self._turn_soon()
            return
        mark = self._due[timer] = object()
        self.post(lambda now_ms: self._on_timer(timer, now_ms) if self._takes(timer, mark) else ())

    def cancel_timer(self, timer: Hashable) -> None:
        """The timer is not wanted any more, if it is set."""
        self._timers.pop(timer, None)
        self._due.pop(timer, None)

    def begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Let something run beside the steps, until it ends or `run` does. Called in the loop's thread."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._has_ended)
        return task

    async def run(self) -> None:
        """Take steps until `stop`. An exception of the core ends it: its state is not to be trusted any more.

        So does one of what runs beside it. What runs still is cancelled, and has ended when this returns.
        """
        self._ended = asyncio.get_running_loop().create_future()
        try:
            self._turn_soon()
            await self._ended
        finally:
            self._ended = None
            self._cancel_turn()
            await self._cancel_tasks()

    def stop(self) -> None:
        """End `run` after the step at hand; what waits is dropped."""
        self._is_stopping = True
        self._turn_soon()

    def _has_ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception) and self._failure is None:
            self._failure = error
            self._turn_soon()

    async def _cancel_tasks(self) -> None:
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _turn_soon(self) -> None:
        """Take a turn once others have read and written, unless one is to come already."""
        if self._turn is None and self._ended is not None:
            self._turn = self._ended.get_loop().call_soon(self._take_turn)

    def _take_turn(self) -> None:
        """Take a few steps. Another turn follows while something waits; else the alarm is set for the first timer."""
        if self._ended is None or self._ended.done():
            return
        try:
            more = self._take_steps(self._ended)
        except Exception as error:
            self._ended.set_exception(error)
            return
        self._turn = None
        if more:
            self._turn_soon()
        elif not self._ended.done():
            self._set_alarm(self._ended.get_loop())

    def _take_steps(self, ended: asyncio.Future[None]) -> bool:
        """Whether there may be more to take."""
        ends_ms = self._clock_ms() + _TURN_MS
        for _ in range(_STEPS_A_TURN):
            if self._failure is not None:
                raise self._failure
            if self._is_stopping:
                ended.set_result(None)
                return False
            if not self._step():
                return False
            if self._clock_ms() >= ends_ms:
                break
        return True

    def _set_alarm(self, loop: asyncio.AbstractEventLoop) -> None:
        """Have a turn taken when the first timer is due. One that comes earlier is left as it is."""
        if not self._timers:
            return
        first_ms = max(min(self._timers.values()), self._hears_until_ms)
        if self._alarm is not None:
            if self._alarm_ms <= first_ms:
                return
            self._alarm.cancel()
        self._alarm_ms = first_ms
        self._alarm = loop.call_later(max(0, first_ms - self._clock_ms()) / 1000, self._alarmed)

    def _alarmed(self) -> None:
        self._alarm = None
        self._turn_soon()

    def _cancel_turn(self) -> None:
        for handle in (self._turn, self._alarm):
            if handle is not None:
                handle.cancel()
        self._turn = self._alarm = None

    def _step(self) -> bool:
        """Take one step, if there is one to take."""
        if self._before_each is not None:
            self._before_each()
        now_ms = self._clock_ms()
        timer = min(self._timers, key=lambda timer: self._timers[timer], default=None)
        if self._first:
            effects = self._first.popleft()(now_ms)
        elif timer is not None and max(self._timers[timer], self._hears_until_ms) <= now_ms:
            del self._timers[timer]
            effects = self._on_timer(timer, now_ms)
        elif self._waiting:
            effects = self._waiting.popleft()(now_ms)
        else:
            return False
        for effect in effects:
            self._carry_out(effect)
        if self._hears_first and (ended_ms := self._clock_ms()) - now_ms >= _LONG_MS:
            self._hears_until_ms = ended_ms + _HEARING_MS
        return True

    def _takes(self, timer: Hashable, mark: object) -> bool:
        if self._due.get(timer) is not mark:
            return False
        del self._due[timer]
        return True


def on_signals(stop: Callable[[], None]) -> None:
    """Let SIGTERM and SIGINT call `stop` in the running loop: an orderly end. A second one ends the process at once."""
    loop = asyncio.get_running_loop()

    def stopped() -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
        stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped)
