"""Produce and InitProducerId: batches of clients, acknowledged by the ISR as the core says (KIP-98).

There are no transactions. A batch has to be one of magic 2, whole by its checksum, of a size that its topic takes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

from kio.schema.errors import ErrorCode as WireErrorCode

from impl.kraft.errors import ErrorCode
from impl.kraft.image import PartitionKey
from impl.kraft.messages import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from impl.kraft.node import BrokerEffects
from impl.kraft.records import TOPIC_RESOURCE
from impl.kraft.security.acls import Operation
from impl.kraft.server.authorization import EVERYTHING, Rights
from impl.kraft.server.controller_channel import LOST, ControllerChannel
from impl.kraft.server.entities import NO_TIME, wire_code
from impl.kraft.server.producers import NO_PRODUCER
from impl.kraft.server.replica_logs import StoredReplicaLog
from impl.kraft.server.steps import Steps
from impl.kraft.storage.batches import OF_PRODUCERS, BatchError, Header, header_at
from impl.kraft.storage.partition_log import StoredBatch

NO_ACKS, ACKS_OF_LEADER, ACKS_OF_ALL = 0, 1, -1
MOST_BYTES, MOST_BYTES_OF_TOPIC = 1_048_588, "max.message.bytes"
"""The largest batch, as Kafka's message.max.bytes, and the config of a topic that has another."""


@dataclass(slots=True)
class Part:
    """A batch for one partition, and what became of it. end_offset: -1 where nothing was appended.

    error: None while others have to get it.
    """

    topic: str
    index: int
    error: WireErrorCode | None
    base_offset: int = -1
    end_offset: int = -1
    key: PartitionKey | None = None
    leader_epoch: int = -1


