"""The rules of the metadata (KIP-631's S properties), held on what is committed, and on every image of it.

The log is replayed once more beside the nodes, batch by batch: that is what their images are compared with.
"""

from __future__ import annotations

from uuid import UUID

from impl.kraft.broker import Broker
from impl.kraft.continuity import check_batches
from impl.kraft.controller.reassignment import list_reassignments
from impl.kraft.image import Image, Partition
from impl.kraft.messages import ListPartitionReassignmentsRequest, Response
from impl.kraft.metadata.core_records import MetadataCodec
from impl.kraft.node import Node
from impl.kraft.node.codec import batch_of
from impl.kraft.records import (
    NO_LEADER,
    ConfigRecord,
    Record,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnregisterBrokerRecord,
)
from impl.kraft.simulation.histories import WrongReadError
from impl.kraft.simulation.invariants import hold
from impl.kraft.snapshot import Snapshot, write_snapshot
from impl.kraft.storage.batches import decode_all

Mark = tuple[str | int | None, ...]
"""What a record does, as far as it is unlike what any other does: by it, a client's request is found in the log."""


class MetadataRules:
    """image: the replay of all that is committed. marks: the last offset of each."""

    def __init__(self) -> None:
        self.image = Image()
        self.marks: dict[Mark, int] = {}
        self._codec = MetadataCodec()
        self._listings: list[tuple[int, Response]] = [(0, listing_of(self.image))]
        self._snapshots: dict[int, Snapshot] = {self.image.offset: write_snapshot(self.image)}
        self._seen: dict[int, tuple[int, int]] = {}

    @property
    def end_offset(self) -> int:
        return self.image.offset + 1

    def commit(self, data: bytes, end_offset: int) -> None:
        """Batches of the log, from where the image ends; those before an offset are committed."""
        for stored in decode_all(data):
            if stored.end_offset > end_offset:
                break
            batch, before = batch_of(stored, self._codec), self.image.copy()
            check_batches(before, [batch])
            self.image.replay(batch)
            for offset, record in enumerate(batch.records, batch.base_offset):
                if (mark := mark_of(record)) is not None:
                    self.marks[mark] = offset
            check_image(self.image)
            check_step(before, self.image)
            self._snapshots[self.image.offset] = write_snapshot(self.image)
            if (listing := listing_of(self.image)) != self._listings[-1][1]:
                self._listings.append((self.image.offset, listing))

    def look_at_controller(self, number: int, node: Node) -> None:
        """S11: its image is the replay of the log; so is the one ahead, once all that it has decided is committed."""
        controller, high_watermark = node.controller, node.raft.voter.high_watermark
        is_applied = node.applied_end == high_watermark
        hold(is_applied, "S11", f"node {number} has applied up to {node.applied_end}, of {high_watermark}")
        is_settled = controller.speculative.offset == controller.committed.offset
        self.is_replay(number, controller.speculative if is_settled else controller.committed)

    def look_at_broker(self, number: int, broker: Broker) -> None:
        """S14: its image is what was committed at some time, and it acts on nothing else."""
        self.is_replay(number, broker.image)

    def is_replay(self, number: int, image: Image) -> None:
        """Looked at whenever it has moved."""
        if self._seen.get(number) == (id(image), image.offset):
            return
        self._seen[number] = id(image), image.offset
        expected = self._snapshots.get(image.offset)
        hold(expected is not None, "S11", f"node {number} has an image up to {image.offset}, within a batch or beyond")
        hold(write_snapshot(image) == expected, "S11", f"node {number} has another image at {image.offset}")

    def look_at_snapshot(self, number: int, snapshot: Snapshot) -> None:
        """S11: a snapshot that a node writes is that of the replay."""
        is_replay = snapshot == self._snapshots.get(snapshot.offset)
        hold(is_replay, "S11", f"node {number} writes another snapshot at {snapshot.offset}")

    def offset_of(self, listing: Response, since: int) -> int:
        """The first offset, not before one, at which reassignments are as they are told. Raises WrongReadError."""
        ends = [*(offset for offset, _ in self._listings[1:]), self.end_offset + 1]
        found = [(start, end) for (start, one), end in zip(self._listings, ends, strict=True) if one == listing]
        if not found:
            raise WrongReadError(f"is not committed: {listing}")
        if found[-1][1] <= since:
            raise WrongReadError(f"goes back: {listing}, which was so before {found[-1][1]}, behind one as of {since}")
        return max(since, next(start for start, end in found if since < end))

    def find(self, mark: Mark, began: int) -> None:
        """S7: what a client was told is in the log, behind all that was committed when it asked."""
        found = self.marks.get(mark, -1)
        hold(found >= began, "S7", f"{mark} was acknowledged, and is not behind {began} of what is committed")


