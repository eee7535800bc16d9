"""The check that records can follow an image.

It is made before any of them is replayed, so that a damaged log leaves the image as it was.
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from impl.kraft.fields import check, refusal_of
from impl.kraft.image import Image, PartitionKey, RegistrationChange, ReplayError, no_gap
from impl.kraft.records import (
    AbortTransactionRecord,
    Batch,
    BeginTransactionRecord,
    EndTransactionRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    Record,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnregisterBrokerRecord,
)


def check_batches(image: Image, batches: Iterable[Batch]) -> None:
    """Raise ReplayError or InvalidFieldError unless these batches can be replayed on an image, one after the other."""
    ahead, offset = Ahead(image), image.offset
    for batch in batches:
        check("batch", batch, Batch)
        check_content(batch)
        if batch.base_offset != offset + 1:
            raise no_gap(batch, offset)
        for offset, record in enumerate(batch.records, batch.base_offset):
            ahead.take(record, offset)
        offset = batch.last_offset
        ahead.require_numbering(offset)


def check_content(batch: Batch) -> None:
    """Raise InvalidFieldError unless this is a batch of records, or a control batch."""
    if batch.control_records < 0 or (batch.records and batch.control_records):
        raise refusal_of("Batch.control_records", "a count, and 0 where there are records", batch.control_records)
    if not batch.records and not batch.control_records:
        raise refusal_of("Batch.records", "at least one record", batch.records)


def check_records(records: Iterable[Record], offset: int) -> None:
    """Raise ReplayError unless these records make an image. offset: to name in a message."""
    ahead = Ahead(Image())
    for record in records:
        ahead.take(record, offset)
    ahead.require_no_transaction(offset)
    ahead.require_numbering(offset)


class Ahead:
    """An image, and what records that are not replayed yet will have changed in it."""

    def __init__(self, image: Image) -> None:
        self._image = image
        self._broker_epochs: dict[int, int | None] = {}
        self._topics: dict[UUID, str | None] = {}
        self._names: dict[str, UUID | None] = {}
        self._partitions: dict[UUID, set[int]] = {}
        self._next_producer_id = image.next_producer_id
        self._transaction = None if image.transaction is None else image.transaction.copy()

    def take(self, record: Record, offset: int) -> None:
        """Take note of a record. Raises ReplayError where it is about what is not there, or makes what there is.

        Of a transaction the records count as it ends.
        """
        match record:
            case BeginTransactionRecord():
                self._require_transaction(offset, "begins", is_open=False)
                self._transaction = []
            case EndTransactionRecord() | AbortTransactionRecord():
                self._require_transaction(offset, "ends", is_open=True)
                within, self._transaction = self._transaction or [], None
                for one in within if isinstance(record, EndTransactionRecord) else ():
                    self._take(one, offset)
            case _ if self._transaction is not None:
                self._transaction.append(record)
            case _:
                self._take(record, offset)

    def require_no_transaction(self, offset: int) -> None:
        if self._transaction is not None:
            raise ReplayError(f"up to offset {offset} a transaction has begun that has not ended")

    def _require_transaction(self, offset: int, does: str, *, is_open: bool) -> None:
        if (self._transaction is not None) != is_open:
            found = "none has begun" if is_open else "one has begun that has not ended"
            raise ReplayError(f"the record at offset {offset} {does} a transaction, and {found}")

    def _take(self, record: Record, offset: int) -> None:
        match record:
            case PartitionChangeRecord():
                self._require_partition((record.topic_id, record.partition_id), offset)
            case PartitionRecord():
                if self._topic(record.topic_id) is None:
                    raise absent_topic("is about", record.topic_id, offset)
                self._partitions.setdefault(record.topic_id, set()).add(record.partition_id)
            case RegisterBrokerRecord():
                self._broker_epochs[record.broker_id] = record.broker_epoch
            case TopicRecord():
                self._create(record, offset)
            case RemoveTopicRecord():
                self._remove(record, offset)
            case ProducerIdsRecord():
                self._give_away(record.next_producer_id, offset)
            case _ if isinstance(record, RegistrationChange):
                self._require_registration(record, offset)
                if isinstance(record, UnregisterBrokerRecord):
                    self._broker_epochs[record.broker_id] = None

    def _topic(self, topic_id: UUID) -> str | None:
        return self._topics[topic_id] if topic_id in self._topics else self._image.topics.get(topic_id)

    def _create(self, record: TopicRecord, offset: int) -> None:
        of_name = self._names[record.name] if record.name in self._names else self._image.topic_ids.get(record.name)
        if of_name is not None or self._topic(record.topic_id) is not None:
            raise ReplayError(f"the record at offset {offset} makes topic {record.name!r}, {record.topic_id}, again")
        self._topics[record.topic_id], self._names[record.name] = record.name, record.topic_id

    def _remove(self, record: RemoveTopicRecord, offset: int) -> None:
        name = self._topic(record.topic_id)
        if name is None:
            raise absent_topic("removes", record.topic_id, offset)
        self._topics[record.topic_id] = self._names[name] = None
        self._partitions.pop(record.topic_id, None)

    def _give_away(self, next_producer_id: int, offset: int) -> None:
        if next_producer_id <= self._next_producer_id:
            raise ReplayError(
                f"the record at offset {offset} gives producer ids below {next_producer_id} away, "
                f"and those below {self._next_producer_id} are"
            )
        self._next_producer_id = next_producer_id

    def require_numbering(self, offset: int) -> None:
        """Raise ReplayError unless the partitions of each topic are numbered from 0 without a gap.

        Within a batch they may come in any order.
        """
        for topic_id, made in self._partitions.items():
            kept = 0 if topic_id in self._topics else self._image.partition_counts[topic_id]
            added = [partition_id for partition_id in made if not 0 <= partition_id < kept]
            if added and (min(added), max(added)) != (kept, kept + len(added) - 1):
                raise ReplayError(
                    f"up to offset {offset} partitions from {min(added)} to {max(added)} of topic {topic_id} are made, "
                    f"some of those from {kept} on left out"
                )

    def _require_partition(self, key: PartitionKey, offset: int) -> None:
        kept = key in self._image.partitions and key[0] not in self._topics
        if not kept and key[1] not in self._partitions.get(key[0], ()):
            raise ReplayError(
                f"the record at offset {offset} is about partition {key[1]} of topic {key[0]}, which is not there"
            )

    def _require_registration(self, record: RegistrationChange, offset: int) -> None:
        held = self._image.registrations.get(record.broker_id)
        epoch = self._broker_epochs.get(record.broker_id, None if held is None else held.broker_epoch)
        if epoch is None or epoch != record.broker_epoch:
            raise ReplayError(
                f"the record at offset {offset} is about broker {record.broker_id} at epoch {record.broker_epoch}, "
                "which is not registered"
            )


def absent_topic(does: str, topic_id: UUID, offset: int) -> ReplayError:
    return ReplayError(f"the record at offset {offset} {does} topic {topic_id}, which is not there")
