"""Stream threads as members of a group on a real Kafka: each a core on an asyncio loop, and a connection."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any
from uuid import UUID, uuid4

from impl.runtime.client import TIMEOUT_MS, Address, connected
from impl.runtime.entities import entity_bytes
from impl.runtime.logs import log
from impl.runtime.loop import CoreLoop, on_signals
from impl.runtime.wire import Frames, Reader, RequestHeader, WireError, frame, request_bytes
from impl.streams import kafka_protocol
from impl.streams.assignor import Sources
from impl.streams.config import StreamsConfig
from impl.streams.member import (
    OWNERLESS,
    Assigned,
    Effect,
    Effects,
    Ended,
    FindCoordinator,
    Member,
    Revoked,
    Send,
    SetHeartbeat,
    Timeouts,
)
from impl.streams.messages import Request
from impl.streams.recording import MemberWatch
from impl.streams.tasks import TopicGroups

_LOG = logging.getLogger("impl.streams")
_HEARTBEAT = "heartbeat"
_CHUNK_BYTES = 1 << 16
_MAX_FRAME_BYTES = 100 << 20
_RETRY_S = 0.2


class Connection:
    """A connection to a broker. What it is asked when it is closed, and after, fails with ConnectionError."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client_id: str) -> None:
        self._writer, self._client_id = writer, client_id
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[bytes]] = {}
        self._reading = asyncio.create_task(self._read(reader))

    @classmethod
    async def open(cls, address: Address, client_id: str) -> Connection:
        """Raises OSError, also of an address that cannot be one; TimeoutError is an OSError."""
        reader, writer = await asyncio.wait_for(connected(address), TIMEOUT_MS / 1000)
        return cls(reader, writer, client_id)

    async def ask(self, request: Any) -> Any:
        """The response to a request of kio's. Raises ConnectionError, WireError."""
        if self._reading.done():
            raise ConnectionError("the connection is closed")
        number = next(self._numbers)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        header = RequestHeader(request.__api_key__, request.__version__, number, self._client_id)
        self._writer.write(frame(request_bytes(header, entity_bytes(request))))
        return kafka_protocol.read_response(request, await answer)

    async def close(self) -> None:
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        frames = Frames(_MAX_FRAME_BYTES)
        try:
            while data := await reader.read(_CHUNK_BYTES):
                for content in frames.feed(data):
                    fields = Reader(content)
                    answer = self._waiting.pop(fields.int32("correlation id"), None)
                    if answer is not None and not answer.done():
                        answer.set_result(fields.rest())
        except (OSError, WireError) as error:
            log(_LOG, "connection lost", {"why": str(error)}, level=logging.WARNING)
        finally:
            self._writer.close()
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(ConnectionError("the connection is closed"))


