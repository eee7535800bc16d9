"""fencepost mutate: what it prints, its exit codes, explained survivors, and runs that end early."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

LIBRARY = "tests/mutate/library.py"
CUTTING = "tests/mutate/cutting.py"
ACTION = "becomes_late"
SURVIVORS = {
    "cutting.count: drop require(s.value < 3)": "the bound takes over",
    "cutting.count: replace s.value < 3 by s.value <= 3": "the bound takes over",
}
Run = Callable[..., Any]
Start = Callable[..., "subprocess.Popen[str]"]


def explain(path: Path, explained: dict[str, str]) -> Path:
    path.write_text("".join(f"{json.dumps(key)} = {json.dumps(why)}\n" for key, why in explained.items()))
    return path


def unexplained(run: Run) -> dict[str, str]:
    """All survivors of the counter."""
    found = json.loads(run("mutate", CUTTING, "--json", "--quiet").stdout)
    return {**dict.fromkeys(found["unexplained"], "seen and left"), **SURVIVORS}


def test_a_survivor_is_reported_and_exits_with_1(run: Run) -> None:
    found = run("mutate", LIBRARY, "--only", "drop s.desk == ", "--only", "drop s.lent += 1")
    assert found.exit_code == 1
    assert "library.py:87  library.borrow: drop s.desk == Desk.OPEN\n" in found.stdout
    assert "borrow(reader=reader0, book=book0) is new after 2 states; states +0 -0; steps +20 -0" in found.stdout
    assert "lent_is_counted        1" in found.stdout
    assert "2 mutants: 1 killed, 1 survived" in found.stdout
    assert found.stdout.splitlines()[-1] == "survived: 1 mutant that nothing objects to"


def test_what_only_stutters_is_listed_and_no_failure(run: Run) -> None:
    found = run("mutate", LIBRARY, "--only", "library.close: drop require")
    assert found.exit_code == 0
    assert "stuttering (only steps that change nothing):\n  library.py:123  library.close: drop" in found.stdout


def test_killed_is_0_and_a_single_mutant_has_its_trace(run: Run) -> None:
    found = run("mutate", LIBRARY, "--only", "drop s.lent += 1")
    assert found.exit_code == 0
    assert "invariant lent_is_counted is violated at step 2" in found.stdout
    assert " drop s.lent += 1\n" in found.stdout
    assert found.stdout.splitlines()[-1] == "no mutant survives unexplained"


def test_an_action_stands_for_its_helpers(run: Run) -> None:
    keys = [o["key"] for o in json.loads(run("mutate", CUTTING, "--only", "count", "--json").stdout)["outcomes"]]
    assert keys and all(key.startswith("cutting.count: ") for key in keys)


@pytest.mark.long("5 s of CPU")
def test_explained_survivors(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS")  # a pipe gets whole lines
    explained = unexplained(run)
    path = explain(tmp_path / "survivors.toml", explained)
    found = run("mutate", CUTTING, "--explained", path)
    assert found.exit_code == 0
    assert "no mutant was first noticed by value_in_range" in found.stderr
    assert "explained:\n" in found.stdout and "the bound takes over" in found.stdout
    killed = "cutting.count: replace s.value < 3 by not s.value < 3"
    explain(path, {**explained, killed: "no longer so", "cutting.count: drop it": "gone", "other.f: drop x": "?"})
    found = run("mutate", CUTTING, "--explained", path)
    assert [line for line in found.stdout.splitlines() if line.startswith("note")] == [
        f"note: {key} is explained in {path}, and needs not be" for key in (killed, "cutting.count: drop it")
    ]
    path.write_text(f'[[shared]]\nwhy = "seen and left"\nmutants = {json.dumps(list(explained))}')
    assert run("mutate", CUTTING, "--explained", path).exit_code == 0


@pytest.mark.long("5 s of CPU")
def test_what_a_design_explains_is_found_beside_the_package_of_its_models(run: Run) -> None:
    found = run("mutate", "pinning/lost_reply", "--set", "max_requests=1", "--only", "lose_election: drop not (")
    assert found.exit_code == 0
    assert "explained:\n" in found.stdout and "finds its own office in a later step" in found.stdout


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('"cutting.count: drop it" = ""', "is not explained"),
        ('[[shared]]\nmutants = ["cutting.count: drop it"]', "a [[shared]] is not written as it should be"),
        ('shared = "why"', "a [[shared]] is not written as it should be"),
        ('"a: b" = "why"\n[[shared]]\nwhy = "too"\nmutants = ["a: b"]', "a: b is explained twice"),
    ],
)
def test_what_explains_nothing_is_refused(run: Run, tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "survivors.toml"
    path.write_text(text)
    refused = run("mutate", CUTTING, "--explained", path)
    assert refused.exit_code == 2 and reason in refused.stderr


def test_several_models_of_a_spec(run: Run) -> None:
    """A mutant killed by the first model is not tried on the second, which kills a survivor of the first."""
    found = json.loads(run("mutate", "tests/mutate/pair.py/plain", "tests/mutate/pair.py/watched", "--json").stdout)
    outcomes = {o["key"]: (o["model"].rpartition("/")[2], o["verdict"]) for o in found["outcomes"]}
    assert outcomes["pair.flip: replace not s.on by s.on"] == ("plain", "killed")
    assert outcomes["pair.flip: drop s.flips = True"] == ("watched", "killed")


def test_what_is_refused(run: Run, tmp_path: Path) -> None:
    nothing = run("mutate", CUTTING, "--only", "nonsense")
    assert nothing.exit_code == 2 and "no mutant of" in nothing.stderr
    violated = run("mutate", "docs/tutorial/lease.py")
    assert violated.exit_code == 2 and "is violated as it stands: one_leader_serves" in violated.stderr
    (tmp_path / "x.ndjson").write_text("{}\n")
    foreign = run("mutate", CUTTING, "--resume", tmp_path / "x.ndjson")
    assert foreign.exit_code == 2 and "holds no verdicts on mutants" in foreign.stderr
    assert run("mutate", CUTTING, "--checkpoint", tmp_path / "y.ndjson", "--quiet").exit_code == 1
    other = run("mutate", LIBRARY, "--resume", tmp_path / "y.ndjson")
    assert other.exit_code == 2 and "holds verdicts on other models" in other.stderr
    mixed = run("mutate", CUTTING, LIBRARY)
    assert mixed.exit_code == 2 and "models of several specs" in mixed.stderr


DAMAGED = ("{", "[]", "{}", '{"model": 5, "by": 5}', "[" * 100_000, '{"model":"m","key":"k","by":[],"x":1}')
HEADS = ("[" * 100_000, '{"format": "fencepost mutate 1"}', '{"format": "fencepost mutate 1", "models": 5}')


@pytest.mark.parametrize("line", DAMAGED, ids=lambda line: line[:9])
def test_a_damaged_line_of_verdicts_is_named(run: Run, tmp_path: Path, line: str) -> None:
    path = tmp_path / "verdicts.ndjson"
    assert run("mutate", CUTTING, "--checkpoint", path, "--time-limit-s", 0).exit_code == 3
    with path.open("a") as file:
        file.write(f"{line}\n")
    damaged = run("mutate", CUTTING, "--resume", path)
    assert (damaged.exit_code, damaged.stdout) == (2, "")
    assert f"error: line {len(path.read_text().splitlines())} of {path} is damaged" in damaged.stderr


@pytest.mark.parametrize("head", HEADS, ids=lambda head: head[-12:])
def test_a_damaged_head_of_verdicts_is_named(run: Run, tmp_path: Path, head: str) -> None:
    (tmp_path / "verdicts.ndjson").write_text(f"{head}\n")
    damaged = run("mutate", CUTTING, "--resume", tmp_path / "verdicts.ndjson")
    assert (damaged.exit_code, "holds no verdicts on mutants" in damaged.stderr) == (2, True)


def test_undecided_and_the_time_limit_exit_with_3(run: Run) -> None:
    found = run("mutate", LIBRARY, "--only", "drop s.desk == ", "--max-states", 20)
    assert found.exit_code == 3
    assert "nothing is violated up to the limit of 20 states" in found.stdout
    assert found.stdout.splitlines()[-1] == "incomplete: some mutants are undecided"
    found = run("mutate", LIBRARY, "--time-limit-s", 0)
    assert found.exit_code == 3
    assert found.stdout.splitlines()[-1].startswith("incomplete: time limit")


def stopped_by(start: Start, file: Path, number: signal.Signals) -> subprocess.Popen[str]:
    """A run that got a signal when it had found some verdicts."""
    process = start("mutate", LIBRARY, "--only", ACTION, "--checkpoint", file, "--jobs", 1)
    while not file.exists() or file.read_text().count("\n") < 4:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    return process


def test_a_killed_run_goes_on(run: Run, start: Start, tmp_path: Path) -> None:
    file = tmp_path / "verdicts.ndjson"
    stopped_by(start, file, signal.SIGKILL).communicate()
    with file.open("a") as torn:
        torn.write('{"model": "tests/mut')
    before = file.read_text().splitlines()[1:-1]
    found = run("mutate", LIBRARY, "--only", ACTION, "--resume", file, "--json")
    summary = json.loads(found.stdout)
    assert found.exit_code == 1 and summary["stopped"] is None
    lines = [json.loads(line) for line in file.read_text().splitlines()[1:]]
    assert [json.loads(line) for line in before] == lines[: len(before)]
    assert len({line["key"] for line in lines}) == len(lines) == summary["mutants"]
    assert summary["killed"] == sum(line["verdict"] == "killed" for line in lines)
    again = json.loads(run("mutate", LIBRARY, "--only", ACTION, "--resume", file, "--json").stdout)
    assert again["outcomes"] == summary["outcomes"]


def test_ctrl_c_gives_what_was_found(start: Start, tmp_path: Path) -> None:
    process = stopped_by(start, tmp_path / "verdicts.ndjson", signal.SIGINT)
    shown, complaints = process.communicate()
    assert process.returncode == 3
    assert "Traceback" not in complaints
    assert "interrupted" in shown.splitlines()[-1]
    assert "mutants: " in shown


@pytest.mark.long("8 s of CPU")
def test_the_page_shows_a_real_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    page = Path("docs/mutation.md").read_text()
    block = page.split("$ fencepost mutate tests/models/two_phase_commit.py\n")[1].split("```")[0]
    printed = run("mutate", "tests/models/two_phase_commit.py", "--quiet").stdout.splitlines()
    assert [line for line in block.splitlines() if line not in printed] == ["  ..."]
