"""Lease servers that are wrong, and how each is found: by a step, an attempt, a probe, or what does not show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checker.conform.system import Refusal
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
    """After a stale release it looks as ever, and does not lease to that client: two steps later, or more."""

    sulks_at: int | None = None

    def stale(self, request: Request) -> Response:
        self.sulks_at = request.client
        return super().stale(request)

    def acquire(self, request: Request, now_ms: int) -> Response:
        return self.busy(request) if request.client == self.sulks_at else super().acquire(request, now_ms)


class CountsTicks(Server):
    """A refused request leaves a trace that does not show."""

    ticks = 0

    def tick(self, now_ms: int) -> None:
        self.ticks += self.holder is None


class BlindSystem(LeaseSystem):
    """An adapter that leaves out what does not show."""

    def key(self, system: Any) -> Any:
        return ()


class ForgetfulSystem(LeaseSystem):
    """An adapter that does not do what the spec does."""

    def step(self, system: Any, action: str, arguments: Any, before: Any) -> Any:
        return Refusal("nobody listens") if action == "lapse" else super().step(system, action, arguments, before)


@dataclass(frozen=True)
class Fault:
    """states: of the shortest trace. last: the action at its end; says: part of what is said of it.

    differs: places that differ; what does not show begins with "hidden".
    """

    system: LeaseSystem
    states: int
    last: str
    says: str
    differs: tuple[str, ...] = ()


OTHERWISE, CHANGED, HIDDEN = "is elsewhere after it", "the implementation does something", "remembers something of it"
FAULTS = {
    "grants a lease twice": Fault(
        LeaseSystem(GrantsTwice),
        5,
        "handle_acquire",
        OTHERWISE,
        ("holder", "clients[1].reply[0]", "clients[1].reply[1]"),
    ),
    "answers with the wrong error": Fault(
        LeaseSystem(WrongErrorCode), 2, "handle_release", OTHERWISE, ("clients[0].reply[0]",)
    ),
    "takes back a lease that is over": Fault(
        LeaseSystem(IgnoresTerms), 8, "handle_release", OTHERWISE, ("holder", "clients[1].reply[0]")
    ),
    "takes back a lease of somebody else": Fault(
        LeaseSystem(IgnoresClients), 4, "handle_release", OTHERWISE, ("holder", "clients[1].reply[0]")
    ),
    "does not raise the term": Fault(
        LeaseSystem(KeepsItsTerm), 6, "handle_acquire", OTHERWISE, ("term", "clients[1].reply[1]")
    ),
    "raises the term when it renews": Fault(
        LeaseSystem(NewTermForTheHolder), 6, "handle_acquire", OTHERWISE, ("term", "clients[0].reply[1]")
    ),
    "does not renew": Fault(LeaseSystem(ForgetsToRenew), 7, "handle_acquire", OTHERWISE, ("lapsed",)),
    "crashes": Fault(LeaseSystem(Crashes), 2, "handle_release", "raised KeyError: 7 (lease_faults.py:"),
    "changes when nothing happens": Fault(LeaseSystem(FreesInTime), 5, "lapse", CHANGED, ("holder", "lapsed")),
    "starts otherwise": Fault(LeaseSystem(StartsLeased), 1, "init", OTHERWISE, ("holder", "lapsed")),
    "remembers what it should not, and shows it later": Fault(
        LeaseSystem(Sulks), 13, "handle_acquire", OTHERWISE, ("holder", "clients[0].reply[0]")
    ),
    "remembers what was refused": Fault(LeaseSystem(CountsTicks), 2, "lapse", HIDDEN, ("hidden",)),
    "does not do it": Fault(ForgetfulSystem(), 4, "lapse", "the implementation does not: nobody listens"),
}
BLIND = BlindSystem(Sulks)
GRANTS_TWICE = FAULTS["grants a lease twice"].system
SOMEBODY_ELSES = FAULTS["takes back a lease of somebody else"].system
CHANGES = FAULTS["changes when nothing happens"].system
STARTS_LEASED = FAULTS["starts otherwise"].system
