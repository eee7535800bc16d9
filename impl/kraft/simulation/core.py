"""What runs in the process of a simulated machine: a core of the quorum, or a node that has one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from impl.kraft.node import BrokerNode, Node
from impl.kraft.raft.messages import Request, Response
from impl.kraft.raft.voter import Voter


class Core(Protocol):
    """The inputs of `Raft`, but for what its controller appends."""

    @property
    def voter(self) -> Voter: ...

    def start(self, now_ms: int) -> Sequence[object]: ...

    def handle(self, call: int, request: Request, now_ms: int) -> Sequence[object]: ...

    def on_response(self, to: int, request: Request, response: Response | None, now_ms: int) -> Sequence[object]: ...

    def on_timer(self, timer: Any, now_ms: int, peer: int | None = None) -> Sequence[object]: ...

    def on_flushed(self, end_offset: int, now_ms: int) -> Sequence[object]: ...

    def resign(self, epoch: int, now_ms: int) -> Sequence[object]: ...


class WholeNode:
    """A node in the place of the core that is in it."""

    def __init__(self, node: Node | BrokerNode) -> None:
        self.node = node

    @property
    def voter(self) -> Voter:
        return self.node.raft.voter

    def start(self, now_ms: int) -> Sequence[object]:
        return self.node.start(now_ms)

    def handle(self, call: int, request: Request, now_ms: int) -> Sequence[object]:
        return self.node.handle_quorum(call, request, now_ms)

    def on_response(self, to: int, request: Request, response: Response | None, now_ms: int) -> Sequence[object]:
        return self.node.on_response(to, request, response, now_ms)

    def on_timer(self, timer: Any, now_ms: int, peer: int | None = None) -> Sequence[object]:
        return self.node.on_timer(timer, now_ms, peer)

    def on_flushed(self, end_offset: int, now_ms: int) -> Sequence[object]:
        return self.node.on_flushed(end_offset, now_ms)

    def resign(self, epoch: int, now_ms: int) -> Sequence[object]:
        assert isinstance(self.node, Node)
        return self.node.resign(now_ms)
