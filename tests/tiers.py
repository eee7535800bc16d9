"""Tiers of the suite: a quick one that people wait for, one for CI, and what takes longer; all can be resumed.

`--tier quick` leaves out what is marked `long` or `large`, and of a family of tests marked `sample(n)` runs n. The
sample is drawn by a seed, which is the day's date unless `--seed` gives another, and is printed: a failure of
yesterday's sample can be run again. `--tier verify` leaves out `large`, and of a family marked `sample(n, verify=m)`
all but m, drawn in the same way; `--tier large` is the rest. Without `--tier` everything that was asked for runs.

`--journal FILE` keeps in FILE which tests have passed, and leaves those out as long as no source has changed: a run
that was stopped goes on, and all tests after the quick tier are the rest of them. The quick tier leaves none out.

`--cpu N` prints the N families of tests that took most CPU: what to look at when a tier gets too long. Seconds of CPU
count the processes that a test waited for, and vary less with what else a machine does than those of a clock.

Join an option and its value with `=`: before pytest knows these options, it would take a separate value for the path
of a test, and if there is such a file, look for this plugin there.
"""

from __future__ import annotations

import datetime
import gc
import hashlib
import os
import random
import shutil
from collections import Counter, defaultdict
from collections.abc import Generator
from heapq import nlargest
from operator import itemgetter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
_SEED, _PASSED = "FENCEPOST_TEST_SEED", "FENCEPOST_TESTS_PASSED"  # worker processes inherit them
_SOURCES = ("checker", "docs", "impl", "spec", "tests", "traces", "pyproject.toml", "README.md", "Makefile")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tiers")
    group.addoption(
        "--tier",
        choices=("quick", "verify", "large", "all"),
        default="all",
        help=("quick: no long tests, samples of families; verify: all but the large ones; large: the rest"),
    )
    group.addoption("--seed", help="the seed of samples (default: today's date)")
    group.addoption("--journal", type=Path, metavar="FILE", help="keep what passed, and leave it out the next time")
    group.addoption("--cpu", type=int, default=0, metavar="N", help="print the N families that took most CPU")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long(reason): not part of the quick tier")
    config.addinivalue_line("markers", "large(reason): part of the large tier only")
    config.addinivalue_line("markers", "sample(n, verify=m): of its cases the quick tier runs n, and verify m")
    if hasattr(config, "workerinput"):
        return
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    os.environ[_SEED] = config.getoption("--seed") or today
    config.pluginmanager.register(_Spent(config.getoption("--cpu")), "spent")
    file = config.getoption("--journal")
    if file is not None:
        resumes = config.getoption("--tier") != "quick"
        config.pluginmanager.register(_Journal(file, resumes=resumes), "journal")


def pytest_report_header(config: pytest.Config) -> list[str]:
    tier = config.getoption("--tier")
    if tier == "all":
        return []
    return [f"{tier} tier: samples drawn by seed {os.environ[_SEED]} (again: --tier={tier} --seed={os.environ[_SEED]})"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = _already_passed(items) | _of_other_tiers(items, config.getoption("--tier"))
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left_out])
        items[:] = [item for item in items if item.nodeid not in left_out]


def _already_passed(items: list[pytest.Item]) -> set[str]:
    passed = os.environ.get(_PASSED)
    known = set(Path(passed).read_text(encoding="utf-8").splitlines()) if passed else set()
    return known & {item.nodeid for item in items}


def _of_other_tiers(items: list[pytest.Item], tier: str) -> set[str]:
    if tier == "all":
        return set()
    large = {item.nodeid for item in items if item.get_closest_marker("large")}
    large |= _not_drawn([item for item in items if item.nodeid not in large], "verify")
    if tier == "large":
        return {item.nodeid for item in items} - large
    if tier == "verify":
        return large
    left_out = large | {item.nodeid for item in items if item.get_closest_marker("long")}
    return left_out | _not_drawn([item for item in items if item.nodeid not in left_out], tier)


def _not_drawn(items: list[pytest.Item], tier: str) -> set[str]:
    """Of each sampled family all cases but the sample of a tier."""
    families: dict[tuple[str, int], list[str]] = defaultdict(list)
    for item in items:
        sample = item.get_closest_marker("sample")
        size = None if sample is None else sample.args[0] if tier == "quick" else sample.kwargs.get("verify")
        if size is not None:
            families[item.nodeid.partition("[")[0], size].append(item.nodeid)
    left_out = set[str]()
    for (name, size), cases in families.items():
        kept = random.Random(f"{os.environ[_SEED]} {name}").sample(sorted(cases), min(size, len(cases)))
        left_out |= set(cases) - set(kept)
    return left_out


def pytest_collection_finish() -> None:
    """Look for garbage less often, and not in what was imported and collected: that took 12 % of all CPU time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


_STARTED = pytest.StashKey[float]()
_CPU = "cpu_s"


def _cpu_s() -> float:
    """Seconds of CPU of this process and of those it has waited for."""
    return sum(os.times()[:4])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    item.stash[_STARTED] = _cpu_s()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "teardown" and _STARTED in item.stash:
        report.user_properties.append((_CPU, _cpu_s() - item.stash[_STARTED]))  # also reaches the process of the report
    return report


class _Spent:
    """CPU time of the tests of each function."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._cases: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, seconds in report.user_properties:
            if name == _CPU and isinstance(seconds, float):
                family = report.nodeid.partition("[")[0].partition("@")[0]
                self._seconds[family] += seconds
                self._cases[family] += 1

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self._most:
            return
        terminalreporter.section(f"{sum(self._seconds.values()):.0f} s of CPU in all, most of it in")
        for family, seconds in nlargest(self._most, self._seconds.items(), key=itemgetter(1)):
            terminalreporter.write_line(f"{seconds:7.1f} s {self._cases[family]:5} × {family}")


class _Journal:
    """Record of the passed tests, in a file: a line with a digest of all sources, then a line for each test."""

    def __init__(self, file: Path, *, resumes: bool) -> None:
        digest = sources_digest()
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text(encoding="utf-8").partition("\n")[0] != digest:
            file.write_text(f"{digest}\n", encoding="utf-8")
        self._file = file
        if not resumes:
            return
        snapshot = file.with_suffix(".before")  # what all workers read: the file itself grows
        shutil.copyfile(file, snapshot)
        os.environ[_PASSED] = str(snapshot.resolve())

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(f"{report.nodeid}\n")

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Nothing is left to run: that is no failure."""
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and len(self._file.read_text().splitlines()) > 1:
            session.exitstatus = pytest.ExitCode.OK


def sources_digest() -> str:
    """A digest of the names and contents of all files that a test may depend on."""
    digest = hashlib.sha256()
    for name in _SOURCES:
        path = ROOT / name
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(f"{file.relative_to(ROOT)}\0".encode() + file.read_bytes())
    return digest.hexdigest()
