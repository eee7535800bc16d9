"""What the log of a partition knows of idempotent producers (KIP-98): what was written once is not written again."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from kio.schema.errors import ErrorCode

from impl.kraft.storage.partition_log import StoredBatch

_KEPT_BATCHES = 5
"""Of each producer, as in Kafka (ProducerStateEntry.NUM_BATCHES_TO_RETAIN): it has no more than so many in flight."""
_SEQUENCES = 1 << 31
NO_PRODUCER = -1


@dataclass(slots=True)
class _Producer:
    epoch: int
    last_sequence: int
    batches: deque[StoredBatch] = field(default_factory=lambda: deque(maxlen=_KEPT_BATCHES))


class Producers:
    """By producer id, the last batches of its newest epoch."""

    def __init__(self, batches: Iterable[StoredBatch] = ()) -> None:
        """batches: of the log, from its start on."""
        self._of_id: dict[int, _Producer] = {}
        for batch in batches:
            self.note(batch)

    def note(self, batch: StoredBatch) -> None:
        """A batch was appended."""
        header = batch.header
        if header.producer_id == NO_PRODUCER:
            return
        known = self._of_id.get(header.producer_id)
        if known is None or known.epoch != header.producer_epoch:
            known = self._of_id[header.producer_id] = _Producer(header.producer_epoch, 0)
        known.last_sequence = _last_sequence(batch)
        known.batches.append(batch)

    def verdict(self, batch: StoredBatch) -> tuple[ErrorCode, StoredBatch | None]:
        """Whether a batch that is not in the log may be appended; with no error and a batch: that is this one already.

        Of a producer that the log knows nothing of, any sequence is taken, as by Kafka (ProducerAppendInfo).
        """
        header = batch.header
        known = self._of_id.get(header.producer_id)
        if header.producer_id == NO_PRODUCER or known is None:
            return ErrorCode.none, None
        if header.producer_epoch < known.epoch:
            return ErrorCode.invalid_producer_epoch, None
        if header.producer_epoch > known.epoch:
            follows = header.base_sequence == 0
        else:
            for written in known.batches:
                ends = (written.header.base_sequence, _last_sequence(written))
                if ends == (header.base_sequence, _last_sequence(batch)):
                    return ErrorCode.none, written
            follows = header.base_sequence == (known.last_sequence + 1) % _SEQUENCES
        return (ErrorCode.none if follows else ErrorCode.out_of_order_sequence_number), None


def _last_sequence(batch: StoredBatch) -> int:
    return (batch.header.base_sequence + batch.header.last_offset_delta) % _SEQUENCES
