"""Effects that a core asks for, as values: a runtime carries them out and hands the outcome back to the core."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from impl.pinning.messages import Response
from impl.runtime.effects import Did, Log
from impl.zookeeper import Submit


class Timer(StrEnum):
    """The timers of a broker. A timer that is set again is moved."""

    DECIDE = "decide"
    """Run or abstain, by what was pulled: at once, behind the events that are already waiting."""
    TAKE_OVER = "take over"
    """Take the office out of the hands of the controller, if what was read still stands."""
    BEGIN = "begin"
    """Begin the term that it was elected for."""
    LAPSE = "lapse"
    """It has abstained for long enough."""
    LONG_ABSTENTION = "long abstention"
    """It has abstained for longer than a session, which is worth a warning."""
    REGISTER = "register"
    """Its id was taken by a former session of its own: try again."""


@dataclass(frozen=True, slots=True)
class Reply:
    """Answer the call that was handed in with this number."""

    call: int
    response: Response


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Call `on_timer(timer, now_ms)` at this time or later. A number is a call, whose time is up then."""

    timer: Timer | int
    at_ms: int


Effect = Submit | Reply | SetTimer | Did | Log
Effects = list[Effect]
