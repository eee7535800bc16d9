"""The bytes of every message, written by hand from the document's structures, and bytes that are no message."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.group.fetch_protocol import (
    FetchRequest,
    FetchResponse,
    OffsetsRequest,
    OffsetsResponse,
    ProduceRequest,
    fetch_response_bytes,
    log_request_bytes,
    message_bytes,
    messages,
    offsets_response_bytes,
    read_fetch_response,
    read_log_request,
    read_offsets_response,
)
from impl.group.protocol import (
    BrokerAddress,
    ClusterMetadataRequest,
    ClusterMetadataResponse,
    PingRequest,
    PingResponse,
    Position,
    RegisterConsumerRequest,
    RegisterConsumerResponse,
    RequestToBroker,
    RequestToConsumer,
    ResponseOfConsumer,
    StartFetcherRequest,
    StartFetcherResponse,
    StopFetcherRequest,
    StopFetcherResponse,
    ThreadShare,
    metadata_response_bytes,
    read_head,
    read_metadata_response,
    read_register_response,
    read_request_to_broker,
    read_request_to_consumer,
    read_response_of_consumer,
    register_response_bytes,
    request_bytes,
)
from impl.runtime.wire import Reader, WireError

AT_T = Position("t", "0-1", 258)
BROKER = BrokerAddress(3, "h", 9092)
AT_T_BYTES = "0001 74  0003 302d31  0000000000000102"
BROKERS_BYTES = "0001  00000003  0001 68  00002384"

REQUESTS_TO_BROKER: list[tuple[RequestToBroker, bool, str]] = [
    (ClusterMetadataRequest(), False, "00000002  0005"),
    (ClusterMetadataRequest(7), True, "00000006  000f 00000007"),
    (
        RegisterConsumerRequest("g", "c1", "{}", True, "smallest", 6000),
        False,
        "0000001c  0006  0001 67  0002 6331  0002 7b7d  01  0008 736d616c6c657374  00001770",
    ),
    (
        RegisterConsumerRequest("g", "c1", "{}", False, "largest", 6000, 7),
        True,
        "0000001f  0010 00000007  0001 67  0002 6331  0002 7b7d  00  0007 6c617267657374  00001770",
    ),
]
REQUESTS_TO_CONSUMER: list[tuple[RequestToConsumer, bool, str]] = [
    (PingRequest("c1", 2), False, "0000000a  0007  0002 6331  00000002"),
    (PingRequest("c1", 2, 7, 5, 1), True, "00000016  0011 00000007 00000005  0002 6331  00000002  00000001"),
    (StopFetcherRequest("c1"), False, "00000006  0008  0002 6331"),
    (StopFetcherRequest("c1", 7, 5), True, "0000000e  0012 00000007 00000005  0002 6331"),
    (
        StartFetcherRequest("c1", (ThreadShare("c1-0", (AT_T,)),), (BROKER,)),
        False,
        f"0000002d  0009  0002 6331  0001  0004 63312d30  0001 {AT_T_BYTES}  {BROKERS_BYTES}",
    ),
    (
        StartFetcherRequest("c1", (ThreadShare("c1-0", (AT_T,)),), (BROKER,), 7, 5),
        True,
        f"00000035  0013 00000007 00000005  0002 6331  0001  0004 63312d30  0001 {AT_T_BYTES}  {BROKERS_BYTES}",
    ),
]
RESPONSES_OF_CONSUMER: list[tuple[ResponseOfConsumer, bool, str]] = [
    (PingResponse(0, "c1", (AT_T,)), False, f"0000001a  0007 0000  0002 6331  0001 {AT_T_BYTES}"),
    (PingResponse(0, "c1", None), False, "00000008  0007 0000  0002 6331"),
    (PingResponse(0, "c1", (), 7, 5), True, "00000012  0011 00000007 00000005 0000  0002 6331  0000"),
    (StopFetcherResponse(0, "c1", (AT_T,)), False, f"0000001a  0008 0000  0002 6331  0001 {AT_T_BYTES}"),
    (StopFetcherResponse(1, "c1", None, 7, 5), True, "00000010  0012 00000007 00000005 0001  0002 6331"),
    (StartFetcherResponse(0, "c1"), False, "00000008  0009 0000  0002 6331"),
    (StartFetcherResponse(0, "c1", 7, 5), True, "00000010  0013 00000007 00000005 0000  0002 6331"),
]


def content(data: str) -> bytes:
    """A message without its size, which must be right."""
    found = bytes.fromhex(data)
    assert int.from_bytes(found[:4], "big") == len(found) - 4
    return found[4:]


@pytest.mark.parametrize(("message", "repaired", "data"), REQUESTS_TO_BROKER, ids=str)
def test_requests_to_a_broker(message: RequestToBroker, repaired: bool, data: str) -> None:
    assert request_bytes(message, repaired=repaired) == bytes.fromhex(data)
    fields = Reader(content(data))
    assert read_request_to_broker(read_head(fields), fields) == message


@pytest.mark.parametrize(("message", "repaired", "data"), REQUESTS_TO_CONSUMER, ids=str)
def test_requests_to_a_consumer(message: RequestToConsumer, repaired: bool, data: str) -> None:
    assert request_bytes(message, repaired=repaired) == bytes.fromhex(data)
    assert read_request_to_consumer(content(data)) == message


@pytest.mark.parametrize(("message", "repaired", "data"), RESPONSES_OF_CONSUMER, ids=str)
def test_responses_of_a_consumer(message: ResponseOfConsumer, repaired: bool, data: str) -> None:
    assert request_bytes(message, repaired=repaired) == bytes.fromhex(data)
    fields = Reader(content(data))
    assert read_response_of_consumer(read_head(fields), fields) == message


def test_the_answer_to_a_registration_is_six_bytes_in_all() -> None:
    document, repaired = "00000002 0006", "0000000a 0000 00000007 00002ee0"
    assert register_response_bytes(RegisterConsumerResponse(6), repaired=False) == bytes.fromhex(document)
    assert read_register_response(content(document), repaired=False) == RegisterConsumerResponse(6)
    answer = RegisterConsumerResponse(0, 7, 12_000)
    assert register_response_bytes(answer, repaired=True) == bytes.fromhex(repaired)
    assert read_register_response(content(repaired), repaired=True) == answer


def test_the_answer_to_a_registration_brings_the_partitions_under_section_2() -> None:
    share = "0001 0003612d30 0001 000174 0003302d31 0000000000000102"
    document, repaired = (
        f"00000028 0000 {share} {BROKERS_BYTES}",
        f"00000030 0000 00000007 00002ee0 {share} {BROKERS_BYTES}",
    )
    answer = RegisterConsumerResponse(0, threads=(ThreadShare("a-0", (AT_T,)),), brokers=(BROKER,))
    assert register_response_bytes(answer, repaired=False) == bytes.fromhex(document)
    assert read_register_response(content(document), repaired=False) == answer
    answer = replace(answer, coordinator_epoch=7, session_ms=12_000)
    assert register_response_bytes(answer, repaired=True) == bytes.fromhex(repaired)
    assert read_register_response(content(repaired), repaired=True) == answer
    nothing = RegisterConsumerResponse(0, threads=())
    assert read_register_response(register_response_bytes(nothing, repaired=False)[4:], repaired=False) == nothing


def test_the_answer_about_the_cluster() -> None:
    document, repaired = f"00000013 0000 00000003 {BROKERS_BYTES}", f"00000017 0000 00000007 00000003 {BROKERS_BYTES}"
    answer = ClusterMetadataResponse(0, 3, (BROKER,))
    assert metadata_response_bytes(answer, repaired=False) == bytes.fromhex(document)
    assert read_metadata_response(content(document), repaired=False) == answer
    answer = ClusterMetadataResponse(0, 3, (BROKER,), 7)
    assert metadata_response_bytes(answer, repaired=True) == bytes.fromhex(repaired)
    assert read_metadata_response(content(repaired), repaired=True) == answer


def test_produce_fetch_and_offsets_are_kafka_0_7s() -> None:
    message = bytes.fromhex("00000008 01 00 9e83486d 6162")
    assert message_bytes(b"ab") == message
    produce = f"00000019 0000 0001 74 00000002 0000000c {message.hex()}"
    fetch = "00000015 0001 0001 74 00000002 0000000000000102 00001000"
    offsets = "00000015 0004 0001 74 00000002 ffffffffffffffff 00000001"
    for request, data in (
        (ProduceRequest("t", 2, message), produce),
        (FetchRequest("t", 2, 258, 4096), fetch),
        (OffsetsRequest("t", 2, -1), offsets),
    ):
        assert log_request_bytes(request) == bytes.fromhex(data)
        fields = Reader(content(data))
        assert read_log_request(fields.int16("type"), fields) == request
    assert fetch_response_bytes(FetchResponse(0, message)) == bytes.fromhex(f"0000000e 0000 {message.hex()}")
    assert read_fetch_response(bytes.fromhex("0001")) == FetchResponse(1)
    answer = "0000000e 0000 00000001 0000000000000102"
    assert offsets_response_bytes(OffsetsResponse(0, (258,))) == bytes.fromhex(answer)
    assert read_offsets_response(content(answer)) == OffsetsResponse(0, (258,))


def test_messages_are_read_up_to_one_that_is_cut_off() -> None:
    data = message_bytes(b"ab") + message_bytes(b"c")
    assert [one.payload for one in messages(data, 100)] == [b"ab", b"c"]
    assert [one.next_offset for one in messages(data, 100)] == [112, 123]
    assert [one.next_offset for one in messages(data[:-1], 0)] == [12]
    with pytest.raises(WireError, match="offset 112: a message that is corrupt"):
        list(messages(data[:-1] + b"x", 100))
    with pytest.raises(WireError, match="a message of 0 bytes"):
        list(messages(bytes(4), 0))


ALL_BYTES = [content(data) for _, _, data in REQUESTS_TO_BROKER + REQUESTS_TO_CONSUMER + RESPONSES_OF_CONSUMER]


def read_any(data: bytes) -> None:
    """As brokers and consumers read what arrives."""
    fields = Reader(data)
    head = read_head(fields)
    if head.type_id in (5, 6):
        read_request_to_broker(head, fields)
    elif head.type_id in (7, 8, 9):
        read_response_of_consumer(head, fields)
    else:
        read_log_request(head.type_id, fields)


@pytest.mark.parametrize("data", ALL_BYTES, ids=bytes.hex)
def test_a_message_that_is_cut_off_or_too_long_is_refused(data: bytes) -> None:
    is_request = data in [content(one) for _, _, one in REQUESTS_TO_CONSUMER]
    read = read_request_to_consumer if is_request else read_any
    read(data)
    without_offsets = {len(data) - len(bytes.fromhex("0001" + AT_T_BYTES)), len(data) - 2}
    for length in range(len(data)):
        if not is_request and length in without_offsets and data[1] in (7, 8, 17):
            continue  # the size says that no offsets are there
        with pytest.raises(WireError):
            read(data[:length])
    with pytest.raises(WireError):
        read(data + b"\0\0\0")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("0063", "99 is unknown here"),
        ("000e", "14 is unknown here"),
        ("0006 ffff", "group_id: null"),
        ("0006 0002 c328", "group_id: not UTF-8"),
        ("0006 0001 67 0001 63 0002 7b7d 02", "auto_commit: a byte of 2"),
        ("0007 0000 0001 63 ffff", "num_partition: -1"),
        ("0007 0000 0001 63 7fff", "topic: 2 bytes expected"),
        ("0007 0000 0001 63 0001 0004 2e2e2f74 0003 302d30 0000000000000000", "partition: '../t' '0-0' is none"),
        ("0007 0000 0001 63 0001 0001 74 0003 302f30 0000000000000000", "partition: 't' '0/0' is none"),
        ("0007 0000 0001 63 0001 0001 74 0003 302d30 ffffffffffffffff", "offset: one below 0"),
    ],
)
def test_what_is_no_message_is_refused_by_name(data: str, why: str) -> None:
    with pytest.raises(WireError, match=why):
        read_any(bytes.fromhex(data))


@given(st.binary(max_size=64))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for read in (read_any, read_request_to_consumer):
        with suppress(WireError):
            read(data)
