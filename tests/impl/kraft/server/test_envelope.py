"""A request within a request is read with its header, and answered within a response."""

from __future__ import annotations

from typing import Any

import pytest
from kio.schema.default_principal_data.v0.data import DefaultPrincipalData
from kio.schema.envelope.v0.request import EnvelopeRequest
from kio.schema.envelope.v0.response import EnvelopeResponse

from impl.kraft.errors import ErrorCode
from impl.kraft.security.principals import Principal
from impl.kraft.server.connections import Caller
from impl.kraft.server.entities import NO_TAGS
from impl.kraft.server.envelope import PrincipalError, enveloped, read_envelope, refusal
from impl.runtime.entities import entity_bytes, read_entity
from impl.runtime.wire import RequestHeader, WireError, request_bytes, response_bytes

HEADER = RequestHeader(19, 7, 33, "client")


LOCALHOST = b"\x7f\0\0\1"


def written(principal: Principal) -> bytes:
    """As a broker of Kafka writes it."""
    return b"\0\0" + entity_bytes(
        DefaultPrincipalData(type_=principal.type, name=principal.name, token_authenticated=False)
    )


ANN = Principal("User", "ann")


def envelope_of(data: bytes, principal: bytes | None = written(ANN), address: bytes = LOCALHOST) -> bytes:
    return entity_bytes(EnvelopeRequest(request_data=data, request_principal=principal, client_host_address=address))


def test_the_request_within_has_a_header_of_its_own() -> None:
    tag = b"\x01\x05\x02ab"
    for tags in (NO_TAGS, tag):
        assert read_envelope(envelope_of(request_bytes(HEADER, tags + b"body"))) == (
            HEADER, b"body", Caller(ANN, "127.0.0.1")
        )  # fmt: skip


@pytest.mark.parametrize("principal", [None, b"", b"\0", b"\0\1" + written(ANN)[2:], written(ANN)[:-2]], ids=repr)
def test_a_client_that_is_nobody_is_told_apart(principal: bytes | None) -> None:
    with pytest.raises(PrincipalError):
        read_envelope(envelope_of(request_bytes(HEADER, NO_TAGS), principal))


def test_where_a_client_is_counts() -> None:
    data = request_bytes(HEADER, NO_TAGS)
    assert read_envelope(envelope_of(data, address=bytes(15) + b"\1")).caller.host == "::1"
    with pytest.raises(WireError, match="address of 3 bytes"):
        read_envelope(envelope_of(data, address=b"abc"))


def test_the_response_within_answers_the_request_within() -> None:
    answer: Any = read_entity(EnvelopeResponse, enveloped(HEADER, b"answer"))
    assert int(answer.error_code) == 0
    assert answer.response_data == response_bytes(33, NO_TAGS + b"answer")


def test_a_refusal_has_nothing_within() -> None:
    answer: Any = read_entity(EnvelopeResponse, refusal(ErrorCode.NOT_CONTROLLER))
    assert (int(answer.error_code), answer.response_data) == (41, None)


@pytest.mark.parametrize("data", [b"", b"\x00\x13\x00\x07", request_bytes(HEADER, b"")], ids=repr)
def test_what_ends_within_its_header_is_refused(data: bytes) -> None:
    with pytest.raises(WireError):
        read_envelope(envelope_of(data))
