"""The encoded relation is what plain Python does: every transition of the small models, samples of the large ones."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import z3

from checker.explicit.kernel.build import compile_kernel
from checker.explicit.search.breadth_first import search
from checker.lang.ir import EventKind, Kind, Leaf
from checker.lang.loader import load
from checker.lang.types import BagType, RangeType, SetType
from checker.lang.values import RuntimeViolation
from checker.symbolic.bounded import Unrolling
from checker.symbolic.wellformed import well_formed
from tests.conftest import ROOT, Pin, read_pins
from tests.symbolic.encoded import Encoded, arrangements

SMALL = 120  # states up to which every transition is compared
WALK = 15  # steps of a random behaviour of a larger model
EXAMPLES = 60  # codes that are changed at random

PINS = [p for p in read_pins(ROOT / "tests" / "pins.toml") if ".py" in p.target]
SMALL_PINS = [p for p in PINS if 0 < p.expected.get("distinct", 0) <= SMALL]
KRAFT = ["kraft/membership", "kraft/twins", "kraft/isr", "kraft/raft_snapshot_crash"]


def encoded(target: str, changes: dict[str, str] | None = None, setting: str | None = None) -> Encoded:
    return Encoded(load(str(ROOT / target) if ".py" in target else target, changes, setting))


def compare(both: Encoded, state: Any) -> list[Any]:
    """Hold the encoding to plain Python in one state. Gives the states after it."""
    before = both.at(both.codes(state))
    expected = set()
    for declared in both.model.model.properties:
        if declared.kind in ("invariant", "witness"):
            try:
                if both.reference.evaluate(declared, state) == (declared.kind == "witness"):
                    expected.add(declared.name)
            except RuntimeViolation:
                expected.add(declared.name if declared.kind == "invariant" else f"{declared.name} can be evaluated")
    assert both.broken(before) == expected
    found = []
    for number, instance in enumerate(both.program.instances):
        result = both.reference.step(state, number)
        assert both.worth(both.relation.fires(instance, before)) == (result.ended is None), (state, instance.parameters)
        assert both.worth(both.relation.breaks_down(instance, before)) == (result.ended is EventKind.ERROR)
        if result.ended is None:
            after = both.after(instance, before)
            assert both.key(after) == both.reference.canonical(result.state), (state, instance.parameters)
            assert both.worth(z3.And(*well_formed(both.model.state_type, both.at(after).leaves), True))
            broken = {both.program.properties[i].name for i, c in instance.breaks
                      if both.worth(both.relation.encoding.of(c, before))}  # fmt: skip
            steps = [p for p in both.model.model.properties if p.kind == "transition invariant"]
            assert {p.name for p in steps if not both.reference.evaluate(p, state, result.state)} <= broken
            found.append(result.state)
    return found


@pytest.mark.sample(10, verify=30)
@pytest.mark.parametrize("pin", SMALL_PINS, ids=str)
def test_every_transition(pin: Pin) -> None:
    both = encoded(pin.target, pin.changes, pin.setting)
    queue = both.model.initial_states()
    seen = {both.reference.canonical(s) for s in queue}
    for state in queue:
        if not both.worth(both.relation.inside(both.at(both.codes(state)))):
            continue
        for after in compare(both, state):
            key = both.reference.canonical(after)
            if key not in seen:
                seen.add(key)
                queue.append(after)


def test_every_form_of_expression() -> None:
    both = encoded("tests/models/expressions.py")
    chance = random.Random(1)
    for state in chance.sample(both.model.initial_states(), WALK):
        compare(both, state)


def walk(both: Encoded, seed: int, length: int) -> list[tuple[Any, int, Any]]:
    """(state, instance, state after it) along a random behaviour."""
    chance = random.Random(seed)
    state, found = chance.choice(both.model.initial_states()), []
    for _ in range(length):
        steps = list(both.reference.successors(state))
        if not steps:
            break
        instance, after = chance.choice(steps)
        found.append((state, instance, after))
        state = after
    return found


@pytest.mark.long("5 s of CPU")
@pytest.mark.sample(1)
@pytest.mark.parametrize("target", KRAFT)
def test_random_walks(target: str) -> None:
    both = encoded(target)
    for state, _, _ in walk(both, seed=1, length=WALK // 3):
        compare(both, state)


@pytest.mark.sample(1)
@pytest.mark.parametrize("target", KRAFT)
def test_a_corrupted_transition_is_none(target: str) -> None:
    """The relation has every transition of a sample, and none with one leaf of the state after it changed."""
    both, chance = encoded(target), random.Random(2)
    for state, number, after in walk(both, seed=3, length=WALK // 3):
        instance = both.program.instances[number]
        before, solver = both.relation.encoding.state("before"), z3.Solver()
        solver.add(both.relation.equals(before, both.codes(state)), both.relation.typed(before))
        solver.add(both.relation.fires(instance, before))
        end = both.relation.after(instance, before)
        true = both.codes(after)
        assert solver.check(z3.Or(*[both.alike(end, a) for a in arrangements(true, both)])) == z3.sat
        leaf = chance.choice([i for i, one in enumerate(both.program.leaves) if one.kind is not Kind.ORDINAL])
        wrong = list(true)
        wrong[leaf] = wrong[leaf] ^ 1
        assert solver.check(z3.Or(*[both.alike(end, a) for a in arrangements(wrong, both)])) == z3.unsat


TYPED = [
    "tests/models/shapes.py", "tests/models/collections_of_values.py", "tests/models/members.py/posted",
    "tests/models/members.py/claims",    "kraft/membership", "kraft/twins",
]  # fmt: skip


@pytest.mark.sample(2)
@pytest.mark.parametrize("target", TYPED)
def test_codes_are_typed_exactly_if_they_code_a_state(target: str) -> None:
    both, chance = encoded(target), random.Random(4)
    type_, leaves = both.model.state_type, both.program.leaves
    kinds: dict[Kind, Callable[[Leaf], int]] = {
        Kind.BOOL: lambda _: 2, Kind.ORDINAL: lambda _: 4, Kind.INT: lambda leaf: leaf.size + 1
    }  # fmt: skip
    good = [both.codes(state) for state, _, _ in walk(both, seed=5, length=WALK)] or [
        both.codes(state) for state in both.model.initial_states()
    ]
    seen = set()
    for _ in range(EXAMPLES):
        codes = list(chance.choice(good))
        for leaf in chance.sample(range(len(leaves)), chance.randrange(3)):
            kind = leaves[leaf].kind
            codes[leaf] = chance.randrange(1 << leaves[leaf].size if kind is Kind.SET else kinds[kind](leaves[leaf]))
        typed = both.worth(z3.And(*well_formed(type_, both.at(codes).leaves), True))
        assert typed == codes_a_state(both, codes)
        seen.add(typed)
    assert seen == {True, False}


NUMBERS = [None, *range(3)]
SETS = [None, *map(frozenset, ([], [0], [1], [0, 1]))]


@pytest.mark.parametrize(("element", "values"), [
    (RangeType(0, 2, False), NUMBERS), (SetType(RangeType(0, 1, False)), SETS),
], ids=["numbers", "sets"])  # fmt: skip
def test_each_slot_of_a_bag_is_typed(element: Any, values: list[Any]) -> None:
    """Whatever stands in it codes a member, or is 0."""
    type_ = BagType(element, 2)
    members = [type_.slot.encode(member) for member in values]
    solver, leaves = z3.Solver(), [z3.BitVec(f"leaf {i}", 3) for i in range(type_.width)]
    solver.add(*well_formed(type_, leaves))
    for codes in product(range(8), repeat=type_.width):
        slots = [list(codes[i : i + type_.slot_width]) for i in range(0, type_.width, type_.slot_width)]
        said = solver.check(*[leaf == code for leaf, code in zip(leaves, codes, strict=True)])
        assert (said == z3.sat) == all(slot in members for slot in slots), codes


def test_a_set_with_a_bound_has_no_member_twice() -> None:
    both = encoded("tests/models/members.py/claims")
    [(_, _, state)] = walk(both, seed=1, length=1)
    state.claims = frozenset({both.model.spec.module.Claim(by=both.model.spec.module.Node(0), epoch=state.newest)})
    codes = both.codes(state)
    for again in (False, True):
        if again:
            first, second = both.program.bags[0].slots
            for i, j in zip(first, second, strict=True):
                codes[j] = codes[i]
        typed = both.worth(z3.And(*well_formed(both.model.state_type, both.at(codes).leaves), True))
        assert typed is not again


def codes_a_state(both: Encoded, codes: list[int]) -> bool:
    """Some arrangement of the bags' slots is what a state is coded as."""
    type_ = both.model.state_type
    if any(code >= leaf.size for code, leaf in zip(codes, both.program.leaves, strict=True) if leaf.kind is Kind.INT):
        return False
    try:
        coded = type_.encode(type_.parse(type_.itf(type_.decode(codes))))
    except Exception:  # no value has these codes
        return False
    return coded in arrangements(codes, both)


