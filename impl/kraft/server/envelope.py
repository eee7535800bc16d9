"""What brokers forward for clients: a request within a request, header and all, and who the client is (KIP-590)."""

from __future__ import annotations

from ipaddress import ip_address
from typing import NamedTuple

from kio.schema.default_principal_data.v0.data import DefaultPrincipalData
from kio.schema.envelope.v0.request import EnvelopeRequest
from kio.schema.envelope.v0.response import EnvelopeResponse

from impl.kraft.errors import ErrorCode
from impl.kraft.security.principals import Principal
from impl.kraft.server.connections import Caller
from impl.kraft.server.entities import NO_TAGS, wire_code, without_tags
from impl.runtime.entities import entity_bytes, read_entity
from impl.runtime.wire import Reader, RequestHeader, WireError, read_request_header, response_bytes

KEY, VERSION = 58, 0
FORWARDED = frozenset((19, 20, 30, 31, 33, 37, 43, 44, 45, 46, 49, 51, 55, 57, 64))
"""What clients may ask for through a broker: CreateTopics, DeleteTopics, CreateAcls, DeleteAcls, AlterConfigs,
CreatePartitions, ElectLeaders, IncrementalAlterConfigs, AlterPartitionReassignments, ListPartitionReassignments,
AlterClientQuotas, AlterUserScramCredentials, DescribeQuorum, UpdateFeatures, UnregisterBroker."""
_PRINCIPAL_VERSION = 0


class PrincipalError(ValueError):
    """Who the client is cannot be read."""


class Forwarded(NamedTuple):
    """Header and body of the request within, and who has sent it to the broker."""

    header: RequestHeader
    body: bytes
    caller: Caller


def read_envelope(body: bytes) -> Forwarded:
    """Raises WireError, and PrincipalError."""
    entity = read_entity(EnvelopeRequest, body)
    reader = Reader(bytes(entity.request_data))
    header = read_request_header(reader)
    caller = Caller(_principal(bytes(entity.request_principal or b"")), _host(bytes(entity.client_host_address)))
    return Forwarded(header, without_tags(reader.rest()), caller)


def _principal(data: bytes) -> Principal:
    """As DefaultKafkaPrincipalBuilder writes it: a version, then DefaultPrincipalData."""
    reader = Reader(data)
    try:
        version = reader.int16("version of a principal")
        if version != _PRINCIPAL_VERSION:
            raise PrincipalError(f"version {version} of a principal")
        found = read_entity(DefaultPrincipalData, reader.rest())
    except WireError as error:
        raise PrincipalError(str(error)) from None
    return Principal(found.type_, found.name)


def _host(address: bytes) -> str:
    try:
        return str(ip_address(address))
    except ValueError:
        raise WireError(f"a client's address of {len(address)} bytes") from None


def request_bytes(data: bytes, caller: Caller) -> bytes:
    """The body of an envelope around a request, header and all."""
    within = DefaultPrincipalData(type_=caller.principal.type, name=caller.principal.name, token_authenticated=False)
    principal = _PRINCIPAL_VERSION.to_bytes(2, "big") + entity_bytes(within)
    return entity_bytes(
        EnvelopeRequest(
            request_data=data, request_principal=principal, client_host_address=ip_address(caller.host).packed
        )
    )


def enveloped(header: RequestHeader, answer: bytes) -> bytes:
    """The body of the response, around the answer to a request with this header."""
    data = response_bytes(header.correlation_id, NO_TAGS + answer)
    return entity_bytes(EnvelopeResponse(response_data=data, error_code=wire_code(ErrorCode.NONE)))


def refusal(error: ErrorCode) -> bytes:
    """The body of the response to what was not looked at: NOT_CONTROLLER has the broker ask another one."""
    return entity_bytes(EnvelopeResponse(error_code=wire_code(error)))
