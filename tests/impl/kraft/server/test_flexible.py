"""A length that no message can have is refused before kio's native code makes room for it, and aborts."""

from __future__ import annotations

import pytest
from kio.schema.alter_partition.v3.request import AlterPartitionRequest
from kio.schema.create_topics.v7.request import CreateTopicsRequest
from kio.schema.delete_topics.v6.request import DeleteTopicsRequest
from kio.schema.fetch.v11.request import FetchRequest as InflexibleRequest

from impl.kraft.server.flexible import read_flexible
from impl.kraft.storage.batches import uvarint
from impl.runtime.entities import entity_bytes
from impl.runtime.wire import WireError

TOO_MANY = (1 << 32) - 1
NAME = uvarint(2) + b"t"


@pytest.mark.parametrize("count", [3, 1 << 28, 1 << 31, (1 << 31) + 1, TOO_MANY])
@pytest.mark.parametrize("kind", [CreateTopicsRequest, DeleteTopicsRequest])
def test_an_array_that_is_longer_than_its_message_is_refused(kind: type, count: int) -> None:
    with pytest.raises(WireError, match="cannot be read"):
        read_flexible(kind, uvarint(count) + b"\x00")


def test_an_array_within_an_array_is_looked_at_too() -> None:
    body = uvarint(2) + NAME + bytes(6) + uvarint(TOO_MANY) + bytes(8)
    with pytest.raises(WireError, match=f"{TOO_MANY - 1} elements"):
        read_flexible(CreateTopicsRequest, body)
    body = bytes(12) + uvarint(2) + bytes(16) + uvarint(TOO_MANY)
    with pytest.raises(WireError, match=f"{TOO_MANY - 1} elements"):
        read_flexible(AlterPartitionRequest, body)


def test_a_string_that_is_longer_than_its_message_is_refused() -> None:
    with pytest.raises(WireError, match="cannot be read"):
        read_flexible(CreateTopicsRequest, uvarint(2) + uvarint(TOO_MANY) + b"t")


def test_what_can_be_read_is_read() -> None:
    made = CreateTopicsRequest(topics=())
    assert read_flexible(CreateTopicsRequest, entity_bytes(made)) == made


def test_what_is_not_flexible_is_no_message_of_this_server() -> None:
    with pytest.raises(TypeError, match="not flexible"):
        read_flexible(InflexibleRequest, b"")
