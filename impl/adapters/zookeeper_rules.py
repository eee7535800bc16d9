"""The fields of the ZooKeeper in memory, and what each of them is: what keys of clusters that have one are derived by.

Every server applies each transaction at once: a view of the tree is the tree, or the key says that it is not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from checker.conform.graph import By, Elsewhere, Fields, Graph, LeftOut, Rule, Rules, plain
from checker.conform.system import Ordinal, Structure
from impl.zookeeper.election import Election, Office
from impl.zookeeper.model import Client, Tree, ZooKeeper
from impl.zookeeper.office import Epoch, Seat

GREATEST = LeftOut("what is issued next is greater than whatever there is")
UNREAD = LeftOut("nobody reads it")
IN_A_SCRIPT = LeftOut("who compares it has read it in the same script, and so in the same step")
OTHERS = "*"
"""The path of the rule for znodes that have none of their own."""
OVER, LEFT = "over", "left by one that died"


def is_newest(value: int, client: Client, graph: Graph) -> Structure:
    return value == graph.owner(ZooKeeper).zxid if client.session else value


def is_tree(value: Tree, client: Client, graph: Graph) -> Structure:
    tree = graph.owner(ZooKeeper).tree
    return (value is tree or value == tree) if client.session else tuple(value)


def znode(data: Rule | LeftOut | Elsewhere, **stat: Rule | LeftOut | Elsewhere) -> By:
    """The rules for a znode. stat: of the fields of its Stat."""
    return By({"data": data, "stat": By(stat)})


def rule_of(path: str, rules: Fields) -> Rule | LeftOut | Elsewhere:
    """The rule for a znode: its own, that of the znodes below its parent (`/` at the end), or that of all others."""
    return rules.get(path) or rules.get(path.rpartition("/")[0] + "/") or rules.get(OTHERS, plain)


def znodes(rules: Fields) -> Rule:
    """A tree. rules: by path, as `rule_of` takes them. A znode without a rule is as it is."""

    def read(graph: Graph, tree: Tree) -> Structure:
        found = []
        for path, one in sorted(tree.items()):
            rule = rule_of(path, rules)
            if not isinstance(rule, LeftOut | Elsewhere):
                found.append((path, rule(one, tree, graph)))
        return tuple(found)

    return lambda value, _, graph: graph.once(value, partial(read, graph))


def session(cluster: type[Any]) -> Rule:
    """Whose a session is: it is only ever compared with others, and 0 is none. cluster: the class with a ZooKeeper."""

    def rule(value: int, _: Any, graph: Graph) -> Structure:
        zookeeper = graph.owner(cluster).zookeeper
        if not value:
            return 0
        whose = tuple(number for number, one in enumerate(zookeeper.clients) if one.session == value)
        if value not in zookeeper.sessions:
            return OVER, whose
        return whose or LEFT

    return rule


def is_with_holder(cluster: type[Any], seat: Seat) -> Rule:
    """Whether the office was taken by who has it now, or the epoch raised; by zxid."""

    def rule(value: int, _: Any, graph: Graph) -> Structure:
        held = graph.owner(cluster).zookeeper.tree.get(seat.path)
        return held is not None and value == held.stat.czxid

    return rule


def is_current_version(cluster: type[Any], seat: Seat) -> Rule:
    """Whether nobody has raised the epoch since."""

    def rule(value: int, _: Any, graph: Graph) -> Structure:
        return bool(value == graph.owner(cluster).zookeeper.tree[seat.epoch_path].stat.version)

    return rule


def election(cluster: type[Any], seat: Seat, epoch: Callable[[int], Ordinal]) -> Rules:
    """The rules for an election, an epoch and a term of office. epoch: makes the ordinal of one."""
    is_current = is_current_version(cluster, seat)

    def number(value: int, _: Any, graph: Graph) -> Structure:
        return epoch(value)

    return {
        Election: {
            "seat": plain,
            "broker": plain,
            "policy": Elsewhere("the core that is elected"),
            "id": plain,
            "epoch_with_office": plain,
            "conditional_resign": plain,
            "phase": plain,
            "session": session(cluster),
            "office": plain,
            "created": plain,
            "resigned": plain,
            "last": lambda value, election, graph: graph.of(value) if election.is_awaiting else None,
            "is_awaiting": plain,
            "look_again": plain,
        },
        Epoch: {"epoch": number, "version": is_current},
        Office: {"epoch": number, "epoch_version": is_current, "czxid": is_with_holder(cluster, seat)},
    }


def office(cluster: type[Any], seat: Seat, epoch_data: Rule) -> Fields:
    """The rules for the znodes of an office. epoch_data: what its epoch is."""
    as_current = Elsewhere("the terms of office, as current or not")
    owner = session(cluster)
    return {
        seat.path: znode(plain, czxid=as_current, mzxid=UNREAD, version=plain, owner=owner),
        seat.epoch_path: znode(
            epoch_data, czxid=plain, mzxid=is_with_holder(cluster, seat), version=as_current, owner=plain
        ),
    }


CLIENT: Fields = {
    "is_connected": plain,
    "sent": plain,
    "arriving": plain,
    "applied": is_newest,
    "view": is_tree,
    "child_watches": plain,
}
ZOOKEEPER: Fields = {
    "clients": plain,
    "lagging": plain,
    "timeout_ms": plain,
    "zxid": GREATEST,
    "last_session": GREATEST,
    "sessions": Elsewhere("the clients, as a session that is alive or over"),
    "pending": plain,
}
"""Of a service and its clients, what is the same in every design. The rest: `tree`, `session` and `data_watches`."""
RULES: Rules = {Client: CLIENT, ZooKeeper: ZOOKEEPER}
