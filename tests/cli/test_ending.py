"""Commands that do not end by themselves: bugs, full disks, closed streams, signals. None reads as a verdict."""

from __future__ import annotations

import json
import os
import pickle
import pty
import resource
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from checker.errors import with_stack
from checker.explicit import check, gallery
from checker.lang.errors import Place, SpecError
from checker.redaction import redacted
from checker.verdicts import HOLDS, INCOMPLETE, VACUOUS, VIOLATED, WITHIN, exit_code, strongest

Run = Callable[..., Result]
ROOT = Path(__file__).parent.parent.parent
LEASE, ENDLESS = "docs/tutorial/lease.py", "tests/cli/five_counters.py"
SERVED = ("conform", "tests/conform/lease.py/lease", "--impl", "tests.conform.lease_server:SYSTEM", "--jobs", "2")


def command(*arguments: object, before: str = "", **how: Any) -> subprocess.Popen[str]:
    """The command as a process. before: Python that is run first, to break something."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **how.pop("env", {})}
    program = [sys.executable, "-c", f"{before}\nfrom checker.__main__ import main\nmain()"]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
    return subprocess.Popen([*program, *map(str, arguments)], env=environment, text=True, **streams)


def ended(*arguments: object, **how: Any) -> tuple[int, str, str]:
    """(exit code, standard output, standard error) of a command."""
    process = command(*arguments, **how)
    out, err = process.communicate(timeout=60)
    return process.returncode, out or "", err or ""


def no_larger_than(size: int) -> Callable[[], None]:
    """Files that the process writes end at `size` bytes, as on a disk that is full."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def ignore_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


# Bugs.

BROKEN = "import checker.explicit.check as c\ndef judge(*a, **k): raise {}\nc.judge = judge"


@pytest.mark.parametrize("raised", ["KeyError('x')", "MemoryError('no 8 GiB for an array')", "RecursionError()"])
def test_a_bug_is_no_verdict(tmp_path: Path, raised: str) -> None:
    report = tmp_path / "report.xml"
    report.write_text("of an earlier check")
    code, out, err = ended("check", LEASE, "--json", "--junit", report, before=BROKEN.format(raised))
    assert (code, out) == (5, "")
    assert err.startswith(f"internal error: {raised.split('(')[0]}: ")
    assert "This is a bug in Fencepost, and no verdict." in err
    assert "fencepost 0." in err and "Python 3." in err and f"fencepost check {LEASE} --json" in err
    assert "in judge\n" in err, "the stack"
    suite = ET.parse(report).getroot()
    assert (suite.get("tests"), suite.get("errors"), suite.get("failures")) == ("1", "1", "0")
    error = suite.find("testcase/error")
    assert error is not None and error.get("message", "").startswith("no verdict: ")


def test_what_to_send_holds_no_secrets() -> None:
    secret = ("--spark-conf", "spark.hadoop.fs.s3a.secret.key=abc123", "--checkpoint", "s3://AKIA:abc123@bucket/x")
    broken = "import checker.cli.options as o\no.load_model = None"
    code, _, err = ended("check", LEASE, "--engine", "spark", *secret, before=broken)
    assert code == 5
    assert "abc123" not in err and "AKIA" not in err
    assert "spark.hadoop.fs.s3a.secret.key=***" in err and "s3://***@bucket/x" in err


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("s3://AKIA:abc@bucket/x?endpoint_override=host:9000", "s3://***@bucket/x?endpoint_override=host:9000"),
        ("abfs://c@account/x?sig=ab%2Bc&se=2026", "abfs://***@account/x?sig=***&se=2026"),
        ("--spark-conf spark.hadoop.fs.s3a.access.key='a b'", "--spark-conf spark.hadoop.fs.s3a.access.key=***"),
        ("spark.authenticate.secret=a spark.driver.cores=2", "spark.authenticate.secret=*** spark.driver.cores=2"),
        ("hdfs://namenode:8020/fencepost", "hdfs://namenode:8020/fencepost"),
        ("--set max_sessions=3 spec.py:41", "--set max_sessions=3 spec.py:41"),
    ],
)
def test_redaction(text: str, left: str) -> None:
    assert redacted(text) == left


