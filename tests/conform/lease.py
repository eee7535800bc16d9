"""A server that leases one thing to two clients, as a spec. `lease_server` implements it, and a test breaks that.

The clients' requests travel on their own and may be lost; a client waits for one reply at a time. A lease may lapse:
its holder keeps it until somebody else asks.
"""

from __future__ import annotations

import enum
from typing import Annotated

from checker.lang import (
    AtMost,
    Bag,
    Identity,
    Map,
    MemberOf,
    Model,
    Option,
    Ordinal,
    action,
    constants,
    fresh,
    init,
    message,
    require,
    require_some,
    state,
)

SOURCE = "after Gray and Cheriton 1989, Leases"


@constants
class Design:
    clients: int = 2
    "How many clients."
    losses: bool = True
    "Requests may be lost."


class Client(Identity, size=lambda: Design.clients): ...


class Term(Ordinal):
    """One for each time that the thing is leased again."""


class Error(enum.Enum):
    NONE = 0
    BUSY = 1
    STALE_TERM = 2


@message
class Acquire:
    """Wants the lease, or wants it for longer."""

    client: Client


@message
class Release:
    """Gives the lease of a term back."""

    client: Client
    term: Term


@message
class Reply:
    """term: of the lease that was given."""

    error: Error
    term: Option[Term]


@state
class System:
    term: Term
    holder: Option[Client]
    lapsed: bool
    network: Annotated[Bag[Acquire | Release], AtMost(2)]
    replies: Map[Client, Option[Reply]]
    asked: Map[Client, bool]  # it waits for a reply, or for the loss of what it sent
    leases: Map[Client, Option[Term]]  # what the client thinks to have


@init
def start() -> System:
    return System(
        term=Term(0), holder=None, lapsed=False, network=Bag(), replies=Map({c: None for c in Client}),
        asked=Map({c: False for c in Client}), leases=Map({c: None for c in Client}),
    )  # fmt: skip


@action(who="client {client}", source=SOURCE)
def acquire(s: System, client: Client) -> None:
    """Asks for the lease."""
    require(not s.asked[client])
    s.asked[client] = True
    s.network = s.network.add(Acquire(client=client))


@action(who="client {client}", source=SOURCE)
def release(s: System, client: Client) -> None:
    """Gives its lease back."""
    require(not s.asked[client])
    term = require_some(s.leases[client])
    s.asked[client] = True
    s.leases[client] = None
    s.network = s.network.add(Release(client=client, term=term))


@action(who="server", source=SOURCE)
def handle_acquire(s: System, request: Annotated[Acquire, MemberOf("network")]) -> None:
    """Leases to whoever comes first; the same client gets the same lease again while it has it."""
    s.network = s.network.remove(request)
    if s.holder is not None and s.holder != request.client and not s.lapsed:
        s.replies[request.client] = Reply(error=Error.BUSY, term=None)
    else:
        if s.holder != request.client:
            s.term = fresh(s, Term)
        s.holder = request.client
        s.lapsed = False
        s.replies[request.client] = Reply(error=Error.NONE, term=s.term)


@action(who="server", source=SOURCE)
def handle_release(s: System, request: Annotated[Release, MemberOf("network")]) -> None:
    """Takes the lease back from its holder, if it is still the same lease."""
    s.network = s.network.remove(request)
    if s.holder == request.client and s.term == request.term:
        s.holder = None
        s.lapsed = False
        s.replies[request.client] = Reply(error=Error.NONE, term=None)
    else:
        s.replies[request.client] = Reply(error=Error.STALE_TERM, term=None)


@action(who="client {client}", source=SOURCE)
def receive(s: System, client: Client) -> None:
    """Takes note of the reply."""
    reply = require_some(s.replies[client])
    s.asked[client] = False
    s.replies[client] = None
    s.leases[client] = reply.term


@action(who="server", source=SOURCE)
def lapse(s: System) -> None:
    """The lease has lasted long enough."""
    require(s.holder is not None)
    require(not s.lapsed)
    s.lapsed = True


@action(who="network", source=SOURCE)
def lose(s: System, request: Annotated[Acquire | Release, MemberOf("network")]) -> None:
    """A request gets lost, and its client gives it up."""
    require(Design.losses)
    s.network = s.network.remove(request)
    s.asked[request.client] = False


ACTIONS = [acquire, release, handle_acquire, handle_release, receive, lapse, lose]
MODELS = [
    Model("lease", "Two clients, and requests that may be lost.", start, ACTIONS, []),
    Model("one", "A single client, and nothing is lost.", start, ACTIONS[:-1], [], constants={"clients": 1}),
    Model("sure", "Nothing is lost, and so something never happens.", start, ACTIONS, [], constants={"losses": False}),
]
