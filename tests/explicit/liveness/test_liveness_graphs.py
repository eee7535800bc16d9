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

from checker.explicit.check import CheckOptions, check
from checker.explicit.kernel.build import compile_kernel
from checker.explicit.kernel.description import KernelGroup, KernelObligation
from checker.explicit.kernel.kernel import Kernel
from checker.explicit.liveness.components import NOWHERE
from checker.explicit.liveness.fairness import Fairness
from checker.explicit.liveness.graph import StateGraph, build
from checker.explicit.liveness.labels import LabelTable
from checker.explicit.liveness.obligations import Lasso, Seeker, find_lassos
from checker.explicit.search.breadth_first import search
from checker.explicit.search.results import SearchResult
from checker.lang.ir import EventKind, Kind, Leaf, Node
from checker.lang.liveness import EVENTUALLY_ALWAYS, LEADS_TO, Liveness, Obligation, StepGroup
from checker.lang.loader import load
from checker.lang.program import Program
from checker.running.deadline import Deadline
from checker.running.limits import Limits
from tests.explicit.small_models import Builder

REFUSED, CUT, OUTSIDE = -1, -2, -3
MODELS = Path(__file__).parents[2] / "models"
UNLIMITED = Deadline(0.0, Limits())


@dataclass(frozen=True)
class Group:
    """Fairness of some instances, in the states of `where` (None: in all)."""

    kind: str
    instances: tuple[int, ...]
    where: frozenset[int] | None = None


@dataclass(frozen=True)
class Drawing:
    """A graph. steps[i][s]: where instance i leads from state s, or how else it ends.

    renewing: (instance, state) of steps that leave a new ordinal: they change the state even where they lead back.
    taken: instances of which a step from a state of `goal` is the goal; None: the states of `goal` are.
    """

    count: int
    steps: list[list[int]]
    groups: list[Group]
    condition: frozenset[int] | None  # None: the initial states
    goal: frozenset[int]
    initial: list[int]
    kind: str = LEADS_TO
    taken: tuple[int, ...] | None = None
    renewing: frozenset[tuple[int, int]] = frozenset()

    def all_groups(self) -> list[Group]:
        """The groups, and after them that of the goal."""
        return self.groups if self.taken is None else [*self.groups, Group("", self.taken, self.goal)]

    def changes(self, state: int, instance: int) -> bool:
        return self.steps[instance][state] != state or (instance, state) in self.renewing

    def of_group(self, group: Group, state: int, instance: int) -> bool:
        """True if what an instance does in a state is a step of a group, if it is enabled there."""
        inside = group.where is None or state in group.where
        return instance in group.instances and inside and self.changes(state, instance)

    def enabled(self, group: Group, state: int) -> bool:
        return any(row[state] != REFUSED and self.of_group(group, state, i) for i, row in enumerate(self.steps))

    def withheld(self) -> set[int]:
        """The states in which a fair step is enabled, and what it leads to is not known."""
        return {
            s for s in range(self.count) for group in self.groups for i, row in enumerate(self.steps)
            if row[s] in (CUT, OUTSIDE) and self.of_group(group, s, i)
        }  # fmt: skip

    def edges(self) -> Iterator[tuple[int, int, int]]:
        """(source, instance, target)."""
        for instance, row in enumerate(self.steps):
            for source, target in enumerate(row):
                if target >= 0:
                    yield source, instance, target

    def allowed(self) -> list[tuple[int, int, int]]:
        """The edges that are not the goal."""
        if self.taken is None:
            return list(self.edges())
        group = self.all_groups()[-1]
        return [edge for edge in self.edges() if not self.of_group(group, edge[0], edge[1])]

    def reached(self, start: set[int], inside: set[int], edges: list[tuple[int, int, int]]) -> set[int]:
        found = set(start)
        while True:
            more = {t for s, _, t in edges if s in found and t in inside} - found
            if not more:
                return found
            found |= more

    def fair_tour(self, states: set[int], taken: set[tuple[int, int]]) -> bool:
        """True if going round in exactly these states by exactly these (source, instance) is fair."""
        for group in self.groups:
            enabled = [self.enabled(group, s) for s in states]
            asked = {"weak": all(enabled), "strong": any(enabled)}[group.kind]
            if asked and not any(self.of_group(group, s, i) for s, i in taken):
                return False
        return True

    def violated(self) -> bool:
        """By the definition: some set of states can be gone round fairly, or be stayed in, and misses the goal."""
        everything, edges = set(range(self.count)), self.allowed()
        missing = everything if self.taken is not None or self.kind == EVENTUALLY_ALWAYS else everything - self.goal
        states = self.reached(set(self.initial), everything, list(self.edges()))
        asked = (set(self.initial) if self.condition is None else states & self.condition) & missing
        found = map(set, subsets(self.reached(asked, missing, edges) - self.withheld()))
        return any(self.can_stay(c, edges) for c in found if self.kind != EVENTUALLY_ALWAYS or not c <= self.goal)

    def can_stay(self, states: set[int], edges: list[tuple[int, int, int]]) -> bool:
        inner = [(s, i, t) for s, i, t in edges if s in states and t in states]
        if len(states) == 1 and self.fair_tour(states, set()):
            return True
        connected = all(self.reached({s}, states, edges) == states for s in states)
        return bool(inner) and connected and self.fair_tour(states, {(s, i) for s, i, _ in inner})


