"""Bad input: one message that names what, where and how to fix it; exit code 2; never a stack trace."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]
LEASE = "docs/tutorial/lease.py"
PHILOSOPHERS = "tests/models/philosophers.py"


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        (["check", "kraf"], ["there is no design kraf", "did you mean kraft?"]),
        (["check", "kraft/isrr"], ["kraft has no model isrr", "did you mean isr or isr_spurious?"]),
        (["check", "docs/tutorial/lese.py"], ["there is no file", "did you mean docs/tutorial/lease.py"]),
        (["check", "spec.nothing"], ["there is no module spec.nothing", "name a module, or the path of a file"]),
        (["check", "checker.cli.main"], ["checker.cli.main holds no model", "a spec needs one @init"]),
        (["check", LEASE, "--set", "brker_stops_first=true"], ["no constant brker_", "did you mean broker_"]),
        (["check", LEASE, "--set", "broker_stops_first"], ["'broker_stops_first': write NAME=VALUE"]),
        (["check", LEASE, "--set", "broker_stops_first=1"], ["is a switch, and '1' is neither true nor false"]),
        (["check", PHILOSOPHERS, "--set", "seats=many"], ["seats is a number, and 'many' is none", "--set seats=3"]),
        (["check", PHILOSOPHERS, "--set", "seats=0"], ["the range 0..-1 is empty"]),
        (["check", PHILOSOPHERS, "--setting", "repared"], ["no setting repared", "did you mean repaired?"]),
        (["check", LEASE, "--property", "one_leader_serve"], ["no property one_leader_serve", "did you mean one_le"]),
        (["check", LEASE, "--threads", "0"], ["'--threads'", "0 is not in the range"]),
        (["check", LEASE, "--threads", "65"], ["'--threads'", "65 is not in the range"]),
        (["check", LEASE, "--max-states", "0"], ["'--max-states'"]),
        (["check", LEASE, "--time-limit-s", "nan"], ["'--time-limit-s'", "nan is not an amount"]),
        (["check", LEASE, "--memory-gib", "inf"], ["'--memory-gib'", "inf is not an amount"]),
        (["check", LEASE, "--memory-gib", "0"], ["'--memory-gib'"]),
        (["check", LEASE, "--trace-out", "x.txt"], ["'--trace-out'", "a trace ends in .itf.json, .json or .ndjson"]),
        (["check", LEASE, "--trace-out", "gone/x.ndjson"], ["'--trace-out'", "there is no folder"]),
        (["simulate", LEASE, "--trace-out", "gone/x.ndjson"], ["'--trace-out'", "there is no folder"]),
        (["reach", LEASE, "True", "--trace-out", "x"], ["'--trace-out'", "a trace ends in"]),
        (["check", LEASE, "--junit", "gone/x.xml"], ["'--junit'", "there is no folder"]),
        (["check", LEASE, "--junit", "docs"], ["'--junit'", "docs is a folder: name a file"]),
        (["check", LEASE, "--resume", "gone"], ["no checkpoint to resume from: gone/manifest.json"]),
        (["check", LEASE, "--checkpoint", "pyproject.toml/x"], ["pyproject.toml/x: Not a directory"]),
        (["simulate", LEASE, "--seed", "-1"], ["'--seed'"]),
        (["simulate", LEASE, "--walks", "0"], ["'--walks'"]),
        (["list", "kraft/isrr"], ["did you mean isr or isr_spurious?"]),
        (["check"], ["Missing argument 'MODEL'"]),
        (["chek"], ["No such command 'chek'"]),
        (["check", LEASE, "--al-violations"], ["No such option '--al-violations'", "--all-violations"]),
        (["trace", "show", "x.ndjson", "--width", "10"], ["'--width'"]),
    ],
)
def test_a_message_names_what_and_how_to_fix_it(run: Run, arguments: list[str], messages: list[str]) -> None:
    found = run(*arguments)
    assert found.exit_code == 2
    assert found.stdout == ""
    for message in messages:
        assert message in found.stderr


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("x = (", ["spec.py:1", "x = (", "error: not Python: '(' was never closed"]),
        ("import nowhere", ["spec.py:1", "import nowhere", "No module named 'nowhere'"]),
        ("1 / 0", ["spec.py:1", "ZeroDivisionError"]),
        (
            "from checker.lang import constants\n@constants\nclass K:\n    a: int",
            ["spec.py:4", "the constant a has no default", "such as a: int = 1"],
        ),
        (
            "from checker.lang import constants\n@constants\nclass K:\n    a: int = 'x'",
            ["spec.py:4", "the constant a is declared int, and its default 'x' is a str"],
        ),
        (
            "from checker.lang import constants\n@constants\nclass K:\n    a: list = [1]",
            ["spec.py:4", "the constant a is a list", "a constant is an int, a bool, a str"],
        ),
        ("raise SystemExit(0)", ["spec.py:1", "the spec cannot be loaded: SystemExit: 0"]),
        ("", ["spec.py holds no model", "a spec needs one @init and some @action"]),
    ],
)
def test_a_file_that_is_no_spec_is_shown_with_its_line(
    run: Run, tmp_path: Path, text: str, messages: list[str]
) -> None:
    (tmp_path / "spec.py").write_text(text)
    found = run("check", tmp_path / "spec.py")
    assert found.exit_code == 2
    for message in messages:
        assert message in found.stderr


def test_an_error_in_the_spec_is_shown_with_a_caret(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "lease.py"
    file.write_text(Path(LEASE).read_text().replace("require(s.lease == broker)", "require(s.lese == broker)"))
    found = run("check", file)
    assert found.exit_code == 2
    shown = f"{file}:36\n    require(s.lese == broker)\n            ^^^^^^\nerror: Cluster has no field lese\nhint: "
    assert found.stderr.startswith(shown)


def test_a_model_has_a_name_that_the_command_can_name(run: Run, tmp_path: Path) -> None:
    (tmp_path / "spec.py").write_text(
        Path(LEASE).read_text()
        + """
