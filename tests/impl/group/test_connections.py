"""Ends of connections as a broker takes them, and of a consumer that cannot hand on what it fetches."""

from __future__ import annotations

import asyncio
import io
import logging
import socket
import struct
from types import SimpleNamespace
from typing import Any

import pytest

from impl.group.connections import Connections
from impl.group.consumer_process import UNWRITABLE, ConsumerProcess, UnwritableError
from impl.group.design import REPAIRED
from impl.group.protocol import (
    ClusterMetadataRequest,
    ClusterMetadataResponse,
    Position,
    RegisterConsumerRequest,
    RegisterConsumerResponse,
    StartFetcherRequest,
    ThreadShare,
    TopicPartition,
    read_metadata_response,
    request_bytes,
)
from impl.group.settings import ConsumerSettings
from impl.runtime.wire import Frames

REGISTRATION = request_bytes(RegisterConsumerRequest("g", "a", '{"t": 1}', True, "smallest", 6_000), repaired=True)
RESET_ON_CLOSE = struct.pack("ii", 1, 0)
TOO_LONG = StartFetcherRequest("a", (ThreadShare("a-0", (Position("t" * 200, "0-0", 0),) * 6_000),), ())
TOO_MANY = StartFetcherRequest("a", (ThreadShare("a-0", (Position("t", "0-0", 0),) * 40_000),), ())
TOO_LONG_AN_ANSWER = RegisterConsumerResponse(0, threads=TOO_LONG.threads)
UNSENDABLE: dict[str, Any] = {"too long": TOO_LONG, "too many": TOO_MANY, "too long an answer": TOO_LONG_AN_ANSWER}


class Heard:
    """A process that notes which connection of a consumer was opened, and which is closed at the other end."""

    def __init__(self) -> None:
        self.registered = list[int]()
        self.closed = list[int]()
        self.asked = 0
        self.coordinator = SimpleNamespace(on_register=lambda number, _, now_ms: self.registered.append(number))

    async def metadata(self) -> ClusterMetadataResponse:
        """The later the question, the sooner the answer."""
        self.asked += 1
        number = self.asked
        await asyncio.sleep(0.01 / number)
        return ClusterMetadataResponse(0, number)

    def post(self, step: Any) -> None:
        step(0)

    def is_closed(self, connection: Any) -> None:
        self.closed.append(connection.number)


async def ends(how: str) -> tuple[Heard, int]:
    """A consumer registers, and its connection ends. Its number."""
    heard = Heard()
    connections = Connections(heard, REPAIRED, logging.getLogger("test"), 60_000)  # type: ignore[arg-type]  # stands in for one
    address = await connections.start("127.0.0.1", 0)
    _, writer = await asyncio.open_connection(*address)
    writer.write(REGISTRATION)
    while not heard.registered:
        await asyncio.sleep(0.001)
    (number,) = heard.registered
    if how == "closed":
        writer.close()
    elif how == "reset":
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        writer.transport.abort()
    elif how == "garbage":
        writer.write(bytes.fromhex("00000002 0063"))
    else:
        connections.send(number, UNSENDABLE[how])
    while connections._open:
        await asyncio.sleep(0.001)
    await asyncio.sleep(0.005)
    await connections.stop()
    return heard, number


@pytest.mark.parametrize("how", ["closed", "reset", "garbage", *UNSENDABLE])
def test_only_who_has_closed_its_connection_is_dead_at_once(how: str) -> None:
    """A reset says nothing of the consumer, which may fetch on: its pings fail. Nor does what cannot be sent."""
    heard, number = asyncio.run(ends(how))
    assert heard.closed == ([number] if how == "closed" else [])


def test_who_sends_nothing_is_closed_and_who_sends_is_not() -> None:
    async def run() -> tuple[bytes, list[int], Heard]:
        heard = Heard()
        connections = Connections(heard, REPAIRED, logging.getLogger("test"), 3_600_000)  # type: ignore[arg-type]
        address = await connections.start("127.0.0.1", 0)
        silent, _ = await asyncio.open_connection(*address)
        _, sending = await asyncio.open_connection(*address)
        while len(connections._open) < 2:
            await asyncio.sleep(0.001)
        for connection in connections._open.values():
            connection.heard_s -= 3_600
        sending.write(REGISTRATION)
        while not heard.registered:
            await asyncio.sleep(0.001)
        connections._look_for_idle(asyncio.get_running_loop())
        end = await silent.read()
        left = list(connections._open)
        await connections.stop()
        return end, left, heard

    end, left, heard = asyncio.run(asyncio.wait_for(run(), 60))
    assert (end, left, heard.closed) == (b"", heard.registered, [])


@pytest.mark.parametrize("end", [b"", bytes.fromhex("7fffffff")], ids=["closed there", "closed here"])
def test_messages_are_answered_in_their_order_and_before_the_end_of_the_connection(end: bytes) -> None:
    """Also before a frame in the same read that cannot be one."""

    async def run() -> bytes:
        heard = Heard()
        connections = Connections(heard, REPAIRED, logging.getLogger("test"), 60_000)  # type: ignore[arg-type]  # stands in for one
        reader, writer = await asyncio.open_connection(*await connections.start("127.0.0.1", 0))
        writer.write(request_bytes(ClusterMetadataRequest(), repaired=True) * 3 + end)
        if not end:
            writer.write_eof()
        answer = await reader.read()
        await connections.stop()
        return answer

    answers = Frames().feed(asyncio.run(asyncio.wait_for(run(), 60)))
    assert [read_metadata_response(one, repaired=True).coordinator_id for one in answers] == [1, 2, 3]


