"""Lemmas that nobody wrote: those of small models are found, and what is false or not inductive is dropped."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli.commands.prove import prove as command
from checker.explicit.check import kernel_of
from checker.explicit.search.breadth_first import search
from checker.lang.frontend import compile_model
from checker.lang.graph import Graph
from checker.lang.interpret import evaluate
from checker.lang.loader import BoundModel, load
from checker.lemmas.features import Columns, chunks
from checker.lemmas.find import Found, find_lemmas
from checker.lemmas.fixpoint import houdini
from checker.lemmas.mining import Candidate, Mine
from checker.lemmas.templates import Templates
from checker.running.limits import Limits
from checker.symbolic.encoding import program_nodes
from checker.symbolic.induction import ProofOptions, prove
from checker.symbolic.results import PROVED, REFUTED

ROOT = Path(__file__).parents[2]
LEASE = str(ROOT / "docs/tutorial/proved_lease.py")
POST = str(ROOT / "tests/symbolic/proof_models.py/post")


def verdict(found: Found, name: str) -> str:
    return next(f.verdict for f in found.proof.findings if f.claim.name == name)


def test_the_lemma_of_the_lease_is_found_again() -> None:
    model = load(LEASE)
    bare = prove(replace(model, model=replace(model.model, lemmas=[])), ProofOptions())
    assert bare.findings[0].verdict == REFUTED, "it needs a lemma"
    found = find_lemmas(model, ProofOptions(), Limits())
    assert list(found.lemmas.values()) == ["i in serving => lease = i"]
    assert {f.verdict for f in found.proof.findings} == {PROVED}


def test_a_lemma_about_messages_is_found() -> None:
    found = find_lemmas(load(POST), ProofOptions(), Limits())
    assert verdict(found, "accepted_was_issued") == PROVED
    assert "not (issued < letters[m].epoch)" in found.lemmas.values()
    proof = found.proof
    lemmas = [n for n, f in enumerate(proof.findings) if f.claim.kind == "lemma" and f.verdict == PROVED]
    assert lemmas and set(lemmas) <= set(proof.any_number), "of any number of letters, as a written one"


def test_what_only_unexplored_states_refute_is_dropped_by_houdini() -> None:
    found = find_lemmas(load(LEASE), ProofOptions(), Limits(max_depth=0))
    assert found.mined == 3 and found.inductive == 0, "nobody serves in the initial state, but somebody will"
    assert verdict(found, "one_leader_serves") == REFUTED


def test_a_false_property_is_not_proved() -> None:
    found = find_lemmas(load(LEASE, {"broker_stops_first": "false"}), ProofOptions(), Limits())
    assert verdict(found, "one_leader_serves") == REFUTED


def test_mining_looks_at_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stages before and after mining wait for a search or for workers, which have their own limits."""
    monkeypatch.setattr(ProofOptions, "is_over", True)
    found = find_lemmas(load(LEASE), ProofOptions(time_limit_s=1000), Limits())
    assert (found.proof.stopped, found.mined) == ("time limit of 1000 s", 0)


def mined(model: BoundModel) -> tuple[list[Candidate], list[list[int]]]:
    """(the candidates of all families, the codes of every reached state)."""
    program, kernel = compile_model(model), kernel_of(model)
    result = search(kernel, [model.state_type.encode(s) for s in model.initial_states()])
    words = list(chunks(result.exploration.shards, 1000))
    graph = Graph(1 + max(n.serial for n in program_nodes(program)))
    candidates = [
        candidate for bag, facts in Templates(model.state_type, program, graph).families()
        for candidate in Mine(bag, facts, graph, [Columns(kernel.layout, w) for w in words], lambda: None).candidates()
    ]  # fmt: skip
    return candidates, [kernel.layout.unpack([int(w) for w in row]) for part in words for row in part]


@pytest.mark.parametrize("target", [LEASE, POST])
def test_no_reached_state_refutes_a_candidate(target: str) -> None:
    candidates, states = mined(load(target).with_properties([]))
    assert candidates
    for codes in states:
        memo: dict[int, int] = {}
        assert [c.text for c in candidates if evaluate(c.condition, codes, {}, memo)] == []


def test_a_bag_without_room_has_no_facts() -> None:
    model = load("heartbeat/live_record")
    model.bind()
    program, graph = compile_model(model), Graph()
    assert [bag for bag, _ in Templates(model.state_type, program, graph).families()] == [""]


def test_houdini_drops_what_rests_on_what_it_drops() -> None:
    """Without the candidate that carries it, another one is no longer inductive."""
    model = load(POST).with_properties([])
    candidates, _ = mined(model)
    kept = houdini(model, compile_model(model), candidates, ProofOptions()).kept
    texts = {candidates[n].text for n in kept}
    assert "not (issued < letters[m].epoch)" in texts
    without = [c for c in candidates if c.text != "not (issued < letters[m].epoch)" and "accepted" in c.text]
    left = {without[n].text for n in houdini(model, compile_model(model), without, ProofOptions()).kept}
    assert "not (issued < accepted)" in texts and "not (issued < accepted)" not in left


def test_the_command_tells_what_it_found() -> None:
    arguments = [LEASE, "--find-lemmas", "--jobs", "1", "--json", "--quiet"]
    run = CliRunner().invoke(command, arguments, standalone_mode=False)
    assert run.return_value == 0
    report = json.loads(run.output)
    assert report["found_lemmas"]["lemmas"] == {"found_1": "i in serving => lease = i"}
    assert report["verdict"] == "proved"
