"""Simulated clusters with controllers of Apache Kafka keep every rule, and the spec accepts what they decide. One that
is changed in one place is found."""

from __future__ import annotations

import os
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from uuid import UUID

import pytest

from impl.apache import jvm as pipe
from impl.apache.controller import ApacheController
from impl.apache.controllers import KafkaClusters, KafkaControllers
from impl.apache.errors import FaultError
from impl.apache.jvm import Jvm
from impl.apache.release import missing
from impl.apache.simulation import main
from impl.kraft.records import Batch, RegisterBrokerRecord, UnfenceBrokerRecord
from impl.kraft.simulation.cluster import CONTROLLER
from impl.kraft.simulation.swarm import cluster_plan_of
from impl.kraft.snapshot import Snapshot
from tests.impl.apache.simulated import VERSION, accepted, first_broken, negated
from tests.impl.kraft.simulation.decided import RecordedCluster

WHY = missing(VERSION)
SEEDS = range(8)
SETTING = "kafka_4_3"

pytestmark = [
    pytest.mark.skipif(bool(WHY), reason=WHY or "there is a released controller"),
    pytest.mark.xdist_group("apache"),
]


class Controllers(KafkaControllers, RecordedCluster):
    pass


class Clusters(KafkaClusters, RecordedCluster):
    pass


@pytest.mark.long("a JVM, and a kernel for each count of brokers")
@pytest.mark.parametrize("mixed", [False, True], ids=["of Kafka", "mixed"])
@pytest.mark.parametrize("brokers", [False, True], ids=["brokers of ours", "brokers of Kafka"])
def test_runs_keep_the_rules_and_are_accepted(jvm: Jvm, brokers: bool, mixed: bool) -> None:
    run_of = partial(Clusters, jvm, mixed=mixed) if brokers else partial(Controllers, VERSION, mixed=mixed)
    assert accepted(run_of, SEEDS, SETTING) > 0


@pytest.mark.long("two JVMs")
def test_the_command_tells_how_many_are_broken(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([VERSION, "--controllers", "--brokers", "--seeds", "1"]) == 0
    assert "1 runs, " in capsys.readouterr().out


def registered(offset: int, broker_id: int) -> Batch:
    record = RegisterBrokerRecord(broker_id, UUID(int=9), offset, (), (), None, fenced=True)
    return Batch(offset, 1, (record,))


@pytest.mark.long("a JVM")
@pytest.mark.parametrize(("count", "is_kept"), [(1, False), (2, True)])
def test_a_controller_that_renounces_forgets_the_record_right_behind_its_snapshot(count: int, is_kept: bool) -> None:
    """OffsetControlManager.endLoadSnapshot takes the end of the snapshot for the offset of a record that it has."""
    controller = ApacheController(VERSION, CONTROLLER)
    controller.load(Snapshot(5, 1, registered(0, 7).records))
    for offset in range(6, 6 + count):
        controller.replay(registered(offset, offset))
    controller.claim(2, 0)
    controller.renounce(0)
    known = Batch(6 + count, 3, (UnfenceBrokerRecord(6, 6),))
    with nullcontext() if is_kept else pytest.raises(FaultError, match="no broker registration found"):
        controller.replay(known)


PATCHES = {
    "who may join an ISR does not": ("ReplicationControlManager.ineligibleReplicasForIsr", 1, "do not catch up"),
    "a shrunk ISR raises the leader epoch": (
        "PartitionChangeBuilder.triggerLeaderEpochBumpForIsrShrinkIfNeeded",
        0,
        "S5",
    ),
    "who may not lead is elected": ("PartitionChangeBuilder.electAnyLeader", 0, "S3"),
    "another epoch of a broker will do": ("ClusterControlManager.checkBrokerEpoch", 1, "images lack"),
    "a broker that may run does not": ("BrokerHeartbeatManager.calculateNextBrokerState", 0, "brokers are fenced"),
    "a reassignment ends at once": ("PartitionChangeBuilder.completeReassignmentIfNeeded", 0, "reports a fault"),
}
"""Conditions that are negated: the method, which of its conditions, and what is said."""


@pytest.mark.large("a JVM for each patch")
@pytest.mark.parametrize(("where", "number", "says"), PATCHES.values(), ids=PATCHES)
def test_a_patch_is_found(where: str, number: int, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    libs = negated("kafka-metadata", f"org/apache/kafka/controller/{where}", number, tmp_path, monkeypatch)
    try:
        assert says in first_broken(lambda seed: KafkaControllers(libs, cluster_plan_of(seed)).go(), SEEDS)
    finally:
        pipe.jvm_of(libs, os.getpid()).close()
