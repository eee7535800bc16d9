"""MetadataHeartbeat, IsrChange and the control requests on the wire: the bytes, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.heartbeat.control_requests import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    Endpoint,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    PartitionState,
    TopicPartition,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
    read_controlled_shutdown_request,
    read_controlled_shutdown_response,
    read_leader_and_isr_request,
    read_leader_and_isr_response,
    read_update_metadata_request,
    read_update_metadata_response,
)
from impl.heartbeat.messages import (
    MAX_FRAME_BYTES,
    BrokerState,
    ErrorCode,
    IsrChangeRequest,
    IsrChangeResponse,
    IsrResult,
    MetadataHeartbeatRequest,
    MetadataHeartbeatResponse,
    PartitionIsr,
    TopicIsr,
    read_heartbeat_request,
    read_heartbeat_response,
    read_isr_request,
    read_isr_response,
)
from impl.runtime.topics import LEGAL_NAME
from impl.runtime.wire import Frames, WireError, frame, int32

INT8 = st.integers(-128, 127)
INT16 = st.integers(-(1 << 15), (1 << 15) - 1)
INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
NAME = st.text(max_size=20)
TEXT = st.none() | NAME
ISR = st.lists(INT32, max_size=4).map(tuple)
VERSIONS = pytest.mark.parametrize("version", [0, 1])
HEARTBEAT = MetadataHeartbeatRequest(3, 0x100000002, BrokerState.ACTIVE, 7)
CHANGE = IsrChangeRequest(1, 5, (TopicIsr("t", (PartitionIsr(2, 4, (1, 3), 6, (5, 9)),)),))
STATE = PartitionState(TopicPartition("t", 2), 7, 1, 4, (1, 3), 6, (1, 3))


def test_a_heartbeat_is_these_bytes() -> None:
    assert HEARTBEAT.body(0).hex(" ") == "00 00 00 03 00 00 00 01 00 00 00 02 02"
    assert HEARTBEAT.body(1).hex(" ") == "00 00 00 03 00 00 00 01 00 00 00 02 02 00 00 00 07"


def test_a_response_to_it_is_these_bytes() -> None:
    response = MetadataHeartbeatResponse(ErrorCode.NONE, BrokerState.INACTIVE, None, 3, 9, 7)
    assert response.body(0).hex(" ") == "00 00 ff ff 01"
    assert response.body(1).hex(" ") == "00 00 ff ff 01 00 00 00 03 00 00 00 00 00 00 00 09 00 00 00 07"
    refused = MetadataHeartbeatResponse(ErrorCode.INVALID_INCARNATION_ID, BrokerState.INITIAL, "old")
    assert refused.body(0).hex(" ") == "00 4d 00 03 6f 6c 64 00"


def test_an_isr_change_is_these_bytes() -> None:
    head = "00 00 00 01 00 00 00 00 00 00 00 05 00 00 00 01 00 01 74 00 00 00 01"  # broker, incarnation, topic t
    partition = " 00 00 00 04 00 00 00 02 00 00 00 02 00 00 00 01 00 00 00 03"  # leader epoch, index, isr
    added = " 00 00 00 06 00 00 00 02 00 00 00 00 00 00 00 05 00 00 00 00 00 00 00 09"  # version, incarnations
    assert CHANGE.body(0).hex(" ") == head + partition
    assert CHANGE.body(1).hex(" ") == head + partition + added


def test_a_response_to_an_isr_change_is_these_bytes() -> None:
    result = IsrResult(ErrorCode.NOT_LEADER_FOR_PARTITION, None, "t", 2, 4, 6, (1,))
    response = IsrChangeResponse(ErrorCode.NONE, None, (result,))
    document = "00 00 ff ff 00 00 00 01 00 06 ff ff"
    added = " 00 01 74 00 00 00 02 00 00 00 04 00 00 00 06 00 00 00 01 00 00 00 01"
    assert response.body(0).hex(" ") == document
    assert response.body(1).hex(" ") == document + added
    assert IsrChangeResponse(ErrorCode.NOT_CONTROLLER).body(0).hex(" ") == "00 29 ff ff 00 00 00 00"


def test_control_requests_are_these_bytes() -> None:
    state = "00 01 74 00 00 00 02 00 00 00 07 00 00 00 01 00 00 00 04 00 00 00 02 00 00 00 01 00 00 00 03 00 00 00 06 "
    state += "00 00 00 02 00 00 00 01 00 00 00 03"
    head = "00 00 00 01 00 00 00 07 00 00 00 01 "
    told = LeaderAndIsrRequest(1, 7, (STATE,), (Endpoint(1, "h", 9),))
    assert told.body().hex(" ") == head + state + " 00 00 00 00 01 00 00 00 01 00 01 68 00 00 00 09"
    shown = UpdateMetadataRequest(1, 7, (STATE,), (Endpoint(1, "h", 9),))
    endpoint = " 00 00 00 01 00 00 00 09 00 01 68 00 09 50 4c 41 49 4e 54 45 58 54 00 00 ff ff"
    assert shown.body().hex(" ") == head + state + " 00 00 00 00" + " 00 00 00 01 00 00 00 01" + endpoint
    assert ControlledShutdownRequest(3).body().hex(" ") == "00 00 00 03"


def test_control_requests_to_an_incarnation_are_these_bytes() -> None:
    """LeaderAndIsr v2 and UpdateMetadata v5 (KIP-380): an entry for each topic, and the broker epoch in the head."""
    head = "00 00 00 01 00 00 00 07 00 00 00 00 00 00 00 2a 00 00 00 01 00 01 74 00 00 00 01 "
    state = "00 00 00 02 00 00 00 07 00 00 00 01 00 00 00 04 00 00 00 02 00 00 00 01 00 00 00 03 00 00 00 06 "
    state += "00 00 00 02 00 00 00 01 00 00 00 03"
    told = LeaderAndIsrRequest(1, 7, (STATE,), (), 42)
    assert told.body(2).hex(" ") == head + state + " 00 00 00 00 00"
    shown = UpdateMetadataRequest(1, 7, (STATE,), (), 42)
    assert shown.body(5).hex(" ") == head + state + " 00 00 00 00 00 00 00 00"
    parts = tuple(replace(STATE, partition=TopicPartition(topic, n)) for topic in "ab" for n in range(2))
    assert read_leader_and_isr_request(replace(told, partitions=parts).body(2), 2).partitions == parts
    assert read_update_metadata_request(replace(shown, partitions=parts).body(5), 5).partitions == parts


@pytest.mark.parametrize("topic", ["", ".", "..", "../t", "a/b", "t\0", "t\n", "ä", "t" * 250])
def test_what_is_no_name_of_a_topic_is_refused(topic: str) -> None:
    """The folder of a replica is named after its topic."""
    assert not LEGAL_NAME.match(topic) and LEGAL_NAME.match("t" * 249) and LEGAL_NAME.match("...")
    bad = replace(STATE, partition=TopicPartition(topic, 0)), replace(STATE, partition=TopicPartition("t", -1))
    for state in bad:
        for version in (1, 2):
            with pytest.raises(WireError, match=r"partition -?[01] of"):
                read_leader_and_isr_request(LeaderAndIsrRequest(1, 7, (state,), (), 42).body(version), version)
        with pytest.raises(WireError, match=r"partition -?[01] of"):
            read_update_metadata_request(UpdateMetadataRequest(1, 7, (state,), ()).body())


PARTITIONS = st.builds(
    lambda index, epoch, version, members: PartitionIsr(
        index, epoch, tuple(one for one, _ in members), version, tuple(incarnation for _, incarnation in members)
    ),
    INT32, INT32, INT32, st.lists(st.tuples(INT32, INT64), max_size=4),
)  # fmt: skip
TOPICS = st.builds(TopicIsr, NAME, st.lists(PARTITIONS, max_size=3).map(tuple))
RESULTS = st.builds(IsrResult, INT16, TEXT, NAME, INT32, INT32, INT32, ISR)
PARTITION = st.builds(
    TopicPartition,
    st.text("abcABC019._-", min_size=1, max_size=20).filter(LEGAL_NAME.match),
    st.integers(0, (1 << 31) - 1),
)
STATES = st.builds(
    PartitionState, PARTITION, INT32, INT32, INT32, ISR, INT32, ISR
)  # fmt: skip
ENDPOINTS = st.lists(st.builds(Endpoint, INT32, NAME, INT32), max_size=3).map(tuple)
PARTS = st.lists(STATES, max_size=3).map(tuple)
LED = st.builds(TopicPartition, NAME, INT32)
VERSIONED: list[tuple[st.SearchStrategy[Any], Callable[[bytes, int], Any]]] = [
    (st.builds(MetadataHeartbeatRequest, INT32, INT64, INT8, INT32), read_heartbeat_request),
    (st.builds(MetadataHeartbeatResponse, INT16, INT8, TEXT, INT32, INT64, INT32), read_heartbeat_response),
    (st.builds(IsrChangeRequest, INT32, INT64, st.lists(TOPICS, max_size=3).map(tuple)), read_isr_request),
    (st.builds(IsrChangeResponse, INT16, TEXT, st.lists(RESULTS, max_size=3).map(tuple)), read_isr_response),
]
UNVERSIONED: list[tuple[st.SearchStrategy[Any], Callable[[bytes], Any]]] = [
    (st.builds(LeaderAndIsrRequest, INT32, INT32, PARTS, ENDPOINTS), read_leader_and_isr_request),
    (st.builds(UpdateMetadataRequest, INT32, INT32, PARTS, ENDPOINTS), read_update_metadata_request),
    (st.builds(ControlledShutdownRequest, INT32), read_controlled_shutdown_request),
    (
        st.builds(LeaderAndIsrResponse, INT16, st.lists(st.tuples(LED, INT16), max_size=3).map(tuple)),
        read_leader_and_isr_response,
    ),
    (st.builds(UpdateMetadataResponse, INT16), read_update_metadata_response),
    (
        st.builds(ControlledShutdownResponse, INT16, st.lists(LED, max_size=3).map(tuple)),
        read_controlled_shutdown_response,
    ),
]


@pytest.mark.parametrize(("messages", "read"), VERSIONED, ids=lambda one: getattr(one, "__name__", ""))
@given(data=st.data(), by=st.integers(0, 60))
def test_what_was_written_is_read(
    messages: st.SearchStrategy[Any], read: Callable[[bytes, int], Any], data: st.DataObject, by: int
) -> None:
    """Version 1 says everything; version 0 is the beginning of the same; a part of either is refused."""
    message = data.draw(messages)
    body = message.body(1)
    assert read(body, 1) == message
    document = message.body(0)
    assert read(document, 0).body(0) == document
    for version, whole in ((0, document), (1, body)):
        with pytest.raises(WireError):
            read(whole[: max(0, len(whole) - 1 - by)], version)
        with pytest.raises(WireError):
            read(whole + b"\0", version)


@pytest.mark.parametrize(("messages", "read"), UNVERSIONED, ids=lambda one: getattr(one, "__name__", ""))
@given(data=st.data(), by=st.integers(0, 60))
def test_what_a_controller_wrote_is_read(
    messages: st.SearchStrategy[Any], read: Callable[[bytes], Any], data: st.DataObject, by: int
) -> None:
    message = data.draw(messages)
    assert read(message.body()) == message
    with pytest.raises(WireError):
        read(message.body()[: max(0, len(message.body()) - 1 - by)])
    with pytest.raises(WireError):
        read(message.body() + b"\0")


READERS = [
    *(lambda data, read=read, version=version: read(data, version) for _, read in VERSIONED for version in (0, 1)),
    *(read for _, read in UNVERSIONED),
]


@given(data=st.binary(max_size=80))
def test_garbage_is_refused_or_read_whole(data: bytes) -> None:
    for read in READERS:
        try:
            read(data)
        except WireError:
            continue


@VERSIONS
@pytest.mark.parametrize("count", [-1, -(1 << 31), 1 << 20, (1 << 31) - 1])
def test_a_count_that_lies_is_refused_at_once(version: int, count: int) -> None:
    """Nothing is made of the size that it names."""
    head = bytes(12)
    for lie in (int32(count), int32(1) + b"\0\1t" + int32(count)):
        with pytest.raises(WireError, match="an array of"):
            read_isr_request(head + lie + bytes(40), version)
    with pytest.raises(WireError, match="an array of"):
        read_isr_response(b"\0\0\xff\xff" + int32(count) + bytes(40), version)


def test_incarnations_that_do_not_go_with_the_isr_are_refused() -> None:
    odd = IsrChangeRequest(1, 5, (TopicIsr("t", (PartitionIsr(0, 4, (1, 3), 6, (5,)),)),))
    with pytest.raises(WireError, match="1 of them for an isr of 2"):
        read_isr_request(odd.body(1), 1)


@VERSIONS
def test_100_000_partitions_in_one_frame(version: int) -> None:
    partitions = tuple(PartitionIsr(n, 4, (1, 2, 3), 6, (5, 6, 7)) for n in range(100_000))
    content = IsrChangeRequest(1, 5, (TopicIsr("t", partitions),)).body(version)
    (received,) = Frames(MAX_FRAME_BYTES).feed(frame(content))
    assert len(read_isr_request(received, version).topics[0].partitions) == 100_000


def test_a_frame_whose_size_lies_is_refused() -> None:
    for size in (-1, MAX_FRAME_BYTES + 1, (1 << 31) - 1):
        with pytest.raises(WireError, match="a frame of"):
            next(Frames(MAX_FRAME_BYTES).feed(int32(size) + bytes(20)))
    short = Frames(MAX_FRAME_BYTES)
    assert list(short.feed(int32(21) + bytes(20))) == []
    with pytest.raises(WireError, match="within a frame"):
        short.end()
