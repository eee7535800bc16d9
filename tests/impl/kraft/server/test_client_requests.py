"""What a broker of ours answers to producers, consumers and followers, in the versions that they speak."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from kio.static.primitive import i32Timedelta

from impl.kraft.records import UserScramCredentialRecord
from impl.kraft.security.principals import ANONYMOUS
from impl.kraft.server.client_requests import (
    DESCRIBE_USERS,
    FETCH,
    INIT_PRODUCER_ID,
    LIST_OFFSETS,
    METADATA,
    PRODUCE,
    SERVED,
)
from impl.kraft.server.connections import Caller
from impl.kraft.server.versions import request_kind, response_kind
from impl.kraft.storage.batches import HEADER, HEADER_BYTES, Header, Record, RecordBatch, encode
from impl.runtime.wire import RequestHeader, WireError
from tests.impl.kraft.server.one_broker import EPOCHS, ID, OTHER, TOPIC, TOPIC_ID, OneBroker

LATEST, EARLIEST = -1, -2
ANYBODY = Caller(ANONYMOUS, "127.0.0.1", "PLAINTEXT")


def batch(*values: bytes, timestamp_ms: int = 0) -> bytes:
    return encode(RecordBatch(0, 0, timestamp_ms, tuple(Record(value) for value in values)))


def ms(number: int) -> Any:
    return i32Timedelta.parse(timedelta(milliseconds=number))


def produce(records: bytes | None, acks: int = -1, timeout_ms: int = 1_000, topic: str = TOPIC) -> dict[str, Any]:
    partition = {"index": 0, "records": records}
    return {
        "transactional_id": None, "acks": acks, "timeout": ms(timeout_ms),
        "topic_data": [{"name": topic, "partition_data": [partition]}],
    }  # fmt: skip


async def produced(one: OneBroker, *arguments: Any, **more: Any) -> tuple[ErrorCode, int]:
    (topic,) = (await one.ask(PRODUCE, 9, produce(*arguments, **more))).responses
    (partition,) = topic.partition_responses
    return partition.error_code, int(partition.base_offset)


def fetch(offset: int, wait_ms: int = 0, **of_partition: Any) -> dict[str, Any]:
    partition = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1 << 20, **of_partition}
    return {
        "max_wait": ms(wait_ms), "min_bytes": 1, "max_bytes": 1 << 20, "forgotten_topics_data": (),
        "topics": [{"topic": TOPIC, "topic_id": TOPIC_ID, "partitions": [partition]}],
    }  # fmt: skip


async def fetched(one: OneBroker, version: int = 12, **of_request: Any) -> Any:
    (topic,) = (await one.ask(FETCH, version, of_request)).responses
    return topic.partitions[0]


def test_a_broker_describes_the_users_of_its_image(tmp_path: Path) -> None:
    one, answers = OneBroker(tmp_path), []
    one.replay(UserScramCredentialRecord("ann", 1, b"salt", b"stored", b"server", 4_096))

    async def ask() -> None:
        answers.append(await one.ask(DESCRIBE_USERS, 0, {"users": None}))

    one.run(ask)
    (user,) = answers[0].results
    assert user.user == "ann" and [(one.mechanism, one.iterations) for one in user.credential_infos] == [(1, 4_096)]


@pytest.mark.parametrize("key", SERVED)
def test_the_versions_that_are_said_to_be_served_have_schemas(key: int) -> None:
    for version in SERVED[key]:
        assert request_kind(key, version).__version__ == response_kind(key, version).__version__ == version


@pytest.mark.long("the schemas of 24 versions")
def test_records_are_produced_and_found_in_all_versions(tmp_path: Path) -> None:
    one = OneBroker(tmp_path)
    one.create_topic()

    async def what() -> None:
        for number, version in enumerate(range(SERVED[PRODUCE][0], SERVED[PRODUCE][1] + 1)):
            (topic,) = (await one.ask(PRODUCE, version, produce(batch(b"value")))).responses
            assert topic.partition_responses[0].base_offset == number
        for version in range(SERVED[FETCH][0], SERVED[FETCH][1] + 1):
            found = await fetched(one, version, **fetch(number))
            assert found.error_code is ErrorCode.none and found.high_watermark == number + 1
            assert int.from_bytes(found.records[:8], "big") == number and found.records[12:] != b""

    one.run(what)


@pytest.mark.parametrize(
    ("records", "code"),
    [
        (None, ErrorCode.corrupt_message),
        (batch(b"value")[:-1] + b"X", ErrorCode.corrupt_message),
        (batch(b"value") + batch(b"value"), ErrorCode.invalid_record),
        (batch(bytes(2 << 20)), ErrorCode.message_too_large),
        (encode(RecordBatch(0, 0, 0, (Record(b""),), is_control=True)), ErrorCode.corrupt_message),
    ],
    ids=["none", "checksum", "two batches", "too large", "control records"],
)
def test_what_is_no_batch_of_a_producer_is_refused(tmp_path: Path, records: bytes | None, code: ErrorCode) -> None:
    one = OneBroker(tmp_path)
    one.create_topic()

    async def what() -> None:
        assert await produced(one, records) == (code, -1)
        assert await produced(one, batch(b"value")) == (ErrorCode.none, 0)

    one.run(what)


def test_who_is_not_served_is_told_why(tmp_path: Path) -> None:
    one = OneBroker(tmp_path)
    one.create_topic((OTHER, ID))

    async def what() -> None:
        assert (await produced(one, batch(b""), topic="other"))[0] is ErrorCode.unknown_topic_or_partition
        assert (await produced(one, batch(b"")))[0] is ErrorCode.not_leader_or_follower
        assert (await produced(one, batch(b""), acks=2))[0] is ErrorCode.invalid_required_acks
        assert (await fetched(one, **fetch(0))).error_code is ErrorCode.not_leader_or_follower
        one.change(leader=ID)
        assert (await fetched(one, **fetch(0, current_leader_epoch=0))).error_code is ErrorCode.fenced_leader_epoch
        assert (await fetched(one, **fetch(0, current_leader_epoch=2))).error_code is ErrorCode.unknown_leader_epoch
        assert (await fetched(one, **fetch(1, current_leader_epoch=1))).error_code is ErrorCode.offset_out_of_range
        with pytest.raises(WireError, match="API 11 is not served"):
            await one.requests.handle(RequestHeader(11, 0, 1, "test"), b"", ANYBODY)
        with pytest.raises(WireError, match="version 18 is not served"):
            await one.requests.handle(RequestHeader(FETCH, 18, 1, "test"), b"", ANYBODY)

    one.run(what)


async def until_end(one: OneBroker, end_offset: int) -> None:
    while one.broker.logs[TOPIC_ID, 0].end_offset < end_offset:
        await asyncio.sleep(0)


def of_follower(offset: int, epoch: int = 0) -> dict[str, Any]:
    request = fetch(offset, 1, current_leader_epoch=epoch, last_fetched_epoch=epoch if offset else -1)
    return {**request, "replica_state": {"replica_id": OTHER, "replica_epoch": EPOCHS[OTHER]}}


def test_acks_of_all_wait_for_the_isr_and_consumers_for_what_is_committed(tmp_path: Path) -> None:
    one = OneBroker(tmp_path)
    one.create_topic((ID, OTHER))

    async def what() -> None:
        assert await produced(one, batch(b"1"), acks=1) == (ErrorCode.none, 0)
        waiting = asyncio.get_running_loop().create_task(produced(one, batch(b"2"), timeout_ms=60_000))
        await until_end(one, 2)
        consuming = asyncio.get_running_loop().create_task(fetched(one, **fetch(0, wait_ms=60_000)))
        assert await produced(one, batch(b"3"), timeout_ms=1) == (ErrorCode.request_timed_out, -1)
        found = await fetched(one, 17, **of_follower(0))
        assert found.high_watermark == 0 and len(found.records) == 3 * len(batch(b"1"))
        assert not waiting.done() and not consuming.done()
        found = await fetched(one, 17, **of_follower(2))  # it has what is before
        assert found.high_watermark == 2 and len(found.records) == len(batch(b"1"))
        assert await waiting == (ErrorCode.none, 1)
        assert len((await consuming).records) == 2 * len(batch(b"1"))

    one.run(what)


def test_who_leads_anew_acknowledges_nothing_of_before(tmp_path: Path) -> None:
    """What it has appended may be cut between, and its place taken by what was not waited for."""
    one = OneBroker(tmp_path)
    one.create_topic((ID, OTHER))

    async def what() -> None:
        waiting = asyncio.get_running_loop().create_task(produced(one, batch(b"1"), timeout_ms=60_000))
        await until_end(one, 1)
        one.change(leader=OTHER)
        one.change(leader=ID, isr=(ID,))
        assert (await produced(one, batch(b"2")))[0] is ErrorCode.none
        assert await waiting == (ErrorCode.not_leader_or_follower, -1)

    one.run(what)


def test_too_small_an_isr_takes_nothing_of_who_waits_for_all(tmp_path: Path) -> None:
    one = OneBroker(tmp_path)
    one.create_topic((ID, OTHER))
    one.change(isr=(ID,))
    one.broker.settings = type(one.broker.settings)(ID, "cluster", min_insync_replicas=2)

    async def what() -> None:
        assert (await produced(one, batch(b"1")))[0] is ErrorCode.not_enough_replicas
        assert await produced(one, batch(b"1"), acks=1) == (ErrorCode.none, 0)

    one.run(what)


def numbered(sequence: int, producer: int = 4) -> bytes:
    """A batch of an idempotent producer, with a checksum that is right."""
    from crc32c import crc32c

    data = batch(b"value")
    fields = list(Header(*HEADER.unpack_from(data)))
    fields[9:12] = producer, 0, sequence
    changed = bytearray(HEADER.pack(*fields) + data[HEADER_BYTES:])
    changed[17:21] = crc32c(bytes(changed[21:])).to_bytes(4, "big")
    return bytes(changed)


def test_what_an_idempotent_producer_sends_again_has_the_offset_that_it_had(tmp_path: Path) -> None:
    one = OneBroker(tmp_path)
    one.create_topic()

    async def what() -> None:
        for number in (0, 1, 0, 1):
            assert await produced(one, numbered(number)) == (ErrorCode.none, number)
        assert (await produced(one, numbered(3)))[0] is ErrorCode.out_of_order_sequence_number
        assert one.broker.leaders[TOPIC_ID, 0].log.end_offset == 2

    one.run(what)


@pytest.mark.parametrize(
    ("timestamp", "offset", "timestamp_found"),
    [(EARLIEST, 0, -1), (LATEST, 2, -1), (60, 1, 70), (80, -1, -1), (-3, 1, 70)],
)
def test_offsets_are_found_by_time(tmp_path: Path, timestamp: int, offset: int, timestamp_found: int) -> None:
    one = OneBroker(tmp_path)
    one.create_topic()

    async def what() -> None:
        for written_ms in (50, 70):
            await produced(one, batch(b"value", timestamp_ms=written_ms))
        partition = {"partition_index": 0, "timestamp": timestamp}
        asked = {"replica_id": -1, "isolation_level": 0, "topics": [{"name": TOPIC, "partitions": [partition]}]}
        (topic,) = (await one.ask(LIST_OFFSETS, 7, asked)).topics
        found = topic.partitions[0]
        assert (found.error_code, found.offset, found.timestamp) == (ErrorCode.none, offset, timestamp_found)

    one.run(what)


def metadata(names: list[str] | None) -> dict[str, Any]:
    topics = None if names is None else [{"name": name, "topic_id": None} for name in names]
    unasked = ("include_cluster_authorized_operations", "include_topic_authorized_operations")
    return {"topics": topics, **dict.fromkeys(unasked, False)}


def test_metadata_names_who_is_alive_and_no_leader_that_is_not(tmp_path: Path) -> None:
    one = OneBroker(tmp_path)
    one.create_topic((ID, OTHER), partitions=2)

    async def what() -> None:
        for version in SERVED[METADATA]:
            found = await one.ask(METADATA, version, metadata([TOPIC, "none"]))
            assert [(int(broker.node_id), int(broker.port)) for broker in found.brokers] == [(ID, 9007), (OTHER, 9008)]
            codes = [topic.error_code for topic in found.topics]
            assert codes == [ErrorCode.none, ErrorCode.unknown_topic_or_partition]
            assert [int(partition.leader_id) for partition in found.topics[0].partitions] == [ID, ID]
        every = await one.ask(METADATA, 9, metadata(None))
        assert [topic.name for topic in every.topics] == [TOPIC]

    one.run(what)


def test_without_a_controller_there_are_no_producer_ids_yet(tmp_path: Path) -> None:
    one = OneBroker(tmp_path)

    async def what() -> None:
        asked = {"transactional_id": None, "transaction_timeout": ms(0)}
        assert (await one.ask(INIT_PRODUCER_ID, 4, asked)).error_code is ErrorCode.coordinator_load_in_progress
        asked["transactional_id"] = "mine"
        assert (await one.ask(INIT_PRODUCER_ID, 4, asked)).error_code is ErrorCode.unsupported_version

    one.run(what)