def test_what_a_line_of_the_spec_raises_is_no_bug(run: Run, tmp_path: Path) -> None:
    spec = tmp_path / "lease.py"
    spec.write_text((ROOT / LEASE).read_text().replace("(Identity, size=2)", "(Identity, size=lambda: 1 // 0)"))
    found = run("check", spec)
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr.startswith(f"{spec}:") and "ZeroDivisionError: " in found.stderr


def test_a_bug_in_a_worker_process_comes_with_its_stack() -> None:
    broken = "import checker.conform.worker as w\ndef begin(self): return self.nowhere\nw.Worker.begin = begin"
    code, out, err = ended(*SERVED, before=broken)
    assert (code, out) == (5, "")
    assert "internal error: AttributeError: 'Worker' object has no attribute 'nowhere'" in err
    assert "In a worker process:" in err and "in begin" in err


@pytest.mark.parametrize(
    ("death", "how"), [("os._exit(9)", "exit code 9"), ("os.kill(os.getpid(), 9)", "SIGKILL; where memory ran out, ")]
)
def test_a_worker_process_that_dies_is_no_verdict(death: str, how: str) -> None:
    died = f"import os\nimport checker.conform.worker as w\ndef begin(self): {death}\nw.Worker.begin = begin"
    code, out, err = ended(*SERVED, before=died)
    assert (code, out) == (5, "")
    assert err.startswith(f"internal error: a worker process ended by itself ({how}")
    assert err.endswith("; there is no verdict\n")


def test_a_bug_in_a_process_of_a_proof_is_no_verdict() -> None:
    broken = "import checker.symbolic.prover as p\ndef work(self, query): raise KeyError('x')\np.Prover.work = work"
    code, out, err = ended("prove", LEASE, "--json", "--quiet", before=broken)
    assert (code, out, err.splitlines()[0]) == (5, "", "internal error: KeyError: 'x'")
    assert "In a worker process:" in err


def test_errors_travel_between_processes_whole() -> None:
    error = SpecError("it is wrong", place=Place(LEASE, 3, 0, 4), hint="put it right")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)

    class Local(Exception):  # cannot be pickled
        pass

    assert repr(with_stack(Local("of here"))) == "RuntimeError('Local: of here')"


def test_verdicts_by_precedence() -> None:
    order = [VIOLATED, INCOMPLETE, VACUOUS, WITHIN, HOLDS]
    assert [strongest(order[n:][::-1]) for n in range(5)] == order
    assert [exit_code(verdict) for verdict in order] == [1, 3, 4, 0, 0]


def test_a_bug_in_the_process_of_a_mutant_leaves_it_undecided() -> None:
    broken = "import checker.mutate.run as r\ndef judge(*a, **k): raise KeyError('x')\nr.judge = judge"
    code, out, _ = ended("mutate", "tests/mutate/cutting.py", before=broken)
    assert (code, out.splitlines()[-1]) == (3, "incomplete: some mutants are undecided")
    assert "internal error, a bug in Fencepost: Traceback" in out and "KeyError: 'x'" in out


def test_a_pipe_that_breaks_elsewhere_is_a_bug() -> None:
    code, _, err = ended("check", LEASE, before=BROKEN.format("BrokenPipeError(32, 'Broken pipe')"))
    assert (code, err.splitlines()[0]) == (5, "internal error: BrokenPipeError: [Errno 32] Broken pipe")


# Streams and disks.


def test_standard_output_on_a_full_disk() -> None:
    with Path("/dev/full").open("w") as full:
        code, _, err = ended("check", LEASE, stdout=full)
    assert (code, err) == (6, "error: standard output: No space left on device; make room\n")


@pytest.mark.parametrize("closed", [(1,), (0, 1, 2)])
def test_closed_streams_change_no_verdict(tmp_path: Path, closed: tuple[int, ...]) -> None:
    def close() -> None:
        for number in closed:
            os.close(number)

    process = command("check", LEASE, "--junit", tmp_path / "report.xml", stdout=None, stderr=None, preexec_fn=close)
    assert process.wait(timeout=60) == 1
    assert ET.parse(tmp_path / "report.xml").getroot().get("failures") == "1", "nothing else is written there"


