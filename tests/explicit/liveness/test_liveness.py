"""Liveness of models whose answers are known, and what is refused."""

from __future__ import annotations

from dataclasses import replace as changed
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from checker.explicit.check import CheckOptions, Report, check
from checker.explicit.kernel.build import compile_kernel
from checker.explicit.kernel.predicates import condition_words, obligation_words
from checker.explicit.liveness.obligations import find_lassos
from checker.explicit.search.breadth_first import search
from checker.explicit.search.walk import Walker
from checker.lang.errors import SpecError
from checker.lang.frontend import compile_model
from checker.lang.groups import fair_groups
from checker.lang.liveness import ALWAYS_EVENTUALLY, LEADS_TO
from checker.lang.loader import load, load_spec
from checker.lang.parameters import bindings
from checker.reference.lasso import unfair
from checker.reference.replay import confirmed, replay
from checker.running.deadline import Stage
from checker.running.limits import Limits
from tests.differential import Pair, breadth_first
from traces import load as load_trace
from traces import save
from traces.itf import from_itf, to_itf
from traces.render import render

MODELS = Path(__file__).parents[2] / "models"

# Models: verdicts and lengths are pinned in tests/pins.toml.


def report_of(target: str, threads: int = 1, **options: Any) -> Report:
    model = load(str(MODELS / target))
    return check(model, CheckOptions(threads=threads, all_violations=True, **options), started=0.0)


VIOLATED = [
    "liveness_mutex.py/weak_lock", "liveness_mutex.py/kept_lock", "liveness_mutex.py/unfair",
    "liveness_philosophers.py/weak", "liveness_bounds.py/beside", "liveness_bounds.py/starts",
    "liveness_clocks.py/weak", "liveness_bindings.py/mail", "liveness_groups.py/per_worker",
    "liveness_groups.py/each_worker_strong", "liveness_groups.py/nights", "liveness_groups.py/lamp",
    "liveness_groups.py/burns_out", "liveness_groups.py/desk",
]  # fmt: skip


@pytest.mark.parametrize("target", VIOLATED)
def test_the_same_lasso_for_any_number_of_threads(target: str) -> None:
    traces = [report_of(target, threads).traces for threads in (1, 2, 7)]
    assert traces[0] == traces[1] == traces[2] != []


@pytest.mark.parametrize("target", VIOLATED)
def test_a_lasso_is_a_trace_that_can_be_replayed(target: str, tmp_path: Path) -> None:
    report = report_of(target)
    for trace in report.traces:
        assert from_itf(to_itf(trace)) == trace
        save(trace, tmp_path / "lasso.ndjson")
        assert load_trace(tmp_path / "lasso.ndjson") == trace
        assert to_itf(trace)["loop"] == trace.loop
        replayed = replay(report.model, trace)
        assert replayed.departure is None
        said = confirmed(report.model, trace, replayed)
        assert said.endswith(("are a loop, and a fair one", "where no fair action is enabled"))


def test_a_lasso_of_one_fairness_under_another() -> None:
    (trace,) = report_of("liveness_mutex.py/weak_lock").traces
    strong = load(str(MODELS / "liveness_mutex.py/strong_lock"))
    assert confirmed(strong, trace, replay(strong, trace)) == (
        "its steps 4 to 6 are a loop, but no counterexample: enter_free_lock(p=0), strongly fair, is enabled at step 5"
        " and never taken"
    )
    kept, _ = report_of("liveness_mutex.py/kept_lock").traces
    weak = load(str(MODELS / "liveness_mutex.py/weak_lock"))
    assert confirmed(weak, kept, replay(weak, kept)) == (
        "it cannot stay in step 4: leave(p=1), weakly fair, is always enabled there and never taken"
    )


def test_a_lasso_on_which_the_goal_is_met() -> None:
    report = report_of("liveness_mutex.py/weak_lock")
    (trace,) = report.traces
    assert trace.violation is not None
    other = changed(trace, violation=changed(trace.violation, values=(("p", 1),)))
    assert confirmed(report.model, other, replay(report.model, other)).endswith(
        "; but it does not violate who_waits_enters: the goal holds at step 4"
    )


