"""Identity of epochs: after a truncation the quorum issues the same offsets and epochs again.

Two controllers may have issued the same number for different things, as long as at most one of these is committed. The
spec never issues a value twice, so what is compared is when a value was issued, not which it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from checker.conform.system import Ordinal
from impl.adapters.kraft.views import broker_epoch, leader_epoch, partition_epoch
from impl.kraft.image import Image, PartitionKey
from impl.kraft.records import Batch

BROKER, LEADER, PARTITION = "BrokerEpoch", "LeaderEpoch", "PartitionEpoch"
BEYOND = 1 << 30  # more than a cluster under test ever issues

Issued = tuple[str, PartitionKey | None, int]


def topic_number(id_: UUID) -> int:
    """The number of topics created before this one."""
    return id_.int - 1


class Entry(NamedTuple):
    """A batch in the log of a controller. number: how many were written before it, by any controller."""

    number: int
    batch: Batch


@dataclass(frozen=True, slots=True, eq=False)
class EpochHistory:
    """The batch that issued each epoch of a log; without `numbers`, none is issued twice."""

    numbers: Mapping[Issued, int] | None = None

    def after(self, entry: Entry, before: Image, image: Image) -> EpochHistory:
        """The history with the epochs that an entry issues, which leads from one image to the other."""
        if self.numbers is None:
            return self
        return EpochHistory({**self.numbers, **dict.fromkeys(issued(entry.batch, before, image), entry.number)})

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
    for registration in after.registrations.values():
        if registration.broker_epoch >= batch.base_offset:
            yield BROKER, None, registration.broker_epoch
    for key, partition in after.partitions.items():
        old = before.partitions.get(key)
        if old is None or old.leader_epoch != partition.leader_epoch:
            yield LEADER, key, partition.leader_epoch
        if old is None or old.partition_epoch != partition.partition_epoch:
            yield PARTITION, key, partition.partition_epoch


def replayed(history: EpochHistory, image: Image, entries: Iterable[Entry]) -> Iterator[tuple[EpochHistory, Image]]:
    """EpochHistory and image after each of the entries that follow on an image."""
    for entry in entries:
        after = image.copy()
        after.replay(entry.batch)
        history, image = history.after(entry, image, after), after
        yield history, image
