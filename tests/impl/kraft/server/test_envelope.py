"""A request within a request is read with its header, and answered within a response."""

from __future__ import annotations

from typing import Any

import pytest
from kio.schema.envelope.v0.request import EnvelopeRequest
from kio.schema.envelope.v0.response import EnvelopeResponse

from impl.kraft.errors import ErrorCode
from impl.kraft.server.entities import NO_TAGS
from impl.kraft.server.envelope import enveloped, read_envelope, refusal
from impl.runtime.entities import entity_bytes, read_entity
from impl.runtime.wire import RequestHeader, WireError, request_bytes, response_bytes

HEADER = RequestHeader(19, 7, 33, "client")


def envelope_of(data: bytes) -> bytes:
    return entity_bytes(EnvelopeRequest(request_data=data, request_principal=b"p", client_host_address=b"\x7f\0\0\1"))


def test_the_request_within_has_a_header_of_its_own() -> None:
    tag = b"\x01\x05\x02ab"
    for tags in (NO_TAGS, tag):
        assert read_envelope(envelope_of(request_bytes(HEADER, tags + b"body"))) == (HEADER, b"body")


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
