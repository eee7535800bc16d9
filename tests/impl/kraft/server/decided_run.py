"""Traces of clusters of ours as processes: what controllers decided, projected to each partition (`kraft/recorded`).

The projection is that of real clusters of Kafka (`impl.apache.recording`). Our controllers log when they fence a broker
whose lease has expired; on which request they decide otherwise is told from the records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from impl.apache.recording.decisions import Decision
from impl.apache.recording.driving import Done
from impl.apache.recording.projection import FENCING, HEARTBEAT, places, trace
from impl.kraft.metadata.encoding import MetadataRecord, decode
from impl.kraft.recorded.image import SAME_LEADER, Image, Partition, is_fenced_by, place
from impl.kraft.recorded.records import is_of_directories, numbered
from impl.kraft.storage.batches import decode_all
from impl.kraft.storage.control import ControlType, control_type, read_leader_change

BATCH_MS = 20
"""Within which what was done and what was decided may be told in another order."""
Place = tuple[int, int]
"""Epoch and base offset of a batch."""


def expired(lines: Iterable[Mapping[str, Any]]) -> set[Place]:
    """Where brokers were fenced because their leases had expired. lines: of the logs of all controllers."""
    return {(line["epoch"], line["offset"]) for line in lines if line["event"] == "lease expired"}


def ahead_ms(lines: Iterable[Mapping[str, Any]]) -> dict[int, int]:
    """By epoch, how far the clock of its leader is ahead of the machine's monotonic one. lines: of a controller's log.

    It was so when that process started. The machine's time of day may have been set since, or be adjusted step by step.
    Who led and starts again says so once more, and has another clock.
    """
    found, own_ms = dict[int, int](), 0
    for line in lines:
        own_ms = line.get("clock_ahead_ms", own_ms)
        if line["event"] == "quorum" and line["leader"] == line["node"]:
            found.setdefault(line["epoch"], own_ms)
    return found


def decisions(log: bytes, nodes: Sequence[int], lapsed: Set[Place] = frozenset()) -> Iterator[Decision]:
    """Those in the metadata log of an active controller. nodes: the brokers, in the order in which traces have them.

    lapsed: as `expired` has it.
    """
    image, numbers = Image(), {node: number for number, node in enumerate(nodes)}
    for batch in decode_all(log):
        if batch.is_control:
            changes = [one for one in batch.records if control_type(one) == ControlType.LEADER_CHANGE]
            if changes:
                leader = read_leader_change(changes[0]).leader
                yield Decision(batch.timestamp_ms, batch.epoch, batch.base_offset, "", (), leader)
            continue
        read = (numbered(decode(record.value or b""), numbers) for record in batch.records)
        records = tuple(record for record in read if not is_of_directories(record))
        name = FENCING if (batch.epoch, batch.base_offset) in lapsed else operation(records, image)
        yield Decision(batch.timestamp_ms, batch.epoch, batch.end_offset - 1, name, records)
        for record in records:
            image.replay(record)


def operation(records: Sequence[MetadataRecord], before: Image) -> str:
    """As Kafka's controller calls it; "" where it need not be known."""
    if any(is_fenced_by(one) for one in records if one.type == "BROKER_REGISTRATION_CHANGE_RECORD"):
        return HEARTBEAT
    changes = [one for one in records if one.type == "PARTITION_CHANGE_RECORD"]
    if any(_is_moved(one.fields, before.partitions[place(one)]) for one in changes):
        return "alterPartitionReassignments"
    is_alone = len(changes) == len(records)
    if changes and is_alone and all(_has_only_its_leader(one.fields) for one in changes):
        return "electLeaders"
    return ""


def _is_moved(change: Mapping[str, Any], before: Partition) -> bool:
    """By an operator: replicas are added or removed, are in sync already, or no longer to be replaced."""
    adding, removing, replicas = (change.get(name) for name in ("addingReplicas", "removingReplicas", "replicas"))
    is_begun = bool(adding or removing) or (adding is None and removing is None and replicas is not None)
    if is_begun or not before.is_moving or (adding, removing) == (None, None):
        return is_begun
    target = tuple(replica for replica in before.replicas if replica not in before.removing)
    after = before.replicas if replicas is None else tuple(replicas)
    return after == before.original or after != target  # it is cancelled, or another one, of which all are in sync


def _has_only_its_leader(change: Mapping[str, Any]) -> bool:
    has_leader = change.get("leader", SAME_LEADER) != SAME_LEADER
    return has_leader and change.get("isr") is None and change.get("replicas") is None


def traces(
    log: bytes, lapsed: Set[Place], journal: Sequence[Done], nodes: Sequence[int], about: str = "",
    clocks_ms: Mapping[int, int] | None = None,
) -> dict[str, str]:  # fmt: skip
    """By the name of each partition that was created. log: of an active controller. nodes: the brokers, in order.

    lapsed: as `expired` has it. about: what their names begin with. clocks_ms: by epoch, how far the times of its
    decisions are ahead of those of the journal; None: they are not.
    """
    found = list(decisions(log, nodes, lapsed))
    if clocks_ms is not None:
        found = [replace(one, time_ms=one.time_ms - clocks_ms[one.epoch]) for one in found]
    names = {at: f"{about}{at[0]} {at[1]}" for at in places(found)}
    return {name: trace(name, found, journal, at, len(nodes), batch_ms=BATCH_MS) for at, name in names.items()}
