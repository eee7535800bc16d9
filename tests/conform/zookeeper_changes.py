"""Changes of the ZooKeeper in memory that keys of clusters leave out, for twins of every design that has one."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from checker.conform.graph import By, Fields, LeftOut
from impl.adapters.zookeeper_rules import rule_of
from impl.zookeeper.model import Tree, ZooKeeper
from tests.conform.twins import Change

FAR = 1_000_000
"""Above whatever is issued in a short behaviour."""


def with_tree(zookeeper: ZooKeeper, tree: Tree) -> ZooKeeper:
    """The service with another tree, as all who have a session see it."""
    clients = tuple(replace(one, view=tree) if one.session else one for one in zookeeper.clients)
    return replace(zookeeper, tree=tree, clients=clients)


def later_numbers(rng: random.Random, cluster: Any) -> Any:
    """There were further transactions and sessions, of others."""
    before: ZooKeeper = cluster.zookeeper
    zxid = before.zxid + rng.randint(1, 9)
    clients = tuple(replace(one, applied=zxid) if one.session else one for one in before.clients)
    last_session = before.last_session + rng.randint(1, 9)
    return replace(cluster, zookeeper=replace(before, zxid=zxid, last_session=last_session, clients=clients))


LATER_NUMBERS = {"ZooKeeper.zxid", "ZooKeeper.last_session"}


def other_stats(rules: Fields) -> tuple[Change, set[str]]:
    """Facts about znodes that are left out, each with another value; and which these are.

    rules: as `impl.adapters.zookeeper_rules.znodes` takes them.
    """
    found: dict[str, list[str]] = {}
    for path, rule in rules.items():
        if isinstance(rule, By):
            stat = rule.fields["stat"]
            assert isinstance(stat, By)
            found[path] = [name for name, one in stat.fields.items() if isinstance(one, LeftOut)]

    def changed(rng: random.Random, cluster: Any) -> Any:
        tree = cluster.zookeeper.tree
        by_rule = {id(rules[path]): names for path, names in found.items()}
        for path, znode in sorted(tree.items()):
            names = by_rule.get(id(rule_of(path, rules)), ())
            stat = replace(znode.stat, **{name: rng.randint(FAR, 2 * FAR) for name in names})
            tree = tree.with_znode(path, replace(znode, stat=stat))
        return replace(cluster, zookeeper=with_tree(cluster.zookeeper, tree))

    return changed, {f"znode.{path}.stat.{name}" for path, names in found.items() for name in names}
