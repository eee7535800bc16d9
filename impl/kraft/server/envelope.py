"""What brokers forward for clients: a request within a request, header and all (KIP-590).

Who the client is, and where, is not looked at: there is no authorizer yet.
"""

from __future__ import annotations

from kio.schema.envelope.v0.request import EnvelopeRequest
from kio.schema.envelope.v0.response import EnvelopeResponse

from impl.kraft.errors import ErrorCode
from impl.kraft.server.entities import NO_TAGS, wire_code, without_tags
from impl.runtime.entities import entity_bytes, read_entity
from impl.runtime.wire import Reader, RequestHeader, read_request_header, response_bytes

KEY, VERSION = 58, 0
FORWARDED = frozenset((19, 20, 37, 43, 44, 45, 46, 55, 64))
"""What clients may ask for through a broker: CreateTopics, DeleteTopics, CreatePartitions, ElectLeaders,
IncrementalAlterConfigs, AlterPartitionReassignments, ListPartitionReassignments, DescribeQuorum, UnregisterBroker."""


def read_envelope(body: bytes) -> tuple[RequestHeader, bytes]:
    """Header and body of the request within. Raises WireError."""
    reader = Reader(bytes(read_entity(EnvelopeRequest, body).request_data))
    header = read_request_header(reader)
    return header, without_tags(reader.rest())


def enveloped(header: RequestHeader, answer: bytes) -> bytes:
    """The body of the response, around the answer to a request with this header."""
    data = response_bytes(header.correlation_id, NO_TAGS + answer)
    return entity_bytes(EnvelopeResponse(response_data=data, error_code=wire_code(ErrorCode.NONE)))


def refusal(error: ErrorCode) -> bytes:
    """The body of the response to what was not looked at: NOT_CONTROLLER has the broker ask another one."""
    return entity_bytes(EnvelopeResponse(error_code=wire_code(error)))
