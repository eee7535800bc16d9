"""Processes on a real ZooKeeper: seeded schedules of faults are behaviours of the spec, and lose nothing.

More schedules: `python -m tests.impl.heartbeat.schedules --count 1000 --done build/heartbeats.ndjson`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cluster.schedules import Run
from tests.impl.heartbeat.schedules import SCHEDULES, SETUPS

pytestmark = pytest.mark.xdist_group("zookeeper")
RUNS = 30
AT_ONCE = 6


@pytest.mark.long("real time: a minute or two of wall clock")
def test_seeded_schedules_are_behaviours_of_the_spec(tmp_path: Path) -> None:
    """And S2 and S5 hold by the records: one process serves at a time, and what was acknowledged is there."""
    runs = SCHEDULES.run_until_begun(range(RUNS), tmp_path, at_once=AT_ONCE)
    assert sorted(one.seed for one in runs) == list(range(RUNS))
    assert SCHEDULES.validate(runs, tmp_path).reasons == {}
    for one in runs:
        assert one.figures is not None
        assert (one.figures["double_serving_ms"], one.figures["lost"]) == (0, 0)
    assert sum(one.figures["acknowledged"] for one in runs if one.figures) > RUNS
    for setup in SETUPS:
        own = (one for one in runs if SCHEDULES.setup_of(one.seed) is setup)
        lie = next(filter(None, (with_a_lie(one) for one in own)))
        assert list(SCHEDULES.validate([lie], tmp_path / f"lie in {setup.name}").reasons) == [lie.seed]


def with_a_lie(run: Run) -> Run | None:
    """The same run up to where a lease is over, but its broker never fenced itself; None: there is no such place."""
    lines = run.trace.splitlines(keepends=True)
    events = [json.loads(line) for line in lines]
    for at, event in enumerate(events):
        if event.get("action") != "expire":
            continue
        process = event["parameters"]["broker"].replace("broker", "process")
        own = [n for n in range(at) if events[n].get("parameters", {}).get("process") == process]
        steps = [events[n]["action"] for n in own]
        if steps[-3:] == ["cut_off", "self_fence", "cut_off"]:
            del lines[own[-2]]
            return Run(run.seed, "".join(lines[:at]), None)
    return None
