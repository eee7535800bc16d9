"""KIP-343, repaired: S1 to S4, S8 and S7's epochs proved for two brokers, in runs of any length; without its guard a
claim is refuted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checker.lang.loader import load
from checker.symbolic.induction import PROVABLE, Proof, ProofOptions, prove
from checker.symbolic.results import PROVED, REFUTED, UNUSED

pytestmark = pytest.mark.xdist_group("proofs")  # what its tests share is made once
JOBS = ProofOptions(jobs=2)
SAFETY = {
    "lower_incarnation_is_refused", "lower_incarnation_changes_nothing",  # S1
    "one_process_serves", "fenced_process_accepts_nothing",  # S2, S3
    "leader_is_in_the_isr", "nobody_inactive_is_added",  # S4
    "epochs_never_go_back", "each_leader_has_its_epoch",  # S7
    "maximal_isr_covers_committed",  # S8
}  # fmt: skip
GUARDS = [
    ("failover", "lower_incarnation_is_refused", "checks_registration"),
    ("leases", "nobody_inactive_is_added", "active_members"),
    ("failover", "maximal_isr_covers_committed", "partition_version"),
    ("leases", "one_process_serves", "broker_fences_first"),
]


def proof_of(model: str, names: set[str], changes: dict[str, str] | None = None) -> Proof:
    bound = load(f"heartbeat/{model}", changes or {})
    properties = [p for p in bound.model.properties if p.kind in PROVABLE and p.name in names]
    assert {p.name for p in properties} == names
    return prove(replace(bound, model=replace(bound.model, properties=properties)), JOBS)


@pytest.mark.sample(1)
@pytest.mark.parametrize("model", ["leases", "failover"])
def test_safety_is_proved_for_two_brokers(model: str) -> None:
    proof = proof_of(model, SAFETY)
    assert {f.claim.name for f in proof.findings} >= SAFETY
    assert {f.claim.name: f.verdict for f in proof.findings if f.verdict not in (PROVED, UNUSED)} == {}
    assert proof.never == []


@pytest.mark.sample(1)
@pytest.mark.parametrize(("model", "claim", "guard"), GUARDS)
def test_without_its_guard_it_is_not_proved(model: str, claim: str, guard: str) -> None:
    proof = proof_of(model, {claim}, {guard: "false"})
    assert next(f.verdict for f in proof.findings if f.claim.name == claim) == REFUTED
