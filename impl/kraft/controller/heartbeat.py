"""Heartbeats: the lease, and what they move a broker to. KIP-631, Broker Leases, Controlled Shutdown."""

from __future__ import annotations

from enum import Enum, auto

from impl.kraft.controller.decision import Decision
from impl.kraft.controller.directories import taken_offline
from impl.kraft.controller.fencing import fenced
from impl.kraft.controller.partitions import led_anew, taken_out
from impl.kraft.controller.sessions import Session, Sessions
from impl.kraft.controller.settings import ControllerSettings
from impl.kraft.errors import ErrorCode
from impl.kraft.image import Image, Registration
from impl.kraft.messages import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from impl.kraft.records import BrokerRegistrationChangeRecord, Record, UnfenceBrokerRecord


class BrokerControlState(Enum):
    """The state of a broker from its heartbeat on."""

    FENCED = auto()
    UNFENCED = auto()
    CONTROLLED_SHUTDOWN = auto()
    SHUTDOWN_NOW = auto()


def heartbeat(
    image: Image, settings: ControllerSettings, sessions: Sessions, request: BrokerHeartbeatRequest, now_ms: int
) -> Decision:
    """Renews the lease of a broker, and fences it, unfences it or lets it shut down as it wishes and may.

    Looks at no partition unless the broker changes its state.
    """
    registration = image.registrations.get(request.broker_id)
    if registration is None or registration.broker_epoch != request.broker_epoch:
        return Decision(BrokerHeartbeatResponse(ErrorCode.STALE_BROKER_EPOCH))
    of_directories = taken_offline(image, settings, registration, request.offline_log_dirs)
    if of_directories:  # what else follows is decided with that known
        image = image.copy()
        for record in of_directories:
            image.replay_record(record)
    shutdown_offset = sessions.shutdown_offset(request.broker_id)
    next_state = calculate_next_state(image, sessions, registration, shutdown_offset, request)
    begins_shutdown = next_state is BrokerControlState.CONTROLLED_SHUTDOWN and shutdown_offset is None
    records = (*of_directories, *records_of(image, settings, registration, next_state, begins_shutdown))
    if begins_shutdown:
        shutdown_offset = image.offset + len(records)
    elif next_state is not BrokerControlState.CONTROLLED_SHUTDOWN:
        shutdown_offset = None
    sessions.of_broker[request.broker_id] = Session(now_ms, request.current_metadata_offset, shutdown_offset)
    response = BrokerHeartbeatResponse(
        ErrorCode.NONE,
        is_caught_up=is_caught_up(registration, request),
        is_fenced=is_fenced_by(next_state, registration),
        should_shut_down=next_state is BrokerControlState.SHUTDOWN_NOW,
    )
    return Decision(response, records)


def calculate_next_state(
    image: Image,
    sessions: Sessions,
    registration: Registration,
    shutdown_offset: int | None,
    request: BrokerHeartbeatRequest,
) -> BrokerControlState:
    """The next state of a broker, by its heartbeat.

    One that asks to shut down leads nothing from then on. It waits for the other brokers, whatever state it was in,
    until their images say so, too. One in controlled shutdown stays fenced until it registers again.
    """
    if shutdown_offset is not None:
        others = (broker_id for broker_id, other in image.registrations.items() if other.is_active)
        return (
            BrokerControlState.SHUTDOWN_NOW
            if sessions.all_reach(shutdown_offset, others)
            else BrokerControlState.CONTROLLED_SHUTDOWN
        )
    if request.want_shut_down:
        return BrokerControlState.CONTROLLED_SHUTDOWN
    may_serve = not registration.in_controlled_shutdown and is_caught_up(registration, request)
    if request.want_fence or (registration.fenced and not may_serve):
        return BrokerControlState.FENCED
    return BrokerControlState.UNFENCED


def is_caught_up(registration: Registration, request: BrokerHeartbeatRequest) -> bool:
    """The broker's image reaches its own registration. The log's end it may never reach: that moves (KAFKA-13959)."""
    return request.current_metadata_offset >= registration.broker_epoch


def is_fenced_by(next_state: BrokerControlState, registration: Registration) -> bool:
    if next_state is BrokerControlState.CONTROLLED_SHUTDOWN:
        return registration.fenced
    return next_state is not BrokerControlState.UNFENCED


def records_of(
    image: Image,
    settings: ControllerSettings,
    registration: Registration,
    next_state: BrokerControlState,
    begins_shutdown: bool,
) -> tuple[Record, ...]:
    """The records that take a broker to its next state."""
    broker_id, broker_epoch = registration.broker_id, registration.broker_epoch
    if begins_shutdown:
        begins = BrokerRegistrationChangeRecord(broker_id, broker_epoch, in_controlled_shutdown=True)
        return (*taken_out(image, settings, broker_id), begins)
    if registration.fenced and next_state is BrokerControlState.UNFENCED:
        return (UnfenceBrokerRecord(broker_id, broker_epoch), *led_anew(image, settings, broker_id))
    if not registration.fenced and is_fenced_by(next_state, registration):
        return fenced(image, settings, broker_id)
    return ()
