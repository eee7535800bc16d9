"""JUnit XML of a check, for CI."""

from __future__ import annotations

import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checker.cli.commands.check_text import property_verdict
from checker.redaction import redacted
from checker.verdicts import INCOMPLETE, NOT_REACHED, VACUOUS, VIOLATED
from traces.files import write_whole
from traces.trace import printable
from traces.values import shortened

if TYPE_CHECKING:
    from checker.explicit.check import Report


def write_junit(suites: Sequence[ET.Element], path: Path) -> None:
    """Write a JUnit XML file of one suite or several, whole or not at all."""
    root = suites[0]
    if len(suites) > 1:
        root = ET.Element("testsuites")
        root.extend(suites)
    write_whole(path, ET.tostring(root, encoding="utf-8", xml_declaration=True))


def suite_of(report: Report, name: str) -> ET.Element:
    """The suite of a finished check: a test case for each property, and one for the search."""
    suite = ET.Element("testsuite", name=f"fencepost {name}")
    seconds = f"{report.seconds['search']:.3f}"
    for found in report.properties:
        case = ET.SubElement(suite, "testcase", classname=name, name=found.name, time="0")
        if found.verdict in (VIOLATED, NOT_REACHED):
            ET.SubElement(case, "failure", message=property_verdict(found)).text = _plain(found.trace)
        elif found.verdict == INCOMPLETE:
            ET.SubElement(case, "error", message=f"not decided: the search is {report.verdict}: {report.reason}")
    case = ET.SubElement(suite, "testcase", classname=name, name="search", time=seconds)
    if report.verdict == VACUOUS:
        ET.SubElement(case, "failure", message=f"vacuous: {report.reason}")
    elif report.verdict == INCOMPLETE:
        ET.SubElement(case, "error", message=f"incomplete: {report.reason}")
    numbers = {"tests": "testcase", "failures": "testcase/failure", "errors": "testcase/error"}
    for number, cases in numbers.items():
        suite.set(number, str(len(suite.findall(cases))))
    suite.set("time", seconds)
    suite.set("timestamp", time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()))
    return suite


def suite_without_verdict(name: str, reason: str) -> ET.Element:
    """The suite of a check that ended before it had a verdict."""
    suite = ET.Element("testsuite", name=f"fencepost {name}", tests="1", failures="0", errors="1")
    case = ET.SubElement(suite, "testcase", classname=name, name="search", time="0")
    ET.SubElement(case, "error", message=shortened(printable(redacted(f"no verdict: {reason}")), 1000))
    return suite


@contextmanager
def junit_of_failures(path: Path | None, model: str) -> Iterator[None]:
    """Write to `path` that a check ended without a verdict, if it does; never leave what an earlier check found."""
    if path is not None and path.is_file():
        path.unlink()
    try:
        yield
    except BaseException as error:
        if path is not None:
            suite = suite_without_verdict(model, f"{type(error).__name__}: {error}")
            with suppress(OSError):  # the reason why the check ended is reported
                write_junit([suite], path)
        raise


def _plain(trace: Any) -> str:
    from traces.render import render

    return render(trace, 120, False) if trace is not None else ""
