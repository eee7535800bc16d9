"""The connections of a broker: what consumers and producers send, and what the coordinator sends to consumers.

What cannot be read, or is of an unknown type, costs its sender the connection and a line of the log, never the process.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections import deque
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

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

_MOST_UNSENT_BYTES = 1 << 22
"""A consumer that reads nothing is closed: its pings fail anyway."""
_LINGERS_S = 10.0
"""For how long what is unsent may be read where a connection is closed here."""
_LOOKS = 4
"""How often within the idle limit it is looked who is over it."""


class Connection(asyncio.Protocol):
    """A connection, by its number. Messages are answered in their order; no more is read meanwhile."""

    def __init__(self, number: int, listener: Connections) -> None:
        self.number = number
        self.is_consumers = False
        self.heard_s = 0.0
        """When something was read last, or it was made, by the loop's clock."""
        self.transport: asyncio.Transport
        self._listener = listener
        self._frames = Frames(MAX_FRAME_BYTES)
        self._waiting = deque[bytes]()
        self._answering: asyncio.Task[bytes] | None = None
        self._is_full = False
        """So much is unsent that nothing is answered."""
        self._is_closed_there = False
        self._unreadable = ""
        """Why what follows those that wait cannot be read."""
        self._lingering: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.heard_s = asyncio.get_running_loop().time()
        self._listener.opened(self)

    def data_received(self, data: bytes) -> None:
        self.heard_s = asyncio.get_running_loop().time()
        try:
            self._waiting.extend(self._frames.feed(data))
        except WireError as error:
            self._unreadable = str(error)
        self._answer_waiting()

    def eof_received(self) -> bool:
        """The other end sends no more; what it sent is answered."""
        self._is_closed_there = True
        self._answer_waiting()
        return True

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        self._answer_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Only who closes it, rather than to be cut off or to have it reset, has certainly stopped."""
        self._waiting.clear()
        if self._answering is not None:
            self._answering.cancel()
        if self._lingering is not None:
            self._lingering.cancel()
        self._listener.is_lost(self, is_closed_there=self._is_closed_there and exc is None)

    def refuse(self, what: str) -> None:
        """It is closed here: what was sent cannot be read."""
        if not self.transport.is_closing():
            self._complain(what)
        self._close_here()

    def cut(self, why: str) -> None:
        """It is closed here, at once."""
        self._listener.log("connection cut", connection=self.number, why=why)
        self._close_here()
        self.transport.abort()

    def close(self) -> None:
        """Close it once what is unsent is sent; where the other end reads nothing, without it after a while."""
        self.transport.close()
        if self._lingering is None and self.transport.get_write_buffer_size():
            self._lingering = asyncio.get_running_loop().call_later(_LINGERS_S, self.transport.abort)

    def _close_here(self) -> None:
        self._is_closed_there = False
        self._waiting.clear()
        self.close()

    def _answer_waiting(self) -> None:
        """Answer as many of those that wait as can be now; where all are, and no more will come, the end is here."""
        while self._waiting and self._answering is None and not self._is_full:
            try:
                answer = self._listener.answer(self, self._waiting.popleft())
            except WireError as error:
                self.refuse(str(error))
            except OSError:
                self._close_here()  # nothing can be stored
            except Exception:
                self._close_here()  # a fault of ours: nobody is to wait for this answer
                raise
            else:
                self._send(answer)
        if self._waiting or self._answering is not None:
            self.transport.pause_reading()
        elif self._unreadable:
            self.refuse(self._unreadable)
        elif self._is_closed_there:
            self._end()
        else:
            self.transport.resume_reading()

    def _send(self, answer: bytes | Coroutine[Any, Any, bytes]) -> None:
        if isinstance(answer, bytes):
            self.transport.write(answer)
        else:
            self._answering = asyncio.get_running_loop().create_task(answer)
            self._answering.add_done_callback(self._is_answered)

    def _is_answered(self, task: asyncio.Task[bytes]) -> None:
        self._answering = None
        if task.cancelled():
            return
        try:
            self.transport.write(task.result())
        except WireError as error:
            self.refuse(str(error))
        except Exception:
            self._close_here()
            raise
        self._answer_waiting()

    def _end(self) -> None:
        try:
            self._frames.end()
        except WireError as error:
            self._complain(str(error))
        self.close()

    def _complain(self, what: str) -> None:
        self._listener.log("connection closed", peer=str(self.transport.get_extra_info("peername")), what=what)


class Connections:
    """The listener of a broker. max_idle_ms: who sends nothing for so long is closed."""

    def __init__(self, process: Process, design: Design, logger: logging.Logger, max_idle_ms: int) -> None:
        self._process = process
        self._design = design
        self._log = logger
        self._max_idle_s = max_idle_ms / 1000
        self._numbers = itertools.count(1)
        self._open = dict[int, Connection]()
        self._ending = set[Connection]()
        """Closed by the coordinator; what is unsent may be read yet."""
        self._server: asyncio.Server | None = None
        self._looking: asyncio.TimerHandle | None = None

    async def start(self, host: str, port: int) -> tuple[str, int]:
        """Listen. Returns the address, with the port that was given for 0. Raises OSError where it is taken."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._accepted, host, port, backlog=4_096)
        self._look_for_idle(loop)
        bound: tuple[str, int] = self._server.sockets[0].getsockname()[:2]
        return bound

    def _accepted(self) -> Connection:
        return Connection(next(self._numbers), self)

    async def stop(self) -> None:
        """Take no more connections, and end those there are: what their other ends do not take now is lost."""
        if self._server is not None:
            self._server.close()
        if self._looking is not None:
            self._looking.cancel()
        for connection in (*self._open.values(), *self._ending):
            connection.transport.abort()
        await asyncio.sleep(0)

    def _look_for_idle(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close who has sent nothing for too long, now and from time to time."""
        last_s = loop.time() - self._max_idle_s
        for connection in [one for one in self._open.values() if one.heard_s <= last_s]:
            connection.cut(f"nothing was read from it for {self._max_idle_s:g} s")
        self._looking = loop.call_later(self._max_idle_s / _LOOKS, self._look_for_idle, loop)

    def send(self, number: int, message: RegisterConsumerResponse | RequestToConsumer) -> None:
        """Send a message to a consumer. What is sent where the other end is gone is lost."""
        connection = self._open.get(number)
        if connection is None:
            return
        try:
            connection.transport.write(self._bytes(message))
        except WireError as error:
            connection.cut(f"what is to be sent cannot be: {error}")
        if connection.transport.get_write_buffer_size() > _MOST_UNSENT_BYTES:
            connection.cut("a consumer reads nothing")

    def _bytes(self, message: RegisterConsumerResponse | RequestToConsumer) -> bytes:
        repaired = self._design.is_repaired_on_wire
        if isinstance(message, RegisterConsumerResponse):
            data = register_response_bytes(message, repaired=repaired)
        else:
            data = request_bytes(message, repaired=repaired)
        if len(data) > MAX_FRAME_BYTES:
            raise WireError(f"{len(data)} bytes; a consumer reads up to {MAX_FRAME_BYTES}")
        return data

    def close(self, number: int) -> None:
        connection = self._open.pop(number, None)
        if connection is not None:
            self._ending.add(connection)
            connection.close()

    def close_all(self) -> None:
        """Close those of consumers that have registered here, or were about to."""
        for number in [number for number, connection in self._open.items() if connection.is_consumers]:
            self.close(number)

    # What happens to a connection.

    def log(self, event: str, **facts: object) -> None:
        log(self._log, event, facts, level=logging.WARNING)

    def opened(self, connection: Connection) -> None:
        self._open[connection.number] = connection

    def is_lost(self, connection: Connection, *, is_closed_there: bool) -> None:
        """is_closed_there: else its consumer may fetch on, and is dead once its pings have failed."""
        self._open.pop(connection.number, None)
        self._ending.discard(connection)
        if connection.is_consumers and is_closed_there:
            self._process.is_closed(connection)

    def answer(self, connection: Connection, content: bytes) -> bytes | Coroutine[Any, Any, bytes]:
        """The answer to a message; nothing where the coordinator is to answer. Raises WireError, OSError."""
        fields = Reader(content)
        head = read_head(fields)
        if head.type_id in (PRODUCE, FETCH, OFFSETS):
            return self._of_log(head.type_id, fields)
        if head.type_id == DESCRIBE_GROUPS:
            group = fields.string("group")
            fields.end()
            return self._described(group)
        if head.type_id == CLUSTER_METADATA:
            read_request_to_broker(head, fields)
            return self._metadata(repaired=head.repaired)
        self._of_consumer(connection, head, fields)
        return b""

    async def _described(self, group: str) -> bytes:
        found: DescribeGroupsResponse = await self._process.asked(
            lambda now_ms: describe(self._process.coordinator, group, now_ms)
        )
        return describe_response_bytes(found)

    async def _metadata(self, *, repaired: bool) -> bytes:
        return metadata_response_bytes(await self._process.metadata(), repaired=repaired)

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