REACHED = [
    ("tests/models/philosophers.py", {}, 5), ("tests/models/two_phase_commit.py", {"resource_managers": "2"}, 4),
    ("tests/models/ordinals.py/bumps", {}, 4), ("tests/models/ordinals.py/sessions", {}, 4),
    ("tests/models/bounds.py/cut", {}, 5), ("tests/models/bounds.py/constrained", {}, 4),
    ("docs/tutorial/lease.py", {}, 6), ("kraft/membership", {}, 2),
]  # fmt: skip


@pytest.mark.parametrize(("target", "changes", "steps"), REACHED, ids=str)
def test_the_same_states_are_reached_in_k_steps(target: str, changes: dict[str, str], steps: int) -> None:
    """With all bounds encoded: every state that an unrolling has after k steps, and no other."""
    both = encoded(target, changes)
    unrolling = Unrolling(both.model, both.program, None)
    layer = {both.reference.canonical(s): s for s in both.model.initial_states()}
    for number in range(steps + 1):
        if number:
            unrolling.extend()
            constraints = both.model.model.constraints
            inside = [s for s in layer.values() if all(both.reference.evaluate(c, s) for c in constraints)]
            layer = {both.reference.canonical(a): a for s in inside for _, a in both.reference.successors(s)}
        assert both.last_states(unrolling) == set(layer), number


def test_the_kernel_stores_the_states_that_unrollings_have() -> None:
    both = encoded("tests/models/ordinals.py/sessions")
    kernel = compile_kernel(both.program, both.model.key())
    result = search(kernel, [both.codes(s) for s in both.model.initial_states()])
    [stored] = result.exploration.shards
    explored = {both.key(kernel.layout.unpack(row)) for row in stored.states(0, stored.count)}
    unrolling = Unrolling(both.model, both.program, None)
    solved = both.last_states(unrolling)
    for _ in range(result.depth - 1):
        unrolling.extend()
        solved |= both.last_states(unrolling)
    assert solved == explored
