"""The explored state graph as tables that the executors write: the rows of `explicit.export`, a file for each shard.

States are numbered level by level, in each by shard, in each as they are sorted: where a state is in its run tells its
number. The states of a shard are expanded once more, and every step is sent to the shard of the state that
it leads to, where that state's place is looked up and the row is written. Tasks may run again, or twice at once: what
they write has a name of its own each time, and is deleted unless the driver knows of it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import fs

from checker.explicit.check import Report
from checker.explicit.export import (
    ACTIONS,
    PROPERTIES,
    ROWS,
    TRANSITIONS,
    Broken,
    Parameters,
    about,
    action_batch,
    property_batch,
    state_batch,
    state_schema,
    transition_batch,
    write_file,
)
from checker.explicit.kernel import abi
from checker.explicit.kernel.kernel import Kernel
from checker.explicit.search.store import Context
from checker.lang.loader import BoundModel
from checker.running.arrays import Longs, Words
from checker.running.deadline import Stage
from checker.running.limits import Progress
from checker.spark.check import SparkOptions, checked
from checker.spark.models import Shipped, ship
from checker.spark.order import Order, Records, order_of
from checker.spark.runs import Folder, Run, RunReader, folder_of, places
from checker.spark.search import Exploration
from checker.spark.shard_tasks import BOX, Job, parted

RENAMES = ("local", "hdfs")  # where a folder gets another name in one step
SENT_BYTES = 24 << 20  # of steps that a task holds before it sends them off
HELD_BYTES = 48 << 20  # of steps whose targets a task looks up together: as often it reads its shard's states
_CODEC = pa.Codec("lz4")
_TRIES, _PAUSE_S = 25, 0.2

Tick = Callable[[int, int, float], None]


def export(
    model: BoundModel, options: SparkOptions, to: str, *, started: float,
    progress: Callable[[Progress], None] | None = None, stages: Callable[[Stage], None] | None = None,
    tasks: Tick | None = None,
) -> tuple[Report, dict[str, int]]:  # fmt: skip
    """Explore a model on Spark and write the tables below `to`, which must be new or empty; gives their rows.

    to: a folder that all executors reach, as a path or a URI; the states of the search are kept there meanwhile.
    Nothing is written where a limit stopped the search, and the rows are {}. progress, stages: as for `check`; tasks:
    called with how many tasks of those that write are done, all of them, seconds.
    Raises what `check` raises, FileExistsError for a folder that holds something, OSError.
    """
    draft = Draft(to)
    try:
        how = replace(options, checkpoint=draft.place_of(Draft.STATES), all_violations=True)
        with checked(model, how, started=started, progress=progress, stages=stages) as report:
            if report.result.stopped is not None:
                return report, {}
            rows = _Writer(report, draft, tasks).write()
        draft.commit()
        return report, rows
    finally:
        draft.discard()


class Draft:
    """A folder that becomes the wanted one: by its new name where folders can be renamed, else it is that one already.

    `_SUCCESS` is the last file in it. Readers of tables pass over names that begin with an underscore.
    """

    STATES, SUCCESS = "_search", "_SUCCESS"

    def __init__(self, to: str) -> None:
        """Raises FileExistsError for what is there already, CheckpointError or OSError where nothing can be written."""
        base, self._mark, self._query = to.partition("?") if "://" in to else (str(Path(to).resolve()), "", "")
        self._wanted = Folder(base + self._mark + self._query)
        self._fs = self._wanted.fs
        info = self._fs.get_file_info(self._wanted.path("").rstrip("/"))
        if info.type is fs.FileType.Directory and not self._fs.get_file_info(fs.FileSelector(info.path)):
            self._fs.delete_dir(info.path)
        elif info.type is not fs.FileType.NotFound:
            raise FileExistsError(17, "is there already: name a new folder", to)
        self._renames, self._committed = self._fs.type_name in RENAMES, False
        parent, _, name = base.rstrip("/").rpartition("/")
        self._base = f"{parent}/.{name}.{secrets.token_hex(4)}.tmp" if self._renames else base
        self.folder = Folder(self.place_of(""))
        self._fs.create_dir(self._path)

    @property
    def _path(self) -> str:
        return self.folder.path("").rstrip("/")

    def place_of(self, name: str) -> str:
        """A folder in the draft, as `Folder` takes it."""
        return f"{self._base}/{name}".rstrip("/") + self._mark + self._query

    def commit(self) -> None:
        """All that is to be there is written."""
        self._fs.delete_dir(self.folder.path(self.STATES))
        self.folder.write(self.SUCCESS, b"")
        if self._renames:
            self._fs.move(self._path, self._wanted.path("").rstrip("/"))
        self._committed = True

    def discard(self) -> None:
        """Delete the draft, unless it was committed: until it is gone, as a task that was given up may still write."""
        for _ in range(0 if self._committed else _TRIES):
            with suppress(OSError):  # another error is to be reported
                self._fs.delete_dir(self._path)
            sleep(_PAUSE_S)
            if self._fs.get_file_info(self._path).type is fs.FileType.NotFound:
                return


@dataclass(frozen=True)
class Part:
    """The states of a shard first found in a level (depth, from 1). first: the number of the first of them."""

    run: Run
    depth: int
    first: int


class _Writer:
    """The driver's part of an export."""

    def __init__(self, report: Report, draft: Draft, tasks: Tick | None) -> None:
        exploration: Exploration = report.result.exploration
        self._report, self._folder, self._tasks = report, draft.folder, tasks
        self._cluster, self._shards = exploration.cluster, exploration.job.shards
        self._metadata = about(report)
        to = draft.place_of("")
        self._table = Tables(exploration.job, ship(report.model), numbered(exploration), to, self._metadata)
        self._started = monotonic()

    def write(self) -> dict[str, int]:
        tables, n = self._cluster.broadcast(self._table), self._shards

        def states(numbers: Iterable[int]) -> Iterator[tuple[str, int]]:
            return (tables.value.write_states(shard) for shard in numbers)

        def send(numbers: Iterable[int]) -> Iterator[tuple[int, bytes]]:
            return (item for shard in numbers for item in tables.value.send(shard))

        def steps(shard: int, sent: Iterable[tuple[int, bytes]]) -> Iterator[tuple[str, int]]:
            yield tables.value.write_transitions(shard, (data for _, data in sent))

        numbers = self._cluster.numbers(n)
        sent = numbers.mapPartitions(send).partitionBy(n, int)
        return {
            "states": self._collect("states", numbers.mapPartitions(states), 0),
            "transitions": self._collect("transitions", sent.mapPartitionsWithIndex(steps), n),
            "actions": self._write("actions", ACTIONS, action_batch(self._report)),
            "properties": self._write("properties", PROPERTIES, property_batch(self._report)),
        }

    def _collect(self, table: str, files: Any, before: int) -> int:
        """Run the job that writes a table's files, after so many tasks; gives the rows."""

        def tick(done: int) -> bool:
            if self._tasks is not None:
                self._tasks(before + done, 3 * self._shards, monotonic() - self._started)
            return True

        written = dict(self._cluster.collect(files, tick))
        self._folder.remove([name for name in self._folder.names(table) if name not in written])
        return sum(written.values())

    def _write(self, table: str, schema: pa.Schema, batch: pa.RecordBatch) -> int:
        return _write(self._folder, f"{table}/part-00000.parquet", schema.with_metadata(self._metadata), [batch])


