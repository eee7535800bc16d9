"""The fields of the cluster under test, and what each of them is: what its key is derived by.

Epochs and attempts are ordinals. A session, and a connection, is known by whose it is. A field that has no rule here is
part of the key as it is.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from checker.conform.graph import Elsewhere, Fields, Graph, LeftOut, Rules, plain
from checker.conform.system import Structure
from impl.adapters import zookeeper_rules
from impl.adapters.group import ordinals
from impl.adapters.group.cluster import BrokerHost, Channel, Cluster, ConsumerHost
from impl.adapters.rules import OF_CORE, TOLD, in_any_order, of_core
from impl.adapters.zookeeper_rules import OTHERS, UNREAD, election, office, session, znode, znodes
from impl.group.consumer import Consumer, Fetched, State
from impl.group.coordinator import Coordinator, Policy
from impl.group.design import Design
from impl.group.effects import Connect, Context
from impl.group.hearing import Hearing
from impl.group.metadata import Metadata
from impl.group.offsets import Store
from impl.group.pings import Pings
from impl.group.protocol import (
    PingRequest,
    PingResponse,
    RegisterConsumerRequest,
    RegisterConsumerResponse,
    StartFetcherRequest,
    StartFetcherResponse,
    StopFetcherRequest,
    StopFetcherResponse,
)
from impl.group.rebalance import Rebalances
from impl.group.registry import Group, Member, Phase, Rebalance
from impl.group.scripts import Scripts
from impl.group.settings import BrokerSettings, ConsumerSettings
from impl.group.sockets import SocketCoordinator, SocketRebalances
from impl.group.topic_count import Named, Wildcard
from impl.group.topics import Topics
from impl.group.znodes import SEAT
from impl.zookeeper import Connected, WatchEvent
from impl.zookeeper.model import Client, ZooKeeper
from impl.zookeeper.office import Seat

COUNTER = LeftOut("it only tells things apart that are under way together")
ASKED = LeftOut("looking for the coordinator, it asks one after the other, until it asks whom the host means")
DUE = LeftOut("which ping or watcher is due is the host's to say: the heap is never asked")
GONE = "gone"


def epoch(value: int, _: Any, graph: Graph) -> Structure:
    """Where it is looked at. Below 0 is what stands for none."""
    if not graph.owner(Cluster).design.coordinator_epoch:
        return None
    return ordinals.epoch(value) if value >= 0 else value


def of_term(value: Any, _: Any, graph: Graph) -> Structure:
    """Without a term, the core remembers what it forgets as the next one begins."""
    return None if graph.owner(Coordinator).term is None else graph.of(value)


def term_epoch(value: int, _: Any, graph: Graph) -> Structure:
    return None if graph.owner(Coordinator).term is None else ordinals.epoch(value)


# ZooKeeper.


SESSION = session(Cluster)
ZNODES: Fields = {
    **office(Cluster, SEAT, lambda value, _, graph: ordinals.epoch(int(value))),
    OTHERS: znode(plain, czxid=UNREAD, mzxid=UNREAD, version=UNREAD, owner=SESSION),
}


# Connections and what is sent by them.


def connection(value: int, _: Any, graph: Graph) -> Structure:
    """Whose it is, if its consumer has no other by now."""
    channels = graph.owner(Cluster).channels
    return next((number for number, one in enumerate(channels) if one.connection == value), GONE)


def members(value: Mapping[int, Member], core: Coordinator, graph: Graph) -> Structure:
    """By connection; each is one of its group's members, or a former one."""
    return frozenset([(connection(number, core, graph), _known(one, core)) for number, one in value.items()])


def _known(member: Member, core: Coordinator) -> Structure:
    group = core.groups.get(member.group)
    is_current = group is not None and group.members.get(member.consumer) is member
    return member.group, member.consumer, is_current


def attempt(value: int, message: Any, graph: Graph) -> Structure:
    """Of the coordinator at the other end, where attempts are looked at."""
    if not graph.owner(Cluster).design.attempt_ids:
        return None
    channel = graph.owner(Channel)
    is_request = isinstance(message, StopFetcherRequest | StartFetcherRequest)
    return ordinals.attempt(channel.peer if is_request else channel.server, value)


