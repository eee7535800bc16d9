"""The requests of pinning on the wire: PinController and DescribeController, version 0 of both.

KIP-39 names an admin request and gives it no bytes ("New or Changed Public Interfaces"; Proposed Change, a): the keys
and the fields are Fencepost's.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from impl.runtime.wire import Reader, int16, int32, int32_array, int64, nullable_string

METADATA = 3
METADATA_VERSION = 1
API_VERSIONS = 18
PIN_CONTROLLER = 1039
DESCRIBE_CONTROLLER = 1040
VERSION = 0
UNPIN = -1
"""As the target of a request: no broker, any may be controller."""
UNKNOWN = -1
"""No broker, no request, no epoch: of fields that Kafka would give -1, too."""


class ErrorCode(IntEnum):
    """The outcome of a request, with the numbers of Kafka's protocol."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    REQUEST_TIMED_OUT = 7
    BROKER_NOT_AVAILABLE = 8
    CLUSTER_AUTHORIZATION_FAILED = 31
    UNSUPPORTED_VERSION = 35
    INVALID_REQUEST = 42


@dataclass(frozen=True, slots=True)
class PinControllerRequest:
    """Asks that a broker becomes controller. timeout_ms: 0: answer once the request is in ZooKeeper."""

    target_broker: int
    timeout_ms: int

    def body(self) -> bytes:
        return int32(self.target_broker) + int32(self.timeout_ms)


@dataclass(frozen=True, slots=True)
class PinControllerResponse:
    """request_id: the zxid of the write that made the request. The controller is the one that the answerer knows of."""

    error_code: int
    error_message: str | None = None
    request_id: int = UNKNOWN
    controller_id: int = UNKNOWN
    controller_epoch: int = UNKNOWN

    def body(self) -> bytes:
        return (
            int16(self.error_code)
            + nullable_string(self.error_message)
            + int64(self.request_id)
            + int32(self.controller_id)
            + int32(self.controller_epoch)
        )


@dataclass(frozen=True, slots=True)
class DescribeControllerRequest:
    """Asks for the controller, and for the pin under way."""

    def body(self) -> bytes:
        return b""


@dataclass(frozen=True, slots=True)
class DescribeControllerResponse:
    """target, request_id: of the request that waits. ready: who declared itself ready for it.

    abstaining: brokers that do not run for controller, as far as the answerer knows: itself.
    """

    error_code: int
    error_message: str | None = None
    controller_id: int = UNKNOWN
    controller_epoch: int = UNKNOWN
    target: int = UNPIN
    request_id: int = UNKNOWN
    ready: int = UNKNOWN
    abstaining: tuple[int, ...] = ()

    def body(self) -> bytes:
        return (
            int16(self.error_code)
            + nullable_string(self.error_message)
            + int32(self.controller_id)
            + int32(self.controller_epoch)
            + int32(self.target)
            + int64(self.request_id)
            + int32(self.ready)
            + int32_array(self.abstaining)
        )


@dataclass(frozen=True, slots=True)
class MetadataRequest:
    """Kafka's Metadata, version 1: who the brokers are, and which of them is controller. There are no topics here."""


@dataclass(frozen=True, slots=True)
class MetadataResponse:
    """brokers: id, host and port of each."""

    brokers: tuple[tuple[int, str, int], ...]
    controller_id: int

    def body(self) -> bytes:
        found = [
            int32(broker) + nullable_string(host) + int32(port) + nullable_string(None)
            for broker, host, port in self.brokers
        ]
        return int32(len(found)) + b"".join(found) + int32(self.controller_id) + int32(0)


def api_versions_body(error: ErrorCode) -> bytes:
    """ApiVersions, version 0, which every client reads: a newer request is answered so, too, with an error."""
    keys = ((METADATA, METADATA_VERSION), (API_VERSIONS, 0), (PIN_CONTROLLER, VERSION), (DESCRIBE_CONTROLLER, VERSION))
    return int16(error) + int32(len(keys)) + b"".join(int16(key) + int16(one) + int16(one) for key, one in keys)


Request = PinControllerRequest | DescribeControllerRequest | MetadataRequest
Response = PinControllerResponse | DescribeControllerResponse | MetadataResponse


def read_pin_request(data: bytes) -> PinControllerRequest:
    """Raises WireError."""
    reader = Reader(data)
    request = PinControllerRequest(reader.int32("target_broker"), reader.int32("timeout_ms"))
    reader.end()
    return request


def read_describe_request(data: bytes) -> DescribeControllerRequest:
    """Raises WireError."""
    Reader(data).end()
    return DescribeControllerRequest()


def read_pin_response(data: bytes) -> PinControllerResponse:
    """Raises WireError."""
    reader = Reader(data)
    response = PinControllerResponse(
        reader.int16("error_code"),
        reader.nullable_string("error_message"),
        reader.int64("request_id"),
        reader.int32("controller_id"),
        reader.int32("controller_epoch"),
    )
    reader.end()
    return response


def read_describe_response(data: bytes) -> DescribeControllerResponse:
    """Raises WireError."""
    reader = Reader(data)
    response = DescribeControllerResponse(
        reader.int16("error_code"),
        reader.nullable_string("error_message"),
        reader.int32("controller_id"),
        reader.int32("controller_epoch"),
        reader.int32("target"),
        reader.int64("request_id"),
        reader.int32("ready"),
        reader.int32_array("abstaining"),
    )
    reader.end()
    return response


def refusal(api_key: int, error: ErrorCode, message: str) -> Response:
    """The response to a request of this key that could not be read or is not allowed."""
    if api_key == PIN_CONTROLLER:
        return PinControllerResponse(error, message)
    return DescribeControllerResponse(error, message)
