"""Progress: one line that is updated on a terminal, plain lines at growing intervals elsewhere."""

from __future__ import annotations

import fcntl
import itertools
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable

import click
import pytest

from checker.cli.output.progress import ProgressLine
from checker.running.limits import Progress

Start = Callable[..., subprocess.Popen[str]]
ENDLESS = "tests/cli/five_counters.py"


def on_a_terminal(columns: int, seconds: float, *arguments: str) -> tuple[str, int]:
    """Output of the command on a terminal, with Ctrl-C typed after some seconds of output; and its exit code."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["PYTHONPATH"] = "."
        os.execv(sys.executable, [sys.executable, "-m", "checker", *arguments])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    written, typed, began = b"", False, 0.0
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # Linux says so when the other side is closed
            break
        if not part:
            break
        written += part
        began = began or time.monotonic()
        if not typed and time.monotonic() - began > seconds:
            os.write(terminal, b"\x03")
            typed = True
    os.close(terminal)
    return written.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_terminal_shows_one_line_that_is_updated() -> None:
    text, code = on_a_terminal(80, 0.5, "check", ENDLESS)
    assert code == 3
    progress, _, report = text.rpartition("\r\x1b[K")
    lines = [line.replace("^C", "") for line in progress.split("\r\x1b[K")[1:]]
    assert len(lines) >= 3
    assert all(line.startswith("level ") and " distinct, " in line and "\n" not in line for line in lines)
    assert all(len(line) < 80 for line in lines)
    assert report.startswith(ENDLESS), "the line is gone when the report comes"
    assert "\x1b[33m\x1b[1mincomplete\x1b[0m: interrupted" in report


def test_simulate_shows_its_walks_and_stops_at_ctrl_c() -> None:
    text, code = on_a_terminal(80, 1.8, "simulate", ENDLESS, "--walks", "10000000", "--seed", "5")
    assert code == 3
    assert text.startswith("seed 5\r\n")
    assert text.count("\r\x1b[K") >= 3
    assert "\x1b[1mincomplete\x1b[0m: interrupted; no violation found in " in text
    assert "Traceback" not in text


def test_a_pipe_gets_plain_lines(start: Start) -> None:
    process = start("check", ENDLESS)
    began = time.monotonic()
    assert process.stderr is not None
    lines = [process.stderr.readline() for _ in range(2)]
    assert time.monotonic() - began > 1.4, "1 s, then 1.5 s more"
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    for line in lines:
        for word in ("level ", " generated, ", " distinct, ", "/s, ", "frontier ", " GiB, "):
            assert word in line
        assert "\x1b" not in line
        assert "\r" not in line


def test_quiet_is_quiet(start: Start) -> None:
    process = start("check", ENDLESS, "--quiet", "--time-limit-s", "1.3")
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (3, "")


def test_intervals_grow(capsys: pytest.CaptureFixture[str]) -> None:
    """Seen with a clock of our own: a report each tenth of a second, over twenty minutes."""
    with ProgressLine() as line:
        for tenth in range(12_000):
            line.search(Progress(tenth * 1000, tenth, 3, 1, 1, tenth / 10, 0))
    shown = [text.split(", ")[4] for text in capsys.readouterr().err.splitlines()]
    seconds = [int(text.removesuffix(" s")) for text in shown]
    gaps = [b - a for a, b in itertools.pairwise(seconds)]
    assert seconds[0] == 1
    assert gaps == sorted(gaps)
    assert gaps[-1] == 60
    assert len(seconds) < 40


def test_the_rate_is_that_of_late(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressLine() as line:
        line.search(Progress(1_000_000, 1, 3, 1, 1, 0.0, 0))  # a resumed search has these from before
        line.search(Progress(1_000_500, 1, 3, 1, 1, 1.0, 0))
        line.search(Progress(1_000_502, 1, 3, 1, 1, 3.0, 0))
    assert [text.split(", ")[3] for text in capsys.readouterr().err.splitlines()] == ["500/s", "1/s"]


def test_a_narrow_terminal_gets_fewer_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr("checker.cli.output.progress._columns_of_stderr", lambda: 40)
    monkeypatch.setattr(click, "echo", lambda text, **how: shown.append(text))
    line = ProgressLine()
    line.search(Progress(0, 0, 1, 0, 0, 0.0, 0))
    line.search(Progress(12_345_678, 2_345_678, 17, 1, 1, 2.0, 0))
    assert shown == ["\r\x1b[Klevel 17, 12.3 M generated"]