def is_of_consumer(value: int, _: Any, graph: Graph) -> Structure:
    """Whether the connection that is made is the one that the consumer waits for."""
    core = graph.owner(ConsumerHost).core
    return core is not None and value == core.connection


# Coordinators.


def names(value: Sequence[Group], _: Any, graph: Graph) -> Structure:
    """Groups, which are those that the coordinator has, or former ones."""
    groups = graph.owner(Coordinator).groups
    return tuple([(group.name, groups.get(group.name) is group) for group in value])


def names_in_any_order(value: Sequence[Group], owner: Any, graph: Graph) -> Structure:
    """As above, where the host says which comes first."""
    found = names(value, owner, graph)
    assert isinstance(found, tuple)
    return frozenset(found), len(value)


def attempts(value: int, _: Any, graph: Graph) -> Structure:
    """The last of this coordinator, which numbers them."""
    core = graph.owner(Coordinator)
    return None if core.term is None else ordinals.attempt(core.settings.broker_id, value)


def attempt_of(value: int, rebalance: Rebalance, graph: Graph) -> Structure:
    """Backing off, it awaits nobody; below 1, it has no number yet."""
    if rebalance.phase is Phase.BACKOFF:
        return None
    return value if value < 1 else ordinals.attempt(graph.owner(Coordinator).settings.broker_id, value)


# Consumers.


def newest_attempt(value: int, core: Consumer, graph: Graph) -> Structure:
    """Of the coordinator that it has joined; joining another, it forgets it."""
    cluster, host = graph.owner(Cluster), graph.owner(ConsumerHost)
    if not cluster.design.attempt_ids or core.state not in (State.JOINED, State.SHUTTING_DOWN):
        return None
    channel = cluster.channels[cluster.consumers.index(host)]
    return value if value < 0 else ordinals.attempt(channel.peer, value)


def is_awaited(value: int | None, core: Consumer, graph: Graph) -> Structure:
    """Looking for the coordinator, it gives up whomever it asks, or does not wait any more, as the host likes."""
    connecting = graph.owner(ConsumerHost).connecting
    return core.state is State.STARTING or (connecting is not None and connecting.connection == value)


def is_meant(value: Any, host: ConsumerHost, graph: Graph) -> Structure:
    """As above: whom it asks is what the host makes it."""
    is_looking = host.core is not None and host.core.state is State.STARTING
    return None if is_looking else graph.of(value)


CLUSTER: Fields = {
    "design": plain,
    "extent": plain,
    "broker_settings": plain,
    "consumer_settings": plain,
    "zookeeper": plain,
    "brokers": plain,
    "consumers": plain,
    "channels": plain,
    "connections": COUNTER,
}
COORDINATOR: Fields = {
    "settings": plain,
    "design": plain,
    "context": plain,
    "policy": plain,
    "election": plain,
    "store": plain,
    "topics": plain,
    "pings": plain,
    "rebalances": plain,
    "groups": of_term,
    "hearing": plain,
    "scripts": plain,
    "metadata": plain,
    "queue": in_any_order,
    "heard": plain,
    "term": plain,
    "members": members,
    "waits_out": plain,
    "is_connected": plain,
    "is_in_touch": plain,
    "_registering": plain,
}
CONSUMER: Fields = {
    "settings": plain,
    "design": plain,
    "context": plain,
    "state": plain,
    "connection": is_awaited,
    "coordinator_epoch": epoch,
    "attempt": TOLD,
    "_newest_attempt": newest_attempt,
    "brokers": plain,
    "fetched": plain,
    "session_end_ms": plain,
    "answered": Elsewhere("what is observed, as far as it counts"),
    "_session_ms": plain,
    "_answers_ms": plain,
    "_out_of_range": plain,
    "_connections": COUNTER,
    "_next_broker": ASKED,
    "_waits": ASKED,
}


