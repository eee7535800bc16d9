"""What the key of a cluster leaves out decides nothing: a twin in which it is changed all the time does the same."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from checker.lang.loader import load
from impl.adapters.pinning import SYSTEM
from impl.adapters.pinning.cluster import Cluster, Host
from impl.adapters.pinning.core import PythonCore
from impl.adapters.pinning.state_rules import RULES, ZNODES
from impl.adapters.pinning.system import PinningUnderTest
from impl.pinning.broker import Path
from impl.pinning.effects import Timer
from impl.pinning.member import Holder, Phase
from impl.pinning.znodes import BROKER_IDS
from impl.zookeeper.office import CONTROLLER, Epoch
from tests.conform.perturbed import unnoticed
from tests.conform.twins import Change, assert_twin_does_the_same, left_out
from tests.conform.zookeeper_changes import FAR, LATER_NUMBERS, later_numbers, other_stats, with_tree


def with_cores(cluster: Cluster, change: Callable[[Host, Any], None]) -> Cluster:
    """The cluster with other cores. The function is given copies that it may change, each with its host."""

    def changed(host: Host) -> Host:
        if host.core is None:
            return host
        core = host.core.copy()
        change(host, core)
        return replace(host, core=core)

    return replace(cluster, hosts=tuple(map(changed, cluster.hosts)))


def other_log(rng: random.Random, cluster: Cluster) -> Cluster:
    """Brokers know of others in office, before them and now, and where they read that."""

    def changed(_: Host, core: Any) -> None:
        member = core.member
        member.controller, member.ended = rng.choice((None, 0, 1)), rng.choice((None, 7))
        member.former = rng.choice((None, Holder(0, FAR), Holder(1, 1)))
        member.zxid = rng.randint(0, FAR)
        member.seen = member.seen and replace(member.seen, request=rng.randint(0, FAR))

    return with_cores(cluster, changed)


def other_items(rng: random.Random, cluster: Cluster) -> Cluster:
    """Another item was the last that a broker has handled."""

    def changed(_: Host, core: Any) -> None:
        core.under_way = rng.choice((Path(CONTROLLER), Timer.DECIDE))

    return with_cores(cluster, changed)


def other_ids(rng: random.Random, cluster: Cluster) -> Cluster:
    """A broker had submitted more operations before, or fewer."""

    def changed(_: Host, core: Any) -> None:
        core.awaited = rng.randint(0, FAR)

    return with_cores(cluster, changed)


def other_versions(rng: random.Random, cluster: Cluster) -> Cluster:
    """What a broker has decided, it decided at another version of the same epoch."""

    def changed(_: Host, core: Any) -> None:
        decided = core.member.decided
        core.member.decided = decided and Epoch(decided.epoch, rng.randint(0, FAR))

    return with_cores(cluster, changed)


def other_registrations(rng: random.Random, cluster: Cluster) -> Cluster:
    """Brokers are registered or not, by a session of theirs or by one that is over."""
    tree = cluster.zookeeper.tree
    for name in tree.children(BROKER_IDS):
        path = f"{BROKER_IDS}/{name}"
        stat = replace(tree[path].stat, owner=rng.choice((1, FAR)))
        tree = rng.choice((tree.without(path), tree.with_znode(path, replace(tree[path], stat=stat))))
    return replace(cluster, zookeeper=with_tree(cluster.zookeeper, tree))


other_facts, FACTS = other_stats(ZNODES)
other_facts.__name__ = "other_facts"

CHANGES: dict[Change, set[str]] = {
    other_log: {"Member.controller", "Member.former", "Member.ended", "Member.zxid", "Seen.request"},
    other_items: {"Broker.under_way"},
    other_ids: {"Broker.awaited"},
    other_versions: {"Member.decided.version"},
    later_numbers: LATER_NUMBERS,
    other_registrations: {f"znode.{BROKER_IDS}/"},
    other_facts: FACTS,
}

# What the rules do not tell apart.


def other_ended_sessions(rng: random.Random, cluster: Cluster) -> Cluster:
    """A session that is over was another one."""
    alive = cluster.zookeeper.sessions

    def other(session: int) -> int:
        return rng.randint(FAR, 2 * FAR) if session and session not in alive else session

    def changed(_: Host, core: Any) -> None:
        core.member.session, core.started = other(core.member.session), other(core.started)

    clients = tuple(replace(one, session=other(one.session)) for one in cluster.zookeeper.clients)
    return replace(with_cores(cluster, changed), zookeeper=replace(cluster.zookeeper, clients=clients))


def other_hung(rng: random.Random, cluster: Cluster) -> Cluster:
    """A broker that hangs had done something else before, and has other watches."""

    def changed(host: Host, core: Any) -> None:
        if host.hangs:
            core.queue, core.member.phase = [Timer.BEGIN], rng.choice(tuple(Phase))

    clients = list(cluster.zookeeper.clients)
    for broker, host in enumerate(cluster.hosts):
        if host.hangs:
            clients[broker] = replace(clients[broker], data_watches=frozenset(rng.sample((CONTROLLER, BROKER_IDS), 1)))
    return replace(with_cores(cluster, changed), zookeeper=replace(cluster.zookeeper, clients=tuple(clients)))


def other_requests(rng: random.Random, cluster: Cluster) -> Cluster:
    """Where nothing is written, a broker has taken requests of a controller of any epoch."""

    def changed(_: Host, core: Any) -> None:
        core.office.heard = core.office.heard if cluster.writes else rng.choice((None, 0, FAR))

    return with_cores(cluster, changed)


MODELS: dict[str, tuple[str, dict[str, str], str]] = {
    "crash": ("pin", {"brokers": "2"}, "repaired"),
    "draft": ("repin", {"brokers": "2"}, "draft"),
    "takeover": ("takeover", {"brokers": "2"}, "repaired"),
    "expiry": ("expiry", {"brokers": "2"}, "repaired"),
    "former": ("zombie", {}, "draft"),
    "hung": ("hung", {"brokers": "2"}, "repaired"),
    "lost": ("lost_reply", {"max_requests": "1"}, "repaired"),
}
IN: dict[Change, tuple[str, ...]] = {
    other_log: ("crash", "takeover", "former"),
    other_items: ("crash", "expiry"),
    other_ids: ("crash", "former", "lost"),
    other_versions: ("former",),
    later_numbers: ("crash", "takeover"),
    other_registrations: ("crash", "expiry"),
    other_facts: ("crash", "draft", "former"),
    other_ended_sessions: ("expiry", "former"),
    other_hung: ("hung",),
    other_requests: ("crash", "takeover"),
}


def test_every_field_that_is_left_out_is_changed_here() -> None:
    assert left_out(RULES, {"znode": ZNODES}) == set().union(*CHANGES.values())


@pytest.mark.sample(1, verify=8)
@pytest.mark.parametrize(
    ("change", "model"),
    [pytest.param(change, name, id=f"{change.__name__}-{name}") for change, names in IN.items() for name in names],
)
def test_a_twin_does_the_same(change: Change, model: str) -> None:
    name, changes, setting = MODELS[model]
    assert_twin_does_the_same(load(f"pinning/{name}", changes, setting), SYSTEM, change)


@pytest.mark.long("every field is changed in every state, until that is noticed")
def test_every_other_field_is_noticed() -> None:
    models = (load(f"pinning/{name}", changes, setting) for name, changes, setting in MODELS.values())
    assert unnoticed(SYSTEM, models, left_out(RULES, {"znode": ZNODES})) == set()


class Blind(PinningUnderTest):
    """It does not look at timers."""

    def key(self, system: Cluster) -> Any:
        return super().key(replace(system, hosts=tuple(replace(host, timers=frozenset()) for host in system.hosts)))


@pytest.mark.long("as above")
def test_a_field_that_nobody_looks_at_is_named() -> None:
    models = [load("pinning/takeover", {"brokers": "2"})]
    assert "Host.timers" in unnoticed(Blind(PythonCore()), models, left_out(RULES, {"znode": ZNODES}))
