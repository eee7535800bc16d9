"""Simulated clusters with brokers of Apache Kafka's keep every rule, and the spec accepts what our controllers decide
for them; a broker that is changed in one place is found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from impl.apache.brokers import KafkaBrokers, KafkaReplicas
from impl.apache.jvm import Jvm
from impl.apache.lifecycle import KafkaLifecycle
from impl.apache.release import missing
from impl.apache.simulation import main
from impl.apache.voters import jvm_of_voters
from impl.kraft.messages import BrokerHeartbeatResponse
from impl.kraft.simulation.invariants import BrokenRuleError
from impl.kraft.simulation.replicas import Replicas
from impl.kraft.simulation.swarm import cluster_plan_of
from tests.impl.kraft.simulation.decided import RecordedCluster, judged

VERSION = "4.3.1"
WHY = missing(VERSION)
SEEDS = range(12)

pytestmark = [
    pytest.mark.skipif(bool(WHY), reason=WHY or "there is a released broker"),
    pytest.mark.xdist_group("apache"),
]


class Recorded(KafkaBrokers, RecordedCluster):
    pass


@pytest.fixture(scope="module")
def jvm() -> Iterator[Jvm]:
    with closing(jvm_of_voters(VERSION)) as found:
        yield found


@pytest.mark.long("a JVM, and a kernel for each count of brokers")
@pytest.mark.parametrize("mixed", [False, True], ids=["of Kafka", "mixed"])
def test_runs_keep_the_rules_and_are_accepted(jvm: Jvm, mixed: bool) -> None:
    traces: dict[int, dict[str, str]] = {}
    for seed in SEEDS:
        plan = cluster_plan_of(seed)
        run = Recorded(jvm, plan, mixed=mixed)
        run.go()
        if plan.swarm.brokers < 4:
            traces.setdefault(plan.swarm.brokers, {}).update(run.traces())
    assert sum(map(len, traces.values())) >= 10
    for brokers, texts in traces.items():
        summary = judged(brokers, texts)
        assert summary.counts["accepted"] == len(texts), summary.verdicts


@pytest.mark.long("two JVMs")
def test_the_same_seed_is_the_same_run(jvm: Jvm) -> None:
    with closing(jvm_of_voters(VERSION)) as other:
        first, second = (KafkaBrokers(one, cluster_plan_of(0)).go() for one in (jvm, other))
    assert first == second


# What is broken is found.

DROPS = 18
"""A seed in which a leader drops a change of the ISR that is under way (docs/findings/kip-631.md)."""


@pytest.mark.long("a JVM")
def test_a_leader_that_drops_what_it_has_asked_for_is_found(jvm: Jvm, monkeypatch: pytest.MonkeyPatch) -> None:
    run = KafkaBrokers(jvm, cluster_plan_of(DROPS))
    run.go()
    assert run.of_kafka.dropped
    monkeypatch.setattr(KafkaReplicas, "reckons_with", Replicas.reckons_with)
    with pytest.raises(BrokenRuleError, match="S12: 5 reckons with"):
        KafkaBrokers(jvm, cluster_plan_of(DROPS)).go()


@pytest.mark.long("a JVM")
def test_a_broker_that_is_told_nothing_stays_fenced(jvm: Jvm, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = KafkaLifecycle.on_response

    def never_caught_up(lifecycle: KafkaLifecycle, request: Any, response: Any, now_ms: int) -> Any:
        if isinstance(response, BrokerHeartbeatResponse):
            response = BrokerHeartbeatResponse(response.error, False, response.is_fenced, response.should_shut_down)
        return answer(lifecycle, request, response, now_ms)

    monkeypatch.setattr(KafkaLifecycle, "on_response", never_caught_up)
    with pytest.raises(AssertionError, match="brokers are fenced"):
        KafkaBrokers(jvm, cluster_plan_of(0)).go()


@pytest.mark.long("a JVM")
def test_the_command_tells_how_many_are_broken(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([VERSION, "--brokers", "--seeds", "1"]) == 0
    assert "1 runs, " in capsys.readouterr().out
