"""Fetch and ListOffsets at the leader of partitions: for consumers up to the high watermark, for followers to the end.

There are no fetch sessions: every request names all that it wants (KIP-227 allows it).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

from kio.schema.errors import ErrorCode as WireErrorCode

from impl.kraft.broker import FetchRequest, FetchResponse, PartitionLeader
from impl.kraft.errors import ErrorCode
from impl.kraft.image import PartitionKey
from impl.kraft.node import BrokerEffects
from impl.kraft.security.acls import Operation
from impl.kraft.server.authorization import EVERYTHING, Rights
from impl.kraft.server.entities import NO_TIME, wire_code
from impl.kraft.server.replica_logs import StoredReplicaLog
from impl.kraft.server.steps import Steps

NO_REPLICA = -1
LATEST, EARLIEST, OF_LATEST_TIME, EARLIEST_LOCAL = -1, -2, -3, -4
"""As the time that ListOffsets asks for (KIP-734, KIP-405)."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is wanted of a partition. topic, topic_id: one of them is known from the request; topic_id None: neither.

    is_permitted: who asks may have it.
    """

    topic: str
    topic_id: UUID | None
    wire: Any
    is_permitted: bool

    @property
    def key(self) -> PartitionKey | None:
        return None if self.topic_id is None else (self.topic_id, int(self.wire.partition))


Found = tuple[Asked, dict[str, Any]]


class Fetching:
    """Serves consumers and followers at the broker of these steps."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._told: dict[tuple[int, PartitionKey], int] = {}
        """The high watermark that a follower was told last."""

    async def fetch(self, request: Any, rights: Rights = EVERYTHING) -> dict[str, Any]:
        """The response, by field. Raises WireError."""
        if getattr(request, "session_id", 0) != 0:
            return _fetched(WireErrorCode.fetch_session_id_not_found, [])
        state = getattr(request, "replica_state", request)
        is_follower = int(state.replica_id) != NO_REPLICA
        may_follow = is_follower and rights.of_cluster(Operation.CLUSTER_ACTION)
        asked = [
            self._asked(topic, one, lambda name: may_follow if is_follower else rights.of_topic(Operation.READ, name))
            for topic in request.topics
            for one in topic.partitions
        ]
        wait_s = request.max_wait / timedelta(seconds=1)
        if is_follower and not may_follow:
            return _fetched(WireErrorCode.none, [(one, _partition(one, self._leader(one)[1])) for one in asked])
        if not is_follower:
            most, least = int(request.max_bytes), int(request.min_bytes)
            await self._steps.waiting.until(lambda: self._has_enough(asked, least), wait_s)
            return _fetched(WireErrorCode.none, self._read(asked, most))
        replica, epoch = int(state.replica_id), int(getattr(state, "replica_epoch", -1))
        return await self._fetch_as_replica([(one, _of_replica(one, replica, epoch)) for one in asked], wait_s)

    def _asked(self, topic: Any, wire: Any, permits: Callable[[str], bool]) -> Asked:
        """permits: who asks may have what is of the topic of this name."""
        image = self._steps.node.broker.image
        if hasattr(topic, "topic_id"):
            topic_id = topic.topic_id or UUID(int=0)
            name = image.topics.get(topic_id)
            return Asked("", topic_id, wire, name is None or permits(name))
        return Asked(str(topic.topic), image.topic_ids.get(topic.topic), wire, permits(topic.topic))

    # Consumers.

    def _has_enough(self, asked: list[Asked], least_bytes: int) -> bool | None:
        """True where there is something to say at once; None: that may still come."""
        size_bytes = 0
        for one in asked:
            leader, code = self._leader(one)
            if leader is None or code is not WireErrorCode.none:
                return True
            offset, log = int(one.wire.fetch_offset), _log(leader)
            batches = log.log.batches_from(offset, int(one.wire.partition_max_bytes), log.high_watermark)
            size_bytes += sum(batch.header.size_bytes for batch in batches)
            if size_bytes >= least_bytes:
                return True
        return True if size_bytes >= least_bytes else None

    def _read(self, asked: list[Asked], most_bytes: int) -> list[Found]:
        found: list[Found] = []
        size_bytes = 0
        for one in asked:
            leader, code = self._leader(one)
            if leader is None or code is not WireErrorCode.none:
                found.append((one, _partition(one, code)))
                continue
            log, records = _log(leader), b""
            if size_bytes == 0 or size_bytes < most_bytes:
                limit_bytes = min(int(one.wire.partition_max_bytes), most_bytes - size_bytes)
                records = log.log.read(int(one.wire.fetch_offset), limit_bytes, log.high_watermark)
            size_bytes += len(records)
            found.append((one, _partition(one, code, log.high_watermark, records)))
        return found

    def _leader(self, asked: Asked) -> tuple[PartitionLeader | None, WireErrorCode]:
        """Who leads here, and why a consumer cannot be served."""
        broker = self._steps.node.broker
        if not asked.is_permitted:
            return None, WireErrorCode.topic_authorization_failed
        leader, code = leader_of(self._steps, asked.key, int(getattr(asked.wire, "current_leader_epoch", -1)))
        if asked.topic_id is not None and not asked.topic and asked.topic_id not in broker.image.topics:
            return None, WireErrorCode.unknown_topic_id
        if leader is not None and not 0 <= int(asked.wire.fetch_offset) <= leader.log.end_offset:
            return leader, WireErrorCode.offset_out_of_range
        return leader, code

    # Followers.

    async def _fetch_as_replica(self, asked: list[tuple[Asked, FetchRequest]], wait_s: float) -> dict[str, Any]:
        """The first look takes note of where the follower is, at each partition; what waits only reads."""
        node = self._steps.node

        def noted(now_ms: int) -> tuple[list[FetchResponse], BrokerEffects]:
            answers: list[FetchResponse] = []
            effects: BrokerEffects = []
            for _, request in asked:
                answer, further = node.on_fetch(request, now_ms)
                answers.append(answer)
                if self._steps.trace is not None and answer.error is ErrorCode.NONE:
                    leader, follower = node.broker.leaders[request.key], request.replica_id
                    offset = leader.followers[follower].log_end_offset
                    self._steps.trace.serve(request.key, leader.leader_epoch, follower, offset)
                effects += further
            return answers, effects

        answers = await self._steps.take(noted)
        if not self._says_something(asked, answers):
            await self._steps.waiting.until(lambda: self._has_news(asked), wait_s)
            answers = [self._again(request) for _, request in asked]
        for (_, request), answer in zip(asked, answers, strict=True):
            if answer.error is ErrorCode.NONE:
                self._told[request.replica_id, request.key] = answer.high_watermark
        if self._steps.trace is not None:
            self._steps.trace.look(node.broker)
        found = [(one, _of_core(one, answer)) for (one, _), answer in zip(asked, answers, strict=True)]
        return _fetched(WireErrorCode.none, found)

    def _says_something(self, asked: list[tuple[Asked, FetchRequest]], answers: list[FetchResponse]) -> bool:
        return any(
            answer.error is not ErrorCode.NONE or answer.entries or answer.diverging is not None
            or answer.high_watermark != self._told.get((request.replica_id, request.key), -1)
            for (_, request), answer in zip(asked, answers, strict=True)
        )  # fmt: skip

    def _has_news(self, asked: list[tuple[Asked, FetchRequest]]) -> bool | None:
        broker = self._steps.node.broker
        for _, request in asked:
            leader = broker.leaders.get(request.key)
            if leader is None or leader.leader_epoch != request.current_leader_epoch:
                return True
            told = self._told.get((request.replica_id, request.key), -1)
            if leader.log.end_offset > request.fetch_offset or leader.log.high_watermark != told:
                return True
        return None

    def _again(self, request: FetchRequest) -> FetchResponse:
        """A fetch is a sign of life when it comes, and says then how far its sender is: not again later."""
        broker = self._steps.node.broker
        error = broker.fetch_error(request)
        if error is not ErrorCode.NONE:
            return FetchResponse(error)
        return broker.leaders[request.key].read(request, broker.settings.replica_fetch_max_bytes)

    # Offsets.

    def list_offsets(self, request: Any, rights: Rights = EVERYTHING) -> dict[str, Any]:
        """The response, by field."""
        topics = [
            {"name": topic.name, "partitions": [self._offset(topic.name, one, rights) for one in topic.partitions]}
            for topic in request.topics
        ]
        return {"throttle_time": NO_TIME, "topics": topics}

    def _offset(self, topic: str, wire: Any, rights: Rights) -> dict[str, Any]:
        topic_id = self._steps.node.broker.image.topic_ids.get(topic)
        key = None if topic_id is None else (topic_id, int(wire.partition_index))
        leader, code = leader_of(self._steps, key, int(getattr(wire, "current_leader_epoch", -1)))
        if not rights.of_topic(Operation.DESCRIBE, topic):
            leader, code = None, WireErrorCode.topic_authorization_failed
        offset, timestamp_ms, epoch = -1, -1, -1
        if leader is not None and code is WireErrorCode.none:
            asked_ms, log = int(wire.timestamp), _log(leader)
            if asked_ms in (EARLIEST, EARLIEST_LOCAL):
                offset = 0
            elif asked_ms == LATEST and log.high_watermark < leader.epoch_start_offset:
                code = WireErrorCode.offset_not_available  # it is not known yet what is committed (KIP-207)
            elif asked_ms == LATEST:
                offset = log.high_watermark
            elif asked_ms >= 0 or asked_ms == OF_LATEST_TIME:
                batch = log.log.latest() if asked_ms == OF_LATEST_TIME else log.log.since(asked_ms)
                if batch is not None and batch.end_offset <= log.high_watermark:
                    offset, timestamp_ms = batch.header.base_offset, batch.header.max_timestamp
            else:
                code = WireErrorCode.unsupported_version
            epoch = log.log.epoch_at(offset) if offset >= 0 else -1
        return {
            "partition_index": int(wire.partition_index), "error_code": code, "timestamp": timestamp_ms,
            "offset": offset, "leader_epoch": epoch,
        }  # fmt: skip


