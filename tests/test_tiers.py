"""The quick tier leaves out what is marked, draws the same sample from the same seed; all can be resumed."""

from __future__ import annotations

import datetime
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytest_plugins = ["pytester"]

SUITE = """
import pytest

@pytest.mark.sample(3)
@pytest.mark.parametrize("n", range(20))
def test_family(n): pass

@pytest.mark.sample(30)
@pytest.mark.parametrize("n", range(4))
def test_small_family(n): pass

@pytest.mark.sample(2)
@pytest.mark.parametrize("n", [*range(3), pytest.param(3, marks=pytest.mark.long("it takes minutes"))])
def test_family_with_a_long_one(n): pass

@pytest.mark.sample(1, verify=2)
@pytest.mark.parametrize("n", range(5))
def test_family_of_three_tiers(n): pass

@pytest.mark.long("it takes minutes")
@pytest.mark.sample(1, verify=2)
@pytest.mark.parametrize("n", range(3))
def test_long_family(n): pass

@pytest.mark.long("it takes minutes")
def test_long(): pass

@pytest.mark.large("it takes an hour")
def test_large(): pass

def test_quick(): pass
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.syspath_prepend(ROOT)
    for name in ("FENCEPOST_TEST_SEED", "FENCEPOST_TESTS_PASSED"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # a suite that is changed within a second is another
    pytester.makepyfile(test_suite=SUITE)
    return pytester


def ran(suite: pytest.Pytester, *options: str) -> list[str]:
    """The tests that passed, none of which failed."""
    result = suite.inline_run("-p", "tests.tiers", "-p", "no:cacheprovider", *options)
    passed, _, failed = result.listoutcomes()
    assert not failed
    return sorted(report.nodeid.partition("::")[2] for report in passed)


def test_everything_runs_unless_asked_otherwise(suite: pytest.Pytester) -> None:
    assert len(ran(suite)) == len(ran(suite, "--tier", "all")) == 20 + 4 + 4 + 5 + 3 + 1 + 1 + 1


def test_what_is_large_is_a_tier_of_its_own(suite: pytest.Pytester) -> None:
    large = ran(suite, "--tier", "large", "--seed", "a")
    assert set(ran(suite)) - set(ran(suite, "--tier", "verify", "--seed", "a")) == set(large)
    names = ("test_large", "test_family_of_three_tiers[", "test_long_family[")
    assert [sum(test.startswith(name) for test in large) for name in names] == [1, 3, 1]
    assert len(large) == 5


def test_what_the_quick_tier_draws_is_among_what_verify_draws(suite: pytest.Pytester) -> None:
    for seed in "abc":
        assert set(ran(suite, "--tier", "quick", "--seed", seed)) < set(ran(suite, "--tier", "verify", "--seed", seed))


def test_the_quick_tier_is_a_sample_that_a_seed_repeats(suite: pytest.Pytester) -> None:
    first = ran(suite, "--tier", "quick", "--seed", "a")
    assert first == ran(suite, "--tier", "quick", "--seed", "a")
    counts = [sum(test.startswith(f"{name}[") for test in first) for name in
              ("test_family", "test_small_family", "test_family_with_a_long_one")]  # fmt: skip
    assert counts == [3, 4, 2]
    assert (
        "test_quick" in first
        and not {"test_long", "test_large"} & set(first)
        and "test_family_with_a_long_one[3]" not in first
    )
    assert len({tuple(ran(suite, "--tier", "quick", "--seed", seed)) for seed in "abcd"}) > 1


def test_the_seed_is_the_day_and_printed(suite: pytest.Pytester) -> None:
    days = [datetime.datetime.now(tz=datetime.UTC).date().isoformat()]
    result = suite.runpytest_inprocess("-p", "tests.tiers", "--tier", "quick")
    days.append(datetime.datetime.now(tz=datetime.UTC).date().isoformat())  # it may be midnight
    header = [line for line in result.outlines if line.startswith("quick tier:")]
    assert header in [[f"quick tier: samples drawn by seed {day} (again: --tier=quick --seed={day})"] for day in days]


def test_what_has_passed_is_not_run_again(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = suite.path / "build" / "passed.txt"
    suite.makepyfile(test_suite="def test_one(): pass\ndef test_two(): assert False\n")
    resume = ("-p", "tests.tiers", "--journal", str(journal))
    suite.runpytest_inprocess(*resume).assert_outcomes(passed=1, failed=1)
    suite.makepyfile(test_suite="def test_one(): assert False\ndef test_two(): pass\n")
    suite.runpytest_inprocess(*resume).assert_outcomes(passed=1, deselected=1)
    nothing_left = suite.runpytest_inprocess(*resume)
    nothing_left.assert_outcomes(deselected=2)
    assert nothing_left.ret == pytest.ExitCode.OK
    monkeypatch.delenv("FENCEPOST_TESTS_PASSED")
    suite.runpytest_inprocess(*resume, "--tier=quick").assert_outcomes(passed=1, failed=1)
    monkeypatch.setattr("tests.tiers.sources_digest", lambda: "another")
    suite.runpytest_inprocess(*resume).assert_outcomes(passed=1, failed=1)


def test_what_passed_in_the_quick_tier_is_left_out_of_the_rest(suite: pytest.Pytester) -> None:
    suite.makepyfile(test_suite="import pytest\ndef test_one(): pass\n@pytest.mark.long('x')\ndef test_two(): pass\n")
    journal = ("-p", "tests.tiers", "--journal", str(suite.path / "passed.txt"))
    suite.runpytest_inprocess(*journal, "--tier=quick").assert_outcomes(passed=1, deselected=1)
    suite.runpytest_inprocess(*journal).assert_outcomes(passed=1, deselected=1)


@pytest.mark.parametrize("target", ["test", "verify", "large"])
def test_the_options_of_the_makefile_are_known_whatever_files_there_are(target: str, tmp_path: Path) -> None:
    for name in ("passed", "large"):
        (tmp_path / f"{name}.txt").touch()
    recipe = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    [command] = [line for line in recipe.splitlines() if "bin/pytest" in line]
    options = shlex.split(command.replace("-n auto", "-n 0").replace("--journal=build/", f"--journal={tmp_path}/"))[1:]
    suite = [sys.executable, "-m", "pytest", *options, "--collect-only", "--ignore-glob=tests/*"]
    ran = subprocess.run(suite, cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == pytest.ExitCode.NO_TESTS_COLLECTED, ran.stdout + ran.stderr


def test_the_families_that_took_most_cpu_are_printed(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        test_suite="""
        import pytest, time
        @pytest.mark.xdist_group("busy")
        @pytest.mark.parametrize("n", range(2))
        def test_busy(n):
            end = time.process_time() + 0.1
            while time.process_time() < end: pass
        def test_idle(): pass
        def test_idle_too(): time.sleep(0.05)
    """
    )
    for options in ((), ("-n", "2", "--dist", "loadgroup")):
        lines = [line for line in suite.runpytest("-p", "tests.tiers", "--cpu", "1", *options).outlines if line]
        [place] = [n for n, line in enumerate(lines) if "s of CPU in all, most of it in" in line]
        seconds, unit, cases, _, family = lines[place + 1].split()
        assert (float(seconds) >= 0.2, unit, cases, family) == (True, "s", "2", "test_suite.py::test_busy")
        assert "test_idle" not in lines[place + 2]


def test_a_changed_source_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from tests import tiers

    monkeypatch.setattr(tiers, "ROOT", tmp_path)
    for name in tiers._SOURCES:
        if "." in name or name == "Makefile":
            (tmp_path / name).write_text("")
        else:
            (tmp_path / name).mkdir()
    before = tiers.sources_digest()
    (tmp_path / "spec" / "__pycache__").mkdir()
    (tmp_path / "spec" / "__pycache__" / "a.pyc").write_text("compiled")
    assert tiers.sources_digest() == before
    (tmp_path / "spec" / "a.py").write_text("")
    assert tiers.sources_digest() != before


def test_a_group_stays_in_one_process(suite: pytest.Pytester) -> None:
    """As pytest-xdist promises, and some versions of pytest keep it from."""
    suite.makepyfile(
        test_suite="""
        import os, pathlib, pytest
        @pytest.mark.xdist_group("together")
        @pytest.mark.parametrize("n", range(6))
        def test_it(n):
            with pathlib.Path("workers").open("a") as file:
                file.write(os.environ["PYTEST_XDIST_WORKER"] + "\\n")
    """
    )
    suite.runpytest_subprocess("-n", "2", "--dist", "loadgroup").assert_outcomes(passed=6)
    assert len(set((suite.path / "workers").read_text().split())) == 1
