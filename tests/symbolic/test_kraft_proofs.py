"""KIP-631, repaired: S1 to S5 and all else that is claimed of clusters without data, proved for runs of any length."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checker.lang.declare import Declared
from checker.lang.loader import BoundModel, load
from checker.lemmas.behaviour import induction_trace
from checker.mutate.mutants import functions_of
from checker.symbolic.induction import PROVABLE, Proof, ProofOptions, prove
from checker.symbolic.results import PROVED, REFUTED, UNUSED
from spec.kraft.models.replication import MEMBERSHIP
from tests.planted import Mutant, planted
from tests.spec.test_kraft_mutants import MUTANTS

pytestmark = pytest.mark.xdist_group("proofs")  # what its tests share is made once
JOBS = ProofOptions(jobs=2)
SAFETY = {
    "superseded_incarnation_changes_nothing", "leader_epoch_has_one_incarnation",  # S1
    "broker_epochs_rise",  # S2
    "leader_may_lead",  # S3
    "isr_is_never_empty", "fenced_broker_is_out_of_isr",  # S4
    "epochs_never_go_back",  # S5
}  # fmt: skip

OF_ONE_CHANGE = {"superseded_incarnation_changes_nothing", "alter_isr_reply_is_true", "isr_gains_only_by_request"}
"""Of a change that a step takes and of another: with room for one in flight, they are proved of that many."""

CLAIMS = {p.name for p in MEMBERSHIP.properties if p.kind in PROVABLE}
CALLED = {function.__qualname__ for function in functions_of(load("kraft/membership"))}
BREAKING = [
    *dict.fromkeys(replace(m, model="membership") for m in MUTANTS if m.breaks in CLAIMS and m.function in CALLED),
    Mutant("leader_epoch_has_one_incarnation", "membership", "acts_on_image",
           "broker.broker_epoch == registration.broker_epoch", "broker.broker_epoch <= registration.broker_epoch"),
    Mutant("broker_epochs_rise", "membership", "with_new_registration", "fresh(s, BrokerEpoch)",
           "max((r.broker_epoch for r in image.registrations.values() if r is not None),"
           " default=fresh(s, BrokerEpoch))"),
    Mutant("leader_may_lead", "membership", "elect_leader",
           "partition.leader in isr & active", "partition.leader in isr - active"),
    Mutant("isr_is_never_empty", "membership", "without_broker",
           "Design.last_member_stays and not rest", "Design.last_member_stays and rest"),
    Mutant("fenced_broker_is_out_of_isr", "membership", "is_eligible",
           "Design.kip_841 and (registration.fenced or registration.in_controlled_shutdown)",
           "Design.kip_841 and (not registration.fenced or registration.in_controlled_shutdown)"),
    Mutant("maximal_isr_covers_committed", "membership", "after_reply",
           "reply.error == Error.INELIGIBLE_REPLICA", "reply.error != Error.STALE_BROKER_EPOCH"),
]  # fmt: skip
"""What breaks a property of membership in some model, in a function that membership calls, and what design switches
break there."""


def provable(model: BoundModel) -> list[Declared]:
    return [p for p in model.model.properties if p.kind in PROVABLE]


@pytest.fixture(scope="module")
def membership() -> Proof:
    return prove(load("kraft/membership", {"brokers": "3"}), JOBS)


@pytest.mark.long("20 s of CPU")
def test_every_safety_property_is_proved_for_three_brokers(membership: Proof) -> None:
    assert {f.claim.name for f in membership.findings} >= SAFETY
    others = {f.claim.name: f.verdict for f in membership.findings if f.verdict != PROVED}
    assert others.pop("incarnations_differ") == UNUSED, "which only second processes need"
    assert others == {}
    assert membership.never == []


@pytest.mark.long("the proof of the test above")
def test_neither_faults_nor_messages_are_bounded(membership: Proof) -> None:
    proved = [n for n, f in enumerate(membership.findings) if f.verdict == PROVED]
    kept = {membership.findings[n].claim.name for n in proved if membership.bounds_of(n).words()}
    counting = {"one_change_at_a_time", "one_request_at_a_time"}  # the requests in flight
    budgets = {"lease_runs_out_for_silence", "process_follows_the_state_machine"}  # read the fault that is spent
    assert kept == counting | budgets | OF_ONE_CHANGE
    places = {place.path for place in membership.places}
    assert places == {"lifecycle", "alterations", "faults.crashes", "faults.early_expiries"}
    shown = {n for n in proved if membership.findings[n].claim.assumable}
    assert set(membership.any_number) & shown == {n for n in shown if membership.findings[n].claim.name not in counting}


@pytest.mark.large("a proof for five brokers: 50 s of Z3")
def test_s1_to_s5_are_proved_for_five_brokers() -> None:
    model = load("kraft/membership", {"brokers": "5"}, "repaired")
    properties = [p for p in provable(model) if p.name in SAFETY]
    proof = prove(model.with_properties(properties), JOBS)
    assert {f.claim.name for f in proof.findings} >= SAFETY
    assert {f.verdict for f in proof.findings} == {PROVED, UNUSED}
    assert {f.verdict for f in proof.findings if f.claim.kind != "lemma"} == {PROVED}
    kept = {f.claim.name for n, f in enumerate(proof.findings) if f.verdict == PROVED and proof.bounds_of(n).words()}
    assert kept == SAFETY & OF_ONE_CHANGE


@pytest.mark.long("some seconds of Z3")
def test_with_room_for_two_changes_any_number_may_be_in_flight() -> None:
    model = load("kraft/membership", {"alter_in_flight": "2"})
    properties = [p for p in provable(model) if p.name == "superseded_incarnation_changes_nothing"]
    proof = prove(model.with_properties(properties), JOBS)
    assert proof.findings[0].verdict == PROVED
    assert proof.bounds_of(0).words() == []


@pytest.mark.long("10 s of Z3")
def test_most_of_s1_to_s5_need_no_lemma() -> None:
    model = load("kraft/membership", {"brokers": "3"})
    properties = [p for p in provable(model) if p.name in SAFETY]
    proof = prove(replace(model, model=replace(model.model, properties=properties, lemmas=[])), JOBS)
    refuted = {f.claim.name for f in proof.findings if f.verdict != PROVED}
    assert refuted == {"leader_epoch_has_one_incarnation"}


def test_every_proved_property_has_a_mutant() -> None:
    assert {m.breaks for m in BREAKING} == CLAIMS


@pytest.mark.sample(1, verify=8)
@pytest.mark.parametrize("mutant", BREAKING, ids=str)
def test_a_changed_action_breaks_the_proof(mutant: Mutant) -> None:
    """Every lemma that it needs may be used, and it fails all the same, with a step of the spec to show for it."""
    model = planted(load(f"kraft/{mutant.model}"), mutant.function, mutant.old, mutant.new)
    properties = [p for p in provable(model) if p.name == mutant.breaks]
    proof = prove(model.with_properties(properties), JOBS)
    assert proof.findings[0].claim.name == mutant.breaks
    assert proof.findings[0].verdict == REFUTED
    trace = induction_trace(proof, 0)
    assert len(trace.steps) == 2
    assert trace.violation is not None
    assert trace.violation.property == mutant.breaks


@pytest.mark.sample(1)
@pytest.mark.parametrize("switch", ["last_member_stays", "kip_841", "kafka_13173", "kafka_16952", "expired_session"])
def test_with_a_guard_switched_off_it_is_not_proved(switch: str) -> None:
    model = load("kraft/membership", {switch: "false"})
    properties = [p for p in provable(model) if p.name in SAFETY]
    proof = prove(replace(model, model=replace(model.model, properties=properties, lemmas=[])), JOBS)
    wanted = SAFETY - {"leader_epoch_has_one_incarnation"}  # which needs lemmas in any case
    assert {f.verdict for f in proof.findings if f.claim.name in wanted} == {PROVED, REFUTED}
