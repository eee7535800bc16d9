"""Running the command: in this process, and as a process of its own where signals, terminals or start-up matter."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from checker.cli.main import fencepost
from checker.verdicts import ExitCode

ROOT = Path(__file__).parent.parent.parent
COMMAND = [sys.executable, "-m", "checker"]


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models are named by paths from the root of the project; what is printed is 100 columns wide."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def run() -> Callable[..., Result]:
    """run("check", "kraft"): what the command prints (stdout, stderr) and its exit code; `typed` is its input."""

    def call(*arguments: object, typed: str | None = None) -> Result:
        result = CliRunner().invoke(fencepost, [str(a) for a in arguments], input=typed, prog_name="fencepost")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code != ExitCode.INTERNAL, result.stderr
        return result

    return call


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """start("check", "kraft"): the command as a process, its output on pipes. It ends with the test at the latest."""
    started = []

    def call(*arguments: object) -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        started.append(process)
        return process

    yield call
    for process in started:
        process.kill()
        process.communicate()
