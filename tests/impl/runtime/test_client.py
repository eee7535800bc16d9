"""A tool's request to a broker: an answer, or one clear reason why there is none."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from impl.runtime.client import Address, ask, connected
from impl.runtime.wire import Frames, WireError, frame, int32


@contextmanager
def broker(answer: Callable[[bytes], bytes]) -> Iterator[Address]:
    """It answers one request with these bytes, and closes the connection once the other end has."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                frames, found = Frames(), list[bytes]()
                while not found:
                    found = list(frames.feed(connection.recv(1 << 16)))
                connection.sendall(answer(found[0]))
                connection.shutdown(socket.SHUT_WR)
                with suppress(ConnectionResetError):  # the other end has not read all
                    connection.recv(1)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()
        thread.join(10)


def asked(address: Address) -> bytes:
    return ask(address, 1346, 0, "a tool", b"body", max_frame_bytes=100)


def test_the_answer_is_what_follows_the_correlation_id() -> None:
    with broker(lambda request: frame(request[4:8] + request[8:])) as address:
        assert asked(address) == b"\0\x06a toolbody"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"", "closed the connection without an answer"),
        (frame(int32(1) + b"body")[:-1], "ended within a frame"),
        (frame(int32(2) + b"body"), "to another request"),
        (frame(b"\0"), "correlation_id"),
        (frame(bytes(101)), "a frame of 101 bytes"),
    ],
)
def test_what_is_no_answer_is_said_to_be_none(answer: bytes, reason: str) -> None:
    with broker(lambda _: answer) as address, pytest.raises((WireError, ConnectionError), match=reason):
        asked(address)


def test_nobody_waits_without_a_limit() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, pytest.raises(TimeoutError):
        ask(listening.getsockname(), 1346, 0, "a tool", b"", answer_ms=30)


@pytest.mark.parametrize("port", [-1, 65_536])
def test_a_port_that_is_none_is_not_connected_to(port: int) -> None:
    with pytest.raises(WireError, match=f"port {port}"):
        asked(("127.0.0.1", port))


@pytest.mark.parametrize("address", [("a..b", 9092), ("localhost", 1 << 16)], ids=["host", "port"])
def test_an_address_that_cannot_be_one_is_no_connection(address: Address) -> None:
    with pytest.raises(OSError, match=f"{address[0]}:{address[1]}: "):
        asyncio.run(connected(address))
