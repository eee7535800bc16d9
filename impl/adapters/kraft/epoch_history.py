"""Identity of epochs: after a truncation the quorum issues the same offsets and epochs again.

Two controllers may have issued the same number for different things, as long as at most one of these is committed. The
spec never issues a value twice, so what is compared is when a value was issued, not which it is; so it is with offsets
that somebody waits for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from checker.conform.system import Ordinal
from impl.adapters.kraft.views import broker_epoch, leader_epoch, partition_epoch
from impl.kraft.image import Image, PartitionKey
from impl.kraft.records import Batch, BrokerRegistrationChangeRecord, RegisterBrokerRecord

BROKER, LEADER, PARTITION, OFFSET = "BrokerEpoch", "LeaderEpoch", "PartitionEpoch", "MetadataOffset"
BEYOND = 1 << 30  # more than a cluster under test ever issues

Issued = tuple[str, PartitionKey | None, int]
Marks = tuple[int, ...]


def topic_number(id_: UUID) -> int:
    """The number of topics created before this one."""
    return id_.int - 1


class Entry(NamedTuple):
    """A batch in the log of a controller. number: how many were written before it, by any controller."""

    number: int
    batch: Batch


@dataclass(frozen=True, slots=True, eq=False)
class EpochHistory:
    """The batch that issued each epoch, and each offset waited for. Without `numbers`, none is issued twice."""

    numbers: Mapping[Issued, int] | None = None

    def after(self, entry: Entry, before: Image, image: Image) -> EpochHistory:
        """The history with the epochs that an entry issues, which leads from one image to the other."""
        if self.numbers is None:
            return self
        return EpochHistory({**self.numbers, **dict.fromkeys(issued(entry.batch, before, image), entry.number)})

    def beyond(self, log: Iterable[Entry]) -> EpochHistory:
        """The history with what a log issues of brokers, which need not follow on what it knows."""
        own = numbers_of_brokers(log)
        return self if self.numbers is None or not own else EpochHistory({**self.numbers, **own})

    def confuses(self, log: Iterable[Entry], epoch: int) -> bool:
        """This log has issued a broker epoch that is another one here."""
        issue = BROKER, None, epoch
        own, here = numbers_of_brokers(log).get(issue), (self.numbers or {}).get(issue)
        return None not in (own, here) and own != here

    def reached(self, marks: Marks, offset: int) -> Ordinal | None:
        """The last offset waited for that `offset` reaches. marks: as in `offsets`."""
        return self.last_of(self.offsets(marks), offset)

    def last_of(self, waited_for: Iterable[int], offset: int) -> Ordinal | None:
        """The last of these offsets that `offset` reaches."""
        found = max((at for at in waited_for if at <= offset), default=None)
        return None if found is None else self.offset(found)

    def offsets(self, marks: Marks) -> Marks:
        """All offsets that somebody waits for, in their order. marks: those that no batch says."""
        if self.numbers is None:
            return marks
        return tuple(sorted({*marks, *(at for kind, _, at in self.numbers if kind == OFFSET)}))

    def offset(self, value: int) -> Ordinal:
        return Ordinal(OFFSET, self._when(OFFSET, None, value))

    def broker_epoch(self, value: int) -> Ordinal:
        return broker_epoch(self._when(BROKER, None, value))

    def leader_epoch(self, key: PartitionKey, value: int) -> Ordinal:
        return leader_epoch(topic_number(key[0]), key[1], self._when(LEADER, key, value))

    def partition_epoch(self, key: PartitionKey, value: int) -> Ordinal:
        return partition_epoch(topic_number(key[0]), key[1], self._when(PARTITION, key, value))

    def _when(self, kind: str, key: PartitionKey | None, value: int) -> int:
        """A value that nobody issued counts as newer than all, a negative one as older."""
        if self.numbers is None:
            return value
        number = self.numbers.get((kind, key, value))
        return number if number is not None else value if value < 0 else BEYOND + value


def issued(batch: Batch, before: Image, after: Image) -> Iterator[Issued]:
    """The epochs that a batch issues."""
    yield from issued_of_brokers(batch)
    for key, partition in after.partitions.items():
        old = before.partitions.get(key)
        if old is None or old.leader_epoch != partition.leader_epoch:
            yield LEADER, key, partition.leader_epoch
        if old is None or old.partition_epoch != partition.partition_epoch:
            yield PARTITION, key, partition.partition_epoch


def issued_of_brokers(batch: Batch) -> Iterator[Issued]:
    """The broker epochs that a batch issues, and the offsets of registrations written again and of shutdowns."""
    for offset, record in enumerate(batch.records, batch.base_offset):
        match record:
            case RegisterBrokerRecord(broker_epoch=epoch) if epoch >= batch.base_offset:
                yield BROKER, None, epoch
            case RegisterBrokerRecord():
                yield OFFSET, None, offset
            case BrokerRegistrationChangeRecord(in_controlled_shutdown=True):
                yield OFFSET, None, batch.last_offset


def numbers_of_brokers(log: Iterable[Entry]) -> dict[Issued, int]:
    """The numbers of the batches that issued what a log has of brokers."""
    return {one: entry.number for entry in log for one in issued_of_brokers(entry.batch)}


def replayed(history: EpochHistory, image: Image, entries: Iterable[Entry]) -> Iterator[tuple[EpochHistory, Image]]:
    """EpochHistory and image after each of the entries that follow on an image."""
    for entry in entries:
        after = image.copy()
        after.replay(entry.batch)
        history, image = history.after(entry, image, after), after
        yield history, image
