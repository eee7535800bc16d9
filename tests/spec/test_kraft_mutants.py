"""A property counts only if it can fail: what no design switch breaks, a small change to an action does."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest

from checker.explicit.check import Options, check
from checker.lang.loader import load, load_spec
from tests.conftest import ROOT, read_pins
from tests.planted import planted


@dataclass(frozen=True)
class Mutant:
    """`old`, which stands once in an action or helper of spec/kraft, becomes `new`, and the model's property breaks."""

    breaks: str
    model: str
    file: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.model} {self.breaks}"


MUTANTS = [
    Mutant("superseded_incarnation_changes_nothing", "membership", "controller.py",
           "registration.broker_epoch != request.broker_epoch:\n        if waits:",
           "registration.broker_epoch < request.broker_epoch:\n        if waits:"),
    Mutant("fenced_for_cause", "membership", "controller.py",
           "require(broker in controller.lapsed)", "require(broker not in controller.lapsed)"),
    Mutant("unfenced_broker_is_ready", "membership", "controller.py",
           "request.want_fence or (registration.fenced and not request.caught_up)", "request.want_fence"),
    Mutant("lapsed_broker_is_unfenced", "membership", "controller.py",
           "    registration.fenced = True\n    controller.lapsed -= {broker}", "    registration.fenced = True"),
    Mutant("heartbeat_renews_lease", "membership", "controller.py",
           "registration.fenced = fenced\n        controller.lapsed -= {broker}", "registration.fenced = fenced"),
    Mutant("leaderless_for_want_of_candidates", "membership", "controller.py",
           "if registration.fenced and not fenced:", "if registration.fenced and fenced:"),
    Mutant("leader_changes_in_replica_order", "isr", "partition.py",
           "partition.leader in isr & active:", "partition.leader in isr - active:"),
    Mutant("epochs_never_go_back", "membership", "partition.py",
           "return replace(partition, isr=isr, partition_epoch=fresh(s, PartitionEpoch))",
           "return replace(partition, isr=isr)"),
    Mutant("acknowledged_on_enough_disks", "isr", "replica.py",
           "require(maximal_isr(leadership) <= leadership.holders | {node_id(leader)})",
           "require(node_id(leader) in maximal_isr(leadership))"),
    Mutant("isr_has_acknowledged_record", "isr", "replica.py",
           "return has_record or not (leader.high_watermark or leadership.starts_with_record)", "return True"),
    Mutant("committed_record_is_with_the_isr", "abstract_isr", "abstract_isr.py",
           "require(has_record or not r.committed)", "require(has_record or r.committed)"),
]  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_changed_action_breaks_it(mutant: Mutant) -> None:
    model = planted(load(f"kraft/{mutant.model}"), mutant.file, mutant.old, mutant.new)
    alone = model.with_properties([p for p in model.model.properties if p.name == mutant.breaks])
    report = check(alone, Options(threads=2), started=time.perf_counter())
    assert [p.name for p in report.properties if p.verdict == "violated"] == [mutant.breaks]


def test_every_property_can_fail() -> None:
    """By a mutant here, or by a pinned switch or setting."""
    broken = {m.breaks for m in MUTANTS}
    for pin in read_pins(ROOT / "tests" / "pins.toml"):
        if pin.target.startswith("kraft/"):
            broken |= set(pin.expected.get("violated", {}))
    named = {p.name for m in load_spec("kraft").models for p in m.properties if p.kind != "witness"}
    assert named <= broken
