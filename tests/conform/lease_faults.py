"""Lease servers that are wrong, and where: how many states the shortest trace to each has, and what it says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.conform.lease_server import LeaseSystem, Request, Response, Server


class GrantsTwice(Server):
    def busy(self, request: Request) -> Response:
        self.holder = request.client
        return Response("NONE", self.term)


class WrongErrorCode(Server):
    def stale(self, request: Request) -> Response:
        return Response("BUSY")


class IgnoresTerms(Server):
    def release(self, request: Request) -> Response:
        return super().release(Request(request.client, self.term))


class IgnoresClients(Server):
    """No client knows another's term. Only a probe can tell."""

    def release(self, request: Request) -> Response:
        return super().release(Request(-1 if self.holder is None else self.holder, request.term))


class KeepsItsTerm(Server):
    def acquire(self, request: Request, now_ms: int) -> Response:
        before = self.term
        response = super().acquire(request, now_ms)
        self.term = before
        return response if response.term is None else Response(response.error, before)


class NewTermForTheHolder(Server):
    def acquire(self, request: Request, now_ms: int) -> Response:
        self.term += self.holder == request.client
        return super().acquire(request, now_ms)


class ForgetsToRenew(Server):
    """The same client gets its lapsed lease again, for no time at all."""

    def acquire(self, request: Request, now_ms: int) -> Response:
        before = self.deadline_ms
        renewed = self.holder == request.client
        response = super().acquire(request, now_ms)
        self.deadline_ms = before if renewed else self.deadline_ms
        return response


class Crashes(Server):
    def stale(self, request: Request) -> Response:
        raise KeyError(request.term)


class FreesInTime(Server):
    """A timer frees what has lapsed. Nothing says so while the lease still lasts: only an attempt does."""

    def tick(self, now_ms: int) -> None:
        if now_ms > self.deadline_ms:
            self.holder = None


class StartsLeased(Server):
    def __init__(self, term: int) -> None:
        super().__init__(term)
        self.holder = 1


class Sulks(Server):
    """After a stale release it looks as ever, and does not lease to that client."""

    sulks_at: int | None = None

    def stale(self, request: Request) -> Response:
        self.sulks_at = request.client
        return super().stale(request)

    def acquire(self, request: Request, now_ms: int) -> Response:
        return self.busy(request) if request.client == self.sulks_at else super().acquire(request, now_ms)

    def soft_state(self) -> tuple[Any, ...]:
        return (self.sulks_at,)


class CountsTicks(Server):
    """What is refused leaves a trace that does not show."""

    ticks = 0

    def tick(self, now_ms: int) -> None:
        self.ticks += self.holder is None

    def soft_state(self) -> tuple[Any, ...]:
        return (self.ticks,)


class BlindSystem(LeaseSystem):
    """An adapter that leaves out what does not show."""

    def key(self, system: Any) -> Any:
        return ()


@dataclass(frozen=True)
class Fault:
    """states: of the shortest trace. last: the action at its end. reason: part of what is said of it.

    differs: the places that differ, in order; "hidden" ones do not show.
    """

    make: Callable[[int], Server]
    states: int
    last: str
    reason: str
    differs: tuple[str, ...]


OTHERWISE = "After it they do not look the same"
FAULTS = [
    Fault(GrantsTwice, 5, "handle_acquire", OTHERWISE, ("holder",)),
]
