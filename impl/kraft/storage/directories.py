"""Log directories: formatting them, and reading at a start that they belong to this node and this cluster.

`meta.properties` marks a formatted directory, and is written last; `bootstrap.checkpoint` beside it has what the first
leader writes first. The metadata directory among them holds `__cluster_metadata-0`.
"""

from __future__ import annotations

import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID, uuid4

from impl.kraft.storage.batches import BatchError, Record, RecordBatch, encode
from impl.kraft.storage.control import snapshot_footer, snapshot_header
from impl.kraft.storage.disk import Disk, File, read_whole, write_durably
from impl.kraft.storage.errors import BitRotError, StorageError
from impl.kraft.storage.snapshots import data_batches
from impl.runtime.properties import ConfigError, properties

META_PROPERTIES = "meta.properties"
BOOTSTRAP = "bootstrap.checkpoint"
PARTITION = "__cluster_metadata-0"
LOCK = ".lock"
PARTITION_METADATA = b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"
_VERSION = "1"
_ID_CHARACTERS = 22


@dataclass(frozen=True, slots=True)
class MetaProperties:
    """The identity of a log directory. cluster_id, directory_id: base64 of 16 bytes, 22 characters."""

    cluster_id: str
    node_id: int
    directory_id: str


def format_directories(
    disk: Disk,
    directories: Sequence[str],
    cluster_id: str,
    node_id: int,
    bootstrap: Sequence[Record],
    *,
    ignore_formatted: bool = False,
    random_id: Callable[[], UUID] = uuid4,
    now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
) -> list[str]:
    """Format log directories, made where they are missing; those that were formatted now.

    bootstrap: the records of `bootstrap.checkpoint`. Raises StorageError where one is formatted already, and writes
    nothing then; with `ignore_formatted` it stays as it is.
    """
    check_id("cluster id", cluster_id)
    fresh = [directory for directory in directories if not _has(disk, directory, META_PROPERTIES)]
    if len(fresh) < len(directories) and not ignore_formatted:
        formatted = next(directory for directory in directories if directory not in fresh)
        raise StorageError(
            f"Log directory {formatted} is already formatted. Use --ignore-formatted to ignore this directory "
            "and format the others."
        )
    for directory in fresh:
        parent = directory.rpartition("/")[0]
        disk.make_directory(directory)
        disk.sync_directory(parent or "/")
        write_durably(disk, directory, BOOTSTRAP, bootstrap_bytes(bootstrap, now_ms()))
        identity = MetaProperties(cluster_id, node_id, encode_id(random_id()))
        write_durably(disk, directory, META_PROPERTIES, to_text(identity).encode())
    return fresh


def read_directories(disk: Disk, directories: Sequence[str], node_id: int) -> dict[str, MetaProperties]:
    """The identity of each. Raises StorageError unless all are formatted, for this node and one cluster."""
    found: dict[str, MetaProperties] = {}
    for directory in directories:
        try:
            found[directory] = read_identity(disk, directory)
        except FileNotFoundError:
            raise StorageError(
                f"{directory} is not formatted: there is no {META_PROPERTIES}. Run `kafka-storage format`"
            ) from None
        if found[directory].node_id != node_id:
            path = f"{directory}/{META_PROPERTIES}"
            raise StorageError(f"{path}: node.id is {found[directory].node_id}, and this node is {node_id}")
    if several := several_clusters(found):
        raise StorageError(several)
    return found


def read_identity(disk: Disk, directory: str) -> MetaProperties:
    """Raises FileNotFoundError where it is not formatted, StorageError."""
    path = f"{directory}/{META_PROPERTIES}"
    return from_text(read_whole(disk, path), path)


def several_clusters(identities: Mapping[str, MetaProperties]) -> str:
    """What is wrong with directories that are of more than one cluster; "" where they are of one."""
    clusters = {identity.cluster_id: directory for directory, identity in identities.items()}
    if len(clusters) <= 1:
        return ""
    named = ", ".join(f"{cluster} in {directory}" for cluster, directory in clusters.items())
    return f"the log directories are of several clusters: {named}"


def lock_directories(disk: Disk, directories: Sequence[str]) -> list[File]:
    """Keep other processes out until these are closed. Raises StorageError where one is there."""
    held: list[File] = []
    for directory in directories:
        try:
            held.append(disk.lock(f"{directory}/{LOCK}"))
        except BlockingIOError:
            for lock in held:
                lock.close()
            raise StorageError(f"{directory} is in use by another process, which holds {LOCK}") from None
    return held


def read_bootstrap(disk: Disk, directory: str) -> list[Record]:
    """The records of `bootstrap.checkpoint`. Raises StorageError."""
    path = f"{directory}/{BOOTSTRAP}"
    try:
        return [record for batch in data_batches(read_whole(disk, path), epoch=0) for record in batch.records]
    except FileNotFoundError:
        raise StorageError(f"{path} is missing: format the directory again") from None
    except BatchError as error:
        raise BitRotError(f"{path}: {error}. Format the directory again, or copy the file of another node") from None


def bootstrap_bytes(records: Sequence[Record], now_ms: int) -> bytes:
    """A snapshot of nothing: header, the records in one batch, footer."""
    parts = [
        ((snapshot_header(0),), True),
        *([(tuple(records), False)] if records else []),
        ((snapshot_footer(),), True),
    ]
    offset, found = 0, b""
    for part, is_control in parts:
        batch = RecordBatch(offset, 0, now_ms, part, is_control)
        found += encode(batch)
        offset = batch.end_offset
    return found


def to_text(identity: MetaProperties) -> str:
    values = {
        "cluster.id": identity.cluster_id,
        "directory.id": identity.directory_id,
        "node.id": identity.node_id,
        "version": _VERSION,
    }
    return "".join(f"{key}={value}\n" for key, value in values.items())


def from_text(data: bytes, path: str) -> MetaProperties:
    """Raises StorageError."""
    try:
        values: Mapping[str, str] = properties(data.decode())
        if values.get("version") != _VERSION:
            raise StorageError(f"{path}: version {values.get('version')!r} is unknown; known is {_VERSION}")
        cluster_id, directory_id, node_id = (values[key] for key in ("cluster.id", "directory.id", "node.id"))
        check_id("cluster.id", cluster_id)
        check_id("directory.id", directory_id)
        return MetaProperties(cluster_id, int(node_id), directory_id)
    except KeyError as error:
        raise StorageError(f"{path}: {error.args[0]} is missing") from None
    except (ConfigError, ValueError) as error:
        raise StorageError(f"{path}: {error}") from None


def encode_id(uuid: UUID) -> str:
    return urlsafe_b64encode(uuid.bytes).decode().rstrip("=")


def decode_id(text: str) -> UUID:
    """Of one that was checked."""
    return UUID(bytes=urlsafe_b64decode(text + "=="))


def ids_of(identities: Mapping[str, MetaProperties], directories: Sequence[str]) -> dict[str, UUID]:
    """The ids of these directories, by path."""
    return {directory: decode_id(identities[directory].directory_id) for directory in directories}


def check_id(name: str, text: str) -> None:
    """Raises StorageError unless this is the base64 of 16 bytes."""
    try:
        size = len(urlsafe_b64decode(text + "=="))
    except ValueError:
        size = 0
    if len(text) != _ID_CHARACTERS or size != 16:
        raise StorageError(f"{name} {text!r} is not the base64 of 16 bytes, {_ID_CHARACTERS} characters")


def _has(disk: Disk, directory: str, name: str) -> bool:
    try:
        return name in disk.names(directory)
    except FileNotFoundError:
        return False
