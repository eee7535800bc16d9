"""Nothing that a core of heartbeats remembers can hide, and what its key leaves out decides nothing."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from checker.lang.loader import load
from impl.adapters.heartbeat import SYSTEM, steps
from impl.adapters.heartbeat import cluster as hosts
from impl.adapters.heartbeat.cluster import Cluster, copied
from impl.adapters.heartbeat.state_rules import RULES, ZNODES
from impl.heartbeat.broker import Broker
from impl.heartbeat.controller import Controller
from impl.heartbeat.effects import Effects, RequestToController, ResponseOfController
from impl.heartbeat.messages import BrokerState
from tests.conform.perturbed import unnoticed
from tests.conform.planted import is_found
from tests.conform.twins import Change, assert_twin_does_the_same, left_out
from tests.conform.zookeeper_changes import FAR, LATER_NUMBERS, later_numbers, other_stats

# Planted: each shows on one of several ways to the same state only.


class WearsOut(Controller):
    """After six requests, it answers none."""

    requests = 0

    def on_request(self, call: int, request: RequestToController, now_ms: int) -> Effects:
        self.requests += 1
        return super().on_request(call, request, now_ms) if self.requests <= 6 else []


class GivesUp(Broker):
    """It takes four answers, and no other."""

    taken = 0

    def on_response(self, number: int, response: ResponseOfController, now_ms: int) -> Effects:
        self.taken += 1
        return super().on_response(number, response, now_ms) if self.taken <= 4 else []


@pytest.mark.long("a product for each")
@pytest.mark.parametrize("made", [WearsOut, GivesUp])
def test_is_found(made: type[Controller | Broker], monkeypatch: pytest.MonkeyPatch) -> None:
    model = load("heartbeat/leases", {"max_silences": "0"}, "repaired")
    assert is_found(made, (hosts, steps), model, SYSTEM, monkeypatch)


# Left out.


def with_cores(
    cluster: Cluster, broker: Callable[[Broker], None], controller: Callable[[Controller], None] = lambda core: None
) -> Cluster:
    """The cluster with other cores. The functions are given copies that they may change."""
    processes = list(cluster.processes)
    for number, host in enumerate(processes):
        if host.core is not None:
            core = copied(host.core)
            broker(core)
            processes[number] = replace(host, core=core)
    controllers = list(cluster.controllers)
    for number, other in enumerate(controllers):
        leader = copied(other.core)
        controller(leader)
        controllers[number] = replace(other, core=leader)
    return replace(cluster, processes=tuple(processes), controllers=tuple(controllers))


def other_log(rng: random.Random, cluster: Cluster) -> Cluster:
    """What the log, metrics and clients are told is something else."""

    def of_broker(core: Broker) -> None:
        core.fence.state, core.fence.answered_ms = rng.choice(tuple(BrokerState)), rng.choice((None, 7))
        core.live, core.shown = (), {}
        core.context.zxid = rng.randint(0, FAR)

    def of_controller(core: Controller) -> None:
        core.seen = rng.choice((None, 0, 1))
        core.context.zxid = rng.randint(0, FAR)
        for known in core.registry.brokers.values():
            known.contact_ms = rng.choice((None, 7))

    return with_cores(cluster, of_broker, of_controller)


def other_numbers(rng: random.Random, cluster: Cluster) -> Cluster:
    """There were more requests and operations before."""

    def of_scripts(scripts: Any) -> None:
        scripts._first += rng.randint(0, 9)
        scripts._results = [None] * rng.randint(0, 3)

    def of_broker(core: Broker) -> None:
        core.number += rng.randint(0, 9)
        of_scripts(core.scripts)

    def of_controller(core: Controller) -> None:
        core.control.numbers += rng.randint(0, 9)
        of_scripts(core.scripts)

    return with_cores(cluster, of_broker, of_controller)


def other_controllers(rng: random.Random, cluster: Cluster) -> Cluster:
    """Brokers were told of another controller, by which the host does not go."""

    def of_broker(core: Broker) -> None:
        core.controller = rng.choice((None, 0, FAR))

    changed = with_cores(cluster, of_broker)
    processes = list(changed.processes)
    for number, host in enumerate(processes):
        heartbeat, change = host.heartbeat, host.change
        if heartbeat is not None:
            heartbeat = heartbeat._replace(ask=replace(heartbeat.ask, controller=rng.choice((None, FAR))))
        if change is not None:
            change = change._replace(ask=replace(change.ask, controller=rng.choice((None, FAR))))
        processes[number] = replace(host, heartbeat=heartbeat, change=change)
    return replace(changed, processes=tuple(processes))


def other_times(rng: random.Random, cluster: Cluster) -> Cluster:
    """The last input came at another time."""

    def of_core(core: Broker | Controller) -> None:
        core.context.now_ms = rng.randint(0, FAR)

    return with_cores(cluster, of_core, of_core)


def other_answers(rng: random.Random, cluster: Cluster) -> Cluster:
    """The answers that a controller has at hand are made again."""
    return with_cores(cluster, lambda core: None, lambda core: core.heartbeats.answers.clear())


other_facts, FACTS = other_stats(ZNODES)
other_facts.__name__ = "other_facts"

CHANGES: dict[Change, set[str]] = {
    other_log: {
        "Controller.seen", "Known.contact_ms", "Context.zxid", "Fence.state", "Fence.answered_ms", "Broker.live",
        "Broker.shown",
    },
    other_numbers: {
        "Broker.number", "Control.numbers", "Scripts._first", "Scripts._results",
    },
    other_controllers: {"Broker.controller", "Ask.controller"},
    other_times: {"Context.now_ms"},
    other_answers: {"Heartbeats.answers"},
    later_numbers: LATER_NUMBERS,
    other_facts: FACTS,
}  # fmt: skip
MODELS = {
    "leases": ("leases", {"max_silences": "0"}, "repaired"),
    "failover": ("failover", {"records": "0", "max_expiries": "0"}, "repaired"),
    "legacy": ("legacy", {"records": "0", "max_silences": "0", "max_crashes": "0"}, "repaired"),
}


def test_every_field_that_is_left_out_is_changed_here() -> None:
    assert left_out(RULES, {"znode": ZNODES}) == set().union(*CHANGES.values())


@pytest.mark.sample(1, verify=5)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_twin_does_the_same(change: Change, model: str) -> None:
    name, changes, setting = MODELS[model]
    assert_twin_does_the_same(load(f"heartbeat/{name}", changes, setting), SYSTEM, change)


OF_A_WRITE = {"Election.last", "Epoch.epoch", "Epoch.version"}
"""Of an election whose write is under way, which here it never is between two steps."""
FURTHER = {
    "a view that lags": ("sessions", {"records": "0"}, "repaired"),
    "restarts": ("disk_and_failover", {}, "repaired"),
}


@pytest.mark.long("every field is changed in every state, until that is noticed")
def test_every_other_field_is_noticed() -> None:
    models = (load(f"heartbeat/{name}", changes, setting) for name, changes, setting in (MODELS | FURTHER).values())
    assert unnoticed(SYSTEM, models, left_out(RULES, {"znode": ZNODES}) | OF_A_WRITE) == set()
