"""The fields of the cluster under test, and what each of them is: what its key is derived by.

Sessions, epochs and their versions are ordinals. A field that has no rule here is part of the key as it is.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from checker.conform.graph import By, Elsewhere, Fields, Graph, LeftOut, Rules, plain
from checker.conform.system import Structure
from impl.adapters import zookeeper_rules
from impl.adapters.pinning import ordinals
from impl.adapters.pinning.cluster import Cluster, Host
from impl.adapters.rules import TOLD
from impl.adapters.zookeeper_rules import IN_A_SCRIPT, UNREAD, znode, znodes
from impl.pinning.broker import Broker, Path
from impl.pinning.elector import Elector
from impl.pinning.member import Member, Seen
from impl.pinning.office import Office
from impl.pinning.request import Request
from impl.pinning.target import Target
from impl.pinning.znodes import ADMIN, BROKER_IDS, NEXT, READY, STATE
from impl.zookeeper.model import Client, ZooKeeper
from impl.zookeeper.office import CONTROLLER, CONTROLLER_EPOCH, Epoch

SHOWN = Elsewhere("what is observed")
OF_BROKER = Elsewhere("the broker, whose parts share it")
OVER = "over"


# ZooKeeper.


def session(value: int, _: Any, graph: Graph) -> Structure:
    """0 for none. One that is over owns nothing, and is no session that will ever be."""
    return ordinals.session(value) if value in graph.owner(Cluster).zookeeper.sessions else OVER if value else 0


def is_known(value: int, cluster: Cluster, graph: Graph) -> Structure:
    """Whether everybody has heard who is in office."""
    controller = cluster.zookeeper.tree.get(CONTROLLER)
    return value == (0 if controller is None else controller.stat.czxid)


def clients(value: tuple[Client, ...], _: Any, graph: Graph) -> Structure:
    cluster = graph.owner(Cluster)
    return tuple([(graph.of(client), watches(cluster, number, client)) for number, client in enumerate(value)])


def watches(cluster: Cluster, number: int, client: Client) -> Structure:
    """Nobody who hangs hears of what his watches fire for."""
    return None if number != cluster.operator and cluster.hosts[number].hangs else client.data_watches


ZNODES: Fields = {
    CONTROLLER: znode(SHOWN, czxid=Elsewhere("the cluster, as known or not"), mzxid=UNREAD, version=plain, owner=SHOWN),
    CONTROLLER_EPOCH: znode(SHOWN, czxid=plain, mzxid=UNREAD, version=SHOWN, owner=plain),
    NEXT: znode(SHOWN, czxid=UNREAD, mzxid=SHOWN, version=SHOWN, owner=plain),
    READY: znode(SHOWN, czxid=UNREAD, mzxid=UNREAD, version=IN_A_SCRIPT, owner=SHOWN),
    STATE: znode(SHOWN, czxid=plain, mzxid=UNREAD, version=UNREAD, owner=plain),
    ADMIN: znode(plain, czxid=plain, mzxid=UNREAD, version=IN_A_SCRIPT, owner=plain),
    f"{BROKER_IDS}/": LeftOut("a broker looks for its own only to create it, and for others only to say why they went"),
}

# Brokers.


def heard(value: int | None, _: Any, graph: Graph) -> Structure:
    """Of requests, which nobody sends where there is nothing to write."""
    return None if value is None or not graph.owner(Cluster).writes else ordinals.epoch(value)


def acting(value: Any, host: Host, graph: Graph) -> Structure:
    """A process that hangs does nothing any more; it can only be killed."""
    return None if host.hangs else graph.of(value)


def is_cut_off(value: object, _: Any, graph: Graph) -> Structure:
    """Its script waits for a result that never comes. Nothing can be done with it any more: it cannot be copied."""
    return value is not None


BROKER: Fields = {
    "member": plain,
    "elector": plain,
    "target": plain,
    "office": plain,
    "request": plain,
    "queue": plain,
    "running": is_cut_off,
    "awaited": LeftOut("it only tells operations apart, and none is under way between two steps"),
    "is_connected": plain,
    "started": session,
    "under_way": LeftOut("it is taken up again only where its script is cut off, and no script runs between two steps"),
}
DECIDED: Fields = {
    "epoch": SHOWN,
    "version": LeftOut("a write is fenced by the version of the term"),
}
MEMBER: Fields = {
    "broker": plain,
    "design": plain,
    "session_timeout_ms": plain,
    "abstain_timeout_ms": plain,
    "endpoint": plain,
    "session": session,
    "is_in_touch": plain,
    "is_able": plain,
    "phase": plain,
    "waits_for": plain,
    "term": plain,
    "seen": plain,
    "decided": By(DECIDED),
    "controller": TOLD,
    "former": TOLD,
    "ended": TOLD,
    "now_ms": plain,
    "zxid": TOLD,
    "complained": plain,
    "effects": plain,
}
EPOCH: Fields = {
    "epoch": lambda value, _, graph: ordinals.epoch(value),
    "version": lambda value, _, graph: ordinals.epoch_version(value),
}
HOST: Fields = {
    "core": acting,
    "fired": plain,
    "timers": plain,
    "hangs": plain,
    "is_unsure": plain,
    "is_able": plain,
    "is_legacy": plain,
}
CLUSTER: Fields = {
    "core": plain,
    "design": plain,
    "zookeeper": plain,
    "hosts": plain,
    "asked": SHOWN,
    "in_office": is_known,
    "answers": plain,
    "writes": plain,
}

RULES: Rules = {
    Cluster: CLUSTER,
    Host: HOST,
    ZooKeeper: {**zookeeper_rules.ZOOKEEPER, "clients": clients, "tree": znodes(ZNODES)},
    Client: {**zookeeper_rules.CLIENT, "session": session, "data_watches": Elsewhere("the service, with the client")},
    Broker: BROKER,
    Member: MEMBER,
    Elector: {"member": OF_BROKER},
    Target: {"member": OF_BROKER, "elector": OF_BROKER},
    Office: {"member": OF_BROKER, "target": OF_BROKER, "heard": heard},
    Request: {"member": OF_BROKER, "asked": plain},
    Seen: {"next_version": plain, "request": TOLD, "epoch": plain},
    Epoch: EPOCH,
    Path: {"path": plain},
}
GRAPH = Graph(RULES)


def key(cluster: Cluster) -> Hashable:
    """All that decides the cluster's next steps besides what is shown, read off its objects."""
    return GRAPH.read(cluster)
