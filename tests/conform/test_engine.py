"""The engine of conformance on a small server: what conforms, what diverges, and that jobs make no difference."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from checker.conform.check import ConformOptions, Report, conform
from checker.conform.product import shared_out
from checker.conform.regression import to_test
from checker.conform.system import Refusal
from checker.explicit.check import CheckOptions, check
from checker.lang.errors import SpecError
from checker.lang.loader import load
from checker.reference.replay import replay
from checker.verdicts import CONFORMS, DIVERGES, INCOMPLETE, VACUOUS
from tests.conform.lease_faults import BLIND, FAULTS, Fault
from tests.conform.lease_server import SYSTEM, LeaseSystem, Request, Response, Server
from traces import TraceError

LEASE = "tests/conform/lease.py/lease"


def run(system: Any = SYSTEM, model: str = LEASE, **options: Any) -> Report:
    return conform(load(model), system, "lease", ConformOptions(**options))


def figures(report: Report) -> dict[str, Any]:
    """All that a report says, but for the time and the memory that it took."""
    return {name: value for name, value in report.to_json().items() if name not in ("seconds", "peak_memory_bytes")}


def test_what_conforms_is_driven_through_all_of_the_spec() -> None:
    report = run()
    alone = check(load(LEASE), CheckOptions(), started=0.0).result
    assert report.verdict == CONFORMS and report.exit_code == 0
    assert report.counts.states == report.states == report.pairs == alone.distinct == 447
    assert report.counts.transitions == report.transitions == 1448 == alone.generated - 1
    assert report.counts.driven == [action.fired for action in alone.actions]
    assert report.depth == alone.depth
    assert sum(report.counts.tried) == 2233 and sum(report.counts.nothing) == 0
    assert (report.receivers, report.probes) == (31, 122)


@pytest.mark.parametrize("fault", FAULTS.values(), ids=list(FAULTS))
def test_every_fault_is_found_on_a_shortest_trace(fault: Fault) -> None:
    report = run(fault.system)
    assert report.verdict == DIVERGES and report.exit_code == 1
    assert report.divergence is not None
    trace = report.divergence.trace
    assert len(trace.steps) == fault.states
    assert trace.steps[-1].action == fault.last
    assert fault.says in report.reason
    differs = [row.path for row in report.divergence.rows if row.differs]
    assert set(fault.differs) <= set(differs)
    assert report.depth == fault.states - 1  # no level before it diverged


def test_only_a_key_with_what_does_not_show_tells_two_states_apart() -> None:
    """The same server: without its soft state in the key, the pairs that lead to the fault are taken for known ones."""
    assert run(BLIND).verdict == CONFORMS
    assert run(FAULTS["remembers what it should not, and shows it later"].system).verdict == DIVERGES


@pytest.mark.parametrize("name", ["grants a lease twice", "takes back a lease of somebody else", "does not do it"])
def test_the_trace_up_to_its_last_step_is_a_behaviour_of_the_spec(name: str) -> None:
    report = run(FAULTS[name].system)
    assert report.divergence is not None
    trace = report.divergence.trace
    shorter = dataclasses.replace(trace, steps=trace.steps[:-1], violation=None)
    assert replay(load(LEASE), shorter).departure is None


@pytest.mark.parametrize("name", ["", "grants a lease twice", "takes back a lease of somebody else"])
def test_several_processes_find_what_one_does(name: str) -> None:
    system = FAULTS[name].system if name else SYSTEM
    one, *others = [run(system, jobs=jobs) for jobs in (1, 2, 3)]
    for report in others:
        assert figures(report) == figures(one)
        assert report.traces == one.traces


@pytest.mark.parametrize("counts", [[0], [7], [1, 0, 0], [9, 0, 0], [0, 5, 4], [3, 3, 3], [1, 10, 0, 10, 2], [0, 0]])
def test_pairs_are_shared_out_among_the_processes(counts: list[int]) -> None:
    gifts = shared_out(counts)
    given = [sum(to.values()) for to in gifts]
    taken = [sum(to.get(whose, 0) for to in gifts) for whose in range(len(counts))]
    after = [has - gave + got for has, gave, got in zip(counts, given, taken, strict=True)]
    assert sum(after) == sum(counts) and max(after) <= -(-sum(counts) // len(counts))
    assert not any(gave and got for gave, got in zip(given, taken, strict=True))


def test_what_never_happens_in_the_spec_is_vacuous() -> None:
    report = run(model="tests/conform/lease.py/sure")
    assert (report.verdict, report.exit_code) == (VACUOUS, 4)
    assert report.reason == "the spec never takes lose"


class Lamp:
    """An implementation of the lamps in tests/models/verdicts.py: on or off, and for some a count as well.

    sticks_at: a count that it does not go on from.
    """

    def __init__(self, sticks_at: int | None = None) -> None:
        self._sticks_at = sticks_at

    def lacks(self, constants: Any, actions: Any) -> str:
        return ""

    def begin(self, constants: Any, state: Any) -> Any:
        return state.on, getattr(state, "count", 0)

    def step(self, system: Any, action: str, arguments: Any, before: Any) -> Any:
        on, count = system
        if action == "count_on":
            return Refusal("it sticks") if count == self._sticks_at else (on, count + 1)
        return not on, count

    def attempts(self, actions: Any) -> Any:
        return ()

    def attempt(self, system: Any, action: str, arguments: Any, before: Any) -> Any:
        return None

    def receivers(self, system: Any, before: Any, classes: Any, actions: Any) -> Any:
        return ()

    def observe(self, system: Any) -> Any:
        return system

    def expect(self, state: Any) -> Any:
        return self.begin({}, state)

    def key(self, system: Any) -> Any:
        return ()


def test_histories_that_a_view_hides_are_distinguished() -> None:
    report = run(Lamp(), "tests/models/verdicts.py/forgotten")
    assert report.verdict == CONFORMS and report.pairs == report.states == 3


@pytest.mark.parametrize("jobs", [1, 2])
def test_it_begins_in_every_initial_state(jobs: int) -> None:
    model = "tests/models/verdicts.py/many_starts"
    assert run(Lamp(), model, jobs=jobs).pairs == 6
    report = run(Lamp(sticks_at=1), model, jobs=jobs)
    assert report.divergence is not None and report.depth == 1
    first, last = report.divergence.trace.steps
    assert first.state == {"on": False, "count": 1} and last.action == "count_on"
    assert "initial=1" in to_test(report.divergence.trace)
    assert sum(report.counts.nothing) == 0 and report.counts.driven == [0, 0]


def test_a_depth_limit_leaves_it_incomplete() -> None:
    report = run(max_depth=3)
    assert (report.verdict, report.exit_code, report.stopped) == (INCOMPLETE, 3, "depth limit of 3")
    assert report.depth == 3 and report.states is None


def test_no_time_at_all_leaves_it_incomplete() -> None:
    report = run(time_limit_s=0.0)
    assert (report.verdict, report.stopped) == (INCOMPLETE, "time limit of 0 s")


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_memory_limit_leaves_it_incomplete(jobs: int) -> None:
    """Five clients: far more than fits."""
    model, options = load(LEASE, {"clients": "5"}), ConformOptions(jobs, max_depth=14, memory_bytes=8 << 20)
    report = conform(model, SYSTEM, "lease", options)
    assert report.verdict == INCOMPLETE and report.stopped is not None
    assert report.stopped.startswith("memory limit: ") and report.stopped.endswith("0.00781 GiB allowed")
    assert 0 < report.counts.pairs < report.pairs
    assert 8 << 20 < report.peak_memory_bytes < 64 << 20


class Probing(LeaseSystem):
    """An adapter whose probes the spec cannot make sense of."""

    def receivers(self, system: Any, before: Any, classes: Any, actions: Any) -> Any:
        yield (), lambda: [("nonsense", before, system, "handle_acquire", {"request": None})]


class ProbingWhatIsNotThere(LeaseSystem):
    def receivers(self, system: Any, before: Any, classes: Any, actions: Any) -> Any:
        yield (), lambda: [("nonsense", before, system, "handle", {})]


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(
    ("system", "says"),
    [(Probing(), "the spec breaks down on the probe nonsense"), (ProbingWhatIsNotThere(), "has no such action")],
)
def test_a_probe_that_makes_no_sense_is_an_error_of_the_adapter(system: Any, says: str, jobs: int) -> None:
    with pytest.raises(SpecError, match=says):
        run(system, jobs=jobs)


class ProbingOutOfTime(LeaseSystem):
    """Probes what the spec refuses, and what a bound cuts; tries nothing else that is refused."""

    def receivers(self, system: Any, before: Any, classes: Any, actions: Any) -> Any:
        def probes() -> Any:
            yield "early", before, dataclasses.replace(system, now_ms=-9), "lapse", {}
            client = next(iter(before.asked))
            message = classes["Acquire"](client=client)
            full = dataclasses.replace(before, network=type(before.network)([message, message]))
            yield "too much", full, system, "acquire", {"client": client}

        if before.holder is None and len(before.network) == 0:
            yield "idle", probes

    def attempt(self, system: Any, action: str, arguments: Any, before: Any) -> Any:
        return super().attempt(system, action, arguments, before) if system.now_ms == -9 else None


class Ticks(Server):
    """Time does something to it."""

    def tick(self, now_ms: int) -> None:
        self.holder = self.holder or 1


def test_a_probe_that_the_spec_refuses_must_change_nothing() -> None:
    report = run(ProbingOutOfTime())
    assert report.verdict == CONFORMS and (report.receivers, report.probes) == (1, 1)
    assert sum(report.counts.tried) == 0
    report = run(ProbingOutOfTime(Ticks))
    assert report.divergence is not None and report.divergence.trace.violation is not None
    assert report.divergence.trace.violation.conjunct == "require(s.holder is not None)"
    assert report.divergence.trace.steps[-1].notes[0] == "not under way, and tried all the same: early"


class Fickle(Server):
    """Does not do the same every time."""

    requests = 0

    def acquire(self, request: Request, now_ms: int) -> Response:
        Fickle.requests += 1
        return Response("STALE_TERM") if Fickle.requests == 5 else super().acquire(request, now_ms)


def test_what_does_not_diverge_again_is_said_to_be_unsteady() -> None:
    report = run(LeaseSystem(Fickle))
    assert report.verdict == DIVERGES and report.divergence is not None
    assert report.reason.startswith("It diverged (the spec does it, and the implementation is elsewhere after it)")
    assert "does not always do the same" in report.reason
    assert [row.text() for row in report.divergence.rows if row.differs] == ["STALE_TERM, in the spec BUSY"]


class Dying(LeaseSystem):
    """An adapter that takes its process with it."""

    def attempt(self, *arguments: Any) -> Any:
        import os

        os._exit(7)


def test_a_process_that_is_gone_is_said() -> None:
    with pytest.raises(Exception, match=r"ended by itself \(exit code 7\)"):
        run(Dying(), jobs=2)


class CountsRequests(Server):
    """It counts, and nothing else."""

    def __init__(self, term: int) -> None:
        super().__init__(term)
        self.requests = 0

    def handle(self, request: Request, now_ms: int) -> Response:
        self.requests += 1
        return super().handle(request, now_ms)


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_only_grows_is_reported_by_its_name(jobs: int) -> None:
    report = run(LeaseSystem(CountsRequests), jobs=jobs)
    assert (report.verdict, report.exit_code) == (DIVERGES, 1)
    assert report.reason == (
        "Hidden state grows without bound: the way goes round, and each time there is more in requests."
    )
    assert report.divergence is not None and report.divergence.trace.violation is not None
    assert report.divergence.trace.violation.values == (("hidden.requests", "8, before 7"),)
    with pytest.raises(TraceError, match="not a trace of a divergence"):
        to_test(report.divergence.trace)


class Asks(Server):
    """It keeps a function, whose state nobody can read."""

    def __init__(self, term: int) -> None:
        super().__init__(term)
        self.ask = lambda: self.term


def test_a_state_that_cannot_be_read_is_an_error_of_the_adapter() -> None:
    with pytest.raises(SpecError, match="cannot be read: ask is a function"):
        run(LeaseSystem(Asks))
