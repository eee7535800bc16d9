"""The models of KIP-631 close with the pinned counts and hold; a switch that is off breaks what is pinned."""

from __future__ import annotations

import time

import pytest

from checker.cli.commands.gallery_pages import page as page_of
from checker.explicit.check import CheckOptions, Report, check
from checker.explicit.gallery import reproduced
from checker.lang.loader import bugs_of, load, load_spec
from tests.conftest import ROOT, Pin, pin_of, read_pins


def explored(target: str, threads: int, pin: Pin | None = None) -> Report:
    model = load(target, pin.changes if pin else {}, pin.setting if pin else None)
    return check(model, CheckOptions(threads=threads), started=time.perf_counter())


@pytest.mark.sample(16)
@pytest.mark.pins("kraft/")
def test_pinned(pin: Pin) -> None:
    report = explored(pin.target, 2, pin)
    found = report.to_json()
    expected = dict(pin.expected)
    violated = expected.pop("violated", {})
    assert {p.name: p.trace_length for p in report.properties if p.verdict == "violated"} == violated
    assert {name: found[name] for name in expected} == expected
    for trace in report.traces:
        assert trace.violation is not None and trace.violation.conjunct
        assert len(trace.steps) == violated[trace.violation.property]
    for bug in bugs_of("kraft"):
        if pin == pin_of("kraft", bug):  # the same search gives the bug's page in the gallery
            page = ROOT / "docs" / "gallery" / f"{bug.name}.md"
            model = load(pin.target, pin.changes).with_properties([bug.violates])
            assert page_of(reproduced(bug, model, report)) == page.read_text(encoding="utf-8"), "run `make docs`"


@pytest.mark.parametrize("threads", [1, 7])
def test_threads_change_nothing(threads: int) -> None:
    """Counts, coverage and the counterexample are the same for any number of shards."""
    two, other = explored("kraft/twins_spurious", 2).to_json(), explored("kraft/twins_spurious", threads).to_json()
    for machine_dependent in ("seconds", "peak_memory_bytes", "threads"):
        two.pop(machine_dependent)
        other.pop(machine_dependent)
    assert two == other


@pytest.mark.parametrize("threads", [1, 7])
def test_threads_find_the_same_counterexample(threads: int) -> None:
    model = load("kraft/lossy", {"kafka_13173": "false"})
    found = [check(model, CheckOptions(threads=n), started=time.perf_counter()).traces for n in (2, threads)]
    assert found[0] == found[1]


def test_every_switch_is_pinned_off() -> None:
    """No switch of the design is without a model that finds the bug when it is off."""
    broken = {name for p in read_pins(ROOT / "tests" / "pins.toml") if "violated" in p.expected for name in p.changes}
    switches = {n for n, v in load("kraft").constants.items() if isinstance(v, bool)}
    assert switches <= broken
    assert load_spec("kraft").models[0].name == "membership"
