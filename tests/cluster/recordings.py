"""The records of a run on a real ZooKeeper: its transaction log, and what each process has recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from impl.zookeeper.transaction_log import Logged


class NotBegunError(Exception):
    """A run never got to the state that models start from: it says nothing of the spec."""


@dataclass(frozen=True)
class Life:
    """One process of a broker. Times are of the wall clock; None: it was not.

    ended_ms: when it was killed or told to stop; asked_ms: when it was asked to stop as soon as it can.
    """

    broker: int
    trace: Path
    ended_ms: int | None = None
    asked_ms: int | None = None
    began_ms: int = 0


def below(transactions: Sequence[Logged], root: str) -> list[Logged]:
    """The transactions of one chroot, with its paths; the ends of sessions all stay."""
    found = []
    for one in transactions:
        changes = tuple(
            replace(change, path=change.path.removeprefix(root))
            for change in one.changes
            if change.path.startswith(f"{root}/")
        )
        if changes or one.ends_session:
            found.append(replace(one, changes=changes))
    return found


def recorded(trace: Path) -> Iterator[dict[str, Any]]:
    """The lines of a trace that are whole."""
    text = trace.read_bytes() if trace.exists() else b""
    for line in text.split(b"\n")[:-1]:  # of a process that was killed, the last line may be half
        yield json.loads(line)