def listing_of(image: Image) -> Response:
    return list_reassignments(image, ListPartitionReassignmentsRequest())


def mark_of(record: Record) -> Mark | None:
    match record:
        case TopicRecord(topic_id=topic_id):
            return "created", topic_id.int
        case RemoveTopicRecord(topic_id=topic_id):
            return "deleted", topic_id.int
        case ConfigRecord(name=name, value=value):
            return "config", name, value
        case RegisterBrokerRecord(broker_id=broker_id, broker_epoch=broker_epoch, incarnation_id=incarnation_id):
            return "registered", broker_id, broker_epoch, incarnation_id.int
        case UnregisterBrokerRecord(broker_id=broker_id):
            return "unregistered", broker_id
    return None


def check_image(image: Image) -> None:
    """What holds at the end of each batch (S3, S4)."""
    for (topic_id, partition_id), partition in image.partitions.items():
        what, isr = f"partition {partition_id} of {topic_id}: {partition}", set(partition.isr)
        hold(bool(isr) and len(isr) == len(partition.isr) and isr <= set(partition.replicas), "S3", what)
        active = {broker_id for broker_id in isr if image.is_active(broker_id)}
        hold(isr == active or len(isr) == 1, "S4", f"not active, and in the ISR, {what}")
        hold(partition.leader in active if active else partition.leader == NO_LEADER, "S3", f"led wrongly, {what}")
        moving = {*partition.adding_replicas, *partition.removing_replicas}
        hold(moving <= set(partition.replicas), "S10", f"moves what is no replica, {what}")
        hold(len(set(partition.replicas)) == len(partition.replicas), "S10", f"a replica twice, {what}")


def check_step(before: Image, after: Image) -> None:
    """What holds from each batch to the next (S2, S5, S10)."""
    for broker_id, registration in after.registrations.items():
        old, epoch = before.registrations.get(broker_id), registration.broker_epoch
        if old is not None and old.incarnation_id == registration.incarnation_id:
            hold(old.broker_epoch == epoch, "S2", f"broker {broker_id} goes from epoch {old.broker_epoch} to {epoch}")
        else:
            is_new = before.offset < epoch <= after.offset and registration.fenced
            hold(is_new, "S2", f"broker {broker_id} is registered anew at epoch {epoch}, behind {before.offset}")
    for key, partition in after.partitions.items():
        if key in before.partitions and before.partitions[key] != partition:
            least = min_isr_of(before, key[0])
            check_change(before.partitions[key], partition, least)


def min_isr_of(image: Image, topic_id: UUID) -> int:
    return image.min_insync_replicas(topic_id, default=1)


def check_change(old: Partition, new: Partition, min_isr: int) -> None:
    """S5, and what a reassignment may do (S10)."""
    what, goes = f"{old} becomes {new}", not set(old.replicas) <= set(new.replicas)
    hold(new.partition_epoch == old.partition_epoch + 1, "S5", f"the partition epoch, {what}")
    hold(new.leader_epoch == old.leader_epoch + (goes or new.leader != old.leader), "S5", f"the leader epoch, {what}")
    hold(not goes or not len(new.isr) < min_isr <= len(old.isr), "S10", f"below min.insync.replicas, {what}")
    if old.is_reassigning and not new.is_reassigning and set(old.adding_replicas) <= set(new.replicas):
        hold(set(new.replicas) <= set(old.replicas), "S10", f"what completes adds something, {what}")
        added = set(old.adding_replicas) - set(old.removing_replicas)
        hold(added <= set(new.isr), "S10", f"complete without all that it adds, {what}")
