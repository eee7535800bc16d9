"""Liveness: random graphs against every set of states there is, and models whose answers are known."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import replace as changed
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from checker.explicit.check import Options, Report, check
from checker.explicit.graph import build
from checker.explicit.kernel import Kernel, compile_kernel
from checker.explicit.liveness import Lasso, find_lassos
from checker.explicit.replay import confirmed, replay
from checker.explicit.results import Limits, SearchResult
from checker.explicit.search import search
from checker.explicit.walk import Walker
from checker.lang.errors import SpecError
from checker.lang.ir import EventKind, Kind, Leaf, Node, Program
from checker.lang.liveness import LEADS_TO, Liveness, Obligation
from checker.lang.loader import load, load_spec
from checker.lang.parameters import bindings
from tests.differential import Pair, breadth_first
from tests.explicit.small_models import Builder
from traces.itf import from_itf, to_itf
from traces.render import render

MODELS = Path(__file__).parents[1] / "models"

# Random graphs.

REFUSED, CUT, OUTSIDE = -1, -2, -3


@dataclass(frozen=True)
class Drawing:
    """A graph. steps[i][s]: where instance i leads from state s, or how else it ends; fair[i]: "", "weak", "strong"."""

    count: int
    steps: list[list[int]]
    fair: list[str]
    condition: frozenset[int] | None  # None: the initial states
    goal: frozenset[int]
    initial: list[int]

    def edges(self) -> Iterator[tuple[int, int, int]]:
        """(source, instance, target)."""
        for instance, row in enumerate(self.steps):
            for source, target in enumerate(row):
                if target >= 0:
                    yield source, instance, target

    def enabled(self, state: int, instance: int) -> bool:
        return self.steps[instance][state] != REFUSED

    def reached(self, start: set[int], inside: set[int]) -> set[int]:
        found = set(start)
        while True:
            more = {t for s, _, t in self.edges() if s in found and t in inside} - found
            if not more:
                return found
            found |= more

    def fair_tour(self, states: set[int], taken: set[int]) -> bool:
        """Whether going round in exactly these states, taking exactly these instances, is fair."""
        for instance, fair in enumerate(self.fair):
            enabled = [self.enabled(s, instance) for s in states]
            unfair = {"": False, "weak": all(enabled), "strong": any(enabled)}[fair]
            if unfair and instance not in taken:
                return False
        return True

    def violated(self) -> bool:
        """By the definition: some set of states without the goal can be gone round fairly, or be stayed in."""
        everything = set(range(self.count))
        missing = everything - self.goal
        states = self.reached(set(self.initial), everything)
        asked = (set(self.initial) if self.condition is None else states & self.condition) & missing
        fair = [row for row, fair in zip(self.steps, self.fair, strict=True) if fair]
        withheld = {s for s in everything if any(row[s] in (CUT, OUTSIDE) for row in fair)}
        return any(self.can_stay(set(c)) for c in subsets(self.reached(asked, missing) - withheld))

    def can_stay(self, states: set[int]) -> bool:
        inner = [(s, i, t) for s, i, t in self.edges() if s in states and t in states]
        if len(states) == 1 and self.fair_tour(states, set()):
            return True
        connected = all(self.reached({s}, states) == states for s in states)
        return bool(inner) and connected and self.fair_tour(states, {i for _, i, _ in inner})


def subsets(states: set[int]) -> Iterator[tuple[int, ...]]:
    for size in range(1, len(states) + 1):
        yield from itertools.combinations(sorted(states), size)


@st.composite
def drawings(draw: st.DrawFn) -> Drawing:
    count = draw(st.integers(1, 6))
    state = st.integers(0, count - 1)
    end = st.one_of(state, state, st.just(REFUSED), st.just(REFUSED), st.sampled_from([CUT, OUTSIDE]))
    steps = draw(st.lists(st.lists(end, min_size=count, max_size=count), min_size=1, max_size=4))
    fair = draw(st.lists(st.sampled_from(["", "weak", "strong"]), min_size=len(steps), max_size=len(steps)))
    return Drawing(
        count, steps, fair, draw(st.none() | st.frozensets(state)), draw(st.frozensets(state)),
        draw(st.lists(state, min_size=1, max_size=3)),
    )  # fmt: skip


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
    fairness = {i: (i, fair) for i, fair in enumerate(drawing.fair) if fair}
    return changed(b.program, outside=g.eq(at, g.integer(size - 1)), liveness=Liveness((obligation,), fairness))


def found_by(kernel: Kernel, initial: list[list[int]], threads: int) -> tuple[SearchResult, Lasso | None]:
    result = search(kernel, initial, threads=threads)
    return result, find_lassos(kernel, result).get(0)


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
    for instance, fair in enumerate(drawing.fair):
        assert not fair or not {CUT, OUTSIDE} & {drawing.steps[instance][s] for s in states[lasso.loop :]}
    if lasso.turn is None:
        assert drawing.fair_tour({states[-1]}, set())
    else:
        assert lasso.asked <= lasso.turn < lasso.length - 1
        assert states[lasso.turn] == states[-1]
        assert drawing.fair_tour(set(states[lasso.turn :]), set(lasso.instances[lasso.turn :]))


ONLY_STRONG = Drawing(3, [[1, 0, REFUSED], [REFUSED, 2, REFUSED]], ["weak", "strong"], None, frozenset({2}), [0])


STRONG_LATER = Drawing(  # the short loop 0, 1 never takes what is enabled at 1
    3, [[1, 0, REFUSED], [REFUSED, 2, REFUSED], [REFUSED, REFUSED, 0]], ["weak", "strong", ""], None, frozenset(), [0]
)
PAST_THE_GOAL = Drawing(  # the short way from 0 to 2 meets the goal
    5, [[1, 2, REFUSED, 4, 2], [3, *[REFUSED] * 4]], ["weak", "weak"], None, frozenset({1}), [0]
)


@settings(max_examples=150, deadline=None)
@given(drawings())
@example(ONLY_STRONG)
@example(changed(ONLY_STRONG, fair=["weak", "weak"]))
@example(changed(ONLY_STRONG, fair=["weak", ""]))
@example(STRONG_LATER)
@example(PAST_THE_GOAL)
def test_random_graphs(drawing: Drawing) -> None:
    kernel = compile_kernel(program(drawing), "drawing")
    initial = [[s] for s in drawing.initial]
    found = [found_by(kernel, initial, threads)[1] for threads in (1, 2, 7)]
    assert found[0] == found[1] == found[2]
    assert (found[0] is not None) == drawing.violated()
    if found[0] is not None:
        starts = {kernel.layout.pack(codes): codes[0] for codes in initial}
        assert_lasso(drawing, found[0], starts[found[0].start])


# Models: verdicts and lengths are pinned in tests/pins.toml.


def report_of(target: str, threads: int = 1, **options: object) -> Report:
    model = load(str(MODELS / target))
    return check(model, Options(threads=threads, all_violations=True, **options), started=0.0)  # type: ignore[arg-type]


VIOLATED = [
    "liveness_mutex.py/weak_lock", "liveness_mutex.py/kept_lock", "liveness_mutex.py/unfair",
    "liveness_philosophers.py/weak", "liveness_bounds.py/beside", "liveness_bounds.py/starts",
]  # fmt: skip


@pytest.mark.parametrize("target", VIOLATED)
def test_the_same_lasso_for_any_number_of_threads(target: str) -> None:
    traces = [report_of(target, threads).traces for threads in (1, 2, 7)]
    assert traces[0] == traces[1] == traces[2] != []


@pytest.mark.parametrize("target", ["liveness_philosophers.py/weak", "liveness_mutex.py/strong_lock"])
def test_the_same_graph_for_any_number_of_threads(target: str) -> None:
    reports = [report_of(target, threads) for threads in (1, 2, 7)]
    one, *others = [vars(build(r.kernel, r.result.exploration)) for r in reports]
    for other in others:
        for name, value in one.items():
            np.testing.assert_array_equal(value, other[name])


@pytest.mark.parametrize("target", VIOLATED)
def test_a_lasso_is_a_trace_that_can_be_replayed(target: str) -> None:
    report = report_of(target)
    for trace in report.traces:
        assert from_itf(to_itf(trace)) == trace
        assert to_itf(trace)["loop"] == trace.loop
        replayed = replay(report.model, trace)
        assert replayed.departure is None
        said = confirmed(report.model, trace, replayed)
        assert "are a loop" in said or "may stay in step" in said


def test_what_a_lasso_says() -> None:
    (trace,) = report_of("liveness_mutex.py/weak_lock").traces
    assert [step.action for step in trace.steps] == ["init", "ask", "ask", "enter_free_lock", "leave", "ask"]
    assert trace.loop == 3 and trace.steps[2].state == trace.steps[5].state
    assert trace.violation is not None
    assert trace.violation.values == (("p", 0),)
    assert trace.violation.conjunct == "s.at[p] == At.CRITICAL"
    assert trace.tail == (
        "asked for: at step 3 the condition holds",
        "missing: from step 3 on the goal never holds",
        "the loop: the state of step 6 is that of step 3",
    )


def test_where_a_loop_starts_is_shown() -> None:
    (trace,) = report_of("liveness_mutex.py/weak_lock").traces
    text = render(trace, 100, False)
    assert "\n↻ 4 │ process 1" in text and text.count("↻") == 1
    assert "leads-to who_waits_enters is violated: steps 4 to 6 for ever" in text
    assert "never  s.at[p] == At.CRITICAL" in text
    stays = report_of("liveness_mutex.py/nobody_asks").traces[0]
    assert "From here on it stays as it is, for ever." in render(stays, 100, False)


def test_a_deadlock_is_where_a_behaviour_stays() -> None:
    trace = report_of("liveness_philosophers.py/weak").traces[0]
    assert trace.loop == len(trace.steps) - 1 == 3
    assert trace.tail[-1] == "the end: in step 4 no fair action is enabled, so nothing has to happen any more"


def test_the_first_initial_state_that_does_not_come_to_the_goal() -> None:
    (trace,) = report_of("liveness_bounds.py/starts").traces
    assert trace.steps[0].state == {"place": 0, "moving": False}


def test_a_loop_that_does_not_close_is_told() -> None:
    report = report_of("liveness_mutex.py/weak_lock")
    (trace,) = report.traces
    wrong = changed(trace, loop=2)
    assert confirmed(report.model, wrong, replay(report.model, wrong)) == "its end does not come back to step 2"


@pytest.mark.parametrize("limits", [Limits(max_states=5), Limits(max_depth=2)])
def test_a_search_that_is_stopped_says_nothing(limits: Limits) -> None:
    report = report_of("liveness_mutex.py/weak_lock", limits=limits)
    assert {p.verdict for p in report.properties} == {"incomplete"} == {report.verdict}


def test_a_graph_that_does_not_fit_is_refused() -> None:
    report = report_of("liveness_mutex.py/strong_lock")
    report.result.exploration.budget.limit = report.result.exploration.budget.held
    with pytest.raises(SpecError, match="liveness needs the graph of all states and steps"):
        find_lassos(report.kernel, report.result)


def test_the_cut_of_a_fair_step_is_no_error() -> None:
    report = report_of("liveness_bounds.py/cut")
    walker = Walker(report.kernel)
    words = tuple(report.kernel.layout.pack([3, 0]))
    assert walker.expand(words).errors == [] == walker.expand(words).steps


def test_a_fair_action_has_a_binding_for_each_key_of_a_map() -> None:
    model = load(str(MODELS / "liveness_bindings.py/letters"))
    carry = model.model.actions[0]
    state = model.initial_states()[0]  # two equal letters
    for fair, there in (("weak", [True, True]), ("", [True, False])):
        (letter,) = model.parameters(changed(carry, fair=fair))
        assert [letter.value(candidate, state, {})[0] for candidate in letter.candidates] == there


LIVE = [f"{file.name}/{m.name}" for file in sorted(MODELS.glob("liveness_*.py")) for m in load_spec(str(file)).models]


@pytest.mark.parametrize("target", LIVE)
def test_obligations_mean_what_plain_python_says(target: str) -> None:
    pair = Pair(load(str(MODELS / target)))
    properties = pair.model.model.properties
    for words in breadth_first(pair, 100):
        states, bits = np.array(words, dtype=np.uint64), np.zeros(1, dtype=np.int64)
        pair.kernel.calls["watch"](states.ctypes.data, 1, bits.ctypes.data)
        found, expected = int(bits[0]), 0
        for k, obligation in enumerate(pair.kernel.obligations):
            declared = properties[obligation.property]
            binding = list(bindings(pair.model.parameters(declared)))[obligation.number]
            said = declared.function(pair.state(words), *binding)
            condition, goal = said if declared.kind == LEADS_TO else (False, said)
            expected |= condition << 2 * k | goal << 2 * k + 1
        assert found == expected


# What is refused.

HEAD = '''"""A spec."""
from __future__ import annotations
from typing import Annotated
from checker.lang import *

class Broker(Identity, size=2):
    pass

@message
class Request:
    broker: Broker

Waiting = Annotated[Broker, MemberOf("waiting")]

@state
class S:
    up: Annotated[bool, History]
    waiting: Set[Broker]
    leader: Option[Broker]
    queue: Annotated[Seq[Request], AtMost(2)]

@init
def start() -> S:
    return S(up=False, waiting=frozenset(), leader=None, queue=())

@action(who="broker", source="tests", fair="weak")
def boot(s: S) -> None:
    """Comes up."""
    s.up = True
'''


def bad(tmp_path: Path, body: str) -> SpecError:
    file = tmp_path / "bad.py"
    file.write_text(HEAD + body, encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        check(load(str(file)), Options(), started=0.0)
    return caught.value


REFUSALS = [
    ('@leads_to(source="t")\ndef p(s: S) -> bool:\n    return s.up\n', "p returns a boolean, not a condition and"),
    ('@leads_to(source="t")\ndef p(s: S) -> object:\n    return s.up, s.up, s.up\n', "p returns a tuple of 3, not a"),
    ('@leads_to(source="t")\ndef p(s: S) -> object:\n    return s.up, s.leader\n', "not a condition and a goal"),
    ('@eventually(source="t")\ndef p(s: S) -> object:\n    return s.up, s.up\n', "a tuple of 2, not a boolean"),
    ('@eventually(source="t")\ndef p() -> bool:\n    return True\n', "eventually p takes no state"),
    ('@eventually(source="t")\ndef p(s: S, broker: Waiting) -> bool:\n    return s.up\n', "what must come of a member"),
    ('@eventually\ndef p(s: S) -> bool:\n    return s.up\n', "@eventually without its header"),
    ('@eventually(source="t")\ndef p(s: S) -> bool:\n    s.up = True\n    return True\n', "assigns to the state"),
    ('@action(who="b", source="t", fair="very")\ndef a(s: S) -> None:\n    """A."""\n    s.up = True\n',
     "fair='very' of a is no fairness"),
    ('@eventually(source="t")\ndef p(s: S) -> bool:\n    return s.up\n\n'
     'model = Model("m", "", start, [boot], [p], hide=["up"])\n', "model m hides up and checks p"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "reason"), REFUSALS)
def test_refusals(body: str, reason: str, tmp_path: Path) -> None:
    error = bad(tmp_path, body)
    assert reason in error.reason
    assert error.mend and error.place.file == str(tmp_path / "bad.py") and error.place.line > 20


def test_a_view_is_fine_without_liveness(tmp_path: Path) -> None:
    file = tmp_path / "fine.py"
    file.write_text(
        HEAD + '@eventually(source="t")\ndef p(s: S) -> bool:\n    return s.up\n\n'
        'model = Model("m", "", start, [boot], [deadlock_free, p], hide=["up"])\n', encoding="utf-8",
    )  # fmt: skip
    model = load(str(file))
    report = check(model.with_properties([model.model.properties[0]]), Options(), started=0.0)
    assert report.properties[0].name == "deadlock_free"


def test_an_obligation_that_breaks_down_is_violated_there(tmp_path: Path) -> None:
    file = tmp_path / "breaks.py"
    file.write_text(
        HEAD + '@leads_to(source="t")\ndef p(s: S, broker: Broker) -> tuple[bool, bool]:\n    """P."""\n'
        "    return s.up, s.queue[0].broker == broker\n", encoding="utf-8",
    )  # fmt: skip
    report = check(load(str(file)), Options(), started=0.0)
    (broken,) = [p for p in report.properties if p.verdict == "violated"]
    assert broken.name == "p can be evaluated" and broken.trace_length == 1
    assert broken.trace is not None and broken.trace.violation is not None
    assert "It cannot be evaluated here" in broken.trace.violation.statement
    assert [p.verdict for p in report.properties if p.name == "p"] == ["incomplete"]
