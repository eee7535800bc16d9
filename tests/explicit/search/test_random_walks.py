"""Compiled random walks: what they take, what they find, and that plain Python can take every step of theirs."""

from __future__ import annotations

import ctypes
import threading
import time
from typing import Any

import numpy as np
import pytest

from checker.explicit.check import kernel_of
from checker.explicit.kernel import abi
from checker.explicit.kernel.build import compile_kernel
from checker.explicit.kernel.kernel import Kernel
from checker.explicit.search import random_walks as module
from checker.explicit.search.path import Path, Target, packed
from checker.explicit.search.random_walks import WalksResult, random_walks
from checker.explicit.search.walk import Walker
from checker.lang.ir import EventKind, Kind, Leaf
from checker.lang.loader import load
from checker.reference.step import Reference
from tests.explicit.small_models import Builder, line, subsets


def walls() -> Builder:
    """Two counters that step up and down freely; (4, 4) breaks an invariant."""
    b = Builder(["up", "down"], [Leaf("x", Kind.INT, 6), Leaf("y", Kind.INT, 6)])
    for action, by, edge in ((0, 1, 5), (1, -1, 0)):
        for i, node in enumerate(b.nodes):
            wall = b.event(EventKind.REQUIRE, action, b.g.eq(node, b.g.integer(edge)))
            b.step(action, [wall], {i: b.g.add(node, b.g.integer(by))})
    four = b.g.integer(4)
    b.property("never both at four", "invariant", b.g.and_(*[b.g.eq(node, four) for node in b.nodes]))
    return b


def compiled(b: Builder) -> Kernel:
    return compile_kernel(b.program, "walk")


def walked(kernel: Kernel, initial: list[list[int]], **how: Any) -> WalksResult:
    return random_walks(kernel, initial, **{"seed": 1, "walks": 1, "max_steps": 9, **how})


def found(b: Builder, **how: Any) -> tuple[Target, Path]:
    violation = walked(compiled(b), [[0] * len(b.nodes)], **how).violation
    assert violation is not None
    return violation.target, violation.path


def walker(kernel: Kernel, initial: list[list[int]], seed: int = 1, max_steps: int = 9) -> module._Walker:
    starts = np.array([kernel.layout.pack(codes) for codes in initial], dtype=np.uint64)
    return module._Walker(kernel, starts, seed, max_steps)


# What is found.


def test_a_walk_finds_a_violation_and_shrinks_it() -> None:
    kernel = compiled(walls())
    violation = walked(kernel, [[0, 0]], walks=200, max_steps=300).violation
    assert violation is not None and violation.target == Target(property=0)
    assert len(violation.path.instances) == 8 < violation.found_steps
    assert violation.path.words[-1] == kernel.layout.pack([4, 4])


def test_an_error_a_deadlock_and_a_step_out_of_the_constraint() -> None:
    b = line(6)
    up, (c,) = b.g.integer(1), b.nodes
    b.step(0, [b.event(EventKind.ERROR, 0, b.g.eq(c, b.g.integer(3)))], {0: b.g.add(c, up)})
    target, path = found(b)
    assert target.site is not None and path.site == target.site
    assert (path.words, path.instances[-1]) == ([(0,), (1,), (2,), (3,)], 1)

    b = line(4)
    b.property("goes on", "deadlock")
    b.program.terminal = b.g.false
    assert found(b) == (Target(deadlock=True), Path([0, 0, 0], [(0,), (1,), (2,), (3,)]))
    b.program.terminal = b.g.true
    result = walked(compiled(b), [[0]])
    assert (result.violation, result.steps) == (None, 3)

    b = line(9)
    two = b.g.eq(b.nodes[0], b.g.integer(2))
    b.instances.clear()
    b.step(0, [], {0: b.g.add(b.nodes[0], b.g.integer(1))}, ((0, two),), two)
    b.property("not from two", "transition invariant")
    assert found(b) == (Target(property=0), Path([0, 0, 0], [(0,), (1,), (2,), (3,)]))


def test_the_last_state_of_a_walk_is_looked_at_too() -> None:
    b = line(6)
    b.property("never at five", "invariant", b.g.eq(b.nodes[0], b.g.integer(5)))
    assert walked(compiled(b), [[0]], max_steps=4).violation is None
    assert len(found(b, max_steps=5)[1].instances) == 5


def test_initial_states_are_drawn_and_looked_at() -> None:
    b = line(6)
    b.property("never at four", "invariant", b.g.eq(b.nodes[0], b.g.integer(4)))
    b.program.outside = b.g.eq(b.nodes[0], b.g.integer(3))
    kernel = compiled(b)
    violation = walked(kernel, [[0], [4]], walks=20).violation
    assert violation is not None and violation.path == Path([], [(4,)])
    outside = walked(kernel, [[3]], walks=20)
    assert (outside.violation, outside.walks, outside.steps) == (None, 20, 0)
    with pytest.raises(ValueError, match="no initial state"):
        walked(kernel, [])


