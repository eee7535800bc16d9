"""Counterexamples to induction told apart: what is reached is a violation, what is not is set apart from it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from checker.lang.loader import BoundModel, load
from checker.lemmas.behaviour import induction_trace
from checker.lemmas.features import Columns, chunks, features
from checker.lemmas.triage import REACHABLE, UNKNOWN, UNREACHABLE, Triaged, triage
from checker.running.limits import Limits
from checker.symbolic.induction import Proof, ProofOptions, prove

PROOFS = Path(__file__).parents[1] / "symbolic"
MODELS, MAPPED = PROOFS / "proof_models.py", PROOFS / "mapped.py"
LEASE = Path(__file__).parents[2] / "docs" / "tutorial" / "lease.py"


def triaged(model: BoundModel, limits: Limits | None = None) -> tuple[Proof, dict[str, Triaged]]:
    proof = prove(model, ProofOptions())
    found = triage(proof, limits or Limits(), threads=1)
    return proof, {proof.findings[n].claim.name: t for n, t in found.items()}


def test_what_is_false_comes_with_its_shortest_trace() -> None:
    _, found = triaged(load(str(LEASE)))
    assert found["one_leader_serves"].verdict == REACHABLE
    trace = found["one_leader_serves"].trace
    assert trace is not None
    assert len(trace.steps) == 6


def test_what_is_true_and_not_inductive_is_set_apart_from_every_reached_state() -> None:
    _, found = triaged(load(str(LEASE), {"broker_stops_first": "true"}))
    apart = found["one_leader_serves"]
    assert apart.verdict == UNREACHABLE
    assert apart.distinction is not None
    assert set(apart.distinction.texts) == {"serving = {broker1}", "lease = broker0"}
    assert len(apart.distinction.differences) == 1


def test_a_runtime_error_is_classified_too() -> None:
    _, found = triaged(load(f"{MODELS}/runs_out"))
    assert found["no step breaks down"].verdict == REACHABLE


def test_a_search_that_is_stopped_decides_nothing() -> None:
    _, found = triaged(load(str(LEASE), {"broker_stops_first": "true"}), Limits(max_depth=1))
    assert found["one_leader_serves"].verdict == UNKNOWN
    assert "stopped" in found["one_leader_serves"].explored


@pytest.mark.parametrize("name", ["bare", "one"])
def test_bags_and_the_order_of_ordinals_tell_states_apart(name: str) -> None:
    model = load(f"{MODELS}/{name}")
    proof = prove(model.with_properties([p for p in model.model.properties if p.kind == "invariant"]), ProofOptions())
    triaged = triage(proof, Limits(), threads=1)
    for found in triaged.values():
        assert found.verdict == UNREACHABLE
        assert found.distinction is not None
        assert found.distinction.texts


@pytest.mark.long("6 s of CPU")
def test_what_is_said_of_a_state_is_true_of_it() -> None:
    """Each feature of a reached state is true of that state, and all together are true of hardly any other."""
    from checker.explicit.check import kernel_of
    from checker.explicit.search.breadth_first import search

    model = load("kraft/membership")
    kernel = kernel_of(model)
    initial = [model.state_type.encode(s) for s in model.initial_states()]
    result = search(kernel, initial, limits=Limits(max_states=20_000))
    [words] = [w for w in chunks(result.exploration.shards, 1 << 20)]
    everything = frozenset(range(len(kernel.layout.leaves)))
    for row in (0, 7_777, 15_555):
        codes = kernel.layout.unpack(words[row])
        known = features(model.state_type, kernel.layout, codes, everything)
        one, all_ = Columns(kernel.layout, words[row : row + 1]), Columns(kernel.layout, words)
        assert all(feature.holds(one).all() for feature in known)
        alike = np.logical_and.reduce([feature.holds(all_) for feature in known])
        assert alike.sum() == 1


@pytest.mark.parametrize(
    ("name", "when", "verdict"), [("kept", "before", UNREACHABLE), ("given_up", "after", REACHABLE)]
)
def test_a_state_that_a_mapping_does_not_know_is_reported_as_such(name: str, when: str, verdict: str) -> None:
    """A refinement is broken, too, where its mapping breaks down; the trace says in which state and where."""
    proof = prove(load(f"{MAPPED}/{name}"), ProofOptions())
    [number] = [n for n, f in enumerate(proof.findings) if f.claim.name == "as_register"]
    found = triage(proof, Limits(), 1)[number]
    assert found.verdict == verdict
    reached = [] if found.trace is None else [found.trace]
    for trace in [induction_trace(proof, number), *reached]:
        assert trace.violation is not None
        assert f"The state {when} the step cannot be mapped" in trace.violation.statement
        assert trace.violation.conjunct == "assert s.holder is not None"
