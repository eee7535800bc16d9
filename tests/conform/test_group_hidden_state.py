"""Nothing that a core of groups remembers can hide, and what its key leaves out decides nothing."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from checker.conform.check import ConformOptions, conform
from checker.lang.loader import BoundModel, load
from impl.adapters.group import SYSTEM, broker_steps, steps
from impl.adapters.group.cluster import NOW_MS, Channel, Cluster, by_consumer, copied
from impl.adapters.group.state_rules import RULES, ZNODES
from impl.group.consumer import Consumer, State
from impl.group.coordinator import Coordinator
from impl.group.effects import Effects, Timer, Timing
from impl.group.protocol import PingRequest, PingResponse, RequestToConsumer, ResponseOfConsumer
from tests.conform.perturbed import unnoticed
from tests.conform.twins import Change, assert_twin_does_the_same, left_out
from tests.conform.zookeeper_changes import FAR, LATER_NUMBERS, later_numbers, other_stats

# Planted: each shows on one of several ways to the same state only.


class WearsOut(Coordinator):
    """After three responses, it hears none."""

    heard_of = 0

    def on_response(self, connection: int, response: ResponseOfConsumer, now_ms: int) -> Effects:
        self.heard_of += 1
        return super().on_response(connection, response, now_ms) if self.heard_of <= 3 else []


class GivesUp(Consumer):
    """It takes three requests, and no other."""

    taken = 0

    def on_request(self, request: RequestToConsumer, now_ms: int) -> Effects:
        self.taken += 1
        return super().on_request(request, now_ms) if self.taken <= 3 else []


@pytest.mark.long("a product for each")
@pytest.mark.parametrize("made", [WearsOut, GivesUp])
def test_is_found(made: type[Coordinator | Consumer], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "Consumer", made if issubclass(made, Consumer) else Consumer)
    if issubclass(made, Coordinator):
        monkeypatch.setattr(broker_steps, "coordinator_of", made)
    model = load("group/pings", {"records": "0"}, "repaired")
    assert conform(model, SYSTEM, "faulty", ConformOptions(jobs=1)).verdict == "diverges"


# Left out.


def with_cores(
    cluster: Cluster,
    coordinator: Callable[[Coordinator], None] = lambda core: None,
    consumer: Callable[[Consumer], None] = lambda core: None,
) -> Cluster:
    """The cluster with other cores. The functions are given copies that they may change."""
    for number, broker in enumerate(cluster.brokers):
        if broker.core is not None:
            core = copied(broker.core)
            coordinator(core)
            cluster = cluster.with_broker(number, replace(broker, core=core))
    for number, host in enumerate(cluster.consumers):
        if host.core is not None:
            other = copied(host.core)
            consumer(other)
            cluster = cluster.with_consumer(number, replace(host, core=other))
    return cluster


def other_log(rng: random.Random, cluster: Cluster) -> Cluster:
    """What the log, metrics and operators are told is something else."""

    def of_coordinator(core: Coordinator) -> None:
        core.context.zxid = rng.randint(0, FAR)
        core.pings.failed_pings, core.pings.times_ms = rng.randint(0, 9), [7]
        for group in core.groups.values():
            group.cause = rng.choice(("", "another"))
            if group.rebalance is not None:
                group.rebalance.cause = rng.choice(("", "another"))
                group.rebalance.began_ms, group.rebalance.phase_ms = rng.randint(0, 9), rng.randint(0, 9)

    def of_consumer(core: Consumer) -> None:
        core.context.zxid, core.attempt = rng.randint(0, FAR), rng.randint(0, FAR)

    return with_cores(cluster, of_coordinator, of_consumer)


def other_numbers(rng: random.Random, cluster: Cluster) -> Cluster:
    """There were more connections, operations and readings before."""

    def of_coordinator(core: Coordinator) -> None:
        core.rebalances._readings += rng.randint(0, 9)
        core.scripts._last_id += rng.randint(0, 9)

    def of_consumer(core: Consumer) -> None:
        core._connections += rng.randint(0, 9)

    more = replace(cluster, connections=cluster.connections + rng.randint(0, 9))
    return with_cores(more, of_coordinator, of_consumer)


def other_brokers_asked(rng: random.Random, cluster: Cluster) -> Cluster:
    """A consumer that looks for the coordinator asks another broker, or waits."""
    for number, host in enumerate(cluster.consumers):
        if host.core is not None and host.core.state is State.STARTING and host.connecting is not None:
            core, connection = copied(host.core), host.connecting.connection
            effects = core.on_closed(connection, NOW_MS) or core.on_timer(Timer(Timing.START), NOW_MS)
            cluster = by_consumer(cluster, number, core, effects) if rng.random() < 0.5 else cluster
    return cluster


def other_times(rng: random.Random, cluster: Cluster) -> Cluster:
    """The last input came at another time."""

    def of_core(core: Coordinator | Consumer) -> None:
        core.context.now_ms = rng.randint(0, FAR)

    return with_cores(cluster, of_core, of_core)


def other_timers(rng: random.Random, cluster: Cluster) -> Cluster:
    """Of what is due, and when, nothing is left."""

    def of_coordinator(core: Coordinator) -> None:
        core.pings.clear()
        core.pings._entries += rng.randint(0, 9)

    return with_cores(cluster, of_coordinator)


def other_parents(rng: random.Random, cluster: Cluster) -> Cluster:
    """A coordinator does not remember which parents of znodes it has made."""
    return with_cores(cluster, lambda core: core.store._made.clear())


def other_echoes(rng: random.Random, cluster: Cluster) -> Cluster:
    """Messages under way have another number where nobody looks at it."""

    def changed(channel: Channel) -> Channel:
        registration = channel.registration
        if registration is not None:
            registration = replace(registration, coordinator_epoch=rng.randint(0, FAR))
        requests = tuple(
            replace(one, attempt=rng.randint(0, FAR)) if isinstance(one, PingRequest) else one
            for one in channel.requests
        )
        responses = tuple(
            replace(one, attempt=rng.randint(0, FAR)) if isinstance(one, PingResponse) else one
            for one in channel.responses
        )
        return replace(channel, registration=registration, requests=requests, responses=responses)

    return replace(cluster, channels=tuple(map(changed, cluster.channels)))


other_facts, FACTS = other_stats(ZNODES)
other_facts.__name__ = "other_facts"

CHANGES: dict[Change, set[str]] = {
    other_log: {
        "Context.zxid", "Pings.failed_pings", "Pings.times_ms", "Group.cause", "Rebalance.cause", "Rebalance.began_ms",
        "Rebalance.phase_ms", "Consumer.attempt",
    },
    other_numbers: {"Cluster.connections", "Rebalances._readings", "Scripts._last_id", "Consumer._connections"},
    other_brokers_asked: {"Consumer._next_broker", "Consumer._waits"},
    other_times: {"Context.now_ms"},
    other_timers: {"Pings._heap", "Pings._entries", "Pings._timer_ms"},
    other_parents: {"Store._made"},
    other_echoes: {"RegisterConsumerRequest.coordinator_epoch", "PingRequest.attempt", "PingResponse.attempt"},
    later_numbers: LATER_NUMBERS,
    other_facts: FACTS,
}  # fmt: skip
MODELS = {
    "pings": ("pings", {"records": "0"}, "shipped"),
    "failover": ("failover", {"consumers": "1"}, "repaired"),
    "section2": ("section2", {"consumers": "1", "max_crashes": "0"}, "repaired"),
}


def model(name: str) -> BoundModel:
    of, changes, setting = MODELS[name]
    return load(f"group/{of}", changes, setting)


def test_every_field_that_is_left_out_is_changed_here() -> None:
    assert left_out(RULES, {"znode": ZNODES}) == set().union(*CHANGES.values())


@pytest.mark.sample(1, verify=8)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_twin_does_the_same(change: Change, name: str) -> None:
    assert_twin_does_the_same(model(name), SYSTEM, change)


@pytest.mark.long("every field is changed in every state, until that is noticed")
def test_every_other_field_is_noticed() -> None:
    assert unnoticed(SYSTEM, map(model, MODELS), left_out(RULES, {"znode": ZNODES})) == set()
