"""Verdicts of induction on small models, and the limits of what it claims."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from checker.lang.loader import BoundModel, load
from checker.lemmas.behaviour import induction_trace, initial_trace
from checker.symbolic import induction
from checker.symbolic.induction import Proof, ProofOptions, prove
from checker.symbolic.prover import Prover
from checker.symbolic.results import NO_ERROR, PROVED, REFUTED, TYPES, UNKNOWN, UNUSED, Answer, Finding, Query

MODELS = Path(__file__).with_name("proof_models.py")


def model(name: str, **changes: str) -> BoundModel:
    return load(f"{MODELS}/{name}", changes)


def proof_of(name: str, **changes: str) -> Proof:
    return prove(model(name, **changes), ProofOptions())


def verdicts(proof: Proof) -> dict[str, str]:
    return {f.claim.name: f.verdict for f in proof.findings}


def finding(proof: Proof, name: str) -> Finding:
    [found] = [f for f in proof.findings if f.claim.name == name]
    return found


def number(proof: Proof, name: str) -> int:
    return proof.findings.index(finding(proof, name))


def rests_on(proof: Proof, name: str) -> set[str]:
    return {proof.findings[n].claim.name for n in finding(proof, name).rests_on}


def test_an_invariant_is_proved_with_the_help_of_a_lemma() -> None:
    proof = proof_of("post")
    assert finding(proof, "accepted_was_issued").verdict == PROVED
    assert rests_on(proof, "accepted_was_issued") == {"letters_were_issued"}
    assert rests_on(proof, "accepted_rises") == set()


def test_nothing_is_asked_of_a_lemma_that_no_proof_uses() -> None:
    found = finding(proof_of("counted"), "letters_were_issued")
    assert (found.verdict, found.queries) == (UNUSED, 0)


def test_without_it_there_is_a_step_from_a_state_of_no_behaviour() -> None:
    proof = proof_of("bare")
    assert finding(proof, "accepted_was_issued").verdict == REFUTED
    trace = induction_trace(proof, number(proof, "accepted_was_issued"))
    assert [step.action for step in trace.steps] == ["any state", "accept"]
    assert trace.violation is not None
    assert trace.violation.kind == "induction of the invariant"


def test_a_counterexample_is_as_like_an_initial_state_as_may_be() -> None:
    proof = proof_of("bare")
    example = finding(proof, "accepted_was_issued").counterexample
    assert example is not None
    initial = proof.model.state_type.encode(proof.model.initial_states()[0])
    paths = [path for path, _ in proof.model.state_type.leaves]
    differs = {p for p, a, b in zip(paths, example.before, initial, strict=True) if a != b}
    assert {path.split("[")[0] for path in differs} == {".letters"}


def test_what_needs_an_invariant_that_fails_is_not_proved() -> None:
    proof = proof_of("wrong")
    assert finding(proof, "nothing_is_accepted").verdict == REFUTED
    assert finding(proof, "no_step_counts_after_a_letter").verdict == REFUTED


def test_nothing_is_assumed_of_the_state_after_a_step() -> None:
    proof = proof_of("wrong_after")
    assert finding(proof, "nothing_becomes_accepted").verdict == REFUTED


def test_an_initial_state_that_breaks_an_invariant_is_a_violation() -> None:
    proof = proof_of("broken_at_once")
    found = finding(proof, "accepted_was_issued")
    assert found.verdict == REFUTED
    assert found.initial is not None
    trace = initial_trace(proof, number(proof, "accepted_was_issued"))
    assert [step.action for step in trace.steps] == ["init"]


def test_bounds_that_no_invariant_reads_are_dropped() -> None:
    proof = proof_of("post")
    assert {place.path for place in proof.places} == {"letters", "losses", "steps"}
    kept = proof.bounds_of(number(proof, "letters_were_issued"))
    assert (kept.words(), [p.path for p in kept.any_number]) == ([], ["letters"])
    kept = proof.bounds_of(number(proof, "accepted_rises"))
    assert (kept.words(), kept.any_number) == ([], [])


def test_a_counter_that_an_invariant_reads_keeps_its_bound() -> None:
    proof = proof_of("counted")
    assert finding(proof, "doubled_is_double").verdict == PROVED
    assert proof.bounds_of(number(proof, "doubled_is_double")).words() == ["steps: up to 5"]


def test_what_holds_of_one_bag_only_is_bounded_by_it() -> None:
    proof = proof_of("one")
    kept = proof.bounds_of(number(proof, "one_letter_at_a_time"))
    assert (kept.words(), kept.any_number) == (["letters: at most 2 in flight"], [])
    assert proof.bounds_of(number(proof, "letters_were_issued")).words() == []


@pytest.mark.parametrize("slots", ["1", "2", "3"])
def test_a_growing_network_is_proved_from_any_number_of_slots(slots: str) -> None:
    proof = proof_of("post", slots=slots)
    assert proof.bounds_of(number(proof, "accepted_was_issued")).words() == []


def test_a_runtime_error_is_claimed_not_to_happen() -> None:
    assert finding(proof_of("runs_out"), NO_ERROR).verdict == REFUTED
    assert finding(proof_of("counted"), NO_ERROR).verdict == PROVED


def test_steps_are_taken_from_states_inside_the_constraints() -> None:
    """And what is proved of these is proved within that bound."""
    proof = proof_of("constrained")
    assert finding(proof, NO_ERROR).verdict == PROVED
    assert proof.bounds_of(number(proof, NO_ERROR)).words() == ["inside the constraint few_steps"]


def test_an_action_that_can_never_be_taken_is_named() -> None:
    assert proof_of("never").never == ["impossible"]
    assert proof_of("post").never == []


@pytest.mark.parametrize("target", ["tests/models/refinement.py", "tests/models/two_phase_commit.py"])
def test_models_of_known_verdict(target: str) -> None:
    proof = prove(load(str(MODELS.parents[2] / target)), ProofOptions())
    assert finding(proof, TYPES).verdict == PROVED
    assert proof.stopped is None


# What the solver does not know is not proved.


def test_an_unknown_is_no_proof() -> None:
    bound = model("post")
    found = prove(bound, ProofOptions())
    prover = Prover(bound, found.program, [f.claim for f in found.findings], None)
    prover.solver.set("rlimit", 1)
    [answer] = prover.work([Query(number(found, TYPES), 0, frozenset())])
    assert answer.verdict == UNKNOWN
    assert answer.reason


def patched(monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
    monkeypatch.setattr(Prover, "_answer", answer)


def test_one_unknown_answer_takes_the_proof_away(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Prover._answer

    def at_times_unknown(self: Prover, query: Query) -> Answer:
        if self.claims[query.claim].name == "letters_were_issued" and query.instance == 0:
            return Answer(query, UNKNOWN, 0.0, reason="timeout")
        return real(self, query)

    patched(monkeypatch, at_times_unknown)
    proof = proof_of("post")
    assert finding(proof, "letters_were_issued").verdict == UNKNOWN
    assert finding(proof, "letters_were_issued").reason == "timeout"
    assert finding(proof, "accepted_was_issued").verdict == REFUTED, "its lemma is gone"
    assert finding(proof, "accepted_rises").verdict == PROVED


def test_without_the_types_nothing_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Prover._answer

    def types_unknown(self: Prover, query: Query) -> Answer:
        if self.claims[query.claim].kind == "types":
            return Answer(query, UNKNOWN, 0.0, reason="timeout")
        return real(self, query)

    patched(monkeypatch, types_unknown)
    assert PROVED not in verdicts(proof_of("post")).values()


def test_a_worker_that_dies_costs_its_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Prover._answer

    def killed(self: Prover, query: Query) -> Answer:
        if query.instance == 0:
            os.kill(os.getpid(), 9)
        return real(self, query)

    patched(monkeypatch, killed)
    proof = proof_of("post")
    assert finding(proof, TYPES).verdict == UNKNOWN
    assert finding(proof, TYPES).reason == "its process ended with SIGKILL"
    assert PROVED not in verdicts(proof).values()


def test_a_fault_in_a_worker_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Prover, query: Query) -> Answer:
        raise RuntimeError("a fault of the checker")

    patched(monkeypatch, broken)
    with pytest.raises(RuntimeError, match="a fault of the checker"):
        proof_of("post")


def test_an_interrupted_proof_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(progress: induction.Progress) -> None:
        raise KeyboardInterrupt

    proof = prove(model("post"), ProofOptions(), interrupt)
    assert proof.stopped == "interrupted"
    assert set(verdicts(proof).values()) == {UNKNOWN}
