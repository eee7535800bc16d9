"""Broker processes of a run: forked from one process that has everything imported, so that they start at once."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from multiprocessing import util
from pathlib import Path

from tests.cluster.recordings import Life

Main = Callable[[Sequence[str]], int]

_FORKED = multiprocessing.get_context("forkserver")
# The last one has what main modules import: a child imports that of its parent again.
_FORKED.set_forkserver_preload(["impl.pinning.process", "impl.heartbeat.process", "tests.cluster.schedules"])

# Its folder is removed at the end, which is no error if a test run has removed it before.
util.Finalize(None, os.makedirs, args=(util.get_temp_dir(),), kwargs={"exist_ok": True}, exitpriority=-99)


def _serve(main: Main, properties: Path, trace: Path | None, log: Path) -> None:
    with log.open("ab", buffering=0) as output:
        os.dup2(output.fileno(), sys.stderr.fileno())
    sys.exit(main([str(properties), *([] if trace is None else ["--trace", str(trace)])]))


class BrokerProcess:
    """One process of a broker. main: its command, a function of a module.

    number: of the process in its run. records: it records a trace. ended_ms, asked_ms, began_ms: as of its `Life`.
    """

    def __init__(
        self, main: Main, broker: int, folder: Path, number: int, settings: Mapping[str, str], *, records: bool = True
    ) -> None:
        name = f"broker{broker}-{number}"
        folder.mkdir(parents=True, exist_ok=True)
        properties = folder / f"{name}.properties"
        properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        self.broker = broker
        self.trace = folder / f"{name}.ndjson"
        self.log = folder / f"{name}.log"
        self.ended_ms: int | None = None
        self._paused_ms: int | None = None
        self.asked_ms: int | None = None
        self.began_ms = now_ms()
        self._process = _FORKED.Process(
            target=_serve, args=(main, properties, self.trace if records else None, self.log), daemon=True
        )
        self._process.start()

    @property
    def life(self) -> Life:
        """For the history of its run."""
        return Life(self.broker, self.trace, self.ended_ms, self.asked_ms, self.began_ms)

    def has_recorded(self, action: str) -> bool:
        """It has taken such a step."""
        return f'"{action}"' in self.recorded()

    def recorded(self) -> str:
        """The text of its trace so far."""
        return self.trace.read_text(encoding="utf-8", errors="replace") if self.trace.exists() else ""

    @property
    def is_alive(self) -> bool:
        return self._process.is_alive()

    def cpu_s(self) -> float:
        """Seconds of processor time that it has taken so far; 0 once it is gone."""
        with suppress(FileNotFoundError, ProcessLookupError):
            fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return 0.0

    def pause(self) -> None:
        self._signal(signal.SIGSTOP)
        self._paused_ms = now_ms()

    def resume(self) -> None:
        self._signal(signal.SIGCONT)
        self._paused_ms = None

    def kill(self) -> None:
        """kill -9, of a paused process too."""
        self._end(signal.SIGKILL)

    def ask_to_stop(self) -> None:
        """SIGTERM, without waiting for its end."""
        self.asked_ms = now_ms()
        self._signal(signal.SIGTERM)

    def terminate(self) -> None:
        """SIGTERM: it closes its session."""
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        self.ended_ms = self.ended_ms or self._paused_ms or now_ms()  # one that is paused does nothing any more
        self._signal(number)
        self._process.join(10)
        if self._process.is_alive():
            self._process.kill()

    def _signal(self, number: signal.Signals) -> None:
        pid = self._process.pid
        if pid is not None and self._process.is_alive():
            with suppress(ProcessLookupError):
                os.kill(pid, number)


def now_ms() -> int:
    """By the wall clock."""
    return time.time_ns() // 1_000_000


def address_of(log: Path) -> tuple[str, int] | None:
    """Where a broker listens, as its log says."""
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    found = re.search(r'"event": "listening".*"host": "([^"]*)", "port": (\d+)', text)
    return None if found is None else (found[1], int(found[2]))
