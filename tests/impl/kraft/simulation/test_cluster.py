"""Simulated clusters: every rule holds, a run is its plan, and a rule that is left out of a node is found."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random
from uuid import UUID

import pytest

from impl.kraft.image import Image
from impl.kraft.messages import CreateTopicRequest, ListPartitionReassignmentsRequest
from impl.kraft.metadata.core_records import MetadataCodec
from impl.kraft.records import TopicRecord
from impl.kraft.simulation import operators
from impl.kraft.simulation.__main__ import main
from impl.kraft.simulation.cluster import Cluster
from impl.kraft.simulation.invariants import BrokenRuleError, NotRecoveredError
from impl.kraft.simulation.metadata_rules import MetadataRules
from impl.kraft.simulation.shrinking import CALM, failure
from impl.kraft.simulation.swarm import Kind, Plan, Step, cluster_plan_of
from impl.kraft.storage.batches import Record, RecordBatch, encode
from tests.conftest import ROOT
from tests.impl.kraft.simulation.planted import NODE_FAULTS, seeds_until_found

MORE, MOST_SEEDS = 20, 20
RARE = {
    "a snapshot is written after so long": 5,
    "time counts from the last snapshot on": 5,
    "no more is deleted than must be": 3,
    "below 0, no size is too large": 3,
    "below 0, no age is too old": 6,
    "the log before a snapshot goes with those before": 16,
    "a log that is cut to its snapshot knows the epoch of that": 71,
    "a leader goes on to commit once its ISR is smaller": 31,
}
"""The first seed to try of what the first few do not find."""
TOPIC = UUID(int=2)


def test_every_rule_holds() -> None:
    Cluster(cluster_plan_of(0)).go()


@pytest.mark.long("some seconds")
def test_every_rule_holds_in_more_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--cluster", "--first", "1000", "--seeds", str(MORE)]) == 0
    assert capsys.readouterr().out.endswith(" 0 broken\n")


@pytest.mark.long("two processes")
def test_a_seed_is_the_same_run_in_every_process() -> None:
    command = [sys.executable, "-m", "impl.kraft.simulation", "--cluster", "--first", "7", "--seeds", "1"]
    runs = {
        subprocess.run(
            command, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": hash_seed}, check=True, capture_output=True
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(runs) == 1


@pytest.mark.sample(3, verify=15)
@pytest.mark.parametrize("rule", NODE_FAULTS)
def test_a_rule_that_is_left_out_of_a_node_is_found(rule: str) -> None:
    assert seeds_until_found(rule, RARE.get(rule, 0), MOST_SEEDS) is not None


# After the chaos.


def test_brokers_that_do_not_come_into_service_are_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cluster, "recovered", lambda run, number: None)
    assert failure(cluster_plan_of(0)) == "NotRecoveredError: brokers are fenced"


def test_operators_whom_nobody_answers_are_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cluster, "ask", lambda run, number, request: None)
    assert failure(cluster_plan_of(0)) == "NotRecoveredError: no operator is answered"


def test_an_image_that_stays_behind_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cluster, "applied_end", lambda run, number: 3 if number == 1 else 1 << 30)
    with pytest.raises(NotRecoveredError, match="images lack what is answered: of \\[1\\]"):
        Cluster(cluster_plan_of(0)).go()


# What clients are told.


def committed(*names: str) -> MetadataRules:
    """Of a log with one topic a batch."""
    rules, codec = MetadataRules(), MetadataCodec()
    for number, name in enumerate(names):
        value = codec.encode(TopicRecord(name, UUID(int=number)))
        rules.commit(encode(RecordBatch(number, 1, 0, (Record(value),))), number + 1)
    return rules


def test_what_is_acknowledged_must_be_in_the_log_behind_what_was_there() -> None:
    rules, mark = committed("orders", "payments"), operators.mark_of(CreateTopicRequest("payments", UUID(int=1)))
    assert mark is not None
    rules.find(mark, 1)
    with pytest.raises(BrokenRuleError, match=r"S7: .* is not behind 2 of what is committed"):
        rules.find(mark, 2)
    with pytest.raises(BrokenRuleError, match="S7"):
        rules.find(("created", 9), 0)


def test_what_only_reads_is_known_by_no_record() -> None:
    assert operators.mark_of(ListPartitionReassignmentsRequest()) is None


def test_an_image_that_ends_within_a_batch_is_found() -> None:
    rules, image = committed("orders"), Image()
    image.offset = 7
    with pytest.raises(BrokenRuleError, match="S11: node 1 has an image up to 7"):
        rules.is_replay(1, image)


def test_an_operator_of_an_empty_cluster_makes_a_topic() -> None:
    assert isinstance(operators.draw(Random(0), Image(), 1), CreateTopicRequest)


# Plans.


def test_a_plan_of_a_cluster_is_the_same_when_it_is_read_again() -> None:
    plan = cluster_plan_of(3)
    assert Plan.from_json(plan.to_json()) == plan and plan.swarm.brokers
    assert {step.kind for step in plan.schedule} & {Kind.BROKER_KILL, Kind.BROKER_SHUT_DOWN}


def test_a_plan_names_brokers_that_there_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = Plan(0, CALM, (Step(10, Kind.BROKER_KILL, 0, 0),))
    (tmp_path / "plan").write_text(plan.to_json())
    assert main(["--replay", str(tmp_path / "plan")]) == 2
    assert "names node 0, of 0 brokers from 0 on" in capsys.readouterr().err


def test_traces_are_of_the_quorum_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--cluster", "--record", str(tmp_path)])
    assert "by runs without --cluster" in capsys.readouterr().err
