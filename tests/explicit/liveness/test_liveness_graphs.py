"""Liveness on random graphs, against every set of states there is."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import replace as changed
from pathlib import Path
from random import Random

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker.explicit.check import Options, check
from checker.explicit.kernel.kernel import Kernel, compile_kernel
from checker.explicit.liveness.components import NOWHERE
from checker.explicit.liveness.fairness import Fairness
from checker.explicit.liveness.graph import StateGraph, build
from checker.explicit.liveness.obligations import Lasso, Seeker, find_lassos
from checker.explicit.search.breadth_first import search
from checker.explicit.search.results import SearchResult
from checker.lang.ir import EventKind, Kind, Leaf, Node, Program
from checker.lang.liveness import LEADS_TO, Liveness, Obligation
from checker.lang.loader import load
from checker.running.deadline import Patience
from checker.running.limits import Limits
from tests.explicit.small_models import Builder

REFUSED, CUT, OUTSIDE = -1, -2, -3
MODELS = Path(__file__).parents[2] / "models"
PATIENCE = Patience(0.0, Limits())


@dataclass(frozen=True)
class Drawing:
    """A graph. steps[i][s]: where instance i leads from state s, or how else it ends.

    fair[b]: "", "weak" or "strong", of the fair binding b; binding[i]: that of instance i (None: i, each its own).
    """

    count: int
    steps: list[list[int]]
    fair: list[str]
    condition: frozenset[int] | None  # None: the initial states
    goal: frozenset[int]
    initial: list[int]
    binding: list[int] | None = None

    def groups(self) -> list[tuple[str, list[int]]]:
        """(fairness, instances) of each binding that is fair."""
        binding = self.binding or list(range(len(self.steps)))
        groups = [(fair, [i for i, b in enumerate(binding) if b == number]) for number, fair in enumerate(self.fair)]
        return [(fair, instances) for fair, instances in groups if fair and instances]

    def withheld(self) -> set[int]:
        """The states in which a fair step is enabled, and what it leads to is not known."""
        fair = [self.steps[i] for _, instances in self.groups() for i in instances]
        return {s for s in range(self.count) if any(row[s] in (CUT, OUTSIDE) for row in fair)}

    def edges(self) -> Iterator[tuple[int, int, int]]:
        """(source, instance, target)."""
        for instance, row in enumerate(self.steps):
            for source, target in enumerate(row):
                if target >= 0:
                    yield source, instance, target

    def enabled(self, state: int, instances: list[int]) -> bool:
        return any(self.steps[i][state] != REFUSED for i in instances)

    def reached(self, start: set[int], inside: set[int]) -> set[int]:
        found = set(start)
        while True:
            more = {t for s, _, t in self.edges() if s in found and t in inside} - found
            if not more:
                return found
            found |= more

    def fair_tour(self, states: set[int], taken: set[int]) -> bool:
        """Whether going round in exactly these states, taking exactly these instances, is fair."""
        for fair, instances in self.groups():
            enabled = [self.enabled(s, instances) for s in states]
            unfair = {"weak": all(enabled), "strong": any(enabled)}[fair]
            if unfair and not taken & set(instances):
                return False
        return True

    def violated(self) -> bool:
        """By the definition: some set of states without the goal can be gone round fairly, or be stayed in."""
        everything = set(range(self.count))
        missing = everything - self.goal
        states = self.reached(set(self.initial), everything)
        asked = (set(self.initial) if self.condition is None else states & self.condition) & missing
        return any(self.can_stay(set(c)) for c in subsets(self.reached(asked, missing) - self.withheld()))

    def can_stay(self, states: set[int]) -> bool:
        inner = [(s, i, t) for s, i, t in self.edges() if s in states and t in states]
        if len(states) == 1 and self.fair_tour(states, set()):
            return True
        connected = all(self.reached({s}, states) == states for s in states)
        return bool(inner) and connected and self.fair_tour(states, {i for _, i, _ in inner})


def subsets(states: set[int]) -> Iterator[tuple[int, ...]]:
    for size in range(1, len(states) + 1):
        yield from itertools.combinations(sorted(states), size)


def drawn(seed: int) -> Drawing:
    """A random graph. Shares are drawn first, so that some graphs are sparse, some mostly fair, some without cuts."""
    random = Random(seed)
    count, instances = random.randint(1, 6), random.randint(1, 5)
    states = range(count)
    refused, lost, met, shared = (random.choice(shares) for shares in ((0.3, 0.6), (0, 0.05), (0.1, 0.4), (0, 0.5)))

    def end() -> int:
        drawn = random.random()
        if drawn < refused:
            return REFUSED
        return random.choice([CUT, OUTSIDE]) if drawn < refused + lost else random.choice(states)

    def some(share: float) -> frozenset[int]:
        return frozenset(s for s in states if random.random() < share)

    return Drawing(
        count, [[end() for _ in states] for _ in range(instances)],
        [random.choice(["", "weak", "strong"]) for _ in range(instances)],
        random.choice([None, some(0.5)]), some(met), random.choices(states, k=random.randint(1, 2)),
        [random.randrange(instances) if random.random() < shared else i for i in range(instances)],
    )  # fmt: skip


def graph_of(drawing: Drawing) -> StateGraph:
    """The graph as `build` makes it, in plain Python: states in the order in which they are met."""
    order, levels, edges = list(dict.fromkeys(drawing.initial)), [0], list[tuple[int, int, int]]()
    while levels[-1] < len(order):
        begin, end = levels[-1], len(order)
        for number in range(begin, end):
            for instance, row in enumerate(drawing.steps):
                target = row[order[number]]
                if target >= 0:
                    order += [target] * (target not in order)
                    edges.append((number, instance, order.index(target)))
        levels.append(end)
    sources, instances, targets = (np.array([e[k] for e in edges], dtype=np.int32) for k in range(3))
    fair = {i for _, group in drawing.groups() for i in group}
    bits = [(s in (drawing.condition or ())) | (s in drawing.goal) << 1 for s in order]
    return StateGraph(
        np.searchsorted(sources, np.arange(len(order) + 1)), targets, instances, levels,
        np.array([s in drawing.withheld() for s in order]),
        np.array([any(drawing.steps[i][s] >= 0 for i in fair) for s in order]),
        np.array(bits, dtype=np.int64).reshape(-1, 1), [(s,) for s in order[: levels[1]]],
    )  # fmt: skip


def fairness_of(drawing: Drawing) -> dict[int, tuple[int, str]]:
    return {i: (b, fair) for b, (fair, instances) in enumerate(drawing.groups()) for i in instances}


def program(drawing: Drawing) -> Program:
    """The graph as a model: one leaf, an instance for each row of steps."""
    size = drawing.count + 1  # the last state is outside the constraint
    b = Builder(["step"], [Leaf("at", Kind.INT, size)])
    g, at = b.g, b.nodes[0]

    def among(states: Iterator[int] | frozenset[int]) -> Node:
        return g.any_([g.eq(at, g.integer(s)) for s in states])

    for row in drawing.steps:
        after = g.integer(0)
        for source, target in enumerate(row):
            onwards = size - 1 if target == OUTSIDE else max(0, target)
            after = g.select(g.eq(at, g.integer(source)), g.integer(onwards), after)
        refused = among(s for s, t in enumerate(row) if t == REFUSED)
        cut = among(s for s, t in enumerate(row) if t == CUT)
        events = [b.event(EventKind.REQUIRE, 0, refused), b.event(EventKind.CUT, 0, cut)]
        b.step(0, events, {0: after}, outside=g.eq(after, g.integer(size - 1)))
    b.property("p", LEADS_TO)
    condition = None if drawing.condition is None else among(drawing.condition)
    obligation = Obligation(0, (), condition, among(drawing.goal))
    liveness = Liveness((obligation,), fairness_of(drawing))
    return changed(b.program, outside=g.eq(at, g.integer(size - 1)), liveness=liveness)


def found_by(kernel: Kernel, initial: list[list[int]], threads: int) -> tuple[SearchResult, Lasso | None]:
    result = search(kernel, initial, threads=threads)
    return result, find_lassos(kernel, result).by_property.get(0)


def assert_same_graph(one: StateGraph, other: StateGraph) -> None:
    for name, value in vars(one).items():
        np.testing.assert_array_equal(value, vars(other)[name], err_msg=name)


def assert_lasso(drawing: Drawing, lasso: Lasso, state: int) -> None:
    """The lasso is a behaviour of the graph that the obligation forbids."""
    assert state in drawing.initial
    states = [state]
    for instance in lasso.instances:
        states.append(drawing.steps[instance][states[-1]])
        assert states[-1] >= 0
    assert drawing.condition is None or states[lasso.asked] in drawing.condition
    assert drawing.condition is not None or lasso.asked == 0
    assert not drawing.goal & set(states[lasso.asked :])
    assert not drawing.withheld() & set(states[lasso.loop :])
    if lasso.turn is None:
        assert drawing.fair_tour({states[-1]}, set())
    else:
        assert lasso.asked <= lasso.turn < lasso.length - 1
        assert states[lasso.turn] == states[-1]
        assert drawing.fair_tour(set(states[lasso.turn :]), set(lasso.instances[lasso.turn :]))


# 0 goes to 1 and back by one of two instances of one binding, either of which is refused in one of the states.
ONE_BINDING = Drawing(
    2, [[1, REFUSED], [REFUSED, 0], [0, 1]], ["weak", "", ""], None, frozenset(), [0], [0, 0, 1]
)
ONLY_STRONG = Drawing(3, [[1, 0, REFUSED], [REFUSED, 2, REFUSED]], ["weak", "strong"], None, frozenset({2}), [0])


STRONG_LATER = Drawing(  # the short loop 0, 1 never takes what is enabled at 1
    3, [[1, 0, REFUSED], [REFUSED, 2, REFUSED], [REFUSED, REFUSED, 0]], ["weak", "strong", ""], None, frozenset(), [0]
)
PAST_THE_GOAL = Drawing(  # the short way from 0 to 2 meets the goal
    5, [[1, 2, REFUSED, 4, 2], [3, *[REFUSED] * 4]], ["weak", "weak"], None, frozenset({1}), [0]
)


STARVED = Drawing(2, [[1, REFUSED], [0, REFUSED]], ["weak", ""], None, frozenset({1}), [0])
DRAWINGS = [
    ONLY_STRONG, changed(ONLY_STRONG, fair=["weak", "weak"]), changed(ONLY_STRONG, fair=["weak", ""]), STRONG_LATER,
    PAST_THE_GOAL, ONE_BINDING, STARVED,
]  # fmt: skip


def test_random_graphs() -> None:
    violated = 0
    for drawing in [*DRAWINGS, *map(drawn, range(1500))]:
        graph = graph_of(drawing)
        fairness = Fairness(graph, fairness_of(drawing), len(drawing.steps), PATIENCE)
        lasso = Seeker(graph, fairness).lasso(0, drawing.condition is not None)
        assert (lasso is not None) == drawing.violated(), drawing
        if lasso is not None:
            violated += 1
            assert_lasso(drawing, lasso, lasso.start[0])
    assert 400 < violated < 1100


@pytest.mark.parametrize("drawing", [*DRAWINGS, *map(drawn, range(60))])
def test_random_models(drawing: Drawing) -> None:
    kernel = compile_kernel(program(drawing), "drawing")
    initial = [[s] for s in drawing.initial]
    expected = graph_of(drawing)
    starts = {kernel.layout.pack(codes): codes[0] for codes in initial}
    found = []
    for threads in (1, 2, 7):
        result, lasso = found_by(kernel, initial, threads)
        graph = build(kernel, result, PATIENCE)
        assert_same_graph(changed(graph, initial=[(starts[words],) for words in graph.initial]), expected)
        found.append(lasso)
    assert found[0] == found[1] == found[2]
    assert (found[0] is not None) == drawing.violated()


@given(st.data())
def test_parts_are_those_of_another_algorithm(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 12))
    state = st.integers(0, count - 1)
    edges = sorted(data.draw(st.lists(st.tuples(state, state), max_size=40)))
    region = np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)))
    sources, targets = ([e[k] for e in edges] for k in (0, 1))
    no = np.zeros(count, dtype=bool)
    graph = StateGraph(
        np.searchsorted(sources, np.arange(count + 1)), np.array(targets, dtype=np.int32),
        np.zeros(len(edges), dtype=np.int32), [0, count], no, no, np.zeros((count, 1), dtype=np.int64), [],
    )  # fmt: skip
    inner = networkx.DiGraph([e for e in edges if region[list(e)].all()])
    expected = [c for c in networkx.strongly_connected_components(inner) if inner.subgraph(c).number_of_edges()]
    for budget in (1, 1 << 22):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("checker.explicit.liveness.fairness._BUDGET", budget)
            part = Fairness(graph, {}, 1, PATIENCE).parts(region).part
        found = [set(np.flatnonzero(part == number).tolist()) for number in set(part.tolist()) - {NOWHERE}]
        assert sorted(map(sorted, found)) == sorted(map(sorted, expected))


GRAPHS = ["liveness_philosophers.py/weak", "liveness_mutex.py/strong_lock", "liveness_clocks.py/weak"]


@pytest.mark.parametrize("target", GRAPHS)
def test_the_same_graph_for_any_number_of_threads(target: str) -> None:
    model = load(str(MODELS / target))
    reports = [check(model, Options(threads=n, all_violations=True), started=0.0) for n in (1, 2, 7)]
    one, *others = [build(r.kernel, r.result, PATIENCE) for r in reports]
    for other in others:
        assert_same_graph(other, one)
