"""Processes of a run: forked from one that has everything imported, so that they start at once."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import sys
import time
from contextlib import suppress
from multiprocessing import util
from pathlib import Path

_FORKED = multiprocessing.get_context("forkserver")
_FORKED.set_forkserver_preload(["impl.group.process", "impl.group.consumer_process", "tests.impl.group.forked"])

# Its folder is removed at the end, which is no error if a test run has removed it before.
util.Finalize(None, os.makedirs, args=(util.get_temp_dir(),), kwargs={"exist_ok": True}, exitpriority=-99)


def _serve(module: str, arguments: list[str], log: Path) -> None:
    with log.open("ab", buffering=0) as output:
        os.dup2(output.fileno(), sys.stderr.fileno())
    sys.exit(importlib.import_module(module).main(arguments))


class ForkedProcess:
    """A process that runs `module.main(arguments)`. Its log is its standard error."""

    def __init__(self, module: str, arguments: list[str], log: Path) -> None:
        self.log = log
        self.ended_us: int | None = None
        """When it was killed, by the wall clock."""
        log.touch()
        self._process = _FORKED.Process(target=_serve, args=(module, arguments, log), daemon=True)
        self._process.start()

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._process.exitcode

    @property
    def cpu_s(self) -> float:
        """The processor time that it has used, of all its threads."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def pause(self) -> None:
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def terminate(self) -> None:
        """SIGTERM, without waiting for the end."""
        self._signal(signal.SIGTERM)

    def wait(self, limit_s: float) -> int | None:
        self._process.join(limit_s)
        return self._process.exitcode

    def kill(self) -> None:
        """kill -9, of a paused process too."""
        if self._process.is_alive():
            self.ended_us = time.time_ns() // 1_000
        self._signal(signal.SIGKILL)
        self._process.join(10)

    def _signal(self, number: signal.Signals) -> None:
        pid = self._process.pid
        if pid is not None and self._process.is_alive():
            with suppress(ProcessLookupError):
                os.kill(pid, number)
