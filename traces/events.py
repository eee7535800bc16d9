"""Traces as an implementation records them: NDJSON of events, which may be incomplete.

A header line, then a line for each event; a file may hold many traces, each from its header on.

    {"format": "fencepost-events", "version": 1, "model": "kraft/membership", "constants": {"brokers": 2}}
    {"action": "init", "state": {...}}                       the initial state, or what is known of it
    {"action": "fence", "parameters": {"broker": "broker1"}, "state": {...}}
    {"state": {...}}                                         a step, by some action
    {"seen": {...}}                                          no step: the state was looked at
    {"end": 4}                                               how many events there were: a cut file is noticed

A state, and a record or map in it, may leave out what was not observed. `docs/trace-validation.md` says how values
are written and what they mean.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

FORMAT = "fencepost-events"
VERSION = 1
INIT = "init"
"""The action of an event for the initial state."""


def header_line(model: str = "", *, constants: Mapping[str, Any] | None = None, **further: Any) -> str:
    """The first line of a trace. further: `name`, `starts`, `silent`, `events`, `process`."""
    about = {"model": model, "constants": dict(constants or {}), **further}
    return _line({"format": FORMAT, "version": VERSION} | _given(about))


def event_line(
    action: str | None = None, parameters: Mapping[str, Any] | None = None, state: Mapping[str, Any] | None = None,
    **stamp: Any,
) -> str:  # fmt: skip
    """The line of one step: its action, parameters and the state after it, as far as they are known.

    stamp: in a run of several processes `process`, `sends`, `receives`, `at` and `time_ms`: see `traces.merge`.
    """
    event = {"action": action, "parameters": parameters, "state": state}
    return _line({name: value for name, value in event.items() if value is not None} | _given(stamp))


def seen_line(state: Mapping[str, Any], **stamp: Any) -> str:
    """The line of a look at the state, without a step. stamp: as of `event_line`."""
    return _line({"seen": state} | _given(stamp))


def end_line(events: int) -> str:
    """The last line of a trace with that many events."""
    return _line({"end": events})


def _given(entries: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entries.items() if value}


def _line(value: Mapping[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":")) + "\n"
