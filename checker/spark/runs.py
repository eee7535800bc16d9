"""Sorted runs of packed states in Parquet files, in a folder that every executor can reach.

A run's columns are the words of its states, w0, w1, ... (uint64), in the order of `order`. The footer has the first
state and the digest of every row group, so that a run is read only where it is asked for; a `Run` has the digest of the
footer. So every byte that is read is known to be what was written. Why Parquet, and why sorted:
docs/decisions/0007-states-on-spark.md.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import io
import itertools
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from checker.errors import cannot_write
from checker.redaction import redacted
from checker.running.arrays import Longs, Words
from checker.running.checkpoint import CheckpointError
from checker.spark.order import Order, Records

GROUP = 1 << 16  # states of a row group
READERS, TINY = 1024, 1 << 11  # runs whose footers a process keeps, and their states if they are no more than TINY
MOST_RUNS = 12  # of a shard, before the small ones are merged
GS_LIMIT_S = 60  # of retries; Google's client continues for a quarter of an hour otherwise
_GS_LIMIT = "retry_limit_seconds"
_FIRSTS, _ENDS, _DIGESTS = b"first states", b"row group ends", b"row group digests"
_DIGEST_BYTES = 16


@dataclass(frozen=True)
class Run:
    """A file of sorted states, each of them once. name: path below the folder. states: how many.

    size_bytes: of the file. footer_at: where its footer begins; digest: of the footer, in hex.
    """

    name: str
    states: int
    size_bytes: int
    footer_at: int
    digest: str


def file_system(place: str, here: Path | None = None) -> tuple[fs.FileSystem, str]:
    """The file system of a local path (below `here`, None: the working folder) or a URI, and the path in it.

    Google's gives up after GS_LIMIT_S unless the URI says otherwise. Raises CheckpointError for one that cannot be had.
    """
    if "://" not in place:
        return fs.LocalFileSystem(), str(((here or Path.cwd()) / place).resolve())
    uri = place
    if uri.startswith(("gs://", "gcs://")) and _GS_LIMIT not in uri:
        uri += f"{'&' if '?' in uri else '?'}{_GS_LIMIT}={GS_LIMIT_S}"
    try:
        system, path = fs.FileSystem.from_uri(uri)
    except (pa.ArrowException, OSError) as error:
        raise CheckpointError(redacted(f"{place}: {str(error).splitlines()[0]}")) from error
    return system, path


class Folder:
    """A folder on any file system that pyarrow knows. place: a local path, or a URI (hdfs://, s3://, file://...).

    Raises CheckpointError for a file system that cannot be had.
    """

    def __init__(self, place: str) -> None:
        self.place = place
        self.fs, self._base = file_system(place)

    def path(self, name: str) -> str:
        """The path of a file for `fs`."""
        return f"{self._base}/{name}"

    def named(self, name: str) -> str:
        """A file's name in messages, without the secrets that a URI may have."""
        return redacted(f"{self.place.rstrip('/')}/{name}" if "://" in self.place else self.path(name))

    def names(self, below: str = "") -> list[str]:
        """The files right in the folder, or in a folder below it, and in its subfolders; [] where there is none."""
        base = self.path(below).rstrip("/")
        selector = fs.FileSelector(base, allow_not_found=True, recursive=bool(below))
        files = (info for info in self.fs.get_file_info(selector) if info.type is fs.FileType.File)
        return sorted(info.path.removeprefix(self._base).lstrip("/") for info in files)

    def read(self, name: str) -> bytes:
        """All of a file."""
        with self.fs.open_input_stream(self.path(name)) as stream:
            return bytes(stream.read())

    def write(self, name: str, data: bytes) -> None:
        """A file, whole or not at all where the file system can rename."""
        with self.writing(name), self.create(f"{name}.new") as stream:
            stream.write(data)
        with self.writing(name):
            self.fs.move(self.path(f"{name}.new"), self.path(name))

    def create(self, name: str) -> pa.NativeFile:
        """A new file to write to, with the folders above it."""
        path = self.path(name)
        with suppress(FileNotFoundError):
            return self.fs.open_output_stream(path)
        self.fs.create_dir(path.rpartition("/")[0])
        return self.fs.open_output_stream(path)

    @contextmanager
    def writing(self, name: str) -> Iterator[None]:
        """Name this file in errors of writing it: an UnwritableError for want of room."""
        try:
            yield
        except OSError as error:
            raise cannot_write(self.named(name), error) from error

    def remove(self, names: Sequence[str]) -> None:
        """Delete files; those that are gone already are not an error."""
        for name in names:
            with suppress(FileNotFoundError):
                self.fs.delete_file(self.path(name))


@functools.cache
def folder_of(place: str) -> Folder:
    """The folder, connected to once in a process."""
    return Folder(place)


class _Sealed(io.RawIOBase):
    """A stream that is written through to another, with digests of its parts."""

    def __init__(self, stream: pa.NativeFile) -> None:
        super().__init__()
        self._stream, self._digest, self.size = stream, _new_digest(), 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._digest.update(data)
        self._stream.write(data)
        self.size += len(data)
        return len(data)

    def cut(self) -> bytes:
        """The digest of what was written since the last cut."""
        found, self._digest = self._digest.digest(), _new_digest()
        return found


class _Window(io.RawIOBase):
    """A file of some bytes of which one part at a time can be read."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size, self._first, self._part, self._at = size, 0, b"", 0

    def show(self, first: int, part: bytes) -> None:
        """The part that begins at byte `first`."""
        self._first, self._part = first, part

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def read(self, n: int = -1) -> bytes:
        start = self._at - self._first
        found = self._part[start : start + n] if start >= 0 and n >= 0 else b""
        self._at += len(found)
        return found


def _new_digest() -> hashlib.blake2b:
    return hashlib.blake2b(digest_size=_DIGEST_BYTES)


class RunWriter:
    """Writes one run: `add` states in order, then read `run`. Raises UnwritableError for a full disk."""

    def __init__(self, folder: Folder, name: str, words: int) -> None:
        self._folder, self._name = folder, name
        self._states = 0
        self._firsts: list[bytes] = []
        self._ends: list[int] = []
        self._digests: list[bytes] = []
        self._footer = 0, ""
        self._waiting: list[Words] = []
        schema = pa.schema([(f"w{k}", pa.uint64()) for k in range(words)])
        with folder.writing(name):
            self._stream = folder.create(name)
            self._sealed = _Sealed(self._stream)
            sink = pa.PythonFile(self._sealed, "w")
            self._file = pq.ParquetWriter(sink, schema, compression="lz4", use_dictionary=False, write_statistics=False)

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is not None:  # nobody will read it
            with suppress(OSError):
                self._file.close()
                self._stream.close()
            return
        with self._folder.writing(self._name):
            self._write_groups(least=1)
            self._file.add_key_value_metadata({
                _FIRSTS: base64.b64encode(b"".join(self._firsts)), _ENDS: json.dumps(self._ends).encode(),
                _DIGESTS: base64.b64encode(b"".join(self._digests)),
            })  # fmt: skip
            footer_at = self._sealed.size
            self._file.close()
            self._footer = footer_at, self._sealed.cut().hex()
            self._stream.close()

    def add(self, states: Words) -> None:
        """Further states; shape (n, words)."""
        self._waiting.append(states)
        with self._folder.writing(self._name):
            self._write_groups(least=GROUP)

    def _write_groups(self, least: int) -> None:
        waiting = sum(len(part) for part in self._waiting)
        if waiting < least:
            return
        states = np.concatenate(self._waiting)
        whole = waiting if least < GROUP else waiting - waiting % GROUP
        for start in range(0, whole, GROUP):
            group = states[start : min(start + GROUP, whole)]
            self._firsts.append(group[0].astype("<u8").tobytes())
            columns = [np.ascontiguousarray(group[:, k]) for k in range(group.shape[1])]
            self._file.write_table(pa.table(columns, schema=self._file.schema))
            self._ends.append(self._sealed.size)
            self._digests.append(self._sealed.cut())
        self._states += whole
        self._waiting = [states[whole:]]

    @property
    def run(self) -> Run:
        """The run that was written, once the writer is closed."""
        return Run(self._name, self._states, self._sealed.size, *self._footer)


class RunReader:
    """Reads one run. firsts: the first state of every row group. Raises CheckpointError where it is damaged or gone.

    The footer is read at once; the file is open from when a row group is read until `close`.
    """

    def __init__(self, folder: Folder, run: Run, words: int) -> None:
        self._folder, self._name = folder, run.name
        self._place, self._words, self._window = folder.named(run.name), words, _Window(run.size_bytes)
        self._stream: pa.NativeFile | None = None
        self._tiny: Words | None = None
        with self._damage():
            size = self._opened().size()
        if size != run.size_bytes:
            raise CheckpointError(f"{self._place} has {size:,} bytes, {run.size_bytes:,} were written")
        footer = self._part(run.footer_at, size, bytes.fromhex(run.digest))
        metadata = pq.read_metadata(pa.BufferReader(footer))
        self._file = pq.ParquetFile(pa.PythonFile(self._window, "r"), metadata=metadata, pre_buffer=False)
        found = metadata.metadata
        self.firsts: Words = np.frombuffer(base64.b64decode(found[_FIRSTS]), "<u8").reshape(-1, words)
        self._ends: list[int] = [0, *json.loads(found[_ENDS])]
        self._digests = base64.b64decode(found[_DIGESTS])

    def _opened(self) -> pa.NativeFile:
        if self._stream is None:
            self._stream = self._folder.fs.open_input_file(self._folder.path(self._name))
        return self._stream

    def close(self) -> None:
        """Close the file, until it is read again."""
        self._stream = None
        self._window.show(0, b"")

    @contextmanager
    def _damage(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            raise CheckpointError(f"{self._place} is gone") from error
        except OSError as error:
            raise CheckpointError(f"{self._place} cannot be read: {error}") from error

    def _part(self, first: int, end: int, digest: bytes) -> bytes:
        """The bytes first..end - 1, as they were written."""
        with self._damage():
            found = bytes(self._opened().read_at(end - first, first))
        if hashlib.blake2b(found, digest_size=_DIGEST_BYTES).digest() != digest:
            raise CheckpointError(f"{self._place} is damaged: bytes {first:,} to {end:,} are not what was written")
        return found

    def group(self, number: int) -> Words:
        """The states of a row group. Those of a tiny run are kept, for opening it takes longest."""
        if self._tiny is not None:
            return self._tiny
        states = self._read(number)
        if len(self.firsts) == 1 and len(states) <= TINY:
            self._tiny = states
        return states

    def _read(self, number: int) -> Words:
        first, end = self._ends[number : number + 2]
        digest = self._digests[_DIGEST_BYTES * number : _DIGEST_BYTES * (number + 1)]
        self._window.show(first, self._part(first, end, digest))
        table = self._file.read_row_group(number, use_threads=False)
        states: Words = np.empty((table.num_rows, self._words), np.uint64)
        for k, column in enumerate(table.columns):
            values = column.combine_chunks()  # to_numpy() would load pandas
            states[:, k] = np.frombuffer(values.buffers()[1], np.uint64, len(values), 8 * values.offset)
        return states

    def groups(self) -> Iterator[Words]:
        """All states, a row group at a time."""
        for number in range(len(self.firsts)):
            yield self.group(number)


@functools.lru_cache(READERS)
def _reader(folder: Folder, run: Run, words: int) -> RunReader:
    """A reader that is kept, closed: a run is looked into at every level, and its footer is always the same."""
    return RunReader(folder, run, words)


def mark_seen(folder: Folder, run: Run, order: Order, records: Records, is_seen: npt.NDArray[np.uint8]) -> None:
    """Set is_seen[i] for the sorted records that are in the run. Reads what lies next to records only."""
    for _, first, _, states in _beside(folder, run, order, records):
        order.mark_seen(records, first, states, is_seen)


def places(folder: Folder, run: Run, order: Order, records: Records) -> Longs:
    """The places of sorted records in the run, counted from its first state; -1 for those that are not in it."""
    found = np.full(len(records), -1, dtype=np.int64)
    is_seen = np.zeros(len(records), dtype=np.uint8)
    for number, first, end, states in _beside(folder, run, order, records):
        order.mark_seen(records, first, states, is_seen)
        there = first + np.flatnonzero(is_seen[first:end])
        found[there] = GROUP * number + order.locate(np.ascontiguousarray(records[there, :-1]), states)
    return found


def _beside(folder: Folder, run: Run, order: Order, records: Records) -> Iterator[tuple[int, int, int, Words]]:
    """(row group, first, end, its states): the sorted records first..end - 1 are in that group, or in none."""
    reader = _reader(folder, run, order.words)
    starts = [*order.locate(reader.firsts, records).tolist(), len(records)]
    for number, (first, end) in enumerate(itertools.pairwise(starts)):
        if first < end:
            yield number, first, end, reader.group(number)
    reader.close()


def grown(runs: Sequence[Run]) -> int:
    """The number of a shard's runs, counted from the last (newest) one, to merge: none while they are few.

    A run larger than all after it together stays, so that a state is written again only as its run doubles.
    """
    if len(runs) <= MOST_RUNS:
        return 0
    count, size = 2, runs[-1].states + runs[-2].states
    while count < len(runs) and runs[-1 - count].states <= size:
        count, size = count + 1, size + runs[-1 - count].states
    return count


def merge_runs(folder: Folder, order: Order, runs: Sequence[Run], name: str) -> Run:
    """One run with all the states of several, which have none in common."""
    streams = [RunReader(folder, run, order.words).groups() for run in runs]
    heads = [next(stream) for stream in streams]
    with RunWriter(folder, name, order.words) as writer:
        while heads:
            ends = [order.key(head[-1]) for head in heads]
            least = ends.index(min(ends))
            end = heads[least][-1:].copy()
            cuts = [int(order.locate(end, head)[0]) for head in heads]
            cuts[least] = len(heads[least])
            writer.add(order.merge([head[:cut] for head, cut in zip(heads, cuts, strict=True)]))
            heads = [head[cut:] for head, cut in zip(heads, cuts, strict=True)]
            try:
                heads[least] = next(streams[least])
            except StopIteration:
                del heads[least], streams[least]
    return writer.run
