"""A model explored and held to its pin, and to the page of the gallery that the same search gives."""

from __future__ import annotations

import time

from checker.cli.commands.gallery_pages import page as page_of
from checker.explicit.check import CheckOptions, Report, check
from checker.explicit.gallery import reproduce, reproduced
from checker.lang.loader import bugs_of, load, load_spec
from tests.conftest import ROOT, Pin, pin_of


def explored(target: str, threads: int, pin: Pin | None = None) -> Report:
    model = load(target, pin.changes if pin else {}, pin.setting if pin else None)
    return check(model, CheckOptions(threads=threads), started=time.perf_counter())


def assert_as_pinned(design: str, pin: Pin) -> None:
    """Counts, verdict and violations are those of the pin; a bug's page is that of the gallery."""
    report = explored(pin.target, 2, pin)
    found = report.to_json()
    expected = dict(pin.expected)
    violated = expected.pop("violated", {})
    assert {p.name: p.trace_length for p in report.properties if p.verdict == "violated"} == violated
    assert {name: found[name] for name in expected} == expected
    for trace in report.traces:
        assert trace.violation is not None and trace.violation.conjunct
        assert len(trace.steps) == violated[trace.violation.property]
    for bug in bugs_of(design):
        if pin == pin_of(design, bug):  # the same search gives the bug's page in the gallery
            page = ROOT / "docs" / "gallery" / f"{bug.name}.md"
            if len(violated) > 1:  # of several properties, the search shows one
                reproduction = reproduce(load_spec(design), bug, threads=2)
            else:
                model = load(pin.target, pin.changes).with_properties([bug.violates])
                reproduction = reproduced(bug, model, report)
            assert page_of(reproduction) == page.read_text(encoding="utf-8"), "run `make docs`"