def test_a_report_on_a_full_disk_is_named(tmp_path: Path) -> None:
    code, out, err = ended("check", LEASE, "--junit", "/dev/full", "--quiet")
    assert (code, err) == (6, "error: /dev/full: No space left on device; make room\n")
    assert out.endswith("violated: one_leader_serves\n"), "what was found is not lost"
    trace = tmp_path / "trace.itf.json"
    code, _, err = ended("check", LEASE, "--trace-out", trace, "--quiet", preexec_fn=no_larger_than(100))
    assert (code, err) == (6, f"error: {trace}: File too large; make room\n")
    assert list(tmp_path.iterdir()) == [], "nothing is left half-written"


def test_a_checkpoint_on_a_full_disk_can_be_gone_on_from(run: Run, tmp_path: Path) -> None:
    model, saved = (ENDLESS, "--set", "top=7"), tmp_path / "saved"
    code, out, err = ended("check", *model, "--checkpoint", saved, "--quiet", preexec_fn=no_larger_than(100_000))
    assert (code, out) == (6, "")
    assert err.startswith(f"error: {saved}") and err.endswith(f"make room, then continue with --resume {saved}\n")
    assert run("check", *model, "--resume", saved).stdout.endswith("\nholds\n")


def test_verdicts_on_mutants_on_a_full_disk(tmp_path: Path) -> None:
    saved = tmp_path / "verdicts.ndjson"
    code, out, err = ended("mutate", "tests/mutate/cutting.py", "--checkpoint", saved, "--quiet",
                           preexec_fn=no_larger_than(1000))  # fmt: skip
    assert (code, out) == (6, "")
    assert err == f"error: {saved}: File too large; make room, then continue with --resume {saved}\n"


def test_tables_on_a_full_disk(tmp_path: Path) -> None:
    code, out, err = ended("export", ENDLESS, "--set", "top=5", "--to", tmp_path / "tables", "--quiet",
                           preexec_fn=no_larger_than(20_000))  # fmt: skip
    assert (code, out) == (6, "")
    assert err == f"error: {tmp_path / 'tables'}: File too large; make room, then start again\n"
    assert list(tmp_path.iterdir()) == []


