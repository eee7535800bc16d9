"""Raw traces: the events that nodes have written, merged. `impl.kraft.server` writes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

Event = dict[str, Any]
OF_REQUESTS = frozenset({"request_sent", "response_received", "request_given_up", "sigterm", "broker_state"})
"""What a broker writes that is about no replica."""
OF_DECISIONS = frozenset({"request_handled", "request_answered", "lease_expired"})
"""What a controller writes that is not about the quorum."""
OF_BROKERS = OF_REQUESTS | {
    "logs_found", "metadata_applied", "batch_written", "log_cut", "log_deleted", "leads", "follows", "fetch_served",
    "high_watermark",
}  # fmt: skip


class RawTraceError(ValueError):
    """Lines that no node writes, or too few. The message says where, or what is missing."""


def merged(files: Iterable[tuple[str, bytes]]) -> list[Event]:
    """The events in files, each with its name, in the order in which they were. Raises RawTraceError.

    The last line of a file may be cut off: its process was killed as it wrote it, and did nothing afterwards.
    """
    found: list[Event] = []
    for name, data in files:
        for number, line in enumerate(data.split(b"\n")[:-1], 1):
            try:
                event = msgspec.json.decode(line)
                found.append(event | {"at": (int(event["mono_ns"]), int(event["number"])), "line": f"{name}:{number}"})
            except (msgspec.DecodeError, TypeError, KeyError, ValueError) as error:
                raise RawTraceError(f"{name}, line {number}: no event of a node ({error})") from None
    return sorted(found, key=lambda event: event["at"])


def voters_of(events: Iterable[Event]) -> tuple[int, ...]:
    """All of the quorum, by what a process says that starts. Raises RawTraceError where none does."""
    for event in events:
        if event.get("event") == "started":
            return tuple(sorted(map(int, event["voters"])))
    raise RawTraceError("no process starts in these traces: the first line of each says who is a voter")


def is_of_broker(event: Event) -> bool:
    return event.get("event") in OF_BROKERS
