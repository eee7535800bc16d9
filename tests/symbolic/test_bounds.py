"""Bounds that a proof does not need: a property proved without a bound holds with every wider one."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from checker.explicit.check import CheckOptions, check
from checker.lang.loader import load
from checker.running.limits import Limits
from checker.symbolic.bounded import unroll
from checker.symbolic.induction import Proof, ProofOptions, prove
from checker.symbolic.results import NO_ERROR, PROVED, TYPES
from checker.verdicts import VIOLATED
from tests.symbolic.random_bounds import HEAD, source

WIDER = [{"top": "3", "room": "2"}, {"top": "2", "room": "3"}, {"top": "5", "room": "3"}]


def kept(proof: Proof, name: str) -> list[str]:
    """The bounds in words that the proof of a claim keeps to."""
    [(number, finding)] = [(n, f) for n, f in enumerate(proof.findings) if f.claim.name == name]
    assert finding.verdict == PROVED
    return proof.bounds_of(number).words()


def without_bounds(proof: Proof) -> set[str]:
    names = [f.claim.name for f in proof.findings if f.verdict == PROVED]
    return {name for name in names if not kept(proof, name)} - {TYPES}


def violations(file: Path, changes: dict[str, str]) -> dict[str, int]:
    """The violations that a search finds: how many states each takes."""
    options = CheckOptions(threads=1, limits=Limits(max_states=50_000), all_violations=True)
    report = check(load(str(file), changes), options, started=time.perf_counter())
    found = [p for p in report.properties if p.verdict == VIOLATED]
    return {NO_ERROR if p.kind == "runtime error" else p.name: p.trace_length or 0 for p in found}


def violated(file: Path, changes: dict[str, str]) -> set[str]:
    return set(violations(file, changes))


def one_action(tmp_path: Path, body: str, claim: str, parameter: str = "") -> Path:
    """A spec that counts, sends letters and appends to a log without end, with an action and a claim of its own."""
    file = tmp_path / "drawn.py"
    file.write_text(f'''{HEAD}

@action(who="somebody", source="-")
def grow(s: Office, number: Annotated[int, Range(0, 2)]) -> None:
    """All grows."""
    s.a += 1
    s.letters = s.letters.add(Letter(number, False))


@action(who="somebody", source="-")
def decide(s: Office{parameter}) -> None:
    """An action that decides by what grows."""
    {body}


{claim}

MODELS = [Model("drawn", "Drawn.", opened, [grow, decide], [claim])]
''')
    return file


FLAG = '@invariant(source="-")\ndef claim(s: Office) -> bool:\n    """Something."""\n    return not s.flag\n'
DECIDING = {
    "a counter above its bound": "require(s.a > 2)\n    s.flag = True",
    "a counter, folded into what is assigned": "s.flag = s.flag or s.a >= 3",
    "a branch on a counter": "if s.a == 3:\n        s.flag = True",
    "a counter in a set": "if s.a in {3, 4}:\n        s.flag = True",
    "the length of a bag": "require(len(s.letters) > 2)\n    s.flag = True",
    "three kinds of letters": "require(all(any(m.number == n.number for m in s.letters) for n in s.letters))\n"
    "    require(any(m.number == 0 for m in s.letters) and any(m.number == 1 for m in s.letters))\n"
    "    require(any(m.number == 2 for m in s.letters))\n    s.flag = True",
    "two letters besides that which arrives": "require(any(m.number > letter.number and n.number > m.number\n"
    "                for m in s.letters for n in s.letters))\n    s.flag = True",
    "a sum over a bag": "require(sum(m.number for m in s.letters) > 4)\n    s.flag = True",
    "more letters than fit at once": "s.letters = s.letters.add(Letter(0, True)).add(Letter(1, True))"
    ".add(Letter(2, True))\n    s.flag = True",
    "a log longer than its bound": "s.log = (True, False, True)\n    s.flag = True",
}


@pytest.mark.parametrize("body", DECIDING.values(), ids=DECIDING.keys())
def test_an_action_that_decides_by_a_bound_leaves_no_claim_without_it(tmp_path: Path, body: str) -> None:
    """With the bounds of the model the flag is never set; with wider ones it is."""
    file = one_action(tmp_path, body, FLAG, ", letter: Sent" if "letter." in body else "")
    assert violated(file, {}) == set()
    assert violated(file, WIDER[-1]) == {"claim"}
    proof = prove(load(str(file)), ProofOptions())
    assert not {"claim"} & without_bounds(proof)


@pytest.mark.parametrize("body", [
    "s.flag = s.flag or len(s.letters) > 1", "s.flag = s.flag or s.letters.count(letter) > 1",
    "s.flag = s.flag or any(m != letter for m in s.letters)",
    "s.flag = s.flag or not all(m == letter for m in s.letters)",
    "s.letters = s.letters.remove(letter)\n    s.flag = s.flag or len(s.letters) > 0",
    "s.log = s.log + (True,)\n    s.flag = s.flag or len(s.log) > 1",
])  # fmt: skip
def test_room_for_one_leaves_nothing_to_ask_and_no_claim_without_it(tmp_path: Path, body: str) -> None:
    """Folded away, with what it would have assigned."""
    file = one_action(tmp_path, body, FLAG, ", letter: Sent")
    assert violated(file, WIDER[-1]) == {"claim"}
    proof = prove(load(str(file), {"room": "1"}), ProofOptions())
    assert not {"claim"} & without_bounds(proof)


@pytest.mark.parametrize(("returned", "transition"), [
    ("s.a <= 2", False), ("len(s.letters) <= 2", False), ("after.a <= 2", True), ("len(after.letters) < 3", True),
    ("not (any(m.number == 0 for m in s.letters) and any(m.number == 1 for m in s.letters)"
     " and any(m.number == 2 for m in s.letters))", False),
    ("s.letters.count(Letter(0, False)) < 3", False),
])  # fmt: skip
def test_a_claim_that_a_bound_makes_true_keeps_it(tmp_path: Path, returned: str, transition: bool) -> None:
    kind, parameters = "invariant", "s: Office"
    if transition:
        kind, parameters = "transition_invariant", "before: Office, after: Office"
    claim = f'@{kind}(source="-")\ndef claim({parameters}) -> bool:\n    """Something."""\n    return {returned}\n'
    file = one_action(tmp_path, "s.level = 0", claim)
    assert violated(file, WIDER[-1]) == {"claim"}
    assert kept(prove(load(str(file)), ProofOptions()), "claim") != []


FREE = {
    "a guard on a counter": "require(s.a < 2)\n    s.level = 1",
    "a counter and what happens besides": "s.b += 1\n    s.level = 1",
    "for want of a letter": "require(not any(m.urgent for m in s.letters))\n    s.level = 1",
    "a letter that arrives": "require(letter.number == 1)\n    s.letters = s.letters.remove(letter)\n    s.level = 1",
    "a limit of letters that the claim does not need": "require(len(s.letters) < 2)\n    s.level = 1",
}


@pytest.mark.parametrize("body", FREE.values(), ids=FREE.keys())
def test_a_proof_does_without_the_bounds_that_nothing_decides_by(tmp_path: Path, body: str) -> None:
    file = one_action(tmp_path, body, FLAG, ", letter: Sent" if "letter." in body else "")
    assert kept(prove(load(str(file)), ProofOptions()), "claim") == []


@pytest.mark.parametrize("seed", range(8))
def test_what_is_proved_without_a_bound_holds_with_wider_ones(tmp_path: Path, seed: int) -> None:
    file = tmp_path / "drawn.py"
    file.write_text(source(seed))
    proof = prove(load(str(file)), ProofOptions())
    proved = {f.claim.name for f in proof.findings if f.verdict == PROVED}
    assert not proved & violated(file, {})
    free = without_bounds(proof)
    for changes in WIDER if free else []:
        assert not free & violated(file, changes), changes


@pytest.mark.parametrize("seed", range(4))
def test_unrolling_finds_what_the_search_finds(tmp_path: Path, seed: int) -> None:
    file = tmp_path / "drawn.py"
    file.write_text(source(seed))
    steps = 3
    shortest = min(violations(file, {}).values(), default=steps + 2)
    found = unroll(load(str(file)), steps, ProofOptions())
    assert (None if found.run is None else len(found.run.states)) == (shortest if shortest <= steps + 1 else None)


def test_many_claims_of_these_are_proved_without_a_bound_and_many_with(tmp_path: Path) -> None:
    """So that the test above has something to say."""
    counts = [0, 0]
    for seed in range(8):
        file = tmp_path / f"drawn_{seed}.py"
        file.write_text(source(seed))
        proof = prove(load(str(file)), ProofOptions())
        free = without_bounds(proof)
        counts[0] += len(free)
        counts[1] += len({f.claim.name for f in proof.findings if f.verdict == PROVED} - free)
    assert min(counts) >= 8
