"""KIP-39, repaired: P1 to P5 proved for three brokers, in runs of any length; a guard that is off breaks the proof."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checker.lang.loader import load
from checker.symbolic.induction import PROVABLE, Proof, ProofOptions, prove
from checker.symbolic.results import PROVED, REFUTED, UNUSED

pytestmark = pytest.mark.xdist_group("proofs")  # what its tests share is made once
JOBS = ProofOptions(jobs=2)
SAFETY = {
    "epoch_has_one_controller", "newest_epoch_is_of_the_owner",  # P1
    "no_move_without_cause",  # P2
    "resignation_deletes_own_office",  # P3
    "ready_names_its_owner",  # P4
    "served_request_is_gone", "request_is_served_once",  # P5
}  # fmt: skip
WRITES = {
    "only_newest_epoch_writes", "former_controller_is_refused", "epoch_has_one_controller",
    "newest_epoch_is_of_the_owner",
}  # fmt: skip
GUARDS = [
    ("zombie", "only_newest_epoch_writes", ["zk_writes_fenced"]),
    ("zombie", "epoch_has_one_controller", ["epoch_is_own"]),
    ("pin", "no_move_without_cause", ["resigns_for_other"]),
    ("pin", "resignation_deletes_own_office", ["conditional_resign"]),
    ("pin", "ready_names_its_owner", ["ready_owned_by_target", "former_ready_removed"]),
    ("pin", "served_request_is_gone", ["request_consumed"]),
]


def proof_of(model: str, names: set[str], changes: dict[str, str] | None = None) -> Proof:
    bound = load(f"pinning/{model}", changes or {})
    properties = [p for p in bound.model.properties if p.kind in PROVABLE and p.name in names]
    assert {p.name for p in properties} == names
    return prove(replace(bound, model=replace(bound.model, properties=properties)), JOBS)


@pytest.mark.long("17 s of Z3 each")
@pytest.mark.parametrize("model", ["pin", "expiry"])
def test_safety_is_proved_for_three_brokers(model: str) -> None:
    proof = proof_of(model, SAFETY)
    assert {f.claim.name for f in proof.findings} >= SAFETY
    assert {f.claim.name: f.verdict for f in proof.findings if f.verdict not in (PROVED, UNUSED)} == {}
    assert proof.never == []
    kept = {place for n, f in enumerate(proof.findings) if f.verdict == PROVED for place in proof.bounds_of(n).words()}
    assert not any("crashes" in place or "expiries" in place for place in kept), "any number of them"


def test_writes_are_proved_to_be_of_the_newest_epoch() -> None:
    proof = proof_of("zombie", WRITES)
    assert {f.verdict for f in proof.findings if f.claim.name in WRITES} == {PROVED}


@pytest.mark.long("some seconds of Z3")
def test_all_safety_of_takeovers_is_proved_for_three_brokers() -> None:
    """P1 to P6 and P11; of any number of crashes and of requests taken back, and of three requests."""
    bound = load("pinning/takeover")
    names = {p.name for p in bound.model.properties if p.kind in PROVABLE}
    assert names >= SAFETY | {"served_is_told_of_served", "takeover_leaves_no_gap", "dead_target_moves_nobody"}
    proof = proof_of("takeover", names)
    assert {f.claim.name: f.verdict for f in proof.findings if f.verdict not in (PROVED, UNUSED)} == {}
    kept = {place for n, f in enumerate(proof.findings) if f.verdict == PROVED for place in proof.bounds_of(n).words()}
    assert not any("crashes" in place or "unpins" in place for place in kept), "any number of them"


@pytest.mark.long("some seconds of Z3")
def test_a_takeover_is_not_proved_where_versions_are_used_again() -> None:
    proof = proof_of("takeover", {"no_move_without_cause"}, {"settling_renews_epoch": "false", "brokers": "2"})
    assert next(f.verdict for f in proof.findings if f.claim.name == "no_move_without_cause") == REFUTED


@pytest.mark.sample(1)
@pytest.mark.parametrize(("model", "claim", "guards"), GUARDS)
def test_without_its_guards_it_is_not_proved(model: str, claim: str, guards: list[str]) -> None:
    proof = proof_of(model, {claim}, dict.fromkeys(guards, "false"))
    assert next(f.verdict for f in proof.findings if f.claim.name == claim) == REFUTED
