"""A length that no message can have is refused before kio's native code makes room for it, and aborts."""

from __future__ import annotations

import datetime
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.schema.alter_partition.v3.request import AlterPartitionRequest
from kio.schema.consumer_group_heartbeat.v1.response import ConsumerGroupHeartbeatResponse
from kio.schema.create_topics.v7.request import CreateTopicsRequest
from kio.schema.delete_topics.v6.request import DeleteTopicsRequest, DeleteTopicState
from kio.schema.fetch.v11.response import FetchResponse as FetchBeforeTags
from kio.schema.fetch.v17.request import FetchRequest, ReplicaState
from kio.schema.fetch.v17.response import FetchResponse
from kio.schema.find_coordinator.v1.response import FindCoordinatorResponse
from kio.schema.join_group.v4.response import JoinGroupResponse
from kio.schema.metadata.v4.request import MetadataRequest
from kio.schema.metadata.v4.response import MetadataResponse
from kio.schema.offset_commit.v5.response import OffsetCommitResponse
from kio.schema.sync_group.v2.response import SyncGroupResponse
from kio.schema.types import BrokerId, TopicName
from kio.schema.vote.v2.request import VoteRequest
from kio.static.primitive import Records, i32, i32Timedelta, i64

from impl.runtime.entities import entity_bytes, read_entity
from impl.runtime.lengths import Change, end_of
from impl.runtime.wire import WireError, uvarint

EXAMPLES = 20
TOO_MANY = (1 << 32) - 1
TIMEOUT = i32Timedelta.parse(datetime.timedelta(seconds=30))
NAME = uvarint(2) + b"t"
FLEXIBLE = (
    AlterPartitionRequest, ConsumerGroupHeartbeatResponse, CreateTopicsRequest, FetchRequest, FetchResponse,
    VoteRequest,
)  # fmt: skip
BEFORE_TAGS = (
    FetchBeforeTags, FindCoordinatorResponse, JoinGroupResponse, MetadataRequest, MetadataResponse,
    OffsetCommitResponse, SyncGroupResponse,
)  # fmt: skip
KINDS = st.sampled_from((*FLEXIBLE, *BEFORE_TAGS))
st.register_type_strategy(Records, st.binary(max_size=200).map(Records))


@settings(max_examples=EXAMPLES)
@given(KINDS.flatmap(st.from_type), st.binary(max_size=9))
def test_an_entity_ends_where_it_does(entity: object, behind: bytes) -> None:
    body = entity_bytes(entity)
    changes: list[Change] = []
    assert end_of(type(entity), body + behind, changes) == len(body) and changes == []
    assert read_entity(type(entity), body) == entity