def subsets(states: set[int]) -> Iterator[tuple[int, ...]]:
    for size in range(1, len(states) + 1):
        yield from itertools.combinations(sorted(states), size)


def drawn(seed: int) -> Drawing:
    """A random graph. Shares are drawn first, so that some graphs are sparse, some mostly fair, some without cuts."""
    random = Random(seed)
    count, instances = random.randint(1, 6), random.randint(1, 5)
    states = range(count)
    refused, lost, met, still = (random.choice(shares) for shares in ((0.3, 0.6), (0, 0.05), (0.1, 0.4), (0, 0.3)))

    def end(state: int) -> int:
        drawn = random.random()
        if drawn < refused:
            return REFUSED
        if drawn < refused + lost:
            return random.choice([CUT, OUTSIDE])
        return state if random.random() < still else random.choice(states)

    def some(share: float) -> frozenset[int]:
        return frozenset(s for s in states if random.random() < share)

    def members() -> tuple[int, ...]:
        return tuple(i for i in range(instances) if random.random() < 0.5) or (random.randrange(instances),)

    single = [Group(kind, (i,)) for i in range(instances) if (kind := random.choice(["", "weak", "strong"]))]
    shared = [
        Group(random.choice(["weak", "strong"]), members(), random.choice([None, some(0.6)]))
        for _ in range(random.choice([0, 0, 1, 2]))
    ]
    kind = random.choice([LEADS_TO, LEADS_TO, EVENTUALLY_ALWAYS])
    return Drawing(
        count, [[end(s) for s in states] for _ in range(instances)],
        random.choice([single, shared, single + shared]),
        None if kind == EVENTUALLY_ALWAYS else random.choice([None, some(0.5)]), some(met),
        random.choices(states, k=random.randint(1, 2)), kind,
        members() if kind == LEADS_TO and random.random() < 0.4 else None,
        frozenset((i, s) for i in random.choice([(), members()]) for s in states if random.random() < 0.7),
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
    groups = drawing.all_groups()
    possible = [(g, one) for g, one in enumerate(groups) if one.where != frozenset()]  # others are never enabled
    instances = range(len(drawing.steps))
    rows = [(i, tuple(g for g, one in possible if i in one.instances)) for i in instances]
    rows += [(i, ()) for i in instances]
    table = {row: n for n, row in reversed([*enumerate(rows)])}
    labels = []
    for source, instance, _ in edges:
        taken = tuple(g for g, one in enumerate(groups) if drawing.of_group(one, order[source], instance))
        rows += [(instance, taken)] * ((instance, taken) not in table)
        labels.append(table.setdefault((instance, taken), len(rows) - 1))
    sources, targets = (np.array([e[k] for e in edges], dtype=np.int32) for k in (0, 2))
    bits = [(s in (drawing.condition or ())) | (s in drawing.goal) << 1 for s in order]
    fair = {label for label, (_, taken) in enumerate(rows) if any(g < len(drawing.groups) for g in taken)}
    return StateGraph(
        np.searchsorted(sources, np.arange(len(order) + 1)), targets, np.array(labels, dtype=np.int32),
        LabelTable(
            np.array([i for i, _ in rows], dtype=np.int32), np.cumsum([0, *[len(taken) for _, taken in rows]]),
            np.array([g for _, taken in rows for g in taken], dtype=np.int32),
        ),
        levels, np.array([s in drawing.withheld() for s in order]),
        np.array([any(e[0] == n and label in fair for e, label in zip(edges, labels, strict=True))
                  for n in range(len(order))]),
        np.array(bits, dtype=np.int64).reshape(-1, 1), [(s,) for s in order[: levels[1]]],
    )  # fmt: skip


def kernel_groups(drawing: Drawing) -> list[KernelGroup]:
    """The groups without their conditions, which the labels of the graph have in them."""
    return [KernelGroup(group.kind, group.instances) for group in drawing.all_groups()]


def obligation(drawing: Drawing) -> KernelObligation:
    taken = None if drawing.taken is None else len(drawing.groups)
    return KernelObligation(0, 0, drawing.condition is not None, taken)


def program(drawing: Drawing) -> Program:
    """The graph as a model: a leaf for the state and one for an epoch, an instance for each row of steps."""
    size = drawing.count + 1  # the last state is outside the constraint
    b = Builder(["step"], [Leaf("at", Kind.INT, size), Leaf("epoch", Kind.ORDINAL, sort="Epoch")])
    g, at = b.g, b.nodes[0]

    def among(states: Iterator[int] | frozenset[int]) -> Node:
        return g.any_([g.eq(at, g.integer(s)) for s in states])

    def renews(instance: int) -> Node:
        return among(s for i, s in drawing.renewing if i == instance)

    for instance, row in enumerate(drawing.steps):
        after = g.integer(0)
        for source, target in enumerate(row):
            onwards = size - 1 if target == OUTSIDE else max(0, target)
            after = g.select(g.eq(at, g.integer(source)), g.integer(onwards), after)
        refused = among(s for s, t in enumerate(row) if t == REFUSED)
        cut = among(s for s, t in enumerate(row) if t == CUT)
        events = [b.event(EventKind.REQUIRE, 0, refused), b.event(EventKind.CUT, 0, cut)]
        epoch = g.select(renews(instance), g.fresh("Epoch", 0), b.nodes[1])
        b.step(0, events, {0: after, 1: epoch}, outside=g.eq(after, g.integer(size - 1)))
    b.property("p", drawing.kind)
    condition = None if drawing.condition is None else among(drawing.condition)
    groups = tuple(
        StepGroup(one.kind, one.instances, None if one.where is None else among(one.where))
        for one in drawing.all_groups()
    )
    taken = obligation(drawing).taken
    renewing = {i: renews(i) for i, _ in drawing.renewing}
    liveness = Liveness((Obligation(0, (), condition, among(drawing.goal), taken),), groups, renewing)
    return changed(b.program, outside=g.eq(at, g.integer(size - 1)), liveness=liveness, fresh_per_step={"Epoch": 1})


def found_by(kernel: Kernel, initial: list[list[int]], threads: int) -> tuple[SearchResult, Lasso | None]:
    result = search(kernel, initial, threads=threads)
    return result, find_lassos(kernel, result).by_property.get(0)


def assert_same_graph(one: StateGraph, other: StateGraph) -> None:
    for name, value in {**vars(one), **vars(one.table)}.items():
        if name != "table":
            np.testing.assert_array_equal(value, {**vars(other), **vars(other.table)}[name], err_msg=name)


def assert_lasso(drawing: Drawing, lasso: Lasso, state: int) -> None:
    """The lasso is a behaviour of the graph that the obligation forbids."""
    assert state in drawing.initial
    states = [state]
    for instance in lasso.instances:
        states.append(drawing.steps[instance][states[-1]])
        assert states[-1] >= 0
    assert drawing.condition is None or states[lasso.asked] in drawing.condition
    assert drawing.condition is not None or drawing.kind == EVENTUALLY_ALWAYS or lasso.asked == 0
    steps = list(zip(states, lasso.instances, strict=False))
    if drawing.kind == EVENTUALLY_ALWAYS:
        assert states[lasso.asked] not in drawing.goal
        assert lasso.asked == (lasso.length - 1 if lasso.turn is None else lasso.turn)
    elif drawing.taken is None:
        assert not drawing.goal & set(states[lasso.asked :])
    else:
        assert not any(drawing.of_group(drawing.all_groups()[-1], s, i) for s, i in steps[lasso.asked :])
    assert not drawing.withheld() & set(states[lasso.loop :])
    if lasso.turn is None:
        assert drawing.fair_tour({states[-1]}, set())
    else:
        assert lasso.asked <= lasso.turn < lasso.length - 1
        assert states[lasso.turn] == states[-1]
        assert drawing.fair_tour(set(states[lasso.turn :]), set(steps[lasso.turn :]))


def each(*kinds: str) -> list[Group]:
    """Fairness of each instance on its own; "" for none."""
    return [Group(kind, (i,)) for i, kind in enumerate(kinds) if kind]


# 0 goes to 1 and back by one of two instances of one group, either of which is refused in one of the states.
ONE_GROUP = Drawing(2, [[1, REFUSED], [REFUSED, 0], [0, 1]], [Group("weak", (0, 1))], None, frozenset(), [0])
ONLY_STRONG = Drawing(3, [[1, 0, REFUSED], [REFUSED, 2, REFUSED]], each("weak", "strong"), None, frozenset({2}), [0])


STRONG_LATER = Drawing(  # the short loop 0, 1 never takes what is enabled at 1
    3, [[1, 0, REFUSED], [REFUSED, 2, REFUSED], [REFUSED, REFUSED, 0]], each("weak", "strong"), None, frozenset(), [0]
)
PAST_THE_GOAL = Drawing(  # the short way from 0 to 2 meets the goal
    5, [[1, 2, REFUSED, 4, 2], [3, *[REFUSED] * 4]], each("weak", "weak"), None, frozenset({1}), [0]
)


STARVED = Drawing(2, [[1, REFUSED], [0, REFUSED]], each("weak", ""), None, frozenset({1}), [0])
STUTTERS = Drawing(1, [[0]], each("weak"), None, frozenset(), [0])  # stays, and a renewed ordinal goes round
CUT_WHERE_FAIR = Drawing(2, [[CUT, 0], [1, 0]], [Group("weak", (0,), frozenset({0}))], None, frozenset({1}), [0])
DRAWINGS = [
    CUT_WHERE_FAIR, changed(CUT_WHERE_FAIR, groups=[Group("weak", (0,), frozenset({1}))]),
    ONLY_STRONG, changed(ONLY_STRONG, groups=each("weak", "weak")), changed(ONLY_STRONG, groups=each("weak", "")),
    STRONG_LATER, PAST_THE_GOAL, ONE_GROUP, STARVED, STUTTERS, changed(STUTTERS, renewing=frozenset({(0, 0)})),
]  # fmt: skip


def test_random_graphs() -> None:
    violated = 0
    for drawing in [*DRAWINGS, *map(drawn, range(1500))]:
        graph = graph_of(drawing)
        lasso = Seeker(graph, kernel_groups(drawing), UNLIMITED).lasso(0, obligation(drawing), drawing.kind)
        assert (lasso is not None) == drawing.violated(), drawing
        if lasso is not None:
            violated += 1
            assert_lasso(drawing, lasso, lasso.start[0])
    assert 400 < violated < 1100


@pytest.mark.sample(20)
@pytest.mark.parametrize("drawing", [*DRAWINGS, *map(drawn, range(60))])
def test_random_models(drawing: Drawing) -> None:
    kernel = compile_kernel(program(drawing), "drawing")
    initial = [[s, 1] for s in drawing.initial]
    expected = graph_of(drawing)
    starts = {kernel.layout.pack(codes): codes[0] for codes in initial}
    found = []
    for threads in (1, 2, 7):
        result, lasso = found_by(kernel, initial, threads)
        graph = build(kernel, result, UNLIMITED)
        told = changed(graph, watched=graph.watched[:, :1], initial=[(starts[words],) for words in graph.initial])
        assert_same_graph(told, expected)
        found.append(lasso)
    assert found[0] == found[1] == found[2]
    assert (found[0] is not None) == drawing.violated()


NO_GROUPS = LabelTable(np.zeros(1, dtype=np.int32), np.zeros(2, dtype=np.int64), np.zeros(0, dtype=np.int32))


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
        np.zeros(len(edges), dtype=np.int32), NO_GROUPS, [0, count], no, no, np.zeros((count, 1), dtype=np.int64), [],
    )  # fmt: skip
    inner = networkx.DiGraph([e for e in edges if region[list(e)].all()])
    expected = [c for c in networkx.strongly_connected_components(inner) if inner.subgraph(c).number_of_edges()]
    for budget in (1, 1 << 22):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("checker.explicit.liveness.fairness._BUDGET", budget)
            part = Fairness(graph, [], UNLIMITED).parts(region).part
        found = [set(np.flatnonzero(part == number).tolist()) for number in set(part.tolist()) - {NOWHERE}]
        assert sorted(map(sorted, found)) == sorted(map(sorted, expected))


GRAPHS = ["liveness_philosophers.py/weak", "liveness_mutex.py/strong_lock", "liveness_clocks.py/weak"]


@pytest.mark.parametrize("target", GRAPHS)
def test_the_same_graph_for_any_number_of_threads(target: str) -> None:
    model = load(str(MODELS / target))
    reports = [check(model, CheckOptions(threads=n, all_violations=True), started=0.0) for n in (1, 2, 7)]
    one, *others = [build(r.kernel, r.result, UNLIMITED) for r in reports]
    for other in others:
        assert_same_graph(other, one)
