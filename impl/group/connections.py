"""The connections of a broker: what consumers and producers send, and what the coordinator sends to consumers.

What cannot be read, or is of an unknown type, costs its sender the connection and a line of the log, never the process.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from typing import TYPE_CHECKING

from impl.group.describe import DESCRIBE_GROUPS, DescribeGroupsResponse, describe, describe_response_bytes
from impl.group.design import Design
from impl.group.fetch_protocol import (
    FETCH,
    OFFSETS,
    PRODUCE,
    FetchRequest,
    ProduceRequest,
    fetch_response_bytes,
    offsets_response_bytes,
    read_log_request,
)
from impl.group.protocol import (
    CLUSTER_METADATA,
    MAX_FRAME_BYTES,
    REGISTER_CONSUMER,
    Head,
    RegisterConsumerRequest,
    RegisterConsumerResponse,
    RequestToConsumer,
    metadata_response_bytes,
    read_head,
    read_request_to_broker,
    read_response_of_consumer,
    register_response_bytes,
    request_bytes,
)
from impl.runtime.logs import log
from impl.runtime.wire import Frames, Reader, WireError

if TYPE_CHECKING:
    from impl.group.process import Process

_CHUNK_BYTES = 1 << 16
_MOST_UNSENT_BYTES = 1 << 22
"""A consumer that reads nothing is closed: its pings fail anyway."""


class Connection:
    """A connection, by its number."""

    def __init__(self, number: int, writer: asyncio.StreamWriter) -> None:
        self.number = number
        self.writer = writer
        self.is_consumers = False
        self.is_cut_here = False
        """By this broker: its consumer may not know."""


class Connections:
    """The listener of a broker."""

    def __init__(self, process: Process, design: Design, logger: logging.Logger) -> None:
        self._process = process
        self._design = design
        self._log = logger
        self._numbers = itertools.count(1)
        self._open = dict[int, Connection]()
        self._tasks = set[asyncio.Task[None]]()
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> tuple[str, int]:
        """Listen. Returns the address, with the port that was given for 0. Raises OSError where it is taken."""
        self._server = await asyncio.start_server(self._serve, host, port, backlog=4_096)
        bound: tuple[str, int] = self._server.sockets[0].getsockname()[:2]
        return bound

    async def stop(self) -> None:
        """Take no more connections, and close those there are."""
        if self._server is not None:
            self._server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def send(self, number: int, message: RegisterConsumerResponse | RequestToConsumer) -> None:
        """Send a message to a consumer. What is sent where the other end is gone is lost."""
        connection = self._open.get(number)
        if connection is None:
            return
        try:
            connection.writer.write(self._bytes(message))
        except WireError as error:
            self._cut(connection, f"what is to be sent cannot be: {error}")
        if connection.writer.transport.get_write_buffer_size() > _MOST_UNSENT_BYTES:
            self._cut(connection, "a consumer reads nothing")

    def _bytes(self, message: RegisterConsumerResponse | RequestToConsumer) -> bytes:
        repaired = self._design.is_repaired_on_wire
        if isinstance(message, RegisterConsumerResponse):
            return register_response_bytes(message, repaired=repaired)
        data = request_bytes(message, repaired=repaired)
        if len(data) > MAX_FRAME_BYTES:
            raise WireError(f"{len(data)} bytes; a consumer reads up to {MAX_FRAME_BYTES}")
        return data

    def _cut(self, connection: Connection, why: str) -> None:
        log(self._log, "connection cut", {"connection": connection.number, "why": why}, level=logging.WARNING)
        connection.is_cut_here = True
        connection.writer.transport.abort()

    def close(self, number: int) -> None:
        connection = self._open.pop(number, None)
        if connection is not None:
            connection.writer.close()

    def close_all(self) -> None:
        """Close those of consumers that have registered here, or were about to."""
        for number in [number for number, connection in self._open.items() if connection.is_consumers]:
            self.close(number)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        connection = Connection(next(self._numbers), writer)
        self._open[connection.number] = connection
        is_closed_there = False
        try:
            frames = Frames(MAX_FRAME_BYTES)
            while data := await reader.read(_CHUNK_BYTES):
                for content in frames.feed(data):
                    answer = await self._answer(connection, content)
                    if answer:
                        writer.write(answer)
                        await writer.drain()
            is_closed_there = not connection.is_cut_here
            frames.end()
        except WireError as error:
            facts = {"peer": str(writer.get_extra_info("peername")), "what": str(error)}
            log(self._log, "connection closed", facts, level=logging.WARNING)
        except (OSError, asyncio.CancelledError):
            pass  # it was reset, or nothing can be stored; or this process stops
        finally:
            self._tasks.discard(task)
            self._open.pop(connection.number, None)
            writer.close()
            if (
                connection.is_consumers and is_closed_there
            ):  # else it may fetch on: it is dead once its pings have failed
                self._process.is_closed(connection)

    async def _answer(self, connection: Connection, content: bytes) -> bytes:
        """The answer to a message; nothing where the coordinator is to answer. Raises WireError."""
        fields = Reader(content)
        head = read_head(fields)
        if head.type_id in (PRODUCE, FETCH, OFFSETS):
            return self._of_log(head.type_id, fields)
        if head.type_id == DESCRIBE_GROUPS:
            group = fields.string("group")
            fields.end()
            found: DescribeGroupsResponse = await self._process.asked(
                lambda now_ms: describe(self._process.coordinator, group, now_ms)
            )
            return describe_response_bytes(found)
        if head.type_id == CLUSTER_METADATA:
            read_request_to_broker(head, fields)
            return metadata_response_bytes(await self._process.metadata(), repaired=head.repaired)
        self._of_consumer(connection, head, fields)
        return b""

    def _of_consumer(self, connection: Connection, head: Head, fields: Reader) -> None:
        """What the coordinator is to hear."""
        core, number = self._process.coordinator, connection.number
        if head.repaired != self._design.is_repaired_on_wire:
            raise WireError("request_type_id: the coordinator is of another setting")
        if head.type_id != REGISTER_CONSUMER:
            response = read_response_of_consumer(head, fields)
            self._process.post(lambda now_ms: core.on_response(number, response, now_ms))
            return
        request = read_request_to_broker(head, fields)
        assert isinstance(request, RegisterConsumerRequest)
        connection.is_consumers = True
        self._process.post(lambda now_ms: core.on_register(number, request, now_ms))

    def _of_log(self, type_id: int, fields: Reader) -> bytes:
        request = read_log_request(type_id, fields)
        logs = self._process.logs
        if isinstance(request, ProduceRequest):
            if not logs.produce(request):
                log(self._log, "no such partition", {"topic": request.topic, "partition": request.partition})
            return b""
        if isinstance(request, FetchRequest):
            return fetch_response_bytes(logs.fetch(request))
        return offsets_response_bytes(logs.offsets(request))
