"""Traces of Streams groups in which one event is not as it was: the spec must reject them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

Event = dict[str, Any]
Lie = tuple[str, Callable[[Event], None]]
"""An action, or "seen", and what is changed of the last such event."""


def reply_above(event: Event) -> None:
    (thread,) = event["seen"]["threads"].values()
    thread["reply"]["used"] = 4 if thread["reply"]["used"] == 3 else 3


def another_version(event: Event) -> None:
    (thread,) = event["state"]["threads"].values()
    thread["used"] = 4 if thread["used"] == 3 else 3


def wish(event: Event) -> None:
    (thread,) = event["state"]["threads"].values()
    thread["wants_to_rejoin"] = not thread["wants_to_rejoin"]


def another_leader(event: Event) -> None:
    event["parameters"]["leader"] = "thread1" if event["parameters"]["leader"] == "thread0" else "thread0"


def said_otherwise(event: Event) -> None:
    (said,) = event["state"]["group"]["subscriptions"].values()
    said["supported"] = 4 if said["supported"] == 3 else 3


OF_MESSAGES: list[Lie] = [
    ("seen", reply_above),
    ("complete_join", another_leader),
    ("join", said_otherwise),
]
"""What is said on the wire."""
LIES: list[Lie] = [*OF_MESSAGES, ("take_assignment", another_version), ("take_assignment", wish)]


def told(trace: str, lies: Iterable[Lie]) -> list[str]:
    """The trace with each of these lies."""
    lines = trace.splitlines()
    actions = [json.loads(line).get("action", "seen") for line in lines]
    found = list[str]()
    for action, lie in lies:
        place = len(actions) - 1 - actions[-2::-1].index(action) - 1
        event = json.loads(lines[place])
        lie(event)
        found.append("\n".join([*lines[:place], json.dumps(event), *lines[place + 1 :], ""]))
    return found