class MemberProcess:
    """One stream thread, from its start to its stop."""

    def __init__(
        self,
        config: StreamsConfig,
        client_id: str,
        process_id: UUID,
        bootstrap: Sequence[Address],
        groups: TopicGroups,
        timeouts: Timeouts | None = None,
        watch: MemberWatch | None = None,
    ) -> None:
        self.core = Member(config, client_id, process_id, Sources(groups), timeouts)
        self.core.has_coordinator = False
        self._group, self._client_id = config.application_id, client_id
        self._bootstrap, self._watch = bootstrap, watch or MemberWatch()
        self._loop: CoreLoop[Effect] = CoreLoop(self._on_timer, self._carry_out)
        self._connection: Connection | None = None
        self._is_finding = False

    async def run(self) -> None:
        """Be a member until `stop`, or until the thread ends of itself: `core.death` says why."""
        self._find()
        try:
            await self._loop.run()
        finally:
            if self._connection is not None:
                await self._connection.close()

    def stop(self) -> None:
        """End. As in Streams, the group is not left: the session runs out."""
        self._loop.stop()

    # Inputs of the core.

    def _post(self, step: Callable[[int], Effects]) -> None:
        self._loop.post(lambda now_ms: step(now_ms) + self.core.poll(now_ms))

    def _on_timer(self, timer: Hashable, now_ms: int) -> Iterable[Effect]:
        return self.core.on_heartbeat_time(now_ms)

    def _answered(self, request: Request, response: Any) -> None:
        answer = kafka_protocol.message(response)

        def take(now_ms: int) -> Effects:
            before = self.core.state
            effects = self.core.on_answered(request, answer, now_ms)
            self._watch.answered(request, answer, before, self.core)
            return effects

        self._post(take)

    # Effects.

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case Send(request=request):
                self._watch.sent(request)
                self._loop.begin(self._exchange(request))
            case FindCoordinator():
                self._find()
            case SetHeartbeat(at_ms=at_ms):
                self._loop.set_timer(_HEARTBEAT, at_ms)
            case Assigned(tasks=tasks) | Revoked(tasks=tasks):
                facts = {"tasks": [str(task) for task in tasks], "used": self.core.used, "leads": self.core.leads}
                log(_LOG, type(effect).__name__.lower(), facts | {"generation": self.core.generation})
            case Ended(reason=reason):
                log(_LOG, "ended", {"why": reason}, level=logging.ERROR)
                self._watch.ended(self.core)
                self._loop.stop()

    async def _exchange(self, request: Request) -> None:
        connection = self._connection
        try:
            if connection is None:
                raise ConnectionError("there is no connection")
            self._answered(request, await connection.ask(kafka_protocol.entity(self._group, request)))
        except (OSError, WireError) as error:
            log(_LOG, "request failed", {"why": str(error)}, level=logging.WARNING)
            if connection is self._connection:
                await self._drop()
                self._post(self._is_disconnected)

    def _is_disconnected(self, now_ms: int) -> Effects:
        self._watch.disconnected(self.core.state)
        return self.core.on_disconnected()

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    # Connections.

    def _find(self) -> None:
        if not self._is_finding:
            self._is_finding = True
            self._loop.begin(self._find_coordinator())

    async def _find_coordinator(self) -> None:
        """Ask the brokers in turn, until one knows the coordinator and that can be reached."""
        await self._drop()
        for address in itertools.cycle(self._bootstrap):
            try:
                self._connection = await self._connected(address)
                break
            except (OSError, WireError) as error:
                log(_LOG, "no coordinator", {"asked": address, "why": str(error)}, level=logging.WARNING)
                await asyncio.sleep(_RETRY_S)
        self._is_finding = False
        self._post(self._is_found)

    def _is_found(self, now_ms: int) -> Effects:
        self.core.on_coordinator()
        return []

    async def _connected(self, address: Address) -> Connection:
        broker = await Connection.open(address, self._client_id)
        try:
            topics = self.core.sources.topics
            counts = kafka_protocol.partition_counts(await broker.ask(kafka_protocol.metadata(topics)))
            self.core.sources = Sources(self.core.sources.groups, counts)
            found = await broker.ask(kafka_protocol.find_coordinator(self._group))
        finally:
            await broker.close()
        if int(found.error_code) != 0:
            raise ConnectionError(f"no coordinator: {found.error_code.name}")
        return await Connection.open((found.host, found.port), self._client_id)


async def run_threads(config: StreamsConfig, bootstrap: Sequence[Address], topics: Sequence[str]) -> bool:
    """Run all threads of a process until SIGTERM, or until each has ended of itself. Returns whether none died.

    Each topic is a topic group.
    """
    groups, process_id = {number: (topic,) for number, topic in enumerate(topics)}, uuid4()
    names = [f"{config.application_id}-StreamThread-{number + 1}" for number in range(config.threads)]
    threads = [MemberProcess(config, name, process_id, bootstrap, groups) for name in names]

    def stop() -> None:
        for thread in threads:
            thread.stop()

    on_signals(stop)
    await asyncio.gather(*(thread.run() for thread in threads))
    return all(thread.core.state not in OWNERLESS for thread in threads)