def test_what_was_gone_through_is_counted() -> None:
    b = walls()
    b.program.properties.clear()
    b.property("in a corner", "witness", b.g.and_(*[b.g.eq(node, b.g.integer(5)) for node in b.nodes]))
    b.property("nowhere", "witness", b.g.false)
    result = walked(compiled(b), [[0, 0]], walks=30, max_steps=200)
    assert (result.walks, result.steps, sum(result.taken)) == (30, 6000, 6000)
    assert result.witnesses == 1
    assert sum(c.enabled for c in result.actions) > result.steps
    assert sum(s.evaluated for s in result.sites) == 4 * (result.steps + result.walks), "four guards a state"


# Chance.


@pytest.mark.parametrize("outside", [False, True])
def test_every_enabled_instance_is_taken_equally_often(outside: bool) -> None:
    """Also those that lead to the same state, and those that lead out of the constraint."""
    b = Builder(["step"], [Leaf("c", Kind.INT, 2)])
    for k in range(6):
        b.step(0, [], {0: b.g.integer(k % 2)}, outside=b.g.true if outside and k > 3 else None)
    b.program.outside = b.g.false
    one = walker(compiled(b), [[0]], max_steps=1)
    counts = np.bincount([one.path(walk, 1)[1][0] for walk in range(6000)], minlength=6)
    assert all(900 < n < 1100 for n in counts), counts


def test_a_walk_depends_on_its_number_and_the_seed_only() -> None:
    kernel = compile_kernel(subsets(3), "three")
    one, other = walker(kernel, [[0]], max_steps=40), walker(kernel, [[0]], max_steps=40)
    paths = [one.path(walk, 40) for walk in range(30)]
    assert [other.path(walk, 40) for walk in reversed(range(30))] == paths[::-1]
    assert len({tuple(instances) for _, instances in paths}) == 30
    another = walker(kernel, [[0]], seed=2, max_steps=40)
    assert all(another.path(walk, 40) != paths[walk] for walk in range(30))


def test_any_number_of_jobs_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where a later block is done before the one that has the first violation."""
    monkeypatch.setattr(module, "BLOCK_STEPS", 20)
    kernel = compiled(walls())
    initial = [[0, 0]]
    alone = walked(kernel, initial, seed=3, walks=500, max_steps=10)
    assert alone.violation is not None and 10 < alone.walks == alone.violation.walk + 1
    first = alone.violation.walk // 2 * 2  # of the block
    ahead, walk = threading.Event(), kernel.calls["walk"]

    def late(context: int, record: int) -> int:
        begun = field_of(record, abi.WALK)
        if begun == first:
            assert ahead.wait(10)
        violated: int = walk(context, record)
        if begun > first:
            ahead.set()
        return violated

    monkeypatch.setitem(kernel.calls, "walk", late)
    together = walked(kernel, initial, seed=3, walks=500, max_steps=10, jobs=3)
    for name in ("walks", "steps", "taken", "actions", "sites", "witnesses", "violation", "stopped"):
        assert getattr(together, name) == getattr(alone, name), name


def test_what_was_done_when_the_time_is_up_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what comes after a block that was not finished."""
    monkeypatch.setattr(module, "BLOCK_STEPS", 20)
    kernel = compile_kernel(subsets(3), "three")
    walk = kernel.calls["walk"]

    def stuck(context: int, record: int) -> int:
        while field_of(record, abi.WALK) == 0 and not field_of(record, abi.STOP):
            time.sleep(0.01)
        violated: int = walk(context, record)
        return violated

    monkeypatch.setitem(kernel.calls, "walk", stuck)
    result = walked(kernel, [[0]], walks=100, max_steps=10, jobs=2, time_limit_s=0.3)
    assert (result.stopped, result.walks, result.steps) == ("time limit of 0.3 s", 98, 980)


def field_of(record: int, field: int) -> int:
    return ctypes.c_int64.from_address(record + 8 * field).value


# Plain Python is the oracle.


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("docs/tutorial/lease.py", None),
        ("kraft/lossy", "shipped"),
        ("tests/models/async_isr.py", None),
        ("tests/models/bounds.py/constrained", None),
        ("tests/models/partial_operations.py", None),
        ("tests/models/two_phase_commit.py", None),
    ],
)
def test_every_step_is_one_of_plain_python(name: str, setting: str | None) -> None:
    model = load(name, {}, setting)
    kernel, reference = kernel_of(model), Reference(model)
    one = walker(kernel, [model.state_type.encode(s) for s in model.initial_states()], max_steps=40)
    for walk in range(12):
        words, instances = one.path(walk, 40)
        for instance in instances:
            result = reference.step(model.state_type.decode(kernel.layout.unpack(words)), instance)
            assert result.ended is None
            words = packed(np.array(kernel.layout.pack(model.state_type.encode(result.state)), dtype=np.uint64))
        last = Walker(kernel)
        (found, outside), expansion = last.classify(words), last.expand(words)
        violated = found & kernel.mask_of("invariant") or expansion.errors
        assert violated or outside or not expansion.steps or len(instances) == 40, "no walk ends without a reason"
