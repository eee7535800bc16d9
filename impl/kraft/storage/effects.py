"""Effects on the disk that a core asks for, as values, and what carries them out.

The order of a list is kept, and all of these are done when the next begins: so `Persist` is a barrier, and a message
behind a `Flush` or `TruncateLog` tells of nothing that a crash can take away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from impl.kraft.storage.election import ElectionState
from impl.kraft.storage.sizes import SnapshotId, StoredSizes
from impl.kraft.storage.storage import QuorumStorage


@dataclass(frozen=True, slots=True)
class Persist:
    """Remember epoch, leader and vote."""

    state: ElectionState


@dataclass(frozen=True, slots=True)
class AppendToLog:
    """Append whole batches, the leader's own or fetched in this epoch."""

    data: bytes
    epoch: int


@dataclass(frozen=True, slots=True)
class Flush:
    """Make what is appended durable; the core hears of its end."""


@dataclass(frozen=True, slots=True)
class TruncateLog:
    """Cut what is at this offset and behind, durably."""

    end_offset: int


@dataclass(frozen=True, slots=True)
class ReceiveSnapshot:
    """Keep bytes of a snapshot that the leader sends. At position 0 it is begun."""

    snapshot_id: SnapshotId
    position: int
    data: bytes


@dataclass(frozen=True, slots=True)
class FreezeSnapshot:
    """Make a snapshot durable all of whose bytes are there; the core hears of its end, and whether it is whole."""

    snapshot_id: SnapshotId


@dataclass(frozen=True, slots=True)
class DeleteBefore:
    """Delete the segments and snapshots that a snapshot stands for."""

    snapshot_id: SnapshotId


@dataclass(frozen=True, slots=True)
class DeleteLeftovers:
    """Delete the files of what was deleted: until then, it is only their names that say so."""


@dataclass(frozen=True, slots=True)
class MeasureStorage:
    """Tell the core how large segments and snapshots are."""


@dataclass(frozen=True, slots=True)
class InstallSnapshot:
    """Let the log start at the end of a snapshot that was received."""

    snapshot_id: SnapshotId


DiskEffect = (
    Persist
    | AppendToLog
    | Flush
    | TruncateLog
    | ReceiveSnapshot
    | FreezeSnapshot
    | InstallSnapshot
    | DeleteBefore
    | DeleteLeftovers
    | MeasureStorage
)
Other = TypeVar("Other")


def carry_out(
    storage: QuorumStorage,
    effects: Iterable[DiskEffect | Other],
    on_flushed: Callable[[int], None],
    on_frozen: Callable[[SnapshotId, bool], None],
    on_measured: Callable[[StoredSizes], None],
    otherwise: Callable[[Other], None],
) -> None:
    """Carry out effects in order. otherwise: messages, timers.

    on_flushed: is given the end of what is on disk. on_frozen: a snapshot, and whether it is whole. None of them may
    hand in an input at once. Raises StorageError; what stands behind the effect that failed is not carried out.
    """
    for effect in effects:
        match effect:
            case Persist():
                storage.persist(effect.state)
            case AppendToLog():
                storage.append(effect.data, effect.epoch)
            case Flush():
                on_flushed(storage.flush())
            case TruncateLog():
                storage.truncate(effect.end_offset)
            case ReceiveSnapshot():
                storage.receive(effect.snapshot_id, effect.position, effect.data)
            case FreezeSnapshot():
                on_frozen(effect.snapshot_id, storage.freeze(effect.snapshot_id))
            case InstallSnapshot():
                storage.install(effect.snapshot_id)
            case DeleteBefore():
                storage.delete_before(effect.snapshot_id)
            case DeleteLeftovers():
                storage.delete_leftovers()
            case MeasureStorage():
                on_measured(storage.sizes())
            case _:
                otherwise(effect)
