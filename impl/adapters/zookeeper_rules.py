"""The fields of the ZooKeeper in memory, and what each of them is: what keys of clusters that have one are derived by.

Every server applies each transaction at once: a view of the tree is the tree, or the key says that it is not.
"""

from __future__ import annotations

from functools import partial

from checker.conform.graph import By, Elsewhere, Fields, Graph, LeftOut, Rule, Rules, plain
from checker.conform.system import Structure
from impl.zookeeper.model import Client, Tree, ZooKeeper

GREATEST = LeftOut("what is issued next is greater than whatever there is")
UNREAD = LeftOut("nobody reads it")
IN_A_SCRIPT = LeftOut("who compares it has read it in the same script, and so in the same step")


def is_newest(value: int, client: Client, graph: Graph) -> Structure:
    return value == graph.owner(ZooKeeper).zxid if client.session else value


def is_tree(value: Tree, client: Client, graph: Graph) -> Structure:
    tree = graph.owner(ZooKeeper).tree
    return (value is tree or value == tree) if client.session else tuple(value)


def znode(data: Rule | LeftOut | Elsewhere, **stat: Rule | LeftOut | Elsewhere) -> By:
    """The rules for a znode. stat: of the fields of its Stat."""
    return By({"data": data, "stat": By(stat)})


def znodes(rules: Fields) -> Rule:
    """A tree. rules: by path; one that ends with `/` is of all znodes below. Any other znode is as it is."""

    def read(graph: Graph, tree: Tree) -> Structure:
        found = []
        for path, one in sorted(tree.items()):
            rule = rules.get(path) or rules.get(path.rpartition("/")[0] + "/", plain)
            if not isinstance(rule, LeftOut | Elsewhere):
                found.append((path, rule(one, tree, graph)))
        return tuple(found)

    return lambda value, _, graph: graph.once(value, partial(read, graph))


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
