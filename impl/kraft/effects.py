"""Effects that a core asks for, as values: a runtime carries them out and hands the outcome back to the core."""

from __future__ import annotations

from dataclasses import dataclass

from impl.kraft.messages import Request, Response
from impl.kraft.records import Batch


@dataclass(frozen=True, slots=True)
class Append:
    """Append a batch to the metadata log, at the offsets that it has."""

    batch: Batch


@dataclass(frozen=True, slots=True)
class Reply:
    """Answer the call that was handed in with this number."""

    call: int
    response: Response


@dataclass(frozen=True, slots=True)
class Send:
    """Send a request to the active controller, and hand in its response, or None once it is given up."""

    request: Request


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Call `on_timer(timer, now_ms)` at this time or later. A timer that is set again is moved.

    timer: a name, and what it is about: ("lease", broker id), ("heartbeat",).
    """

    timer: tuple[str | int, ...]
    at_ms: int


Effect = Append | Reply | Send | SetTimer
Effects = list[Effect]