from checker.lang import Model
MODELS = [Model("a/b", "Slashed.", start, [grant], [])]
"""
    )
    found = run("check", tmp_path / "spec.py")
    assert found.exit_code == 2
    assert "error: a model cannot be called 'a/b'\nhint: use letters, digits" in found.stderr


def test_a_checkpoint_is_not_written_over(run: Run, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    assert run("check", LEASE, "--checkpoint", saved).exit_code == 1
    again = run("check", LEASE, "--checkpoint", saved)
    assert again.exit_code == 2
    assert "already holds a checkpoint: resume from it, or name another directory" in again.stderr
    other = run("check", LEASE, "--set", "broker_stops_first=true", "--resume", saved)
    assert other.exit_code == 2
    assert "is of another model, other constants, or an older spec" in other.stderr
    (saved / "manifest.json").write_text("{}")
    assert "manifest.json is damaged" in run("check", LEASE, "--resume", saved).stderr


def test_a_file_that_cannot_be_written_is_named(run: Run) -> None:
    found = run("check", LEASE, "--junit", "/proc/report.xml")
    assert found.exit_code == 2
    assert found.stderr == "error: /proc/report.xml: No such file or directory\n"
    assert found.stdout.endswith("violated: one_leader_serves\n"), "what was found is not lost"


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-c", "from checker.cli.main import main; main()", "trace", "--help"]
    ended = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (141, "")


def test_help_and_version(run: Run) -> None:
    words = " ".join(run("-h").stdout.split())
    assert "Exit codes: 0 holds, 1 violated, 2 usage or spec error, 3 incomplete, 4 vacuous, 5 internal error" in words
    for command in (["check"], ["reach"], ["simulate"], ["list"], ["trace"], ["trace", "show"], ["trace", "replay"]):
        found = run(*command, "--help")
        assert (found.exit_code, found.stdout[:16]) == (0, "Usage: fencepost")
    assert run("--version").stdout.startswith("fencepost, version ")
