"""A job that does not get on is reported at growing gaps, and given up when it was asked to."""

from __future__ import annotations

import warnings

import pytest

from checker.errors import FencepostWarning
from checker.spark.stalls import IDLE_S, SLOW_S, StallDetector, StalledError


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def _reports(watch: StallDetector, clock: Clock, seconds: float, done: int, running: int) -> list[tuple[float, str]]:
    """The reports during some seconds: when, and what."""
    found, start = [], clock.now
    while clock.now < start + seconds:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            watch.look(done, running)
        found += [(clock.now - start, str(warning.message)) for warning in caught]
        assert all(warning.category is FencepostWarning for warning in caught)
        clock.now += 1
    return found


def test_it_is_reported_at_growing_gaps() -> None:
    clock = Clock()
    watch = StallDetector("spark://head:7077", None, clock)
    idle = _reports(watch, clock, 10 * IDLE_S, 0, 0)
    assert [at / IDLE_S for at, _ in idle] == [1, 2, 4, 8]
    assert idle[0][1].startswith(f"spark://head:7077 has run no task for {IDLE_S:.0f} s: has it an executor")
    assert _reports(watch, clock, SLOW_S, 1, 2) == []  # one has ended
    [(_, slow)] = _reports(watch, clock, 5, 1, 2)
    assert slow == f"no task has ended on spark://head:7077 for {SLOW_S:.0f} s; 2 running, 1 done"


def test_it_is_given_up() -> None:
    clock = Clock()
    watch = StallDetector("yarn", 7, clock)
    _reports(watch, clock, 7, 0, 1)
    _reports(watch, clock, 7, 1, 1)
    with pytest.raises(StalledError, match=r"ended on yarn for 7 s; 1 running, 1 done \(--task-timeout-s\)"):
        _reports(watch, clock, 1, 1, 1)
