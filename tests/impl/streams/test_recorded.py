"""Emulated groups are behaviours of the spec: what members send and hear, held against `streams/full`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from checker.validate.validator import ACCEPTED, REJECTED
from impl.streams.errors import Cause
from impl.streams.matrix import Cell, Disturbance, Outcome, Upgrade
from impl.streams.recording import SILENT, spec_versions
from tests.impl.streams.lies import LIES, told
from tests.impl.streams.recorded import RecordedRun

PROBING = Cell("2.3.1", "2.4")


def recorded(
    folder: Path,
    cell: Cell,
    disturbance: Disturbance = Disturbance.NONE,
    first: int = 0,
    after_ms: int = 0,
    threads: int = 1,
) -> tuple[RecordedRun, Outcome]:
    """A run of three processes, by one bounce each."""
    stages = [(cell.release(is_new=is_new).name, False) for is_new in (False, True)]
    folder.mkdir(exist_ok=True)
    run = RecordedRun(
        folder,
        3,
        stages,
        clock=lambda: upgrade.group.now_ms,
        threads=threads,
        offline=disturbance is Disturbance.OFFLINE,
        replaces=disturbance is Disturbance.IMPATIENT,
        failovers=int(disturbance is Disturbance.FAILOVER),
        expiries=1,
        unseen=SILENT
        if disturbance in (Disturbance.FAILOVER, Disturbance.IMPATIENT)
        else ("expire", *(["expire_early"] if disturbance is Disturbance.EXPIRY else [])),
    )
    upgrade = Upgrade(cell, disturbance, first, after_ms, threads=threads, watch=run)
    return run, upgrade.run()


@pytest.mark.long("a kernel is compiled: 6 s of CPU in all")
def test_probing_with_faults_is_a_behaviour_of_the_spec(tmp_path: Path) -> None:
    cases = [
        (Disturbance.NONE, 1, 0),
        (Disturbance.CRASH_BOUNCED, 0, 4_000),
        (Disturbance.CRASH_LEADER, 2, 10_500),
        (Disturbance.EXPIRY, 2, 10_500),
        (Disturbance.ROLLBACK, 2, 0),
    ]
    runs = [recorded(tmp_path / str(number), PROBING, *case) for number, case in enumerate(cases)]
    assert [outcome.broken for _, outcome in runs] == [""] * len(cases)
    found = runs[0][0].judged(*(run.trace() for run, _ in runs))
    assert found.verdicts == []


@pytest.mark.long("a kernel is compiled: 8 s of CPU in all")
def test_failovers_are_behaviours_of_the_spec(tmp_path: Path) -> None:
    """As the group is stable, as members join, and between the assignment and its answers: those are lost."""
    moments = [0, 16, 8_976, 8_988, 9_000, 9_012, 9_024]
    runs = [recorded(tmp_path / str(ms), PROBING, Disturbance.FAILOVER, 2, ms) for ms in moments]
    assert [outcome.broken for _, outcome in runs] == [""] * len(moments)
    traces = [run.trace() for run, _ in runs]
    assert any('"lose_reply"' in trace for trace in traces)
    assert runs[0][0].judged(*traces).verdicts == []


@pytest.mark.long("a kernel of six threads is compiled: 30 s of CPU in all")
def test_two_threads_a_process_are_behaviours_of_the_spec(tmp_path: Path) -> None:
    cases = [(Disturbance.NONE, 1, 0), (Disturbance.CRASH_LEADER, 2, 10_500)]
    runs = [recorded(tmp_path / str(number), PROBING, *case, threads=2) for number, case in enumerate(cases)]
    assert [outcome.broken for _, outcome in runs] == [""] * len(cases)
    assert runs[0][0].judged(*(run.trace() for run, _ in runs)).verdicts == []


@pytest.mark.long("a kernel of six processes is compiled: 30 s of CPU in all")
def test_bounces_that_wait_for_nothing_are_behaviours_of_the_spec(tmp_path: Path) -> None:
    """A process starts again while the JoinGroup of its former members is parked: a generation has both."""
    runs = [recorded(tmp_path / str(first), PROBING, Disturbance.IMPATIENT, first) for first in range(3)]
    assert [outcome.broken for _, outcome in runs] == [""] * 3
    assert runs[0][0].judged(*(run.trace() for run, _ in runs)).verdicts == []


@pytest.mark.long("a kernel each: 6 s of CPU in all")
@pytest.mark.parametrize(
    ("cell", "disturbance", "first", "cause"),
    [
        (Cell("2.0", "2.1"), Disturbance.NONE, 2, Cause.CANNOT_ENCODE),
        (Cell("0.10.2", "1.2"), Disturbance.FORGOTTEN, 0, Cause.FUTURE_SUBSCRIPTION),
    ],
    ids=["KAFKA-8649", "forgotten"],
)
def test_members_die_as_in_the_spec(
    cell: Cell, disturbance: Disturbance, first: int, cause: Cause, tmp_path: Path
) -> None:
    run, outcome = recorded(tmp_path, cell, disturbance, first)
    assert set(outcome.deaths) == {cause}
    run.assert_accepted()


@pytest.mark.long("a kernel is compiled")
def test_an_offline_upgrade_is_a_behaviour_of_the_spec(tmp_path: Path) -> None:
    """From version 2 to 3 without upgrade.from. That a process was not stopped with the others is a lie."""
    run, outcome = recorded(tmp_path, Cell("0.10.2", "1.2"), Disturbance.OFFLINE)
    assert not outcome.broken
    trace = run.trace()
    (stop,) = [line for line in trace.splitlines(keepends=True) if json.loads(line).get("action") == "stop_all"]
    found = run.judged(trace, trace.replace(stop, ""))
    assert (found.counts[ACCEPTED], found.counts[REJECTED]) == (1, 1), [one.reason for one in found.verdicts]


@pytest.mark.long("a kernel is compiled")
def test_a_lie_is_rejected(tmp_path: Path) -> None:
    run, _ = recorded(tmp_path, PROBING)
    lies = told(run.trace(), LIES)
    assert run.judged(*lies).counts[REJECTED] == len(LIES)


def test_versions_stand_for_those_of_the_spec_by_their_order() -> None:
    assert spec_versions([1, 2, 11, 4]) == {1: 1, 2: 2, 4: 3, 11: 4}
