"""Errors of the storage. Whoever meets one ends its process, but for DiskFull, which leaves time to resign."""

from __future__ import annotations


class StorageError(Exception):
    """The storage cannot go on, or not be opened. The message names the file and how to mend it."""


class BitRotError(StorageError):
    """What had been written is damaged, or gone: no crash leaves this."""


class DiskFullError(StorageError):
    """There is no space left. Nothing can be appended any more; an election state can still be persisted."""


class StorageEndedError(StorageError):
    """An earlier write failed: nobody knows what of it is on disk, and a later fsync that succeeds proves nothing."""


class LogUseError(ValueError):
    """The log was asked for what no log can do: a gap, an epoch that falls, a read outside of it."""


REBUILD = (
    "To rebuild this voter: stop it, check that a majority of the others is healthy, delete this directory, format it "
    "with the same node id and cluster id, and start: it fetches everything from the leader"
)
