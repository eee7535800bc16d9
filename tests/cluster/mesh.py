"""The links between nodes that listen on the loopback interface: a proxy for each way from one node to another."""

from __future__ import annotations

from enum import Enum

from tests.cluster.proxy import Direction, Proxy

CLIENTS = 0
"""Where what comes to a node comes from no node."""


class Way(Enum):
    """What a cut keeps from passing, seen from the node that is cut off: what it sends, or what is sent to it."""

    OUT = "out"
    IN = "in"


BOTH_WAYS = (Way.OUT, Way.IN)


class Mesh:
    """Proxies before nodes, each made when it is first asked for."""

    def __init__(self) -> None:
        self._links: dict[tuple[int, int], Proxy] = {}

    def port(self, source: int, target: int, port: int) -> int:
        """Where a node, or CLIENTS, reaches a node that listens at a port. It reaches itself at that port."""
        if source == target:
            return port
        if (source, target) not in self._links:
            self._links[source, target] = Proxy(f"127.0.0.1:{port}")
        return int(self._links[source, target].address.rpartition(":")[2])

    def cut(self, node: int, *ways: Way) -> None:
        """Let nothing through from or to a node. Connections stay open, new ones hang."""
        for (source, target), link in self._links.items():
            if node in (source, target):
                sends, hears = Direction.TO_SERVER, Direction.TO_CLIENT
                out, into = (sends, hears) if source == node else (hears, sends)
                link.cut(*[out for way in ways if way is Way.OUT], *[into for way in ways if way is Way.IN])

    def heal(self, node: int) -> None:
        """Let everything through from and to a node, what was held first."""
        for ends, link in self._links.items():
            if node in ends:
                link.heal()

    def stop(self) -> None:
        for link in self._links.values():
            link.stop()
