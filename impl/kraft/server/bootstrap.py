"""What a formatted directory begins with, as records of the core."""

from __future__ import annotations

from impl.kraft.metadata.core_records import MetadataCodec
from impl.kraft.records import BootstrapRecord
from impl.kraft.storage.directories import BOOTSTRAP, read_bootstrap
from impl.kraft.storage.disk import Disk
from impl.kraft.storage.errors import StorageError


def read_bootstrap_records(disk: Disk, directory: str) -> tuple[BootstrapRecord, ...]:
    """The levels of features, and credentials, that a formatted directory begins with. Raises StorageError."""
    codec, found = MetadataCodec(), list[BootstrapRecord]()
    for stored in read_bootstrap(disk, directory):
        try:
            record = codec.decode(stored.value or b"")
        except ValueError as error:
            raise StorageError(f"{directory}/{BOOTSTRAP}: {error}") from None
        if not isinstance(record, BootstrapRecord):
            raise StorageError(f"{directory}/{BOOTSTRAP}: no cluster begins with a {type(record).__name__}")
        found.append(record)
    return tuple(found)