@settings(max_examples=EXAMPLES)
@given(KINDS.flatmap(st.from_type), st.data())
def test_what_is_damaged_is_read_or_refused(entity: object, data: st.DataObject) -> None:
    """And ends no process: the largest numbers stand somewhere, or the body ends somewhere, or is of another kind."""
    body = bytearray(entity_bytes(entity))
    at = data.draw(st.integers(0, len(body)))
    large = (b"\xff\xff\xff\xff\x0f", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xfe", b"\x80\x80\x80\x80\x08", b"")
    body[at : at + data.draw(st.integers(0, 6))] = data.draw(st.sampled_from(large) | st.binary(max_size=8))
    for damaged in (bytes(body), bytes(body[:at])):
        try:
            read_entity(data.draw(KINDS), damaged)
        except WireError as error:
            assert "cannot be read" in str(error) or " bytes after " in str(error)


@pytest.mark.parametrize("count", [3, 1 << 28, 1 << 31, (1 << 31) + 1, TOO_MANY])
@pytest.mark.parametrize("kind", [CreateTopicsRequest, DeleteTopicsRequest])
def test_an_array_that_is_longer_than_its_message_is_refused(kind: type, count: int) -> None:
    with pytest.raises(WireError, match="cannot be read"):
        read_entity(kind, uvarint(count) + b"\x00")


@pytest.mark.parametrize("count", [3, 1 << 28, (1 << 31) - 1, -2, -(1 << 31)])
def test_so_it_is_before_there_were_tags(count: int) -> None:
    """What a coordinator answers, as the members of a group read it."""
    for kind, before in (
        (MetadataResponse, bytes(4)),
        (OffsetCommitResponse, bytes(4)),
        (JoinGroupResponse, bytes(16)),
    ):
        with pytest.raises(WireError, match=f"an array of {count} elements|a length of {count}"):
            read_entity(kind, before + struct.pack(">i", count) + b"\x00")


def test_an_array_within_an_array_is_looked_at_too() -> None:
    body = uvarint(2) + NAME + bytes(6) + uvarint(TOO_MANY) + bytes(8)
    with pytest.raises(WireError, match=f"{TOO_MANY - 1} elements"):
        read_entity(CreateTopicsRequest, body)
    body = bytes(12) + uvarint(2) + bytes(16) + uvarint(TOO_MANY)
    with pytest.raises(WireError, match=f"{TOO_MANY - 1} elements"):
        read_entity(AlterPartitionRequest, body)


def test_a_string_that_is_longer_than_its_message_is_refused() -> None:
    with pytest.raises(WireError, match="cannot be read"):
        read_entity(CreateTopicsRequest, uvarint(2) + uvarint(TOO_MANY) + b"t")
    with pytest.raises(WireError, match="the answer cannot be read: 32767 bytes are to be read, and 1 are there"):
        read_entity(SyncGroupResponse, bytes(6) + b"\x00\x00\x7f\xff\x00", "the answer")


def test_what_stands_behind_is_refused_unless_it_is_ignored() -> None:
    made = CreateTopicsRequest(topics=())
    with pytest.raises(WireError, match="2 bytes after CreateTopicsRequest"):
        read_entity(CreateTopicsRequest, entity_bytes(made) + b"??")
    assert read_entity(CreateTopicsRequest, entity_bytes(made) + b"??", ignores_rest=True) == made


def tagged(*fields: tuple[int, bytes]) -> bytes:
    return uvarint(len(fields)) + b"".join(uvarint(tag) + uvarint(len(value)) + value for tag, value in fields)


def test_unknown_tagged_fields_are_skipped_wherever_they_are() -> None:
    """KIP-482: of the message, of a struct in an array, and of one within a tagged field (Fetch's ReplicaState)."""
    later = tagged((7, b"later"), (1 << 20, b""))
    topic = TopicName("t")
    state = DeleteTopicState(name=topic, topic_id=None)
    made = DeleteTopicsRequest(topics=(state,), timeout=TIMEOUT)
    plain = entity_bytes(made)
    assert plain == uvarint(2) + NAME + bytes(16) + b"\0" + plain[-5:-1] + b"\0"
    body = uvarint(2) + NAME + bytes(16) + later + plain[-5:-1] + later
    assert read_entity(DeleteTopicsRequest, body) == made

    replica = ReplicaState(replica_id=BrokerId(3), replica_epoch=i64(9))
    fetch = FetchRequest(
        max_wait=TIMEOUT, min_bytes=i32(0), topics=(), forgotten_topics_data=(), cluster_id="c", replica_state=replica
    )  # fmt: skip
    plain = entity_bytes(fetch)
    known = (0, uvarint(2) + b"c"), (1, entity_bytes(replica))
    assert plain.endswith(tagged(*known))
    body = plain.removesuffix(tagged(*known)) + tagged(
        known[0], (1, entity_bytes(replica)[:-1] + later), (9, b"x" * 300)
    )  # fmt: skip
    assert read_entity(FetchRequest, body) == fetch


@pytest.mark.parametrize(
    "fields", [b"\x01", b"\x01\x07\x05", uvarint(1 << 40), b"\x01\x07" + uvarint(TOO_MANY)], ids=str
)
def test_a_tagged_field_that_ends_too_late_is_refused(fields: bytes) -> None:
    with pytest.raises(WireError, match="cannot be read"):
        read_entity(DeleteTopicsRequest, uvarint(1) + bytes(4) + fields)
