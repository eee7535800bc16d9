"""Simulated quorums of Apache Kafka's own voters keep every rule, and one that is changed in one place is found."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from impl.apache.jvm import Jvm
from impl.apache.quorum import KafkaQuorum, kafka_plan_of
from impl.apache.release import missing
from impl.apache.simulation import main
from impl.apache.voters import FlushNow, KafkaVoter, jvm_of_voters
from impl.kraft.raft.effects import AppendToLog, Persist
from impl.kraft.simulation.recording import Recording
from tests.impl.apache.jars import skip_without
from tests.impl.apache.simulated import VERSION, first_broken, negated
from tests.impl.kraft.simulation.judging import judged

WHY = missing(VERSION)
OTHERS = ("4.0.2", "4.1.2", "4.2.1", "4.4.0")
SEEDS = (2, 3, 4)
"""Of three voters, as the page is."""
MOST_SEEDS = 15

pytestmark = [
    pytest.mark.skipif(bool(WHY), reason=WHY or "there is a released voter"),
    pytest.mark.xdist_group("apache"),
]


@pytest.mark.long("a JVM")
@pytest.mark.parametrize("mixed", [False, True], ids=["of Kafka", "mixed"])
def test_runs_keep_the_rules_and_are_behaviours_of_the_page(jvm: Jvm, mixed: bool) -> None:
    keep_the_rules(jvm, mixed)


@pytest.mark.long("a JVM for each release")
@pytest.mark.parametrize("version", OTHERS)
@pytest.mark.parametrize("mixed", [False, True], ids=["of Kafka", "mixed"])
def test_so_do_runs_of_other_releases(version: str, mixed: bool) -> None:
    """Those before speak older versions of the requests, which ours speak with them."""
    skip_without(version)
    with closing(jvm_of_voters(version)) as other:
        keep_the_rules(other, mixed)


def keep_the_rules(jvm: Jvm, mixed: bool) -> None:
    traces = {}
    for seed in SEEDS:
        lines: list[str] = []
        rules = Recording(3, lines.append, f"seed {seed}")
        KafkaQuorum(jvm, kafka_plan_of(seed), rules=rules, mixed=mixed).go()
        rules.close()
        traces[f"seed {seed}"] = "".join(lines)
    summary = judged(traces)
    assert summary.counts["accepted"] == len(SEEDS), summary.verdicts


@pytest.mark.long("two JVMs")
def test_the_same_seed_is_the_same_run(jvm: Jvm) -> None:
    with closing(jvm_of_voters(VERSION)) as other:
        first, second = (KafkaQuorum(one, kafka_plan_of(0)).go() for one in (jvm, other))
    assert first == second


@pytest.mark.long("a JVM")
def test_each_run_has_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([VERSION, "--first", "3", "--seeds", "1", "--record", str(tmp_path)]) == 0
    assert (tmp_path / "seed-3.ndjson").read_text().startswith('{"format":"fencepost-events"')
    assert "1 runs, " in capsys.readouterr().out


# What is broken is found.


def broken(jvm: Jvm) -> str:
    return first_broken(lambda seed: KafkaQuorum(jvm, kafka_plan_of(seed)).go(), range(MOST_SEEDS))


@pytest.mark.long("a JVM")
@pytest.mark.parametrize(
    ("kind", "says"),
    [(Persist, "R7|R10"), (FlushNow, "R8"), (AppendToLog, "BrokenRuleError|IndexError|LogUseError|BatchError")],
    ids=["its election state", "a flush", "a batch"],
)
def test_what_does_not_reach_the_disk_is_missed(
    jvm: Jvm, kind: type, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    effect = KafkaVoter._effect

    def without(voter: KafkaVoter, told: Any) -> object:
        found = effect(voter, told)
        return None if isinstance(found, kind) else found

    monkeypatch.setattr(KafkaVoter, "_effect", without)
    assert any(rule in broken(jvm) for rule in says.split("|"))


RAFT = "org/apache/kafka/raft"
PATCHES = {
    "a log that lacks something gets votes": (
        f"{RAFT}/QuorumState.unattachedOrProspectiveCanGrantVote",
        3,
        "R3",
    ),
    "an epoch is forgotten": (f"{RAFT}/QuorumState.initialize", 2, "R10"),
    "who has led follows itself": (f"{RAFT}/QuorumState.initialize", 3, "KAFKA-18379"),
    "too few votes elect": (f"{RAFT}/internals/EpochElection.isVoteGranted", 0, "prevote"),
    "answers to votes are not looked at": (f"{RAFT}/KafkaRaftClient.handleVoteResponse", 0, "prevote"),
    "nothing more is committed": (f"{RAFT}/LeaderState.maybeUpdateHighWatermark", 3, "not one leads whom all follow"),
    "fetches do not count": (f"{RAFT}/LeaderState.updateReplicaState", 0, "nobody is active"),
    "what is fetched is not appended": (f"{RAFT}/KafkaRaftClient.appendAsFollower", 0, "nobody is active"),
}
"""Conditions that are negated: the method, which of its conditions, and what is said."""


@pytest.mark.large("a JVM for each patch")
@pytest.mark.parametrize(("where", "number", "says"), PATCHES.values(), ids=PATCHES)
def test_a_patch_is_found(where: str, number: int, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(jvm_of_voters(negated("kafka-raft", where, number, tmp_path, monkeypatch))) as patched:
        assert says in broken(patched)
