"""A simulated machine, and what runs in its process: a core of the quorum, or a node that has one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from impl.kraft.node import BrokerNode, Node
from impl.kraft.raft.messages import Request, Response
from impl.kraft.raft.voter import Voter
from impl.kraft.simulation.rot import Rot
from impl.kraft.storage.simulated_disk import SimulatedDisk
from impl.kraft.storage.storage import QuorumStorage


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


class Machine:
    """life: of its process; what was on its way to an earlier one is dropped. rot: until it is mended.

    timers: when each is due, by its clock, and the number of the event that has set it.
    """

    def __init__(self, disk: SimulatedDisk) -> None:
        self.disk = disk
        self.life = 0
        self.raft: Core | None = None
        self.storage: QuorumStorage | None = None
        self.claimed: int | None = None
        self.timers: dict[tuple[object, int | None], tuple[int, int]] = {}
        self.paused_until_ms = 0
        self.clock_percent = 100
        self.rot: Rot | None = None