def leader_of(
    steps: Steps, key: PartitionKey | None, leader_epoch: int
) -> tuple[PartitionLeader | None, WireErrorCode]:
    """Who leads a partition here, and what is wrong. leader_epoch: as who asks knows it (KIP-320); -1: it does not."""
    broker = steps.node.broker
    if key is None or key not in broker.image.partitions:
        return None, WireErrorCode.unknown_topic_or_partition
    leader = broker.leaders.get(key)
    if leader is None:
        return None, WireErrorCode.not_leader_or_follower
    if leader_epoch not in (-1, leader.leader_epoch):
        is_behind = leader_epoch < leader.leader_epoch
        return leader, WireErrorCode.fenced_leader_epoch if is_behind else WireErrorCode.unknown_leader_epoch
    return leader, WireErrorCode.none


def _log(leader: PartitionLeader) -> StoredReplicaLog:
    return cast(StoredReplicaLog, leader.log)


def _of_replica(asked: Asked, replica: int, replica_epoch: int) -> FetchRequest:
    wire = asked.wire
    return FetchRequest(
        replica, replica_epoch, asked.topic_id or UUID(int=0), int(wire.partition), int(wire.current_leader_epoch),
        int(wire.fetch_offset), int(wire.last_fetched_epoch),
    )  # fmt: skip


def _of_core(asked: Asked, answer: FetchResponse) -> dict[str, Any]:
    records = b"".join(entry.value for entry in answer.entries)
    found = _partition(asked, wire_code(answer.error), answer.high_watermark, records)
    if answer.diverging is not None:
        found["diverging_epoch"] = answer.diverging
    return found


def _partition(asked: Asked, code: WireErrorCode, high_watermark: int = -1, records: bytes = b"") -> dict[str, Any]:
    return {
        "partition_index": int(asked.wire.partition), "error_code": code, "high_watermark": high_watermark,
        "last_stable_offset": high_watermark, "log_start_offset": 0 if code is WireErrorCode.none else -1,
        "aborted_transactions": None, "records": records,
    }  # fmt: skip


def _fetched(code: WireErrorCode, found: list[Found]) -> dict[str, Any]:
    topics: dict[tuple[str, UUID | None], list[dict[str, Any]]] = {}
    for asked, partition in found:
        topics.setdefault((asked.topic, asked.topic_id), []).append(partition)
    responses = [
        {"topic": topic, "topic_id": topic_id, "partitions": partitions}
        for (topic, topic_id), partitions in topics.items()
    ]
    return {"throttle_time": NO_TIME, "error_code": code, "session_id": 0, "responses": responses}
