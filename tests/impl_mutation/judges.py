"""Judges of a mutant: the tests of the implementation, and each model that it conforms to.

A judge first does its work on the implementation as it is, which shows what of it the judge runs and how long that
takes. From then on it is asked in forked processes, which hold a mutant.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Collection
from types import CodeType, FrameType
from typing import Any, Protocol

import pytest
from _pytest.runner import runtestprotocol

from checker.conform.check import ConformOptions, Report, conform
from checker.verdicts import DIVERGES
from impl.adapters.kraft import SYSTEM
from tests.conform.test_kraft_conforms import Pin

Lines = set[tuple[str, int]]
"""Lines of source: file, number."""


class Tracer:
    """Finds the lines of some files that are run. To look for long costs too much: of a function that is called often
    all lines count as run."""

    OFTEN = 200

    def __init__(self, files: Collection[str]) -> None:
        self.found: Lines = set()
        self._files = files
        self._calls: Counter[CodeType] = Counter()
        self._all: set[CodeType] = set()

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if code.co_filename not in self._files or code in self._all:
            return None
        self._calls[code] += 1
        if self._calls[code] < self.OFTEN:
            return self._line
        self._all.add(code)
        self.found |= {(code.co_filename, line) for _, _, line in code.co_lines() if line is not None}
        return None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        self.found.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line

    def __enter__(self) -> Tracer:
        sys.settrace(self._call)
        return self

    def __exit__(self, *raised: object) -> None:
        sys.settrace(None)


class Judge(Protocol):
    name: str
    seconds: float

    def prepare(self, files: Collection[str]) -> None:
        """Work on the implementation as it is. Raises RuntimeError where it objects to that."""

    def runs(self, file: str, lines: range | None) -> bool:
        """Some of these lines."""

    def objection(self, file: str, lines: range | None, last: str | None) -> str | None:
        """The objection to the implementation as it is now, with the mutant in it; None if there is none.

        last: what it had against it when it was asked the last time, of which it is likely still.
        """


class Tests:
    """Tests that a session of pytest has collected; once prepared, the quick ones are first."""

    def __init__(self, name: str, items: list[pytest.Item]) -> None:
        self.name = name
        self.items = {item.nodeid: item for item in items}
        self.lines: dict[str, Lines] = {name: set() for name in self.items}
        self.seconds = 0.0

    def prepare(self, files: Collection[str]) -> None:
        took_s = {}
        for name in self.items:
            started = time.process_time()
            with Tracer(files) as tracer:
                failure = self._failure(name)
            if failure:
                raise RuntimeError(f"{name} fails as it is: {failure}")
            self.lines[name] = tracer.found
            took_s[name] = time.process_time() - started
        self.items = {name: self.items[name] for name in sorted(took_s, key=took_s.__getitem__)}
        self.seconds = sum(took_s.values())

    def _failure(self, name: str) -> str:
        """The failure report of a test; empty if it passes."""
        item = self.items[name]
        reports = runtestprotocol(item, log=False, nextitem=item.session)  # type: ignore[arg-type]  # what is the session's stays
        return next((report.longreprtext for report in reports if report.failed), "")

    def runs(self, file: str, lines: range | None) -> bool:
        return any(self._meets(name, file, lines) for name in self.items)

    def _meets(self, name: str, file: str, lines: range | None) -> bool:
        return lines is None or any((file, line) in self.lines[name] for line in lines)

    def objection(self, file: str, lines: range | None, last: str | None) -> str | None:
        names = [last] * (last in self.items) + [name for name in self.items if self._meets(name, file, lines)]
        return next((name for name in names if name is not None and self._failure(name)), None)


class Seeds:
    """Runs that go by a seed each. breaks: what a run breaks, if anything."""

    def __init__(self, name: str, seeds: range, breaks: Callable[[int], str | None]) -> None:
        self.name, self.seeds, self.breaks = name, seeds, breaks
        self.lines: Lines = set()
        self.seconds = 0.0

    def prepare(self, files: Collection[str]) -> None:
        started = time.process_time()
        with Tracer(files) as tracer:
            for seed in self.seeds:
                if (broken := self.breaks(seed)) is not None:
                    raise RuntimeError(f"seed {seed} of {self.name} breaks something as it is: {broken}")
        self.lines = tracer.found
        self.seconds = time.process_time() - started

    def runs(self, file: str, lines: range | None) -> bool:
        return lines is None or any((file, line) in self.lines for line in lines)

    def objection(self, file: str, lines: range | None, last: str | None) -> str | None:
        likely = last.partition(":")[0] if last is not None else ""
        first = [int(likely)] if likely.isdigit() else []
        for seed in (*first, *self.seeds):
            if (broken := self.breaks(seed)) is not None:
                return f"{seed}: {broken}"
        return None


class Model:
    """A model of the spec that the implementation is driven through whole."""

    def __init__(self, pin: Pin) -> None:
        self.pin = pin
        self.name = str(pin)
        self.lines: Lines = set()
        self.seconds = 0.0

    def prepare(self, files: Collection[str]) -> None:
        started = time.process_time()
        with Tracer(files) as tracer:
            report = self._conform()
        self.lines = tracer.found
        if report.divergence is not None or report.pairs != self.pin.pairs:
            raise RuntimeError(f"the implementation does not conform to {self.name} as it is pinned")
        self.seconds = time.process_time() - started

    def _conform(self) -> Report:
        return conform(self.pin.load(), SYSTEM, "kraft", ConformOptions(jobs=1))

    def runs(self, file: str, lines: range | None) -> bool:
        return lines is None or any((file, line) in self.lines for line in lines)

    def objection(self, file: str, lines: range | None, last: str | None) -> str | None:
        report = self._conform()
        if report.verdict == DIVERGES:
            return "diverges"
        return None if report.pairs == self.pin.pairs else f"{report.pairs} pairs"
