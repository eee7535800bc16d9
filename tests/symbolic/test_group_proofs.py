"""The consumer coordinator, repaired: G3, G5, G7 and G9 proved for two consumers, in runs of any length."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checker.lang.loader import load
from checker.symbolic.induction import PROVABLE, Proof, ProofOptions, prove
from checker.symbolic.results import PROVED, REFUTED, UNUSED

pytestmark = pytest.mark.xdist_group("proofs")  # what its tests share is made once
SAFETY = {
    "only_the_newest_coordinator_writes", "former_coordinator_is_not_obeyed",  # G3
    "each_partition_is_assigned", "threads_get_their_turn",  # G5
    "response_clears_its_own_watcher",  # G7
    "one_rebalance_at_a_time",  # G9
}  # fmt: skip
GUARDS = [
    ("only_the_newest_coordinator_writes", "fenced_writes"),
    ("former_coordinator_is_not_obeyed", "coordinator_epoch"),
    ("response_clears_its_own_watcher", "attempt_ids"),
]


def proof_of(names: set[str], changes: dict[str, str] | None = None) -> Proof:
    bound = load("group/failover", changes or {})
    properties = [p for p in bound.model.properties if p.kind in PROVABLE and p.name in names]
    assert {p.name for p in properties} == names
    return prove(replace(bound, model=replace(bound.model, properties=properties)), ProofOptions(jobs=2))


@pytest.mark.long("10 s of CPU")
def test_safety_is_proved_for_two_consumers() -> None:
    proof = proof_of(SAFETY)
    assert {f.claim.name for f in proof.findings} >= SAFETY
    assert {f.claim.name: f.verdict for f in proof.findings if f.verdict not in (PROVED, UNUSED)} == {}
    assert proof.never == []
    kept = {place for n, f in enumerate(proof.findings) if f.verdict == PROVED for place in proof.bounds_of(n).words()}
    assert not any("expiries" in place for place in kept), "any number of sessions may end"


@pytest.mark.sample(1)
@pytest.mark.parametrize(("claim", "guard"), GUARDS)
def test_without_its_guard_it_is_not_proved(claim: str, guard: str) -> None:
    proof = proof_of({claim}, {guard: "false"})
    assert next(f.verdict for f in proof.findings if f.claim.name == claim) == REFUTED
