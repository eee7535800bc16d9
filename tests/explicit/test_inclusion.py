"""`fencepost include`'s engine: against lengths worked out by hand, and against plain Python's sets of states."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker.explicit.inclusion import Included, distinct, include
from checker.lang.errors import SpecError
from checker.lang.inclusion import BoundInclusion, load_inclusion
from checker.lang.loader import BoundModel
from checker.reference.step import Reference
from checker.running.deadline import Stage
from checker.running.limits import Limits, Progress

LOOKING_ALIKE = "tests/explicit/looking_alike.py"


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.conftest import ROOT

    monkeypatch.chdir(ROOT)


def asked(name: str, **changes: str) -> BoundInclusion:
    return load_inclusion(f"{LOOKING_ALIKE}/{name}", changes)


def judged(inclusion: BoundInclusion, threads: int = 2, **limits: Any) -> Included:
    return include(inclusion, threads=threads, limits=Limits(**limits))


def length(found: Included) -> int | None:
    return None if found.trace is None else len(found.trace.steps)


class TestByHand:
    def test_what_is_chosen_unseen_may_be_chosen_late(self) -> None:
        """Seen is a coin, one of two drinks, or nothing. Nothing is seen first, and again once somebody was served."""
        found = judged(asked("early_in_late"))
        assert (found.verdict, found.exit_code, found.reason) == ("holds", 0, "")
        assert (found.sights, found.sets) == (4, 6)

    def test_no_mapping_is_needed(self) -> None:
        found = judged(asked("late_in_early"))
        assert (found.verdict, found.trace) == ("holds", None)

    def test_a_shortest_trace_to_what_cannot_be_seen(self) -> None:
        found = judged(asked("generous_in_early"))
        assert (found.verdict, found.exit_code, length(found)) == ("violated", 1, 5)
        assert found.trace is not None
        assert [step.action for step in found.trace.steps] == ["init", "insert", "serve_any", "take", "serve_free"]
        assert found.trace.tail[-1] == (
            "step 5: seen is (is_paid=false, served=TEA), which tests/explicit/looking_alike.py/early cannot show"
            " after what was seen before"
        )
        assert [line.split(":")[0] for line in found.trace.tail] == ["step 1", "step 2", "step 3", "step 4", "step 5"]

    def test_an_initial_state_that_shows_too_much(self) -> None:
        found = judged(asked("loaded_in_early"))
        assert (found.verdict, length(found)) == ("violated", 1)

    def test_it_may_begin_in_the_middle(self) -> None:
        """With a coin, and with a drink chosen, or not yet: two states that look alike."""
        found = judged(asked("loaded_in_rest"))
        assert (found.verdict, found.sets, found.sights) == ("holds", 4, 4)

    def test_what_is_cut_is_said(self) -> None:
        found = judged(asked("warming_in_late"))
        assert found.verdict == "holds within bounds"
        assert found.reason.startswith("boil was cut")

    def test_where_nothing_shows_nothing_is_shown(self) -> None:
        found = judged(asked("all_alike"))
        assert (found.verdict, found.exit_code) == ("vacuous", 4)
        assert found.reason == f"of {LOOKING_ALIKE}/early always the same is seen"


# Plain Python: the states of both, and sets of those of the second.


def successors(model: BoundModel, reference: Reference, state: Any) -> Iterable[Any]:
    model.bind()
    for instance in range(len(reference.instances)):
        if reference.arguments(state, instance) is not None:
            result = reference.step(state, instance)
            if result.ended is None:
                yield result.state


class Naive:
    """Sets of states that look alike, as dicts from a state's key to the state."""

    def __init__(self, model: BoundModel, seen: Callable[[Any], Any]) -> None:
        model.bind()
        self.model, self.reference, self.seen = model, Reference(model), seen

    def key(self, state: Any) -> Any:
        return self.reference.canonical(state)

    def steps(self, state: Any) -> list[Any]:
        return list(successors(self.model, self.reference, state))

    def beginnings(self, from_any_state: bool) -> Iterable[Any]:
        """The initial states; all that are reached."""
        found = {self.key(state): state for state in self.model.initial_states()}
        queue = list(found.values()) if from_any_state else []
        while queue:
            for after in self.steps(queue.pop()):
                if self.key(after) not in found:
                    found[self.key(after)] = after
                    queue.append(after)
        return found.values()

    def closed(self, states: Iterable[Any]) -> dict[Any, Any]:
        found = {self.key(state): state for state in states}
        queue = list(found.values())
        while queue:
            state = queue.pop()
            for after in self.steps(state):
                if self.seen(after) == self.seen(state) and self.key(after) not in found:
                    found[self.key(after)] = after
                    queue.append(after)
        return found


