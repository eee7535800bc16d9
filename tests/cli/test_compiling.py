"""Compiling a model takes as long as it takes: limits, Ctrl-C and progress hold for it as for the search."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from checker.explicit import check
from checker.explicit.kernel.kernel import Kernel

Run = Callable[..., Result]
Start = Callable[..., subprocess.Popen[str]]

SPEC = '''
from typing import Annotated
from checker.lang import Range, action, constants, init, invariant, require, state

@constants
class Size:
    n: int = 10
    "Values of each parameter."

Value = Annotated[int, Range(1, lambda: Size.n)]

@state
class Sum:
    total: Annotated[int, Range(0, lambda: 3 * Size.n)]

@init
def start() -> Sum:
    return Sum(total=0)

@action(who="adder", source="test")
def add(s: Sum, a: Value, b: Value, c: Value) -> None:
    """Three numbers are added, once."""
    require(s.total == 0)
    s.total = a + b + c

@invariant(source="test")
def small(s: Sum) -> bool:
    """Never more than all of them."""
    return s.total <= 3 * Size.n
'''


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "sums.py"
    file.write_text(SPEC)
    return file


def test_the_time_limit(spec: Path, run: Run) -> None:
    found = run("check", spec, "--time-limit-s", "0.001")
    assert found.exit_code == 3
    assert found.stderr.startswith("incomplete: time limit of 0.001 s while compiling (")
    assert found.stderr.rstrip().endswith("of 1,000 bindings of actions)")


@pytest.mark.parametrize("command", [["check"], ["reach", "s.total == 5"], ["simulate"]])
def test_every_command_keeps_it(spec: Path, run: Run, command: list[str]) -> None:
    found = run(command[0], spec, *command[1:], "--time-limit-s", "0")
    assert (found.exit_code, "incomplete: time limit of 0 s while compiling" in found.stderr) == (3, True)


def test_as_json(spec: Path, run: Run) -> None:
    found = run("check", spec, "--time-limit-s", "0", "--json")
    report = json.loads(found.stdout)
    assert (found.exit_code, report["verdict"]) == (3, "incomplete")
    assert report["reason"] == "time limit of 0 s while compiling (0 of 1,000 bindings of actions)"


def test_the_memory_limit(spec: Path, run: Run) -> None:
    found = run("check", spec, "--memory-gib", "0.001")
    assert (found.exit_code, "memory limit of 0.001 GiB while compiling" in found.stderr) == (3, True)


def test_the_code_of_a_large_model_is_waited_for(spec: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checker.explicit.kernel.build.LONG_LINES", 0)
    found = run("check", spec, "--set", "n=3")
    assert (found.exit_code, "28 generated, 8 distinct" in found.stdout) == (0, True), found.output


def test_ctrl_c(spec: Path, start: Start) -> None:
    process = start("check", spec, "--set", "n=40")
    assert process.stderr is not None
    lines: list[str] = []
    while not (lines and lines[-1].startswith("compiling: ")):
        lines.append(process.stderr.readline())
    process.send_signal(signal.SIGINT)
    begun = time.monotonic()
    assert process.wait(timeout=60) == 3
    assert time.monotonic() - begun < 30
    assert lines[0].startswith("note: action add has 64,000 bindings of its parameters (40 of a x 40 of b x 40 of c)")
    assert "of 64,000 bindings of actions" in lines[-1]


def test_a_product_beyond_reason_is_refused_at_once(spec: Path, run: Run) -> None:
    found = run("check", spec, "--set", "n=1000")
    assert found.exit_code == 2
    product = "action add has 1,000,000,000 bindings of its parameters (1,000 of a x 1,000 of b x 1,000 of c)"
    assert f"{product}; at most 100,000 of all actions are compiled" in found.stderr and "def add" in found.stderr


def test_the_time_limit_holds_within_one_binding(spec: Path, run: Run) -> None:
    """Each helper calls another three times: all that it evaluates folds to a constant, and goes on for hours."""
    called = [f"def f{i + 1}(n: Number) -> bool:\n    return f{i}(n) and f{i}(n) and f{i}(n)\n" for i in range(14)]
    first = "Number = Annotated[int, Range(0, 3)]\n\ndef f0(n: Number) -> bool:\n    return n >= 0\n"
    text = SPEC.replace("@invariant", "\n".join([first, *called, "@invariant"]))
    spec.write_text(text.replace("s.total <= 3 * Size.n", "f14(s.total)"))
    found = run("check", spec, "--set", "n=1", "--time-limit-s", "0.5")
    assert found.exit_code == 3
    assert "time limit of 0.5 s while compiling (1 of 1 bindings" in found.stderr


def test_compiling_and_searching_have_one_time_limit(spec: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel_of = check.kernel_of

    def slow(*args: Any) -> Kernel:
        time.sleep(1)
        return kernel_of(*args)

    monkeypatch.setattr(check, "kernel_of", slow)
    found = run("check", spec, "--set", "n=2", "--time-limit-s", "0.9")
    assert (found.exit_code, "time limit of 0.9 s" in found.stdout) == (3, True), found.output


def test_the_memory_of_the_compiler_counts(spec: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checker.explicit.kernel.build.LONG_LINES", 0)
    monkeypatch.setattr("checker.explicit.kernel.build.resident_bytes", lambda process: 1 << 40)
    found = run("check", spec, "--set", "n=3", "--memory-gib", "4")
    assert (found.exit_code, "memory limit of 4 GiB while compiling (0 of" in found.stderr) == (3, True), found.output


@pytest.mark.parametrize("command", [["prove"], ["prove", "--bounded", "2"]])
def test_proving_keeps_it_too(spec: Path, run: Run, command: list[str]) -> None:
    found = run(command[0], spec, *command[1:], "--time-limit-s", "0.01")
    assert (found.exit_code, "time limit of 0.01 s while compiling" in found.stderr) == (3, True), found.output
