"""An implementation of `lease`, and its adapter. The server knows time, and terms that rise by more than one."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from checker.conform.graph import Elsewhere, Graph
from checker.conform.system import Ordinal, Refusal

LEASE_MS = 1000

# The implementation.


@dataclass(frozen=True)
class Request:
    """term None: the lease is asked for. Else that of the lease that is given back."""

    client: int
    term: int | None = None


@dataclass(frozen=True)
class Response:
    error: str
    term: int | None = None


class Server:
    """Leases one thing. A term is a number that no lease had before."""

    def __init__(self, term: int) -> None:
        self.term = term
        self.holder: int | None = None
        self.deadline_ms = 0

    def handle(self, request: Request, now_ms: int) -> Response:
        return self.acquire(request, now_ms) if request.term is None else self.release(request)

    def acquire(self, request: Request, now_ms: int) -> Response:
        if self.holder is not None and self.holder != request.client and now_ms < self.deadline_ms:
            return self.busy(request)
        if self.holder != request.client:
            self.term += 10
        self.holder, self.deadline_ms = request.client, now_ms + LEASE_MS
        return Response("NONE", self.term)

    def busy(self, request: Request) -> Response:
        return Response("BUSY")

    def release(self, request: Request) -> Response:
        if (self.holder, self.term) != (request.client, request.term):
            return self.stale(request)
        self.holder = None
        return Response("NONE")

    def stale(self, request: Request) -> Response:
        return Response("STALE_TERM")

    def tick(self, now_ms: int) -> None:
        """It is so late now. Nothing to do: a lapsed lease goes with the next request."""


# The adapter.


class Shown(NamedTuple):
    term: Ordinal
    holder: int | None
    lapsed: bool
    network: frozenset[Any]
    clients: tuple[Any, ...]


class ShownClient(NamedTuple):
    waits: bool
    reply: tuple[str, Ordinal | None] | None
    lease: Ordinal | None


@dataclass(frozen=True)
class Setup:
    """A server, clients and the network between them: a whole state. responses: under way; leases: their terms."""

    server: Server
    now_ms: int
    network: tuple[Request, ...]
    responses: tuple[Response | None, ...]
    asked: tuple[bool, ...]
    leases: tuple[int | None, ...]

    @property
    def lapsed(self) -> bool:
        return self.server.holder is not None and self.now_ms >= self.server.deadline_ms


def put(values: tuple[Any, ...], at: int, value: Any) -> tuple[Any, ...]:
    return values[:at] + (value,) + values[at + 1 :]


def term(value: int | None) -> Ordinal | None:
    return None if value is None else Ordinal("Term", value)


SHOWN = Elsewhere("what is observed")
GRAPH = Graph({Server: {"term": SHOWN, "holder": SHOWN, "deadline_ms": SHOWN}})


class LeaseSystem:
    """Drives a server. make: of the class of servers that is under test."""

    def __init__(self, make: Callable[[int], Server] = Server) -> None:
        self._make = make

    def lacks(self, constants: Mapping[str, Any], actions: Collection[str]) -> str:
        return ""

    def begin(self, constants: Mapping[str, Any], state: Any) -> Setup:
        clients = len(state.asked)
        return Setup(self._make(7), 0, (), (None,) * clients, (False,) * clients, (None,) * clients)

    def step(self, system: Setup, action: str, arguments: Mapping[str, Any], before: Any) -> Setup | Refusal:
        if action.startswith("handle"):
            return self._handle(system, self._meant(system, arguments["request"]))
        if action == "lose":
            return self._lose(system, self._meant(system, arguments["request"]))
        if action == "lapse":
            return self._wait(system)
        done: Setup | Refusal = getattr(self, f"_{action}")(system, arguments["client"].index)
        return done

    def attempts(self, actions: Collection[str]) -> Collection[str]:
        return [action for action in actions if action != "lose"]

    def attempt(self, system: Setup, action: str, arguments: Mapping[str, Any], before: Any) -> Setup | Refusal | None:
        if action == "lapse":
            return self._wait(system)
        if action == "lose":
            return None
        return self.step(system, action, arguments, before)

    def receivers(
        self, system: Setup, before: Any, classes: Mapping[str, type], actions: Collection[str]
    ) -> Iterable[Any]:
        """The server, and any request of any client with any term that is alive."""
        shown = self.observe(system)
        key = (shown[:3], tuple(client.lease for client in shown.clients), self.key(system))
        yield key, lambda: self._probes(system, before, classes)

    def _probes(self, system: Setup, before: Any, classes: Mapping[str, type]) -> Iterator[Any]:
        nothing = {client: None for client in before.replies}
        quiet = replace(before, network=type(before.network)(), replies=type(before.replies)(nothing))
        terms = {ordinal: system.server.term for ordinal in [before.term]}
        for client, lease in before.leases.items():
            if lease is not None:
                terms[lease] = system.leases[client.index]
        for client in before.replies:
            for ordinal, value in terms.items():
                message = classes["Release"](client=client, term=ordinal)
                there = replace(quiet, network=quiet.network.add(message))
                request = Request(client.index, value)
                under_way = replace(system, network=(request,), responses=(None,) * len(system.responses))
                yield f"release {client} {ordinal}", there, under_way, "handle_release", {"request": message}

    def observe(self, system: Setup) -> Shown:
        network = frozenset(((r.client, term(r.term)), system.network.count(r)) for r in system.network)
        clients = tuple(
            ShownClient(asked, None if reply is None else (reply.error, term(reply.term)), term(lease))
            for asked, reply, lease in zip(system.asked, system.responses, system.leases, strict=True)
        )
        server = system.server
        return Shown(Ordinal("Term", server.term), server.holder, system.lapsed, network, clients)

    def expect(self, state: Any) -> Shown:
        def of(ordinal: Any) -> Ordinal | None:
            return None if ordinal is None else Ordinal("Term", ordinal.value)

        network = frozenset(
            ((m.client.index, of(getattr(m, "term", None))), state.network.count(m)) for m in state.network
        )
        clients = tuple(
            ShownClient(
                state.asked[c], None if reply is None else (reply.error.name, of(reply.term)), of(state.leases[c])
            )
            for c, reply in state.replies.items()
        )
        holder = None if state.holder is None else state.holder.index
        return Shown(Ordinal("Term", state.term.value), holder, state.lapsed, network, clients)

    def key(self, system: Setup) -> Any:
        return GRAPH.read(system.server)

    # What clients, time and the network do.

    @staticmethod
    def _meant(system: Setup, message: Any) -> Request:
        """The request under way that is meant: a client has one at a time."""
        return next(r for r in system.network if r.client == message.client.index)

    @staticmethod
    def _without(system: Setup, request: Request) -> tuple[Request, ...]:
        at = system.network.index(request)
        return system.network[:at] + system.network[at + 1 :]

    def _handle(self, system: Setup, request: Request) -> Setup:
        server = copy.copy(system.server)
        response = server.handle(request, system.now_ms)
        responses = put(system.responses, request.client, response)
        return replace(system, server=server, network=self._without(system, request), responses=responses)

    def _lose(self, system: Setup, request: Request) -> Setup:
        asked = put(system.asked, request.client, False)
        return replace(system, network=self._without(system, request), asked=asked)

    @staticmethod
    def _wait(system: Setup) -> Setup:
        server = copy.copy(system.server)
        now_ms = max(system.now_ms + 1, server.deadline_ms)
        server.tick(now_ms)
        return replace(system, server=server, now_ms=now_ms)

    @staticmethod
    def _acquire(system: Setup, client: int) -> Setup | Refusal:
        if system.asked[client]:
            return Refusal("it waits for a response")
        asked = put(system.asked, client, True)
        return replace(system, asked=asked, network=(*system.network, Request(client)))

    @staticmethod
    def _release(system: Setup, client: int) -> Setup | Refusal:
        lease = system.leases[client]
        if system.asked[client] or lease is None:
            return Refusal("it waits for a response" if system.asked[client] else "it has no lease")
        return replace(
            system, asked=put(system.asked, client, True), leases=put(system.leases, client, None),
            network=(*system.network, Request(client, lease)),
        )  # fmt: skip

    @staticmethod
    def _receive(system: Setup, client: int) -> Setup | Refusal:
        response = system.responses[client]
        if response is None:
            return Refusal("there is no response")
        return replace(
            system, asked=put(system.asked, client, False), responses=put(system.responses, client, None),
            leases=put(system.leases, client, response.term),
        )  # fmt: skip


SYSTEM = LeaseSystem()
