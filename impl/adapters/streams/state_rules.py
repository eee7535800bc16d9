"""The fields of the group under test, and what each of them is: what its key is derived by.

Ids of members, generations and the numbers of requests grow without bound: of each the key has what it is compared
with. A field that has no rule here is part of the key as it is.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import fields
from typing import Any

from checker.conform.graph import Elsewhere, Graph, LeftOut, Rules, plain
from checker.conform.system import Structure
from impl.adapters.streams.cluster import Cluster, Host
from impl.streams.assignor import Sources
from impl.streams.codec import decode_subscription
from impl.streams.config import StreamsConfig
from impl.streams.consumer_protocol import read_subscription
from impl.streams.coordinator import Bounds, Coordinator, MemberMetadata, StoredGroup
from impl.streams.design import Design
from impl.streams.member import Member, Timeouts
from impl.streams.metadata import SubscriptionInfo
from impl.streams.versions import Release

SHOWN = Elsewhere("what is observed")


def member_id(value: str, _: Any, graph: Graph) -> Structure:
    """Whose it is, of the group and of the group as it is stored. A member of neither is unknown by any id."""
    cluster = graph.owner(Cluster)
    groups = cluster.coordinator.members, {} if cluster.stored is None else cluster.stored.members
    return value and tuple(group[value].client_id if value in group else None for group in groups)


def generation(value: int, _: Any, graph: Graph) -> Structure:
    """Only the group's own and the stored one may be current again."""
    cluster = graph.owner(Cluster)
    return value == cluster.coordinator.generation, cluster.stored is not None and value == cluster.stored.generation


def subscriptions(value: Mapping[str, bytes], _: Any, graph: Graph) -> Structure:
    """As a leader has them: by whose they are, what the assignor reads."""
    return frozenset((member_id(member, None, graph), _read(data)) for member, data in value.items())


def _read(data: bytes) -> Structure:
    info = decode_subscription(read_subscription(data).user_data)
    assert isinstance(info, SubscriptionInfo)
    return info.used, info.supported, frozenset(task.partition for task in info.previous)


def members(value: Mapping[str, MemberMetadata], _: Any, graph: Graph) -> Structure:
    """By their threads' names, which no two of them share."""
    return tuple(map(graph.of, sorted(value.values(), key=lambda one: one.client_id)))


def request(value: Any, _: Any, graph: Graph) -> Structure:
    """Whether its thread still waits for the answer."""
    return value and (value[0], graph.owner(Cluster).hosts[value[0]].call == value[1])


def pending(value: frozenset[str], _: Any, graph: Graph) -> Structure:
    """Ids that were given away: whether there is anybody who has them."""
    cores = [host.core for host in graph.owner(Cluster).hosts]
    return frozenset(thread for thread, core in enumerate(cores) if core and core.member_id in value), len(value)


def heard(value: Mapping[str, int], owner: Coordinator, graph: Graph) -> Structure:
    return value.keys() == owner.members.keys(), frozenset(value.values())


def is_given(value: bytes, _: Any, graph: Graph) -> Structure:
    """There is an assignment. What it says is shown, where it counts."""
    return value != b""


def is_waiting(value: int, _: Any, graph: Graph) -> Structure:
    return value > 0


RULES: Rules = {
    Cluster: {
        "procedure": plain,
        "coordinator": plain,
        "processes": SHOWN,
        "hosts": plain,
        "calls": LeftOut("it only tells requests and ids apart"),
        "stored": plain,
    },
    Host: {"core": plain, "call": is_waiting, "reply": SHOWN},
    Member: {
        "config": plain,
        "client_id": plain,
        "process_id": plain,
        "sources": plain,
        "timeouts": plain,
        "on_disk": plain,
        "state": SHOWN,
        "used": SHOWN,
        "member_id": member_id,
        "generation": generation,
        "leads": plain,
        "has_coordinator": plain,
        "tasks": SHOWN,
        "previous": SHOWN,
        "wants_to_rejoin": SHOWN,
        "death": SHOWN,
        "_must_rejoin": plain,
        "_unique": LeftOut("who rejoins takes the next, and the coordinator compares it with the last one only"),
        "_subscriptions": subscriptions,
        "_effects": plain,
    },
    Coordinator: {
        "bounds": plain,
        "state": SHOWN,
        "generation": Elsewhere("the members and their generations"),
        "leader": SHOWN,
        "protocol_type": plain,
        "protocol": plain,
        "members": members,
        "pending": pending,
        "offsets": plain,
        "_heard_ms": heard,
        "_effects": plain,
    },
    StoredGroup: {
        "generation": Elsewhere("the members and their generations"),
        "leader": SHOWN,
        "protocol_type": plain,
        "protocol": plain,
        "members": members,
    },
    MemberMetadata: {
        "client_id": plain,
        "session_timeout_ms": plain,
        "rebalance_timeout_ms": plain,
        "protocols": SHOWN,
        "joining": request,
        "syncing": request,
        "assignment": is_given,
    },
    **{
        kind: {field.name: plain for field in fields(kind)}
        for kind in (StreamsConfig, Release, Design, Sources, Timeouts, Bounds)
    },
}
GRAPH = Graph(RULES)


def key(cluster: Cluster) -> Hashable:
    """All that decides the cluster's next steps besides what is shown, read off its objects."""
    return GRAPH.read(cluster)
