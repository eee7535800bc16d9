"""The fetchers of a consumer: a connection to each broker whose partitions it fetches, and records in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from impl.group.consumer import Consumer
from impl.group.effects import Effects
from impl.group.fetch_protocol import (
    FetchRequest,
    FetchResponse,
    OffsetsRequest,
    log_request_bytes,
    messages,
    read_fetch_response,
    read_offsets_response,
)
from impl.group.protocol import ErrorCode, TopicPartition
from impl.runtime.client import connected
from impl.runtime.loop import monotonic_ms
from impl.runtime.wire import Frames, WireError

FETCH_BYTES = 1 << 19
_MAX_FRAME_BYTES = 1 << 20
_IDLE_S = 0.05
_RETRY_S = 0.3
_ANSWER_S = 5.0
_CHUNK_BYTES = 1 << 16
Hand = Callable[[TopicPartition, int, int, bytes], None]
"""Takes a record: partition, its offset, the next one, payload."""


class Link:
    """A connection to one broker: a request and its answer at a time."""

    def __init__(self, host: str, port: int) -> None:
        self.address = host, port
        self._stream: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: FetchRequest | OffsetsRequest) -> bytes:
        """The content of the answer. Raises OSError, TimeoutError, WireError; the connection is closed then."""
        try:
            async with asyncio.timeout(_ANSWER_S):
                if self._stream is None:
                    self._stream = await connected(self.address)
                reader, writer = self._stream
                writer.write(log_request_bytes(request))
                frames = Frames(_MAX_FRAME_BYTES)
                while data := await reader.read(_CHUNK_BYTES):
                    for content in frames.feed(data):
                        return content
                raise ConnectionError("closed without an answer")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._stream is not None:
            self._stream[1].close()
            self._stream = None


class Fetchers:
    """What a consumer fetches, broker by broker. carry_out: the effects of the core's steps."""

    def __init__(self, core: Consumer, hand: Hand, carry_out: Callable[[Effects], None]) -> None:
        self._core = core
        self._hand = hand
        self._carry_out = carry_out
        self._tasks = dict[int, asyncio.Task[None]]()

    def changed(self) -> None:
        """Another set of partitions is fetched: each broker of theirs has a task, and no other has."""
        wanted = {_broker_of(of) for of in self._core.fetched} if self._core.consumes else set()
        for broker in tuple(self._tasks):
            if broker not in wanted or self._tasks[broker].done():
                self._tasks.pop(broker).cancel()
        for broker in wanted - self._tasks.keys():
            self._tasks[broker] = asyncio.get_running_loop().create_task(self._fetch_from(broker))

    async def stop(self) -> None:
        tasks = tuple(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _fetch_from(self, broker: int) -> None:
        link: Link | None = None
        try:
            while True:
                address = self._core.brokers.get(broker)
                if link is not None and (address is None or link.address != (address.host, address.port)):
                    link.close()
                    link = None
                if link is None and address is not None:
                    link = Link(address.host, address.port)
                try:
                    found = link is not None and await self._round(broker, link)
                except (OSError, TimeoutError, WireError):
                    await asyncio.sleep(_RETRY_S)
                    continue
                if not found:
                    await asyncio.sleep(_IDLE_S)
        finally:
            if link is not None:
                link.close()

    async def _round(self, broker: int, link: Link) -> bool:
        """Fetch once from each partition that a broker has. Whether there was anything."""
        found = False
        for of in [of for of in self._core.fetched if _broker_of(of) == broker]:
            fetched = self._core.fetched.get(of)
            if fetched is None:
                continue
            number = int(of.partition.partition("-")[2])
            if fetched.offset < 0:
                answer = read_offsets_response(await link.ask(OffsetsRequest(of.topic, number, fetched.offset)))
                if answer.offsets:
                    self._core.begin_at(of, answer.offsets[0])
                continue
            offset = fetched.offset
            response = read_fetch_response(await link.ask(FetchRequest(of.topic, number, offset, FETCH_BYTES)))
            found |= self._take(of, offset, response)
        return found

    def _take(self, of: TopicPartition, offset: int, response: FetchResponse) -> bool:
        """Hand on what the core lets through: each time it looks at its session first."""
        if response.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._carry_out(self._core.on_out_of_range(of, monotonic_ms()))
        at = offset
        for message in messages(response.messages, offset):
            taken, effects = self._core.consume(of, at, message.next_offset, monotonic_ms())
            if taken:
                self._hand(of, at, message.next_offset, message.payload)
            self._carry_out(effects)
            if not taken:
                break
            at = message.next_offset
        return at > offset


def _broker_of(of: TopicPartition) -> int:
    return int(of.partition.partition("-")[0])
