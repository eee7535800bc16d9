"""Records what one process does as a trace that can be merged with those of the other processes of a run.

Each event is in the file before the process does anything more: of a process that is killed, only an event may be
missing of which nobody has heard. `traces.merge` says what the stamps mean.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from impl.runtime.effects import Did
from traces.events import end_line, event_line, header_line, seen_line


class Recorder:
    """Writes the trace of one process. The file must not exist: a process that is started again has another one.

    process: its name in the run. clock: gives ms. further: entries of the header.
    """

    def __init__(
        self, path: Path, model: str, process: str, *, clock: Callable[[], int] | None = None, **further: Any
    ) -> None:
        self._events = 0
        self._now_ms = clock or _now_ms
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        self._write(header_line(model, process=process, **further))

    def record(
        self, action: str | None = None, parameters: Mapping[str, Any] | None = None,
        state: Mapping[str, Any] | None = None, *, sends: Sequence[str] = (), receives: Sequence[str] = (),
        at: Mapping[str, int] | None = None, note: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """A step. sends, receives: labels of messages; at: values of counters that the processes share.

        note: facts that no model looks at.
        """
        stamp = {"sends": list(sends), "receives": list(receives), "at": dict(at or {}), "note": dict(note or {})}
        self._event(event_line(action, parameters, state, time_ms=self._now_ms(), **stamp))

    def did(self, did: Did, parameters: Mapping[str, Any]) -> None:
        """A step of a core, with its facts and the time in us: steps of processes of one machine are in its order."""
        note = {**did.facts, "time_us": time.time_ns() // 1_000}
        self.record(did.action, parameters, at={"zxid": did.zxid}, note=note)

    def seen(
        self, state: Mapping[str, Any], *, receives: Sequence[str] = (), at: Mapping[str, int] | None = None
    ) -> None:
        """A look at the state, without a step."""
        self._event(seen_line(state, time_ms=self._now_ms(), receives=list(receives), at=dict(at or {})))

    def close(self) -> None:
        """The process ends in good order."""
        self._write(end_line(self._events))
        os.close(self._file)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _event(self, line: str) -> None:
        self._write(line)
        self._events += 1

    def _write(self, line: str) -> None:
        left = line.encode()
        while left:
            left = left[os.write(self._file, left) :]


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
