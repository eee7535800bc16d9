"""PinController and DescribeController on the wire: the bytes, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.pinning.messages import (
    DESCRIBE_CONTROLLER,
    PIN_CONTROLLER,
    DescribeControllerRequest,
    DescribeControllerResponse,
    ErrorCode,
    MetadataResponse,
    PinControllerRequest,
    PinControllerResponse,
    api_versions_body,
    read_describe_request,
    read_describe_response,
    read_pin_request,
    read_pin_response,
    refusal,
)
from impl.runtime.wire import (
    Frames,
    Reader,
    RequestHeader,
    WireError,
    frame,
    nullable_string,
    read_request_header,
    request_bytes,
)

INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
TEXT = st.none() | st.text(max_size=50)
CODES = st.sampled_from([int(code) for code in ErrorCode])


def test_a_request_to_pin_is_these_bytes() -> None:
    header = RequestHeader(PIN_CONTROLLER, 0, 7, "tool")
    content = frame(request_bytes(header, PinControllerRequest(2, 30_000).body()))
    assert content.hex(" ") == (
        "00 00 00 16 "  # 22 bytes
        "04 0f 00 00 00 00 00 07 00 04 74 6f 6f 6c "  # key 1039, version 0, correlation 7, "tool"
        "00 00 00 02 00 00 75 30"  # broker 2, 30,000 ms
    )


def test_a_response_to_it_is_these_bytes() -> None:
    body = PinControllerResponse(ErrorCode.BROKER_NOT_AVAILABLE, "no", 5, 1, 3).body()
    assert body.hex(" ") == "00 08 00 02 6e 6f 00 00 00 00 00 00 00 05 00 00 00 01 00 00 00 03"
    assert PinControllerResponse(ErrorCode.NONE).body().hex(" ") == (
        "00 00 ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff"
    )


def test_a_description_is_these_bytes() -> None:
    assert DescribeControllerRequest().body() == b""
    body = DescribeControllerResponse(ErrorCode.NONE, None, 1, 4, 2, 9, 2, (0, 3)).body()
    assert body.hex(" ") == (
        "00 00 ff ff 00 00 00 01 00 00 00 04 00 00 00 02 00 00 00 00 00 00 00 09 00 00 00 02 "
        "00 00 00 02 00 00 00 00 00 00 00 03"
    )


def test_metadata_and_api_versions_are_these_bytes() -> None:
    body = MetadataResponse(((1, "h", 9092),), 1).body()
    assert body.hex(" ") == "00 00 00 01 00 00 00 01 00 01 68 00 00 23 84 ff ff 00 00 00 01 00 00 00 00"
    assert api_versions_body(ErrorCode.UNSUPPORTED_VERSION).hex(" ").startswith("00 23 00 00 00 04 00 03 00 01 00 01")


def test_a_header_without_a_client_id_is_read() -> None:
    content = request_bytes(RequestHeader(DESCRIBE_CONTROLLER, 0, -1), b"body")
    reader = Reader(content)
    assert read_request_header(reader) == RequestHeader(DESCRIBE_CONTROLLER, 0, -1, None)
    assert reader.rest() == b"body"


@given(INT32, INT32)
def test_requests_are_read_as_they_were_written(target: int, timeout_ms: int) -> None:
    request = PinControllerRequest(target, timeout_ms)
    assert read_pin_request(request.body()) == request
    assert read_describe_request(b"") == DescribeControllerRequest()


@given(CODES, TEXT, INT64, INT32, INT32)
def test_responses_to_pins_are_read_as_they_were_written(
    code: int, text: str | None, request: int, controller: int, epoch: int
) -> None:
    response = PinControllerResponse(code, text, request, controller, epoch)
    assert read_pin_response(response.body()) == response


@given(CODES, TEXT, INT32, INT32, INT64, st.lists(INT32, max_size=5).map(tuple))
def test_descriptions_are_read_as_they_were_written(
    code: int, text: str | None, controller: int, target: int, request: int, abstaining: tuple[int, ...]
) -> None:
    response = DescribeControllerResponse(code, text, controller, 3, target, request, -1, abstaining)
    assert read_describe_response(response.body()) == response


@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """Nothing but WireError is raised, and what is read is what those bytes say."""
    for read in (read_pin_request, read_describe_request, read_pin_response, read_describe_response):
        try:
            message = read(data)
        except WireError:
            continue
        assert message.body() == data


@pytest.mark.parametrize("cut", range(22))
def test_a_request_that_is_cut_is_refused(cut: int) -> None:
    content = request_bytes(RequestHeader(PIN_CONTROLLER, 0, 7, "tool"), PinControllerRequest(2, 30_000).body())
    with pytest.raises(WireError, match="bytes expected"):
        reader = Reader(content[:cut])
        read_request_header(reader)
        read_pin_request(reader.rest())


def test_what_is_left_over_is_refused() -> None:
    with pytest.raises(WireError, match="1 bytes after the last field"):
        read_pin_request(PinControllerRequest(2, 0).body() + b"\0")


@pytest.mark.parametrize(
    ("data", "why"), [("ff fe", "a string of -2 bytes"), ("00 02 ff ff", "not UTF-8"), ("00 05 61", "5 bytes expected")]
)
def test_a_string_that_is_none_is_refused(data: str, why: str) -> None:
    with pytest.raises(WireError, match=why):
        Reader(bytes.fromhex(data)).nullable_string("error_message")


def test_an_array_that_claims_more_than_there_is_is_refused_before_it_is_made() -> None:
    body = DescribeControllerResponse(0).body()[:-4] + bytes.fromhex("7f ff ff ff")
    with pytest.raises(WireError, match="an array of 2147483647 in 0 bytes"):
        read_describe_response(body)


def test_a_string_that_is_too_long_is_cut_at_a_character() -> None:
    data = nullable_string("ä" * 20_000)
    assert Reader(data).nullable_string("error_message") == "ä" * 16_383


@given(st.lists(st.binary(max_size=20), max_size=5), st.integers(1, 30))
def test_frames_are_cut_wherever_the_bytes_arrive(contents: list[bytes], step: int) -> None:
    stream = b"".join(map(frame, contents))
    frames = Frames()
    found = [one for at in range(0, len(stream), step) for one in frames.feed(stream[at : at + step])]
    frames.end()
    assert found == contents


@pytest.mark.parametrize("size", ["ff ff ff ff", "00 00 00 0b", "7f ff ff ff"])
def test_a_frame_of_no_size_or_too_large_is_refused_before_it_is_read(size: str) -> None:
    with pytest.raises(WireError, match="up to 10 are read"):
        next(Frames(max_bytes=10).feed(bytes.fromhex(size)))


def test_frames_before_one_that_is_refused_are_read() -> None:
    found = Frames(max_bytes=10).feed(frame(b"one") + frame(b"two") + bytes.fromhex("7f ff ff ff"))
    assert [next(found), next(found)] == [b"one", b"two"]
    with pytest.raises(WireError, match="up to 10 are read"):
        next(found)


def test_a_stream_that_ends_within_a_frame_is_refused() -> None:
    frames = Frames()
    assert list(frames.feed(frame(b"abc")[:-1])) == []
    with pytest.raises(WireError, match="after 6 bytes"):
        frames.end()


def test_a_refusal_is_read_by_the_one_who_asked() -> None:
    body = refusal(PIN_CONTROLLER, ErrorCode.UNSUPPORTED_VERSION, "version 9").body()
    assert read_pin_response(body) == PinControllerResponse(35, "version 9")
    body = refusal(DESCRIBE_CONTROLLER, ErrorCode.UNSUPPORTED_VERSION, "version 9").body()
    assert read_describe_response(body) == DescribeControllerResponse(35, "version 9")
