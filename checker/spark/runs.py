"""Sorted runs of packed states in Parquet files, in a folder that every executor can reach.

A run's columns are the words of its states, w0, w1, ... (uint64), in the order of `order`; each of its row groups
has a checksum. The file's metadata has the first state of every row group, so that a run is read only where it is
asked for. Why Parquet, and why sorted: docs/decisions/0007-states-on-spark.md.
"""

from __future__ import annotations

import base64
import functools
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from checker.explicit.search.checkpoint import CheckpointError
from checker.explicit.search.store import Words
from checker.spark.order import Order, Records

GROUP = 1 << 16  # states of a row group
MOST_RUNS = 12  # of a shard, before the small ones are merged
_FIRSTS = b"first states"


@dataclass(frozen=True)
class Run:
    """A file of sorted states, each of them once. name: path below the folder. states: how many."""

    name: str
    states: int


class Folder:
    """A folder on any file system that pyarrow knows. place: a local path, or a URI (hdfs://, s3://, file://...).

    Raises CheckpointError for a file system that cannot be had.
    """

    def __init__(self, place: str) -> None:
        self.place = place
        if "://" in place:
            try:
                self.fs, self._base = fs.FileSystem.from_uri(place)
            except (pa.ArrowException, OSError) as error:
                raise CheckpointError(f"{place}: {str(error).splitlines()[0]}") from error
        else:
            self.fs, self._base = fs.LocalFileSystem(), str(Path(place).resolve())

    def path(self, name: str) -> str:
        """The path of a file for `fs`."""
        return f"{self._base}/{name}"

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
        draft = self.path(f"{name}.new")
        self.fs.create_dir(draft.rpartition("/")[0])
        with self.fs.open_output_stream(draft) as stream:
            stream.write(data)
        self.fs.move(draft, self.path(name))

    def remove(self, names: Sequence[str]) -> None:
        """Delete files; those that are gone already are no error."""
        for name in names:
            with suppress(FileNotFoundError):
                self.fs.delete_file(self.path(name))


@functools.cache
def folder_of(place: str) -> Folder:
    """The folder, connected to once in a process."""
    return Folder(place)


class RunWriter:
    """Writes one run: `add` states in order, then read `run`."""

    def __init__(self, folder: Folder, name: str, words: int) -> None:
        self._name = name
        self._states = 0
        self._firsts: list[bytes] = []
        self._waiting: list[Words] = []
        path = folder.path(name)
        folder.fs.create_dir(path.rpartition("/")[0])
        schema = pa.schema([(f"w{k}", pa.uint64()) for k in range(words)])
        self._stream = folder.fs.open_output_stream(path)
        self._file = pq.ParquetWriter(
            self._stream, schema, compression="lz4", use_dictionary=False, write_statistics=False,
            write_page_checksum=True,
        )  # fmt: skip

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            self._write_groups(least=1)
            self._file.add_key_value_metadata({_FIRSTS: base64.b64encode(b"".join(self._firsts))})
        self._file.close()
        self._stream.close()

    def add(self, states: Words) -> None:
        """Further states; shape (n, words)."""
        self._waiting.append(states)
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
        self._states += whole
        self._waiting = [states[whole:]]

    @property
    def run(self) -> Run:
        """What was written, once the writer is closed."""
        return Run(self._name, self._states)


class RunReader:
    """Reads one run. firsts: the first state of every row group. Raises CheckpointError where it is damaged."""

    def __init__(self, folder: Folder, run: Run, words: int) -> None:
        self._name, self._words = run.name, words
        stream = folder.fs.open_input_file(folder.path(run.name))
        with self._damage():
            self._file = pq.ParquetFile(stream, page_checksum_verification=True, pre_buffer=False)
        if self._file.metadata.num_rows != run.states:
            raise CheckpointError(f"{run.name} has {self._file.metadata.num_rows} states, {run.states} were written")
        found = base64.b64decode(self._file.metadata.metadata[_FIRSTS])
        self.firsts: Words = np.frombuffer(found, "<u8").reshape(-1, words)

    @contextmanager
    def _damage(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError) as error:
            raise CheckpointError(f"{self._name} is damaged: {error}") from error

    def group(self, number: int) -> Words:
        """The states of a row group."""
        with self._damage():
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


def strike(folder: Folder, run: Run, order: Order, records: Records, struck: npt.NDArray[np.uint8]) -> None:
    """Set struck[i] for the sorted records that are in the run. Reads what lies next to records only."""
    for _, first, _, states in _beside(folder, run, order, records):
        order.strike(records, first, states, struck)


def places(folder: Folder, run: Run, order: Order, records: Records) -> npt.NDArray[np.int64]:
    """Where in the run the sorted records are, counted from its first state; -1 for those that are not in it."""
    found = np.full(len(records), -1, dtype=np.int64)
    struck = np.zeros(len(records), dtype=np.uint8)
    for number, first, end, states in _beside(folder, run, order, records):
        order.strike(records, first, states, struck)
        there = first + np.flatnonzero(struck[first:end])
        found[there] = GROUP * number + order.locate(np.ascontiguousarray(records[there, :-1]), states)
    return found


def _beside(folder: Folder, run: Run, order: Order, records: Records) -> Iterator[tuple[int, int, int, Words]]:
    """(row group, first, end, its states): the sorted records first..end - 1 are in that group, or in none."""
    reader = RunReader(folder, run, order.words)
    starts = [*order.locate(reader.firsts, records).tolist(), len(records)]
    for number, (first, end) in enumerate(itertools.pairwise(starts)):
        if first < end:
            yield number, first, end, reader.group(number)


def grown(runs: Sequence[Run]) -> int:
    """How many of a shard's runs, counted from the last (newest) one, are to be merged: none while they are few.

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
