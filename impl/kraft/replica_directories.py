"""The log directories that replicas are in, by their ids (KIP-858; DirectoryId of Kafka)."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

MIGRATING = UUID(int=0)
"""One that the broker knows and the log does not: of before directories were told."""
UNASSIGNED = UUID(int=1)
"""One that the broker is yet to choose."""
LOST = UUID(int=2)
"""One that is gone, whichever it was."""
_RESERVED = 100


def is_reserved(directory: UUID) -> bool:
    """The id is no directory's."""
    return directory.int < _RESERVED


def is_online(directory: UUID, online: Collection[UUID]) -> bool:
    """online: what its broker has said; before it has said anything, all are."""
    if directory in (MIGRATING, UNASSIGNED):
        return True
    return directory != LOST and (not online or directory in online)
