"""Traces of clusters of ours as processes: what controllers decided, projected to each partition (`kraft/recorded`).

The projection is that of real clusters of Kafka (`impl.apache.recording`). Our controllers do not log on which request
they decide: it is told from the records, which cannot show that a reassignment was cancelled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from impl.apache.recording.decisions import Decision
from impl.apache.recording.driving import Done
from impl.apache.recording.projection import places, trace
from impl.kraft.metadata.encoding import MetadataRecord, decode
from impl.kraft.storage.batches import decode_all
from impl.kraft.storage.control import ControlType, control_type, read_leader_change
from tests.impl.kraft.simulation.decided import renamed

BATCH_MS = 1
"""Times of decisions and of the journal are rounded."""


def decisions(log: bytes, first: int) -> Iterator[Decision]:
    """Those in the metadata log of an active controller. first: the id of the broker that the trace has as 0."""
    for batch in decode_all(log):
        if batch.is_control:
            changes = [one for one in batch.records if control_type(one) == ControlType.LEADER_CHANGE]
            if changes:
                leader = read_leader_change(changes[0]).leader
                yield Decision(batch.timestamp_ms, batch.epoch, batch.base_offset, "", (), leader)
            continue
        records = tuple(renamed(decode(record.value or b""), first) for record in batch.records)
        yield Decision(batch.timestamp_ms, batch.epoch, batch.end_offset - 1, operation(records), records)


def operation(records: Sequence[MetadataRecord]) -> str:
    """As Kafka's controller calls it; "" where another one has changed what was to be changed."""
    changes = [one.fields for one in records if one.type == "PARTITION_CHANGE_RECORD"]
    if any(_is_moved(one) for one in changes):
        return "alterPartitionReassignments"
    is_alone = len(changes) == len(records)
    if changes and is_alone and all(one.get("isr") is None and one.get("replicas") is None for one in changes):
        return "electLeaders"
    return ""


def _is_moved(change: Mapping[str, Any]) -> bool:
    """By an operator: to replicas that are added or removed, or that are in sync already."""
    adding, removing = change.get("addingReplicas"), change.get("removingReplicas")
    return bool(adding or removing) or (adding is None and removing is None and change.get("replicas") is not None)


def traces(log: bytes, journal: Sequence[Done], nodes: Sequence[int]) -> dict[str, str]:
    """By the name of each partition that was created. log: of an active controller. nodes: the brokers, in order."""
    found = list(decisions(log, nodes[0]))
    return {
        f"{topic_id} {number}": trace(
            f"{topic_id} {number}", found, journal, (topic_id, number), len(nodes), batch_ms=BATCH_MS
        )
        for topic_id, number in dict.fromkeys(places(found))
    }
