"""The core that the adapter drives: an implementation of the design, as the hosts of a cluster use it.

`impl.pinning` is one. Another one stands in its place by giving the same: it takes the events of `impl.zookeeper`, and
shows its soft state in the same shapes. A core is a value that can be pickled; so are the brokers that it makes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from impl.pinning.broker import Broker, Item
from impl.pinning.design import Design
from impl.pinning.effects import Effects, Timer
from impl.pinning.member import Member
from impl.pinning.office import Office
from impl.pinning.request import Request
from impl.zookeeper import Event


class BrokerCore(Protocol):
    """A broker, as `impl.pinning.broker.Broker` documents it."""

    @property
    def member(self) -> Member: ...
    @property
    def office(self) -> Office: ...
    @property
    def queue(self) -> Sequence[Item]: ...

    def copy(self) -> BrokerCore: ...
    def on_event(self, event: Event, now_ms: int) -> Effects: ...
    def on_timer(self, timer: Timer | int, now_ms: int) -> Effects: ...
    def advance(self, now_ms: int, item: Item | None = None) -> Effects: ...


class Core(Protocol):
    """Makes the brokers of a cluster, and what takes an operator's requests."""

    def broker(self, broker: int, design: Design, *, is_legacy: bool) -> BrokerCore:
        """A process that has no session yet."""

    def request(self, design: Design) -> Request:
        """The part of a broker that takes requests, by itself."""


class PythonCore:
    """`impl.pinning` as a core."""

    def broker(self, broker: int, design: Design, *, is_legacy: bool) -> Broker:
        return Broker(Member(broker, replace(design, pinning=False) if is_legacy else design))

    def request(self, design: Design) -> Request:
        return Request(Member(-1, design))
