"""The tutorial of docs/writing-a-spec.md does what the page says."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from checker.explicit.check import CheckOptions, Report, check
from checker.lang.loader import load

if TYPE_CHECKING:
    from tests.conftest import Pin

ROOT = Path(__file__).parent.parent.parent
FILE = ROOT / "docs" / "tutorial" / "lease.py"
PAGE = ROOT / "docs" / "writing-a-spec.md"


def run(changes: dict[str, str]) -> Report:
    return check(load(str(FILE), changes), CheckOptions(), started=time.perf_counter())


def test_it_has_forty_lines() -> None:
    assert len([line for line in FILE.read_text().splitlines() if line.strip()]) <= 40


def test_the_page_shows_it_as_it_is() -> None:
    assert f"```python\n{FILE.read_text()}```" in PAGE.read_text()


@pytest.mark.pins("docs/")
def test_it_finds_what_the_page_says(pin: Pin) -> None:
    report = run(pin.changes)
    found = report.to_json()
    violated = {p["name"]: p["trace_length"] for p in found["properties"] if p["verdict"] == "violated"}
    assert violated == pin.expected.get("violated", {})
    for name in ("generated", "distinct", "depth", "verdict"):
        assert found[name] == pin.expected.get(name, found[name])


def test_its_story_is_the_one_of_the_page() -> None:
    """The first leader still serves when the lease goes to the second."""
    [trace] = run({}).traces
    told = [step.action for step in trace.steps]
    assert told == ["init", "grant", "start_serving", "expire", "grant", "start_serving"]
    assert [step.parameters.get("broker") for step in trace.steps[1:3]] == ["broker0", "broker0"]
    assert [step.parameters.get("broker") for step in trace.steps[4:]] == ["broker1", "broker1"]
