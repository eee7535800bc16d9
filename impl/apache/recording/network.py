"""What is between the nodes of a cluster: cut, slow, or sending requests twice; and what went over it.

A node sees others at addresses of proxies, each of which is before one node; the client's id says from whom a request
comes. What is cut is held, not lost: as with TCP, it arrives late, once the link is healed.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from impl.apache.recording.proxies import Proxies, Request, now_ms
from impl.apache.recording.requests import KEYS, Exchange

_NODE = re.compile(r"(?:raft-client-|broker-)?(\d+)(?:-.+)?")
"""Of the client's ids of Kafka's nodes."""


class Way(StrEnum):
    """What a cut keeps from passing, seen from the node that is cut off: what it sends, what is sent to it, or both."""

    BOTH = "both"
    OUT = "out"
    IN = "in"


def _open() -> asyncio.Event:
    made = asyncio.Event()
    made.set()
    return made


@dataclass
class _Faults:
    """Of a node. sends, hears: what it sends, and what is sent to it, passes. is_copied: it sends requests twice."""

    sends: asyncio.Event = field(default_factory=_open)
    hears: asyncio.Event = field(default_factory=_open)
    delay_s: float = 0.0
    is_copied: bool = False


class Network:
    """Proxies before nodes. exchanges: the requests of brokers that controllers have answered, in that order."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self._proxies = Proxies()
        self._faults: dict[int, _Faults] = {}

    def stand_before(self, node_id: int, port: int, server: int) -> None:
        """Pass what comes to a port on to a node, which listens at the port `server`."""
        self._faults[node_id] = _Faults()
        self._proxies.listen(port, server, _Link(self, node_id))

    def cut(self, node_id: int, way: Way) -> None:
        """Let nothing through from or to a node. Connections stay open, new ones hang."""
        faults = self._faults[node_id]
        if way in (Way.BOTH, Way.OUT):
            self._proxies.call(faults.sends.clear)
        if way in (Way.BOTH, Way.IN):
            self._proxies.call(faults.hears.clear)

    def delay(self, node_id: int, delay_ms: int) -> None:
        """Have each frame from or to a node wait for so long."""
        self._faults[node_id].delay_s = delay_ms / 1000

    def copy(self, node_id: int) -> None:
        """Send each request of a node to a controller that `KEYS` has twice; it gets the first answer."""
        self._faults[node_id].is_copied = True

    def heal(self, node_id: int) -> None:
        """Let everything through at once, what was held first."""
        faults = self._faults[node_id]
        faults.delay_s, faults.is_copied = 0.0, False
        self._proxies.call(faults.sends.set)
        self._proxies.call(faults.hears.set)

    def close(self) -> None:
        self._proxies.stop()

    # On the proxies' thread.

    async def pass_on(self, source: int | None, target: int | None) -> None:
        """Wait until a frame from one node to another may go on. None: a client, whose link has no faults."""
        for faults, way in self._between(source, target):
            await asyncio.sleep(faults.delay_s)
            await way.wait()

    def _between(self, source: int | None, target: int | None) -> Iterator[tuple[_Faults, asyncio.Event]]:
        if source is not None and target is not None:
            yield self._faults[source], self._faults[source].sends
            yield self._faults[target], self._faults[target].hears

    def times(self, source: int | None, request: Request) -> int:
        """How often a request is sent."""
        return 2 if source is not None and self._faults[source].is_copied and request.api in KEYS else 1

    def source(self, request: Request) -> int | None:
        """The node that sends a request; None: a client."""
        named = _NODE.fullmatch(request.client)
        node_id = int(named[1]) if named else None
        return node_id if node_id in self._faults else None


class _Link:
    """The passage to a node."""

    def __init__(self, network: Network, target: int) -> None:
        self._network, self._target = network, target

    async def request(self, request: Request) -> int:
        source = self._network.source(request)
        await self._network.pass_on(source, self._target)
        return self._network.times(source, request)

    async def response(self, request: Request, body: bytes, *, is_copy: bool) -> None:
        source = self._network.source(request)
        if source is not None and request.api in KEYS:
            self._network.exchanges.append(Exchange(request, body, source, self._target, now_ms()))
        if not is_copy:
            await self._network.pass_on(self._target, source)
