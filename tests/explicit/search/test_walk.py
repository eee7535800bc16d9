"""One state at a time: successors, outcomes, random walks."""

from __future__ import annotations

import pytest

from checker.explicit.kernel.build import compile_kernel
from checker.explicit.kernel.kernel import Kernel
from checker.explicit.search.path import Path, Target
from checker.explicit.search.walk import Outcome, outcomes, simulate, successors
from checker.lang.ir import EventKind, Kind, Leaf
from tests.explicit.small_models import Builder, line, subsets


def _walls() -> Builder:
    """Two counters that step up and down freely; (4, 4) breaks an invariant."""
    b = Builder(["up", "down"], [Leaf("x", Kind.INT, 6), Leaf("y", Kind.INT, 6)])
    for action, by, edge in ((0, 1, 5), (1, -1, 0)):
        for i, node in enumerate(b.nodes):
            wall = b.event(EventKind.REQUIRE, action, b.g.eq(node, b.g.integer(edge)))
            b.step(action, [wall], {i: b.g.add(node, b.g.integer(by))})
    four = b.g.integer(4)
    b.property("never both at four", "invariant", b.g.and_(*[b.g.eq(node, four) for node in b.nodes]))
    return b


def _kernel(b: Builder) -> Kernel:
    return compile_kernel(b.program, "walk", record_outcomes=True)


def test_successors_and_outcomes() -> None:
    kernel = compile_kernel(subsets(2), "two", record_outcomes=True)
    assert successors(kernel, (2,)) == [(1, (0,), False), (2, (3,), False), (3, (2,), False)]
    absent = kernel.sites.index(next(s for s in kernel.sites if s.kind is EventKind.ABSENT))
    assert outcomes(kernel, (2,)) == [
        Outcome(0, absent, None), Outcome(1, None, (0,)), Outcome(2, None, (3,)), Outcome(3, None, (2,)),
    ]
    with pytest.raises(ValueError, match="without record_outcomes"):
        outcomes(compile_kernel(subsets(2), "two"), (2,))


def test_a_walk_finds_a_violation_and_shrinks_it() -> None:
    kernel = _kernel(_walls())
    result = simulate(kernel, [[0, 0]], seed=7, walks=200, max_steps=300)
    assert result.target == Target(property=0)
    assert result.path is not None
    assert len(result.path.instances) == 8 < result.found_steps
    assert result.path.words[-1] == kernel.layout.pack([4, 4])
    assert simulate(kernel, [[0, 0]], seed=7, walks=200, max_steps=300) == result


def test_walks_that_find_nothing() -> None:
    result = simulate(compile_kernel(subsets(3), "three"), [[0]], seed=1, walks=4, max_steps=10)
    assert (result.target, result.walks, result.steps) == (None, 4, 40)
    with pytest.raises(ValueError, match="no initial state"):
        simulate(compile_kernel(subsets(3), "three"), [], seed=1, walks=1, max_steps=1)


def test_walks_end_in_errors_deadlocks_and_outside() -> None:
    b = line(6)
    up, (c,) = b.g.integer(1), b.nodes
    b.step(0, [b.event(EventKind.ERROR, 0, b.g.eq(c, b.g.integer(3)))], {0: b.g.add(c, up)})
    result = simulate(_kernel(b), [[0]], seed=1, walks=1, max_steps=9)
    assert result.target is not None and result.target.site is not None
    assert result.path is not None and result.path.words == [(0,), (1,), (2,), (3,)]
    assert result.path.instances[-1] == 1 and result.path.site == result.target.site

    b = line(4)
    b.property("goes on", "deadlock")
    b.program.terminal = b.g.false
    result = simulate(_kernel(b), [[0]], seed=1, walks=1, max_steps=9)
    assert (result.target, result.path) == (Target(deadlock=True), Path([0, 0, 0], [(0,), (1,), (2,), (3,)]))

    b = line(9)
    two = b.g.eq(b.nodes[0], b.g.integer(2))
    b.instances.clear()
    b.step(0, [], {0: b.g.add(b.nodes[0], b.g.integer(1))}, ((0, two),), two)
    b.property("not from two", "transition invariant")
    result = simulate(_kernel(b), [[0]], seed=1, walks=1, max_steps=9)
    assert (result.target, result.path) == (Target(property=0), Path([0, 0, 0], [(0,), (1,), (2,), (3,)]))