def naive(inclusion: BoundInclusion) -> int | None:
    """The states of a shortest trace to what cannot be seen, None where there is none."""
    one = Naive(inclusion.model, inclusion.inclusion.seen)
    other = Naive(inclusion.within, inclusion.inclusion.seen_within)
    level, beginnings = [], other.beginnings(inclusion.inclusion.from_any_state)
    for state in inclusion.model.initial_states():
        alike = other.closed(s for s in beginnings if other.seen(s) == one.seen(state))
        if not alike:
            return 1
        level.append((state, alike))
    known, states = set(), 1
    while level:
        following, states = [], states + 1
        for state, alike in level:
            for after in one.steps(state):
                beside = alike
                if one.seen(after) != one.seen(state):
                    shown = [t for s in alike.values() for t in other.steps(s) if other.seen(t) == one.seen(after)]
                    if not shown:
                        return states
                    beside = other.closed(shown)
                pair = (one.key(after), frozenset(beside))
                if pair not in known:
                    known.add(pair)
                    following.append((after, beside))
        level = following
    return None


def with_actions_left_out(inclusion: BoundInclusion) -> Iterable[tuple[str, BoundInclusion]]:
    """The inclusion, and again for each action of either model that is left out of it."""
    yield "all", inclusion
    for name, model in without_one(inclusion.model):
        yield f"model without {name}", replace(inclusion, model=model)
    for name, model in without_one(inclusion.within):
        yield f"within without {name}", replace(inclusion, within=model)


def without_one(bound: BoundModel) -> Iterable[tuple[str, BoundModel]]:
    for action in bound.model.actions:
        rest = [other for other in bound.model.actions if other is not action]
        yield action.name, replace(bound, model=replace(bound.model, actions=rest))


@pytest.mark.parametrize(
    "name", ["early_in_late", "late_in_early", "generous_in_early", "warming_in_late", "loaded_in_rest"]
)
def test_as_plain_python_has_it(name: str) -> None:
    verdicts = set()
    for what, inclusion in with_actions_left_out(asked(name)):
        found = judged(inclusion)
        assert length(found) == naive(inclusion), what
        verdicts.add(found.verdict)
    assert "violated" in verdicts and len(verdicts) > 1


@given(st.lists(st.tuples(*[st.sampled_from([0, 1, 2**62, -(2**63), 2**63 - 1])] * 3), min_size=1))
def test_rows_are_told_apart(rows: list[tuple[int, ...]]) -> None:
    """By keys of one number, also where columns are as wide as a number is."""
    first, which = distinct(np.array(rows, dtype=np.int64))
    assert [rows[first[place]] for place in which] == rows
    assert len(first) == len(set(rows)) and all(rows.index(rows[place]) == place for place in first)


# What stops it.


def test_a_limit_of_states_is_no_verdict() -> None:
    found = judged(asked("early_in_late"), max_states=2)
    assert (found.verdict, found.exit_code) == ("incomplete", 3)


def test_a_limit_of_time_is_no_verdict() -> None:
    found = judged(asked("early_in_late"), time_limit_s=0)
    assert (found.verdict, found.stopped) == ("incomplete", "time limit of 0 s")


def test_a_limit_of_memory_is_no_verdict() -> None:
    found = judged(asked("early_in_late"), memory_bytes=1 << 30)
    assert found.verdict == "holds"
    found = judged(asked("early_in_late"), memory_bytes=1 << 26)  # less than this process has
    assert found.verdict == "incomplete" and "memory limit" in (found.stopped or "")


def test_ctrl_c_is_no_verdict() -> None:
    def interrupted(progress: Progress) -> None:
        raise KeyboardInterrupt

    def interrupted_later(stage: Stage) -> None:
        raise KeyboardInterrupt

    found = include(asked("early_in_late"), threads=1, limits=Limits(), searching=interrupted, stages=interrupted_later)
    assert (found.verdict, found.stopped) == ("incomplete", "interrupted")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hidden", "hiding hides past"),
        ("breaking", "seen_choice cannot be evaluated in a state that is reached"),
        ("unmarked", "unmarked gives no message"),
        ("numbered", r"seen_sale shows an ordinal \(sale\)"),
        ("unlike", "seen gives Seen, and seen_too gives SeenToo"),
        ("missing", "has no inclusion missing"),
    ],
)
def test_what_cannot_be_compared_is_refused(name: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        judged(asked(name))


@pytest.mark.parametrize(
    ("listed", "message"),
    [("[SMALL]", "is no list of inclusions"), ("3", "is no list of inclusions"), ("[ONE, ONE]", "are called one")],
)
def test_what_is_no_list_of_inclusions_is_refused(listed: str, message: str, tmp_path: Path) -> None:
    text = Path(LOOKING_ALIKE).read_text().split("INCLUSIONS = ")[0]
    lines = ["SMALL = MODELS[0]", 'ONE = Inclusion("one", "", SMALL, SMALL, seen, seen)', f"INCLUSIONS = {listed}"]
    file = tmp_path / "listing.py"
    file.write_text("\n".join([text, *lines, ""]))
    with pytest.raises(SpecError, match=message):
        load_inclusion(str(file))


def test_a_spec_without_inclusions() -> None:
    with pytest.raises(SpecError, match="lists no inclusions"):
        load_inclusion("docs/tutorial/lease.py")
