"""Notes of the designs on their steps: no step breaks them, and they say what a reader asks."""

from __future__ import annotations

import importlib.util
import random
from typing import Any

import pytest

from checker.lang.loader import BoundModel, designs, load, load_spec, notes_of
from checker.lang.notes import TakenStep
from checker.reference.step import Reference, read_only
from tests.conftest import ROOT

DESIGNS = [design for design in designs() if importlib.util.find_spec(f"spec.{design}.notes") is not None]
MODELS = [f"{design}/{model.name}" for design in DESIGNS for model in load_spec(design).models]
STEPS, TRIES = 40, 400


def walk(model: BoundModel, seed: str) -> list[TakenStep[Any]]:
    """Steps at random from the first initial state."""
    reference, chosen = Reference(model), random.Random(seed)
    state = model.initial_states()[0]
    taken: list[TakenStep[Any]] = []
    for _ in range(TRIES):
        instance = chosen.randrange(len(reference.instances))
        result = reference.step(state, instance)
        if result.ended is None and len(taken) < STEPS:
            number, _ = reference.instances[instance]
            arguments = reference.arguments(state, instance)
            assert arguments is not None
            given = dict(zip((p.name for p in reference.parameters[number]), arguments, strict=True))
            taken.append(TakenStep(len(taken) + 2, reference.actions[number].name, given, state, result.state))
            state = result.state
    return taken


@pytest.mark.sample(6, verify=30)
@pytest.mark.parametrize("target", MODELS)
def test_no_step_breaks_the_notes(target: str) -> None:
    model = load(target)
    notes = notes_of(model)
    if notes is None:
        assert model.state_class.__name__ in ("Lease", "Quorum", "QuorumLog", "ReplicatedPartition", "Session"), (
            "a state whose diffs are short"
        )
        return
    taken = walk(model, target)
    assert taken
    with read_only():
        for last in range(1, len(taken) + 1):
            assert all("\n" not in line for line in notes.of_step(taken[:last]))
        assert all(": " in line for line in notes.at_end(taken))
        list(notes.of_step(taken[-1:]))  # a step of an implementation's trace comes alone


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("kip-903", "decision: NONE (broker1 is fenced, broker epoch 2)"),
        ("kip-903", "RegisterBrokerRecord broker1: broker epoch 2, its offset"),
        ("kip-903", "broker1 loses the record at offset 0, leader epoch 0"),
        ("kip-903", "broker1 leads without the acknowledged record"),
        ("known-record", "broker0 forgets the change it asked for; its maximal ISR is {broker0, broker2}"),
        ("last-member", "FenceBrokerRecord broker1; PartitionChangeRecord partition0: leader broker1 → nobody"),
        ("refusal-raises-epoch", "decision: INELIGIBLE_REPLICA"),
        ("superseded-stops", "still takes itself for the leader, at leader epoch"),
        ("shutdown-failover", "decision: SHUTDOWN_NOW"),
        ("kafka-12376", "batch 1 of epoch 0 is committed: TopicRecord"),
        ("kip-279", "broker1 appends offset 0 of epoch 1"),
        ("three-abstainers", "broker0 abstains for broker1, by what it pulled in step 7; ready has changed since, in"),
        ("three-abstainers", "- abstains: broker2 for broker0, which is up; it looks again once"),
        ("late-resignation", "- move 1: to broker2 in step 6, epoch 1; in step 4 broker0 lost /controller"),
        ("lease-from-the-reply", "process0, process1 serve at once"),
        ("lease-from-the-reply", "partition state: broker1 leads at leader epoch 1, ISR {broker1}, version 1"),
        ("stale-unfence", "- leads: "),
        ("forgotten-member", "/consumers/group0/owners: partition0 – → thread1, partition1 – → thread1"),
        ("forgotten-member", "handler0: the rebalance of group0 is WRITING → STARTING, attempt 0; waits for consumer1"),
        ("late-resignation", "in office: broker0, broker2, as brokers believe; broker2, as ZooKeeper has it"),
    ],
)
def test_a_page_tells_the_story(page: str, said: str) -> None:
    assert said in (ROOT / "docs" / "gallery" / f"{page}.md").read_text(encoding="utf-8")
