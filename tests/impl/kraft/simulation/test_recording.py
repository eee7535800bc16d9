"""Simulated runs are behaviours of the quorum's log on one page, and a lie in their traces is found."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from impl.kraft.raft.log_ends import LogEnds
from impl.kraft.raft.messages import FetchRequest, VoteRequest
from impl.kraft.raft.roles import Leader
from impl.kraft.raft.settings import RaftSettings
from impl.kraft.raft.voter import Voter
from impl.kraft.simulation.__main__ import main
from impl.kraft.simulation.recording import MOST_BATCHES, MOST_EPOCHS, Recording
from impl.kraft.simulation.simulation import Simulation
from impl.kraft.simulation.swarm import plan_of
from impl.kraft.storage.batches import Entry
from impl.kraft.storage.election import ElectionState
from tests.impl.kraft.simulation.judging import judged
from tests.impl.kraft.simulation.recorded import MODELS

SEEDS = (1, 2, 3, 5, 10, 107, 111, 245, 252)
"""Of three voters; among them all steps of the page but `replace_log`: their voters write no snapshots."""
LIED_ABOUT = 2

Event = dict[str, Any]
Lie = Callable[[list[Event]], list[Event]]


def trace_of(seed: int) -> list[str]:
    plan = plan_of(seed)
    lines: list[str] = []
    rules = Recording(plan.swarm.voters, lines.append, f"seed {seed}")
    Simulation(plan, rules=rules).go()
    rules.close()
    return lines


def test_a_run_is_the_same_when_it_is_recorded() -> None:
    plan = plan_of(1)
    assert Simulation(plan, rules=Recording(3, lambda line: None, "")).go() == Simulation(plan).go()


def test_a_trace_ends_where_the_page_has_no_room() -> None:
    [constants] = [model.constants for model in MODELS]
    assert (constants["pending_batches"], constants["max_epoch"]) == (MOST_BATCHES, MOST_EPOCHS)
    trace = trace_of(3)
    states = [list(json.loads(line)["state"]["members"].values()) for line in trace[1:-1]]
    assert len(states) == json.loads(trace[-1])["end"] and max(member["epoch"] for [member] in states) == MOST_EPOCHS


def test_each_run_has_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--first", "1", "--seeds", "2", "--record", str(tmp_path / "traces")]) == 0
    written = {file.name: file.read_text() for file in (tmp_path / "traces").iterdir()}
    assert written == {f"seed-{seed}.ndjson": "".join(trace_of(seed)) for seed in (1, 2)}
    assert main(["--seeds", "1", "--record", str(tmp_path / "traces" / "seed-1.ndjson")]) == 6
    assert "seed-1.ndjson could not be written" in capsys.readouterr().err


@pytest.mark.long("a kernel")
def test_runs_are_behaviours_of_the_page() -> None:
    summary = judged({f"seed {seed}": "".join(trace_of(seed)) for seed in SEEDS})
    assert summary.counts["accepted"] == len(SEEDS), summary.verdicts


@pytest.mark.long("a kernel")
def test_a_snapshot_stands_for_what_the_leader_has_written() -> None:
    """Voter 0 leads, with 1; 2 gets its snapshot, and starts again behind it."""
    first, lines = Entry(1, 1, 7), list[str]()
    rules = Recording(3, lines.append, "snapshot")
    for node in range(3):
        rules.start(node, None, [])
    for node in range(2):
        state = ElectionState(1, None, 0, (0, 1, 2))
        rules.begin_to_persist(node, state)
        rules.persist(node, state)
        if node == 0:
            rules.send(0, VoteRequest("", 1, 0, 1, 0, 0, False))
    led = ElectionState(1, 0, None, (0, 1, 2))
    for node in range(2):
        rules.append(node, [first])
        rules.flush(node, 1)
    rules.send(1, FetchRequest("", 1, 1, 1, 1, 0, 0, 0))
    leader = Voter(RaftSettings(0, (0, 1, 2)), led, Leader(0, {1: 1, 2: 0}, {}), LogEnds(), high_watermark=1)
    rules.commit(0, 1, leader)
    rules.begin_to_persist(2, led)
    rules.persist(2, led)
    rules.install(2, (1, 1))
    rules.start(2, led, [], start_offset=1)
    rules.close()
    steps = [json.loads(line).get("action") for line in lines]
    assert steps[-3:-1] == ["replace_log", "lose_tail"]
    assert judged({"snapshot": "".join(lines)}).counts["accepted"] == 1


def without(action: str) -> Lie:
    """The first step of an action is left out: what rests on it is refused."""

    def lie(events: list[Event]) -> list[Event]:
        place = next(place for place, event in enumerate(events) if event["action"] == action)
        return events[:place] + events[place + 1 :]

    return lie


def too_much_is_committed(events: list[Event]) -> list[Event]:
    place = next(place for place, event in enumerate(events) if event["action"] == "learn_committed")
    step = events[place]
    lied = {**step, "parameters": {**step["parameters"], "end": step["parameters"]["end"] + 1}}
    return [*events[:place], lied, *events[place + 1 :]]


def another_batch_is_copied(events: list[Event]) -> list[Event]:
    """By a follower: of an older epoch than that of its leader."""
    place = next(place for place, event in enumerate(events) if event["action"] == "copy_batch")
    step = events[place]
    [(name, member)] = step["state"]["members"].items()
    log = [*member["log"][:-1], {"epoch": 0, "crashes": 0}]
    lied = {**step, "state": {"members": {name: {**member, "log": log}}}}
    return [*events[:place], lied, *events[place + 1 :]]


LIES: dict[str, Lie] = {
    "nobody voted": without("grant"),
    "nothing was flushed": without("keep"),
    "nobody was counted on": without("count_on"),
    "it leads unelected": without("stand"),
    "nothing was cut": without("cut"),
    "too much is committed": too_much_is_committed,
    "another batch is copied": another_batch_is_copied,
}


@pytest.mark.long("a kernel")
def test_lies_are_rejected() -> None:
    head, *events = [json.loads(line) for line in trace_of(LIED_ABOUT)[:-1]]
    lies = {name: [head, *lie(events)] for name, lie in LIES.items()}
    summary = judged({name: "".join(json.dumps(line) + "\n" for line in lines) for name, lines in lies.items()})
    assert summary.counts["rejected"] == len(LIES), summary.verdicts
