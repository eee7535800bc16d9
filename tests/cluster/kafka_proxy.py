"""Gates before nodes of Apache Kafka, which hold requests or responses of a kind.

Frames of a connection stay in order: whatever comes after one that is held waits, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum

from impl.apache.recording.proxies import Proxies, Request


class Api(IntEnum):
    """Keys of Kafka's requests."""

    FETCH = 1
    ALTER_PARTITION = 56


@dataclass(frozen=True)
class Frame:
    """A request, or the response to one: its key, the client's id, and which of the two it is."""

    api: int
    client: str
    is_response: bool


Kind = Callable[[Frame], bool]


class Gate:
    """A place that all frames of a kind pass, and wait at while it is shut.

    waiting, passed: how many of them wait now, and went through so far. at_arrival: called when one comes, before it
    waits or goes through; it may shut other gates of the same proxies.
    """

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.waiting = self.passed = 0
        self.at_arrival: Callable[[], None] | None = None
        self._open = asyncio.Event()
        self._open.set()

    def close(self) -> None:
        self._open.clear()

    def open(self) -> None:
        self._open.set()

    async def go_through(self) -> None:
        if self.at_arrival is not None:
            self.at_arrival()
        self.waiting += 1
        try:
            await self._open.wait()
        finally:
            self.waiting -= 1
        self.passed += 1


class _Gates:
    """A passage through gates."""

    def __init__(self, gates: Sequence[Gate]) -> None:
        self._gates = gates

    async def request(self, request: Request) -> int:
        await self._pass(Frame(request.api, request.client, is_response=False))
        return 1

    async def response(self, request: Request, body: bytes, *, is_copy: bool) -> None:
        await self._pass(Frame(request.api, request.client, is_response=True))

    async def _pass(self, frame: Frame) -> None:
        for gate in self._gates:
            if gate.kind(frame):
                await gate.go_through()


class Gated:
    """Proxies on one thread, and the gates that all their frames go through."""

    def __init__(self, proxies: Proxies) -> None:
        self._proxies = proxies

    def listen(self, port: int, server: int, kinds: Sequence[Kind]) -> list[Gate]:
        """Pass connections to a port of the loopback interface on to the port `server`; a gate for each kind."""
        made = [Gate(kind) for kind in kinds]
        self._proxies.listen(port, server, _Gates(made))
        return made

    def shut(self, *gates: Gate) -> None:
        """Hold what comes to these gates from now on."""
        for gate in gates:
            self._proxies.call(gate.close)

    def open(self, *gates: Gate) -> None:
        """Let everything through these gates again, what they held first."""
        for gate in gates:
            self._proxies.call(gate.open)


@contextmanager
def gated() -> Iterator[Gated]:
    """Proxies that are stopped in the end."""
    made = Proxies()
    try:
        yield Gated(made)
    finally:
        made.stop()
