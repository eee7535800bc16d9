"""Followers: for each leader a task that fetches all that this broker follows it in, and hands it to the core."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from kio.static.primitive import i32Timedelta

from impl.kraft.broker import EpochEnd, FetchRequest, FetchResponse, LogEntry
from impl.kraft.errors import ErrorCode
from impl.kraft.node import BrokerEffects
from impl.kraft.server.broker_wire import code_of
from impl.kraft.server.controller_channel import LOST
from impl.kraft.server.peers import OPEN, Access, Connection
from impl.kraft.server.steps import Steps
from impl.kraft.server.versions import made, request_kind, response_kind
from impl.kraft.storage.batches import OF_PRODUCERS, BatchError, header_at
from impl.runtime.client import Address
from impl.runtime.entities import entity_bytes, read_entity
from impl.runtime.logs import log
from impl.runtime.loop import CoreLoop
from impl.runtime.wire import WireError

FETCH, VERSION = 1, 17
_WAIT_MS, _BACKOFF_S, _TIMEOUT_S = 500, 0.1, 5.0
"""How long a leader waits for records (replica.fetch.wait.max.ms), and when a fetch is given up."""
_MOST_FETCH_BYTES = 10 << 20

logger = logging.getLogger(__name__)


class Following:
    """address_of: where a broker listens, as far as is known. access: how this one gets in there."""

    def __init__(
        self, steps: Steps, loop: CoreLoop[Any], address_of: Callable[[int], Address | None], max_frame_bytes: int,
        access: Access = OPEN,
    ) -> None:  # fmt: skip
        self._steps, self._loop, self._address_of = steps, loop, address_of
        self._max_frame_bytes, self._access = max_frame_bytes, access
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._failing = set[int]()

    def look(self) -> None:
        """Metadata may have changed: whom this broker follows by now is fetched from."""
        for leader in {follower.leader for follower in self._steps.node.broker.followers.values()}:
            if leader not in self._tasks or self._tasks[leader].done():
                self._tasks[leader] = self._loop.begin(self._follow(leader))

    async def _follow(self, leader: int) -> None:
        """Until there is nothing to follow it in."""
        connection: Connection | None = None
        at: Address | None = None
        try:
            while requests := self._requests(leader):
                address = self._address_of(leader)
                if address != at and connection is not None:
                    connection.close()
                    connection = None
                if address is None:
                    await asyncio.sleep(_BACKOFF_S)
                    continue
                at, connection = address, connection or Connection(address, self._max_frame_bytes, self._access)
                if not await self._fetched(leader, connection, requests):
                    await asyncio.sleep(_BACKOFF_S)
        finally:
            if connection is not None:
                connection.close()

    def _requests(self, leader: int) -> list[FetchRequest]:
        broker = self._steps.node.broker
        keys = [key for key, follower in broker.followers.items() if follower.leader == leader]
        return [request for key in keys if (request := broker.fetch_request(key)) is not None]

    async def _fetched(self, leader: int, connection: Connection, requests: list[FetchRequest]) -> bool:
        """Whether all was as it should be: if not, metadata is under way, or the leader is not there."""
        broker = self._steps.node.broker
        asked = _asked(requests, broker.settings.replica_fetch_max_bytes)
        body = entity_bytes(made(request_kind(FETCH, VERSION), asked))
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                answer = await connection.ask(FETCH, VERSION, f"broker-{broker.broker_id}", body)
            answers = read_answers(requests, answer)

            def taken(now_ms: int) -> tuple[None, BrokerEffects]:
                for request, response in answers:
                    broker.on_fetch_response(request, response)
                return None, []

            await self._steps.take(taken)
        except LOST as error:
            connection.close()
            if leader not in self._failing:  # once, until it is well again
                log(logger, "fetch failed", {"leader": leader, "why": str(error) or type(error).__name__})
            self._failing.add(leader)
            return False
        self._failing.discard(leader)
        return len(answers) == len(requests) and all(response.error is ErrorCode.NONE for _, response in answers)


def _asked(requests: list[FetchRequest], max_bytes: int) -> dict[str, Any]:
    topics: dict[Any, list[dict[str, Any]]] = {}
    for request in requests:
        topics.setdefault(request.topic_id, []).append({
            "partition": request.partition_id, "current_leader_epoch": request.current_leader_epoch,
            "fetch_offset": request.fetch_offset, "last_fetched_epoch": request.last_fetched_epoch,
            "partition_max_bytes": max_bytes,
        })  # fmt: skip
    return {
        "replica_state": {"replica_id": requests[0].replica_id, "replica_epoch": requests[0].replica_epoch},
        "max_wait": i32Timedelta.parse(timedelta(milliseconds=_WAIT_MS)), "min_bytes": 1,
        "max_bytes": _MOST_FETCH_BYTES, "forgotten_topics_data": (),
        "topics": [{"topic_id": topic_id, "partitions": ones} for topic_id, ones in topics.items()],
    }  # fmt: skip


def read_answers(requests: list[FetchRequest], body: bytes) -> list[tuple[FetchRequest, FetchResponse]]:
    """The responses of a leader, each with its request. Raises WireError."""
    found = read_entity(response_kind(FETCH, VERSION), body)
    if found.error_code != 0:
        raise WireError(f"a leader answers with error {found.error_code.name}")
    by_key = {request.key: request for request in requests}
    answers = []
    for topic in found.responses:
        for one in topic.partitions:
            request = by_key.get((topic.topic_id, int(one.partition_index)))
            if request is None:
                raise WireError(f"a leader answers for partition {one.partition_index} of {topic.topic_id}, unasked")
            answers.append((request, _read_answer(request, one)))
    return answers


def _read_answer(request: FetchRequest, one: Any) -> FetchResponse:
    diverging = None
    if one.diverging_epoch.end_offset >= 0:
        diverging = EpochEnd(int(one.diverging_epoch.epoch), int(one.diverging_epoch.end_offset))
    entries = _entries(request.fetch_offset, bytes(one.records or b""))
    return FetchResponse(code_of(one.error_code), int(one.high_watermark), diverging, entries)


def _entries(offset: int, records: bytes) -> tuple[LogEntry, ...]:
    """Batches that follow each other from an offset on, the first one there. Raises WireError."""
    found, at = [], 0
    while at < len(records):
        try:
            header = header_at(records, at, OF_PRODUCERS)
        except BatchError as error:
            raise WireError(f"records of a leader: {error}") from None
        if header.base_offset != offset:
            raise WireError(f"records of a leader: a batch at offset {header.base_offset}, not {offset}")
        found.append(LogEntry(header.epoch, records[at : at + header.size_bytes]))
        offset, at = header.end_offset, at + header.size_bytes
    return tuple(found)
