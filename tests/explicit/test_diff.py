"""`fencepost diff`'s engine: against counts worked out by hand, and against a naive comparison in plain Python."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from checker.explicit.diff import Compared, Difference, diff
from checker.explicit.search.breadth_first import search
from checker.explicit.search.results import SearchResult
from checker.lang.errors import SpecError
from checker.lang.ir import EventKind
from checker.lang.loader import BoundModel, bind_model, find
from checker.reference.replay import replay
from checker.reference.step import Reference
from checker.running.limits import Limits

DIFFERING = "tests/explicit/differing.py"
AS_IT_STANDS: dict[str, str] = {}


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.conftest import ROOT

    monkeypatch.chdir(ROOT)


def both(target: str, one: dict[str, str], other: dict[str, str]) -> list[BoundModel]:
    spec, name = find(target)
    return [bind_model(spec, name, changes) for changes in (one, other)]


def compared(
    target: str,
    one: dict[str, str],
    other: dict[str, str],
    threads: int = 2,
    limits: Limits | None = None,
    told: list[Compared] | None = None,
) -> Difference:
    sides = [(str(changes), model) for changes, model in zip((one, other), both(target, one, other), strict=True)]
    comparing = None if told is None else told.append
    return diff(sides[0], sides[1], threads=threads, limits=limits or Limits(), comparing=comparing)


def counts(found: Difference) -> list[tuple[int, int, int, int, int]]:
    """Per side: states, own states, transitions, transitions of its own out of states of both, and out of own ones."""
    return [(s.states, s.own_states, s.transitions, sum(s.from_shared), sum(s.from_own)) for s in found.sides]


def lengths(found: Difference) -> list[int | None]:
    return [None if s.trace is None else len(s.trace.steps) for s in found.sides]


class TestByHand:
    def test_the_tutorial(self) -> None:
        """12 states (a lease and who serves are independent) against the 5 where who serves has the lease."""
        found = compared("docs/tutorial/lease.py", AS_IT_STANDS, {"broker_stops_first": "true"})
        assert counts(found) == [(12, 7, 36, 2, 24), (5, 0, 10, 0, 0)]
        assert (found.verdict, lengths(found)) == ("differs", [4, None])
        [trace] = found.traces
        assert [step.action for step in trace.steps] == ["init", "grant", "start_serving", "expire"]
        assert "expire is refused by require(s.lease not in s.serving)" in trace.tail[0]
        assert "if Design.broker_stops_first:" in trace.tail[1]

    def test_another_initial_state(self) -> None:
        found = compared(f"{DIFFERING}/free", AS_IT_STANDS, {"begins_at_two": "true"})
        assert counts(found) == [(6, 2, 5, 0, 2), (4, 0, 3, 0, 0)]
        assert lengths(found) == [1, 1]
        assert "this is not an initial state: count: 2, not 0" in found.traces[0].tail[0]

    def test_a_step_that_breaks_down(self) -> None:
        found = compared(f"{DIFFERING}/free", AS_IT_STANDS, {"slips": "true"})
        assert counts(found) == [(6, 0, 5, 0, 0), (6, 0, 5, 1, 0)]
        assert lengths(found) == [None, 5]
        assert found.traces[0].steps[-1].state is None
        assert "slip does not break down here" in found.traces[0].tail[0]

    def test_a_step_that_leads_elsewhere(self) -> None:
        found = compared(f"{DIFFERING}/free", AS_IT_STANDS, {"skips": "true"})
        assert counts(found) == [(6, 1, 5, 1, 1), (5, 0, 4, 1, 0)]
        assert lengths(found) == [3, 3]
        assert "go_on leads elsewhere: count: 3, not 2" in found.traces[0].tail[0]
        assert "go_on leads elsewhere: count: 2, not 3" in found.traces[1].tail[0]

    def test_a_state_constraint(self) -> None:
        found = compared(f"{DIFFERING}/constrained", AS_IT_STANDS, {"lower_limit": "true"})
        assert counts(found) == [(5, 1, 5, 0, 1), (4, 0, 4, 0, 0)]

    def test_without_a_difference(self) -> None:
        """`lower_limit` means nothing where there is no constraint."""
        found = compared(f"{DIFFERING}/free", AS_IT_STANDS, {"lower_limit": "true"})
        assert (found.verdict, found.exit_code, found.traces) == ("same", 0, [])
        assert counts(found) == [(6, 0, 5, 0, 0)] * 2


def transitions(model: BoundModel) -> tuple[set[Any], set[Any]]:
    """All states and transitions of a model, canonical, found by plain Python."""
    model.bind()
    reference = Reference(model)
    queue = list(model.initial_states())
    seen = {reference.canonical(state) for state in queue}
    found = set()
    while queue:
        state = queue.pop()
        for i in range(len(reference.instances)):
            if reference.arguments(state, i) is None:
                continue
            result = reference.step(state, i)
            if result.ended not in (None, EventKind.ERROR):
                continue
            after = None if result.ended else reference.canonical(result.state)
            found.add((reference.canonical(state), i, after))
            if after is not None and after not in seen:
                seen.add(after)
                queue.append(result.state)
    return seen, found


@pytest.mark.parametrize(
    ("target", "switch"),
    [
        ("docs/tutorial/lease.py", "broker_stops_first=true"),
        ("tests/models/philosophers.py", "last_picks_right_first=true"),
        ("tests/models/refinement.py", "early=true"),
        (f"{DIFFERING}/free", "slips=true"),
    ],
)
@pytest.mark.parametrize("threads", [1, 2, 7])
def test_against_plain_python(target: str, switch: str, threads: int) -> None:
    changes = dict([switch.split("=")])
    found = compared(target, AS_IT_STANDS, changes, threads)
    models = both(target, AS_IT_STANDS, changes)
    (one, ones), (other, others) = (transitions(m) for m in models)
    for side, states, steps, less, fewer in zip(
        found.sides, (one, other), (ones, others), (other, one), (others, ones), strict=True
    ):
        own = steps - fewer
        assert (side.states, side.own_states) == (len(states), len(states - less))
        assert sum(side.from_shared) == sum(1 for step in own if step[0] in less)
        assert sum(side.from_own) == sum(1 for step in own if step[0] not in less)
    for number, side in enumerate(found.sides):
        if side.trace is not None:  # its last step, and no other, is none of the other side
            models[number].bind()
            assert replay(models[number], side.trace).departure is None
            models[1 - number].bind()
            departure = replay(models[1 - number], side.trace).departure
            assert departure is not None and departure.index == len(side.trace.steps)


@pytest.mark.long("10 s of CPU")
def test_threads_change_nothing() -> None:
    told: list[Compared] = []
    found = [
        compared("kraft/twins_spurious", {"superseded_stops": "false"}, AS_IT_STANDS, threads, told=told)
        for threads in (1, 2)
    ]
    assert counts(found[0]) == counts(found[1])
    assert [s.from_own for s in found[0].sides] == [s.from_own for s in found[1].sides]
    assert found[0].traces == found[1].traces
    assert lengths(found[0]) == [6, 6]
    shared = [s.states - s.own_states for s in found[0].sides]
    assert shared[0] == shared[1], "what both reach is the same number, counted from either side"
    assert told and {t.total for t in told} == {sum(s.states for s in found[0].sides)}


class TestRefused:
    def test_types_that_differ(self) -> None:
        with pytest.raises(SpecError, match=r"cannot be compared: the type of s\.count is not the same") as refused:
            compared(f"{DIFFERING}/free", AS_IT_STANDS, {"size": "6"})
        assert "size differ" in refused.value.hint

    def test_a_view(self) -> None:
        with pytest.raises(SpecError, match="hides past_two"):
            compared(f"{DIFFERING}/hidden", AS_IT_STANDS, {"skips": "true"})


class TestStopped:
    def test_before_a_difference(self) -> None:
        found = compared(f"{DIFFERING}/free", AS_IT_STANDS, {"slips": "true"}, limits=Limits(max_depth=3))
        assert (found.verdict, found.exit_code, found.traces) == ("incomplete", 3, [])
        assert found.stopped == "depth limit of 3"

    def test_after_a_difference(self) -> None:
        """It differs all the same; that no shorter trace does is not claimed."""
        found = compared(f"{DIFFERING}/free", AS_IT_STANDS, {"slips": "true"}, limits=Limits(max_depth=5))
        assert (found.verdict, found.exit_code, found.stopped) == ("differs", 1, "depth limit of 5")
        assert not any(line.startswith("shortest") for line in found.traces[0].head)

    def test_at_once(self) -> None:
        found = compared(f"{DIFFERING}/free", AS_IT_STANDS, {"skips": "true"}, limits=Limits(time_limit_s=0))
        assert found.verdict == "incomplete"

    def test_where_a_later_difference_is_known_first(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The second side is known to depth 2 only: 0, 1 and, by a jump, 4. That 2 is left another way is found too."""

        def less_for_the_second(limits: Limits, started: float, explored: list[SearchResult]) -> Limits:
            return Limits(max_depth=2) if explored else limits

        monkeypatch.setattr("checker.explicit.diff.what_is_left", less_for_the_second)
        found = compared(f"{DIFFERING}/free", AS_IT_STANDS, {"jumps": "true"})
        assert (found.verdict, found.stopped, lengths(found)) == ("differs", "depth limit of 2", [4, 2])
        assert found.traces[0].tail[0].startswith("step 4, {'jumps': 'true'}: go_on is refused by")

    def test_interrupted_while_searching(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nothing more is explored or compared."""

        def interrupted(*arguments: Any, **options: Any) -> SearchResult:
            return replace(search(*arguments, **options), stopped="interrupted")

        monkeypatch.setattr("checker.explicit.diff.search", interrupted)
        found = compared(f"{DIFFERING}/free", AS_IT_STANDS, {"skips": "true"})
        assert (found.verdict, found.stopped, found.exit_code) == ("incomplete", "interrupted", 3)
        assert found.to_json()["sides"][1]["states"] == 0
