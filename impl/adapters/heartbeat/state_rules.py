"""The fields of the cluster under test, and what each of them is: what its key is derived by.

Incarnations, epochs and versions are ordinals; of sessions and the numbers of requests, the key has what they are
compared with. A field that has no rule here is part of the key as it is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields
from typing import Any

from checker.conform.graph import Elsewhere, Fields, Graph, LeftOut, Rule, Rules, plain
from checker.conform.system import Ordinal, Structure
from impl.adapters import zookeeper_rules
from impl.adapters.heartbeat import ordinals
from impl.adapters.heartbeat.cluster import Answer, Cluster, ControllerHost, Disk, InFlight, ProcessHost, replica_of
from impl.adapters.rules import OF_CORE, TOLD, in_any_order, of_core
from impl.adapters.zookeeper_rules import UNREAD, election, office, session, znode, znodes
from impl.heartbeat.broker import Broker, BrokerSettings
from impl.heartbeat.control import Control
from impl.heartbeat.control_requests import Endpoint, TopicPartition
from impl.heartbeat.controller import Candidate, Controller
from impl.heartbeat.design import Design
from impl.heartbeat.effects import Ask, Tell
from impl.heartbeat.fence import Fence
from impl.heartbeat.heartbeats import Heartbeats
from impl.heartbeat.isr_changes import IsrChanges
from impl.heartbeat.items import Change, Expire, See
from impl.heartbeat.leader import Asked, Leader
from impl.heartbeat.leaderships import Leaderships
from impl.heartbeat.legacy import LegacyIsrs
from impl.heartbeat.log import Batch, Log
from impl.heartbeat.messages import (
    IsrChangeRequest,
    IsrChangeResponse,
    IsrResult,
    MetadataHeartbeatRequest,
    MetadataHeartbeatResponse,
    PartitionIsr,
    TopicIsr,
)
from impl.heartbeat.partitions import Partition, Partitions
from impl.heartbeat.registration import Registration as BrokerRegistration
from impl.heartbeat.registry import Known, Registry
from impl.heartbeat.registry import Registration as Registered
from impl.heartbeat.replica import Follower, Produced, Replica
from impl.heartbeat.scripts import Context, Scripts
from impl.heartbeat.znodes import BROKER_IDS, BrokerInfo, LeaderAndIsr, read_state, state_path
from impl.zookeeper.model import Client, Tree, ZooKeeper
from impl.zookeeper.model.tree import Transaction
from impl.zookeeper.office import CONTROLLER_SEAT, Seat

SHOWN = Elsewhere("what is observed")


def by_rank(sort: Callable[[int], Ordinal], least: int = 0) -> Rule:
    """An ordinal. Below the least of them are None and what stands for none."""

    def rule(value: int | None, _: Any, graph: Graph) -> Structure:
        return value if value is None or value < least else sort(value)

    return rule


INCARNATION = by_rank(ordinals.incarnation, 1)
LEADER_EPOCH = by_rank(ordinals.leader_epoch)
VERSION = by_rank(ordinals.version)
CONTROLLERS_EPOCH = by_rank(ordinals.controller_epoch)


def incarnations(value: tuple[int, ...], owner: Any, graph: Graph) -> Structure:
    return tuple([INCARNATION(one, owner, graph) for one in value])


# ZooKeeper.


def state_data(value: bytes, _: Any, graph: Graph) -> Structure:
    return graph.of(read_state("", value))


def epoch_data(value: bytes, _: Any, graph: Graph) -> Structure:
    return ordinals.controller_epoch(int(value))


STATE = state_path(TopicPartition("t", 0))
SESSION = session(Cluster)
ZNODES: Fields = {
    **office(Cluster, CONTROLLER_SEAT, epoch_data),
    f"{BROKER_IDS}/": znode(plain, czxid=INCARNATION, mzxid=UNREAD, version=plain, owner=SESSION),
    STATE: znode(state_data, czxid=UNREAD, mzxid=UNREAD, version=VERSION, owner=plain),
}
_TREE = znodes(ZNODES)


def view(value: Tree, client: Client, graph: Graph) -> Structure:
    """A server that lags shows another tree than there is."""
    tree = graph.owner(ZooKeeper).tree
    if not client.session:
        return tuple(value)
    return value is tree or value == tree or _TREE(value, client, graph)


def applied(value: int, client: Client, graph: Graph) -> Structure:
    """What its server has yet to apply."""
    if not client.session:
        return None
    return tuple(graph.of(one) for one in graph.owner(ZooKeeper).pending if one.zxid > value)


# Requests and answers.


def is_awaited(value: int, _: Any, graph: Graph) -> Structure:
    """Whether the process that sent it waits for the answer."""
    core = graph.owner(ProcessHost).core
    return core is not None and (value in core.sent_ms or _asks(core, value))


def _asks(core: Broker, number: int) -> bool:
    return core.leader.asked is not None and core.leader.asked.number == number


def late(value: tuple[InFlight, ...], _: Any, graph: Graph) -> Structure:
    """Whoever sent them waits no more."""
    return tuple([(one.process, graph.of(one.ask.request)) for one in value])


def reply(value: Answer | None, host: ProcessHost, graph: Graph) -> Structure:
    return value and (is_awaited(value.number, value, graph), graph.of(value.response), value.by)


def isr_reply(value: Answer | None, host: ProcessHost, graph: Graph) -> Structure:
    """Nobody looks at an answer that he does not wait for."""
    is_looked_at = value is not None and host.core is not None and _asks(host.core, value.number)
    return graph.of(value.response) if value is not None and is_looked_at else None


def sent_ms(value: Mapping[int, int], _: Any, graph: Graph) -> Structure:
    """The times of heartbeats that may be answered; which they are is beside the request or answer."""
    host = graph.owner(ProcessHost)
    under_way = (host.heartbeat and host.heartbeat.ask.number, host.reply and host.reply.number)
    return tuple([at_ms for number, at_ms in value.items() if number in under_way])


def known_epoch(value: int, _: Any, graph: Graph) -> Structure:
    """Of the controller, where heartbeats and their answers name it."""
    return CONTROLLERS_EPOCH(value, _, graph) if graph.owner(Cluster).design.controller_epoch_in_heartbeat else None


def tells(value: tuple[Tell, ...], _: Any, graph: Graph) -> Structure:
    """By broker: only what is sent to one of them has an order."""
    return tuple([graph.of(one) for one in sorted(value, key=lambda one: one.to.broker)])


def sent(value: Mapping[int, bool], _: Any, graph: Graph) -> Structure:
    """In the order of their numbers, and whether each is under way."""
    numbers = [one.number for one in graph.owner(ControllerHost).tells]
    return tuple([(value[number], number in numbers) for number in sorted(value)])


def place_of(value: int, tell: Tell, graph: Graph) -> Structure:
    """Which one it is of those that its broker is sent."""
    known = graph.owner(ControllerHost).core.registry.brokers.get(tell.to.broker)
    return known is not None and sorted(known.sent).index(value) if known and value in known.sent else None


def acknowledged(value: deque[tuple[int, int, int]], core: Controller, graph: Graph) -> Structure:
    found = []
    for broker, incarnation, number in value:
        known = core.registry.brokers.get(broker)
        numbers = () if known is None else sorted(known.sent)
        place = numbers.index(number) if number in numbers else None
        found.append((broker, INCARNATION(incarnation, core, graph), place))
    return tuple(found)


# Cores.


def in_office(value: Any, _: Any, graph: Graph) -> Structure:
    """Out of office, it remembers what it forgets as the next term begins."""
    return None if graph.owner(Controller).office is None else graph.of(value)


def endpoints(value: Mapping[tuple[int, int], Endpoint], owner: Registry, graph: Graph) -> Structure:
    """Of incarnations that the controller may yet go by, or that it goes by."""
    tree = graph.owner(Cluster).zookeeper.tree
    found = []
    for broker, incarnation in sorted(value):
        znode, known = tree.get(f"{BROKER_IDS}/{broker}"), owner.brokers.get(broker)
        is_registered = znode is not None and znode.stat.czxid == incarnation
        if (
            is_registered
            or (known is not None and known.incarnation <= incarnation)
            or _named(tree, broker, incarnation)
        ):
            found.append((INCARNATION(incarnation, owner, graph), graph.of(value[broker, incarnation])))
    return tuple(found)


def _named(tree: Tree, broker: int, incarnation: int) -> bool:
    state = tree.get(STATE)
    return state is not None and read_state("", state.data).named().get(broker) == incarnation


def on_disk(value: Any, _: Any, graph: Graph) -> Structure:
    """A process that has opened its replica has the log from there."""
    return graph.of(value) if replica_of(graph.owner(ProcessHost)) is None else None


CLUSTER: Fields = {
    "design": plain,
    "zookeeper": plain,
    "processes": plain,
    "controllers": plain,
    "min_insync": plain,
    "late": late,
    "written": SHOWN,
    "acknowledged": SHOWN,
}
PROCESS: Fields = {
    **{field.name: plain for field in fields(ProcessHost)},
    "log": on_disk,
    "reply": reply,
    "isr_reply": isr_reply,
}
BROKER: Fields = {
    "settings": plain,
    "design": plain,
    "open_log": on_disk,
    "sends_heartbeats": plain,
    "context": plain,
    "scripts": plain,
    "is_connected": plain,
    "registration": plain,
    "fence": plain,
    "leader": plain,
    "legacy": plain,
    "target": SHOWN,
    "controller": LeftOut("what it is told by control requests has gone to whom the host sends its requests"),
    "controller_epoch": CONTROLLERS_EPOCH,
    "live": LeftOut("clients are shown it, and none is driven"),
    "shown": LeftOut("clients are shown it, and none is driven"),
    "number": LeftOut("it only tells requests apart"),
    "sent_ms": sent_ms,
}
CONTROLLER_CORE: Fields = {
    "broker": plain,
    "design": plain,
    "sends_heartbeats": plain,
    "policy": plain,
    "election": plain,
    "seen": TOLD,
    "office": plain,
    "has_begun": plain,
    "is_connected": plain,
    "is_in_touch": plain,
    "call": plain,
    "waiting": plain,
    "serving": plain,
    "parked": plain,
    "acknowledged": acknowledged,
    "context": plain,
    "scripts": plain,
    "registry": plain,
    "partitions": in_office,
    "heartbeats": plain,
    "isr_changes": plain,
    "control": plain,
    "leaderships": plain,
}
REGISTRY: Fields = {
    "context": OF_CORE,
    "timeout_ms": plain,
    "registered": in_office,
    "stale": in_office,
    "is_list_stale": in_office,
    "brokers": in_office,
    "stopping": in_office,
    "unsent": in_office,
    "endpoints": endpoints,
    "leases": in_office,
}


_VALUES = (
    Disk, ControllerHost, Design, BrokerSettings, BrokerInfo, TopicPartition, Endpoint, Tell, Partition,
    LeaderAndIsr, Asked, Follower, Produced, Replica, Batch, MetadataHeartbeatRequest, MetadataHeartbeatResponse,
    IsrChangeRequest, IsrChangeResponse, IsrResult, PartitionIsr, TopicIsr, See, Expire, Change, Transaction, Seat,
    Known, Registered, Ask,
)  # fmt: skip
_OTHERWISE: dict[type, Fields] = {
    Disk: {"log": on_disk},
    ControllerHost: {"tells": tells},
    Tell: {"incarnation": INCARNATION, "number": place_of},
    Partition: {"version": VERSION},
    LeaderAndIsr: {
        "leader_epoch": LEADER_EPOCH,
        "controller_epoch": CONTROLLERS_EPOCH,
        "incarnations": incarnations,
    },
    Asked: {"number": Elsewhere("the request or the answer, as one that is awaited")},
    Follower: {"incarnation": INCARNATION},
    Replica: {"leader_epoch": LEADER_EPOCH, "version": VERSION, "controller_epoch": CONTROLLERS_EPOCH},
    Batch: {"leader_epoch": LEADER_EPOCH},
    MetadataHeartbeatRequest: {"incarnation_id": INCARNATION, "controller_epoch": known_epoch},
    MetadataHeartbeatResponse: {"incarnation_id": INCARNATION, "controller_epoch": known_epoch},
    IsrChangeRequest: {"incarnation_id": INCARNATION},
    IsrResult: {"leader_epoch": LEADER_EPOCH, "version": VERSION},
    PartitionIsr: {
        "leader_epoch": LEADER_EPOCH,
        "version": VERSION,
        "incarnations": incarnations,
    },
    Transaction: {"zxid": Elsewhere("the clients that lack it"), "tree": _TREE},
    Known: {"incarnation": INCARNATION, "contact_ms": TOLD, "sent": sent},
    Registered: {"czxid": INCARNATION},
    Ask: {"number": is_awaited, "controller": LeftOut("the host sends its requests to whom it takes for active")},
}
RULES: Rules = {
    Cluster: CLUSTER,
    ProcessHost: PROCESS,
    ZooKeeper: {**zookeeper_rules.ZOOKEEPER, "tree": _TREE, "pending": Elsewhere("the clients that lack them")},
    Client: {
        **zookeeper_rules.CLIENT,
        "session": SESSION,
        "applied": applied,
        "view": view,
        "data_watches": plain,
    },
    Broker: BROKER,
    Controller: CONTROLLER_CORE,
    Registry: REGISTRY,
    **election(Cluster, CONTROLLER_SEAT, ordinals.controller_epoch),
    Candidate: {"resigns": plain},
    Context: {"now_ms": LeftOut("every input says what time it is"), "zxid": TOLD, "effects": plain},
    Scripts: {
        "lane": plain,
        "context": OF_CORE,
        "queue": in_any_order,
        "running": plain,
        "_results": LeftOut("those of the last script; none runs between two steps"),
        "_first": LeftOut("it only tells operations apart, and none is under way between two steps"),
    },
    BrokerRegistration: {
        **of_core("context"), "design": plain,
        "broker": plain,
        "info": plain,
        "session_timeout_ms": plain,
        "session": SESSION,
        "owned": INCARNATION,
        "incarnation": INCARNATION,
    },
    Fence: {
        **of_core("context"), "design": plain,
        "broker": plain,
        "timeout_ms": plain,
        "is_fenced": SHOWN,
        "state": TOLD,
        "end_ms": plain,
        "answered_ms": TOLD,
    },
    Leader: {
        **of_core("context"),
        **dict.fromkeys(("design", "lag_ms", "min_insync", "replicas", "asked"), plain),
    },
    LegacyIsrs: {**of_core("context", "leader"), "design": plain},
    Log: {"batches": plain},
    Partitions: {
        **of_core("context", "registry"), "design": plain,
        "known": plain,
        "of_replica": plain,
        "leaderless": plain,
        "former": plain,
        "moved": plain,
        "is_list_stale": plain,
    },
    Heartbeats: {
        **of_core("context", "registry", "partitions"), "design": plain,
        "answers": LeftOut("each would be made again as it is"),
    },
    IsrChanges: {**of_core("context", "registry", "partitions"), "design": plain},
    Control: {
        **of_core("context", "registry", "partitions"), "design": plain,
        "broker": plain,
        "numbers": LeftOut("it only tells requests apart"),
        "live": in_office,
        "is_live_stale": in_office,
    },
    Leaderships: {**of_core("context", "registry", "partitions", "control"), "design": plain, "unsettled": plain},
    **{kind: {**{field.name: plain for field in fields(kind)}, **_OTHERWISE.get(kind, {})} for kind in _VALUES},
}  # fmt: skip
GRAPH = Graph(RULES)


def key(cluster: Cluster) -> Hashable:
    """All that decides the cluster's next steps besides what is shown, read off its objects."""
    return GRAPH.read(cluster)