class Producing:
    """Serves producers at the broker of these steps."""

    def __init__(self, steps: Steps, channel: ControllerChannel) -> None:
        self._steps, self._channel = steps, channel
        self._ids = iter(range(0))
        self._asking = asyncio.Lock()

    async def produce(self, request: Any, rights: Rights = EVERYTHING) -> dict[str, Any] | None:
        """The response, by field; None where the producer waits for none. Raises WireError."""
        acks = int(request.acks)
        asked = [(topic, one) for topic in request.topic_data for one in topic.partition_data]
        if acks not in (NO_ACKS, ACKS_OF_LEADER, ACKS_OF_ALL):
            code = WireErrorCode.invalid_required_acks
            return produced([Part(topic.name, int(one.index), code) for topic, one in asked])

        def appended(now_ms: int) -> tuple[list[Part], BrokerEffects]:
            return [self._append(topic.name, int(one.index), one.records, acks, rights) for topic, one in asked], []

        parts = await self._steps.take(appended)
        if acks == ACKS_OF_ALL:
            await self._steps.waiting.until(lambda: self._acknowledged(parts), request.timeout / timedelta(seconds=1))
        return None if acks == NO_ACKS else produced(parts)

    def _append(self, topic: str, index: int, records: bytes | None, acks: int, rights: Rights) -> Part:
        if not rights.of_topic(Operation.WRITE, topic):
            return Part(topic, index, WireErrorCode.topic_authorization_failed)
        broker = self._steps.node.broker
        topic_id = broker.image.topic_ids.get(topic)
        if topic_id is None or (topic_id, index) not in broker.image.partitions:
            return Part(topic, index, WireErrorCode.unknown_topic_or_partition)
        key = (topic_id, index)
        leader = broker.leaders.get(key)
        if leader is None:
            return Part(topic, index, WireErrorCode.not_leader_or_follower)
        batch, refused = self._checked(topic, records or b"")
        if batch is None:
            return Part(topic, index, refused)
        log = cast(StoredReplicaLog, leader.log)
        code, written = log.producers.verdict(batch)
        if code is not WireErrorCode.none:
            return Part(topic, index, code)
        if written is None:
            error, _ = broker.append(key, bytes(records or b""), acks_of_all=acks == ACKS_OF_ALL)
            if error is not ErrorCode.NONE:
                return Part(topic, index, wire_code(error))
            written = log.log.batches[-1]
        part = Part(topic, index, None, written.header.base_offset, written.end_offset, key, leader.leader_epoch)
        if acks != ACKS_OF_ALL:
            part.error = WireErrorCode.none
        return part

    def _checked(self, topic: str, records: bytes) -> tuple[StoredBatch | None, WireErrorCode]:
        """One batch that may be appended, or why not."""
        configs = self._steps.node.broker.image.configs_of(TOPIC_RESOURCE, topic)
        given = configs.get(MOST_BYTES_OF_TOPIC, "")
        if len(records) > (int(given) if given.isdecimal() else MOST_BYTES):
            return None, WireErrorCode.message_too_large
        try:
            header = header_at(records, attributes=OF_PRODUCERS)
        except BatchError:
            return None, WireErrorCode.corrupt_message
        if header.size_bytes != len(records) or not _is_of_a_producer(header):
            return None, WireErrorCode.invalid_record
        return StoredBatch(header, 0), WireErrorCode.none

    def _acknowledged(self, parts: list[Part]) -> bool | None:
        """True once each part has an answer. Who leads in another epoch by now has perhaps not what was appended."""
        broker = self._steps.node.broker
        for part in parts:
            if part.error is not None or part.key is None:
                continue
            leader = broker.leaders.get(part.key)
            if leader is None or leader.leader_epoch != part.leader_epoch:
                part.error = WireErrorCode.not_leader_or_follower
            elif (error := broker.acknowledgement(part.key, part.end_offset)) is not None:
                part.error = wire_code(error)
        return True if all(part.error is not None for part in parts) else None

    # Producer ids.

    async def init_producer_id(self, request: Any, rights: Rights = EVERYTHING) -> dict[str, Any]:
        """The response, by field. Ids come from the controller in blocks, and none is given twice."""
        if request.transactional_id is not None:
            return _with_id(WireErrorCode.unsupported_version, NO_PRODUCER, -1)
        if not rights.of_cluster(Operation.IDEMPOTENT_WRITE) and not rights.of_some_topic(Operation.WRITE):
            return _with_id(WireErrorCode.cluster_authorization_failed, NO_PRODUCER, -1)
        async with self._asking:
            number = next(self._ids, None)
            if number is None:
                await self._allocate()
                number = next(self._ids, None)
        if number is None:
            return _with_id(WireErrorCode.coordinator_load_in_progress, NO_PRODUCER, -1)  # the client asks again
        return _with_id(WireErrorCode.none, number, 0)

    async def _allocate(self) -> None:
        broker = self._steps.node.broker
        if broker.broker_epoch is None:
            return
        try:
            block = await self._channel.send(AllocateProducerIdsRequest(broker.broker_id, broker.broker_epoch))
        except LOST:
            return
        assert isinstance(block, AllocateProducerIdsResponse)
        if block.error is ErrorCode.NONE:
            self._ids = iter(range(block.producer_id_start, block.producer_id_start + block.producer_id_len))


def _is_of_a_producer(header: Header) -> bool:
    """An idempotent producer says its epoch and a sequence; of any other, neither is looked at."""
    return header.producer_id == NO_PRODUCER or min(header.producer_epoch, header.base_sequence) >= 0


def _with_id(code: WireErrorCode, producer_id: int, epoch: int) -> dict[str, Any]:
    return {"throttle_time": NO_TIME, "error_code": code, "producer_id": producer_id, "producer_epoch": epoch}


def produced(parts: Iterable[Part]) -> dict[str, Any]:
    """What has no answer in time is told so: it may be appended all the same."""
    topics: dict[str, list[dict[str, Any]]] = {}
    for part in parts:
        code = WireErrorCode.request_timed_out if part.error is None else part.error
        done = code is WireErrorCode.none
        topics.setdefault(part.topic, []).append({
            "index": part.index, "error_code": code, "base_offset": part.base_offset if done else -1,
            "log_append_time": None, "log_start_offset": 0 if done else -1, "record_errors": (), "error_message": None,
        })  # fmt: skip
    return {
        "throttle_time": NO_TIME,
        "responses": [{"name": name, "partition_responses": ones} for name, ones in topics.items()],
    }
