"""Effects that a core asks for, as values: a runtime carries them out and hands the outcome back to the core."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from impl.heartbeat.control_requests import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    Endpoint,
    LeaderAndIsrRequest,
    TopicPartition,
    UpdateMetadataRequest,
)
from impl.heartbeat.messages import (
    IsrChangeRequest,
    IsrChangeResponse,
    MetadataHeartbeatRequest,
    MetadataHeartbeatResponse,
)
from impl.runtime.effects import Did, Log
from impl.zookeeper import Submit


class Timer(StrEnum):
    """The timers of the cores. A timer that is set again is moved."""

    LEASES = "leases"
    """Controller: the first of its leases is over."""
    MOVE_LEADERS = "move leaders"
    """Controller: the next leaderships of those who stop are moved."""
    REGISTER = "register"
    """Broker: its id was taken by somebody else's znode, or by its own former session's: try again."""
    HEARTBEAT = "heartbeat"
    """Broker: send the next heartbeat."""
    FENCE = "fence"
    """Broker: its own timeout is over."""
    ISR = "isr"
    """Broker: see which followers lag, and ask again for what was not answered."""


ControlRequest = LeaderAndIsrRequest | UpdateMetadataRequest
RequestToController = MetadataHeartbeatRequest | IsrChangeRequest | ControlledShutdownRequest
ResponseOfController = MetadataHeartbeatResponse | IsrChangeResponse | ControlledShutdownResponse


@dataclass(frozen=True, slots=True)
class Reply:
    """Answer the request that was handed in with this call; None: not at all, its sender will try again."""

    call: int
    response: ResponseOfController | None


@dataclass(frozen=True, slots=True)
class Tell:
    """A controller sends a broker what is. `Controller.control_request` says what, each time that it is sent.

    It is sent until it is acknowledged, or superseded. number: rises with each. leads: LeaderAndIsr of these
    partitions, else UpdateMetadata. to_legacy: in the version of the former protocol.
    """

    to: Endpoint
    incarnation: int
    number: int
    leads: bool
    partitions: tuple[TopicPartition, ...]
    to_legacy: bool = False


@dataclass(frozen=True, slots=True)
class Ask:
    """A broker sends the controller that it knows of a request. number: what the answer is handed in with.

    controller: None: it knows of none, and whoever carries this out may find one.
    """

    number: int
    controller: int | None
    request: RequestToController


@dataclass(frozen=True, slots=True)
class Produce:
    """Answer a produce request. offset: of its first record, where it was replicated as it asked for."""

    call: int
    error_code: int
    offset: int = -1


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Call `on_timer(timer, now_ms)` at this time or later."""

    timer: Timer
    at_ms: int


@dataclass(frozen=True, slots=True)
class Exit:
    """The broker leads nothing any more, and may end."""


Effect = Submit | Reply | Produce | Tell | Ask | SetTimer | Did | Log | Exit
Effects = list[Effect]
"""Carried out in order."""
