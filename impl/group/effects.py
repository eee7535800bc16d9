"""Effects that a core asks for, as values: a runtime carries them out and hands the outcome back to the core."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from impl.group.protocol import (
    ClusterMetadataResponse,
    RegisterConsumerResponse,
    RequestToBroker,
    RequestToConsumer,
    ResponseOfConsumer,
)
from impl.runtime.effects import Did, Log
from impl.zookeeper import Submit


class Timing(StrEnum):
    """The kinds of timers. A timer that is set again is moved."""

    PINGS = "pings"
    """Coordinator: the first of its pings and watchers is due."""
    COMMIT = "commit"
    """Coordinator: reported offsets are to be committed."""
    WAITED_OUT = "waited out"
    """Coordinator: the longest session has passed since its election."""
    BACKOFF = "backoff"
    """Coordinator: a rebalance that failed is tried again."""
    RESUME = "resume"
    """Coordinator: a rebalance that was given up is asked for again."""
    REGISTER = "register"
    """Broker: its id was still there of a former session: try again."""
    START = "start"
    """Consumer: look for the coordinator."""
    SESSION = "session"
    """Consumer: its session is over, unless it was renewed."""


class Timer(NamedTuple):
    """A timer. group: of BACKOFF and RESUME."""

    timing: Timing
    group: str = ""


class Send(NamedTuple):
    """A coordinator sends a message on a registered connection."""

    connection: int
    message: RegisterConsumerResponse | RequestToConsumer


@dataclass(frozen=True, slots=True)
class Close:
    """Close a connection."""

    connection: int


@dataclass(frozen=True, slots=True)
class CloseAll:
    """Close the connections of all consumers: this is no coordinator any more."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer the request for metadata that was handed in with this call."""

    call: int
    response: ClusterMetadataResponse


@dataclass(frozen=True, slots=True)
class Connect:
    """A consumer connects: the outcome is handed in with this number. Another connection of its is closed first."""

    connection: int
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Ask:
    """A consumer sends something on the connection that it has."""

    message: RequestToBroker | ResponseOfConsumer


@dataclass(frozen=True, slots=True)
class Disconnect:
    """A consumer closes the connection that it has."""


@dataclass(frozen=True, slots=True)
class Fetching:
    """What a consumer fetches has changed. `Consumer.fetched` says what, and from where."""


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Call `on_timer(timer, now_ms)` at this time or later."""

    timer: Timer
    at_ms: int


@dataclass(frozen=True, slots=True)
class Exit:
    """The consumer has left, and may end."""


Effect = Submit | Send | Close | CloseAll | Answer | Connect | Ask | Disconnect | Fetching | SetTimer | Did | Log | Exit
Effects = list[Effect]
"""Carried out in order."""


class Context:
    """What the parts of a core share: the time, the place in ZooKeeper's history, and the effects to be."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.zxid = 0
        self.effects: Effects = []

    def set_timer(self, at_ms: int, timing: Timing, group: str = "") -> None:
        self.effects.append(SetTimer(Timer(timing, group), at_ms))

    def did(self, action: str, **facts: object) -> None:
        self.effects.append(Did(action, self.zxid, facts))

    def log(self, event: str, *, is_warning: bool = False, **facts: object) -> None:
        self.effects.append(Log(event, facts, is_warning))

    def taken(self) -> Effects:
        """The effects since they were last taken."""
        effects, self.effects = self.effects, []
        return effects