@pytest.mark.parametrize("by_whom", ["coordinator", "refusal"])
def test_a_connection_that_is_closed_here_ends_though_the_other_end_reads_nothing(
    by_whom: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("impl.group.connections._LINGERS_S", 0.01)

    async def run() -> None:
        heard = Heard()
        connections = Connections(heard, REPAIRED, logging.getLogger("test"), 3_600_000)  # type: ignore[arg-type]  # stands in for one
        address = await connections.start("127.0.0.1", 0)
        _, writer = await asyncio.open_connection(*address, limit=1)
        while not connections._open:
            await asyncio.sleep(0.001)
        ((number, connection),) = connections._open.items()
        ended = asyncio.Event()
        monkeypatch.setattr(connections, "is_lost", lambda *_, **__: ended.set())
        connection.transport.write(bytes(1 << 26))
        if by_whom == "coordinator":
            connections.close(number)
        else:
            connection.refuse("garbage")
        assert connection.transport.get_write_buffer_size(), "more than a socket holds"
        await ended.wait()
        writer.close()
        await connections.stop()

    asyncio.run(asyncio.wait_for(run(), 60))


@pytest.mark.parametrize("fails", ["task", "after one"])
def test_who_asks_what_fails_here_is_closed_rather_than_left_waiting(
    fails: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of the broker: asyncio is told, and the connection does not stay open with nothing read from it."""

    async def run() -> tuple[bytes, list[BaseException]]:
        told = list[BaseException]()
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["exception"]))
        connections = Connections(Heard(), REPAIRED, logging.getLogger("test"), 3_600_000)  # type: ignore[arg-type]  # stands in for one
        answers = iter([connections._metadata] if fails == "after one" else [])

        def breaks(*, repaired: bool) -> Any:
            if (answer := next(answers, None)) is not None:
                return answer(repaired=repaired)
            if fails == "task":
                return fail_later()
            raise RuntimeError("a fault")

        async def fail_later() -> bytes:
            raise RuntimeError("a fault")

        monkeypatch.setattr(connections, "_metadata", breaks)
        reader, writer = await asyncio.open_connection(*await connections.start("127.0.0.1", 0))
        writer.write(request_bytes(ClusterMetadataRequest(), repaired=True) * 3)
        answered = await reader.read()
        await connections.stop()
        return answered, told

    answered, told = asyncio.run(asyncio.wait_for(run(), 60))
    assert len(list(Frames().feed(answered))) == (fails == "after one")
    assert [str(error) for error in told] == ["a fault"]


def test_a_stop_ends_connections_that_wait_for_an_answer_or_have_something_unsent() -> None:
    class Silent(Heard):
        async def metadata(self) -> ClusterMetadataResponse:
            self.asked += 1
            await asyncio.Event().wait()
            raise AssertionError("nobody sets it")

    async def run() -> int:
        silent = Silent()
        connections = Connections(silent, REPAIRED, logging.getLogger("test"), 3_600_000)  # type: ignore[arg-type]  # stands in for one
        address = await connections.start("127.0.0.1", 0)
        writers = [(await asyncio.open_connection(*address, limit=1))[1] for _ in range(3)]
        while len(connections._open) < 3:
            await asyncio.sleep(0.001)
        _, unsent, closed = opened = list(connections._open.values())
        for connection in (unsent, closed):
            connection.transport.write(bytes(1 << 26))
        writers[0].write(request_bytes(ClusterMetadataRequest(), repaired=True))
        while not silent.asked:
            await asyncio.sleep(0.001)
        connections.close(closed.number)
        await connections.stop()
        await asyncio.sleep(0)
        assert not connections._open and not connections._ending
        assert all(connection.transport.get_write_buffer_size() == 0 for connection in opened)
        for writer in writers:
            writer.close()
        return len(asyncio.all_tasks())

    assert asyncio.run(run()) == 1


def test_a_record_that_cannot_be_written_ends_the_consumer_before_its_offset_is_reported() -> None:
    class Full(io.RawIOBase):
        def write(self, data: object) -> int:
            raise OSError(28, "No space left on device")

    process = ConsumerProcess(ConsumerSettings((("127.0.0.1", 1),), "g", "a", '{"t": 1}'), Full())  # type: ignore[arg-type]  # stands in for one
    with pytest.raises(UnwritableError):
        process._hand(TopicPartition("t", "0-0"), 0, 20, b"x")
    assert asyncio.run(process.run()) == UNWRITABLE


def test_a_record_that_is_written_in_parts_is_written_whole() -> None:
    written = bytearray()

    class Slow(io.RawIOBase):
        def write(self, data: Any) -> int:
            written.extend(data[:7])
            return min(7, len(data))

    process = ConsumerProcess(ConsumerSettings((("127.0.0.1", 1),), "g", "a", '{"t": 1}'), Slow())  # type: ignore[arg-type]  # stands in for one
    process._hand(TopicPartition("t", "0-0"), 0, 20, b"payload")
    assert written.endswith(b"\n") and b'"payload": "payload"' in written
