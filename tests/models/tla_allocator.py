"""Clients ask an allocator for sets of resources (github.com/tlaplus/Examples, SimpleAllocator by S. Merz).

A client asks when it has and wants nothing; it may be given part of what it wants, and may return part of what it has.
Clients return all that they have, weakly fair, and the allocator gives each of them something, strongly fair: then
everybody gets what it wants (`fair`). If a client must return only once it has all that it wanted
(`returns_when_served`: weak fairness of the return under a condition), two clients may wait for each other with one
resource each.

The action of returning is split, so that what is fair is an action: a client returns all, or some of what it has.

TLC, with 3 clients and 2 resources: 1,633 states generated, 400 distinct, depth 6.
"""

from __future__ import annotations

from checker.lang import (
    Identity,
    Map,
    Model,
    Set,
    action,
    always_eventually,
    init,
    invariant,
    leads_to,
    require,
    state,
    strong_fairness,
    weak_fairness,
)

SOURCE = "SimpleAllocator"


class Client(Identity, size=3):
    pass


class Resource(Identity, size=2):
    pass


@state
class Allocation:
    wanted: Map[Client, Set[Resource]]
    held: Map[Client, Set[Resource]]


@init
def nothing_asked_for() -> Allocation:
    return Allocation(
        wanted=Map({client: frozenset() for client in Client}), held=Map({client: frozenset() for client in Client})
    )


def is_free(s: Allocation, resource: Resource) -> bool:
    return all(resource not in s.held[client] for client in Client)


@action(who="client {client}", source=SOURCE)
def ask(s: Allocation, client: Client, resources: Set[Resource]) -> None:
    """A client asks for resources."""
    require(not s.wanted[client] and not s.held[client])
    require(len(resources) > 0)
    s.wanted[client] = resources


@action(who="allocator", source=SOURCE)
def allocate(s: Allocation, client: Client, resources: Set[Resource]) -> None:
    """The allocator gives a client some of what it wants."""
    require(len(resources) > 0)
    require(resources <= s.wanted[client])
    require(all(is_free(s, resource) for resource in resources))
    s.held[client] = s.held[client] | resources
    s.wanted[client] = s.wanted[client] - resources


@action(who="client {client}", source=SOURCE)
def return_some(s: Allocation, client: Client, resources: Set[Resource]) -> None:
    """A client returns part of what it has."""
    require(len(resources) > 0)
    require(resources < s.held[client])
    s.held[client] = s.held[client] - resources


@action(who="client {client}", source=SOURCE)
def return_all(s: Allocation, client: Client) -> None:
    """A client returns all that it has."""
    require(len(s.held[client]) > 0)
    s.held[client] = frozenset()


@strong_fairness(allocate)
def each_client_is_given_something(s: Allocation, client: Client) -> bool:
    """\\A client: SF(\\E resources: allocate(client, resources))."""
    return True


@weak_fairness(return_all)
def each_client_returns(s: Allocation, client: Client) -> bool:
    """\\A client: WF(return_all(client))."""
    return True


@weak_fairness(return_all)
def each_client_returns_when_served(s: Allocation, client: Client) -> bool:
    """\\A client: WF(wanted[client] = {} /\\ return_all(client))."""
    return not s.wanted[client]


@invariant(source=SOURCE)
def no_resource_is_held_twice(s: Allocation) -> bool:
    """No two clients hold a resource."""
    return all(not (s.held[a] & s.held[b]) for a in Client for b in Client if a != b)


@leads_to(source=SOURCE)
def who_is_served_returns(s: Allocation, client: Client) -> tuple[bool, bool]:
    """A client that wants nothing more comes to hold nothing."""
    return not s.wanted[client], not s.held[client]


@leads_to(source=SOURCE)
def who_wants_gets(s: Allocation, client: Client, resource: Resource) -> tuple[bool, bool]:
    """A client gets each resource that it wants."""
    return resource in s.wanted[client], resource in s.held[client]


@always_eventually(source=SOURCE)
def is_served_again(s: Allocation, client: Client) -> bool:
    """Infinitely often, a client wants nothing."""
    return not s.wanted[client]


ACTIONS = [ask, allocate, return_some, return_all]
CLAIMS = [who_is_served_returns, who_wants_gets, is_served_again]
MODELS = [
    Model("fair", "Clients return what they have.", nothing_asked_for, ACTIONS,
          [no_resource_is_held_twice, *CLAIMS], fairness=[each_client_is_given_something, each_client_returns]),
    Model("returns_when_served", "Clients return what they have when they have all.", nothing_asked_for, ACTIONS,
          CLAIMS, fairness=[each_client_is_given_something, each_client_returns_when_served]),
]  # fmt: skip
