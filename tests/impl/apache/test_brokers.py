"""Simulated clusters with brokers of Apache Kafka's keep every rule, and the spec accepts what our controllers decide
for them; a broker that is changed in one place is found."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from impl.apache.brokers import KafkaBrokers, KafkaReplicas
from impl.apache.jvm import Jvm
from impl.apache.lifecycle import KafkaLifecycle
from impl.apache.release import missing
from impl.apache.simulation import main
from impl.apache.voters import jvm_of_voters
from impl.kraft.broker.fetch import FetchRequest
from impl.kraft.broker.leader import PartitionLeader
from impl.kraft.broker.replica_log import NO_EPOCH, EpochEnd
from impl.kraft.messages import BrokerHeartbeatResponse
from impl.kraft.simulation.invariants import BrokenRuleError
from impl.kraft.simulation.replicas import Replicas
from impl.kraft.simulation.swarm import cluster_plan_of
from tests.impl.apache.jars import skip_without
from tests.impl.apache.simulated import VERSION, accepted, first_broken, negated
from tests.impl.kraft.simulation.decided import RecordedCluster

WHY = missing(VERSION)
SEEDS = range(12)

pytestmark = [
    pytest.mark.skipif(bool(WHY), reason=WHY or "there is a released broker"),
    pytest.mark.xdist_group("apache"),
]


class Recorded(KafkaBrokers, RecordedCluster):
    pass


@pytest.mark.long("a JVM, and a kernel for each count of brokers")
@pytest.mark.parametrize("mixed", [False, True], ids=["of Kafka", "mixed"])
def test_runs_keep_the_rules_and_are_accepted(jvm: Jvm, mixed: bool) -> None:
    assert accepted(partial(Recorded, jvm, mixed=mixed), SEEDS) >= 10


@pytest.mark.long("two JVMs")
def test_the_same_seed_is_the_same_run(jvm: Jvm) -> None:
    with closing(jvm_of_voters(VERSION)) as other:
        first, second = (KafkaBrokers(one, cluster_plan_of(0)).go() for one in (jvm, other))
    assert first == second


# What is broken is found.

DROPS = 18
"""A seed in which a leader drops a change of the ISR that is under way (docs/findings/kip-631.md)."""
NEWER_EPOCHS = 134
"""A seed in which a follower of Kafka has only records of older epochs than its leader, which is ours."""


@pytest.mark.long("a JVM")
def test_a_leader_that_drops_what_it_has_asked_for_is_found(jvm: Jvm, monkeypatch: pytest.MonkeyPatch) -> None:
    run = KafkaBrokers(jvm, cluster_plan_of(DROPS))
    run.go()
    assert run.of_kafka.dropped
    monkeypatch.setattr(KafkaReplicas, "reckons_with", Replicas.reckons_with)
    with pytest.raises(BrokenRuleError, match="S12: 5 reckons with"):
        KafkaBrokers(jvm, cluster_plan_of(DROPS)).go()


@pytest.mark.long("a JVM")
def test_a_leader_of_ours_that_names_no_epoch_where_logs_part_is_found(
    jvm: Jvm, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = PartitionLeader.divergence

    def nameless(leader: PartitionLeader, request: FetchRequest) -> EpochEnd | None:
        end = where(leader, request)
        return EpochEnd(NO_EPOCH, 0) if end == EpochEnd(request.last_fetched_epoch, 0) else end

    monkeypatch.setattr(PartitionLeader, "divergence", nameless)
    with pytest.raises(BrokenRuleError, match=r"D3: .* takes something else for committed"):
        KafkaBrokers(jvm, cluster_plan_of(NEWER_EPOCHS), mixed=True).go()


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
@pytest.mark.parametrize("version", ["4.1.2", "4.2.1", VERSION, "4.4.0"])
def test_the_command_tells_how_many_are_broken(version: str, capsys: pytest.CaptureFixture[str]) -> None:
    skip_without(version)
    assert main([version, "--brokers", "--seeds", "1"]) == 0
    assert "1 runs, " in capsys.readouterr().out


PATCHES = {
    "who is not eligible joins": ("Partition.isReplicaIsrEligible", 0, "replicas do not catch up"),
    "who may join does not": ("Partition.needsExpandIsr", 0, "replicas do not catch up"),
    "who fetches is at another broker epoch": ("Partition.isBrokerEpochIsrEligible", 1, "replicas do not catch up"),
    "who is in sync is not": ("Partition.$anonfun$isFollowerInSync$1", 1, "replicas do not catch up"),
    "the high watermark passes the ISR": ("Partition.$anonfun$maybeIncrementLeaderHW$2", 0, "D8"),
    "the high watermark waits for others": ("Partition.$anonfun$maybeIncrementLeaderHW$2", 1, "D8"),
}
"""Conditions of `kafka.cluster` that are negated: the method, which of its conditions, and what is said."""


@pytest.mark.large("a JVM for each patch")
@pytest.mark.parametrize(("where", "number", "says"), PATCHES.values(), ids=PATCHES)
def test_a_patch_is_found(where: str, number: int, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    libs = negated("kafka_2.13", f"kafka/cluster/{where}", number, tmp_path, monkeypatch)
    with closing(jvm_of_voters(libs)) as patched:
        assert says in first_broken(lambda seed: KafkaBrokers(patched, cluster_plan_of(seed)).go(), SEEDS)
