"""Connections to other brokers: one question at a time, and a new connection after anything that went wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from impl.heartbeat.peers import Peers
from impl.runtime.wire import Frames, WireError, frame, int32

MAX_FRAME_BYTES = 100
Answer = Callable[[bytes], bytes | None]
"""The bytes that follow a request; None: the connection is closed."""


class Broker:
    """It answers each request in turn. connections: how many were opened to it."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.connections = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        frames = Frames()
        while data := await reader.read(1 << 16):
            for content in frames.feed(data):
                answer = self.answers.pop(0)(content)
                if answer is None:
                    writer.close()
                    return
                writer.write(answer)
        writer.close()


def echo(request: bytes) -> bytes:
    """The correlation id, and the body."""
    return frame(request[4:8] + request[-1:])


def run(broker: Broker, talk: Callable[[Peers, tuple[str, int]], Awaitable[None]]) -> None:
    async def running() -> None:
        server = await asyncio.start_server(broker.serve, "127.0.0.1", 0)
        peers = Peers("a broker", MAX_FRAME_BYTES)
        try:
            await talk(peers, server.sockets[0].getsockname())
        finally:
            peers.close()
            server.close()

    asyncio.run(running())


def test_requests_at_once_are_answered_one_after_the_other_on_one_connection() -> None:
    broker = Broker(echo, echo, echo)

    async def talk(peers: Peers, address: tuple[str, int]) -> None:
        peer = peers.peer("heartbeat", address)
        assert peer is peers.peer("heartbeat", address) and peer is not peers.peer("isr", address)
        asked = (peer.ask(1343, 1, bytes([number]), 5_000) for number in range(3))
        assert await asyncio.gather(*asked) == [b"\0", b"\1", b"\2"]

    run(broker, talk)
    assert broker.connections == 1


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (lambda request: None, ConnectionError),
        (lambda request: frame(int32(999) + b"x"), WireError),
        (lambda request: frame(bytes(MAX_FRAME_BYTES + 1)), WireError),
        (lambda request: frame(b"\0"), WireError),
        (lambda request: b"", TimeoutError),
    ],
)
def test_after_a_wrong_answer_or_none_the_next_request_has_a_new_connection(
    answer: Answer, error: type[Exception]
) -> None:
    broker = Broker(answer, echo)

    async def talk(peers: Peers, address: tuple[str, int]) -> None:
        peer = peers.peer("heartbeat", address)
        with pytest.raises(error):
            await peer.ask(1343, 1, b"x", 30 if error is TimeoutError else 5_000)
        assert await peer.ask(1343, 1, b"y", 5_000) == b"y"

    run(broker, talk)
    assert broker.connections == 2


def test_nobody_there_is_an_error() -> None:
    async def talk(peers: Peers, address: tuple[str, int]) -> None:
        with pytest.raises(OSError):
            await peers.peer("heartbeat", ("127.0.0.1", 1)).ask(1343, 1, b"", 5_000)

    run(Broker(), talk)