def test_a_loop_through_what_was_cut_off_is_no_counterexample() -> None:
    for name, how in (("cut", "is cut by a bound"), ("constrained", "leads outside a state constraint")):
        model = load(str(MODELS / f"liveness_bounds.py/{name}"))
        (state,) = model.initial_states()
        state.n = 3 if name == "cut" else 1
        refusal, idle = unfair(model, [state], 6)
        assert refusal.endswith(f"{how} at step 7: what would follow is not known") and not idle


def test_which_switch_would_make_it_happen(tmp_path: Path) -> None:
    file = tmp_path / "switched.py"
    file.write_text(
        HEAD.replace("class Broker", "@constants\nclass Design:\n    heals: bool = True\n\nclass Broker", 1)
        + '@action(who="b", source="t")\ndef wait(s: S) -> None:\n    """Waits."""\n'
        + '@action(who="b", source="t", fair="weak")\ndef heal(s: S, broker: Broker) -> None:\n    """Heals."""\n'
        + "    require(Design.heals and s.up)\n    s.leader = broker\n"
        + '@leads_to(source="t")\ndef p(s: S) -> tuple[bool, bool]:\n    """P."""\n'
        + "    return s.up, s.leader is not None\n", encoding="utf-8",
    )  # fmt: skip
    (trace,) = check(load(str(file), {"heals": "false"}), CheckOptions(), started=0.0).traces
    assert trace.tail[-1].startswith("heals: switched on, ") and (
        "ends no counterexample: heal(broker=broker0), weakly fair, is always enabled there and never taken"
        in trace.tail[-1]
    )


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
    assert "leads-to who_waits_enters is violated: steps 4 to 6 forever" in text
    assert "never  s.at[p] == At.CRITICAL" in text
    stays = report_of("liveness_mutex.py/nobody_asks").traces[0]
    assert "From here on it stays as it is, forever." in render(stays, 100, False)


def test_a_deadlock_is_where_a_behaviour_stays() -> None:
    trace = report_of("liveness_philosophers.py/weak").traces[0]
    assert trace.loop == len(trace.steps) - 1 == 3
    assert trace.tail[-1] == "the end: in step 4 no fair action is enabled, so nothing has to happen any more"


def test_the_first_initial_state_that_does_not_come_to_the_goal() -> None:
    (trace,) = report_of("liveness_bounds.py/starts").traces
    assert trace.steps[0].state == {"place": 0, "moving": False}


def test_a_loop_that_does_not_close_is_reported() -> None:
    report = report_of("liveness_mutex.py/weak_lock")
    (trace,) = report.traces
    wrong = changed(trace, loop=2)
    assert confirmed(report.model, wrong, replay(report.model, wrong)) == "its end does not come back to step 2"


@pytest.mark.parametrize("limits", [Limits(max_states=5), Limits(max_depth=2)])
def test_a_search_that_is_stopped_says_nothing(limits: Limits) -> None:
    report = report_of("liveness_mutex.py/weak_lock", limits=limits)
    assert {p.verdict for p in report.properties} == {"incomplete"} == {report.verdict}


def test_limits_hold_for_the_search_for_lassos() -> None:
    report = report_of("liveness_mutex.py/strong_lock")
    exploration = report.result.exploration
    exploration.limits = Limits(time_limit_s=0)
    found = find_lassos(report.kernel, report.result)
    assert found.stopped == "time limit of 0 s" and found.undecided == {0, 1} and not found.by_property
    exploration.budget.limit = exploration.budget.held
    found = find_lassos(report.kernel, report.result)
    assert found.stopped is not None and "liveness needs the graph of all states and steps" in found.stopped