_VALUES = (
    BrokerHost, ConsumerHost, Channel, Design, BrokerSettings, ConsumerSettings, Seat, Named, Wildcard, Connected,
    WatchEvent, Connect, RegisterConsumerRequest, RegisterConsumerResponse, PingRequest, PingResponse,
    StopFetcherRequest, StopFetcherResponse, StartFetcherRequest, StartFetcherResponse, Member, Group, Rebalance,
    Fetched,
)  # fmt: skip
_ECHO = LeftOut("an answer to a ping has it from the ping, and nobody looks at it")
_OTHERWISE: dict[type, Fields] = {
    ConsumerHost: {"connecting": is_meant},
    Channel: {"connection": Elsewhere("the members, as a connection of one")},
    Connected: {"session": SESSION},
    Connect: {"connection": is_of_consumer},
    RegisterConsumerRequest: {"coordinator_epoch": LeftOut("no coordinator looks at it")},
    RegisterConsumerResponse: {"coordinator_epoch": epoch},
    PingRequest: {"coordinator_epoch": epoch, "attempt": _ECHO},
    PingResponse: {"coordinator_epoch": epoch, "attempt": _ECHO},
    StopFetcherRequest: {"coordinator_epoch": epoch, "attempt": attempt},
    StopFetcherResponse: {"coordinator_epoch": epoch, "attempt": attempt},
    StartFetcherRequest: {"coordinator_epoch": epoch, "attempt": attempt},
    StartFetcherResponse: {"coordinator_epoch": epoch, "attempt": attempt},
    Member: {"connection": connection},
    Group: {"cause": TOLD},
    Rebalance: {"attempt": attempt_of, "cause": TOLD, "began_ms": TOLD, "phase_ms": TOLD},
}
RULES: Rules = {
    Cluster: CLUSTER,
    ZooKeeper: {**zookeeper_rules.ZOOKEEPER, "tree": znodes(ZNODES)},
    Client: {**zookeeper_rules.CLIENT, "session": SESSION, "data_watches": plain},
    **election(Cluster, SEAT, ordinals.epoch),
    Coordinator: COORDINATOR,
    SocketCoordinator: {"_strays": plain},
    Policy: {"resigns": plain},
    Context: {"now_ms": LeftOut("every input says what time it is"), "zxid": TOLD, "effects": plain},
    Store: {
        **of_core("context"), "design": plain,
        "office": of_term,
        "_made": LeftOut("what is made is there: to make it again comes to nothing"),
    },
    Topics: {"context": OF_CORE, "known": plain, "brokers": plain},
    Pings: {
        **of_core("context", "store"), "design": plain,
        "max_failed": plain,
        "limit_ms": plain,
        "failed_pings": TOLD,
        "times_ms": TOLD,
        "_heap": DUE,
        "_entries": DUE,
        "_timer_ms": DUE,
    },
    Rebalances: {
        **of_core("context", "store", "topics", "pings"), "limits": plain, "design": plain,
        "remove": plain,
        "step_down": plain,
        "epoch": term_epoch,
        "queue": names_in_any_order,
        "to_go_on": names,
        "again": names,
        "_busy": names,
        "_attempts": attempts,
        "_readings": COUNTER,
    },
    SocketRebalances: dict.fromkeys(("is_connected", "disconnect", "bury"), plain),
    Hearing: {**of_core("context", "topics", "rebalances", "groups"), "design": plain, "starts_up": plain},
    Metadata: {**of_core("context", "scripts", "topics"), "broker": plain, "_asking": plain, "_reads": plain},
    Scripts: {"context": OF_CORE, "first_id": plain, "_last_id": COUNTER, "_awaited": plain},
    Consumer: CONSUMER,
    **{kind: {**{field.name: plain for field in fields(kind)}, **_OTHERWISE.get(kind, {})} for kind in _VALUES},
}  # fmt: skip
GRAPH = Graph(RULES)


def key(cluster: Cluster) -> Hashable:
    """All that decides the cluster's next steps besides what is shown, read off its objects."""
    return GRAPH.read(cluster)
