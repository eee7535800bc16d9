"""The decisions in a committed log. A batch may have several: a controller's own log says where each ends."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from impl.apache.recording.metadata_log import Batch
from impl.kraft.metadata.encoding import MetadataRecord

_EPOCH = re.compile(r"Becoming the active controller at epoch (\d+)")
_OPERATION = re.compile(
    r"Read-write operation (\w+)(?:\[[^\]]*\])?\(\d+\) will be completed when the log reaches offset (\d+)"
)

Ends = dict[int, dict[int, str]]
"""By epoch, the offset of the last record of each operation, and the operation's name."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Records that are one decision. operation: of the controller, "" where its log does not say, or was lost.

    leader: of the first decision of an epoch, that it is led by this controller; else None. time_ms: of its batch.
    """

    time_ms: int
    epoch: int
    last_offset: int
    operation: str
    records: tuple[MetadataRecord, ...]
    leader: int | None = None


def operations(log: Path) -> Ends:
    """The operations in what a controller has logged."""
    ends: Ends = {}
    epoch = 0
    with log.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if (found := _EPOCH.search(line)) is not None:
                epoch = int(found[1])
            elif (found := _OPERATION.search(line)) is not None:
                ends.setdefault(epoch, {}).setdefault(int(found[2]), found[1])
    return ends


def decisions(log: Sequence[Batch], by_controller: Mapping[int, Ends]) -> Iterator[Decision]:
    """The decisions of a committed log, in its order. by_controller: what each controller has logged."""
    ends: dict[int, str] = {}
    for batch in log:
        if batch.leader is not None:
            ends = by_controller.get(batch.leader, {}).get(batch.epoch, {})
            yield Decision(batch.time_ms, batch.epoch, batch.base_offset, "", (), batch.leader)
        yield from _within(batch, ends)


def _within(batch: Batch, ends: Mapping[int, str]) -> Iterator[Decision]:
    """Decisions never span batches: what the controller's log does not close ends with the batch."""
    records = list[MetadataRecord]()
    for offset, record in enumerate(batch.records, batch.base_offset):
        records.append(record)
        is_last = offset == batch.base_offset + len(batch.records) - 1
        if offset in ends or is_last:
            yield Decision(batch.time_ms, batch.epoch, offset, ends.get(offset, ""), tuple(records))
            records = []
