"""`fencepost conform` and `fencepost trace to-test`: what they print, write and exit with."""

from __future__ import annotations

import json
import os
import re
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from checker.cli.main import fencepost
from traces import TraceError, load

ROOT = Path(__file__).parents[2]
LEASE, SERVER = "tests/conform/lease.py/lease", "tests.conform.lease_server:SYSTEM"
FAULTY = "tests.conform.lease_faults"


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "110")


def run(*arguments: object) -> Result:
    result = CliRunner().invoke(fencepost, [str(a) for a in arguments], prog_name="fencepost")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_what_conforms_says_what_was_covered() -> None:
    result = run("conform", LEASE, "--impl", SERVER, "--jobs", 1, "--quiet")
    assert result.exit_code == 0
    assert "of the spec: all 447 states, all 1,448 transitions" in result.stdout
    assert "1,448 transitions driven between 447 pairs, depth 19" in result.stdout
    assert result.stdout.rstrip().endswith("conforms")


def test_json_has_the_same_figures() -> None:
    result = run("conform", LEASE, "--impl", SERVER, "--jobs", 2, "--quiet", "--json")
    found = json.loads(result.stdout)
    assert (found["verdict"], found["pairs"], found["driven"], found["probes"]) == ("conforms", 447, 1448, 122)
    assert found["spec"] == {
        "states": 447, "states_covered": 447, "transitions": 1448, "transitions_covered": 1448,
    }  # fmt: skip
    assert {"name": "lapse", "driven": 192, "refusals": 255, "nothing_to_try": 0} in found["actions"]


def test_messages_that_are_not_under_way_are_not_tried() -> None:
    result = run("conform", LEASE, "--impl", SERVER, "--jobs", 2, "--quiet", "--no-probes")
    assert result.exit_code == 0
    assert "1,448 transitions driven between 447 pairs, depth 19" in result.stdout
    assert result.stdout.rstrip().endswith("conforms: without messages that are not under way")


def test_constants_are_set() -> None:
    result = run("conform", LEASE, "--impl", SERVER, "--set", "clients=1", "--jobs", 1, "--quiet")
    assert "all 17 states, all 33 transitions" in result.stdout and result.exit_code == 0


def test_a_divergence_shows_both_states() -> None:
    result = run("conform", LEASE, "--impl", f"{FAULTY}:GRANTS_TWICE", "--jobs", 1, "--quiet")
    assert result.exit_code == 1
    assert f"{FAULTY}:GRANTS_TWICE diverges from the spec at step 5" in result.stdout
    assert "≠  clients[1].reply[0]  BUSY   NONE" in result.stdout
    assert "clients[0].reply[0]  NONE   NONE" in result.stdout
    assert result.stdout.rstrip().splitlines()[-1].startswith("diverges: The spec does it,")


def test_the_guard_that_refuses_is_shown() -> None:
    result = run("conform", LEASE, "--impl", f"{FAULTY}:CHANGES", "--jobs", 1, "--quiet")
    assert "false  require(not s.lapsed)" in result.stdout


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nothing", "there is no implementation nothing"),
        ("tests.conform.lease_server:Server", "Server of tests.conform.lease_server is not a system under test: it"),
        ("tests.conform.lease_server:NOBODY", "NOBODY of tests.conform.lease_server is not a system under test"),
        ("no/name", "'no/name' names no implementation"),
    ],
)
def test_what_is_no_implementation_is_a_usage_error(name: str, says: str) -> None:
    result = run("conform", LEASE, "--impl", name)
    assert result.exit_code == 2 and says in result.stderr and "hint: " in result.stderr


def without_folder(text: str) -> str:
    """A written test but for where it finds the model from, which depends on where it is written to."""
    return re.sub(r"(?m)^FOLDER = .*$", "", text)


