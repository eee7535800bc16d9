"""Every mutant of small models has the verdict that plain Python gives it; some are told by hand."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from checker.explicit.check import CheckOptions, check
from checker.lang.errors import SpecError
from checker.lang.loader import BoundModel, load
from checker.mutate.judge import (
    EQUIVALENT,
    INVALID,
    KILLED,
    NOT_EXERCISED,
    PRECEDENCE,
    STUTTERING,
    SURVIVED,
    UNDECIDED,
    Original,
    Verdict,
    judge,
)
from checker.mutate.mutants import Mutant, mutants_of, mutated
from tests.mutate.plain import Explored, explore

pytestmark = pytest.mark.xdist_group("verdicts")  # what its tests share is made once
ROOT = Path(__file__).parents[2]
LIBRARY = str(ROOT / "tests/mutate/library.py")
COMMIT = str(ROOT / "tests/models/two_phase_commit.py")
FLEET = str(ROOT / "tests/models/shapes.py/fleet")


def original(target: str, changes: dict[str, str] | None = None, max_states: int | None = None) -> Original:
    report = check(load(target, changes or {}), CheckOptions(threads=2), started=time.perf_counter())
    return Original(report, mutants_of(report.model), max_states, 1 << 30)


def expected(model: BoundModel, mutant: Mutant, before: Explored) -> tuple[set[str], int | None]:
    """(the verdicts that may be given, the length of the shortest trace to a violation)."""
    after = explore(mutated(model, mutant.of(model)))
    if after.level is not None:
        return {KILLED}, after.level
    if before.seen - after.seen:
        return {KILLED}, None
    if before.edges == after.edges:
        return {EQUIVALENT, NOT_EXERCISED}, None
    moving = [{edge for edge in found.edges if edge[0] != edge[2]} for found in (before, after)]
    return {STUTTERING} if moving[0] == moving[1] else {SURVIVED}, None


@pytest.mark.long("8 s of CPU each")
@pytest.mark.parametrize("target", [LIBRARY, COMMIT, FLEET])
def test_plain_python_agrees(target: str) -> None:
    held = original(target, {"resource_managers": "2"} if target == COMMIT else {})
    before = explore(held.model)
    assert before.level is None
    assert len(before.states) == held.result.distinct
    for mutant in mutants_of(held.model):
        found = judge(held, mutant)
        verdicts, length = expected(held.model, mutant, before)
        assert found.verdict in verdicts, mutant.key
        if found.verdict == KILLED:
            assert found.length == length, mutant.key


@pytest.fixture(scope="module")
def library() -> dict[str, Verdict]:
    held = original(LIBRARY)
    return {m.key: judge(held, m, traced=True) for m in mutants_of(held.model)}


TOLD = {
    "borrow: drop s.lent += 1": (KILLED, ("lent_is_counted",), 2),
    "borrow: drop require(may_borrow(s, reader))": (KILLED, ("no_second_book_when_late",), 4),
    "borrow: replace s.loans[book] is None by s.loans[book] is not None": (
        KILLED, ("both_are_out is not reached", "borrow never fires (vacuous)", "becomes_late never fires (vacuous)",
                 "bring_back never fires (vacuous)"), None),
    "becomes_late: replace require_some(s.loans[book]) by s.loans[book]": (
        KILLED, ("an absent option is used as a value: loan.late",), 1),
    "bring_back: drop require(s.lent > 0)": (EQUIVALENT, (), None),
    "bring_back: drop s.banned |= {loan.reader}": (NOT_EXERCISED, (), None),
    "may_borrow: drop return False": (NOT_EXERCISED, (), None),
    "close: drop require(s.desk == Desk.OPEN)": (STUTTERING, (), 2),
    "borrow: drop s.desk == Desk.OPEN": (SURVIVED, (), 2),
}  # fmt: skip


@pytest.mark.parametrize("name", TOLD)
def test_verdicts_by_hand(name: str, library: dict[str, Verdict]) -> None:
    found = library[f"library.{name}"]
    assert (found.verdict, found.by, found.length) == TOLD[name]


def test_a_helper_is_changed_for_actions_only(library: dict[str, Verdict]) -> None:
    """`no_second_book_when_late` asks the same helper, and goes on asking the original."""
    found = library["library.is_late: replace loan.late by not loan.late"]
    assert (found.verdict, found.by) == (KILLED, ("no_second_book_when_late",))


def test_a_survivor_shows_where_it_differs(library: dict[str, Verdict]) -> None:
    found = library["library.borrow: drop s.desk == Desk.OPEN"]
    assert found.reason == ("borrow(reader=reader0, book=book0) is new after 2 states; states +0 -0; steps +20 -0")
    assert found.trace is not None
    assert [step.action for step in found.trace.steps] == ["init", "turn_sign", "borrow"]


@pytest.mark.parametrize("so_far", [SURVIVED, STUTTERING, EQUIVALENT])
def test_verdicts_of_other_models_spare_only_what_adds_nothing(so_far: str, library: dict[str, Verdict]) -> None:
    """What counts over all models is the same; so are kills, and the first steps that differ."""
    held = original(LIBRARY)
    mutants = {m.key: m for m in mutants_of(held.model)}
    one_of_each = {verdict.verdict: verdict for verdict in library.values()}
    assert one_of_each.keys() == set(PRECEDENCE) - {UNDECIDED, INVALID}
    for whole in one_of_each.values():
        spared = judge(held, mutants[whole.key], so_far=so_far)
        counts = [min(PRECEDENCE.index(so_far), PRECEDENCE.index(v.verdict)) for v in (whole, spared)]
        assert counts[0] == counts[1], whole.key
        assert (spared.by, spared.length) == (whole.by, whole.length), whole.key


def test_a_kill_shows_its_trace(library: dict[str, Verdict]) -> None:
    trace = library["library.borrow: drop s.lent += 1"].trace
    assert trace is not None and trace.violation is not None
    assert (trace.violation.property, len(trace.steps)) == ("lent_is_counted", 2)
    assert trace.steps[-1].state is not None and trace.steps[-1].state["lent"] == 0


def test_what_has_too_many_states_is_undecided() -> None:
    held = original(LIBRARY, max_states=20)
    name = "library.borrow: drop s.desk == Desk.OPEN"
    found = judge(held, next(m for m in mutants_of(held.model) if m.key == name))
    assert (found.verdict, found.reason) == (UNDECIDED, "nothing is violated up to the limit of 20 states")


def test_a_cut_step_is_distinguished_from_one_that_is_not_enabled() -> None:
    """Neither has a successor; a bound that cuts something off leaves another verdict on the model."""
    held = original(str(ROOT / "tests/mutate/cutting.py"))
    found = {m.key: judge(held, m) for m in mutants_of(held.model)}
    for change in ("drop require(s.value < 3)", "replace s.value < 3 by s.value <= 3"):
        survivor = found[f"cutting.count: {change}"]
        assert survivor.verdict == SURVIVED
        assert survivor.reason == "count is cut by a bound after 4 states; states +0 -0; steps +2 -0"
    assert found["cutting.name: drop who = None"].verdict == INVALID  # on that path the name stands for nothing


@pytest.mark.parametrize(("target", "changes", "message"), [
    (str(ROOT / "docs/tutorial/lease.py"), {}, "violated as it stands"),
    (str(ROOT / "tests/models/verdicts.py/forgotten"), {}, "hides"),
])  # fmt: skip
def test_what_is_no_measure_is_refused(target: str, changes: dict[str, str], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        original(target, changes)


def test_a_mutant_is_another_model_to_the_cache() -> None:
    """Also where only a helper was changed: its action is a copy that is told apart."""
    model = load(LIBRARY)
    helper = next(m for m in mutants_of(model) if m.key.startswith("library.is_late: "))
    keys = {m.key: mutated(model, m.of(model)).key() for m in mutants_of(model)}
    assert helper.key in keys
    assert len({model.key(), *keys.values()}) == len(keys) + 1