def numbered(exploration: Exploration) -> list[list[Part]]:
    """Per shard its parts, by level."""
    parts: list[list[Part]] = [[] for _ in exploration.shards]
    first = 0
    for depth, runs in enumerate(exploration.levels, 1):
        for shard, run in enumerate(runs):
            if run is not None:
                parts[shard].append(Part(run, depth, first))
                first += run.states
    return parts


def _write(folder: Folder, name: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> int:
    """Write a file of a table; gives its rows."""
    with folder.writing(name), folder.create(name) as stream:
        return write_file(stream, schema, batches)


@dataclass(frozen=True)
class Tables:
    """Inputs of a task that writes its shard's files below `to`. parts: as from `numbered`."""

    job: Job
    model: Shipped
    parts: list[list[Part]]
    to: str
    metadata: dict[bytes, bytes]

    def write_states(self, shard: int) -> tuple[str, int]:
        """(name, rows) of a file with the states of a shard."""
        model, kernel = self.model.load(), self.job.kernel()
        schema = state_schema(model, kernel)

        def batches() -> Iterator[pa.RecordBatch]:
            for part in self.parts[shard]:
                first = part.first
                for words in self._reader(part).groups():
                    numbers, depth = first + np.arange(len(words)), np.full(len(words), part.depth)
                    yield state_batch(model, kernel, schema, words, numbers, depth)
                    first += len(words)

        return self._write("states", shard, schema, batches())

    def send(self, shard: int) -> Iterator[tuple[int, bytes]]:
        """(shard, packed steps) of all steps out of a shard's states, by the shard that they lead to."""
        waiting: list[list[Longs]] = [[] for _ in range(self.job.shards)]
        held = 0

        def drained() -> Iterator[tuple[int, bytes]]:
            for target, steps in enumerate(waiting):
                if steps:
                    yield target, pack(np.concatenate(steps))
                    steps.clear()

        for target, steps in self._steps(shard):
            waiting[target].append(steps)
            held += steps.nbytes
            if held >= SENT_BYTES:
                yield from drained()
                held = 0
        yield from drained()

    def _steps(self, shard: int) -> Iterator[tuple[int, Longs]]:
        """(target shard, steps out of the shard), some at a time.

        A step has the words of its target, those of its source, the source's number, the instance, what it breaks.
        """
        kernel, order = self.job.kernel(), order_of(self.job.kernel().layout.view)
        context = Context(kernel, 1, BOX, edges=BOX)
        for part in self.parts[shard]:
            first = part.first
            for states in self._reader(part).groups():
                done = 0
                while done < len(states):
                    done = kernel.calls["expand"](context.address, states.ctypes.data, done, len(states))
                    context.close()
                    records, broken = context.records(0), Broken(context.edges())
                    metas = records[:, -1]
                    sources, instances = metas >> abi.META_SHIFT, metas & abi.NO_INSTANCE
                    words = states[sources].view(np.int64)
                    columns = records[:, :-1], words, first + sources, instances, broken.of(metas)
                    yield from parted(order, np.column_stack(columns), self.job.shards)
                first += len(states)

    def write_transitions(self, shard: int, sent: Iterable[bytes]) -> tuple[str, int]:
        """(name, rows) of a file with the steps that lead into a shard."""
        kernel = self.job.kernel()
        parameters, words = Parameters(self.model.load(), kernel), kernel.words

        def batches() -> Iterator[pa.RecordBatch]:
            for steps in _gathered(unpack(data) for data in sent):
                targets = self._numbers(shard, kernel, steps)
                for start in range(0, len(steps), ROWS):
                    some = steps[start : start + ROWS]
                    sources = np.ascontiguousarray(some[:, words:-3]).view(np.uint64)
                    texts = parameters.column(sources, np.arange(len(some)), some[:, -2])
                    yield transition_batch(
                        kernel, some[:, -3], targets[start : start + ROWS], some[:, -2], texts, some[:, -1]
                    )

        return self._write("transitions", shard, TRANSITIONS, batches())

    def _numbers(self, shard: int, kernel: Kernel, steps: Longs) -> Longs:
        """The numbers of the states that steps lead to, all in `shard`."""
        order = order_of(kernel.layout.view)
        words = steps[:, : kernel.words].view(np.uint64)
        sorting = order.sort(words)
        wanted, of_step = _different(words[sorting], order, kernel.layout.view)
        found = np.full(len(wanted), -1, dtype=np.int64)
        folder = folder_of(self.job.place)
        left = np.arange(len(wanted))  # of `wanted`, those not found yet
        for part in self.parts[shard]:
            at = places(folder, part.run, order, wanted[left])
            found[left[at >= 0]] = part.first + at[at >= 0]
            left = left[at < 0]
        assert not len(left), "a successor was not explored: the search is not finished"
        numbers = np.empty(len(steps), dtype=np.int64)
        numbers[sorting] = found[of_step]
        return numbers

    def _reader(self, part: Part) -> RunReader:
        return RunReader(folder_of(self.job.place), part.run, self.job.kernel().words)

    def _write(self, table: str, shard: int, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> tuple[str, int]:
        name = f"{table}/part-{shard:05}-{secrets.token_hex(8)}.parquet"
        return name, _write(folder_of(self.to), name, schema.with_metadata(self.metadata), batches)


def _different(words: Words, order: Order, view: tuple[int, ...]) -> tuple[Records, Longs]:
    """(records of the states that differ, per state its record) of sorted states."""
    identity = words & np.array(view, dtype=np.uint64)
    fresh = np.ones(len(words), dtype=bool)
    fresh[1:] = np.any(identity[1:] != identity[:-1], axis=1)
    records: Records = np.zeros((int(fresh.sum()), order.words + 1), np.uint64)
    records[:, :-1] = words[fresh]
    return records, np.cumsum(fresh) - 1


def _gathered(parts: Iterable[Longs]) -> Iterator[Longs]:
    """Steps put together until they take HELD_BYTES, each time in the same place."""
    held = np.empty((0, 0), np.int64)
    used = 0
    for part in parts:
        if not held.size:
            held = np.empty((max(1, HELD_BYTES // (8 * part.shape[1])), part.shape[1]), np.int64)
        taken = 0
        while taken < len(part):
            n = min(len(part) - taken, len(held) - used)
            held[used : used + n] = part[taken : taken + n]
            used, taken = used + n, taken + n
            if used == len(held):
                yield held
                used = 0
    if used:
        yield held[:used]


def pack(steps: Longs) -> bytes:
    """Steps for sending: column by column, which makes them small."""
    shape = np.array(steps.shape, "<i8").tobytes()
    return shape + bytes(_CODEC.compress(pa.py_buffer(np.ascontiguousarray(steps.T)), asbytes=True))


def unpack(data: bytes) -> Longs:
    """Undo `pack`."""
    n, width = np.frombuffer(data, "<i8", 2).tolist()
    columns = np.frombuffer(_CODEC.decompress(pa.py_buffer(data).slice(16), 8 * n * width), "<i8")
    return np.ascontiguousarray(columns.reshape(width, n).T)