def test_what_was_found_before_ctrl_c_is_reported() -> None:
    def interrupt(stage: Stage) -> None:
        if stage.name == "liveness, who_enters_leaves (obligation 3 of 4)":
            raise KeyboardInterrupt

    model = load(str(MODELS / "liveness_mutex.py/weak_lock"))
    kernel = compile_kernel(compile_model(model), "weak lock")
    result = search(kernel, [model.state_type.encode(s) for s in model.initial_states()], all_violations=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("checker.running.deadline.PROGRESS_S", 0)
        patch.setattr("checker.explicit.liveness.fairness._BUDGET", 1)
        found = find_lassos(kernel, result, interrupt)
    assert found.stopped == "interrupted" and list(found.by_property) == [0] and found.undecided == {1}
    assert find_lassos(kernel, result).stopped is None


def test_an_invariant_holds_where_liveness_was_not_decided(tmp_path: Path) -> None:
    def interrupt(stage: Stage) -> None:
        if stage.name.startswith("liveness"):
            raise KeyboardInterrupt

    file = tmp_path / "both.py"
    file.write_text(
        HEAD + '@eventually(source="t")\ndef p(s: S) -> bool:\n    """P."""\n    return s.up\n\n'
        '@invariant(source="t")\ndef q(s: S) -> bool:\n    """Q."""\n    return s.leader is None\n', encoding="utf-8",
    )  # fmt: skip
    report = check(load(str(file)), CheckOptions(), started=0.0, stages=interrupt)
    verdicts = {p.name: p.verdict for p in report.properties}
    assert (verdicts["p"], verdicts["q"]) == ("incomplete", "holds")
    assert report.verdict == "incomplete" and report.reason == "interrupted" == report.stopped


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
    kernel = pair.kernel
    width = obligation_words(len(kernel.obligations)) + condition_words(kernel.conditions)
    groups = fair_groups(pair.model)
    for words in breadth_first(pair, 100):
        states, bits = np.array(words, dtype=np.uint64), np.zeros(width, dtype=np.uint64)
        kernel.calls["watch"](states.ctypes.data, 1, bits.ctypes.data)
        found, expected = int(bits[0]), 0
        for k, obligation in enumerate(kernel.obligations):
            declared = properties[obligation.property]
            binding = list(bindings(pair.model.parameters(declared)))[obligation.number]
            said = declared.function(pair.state(words), *binding)
            condition, goal = said if declared.kind == LEADS_TO else (declared.kind == ALWAYS_EVENTUALLY, said)
            expected |= condition << 2 * k | goal << 2 * k + 1
        assert found == expected
        for group, compiled in zip(groups, kernel.groups, strict=False):
            if compiled.condition is not None:
                bit = int(bits[obligation_words(len(kernel.obligations))]) >> compiled.condition & 1
                assert bit == group.declared.function(pair.state(words), *group.binding)


@pytest.mark.parametrize(
    ("violated", "other", "refusal"),
    [
        ("nights", "nights", ""), ("desk", "desk", ""),
        ("nights", "some_night", "works_some_night, strongly fair, is enabled at step 2 and never taken"),
        ("desk", "fair_desk",
         "everybody_is_served(client=client0), weakly fair, is always enabled there and never taken"),
        ("per_worker", "any_worker", "some_worker_works, weakly fair, is always enabled there and never taken"),
    ],
)  # fmt: skip
def test_fairness_of_groups_on_a_recorded_lasso(violated: str, other: str, refusal: str) -> None:
    trace = report_of(f"liveness_groups.py/{violated}").traces[0]
    model = load(str(MODELS / f"liveness_groups.py/{other}"))
    said = confirmed(model, trace, replay(model, trace))
    assert said.endswith(f"are a loop, but no counterexample: {refusal}" if refusal else "are a loop, and a fair one")


def test_a_lasso_on_which_the_step_that_is_the_goal_is_taken() -> None:
    report = report_of("liveness_groups.py/desk")
    (trace,) = report.traces
    assert trace.violation is not None and trace.violation.conjunct == "serve is taken"
    other = changed(trace, violation=changed(trace.violation, values=(("client", "client1"),)))
    assert confirmed(report.model, other, replay(report.model, other)).endswith(
        "; but it does not violate served: the step to step 4 is the goal"
    )


def test_a_lasso_that_comes_to_the_goal_for_good() -> None:
    report = report_of("liveness_groups.py/burns_out")
    (trace,) = report.traces
    assert trace.violation is not None and trace.tail[0] == "missing: from step 3 on no step is the goal"
    dark = changed(trace, violation=changed(trace.violation, property="goes_dark"))
    assert confirmed(report.model, dark, replay(report.model, dark)).endswith(
        "; but it does not violate goes_dark: the goal holds all along"
    )
    lit = report_of("liveness_groups.py/lamp").traces[0]
    assert lit.tail[0] == "missing: at step 2, which recurs forever, the goal does not hold"


def test_a_fair_step_that_changes_nothing_does_not_count() -> None:
    """`switch` is enabled when the lamp is burnt out, and changes nothing: a behaviour may stay there."""
    model = load(str(MODELS / "liveness_groups.py/burns_out"))
    (state,) = model.initial_states()
    state.light = type(state.light).BURNT_OUT
    assert unfair(model, [state]) == ("", True)
    numbered = load(str(MODELS / "liveness_groups.py/numbered"))
    assert unfair(numbered, numbered.initial_states()) == ("", False)


# What is refused.

HEAD = '''"""A spec."""
from __future__ import annotations
from typing import Annotated, Any
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
        check(load(str(file)), CheckOptions(), started=0.0)
    return caught.value


FAIR = '@eventually(source="t")\ndef p(s: S) -> bool:\n    """P."""\n    return s.up\n\n'
TAKE = ('@action(who="b", source="t")\ndef take(s: S, request: Annotated[Request, MemberOf("queue")]) -> None:\n'
        '    """Takes."""\n    s.up = True\n\n')  # fmt: skip
LEAD = '@action(who="b", source="t")\ndef lead(s: S, broker: Broker) -> None:\n    """L."""\n    s.leader = broker\n\n'

REFUSALS = [
    ("@weak_fairness(start)\ndef f(s: S) -> bool:\n    return True\n", "@weak_fairness refers to start, which is no"),
    ("@strong_fairness()\ndef f(s: S) -> bool:\n    return True\n", "@strong_fairness refers to no action"),
    ("@weak_fairness\ndef f(s: S) -> bool:\n    return True\n", "@weak_fairness refers to f, which is not an action"),
    ('@always_eventually(source="t", taken=start)\ndef p(s: S) -> bool:\n    return True\n',
     "@always_eventually refers to start, which is not an action"),
    (FAIR + "@weak_fairness(boot)\ndef f(s: S) -> int:\n    return 1\n", "f returns an integer, not a boolean"),
    (FAIR + "@weak_fairness(boot)\ndef f() -> bool:\n    return True\n", "fairness f takes no state"),
    (FAIR + "@weak_fairness(boot)\ndef f(s: S, other: Broker) -> bool:\n    return True\n",
     "fairness f, parameter other: no action that it refers to has it, and nothing reads it"),
    (FAIR + TAKE + "@weak_fairness(take)\ndef f(s: S, request: Request) -> bool:\n    return True\n",
     "fairness f, parameter request: take takes a member of queue, and what that is varies"),
    (FAIR + LEAD + "@weak_fairness(lead)\ndef f(s: S, broker: bool) -> bool:\n    return broker\n",
     "fairness f, parameter broker is a bool, and that of lead a Broker"),
    (FAIR + LEAD + "@weak_fairness(lead)\ndef f(s: S) -> bool:\n    return True\n\n"
     'model = Model("m", "", start, [boot], [p], fairness=[f])\n', "fairness f refers to lead, which is none of its"),
    (FAIR + LEAD + '@leads_to(source="t", taken=lead)\ndef q(s: S) -> tuple[bool, bool]:\n    return True, True\n\n'
     'model = Model("m", "", start, [boot], [q])\n', "leads-to q refers to lead, which is none of its actions"),
    (FAIR + 'model = Model("m", "", start, [boot], [p], fairness=[boot])\n', "model m: boot is not a fairness"),
    ('@leads_to(source="t")\ndef p(s: S) -> bool:\n    return s.up\n', "p returns a boolean, not a condition and"),
    ('@leads_to(source="t")\ndef p(s: S) -> object:\n    return s.up, s.up, s.up\n', "p returns a tuple of 3, not a"),
    ('@leads_to(source="t")\ndef p(s: S) -> object:\n    return s.up, s.leader\n', "not a condition and a goal"),
    ('@eventually(source="t")\ndef p(s: S) -> object:\n    return s.up, s.up\n', "a tuple of 2, not a boolean"),
    ('@eventually(source="t")\ndef p() -> bool:\n    return True\n', "eventually p takes no state"),
    ('@eventually(source="t")\ndef p(s: S, broker: Waiting) -> bool:\n    return s.up\n', "what must come of a member"),
    ('@eventually\ndef p(s: S) -> bool:\n    return s.up\n', "@eventually without its header"),
    ('@eventually(source="t")\ndef p(s: S) -> bool:\n    s.up = True\n    return True\n', "assigns to the state"),
    ('@action(who="b", source="t", fair="very")\ndef a(s: S) -> None:\n    """A."""\n    s.up = True\n',
     "fair='very' of a is not a fairness"),
    ('@eventually(source="t")\ndef p(s: S) -> bool:\n    return s.up\n\n'
     'model = Model("m", "", start, [boot], [p], hide=["up"])\n', "model m hides up and checks p"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "reason"), REFUSALS)
def test_refusals(body: str, reason: str, tmp_path: Path) -> None:
    error = bad(tmp_path, body)
    assert reason in error.reason
    assert error.hint and error.place.file == str(tmp_path / "bad.py") and error.place.line > 20


def test_a_view_is_fine_without_liveness(tmp_path: Path) -> None:
    file = tmp_path / "fine.py"
    file.write_text(
        HEAD + "from checker.lang import deadlock_free\n"
        '@eventually(source="t")\ndef p(s: S) -> bool:\n    return s.up\n\n'
        'model = Model("m", "", start, [boot], [deadlock_free, p], hide=["up"])\n', encoding="utf-8",
    )  # fmt: skip
    model = load(str(file))
    report = check(model.with_properties([model.model.properties[0]]), CheckOptions(), started=0.0)
    assert report.properties[0].name == "deadlock_free"


def test_a_fairness_that_breaks_down_is_violated_there(tmp_path: Path) -> None:
    file = tmp_path / "breaks.py"
    file.write_text(
        HEAD + FAIR + "@weak_fairness(boot)\ndef f(s: S, broker: Broker) -> bool:\n"
        "    return s.queue[0].broker == broker\n", encoding="utf-8",
    )  # fmt: skip
    report = check(load(str(file)), CheckOptions(), started=0.0)
    (broken,) = [p for p in report.properties if p.verdict == "violated"]
    assert broken.name == "f can be evaluated" and broken.trace_length == 1
    assert broken.trace is not None and broken.trace.violation is not None
    assert "It cannot be evaluated here" in broken.trace.violation.statement


def test_an_obligation_that_breaks_down_is_violated_there(tmp_path: Path) -> None:
    file = tmp_path / "breaks.py"
    file.write_text(
        HEAD + '@leads_to(source="t")\ndef p(s: S, broker: Broker) -> tuple[bool, bool]:\n    """P."""\n'
        "    return s.up, s.queue[0].broker == broker\n", encoding="utf-8",
    )  # fmt: skip
    report = check(load(str(file)), CheckOptions(), started=0.0)
    (broken,) = [p for p in report.properties if p.verdict == "violated"]
    assert broken.name == "p can be evaluated" and broken.trace_length == 1
    assert broken.trace is not None and broken.trace.violation is not None
    assert "It cannot be evaluated here" in broken.trace.violation.statement
    assert [p.verdict for p in report.properties if p.name == "p"] == ["incomplete"]