def test_a_cache_that_cannot_be_written_is_reported_once(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    code, out, err = ended("diff", LEASE, "--against", "broker_stops_first=true", "--quiet",
                           env={"FENCEPOST_CACHE": str(tmp_path / "cache")})  # fmt: skip
    assert (code, out.splitlines()[-1]) == (1, "differs")
    assert err.count("note: ") == 1
    assert f"note: {tmp_path / 'cache'} cannot be written (" in err and "FENCEPOST_CACHE names another folder" in err


def test_two_processes_do_not_share_a_checkpoint(run: Run, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    process = command("check", ENDLESS, "--checkpoint", saved)
    while not (saved / "manifest.json").exists():
        assert process.poll() is None
        time.sleep(0.01)
    for option in ("--resume", "--checkpoint"):
        refused = run("check", ENDLESS, option, saved)
        assert refused.exit_code == 2
    assert f"{saved} is in use by another fencepost" in run("check", ENDLESS, "--resume", saved).stderr
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)
    assert run("check", ENDLESS, "--resume", saved, "--max-depth", "3").exit_code == 3


def test_a_dumb_terminal_gets_plain_lines() -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ |= {"PYTHONPATH": str(ROOT), "TERM": "dumb"}
        os.execv(sys.executable, [sys.executable, "-m", "checker", "check", ENDLESS, "--time-limit-s", "1.5"])
    written = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # Linux says so when the other side is closed
            break
        written += part
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
    assert b"\x1b" not in written and b"level " in written and written.endswith(b"incomplete: time limit of 1.5 s\r\n")


# Signals.


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("arguments", "heard", "said"),
    [
        (("check", ENDLESS, "--checkpoint", "saved"), "level ", "\nincomplete: interrupted\n"),
        (("simulate", ENDLESS, "--walks", "10000000"), " walks, ", "incomplete: interrupted; no violation found"),
        (("prove", "kraft/lossy", "--bounded", "40", "--timeout-s", "1000"), " steps, ", "incomplete: interrupted"),
        (("conform", "kraft/lossy", "--impl", "kraft", "--jobs", "2"), "level ", "\nincomplete: interrupted\n"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
@pytest.mark.parametrize("to_all", [False, True], ids=["to one", "to all"])
def test_sigterm_does_what_ctrl_c_does(
    tmp_path: Path, arguments: tuple[str, ...], heard: str, said: str, to_all: bool
) -> None:
    """Even where Ctrl-C is ignored, as in a job that a script put in the background; and nothing is left behind.

    to_all: workers get it, too, as from `timeout` and systemd.
    """
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    given = [str(tmp_path / a) if a == "saved" else a for a in arguments]
    process = command(*given, preexec_fn=ignore_ctrl_c, start_new_session=True, env={"TMPDIR": str(scratch)})
    assert process.stderr is not None
    while heard not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    os.killpg(process.pid, signal.SIGTERM) if to_all else process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 3
    assert said in out
    assert "Traceback" not in out + err
    assert list(scratch.iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


def test_ctrl_c_while_modules_are_loaded() -> None:
    code, out, err = ended("check", LEASE, before="""
import sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())""")  # fmt: skip
    assert (code, out, err) == (3, "", "interrupted\n")


def test_a_broken_installation_is_no_verdict(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise ImportError('no click')")
    code, out, err = ended("check", LEASE, before=f"import sys\nsys.path.insert(0, {str(tmp_path)!r})")
    assert (code, out, "ImportError: no click" in err) == (5, "", True)


def test_a_check_that_is_killed_leaves_no_report_of_an_earlier_one(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text("<testsuite/>")
    process = command("check", ENDLESS, "--junit", report)
    assert process.stderr is not None and process.stderr.readline().startswith("level ")
    process.kill()
    process.communicate(timeout=20)
    assert not report.exists()


def test_ctrl_c_while_a_trace_is_made_is_reported(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    def interrupted(*arguments: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(check, "shortest", interrupted)
    found = run("check", LEASE, "--json")
    assert found.exit_code == 1, "what was found stays found"
    assert json.loads(found.stdout)["reason"] == "one_leader_serves; there is no trace: interrupted"


def test_ctrl_c_leaves_the_gallery(monkeypatch: pytest.MonkeyPatch, run: Run, tmp_path: Path) -> None:
    """At whatever point of a bug: the next one is not begun, and no page says that it was not found."""
    calls = []

    def interrupted(*arguments: Any, **named: Any) -> Any:
        calls.append(arguments)
        raise KeyboardInterrupt

    for module, name in ((check, "shortest"), (check, "search"), (gallery, "repairs")):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, interrupted)
            found = run("gallery", "kafka-13173", "--to", tmp_path)
        assert (found.exit_code, found.stdout, found.stderr.splitlines()[-1]) == (3, "", "interrupted")
        assert list(tmp_path.iterdir()) == []
    assert len(calls) == 3


def test_the_tests_can_run_in_the_background_of_a_script() -> None:
    """There Ctrl-C is ignored, and those that send it would wait forever."""
    tests = ["tests/cli/test_reach_and_simulate.py", "-k", "ctrl_c", "-n0", "-q"]
    done = subprocess.run([sys.executable, "-m", "pytest", *tests], preexec_fn=ignore_ctrl_c, timeout=60,
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stdout


# Names.


def test_modules_of_the_current_folder_count(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "lease.py").write_text((ROOT / LEASE).read_text())
    program = [sys.executable, "-P", "-c", "from checker.__main__ import main; main()"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([*program, "check", "mine.lease", "--quiet"], cwd=tmp_path, env=environment,
                          capture_output=True, text=True)  # fmt: skip
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "violated: one_leader_serves")


@pytest.mark.parametrize(
    ("model", "adapter", "lacks"),
    [
        (LEASE, "kraft", "its adapter asks for 'max_crashes'; the constants of the model are: broker_stops_first"),
        (LEASE, "tests.conform.lease_server:SYSTEM", "its adapter asks for network; the fields of the model's state"),
    ],
)
def test_a_model_and_an_adapter_that_do_not_belong_together(run: Run, model: str, adapter: str, lacks: str) -> None:
    found = run("conform", model, "--impl", adapter)
    assert (found.exit_code, found.stdout) == (2, "")
    assert f"cannot be driven through {model}: {lacks}" in found.stderr
