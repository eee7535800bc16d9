"""Limits, Ctrl-C and SIGKILL: a search that is stopped says so, and can go on where it was."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Run = Callable[..., Result]
Start = Callable[..., subprocess.Popen[str]]
ENDLESS = "tests/cli/five_counters.py"
ENOUGH = ("--set", "top=15")  # a second or so with checkpoints: 16^5 states


def counts(report: dict[str, Any]) -> dict[str, Any]:
    """The fields of a report in which two searches of one model must agree."""
    left_out = {"seconds", "peak_memory_bytes", "threads"}
    return {name: value for name, value in report.items() if name not in left_out}


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    """By hand: n^5 states, each left by the counters that have room; levels are sums from 0 to 75."""
    return {"distinct": 16**5, "generated": 1 + 5 * 15 * 16**4, "depth": 76, "verdict": "holds"}


@pytest.mark.parametrize(
    ("limit", "value", "reason"),
    [
        ("--max-states", "1000", r"limit of 1000 states"),
        ("--max-depth", "7", r"depth limit of 7"),
        ("--time-limit-s", "0.2", r"time limit of 0.2 s"),
        ("--memory-gib", "0.02", r"memory limit: [0-9.]+ GiB needed, 0.02 GiB allowed"),
    ],
)
def test_each_limit_ends_in_incomplete(run: Run, limit: str, value: str, reason: str) -> None:
    run("check", ENDLESS, "--max-depth", "1", "--json")  # the limits are for compiling, too, which is done now
    found = run("check", ENDLESS, limit, value, "--json")
    report = json.loads(found.stdout)
    assert (found.exit_code, report["verdict"]) == (3, "incomplete")
    assert re.fullmatch(reason, report["reason"])
    assert report["distinct"] > 1
    assert [p["verdict"] for p in report["properties"]] == ["incomplete"]


def test_the_depth_limit_counts_levels(run: Run) -> None:
    report = json.loads(run("check", ENDLESS, "--max-depth", "3", "--json").stdout)
    assert (report["depth"], report["distinct"]) == (3, 1 + 5 + 15)


def test_a_limit_that_is_not_reached_changes_nothing(run: Run) -> None:
    limits = ("--max-states", "10000", "--max-depth", "100", "--time-limit-s", "100", "--memory-gib", "1")
    found = run("check", ENDLESS, "--set", "top=2", *limits)
    assert (found.exit_code, found.stdout.splitlines()[-1]) == (0, "holds")


def test_ctrl_c_ends_a_search_with_its_counts(start: Start) -> None:
    process = start("check", ENDLESS)
    line = process.stderr.readline()  # type: ignore[union-attr]  # the first progress: the search runs
    assert line.startswith("level ")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 3
    assert out.splitlines()[-1] == "incomplete: interrupted"
    assert re.search(r"^[\d,]+ generated, [\d,]+ distinct, depth \d+", out, re.MULTILINE)
    assert "Traceback" not in out + err


def test_so_it_does_in_json(start: Start) -> None:
    process = start("check", ENDLESS, "--json", "--threads", "1")
    assert process.stderr is not None
    process.stderr.readline()
    process.send_signal(signal.SIGINT)
    report = json.loads(process.communicate(timeout=20)[0])
    assert (report["verdict"], report["reason"]) == ("incomplete", "interrupted")


def test_ctrl_c_ends_the_search_for_lassos(start: Start) -> None:
    process = start("check", "tests/models/liveness_clocks.py/strong", "--set", "clocks=6", "--set", "hours=12")
    assert process.stderr is not None
    while not process.stderr.readline().startswith("liveness, "):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 3
    assert out.splitlines()[-1] == "incomplete: interrupted"
    assert "the_great_bell_rings  eventually  incomplete" in out and "2,985,985 distinct" in out
    assert "Traceback" not in out + err


def wait_for_level(directory: Path, size: int) -> None:
    """Until the checkpoint has saved states of at least `size` bytes."""
    deadline = time.monotonic() + 20
    while sum(p.stat().st_size for p in directory.glob("states-*")) < size:
        assert time.monotonic() < deadline, "the search saves nothing"
        time.sleep(0.01)


@pytest.mark.parametrize(("number", "threads"), [(signal.SIGINT, 1), (signal.SIGKILL, 2)])
def test_a_stopped_search_goes_on_to_the_same_end(
    run: Run, start: Start, tmp_path: Path, expected: dict[str, Any], number: signal.Signals, threads: int
) -> None:
    saved = tmp_path / "saved"
    process = start("check", ENDLESS, *ENOUGH, "--checkpoint", saved, "--threads", threads)
    wait_for_level(saved, 1_000_000)
    process.send_signal(number)
    out, _ = process.communicate(timeout=20)
    assert process.returncode == (3 if number == signal.SIGINT else -signal.SIGKILL)
    if number == signal.SIGINT:
        assert f"to continue from the last whole level: --resume {saved}" in out
    resumed = json.loads(run("check", ENDLESS, *ENOUGH, "--resume", saved, "--threads", 3 - threads, "--json").stdout)
    assert {name: resumed[name] for name in expected} == expected
    again = json.loads(run("check", ENDLESS, *ENOUGH, "--resume", saved, "--json").stdout)
    assert counts(again) == counts(resumed), "a finished search can be resumed too"


@pytest.mark.parametrize(
    "model",
    [
        (ENDLESS, "--set", "top=3"),
        ("tests/models/bounds.py/constrained", "--set", "limit=9"),
        ("tests/models/bounds.py/cut", "--set", "limit=9"),
    ],
)
def test_a_limit_can_be_lifted_by_resuming(run: Run, tmp_path: Path, model: tuple[str, ...]) -> None:
    stopped = run("check", *model, "--max-depth", "5", "--checkpoint", tmp_path / "saved")
    assert (stopped.exit_code, f"--resume {tmp_path / 'saved'}" in stopped.stdout) == (3, True)
    resumed = json.loads(run("check", *model, "--resume", tmp_path / "saved", "--json").stdout)
    assert counts(resumed) == counts(json.loads(run("check", *model, "--json").stdout))


def test_a_resumed_search_finds_the_same_trace(run: Run, tmp_path: Path) -> None:
    lease, saved = "docs/tutorial/lease.py", tmp_path / "saved"
    run("check", lease, "--max-depth", "3", "--checkpoint", saved)
    for file, options in (("whole.ndjson", []), ("resumed.ndjson", ["--resume", saved])):
        assert run("check", lease, "--trace-out", tmp_path / file, *options).exit_code == 1
    assert (tmp_path / "whole.ndjson").read_text() == (tmp_path / "resumed.ndjson").read_text()
