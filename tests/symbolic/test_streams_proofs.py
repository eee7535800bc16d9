"""KIP-268, repaired: V1 to V3 proved for three members and two bounces, in runs of any length with any crashes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checker.lang.loader import load
from checker.symbolic.induction import PROVABLE, Proof, ProofOptions, prove
from checker.symbolic.results import PROVED, REFUTED, UNUSED

pytestmark = pytest.mark.xdist_group("proofs")  # what its tests share is made once
SAFETY = {
    "nobody_dies_of_a_version",  # V1
    "everybody_can_read_its_assignment", "everybody_supports_what_it_uses",  # V2
    "upgrade_from_is_obeyed",  # V3
}  # fmt: skip


def proof_of(names: set[str], changes: dict[str, str] | None = None) -> Proof:
    bound = load("streams/two_bounces_crash", changes or {})
    properties = [p for p in bound.model.properties if p.kind in PROVABLE and p.name in names]
    assert {p.name for p in properties} == names
    return prove(replace(bound, model=replace(bound.model, properties=properties)), ProofOptions(jobs=2))


@pytest.mark.long("9 s of CPU")
def test_versions_are_proved_for_three_members() -> None:
    proof = proof_of(SAFETY)
    assert {f.claim.name for f in proof.findings} >= SAFETY
    assert {f.claim.name: f.verdict for f in proof.findings if f.verdict not in (PROVED, UNUSED)} == {}
    assert proof.never == []
    kept = {place for n, f in enumerate(proof.findings) if f.verdict == PROVED for place in proof.bounds_of(n).words()}
    assert not any("crashes" in place for place in kept), "any number of processes may die"


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("claim", "guard"),
    [("nobody_dies_of_a_version", "sets_upgrade_from"), ("everybody_can_read_its_assignment", "answers_in_lowest")],
)
def test_without_its_guard_it_is_not_proved(claim: str, guard: str) -> None:
    releases = {"from_release": "R0_10_0", "to_release": "R0_10_1"}
    proof = proof_of({claim}, {**releases, guard: "false"})
    assert next(f.verdict for f in proof.findings if f.claim.name == claim) == REFUTED
