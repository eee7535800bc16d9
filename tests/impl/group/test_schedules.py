"""Seeded schedules of faults on a real ZooKeeper: behaviours of the spec, no record skipped, no old assignment used.

More schedules: `python -m tests.impl.group.schedules --count 2000 --done build/group-schedules.ndjson`.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cluster.schedules import Run
from tests.impl.group.cluster import Consumed
from tests.impl.group.schedules import SCHEDULES, judgement
from traces.events import end_line, event_line, header_line

RUNS, AT_ONCE = 30, 5
FIRST = Consumed("a", 1, "t 2-0", 0, 20, "x", 1, 1)


@pytest.mark.xdist_group("zookeeper")
@pytest.mark.long("real time: some minutes of wall clock")
def test_seeded_schedules_are_behaviours_of_the_spec_and_consume_every_record(tmp_path: Path) -> None:
    runs = SCHEDULES.run_until_begun(range(RUNS), tmp_path, at_once=AT_ONCE)
    assert sorted(one.seed for one in runs) == list(range(RUNS))
    assert SCHEDULES.validate(runs, tmp_path).reasons == {}
    for count in ("rebalances", "coordinators"):
        assert sum((one.figures or {})[count] for one in runs) > RUNS
    longest = max(runs, key=lambda one: len(one.trace))
    lie = replace(longest, trace=without_last_stop(longest.trace))
    assert list(SCHEDULES.validate([lie], tmp_path / "lie").reasons) == [longest.seed]


FORMER: list[tuple[str, dict[str, str]]] = [
    ("expire", {"broker": "broker0"}),
    ("handle_new_session", {"broker": "broker0"}),
    ("elect", {"broker": "broker1"}),
    ("expire", {"broker": "broker1"}),
    ("elect", {"broker": "broker0"}),
    ("connect", {"consumer": "consumer0", "asked": "broker0"}),
    ("register", {"broker": "broker0", "consumer": "consumer0"}),
    ("take_answer", {"consumer": "consumer0"}),
    ("wait_out_sessions", {"broker": "broker1"}),
    ("wait_out_sessions", {"broker": "broker0"}),
    ("begin", {"broker": "broker0", "handler": "handler0", "group": "group0"}),
    ("take_stop", {"consumer": "consumer0"}),
]


@pytest.mark.long("the kernel of the model of traces")
def test_a_former_coordinator_waits_out_no_session_of_its_successor(tmp_path: Path) -> None:
    """It has yet to hear that its own is over. Who stops for a coordinator without having registered is a lie."""
    lines = [event_line(action, parameters) for action, parameters in FORMER]
    runs = [
        Run(seed, "".join([header_line("recorded", name=f"seed {seed}"), *events, end_line(len(events))]), {})
        for seed, events in ((0, lines), (2, [*lines[:5], *lines[8:]]))
    ]
    assert list(SCHEDULES.validate(runs, tmp_path / "traces").reasons) == [2]


def without_last_stop(trace: str) -> str:
    """The trace of a run in which somebody is started without having stopped: all but the last stop before a start."""
    lines = trace.splitlines(keepends=True)
    starts = set[str]()
    for at in reversed(range(len(lines))):
        event = json.loads(lines[at])
        consumer = event.get("parameters", {}).get("consumer")
        if event.get("action") == "take_stop" and consumer in starts:
            return "".join([*lines[:at], *lines[at + 1 : -1], end_line(len(lines) - 3)])
        if event.get("action") == "take_start":
            starts.add(consumer)
        elif consumer is not None:
            starts.discard(consumer)
    raise ValueError("nobody stops and is started")


@pytest.mark.parametrize(
    ("second", "problem"),
    [
        (replace(FIRST, consumer="b", offset=20, next_offset=40, attempt=2), ""),
        (replace(FIRST, consumer="b", attempt=2), ""),
        (replace(FIRST, consumer="b", offset=40, next_offset=60, attempt=2), "b skips from 20 to 40"),
        (replace(FIRST, consumer="b", offset=20, next_offset=40, attempt=0), "b consumes t 2-0 at 20 by"),
        (replace(FIRST, consumer="b", offset=20, next_offset=40, epoch=0, attempt=9), "b consumes t 2-0 at 20 by"),
    ],
)
def test_the_judgement_of_two_records(second: Consumed, problem: str) -> None:
    assert judgement([FIRST, second]).startswith(problem) and bool(judgement([FIRST, second])) == bool(problem)
