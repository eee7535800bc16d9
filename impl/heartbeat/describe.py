"""DescribeBrokers: the brokers as the controller has them, for operators. Key and fields are Fencepost's."""

from __future__ import annotations

from dataclasses import dataclass

from impl.heartbeat.controller import Controller
from impl.heartbeat.messages import UNKNOWN, BrokerState, ErrorCode
from impl.runtime.wire import Reader, array, int8, int16, int32, int64, nullable_string

DESCRIBE_BROKERS, DESCRIBE_BROKERS_VERSION = 1346, 0


@dataclass(frozen=True, slots=True)
class DescribedBroker:
    """incarnation: the czxid that the controller goes by. contact_age_ms: since its last heartbeat; -1: none."""

    broker: int
    incarnation: int
    state: int
    contact_age_ms: int
    is_legacy: bool

    def fields(self) -> bytes:
        numbers = int32(self.broker) + int64(self.incarnation) + int8(self.state)
        return numbers + int64(self.contact_age_ms) + int8(self.is_legacy)


@dataclass(frozen=True, slots=True)
class DescribeBrokersResponse:
    """From who is not in office: NOT_CONTROLLER, and where the controller listens, if that is known."""

    error_code: int
    controller_id: int = UNKNOWN
    host: str = ""
    port: int = 0
    controller_epoch: int = UNKNOWN
    brokers: tuple[DescribedBroker, ...] = ()

    def body(self) -> bytes:
        head = int16(self.error_code) + int32(self.controller_id) + nullable_string(self.host) + int32(self.port)
        return head + int32(self.controller_epoch) + array([one.fields() for one in self.brokers])


def described(controller: Controller, now_ms: int) -> DescribeBrokersResponse | None:
    """The brokers of a controller in office; None: it is not."""
    if controller.office is None or not controller.is_in_touch:
        return None
    brokers = tuple(
        DescribedBroker(
            broker,
            known.incarnation,
            known.state,
            -1 if known.contact_ms is None else now_ms - known.contact_ms,
            known.is_legacy,
        )
        for broker, known in sorted(controller.registry.brokers.items())
    )
    return DescribeBrokersResponse(
        ErrorCode.NONE, controller.broker, controller_epoch=controller.office.epoch, brokers=brokers
    )


def read_describe_response(data: bytes) -> DescribeBrokersResponse:
    """Raises WireError."""
    reader = Reader(data)

    def broker() -> DescribedBroker:
        return DescribedBroker(
            reader.int32("broker"),
            reader.int64("incarnation"),
            reader.int8("state"),
            reader.int64("contact_age"),
            bool(reader.int8("is_legacy")),
        )

    response = DescribeBrokersResponse(
        reader.int16("error_code"),
        reader.int32("controller_id"),
        reader.string("host"),
        reader.int32("port"),
        reader.int32("controller_epoch"),
        reader.array("brokers", 22, broker),
    )
    reader.end()
    return response


def state_name(state: int) -> str:
    return BrokerState(state).name if state in set(BrokerState) else str(state)
