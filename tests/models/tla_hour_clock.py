"""A clock that goes (Lamport, Specifying Systems, section 8.4; github.com/tlaplus/Examples, LiveHourClock).

TLC: 24 states generated, 12 distinct, all initial. Weakly fair, the clock ticks infinitely often, and shows each
hour infinitely often. Where it may stand still, it may do so at 1 from the start: hour 2, the second, is never shown.
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import Model, Range, action, always_eventually, init, replace, state

SOURCE = "Specifying Systems, 8.4"
Hour = Annotated[int, Range(1, 12)]


@state
class Clock:
    hour: Hour


@init
def any_hour(hour: Hour) -> Clock:
    return Clock(hour=hour)


@action(who="clock", source=SOURCE, fair="weak")
def tick(s: Clock) -> None:
    """An hour passes."""
    s.hour = s.hour % 12 + 1


@always_eventually(source=SOURCE, taken=tick)
def always_ticks(s: Clock) -> bool:
    """The clock ticks infinitely often."""
    return True


@always_eventually(source=SOURCE)
def shows_all_hours(s: Clock, hour: Hour) -> bool:
    """Each hour is shown infinitely often."""
    return s.hour == hour


MODELS = [
    Model("fair", "A clock that goes.", any_hour, [tick], [always_ticks, shows_all_hours]),
    Model("unfair", "A clock that may stop.", any_hour, [replace(tick, fair="")], [always_ticks, shows_all_hours]),
]  # fmt: skip