def import_file(file: Path) -> None:
    """Run the one test in a file that `to-test` wrote."""
    (test,) = [value for name, value in runpy.run_path(str(file)).items() if name.startswith("test_")]
    test()


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("GRANTS_TWICE", "clients\\[1\\].reply\\[0\\]: NONE, in the spec BUSY"),  # a step
        ("CHANGES", "the spec refuses it: require\\(not s.lapsed\\)"),  # an attempt
        ("SOMEBODY_ELSES", "holder: –, in the spec 0"),  # a probe
        ("STARTS_LEASED", "at step 1, init"),
    ],
)
def test_a_divergence_becomes_a_test_that_fails_as_long_as_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, says: str
) -> None:
    trace, written = tmp_path / "found.itf.json", tmp_path / "test_it.py"
    run("conform", LEASE, "--impl", f"{FAULTY}:{fault}", "--jobs", 1, "--quiet", "--trace-out", trace)
    assert run("trace", "to-test", trace, "--out", written).exit_code == 0
    assert without_folder(run("trace", "to-test", trace).stdout) == without_folder(written.read_text())
    subprocess.run([sys.executable, "-m", "ruff", "check", "--quiet", written], check=True)
    monkeypatch.chdir(tmp_path)  # the test runs from anywhere
    with pytest.raises(AssertionError, match=says):
        import_file(written)
    repaired = written.read_text().replace(f'"{FAULTY}:{fault}"', f'"{SERVER}"')
    written.write_text(repaired)
    import_file(written)


def test_constants_go_into_the_test(tmp_path: Path) -> None:
    trace = tmp_path / "found.ndjson"
    faulty = f"{FAULTY}:CHANGES"
    run("conform", LEASE, "--impl", faulty, "--set", "clients=1", "--jobs", 1, "--quiet", "--trace-out", trace)
    assert '{"clients": "1"}' in run("trace", "to-test", trace).stdout


def test_a_test_whose_steps_are_gone_says_so(tmp_path: Path) -> None:
    trace, written = tmp_path / "found.itf.json", tmp_path / "test_it.py"
    run("conform", LEASE, "--impl", f"{FAULTY}:GRANTS_TWICE", "--jobs", 1, "--quiet", "--trace-out", trace)
    text = run("trace", "to-test", trace).stdout
    for old, new, says in [
        ('("acquire", ', '("require", ', "step 2: .* has no action require"),
        ('"client": "client1"', '"client": "client0"', "step 3: .* does not take acquire here any more"),
        ('"handle_acquire", ', '"handle_release", ', "step 4: "),
    ]:
        written.write_text(text.replace(old, new))
        with pytest.raises(TraceError, match=says):
            import_file(written)


def test_another_trace_is_no_divergence(tmp_path: Path) -> None:
    trace = tmp_path / "violation.itf.json"
    run("check", "docs/tutorial/lease.py", "--quiet", "--trace-out", trace)
    assert load(trace).violation is not None
    result = run("trace", "to-test", trace)
    assert result.exit_code == 2 and "this is not a trace of a divergence" in result.stderr


def start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from checker.cli.main import main; main()", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_for(process: subprocess.Popen[str], text: str) -> None:
    assert process.stderr is not None
    while text not in (line := process.stderr.readline()):
        assert line, "it ended before"


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_stops_it_and_says_how_far_it_came(jobs: str) -> None:
    """Five clients: far more than is explored before the interrupt."""
    process = start("conform", LEASE, "--impl", SERVER, "--set", "clients=5", "--max-depth", "14", "--jobs", jobs)
    wait_for(process, "transitions driven")
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 3, out
    assert out.rstrip().endswith("incomplete: interrupted")
    assert time.monotonic() - began < 30


def test_the_page_shows_real_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    page = (ROOT / "docs" / "conformance.md").read_text()
    shown = page.split(f"--impl {SERVER}\n")[1].split("\n```")[0].splitlines()
    printed = run("conform", LEASE, "--impl", SERVER, "--jobs", 1, "--quiet").stdout.splitlines()
    assert [line for line in shown if " s in all" not in line] == [line for line in printed if " s in all" not in line]
    parts = page.split(f"--impl {FAULTY}:CHANGES\n")[1].split("\n```")[0].split("...\n")
    text = run("conform", LEASE, "--impl", f"{FAULTY}:CHANGES", "--jobs", 1, "--quiet").stdout
    assert all(part in text for part in parts)


def test_the_page_shows_the_test_that_is_written(tmp_path: Path) -> None:
    trace = tmp_path / "found.itf.json"
    run("conform", LEASE, "--impl", f"{FAULTY}:CHANGES", "--jobs", 1, "--quiet", "--trace-out", trace)
    page = (ROOT / "docs" / "conformance.md").read_text()
    block = page.split("```python\n")[1].split("```")[0]
    assert without_folder(block) in without_folder(run("trace", "to-test", trace).stdout)
