"""Processes of a test cluster: started, paused, killed, and gone when their test run is, however that ends."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if os.uname().sysname == "Linux" else None


class ManagedProcess:
    """A process of its own, whose output goes to a file. It dies with the thread that started it (on Linux).

    command: program and arguments. log: the file, which is appended to.
    """

    def __init__(
        self, command: Sequence[str | Path], log: Path, *, environment: Mapping[str, str] | None = None
    ) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        self.log = log
        self._is_paused = False
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})}, preexec_fn=_die_with_parent,
            )  # fmt: skip

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs; -N where signal N ended it."""
        return self._process.poll()

    def pause(self) -> None:
        """SIGSTOP: it does nothing, its sockets stay open, its clock goes on."""
        self._signal(signal.SIGSTOP)
        self._is_paused = True

    def resume(self) -> None:
        """SIGCONT."""
        self._signal(signal.SIGCONT)
        self._is_paused = False

    def terminate(self, limit_s: float = 10.0) -> int:
        """SIGTERM, and its exit code once it ended. Raises TimeoutExpired."""
        self.ask_to_stop()
        return self._process.wait(limit_s)

    def ask_to_stop(self) -> None:
        """SIGTERM."""
        if self._is_paused:
            self.resume()
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """kill -9, of a paused process too. Returns when it is gone."""
        self._signal(signal.SIGKILL)
        self._process.wait()

    def output(self) -> str:
        """Everything that it wrote so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def _signal(self, number: int) -> None:
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                self._process.send_signal(number)


def _die_with_parent() -> None:
    """In the child, before it runs the program. A session of its own would keep Ctrl-C from it; the test ends it."""
    os.setpgrp()
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
