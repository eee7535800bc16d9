"""Tasks for one shard: expand its states of a level, then enter what all shards found for it.

Tasks may run again, or twice at once: what they write has a name of its own each time, and counts once the
driver's manifest names it.
"""

from __future__ import annotations

import fcntl
import hashlib
import itertools
import json
import resource
import secrets
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from checker.explicit.kernel import abi
from checker.explicit.kernel.build import KernelSource, compile_source, load_kernel
from checker.explicit.kernel.cache import cache_directory
from checker.explicit.kernel.kernel import Kernel
from checker.explicit.kernel.runtime import LANES
from checker.explicit.search.explored import Picking
from checker.explicit.search.findings import survey
from checker.explicit.search.store import Budget, Context, Shard
from checker.running.arrays import Longs, Words
from checker.spark.order import Order, Records, order_of
from checker.spark.runs import Folder, Run, RunReader, RunWriter, folder_of, grown, mark_seen, merge_runs

BOX = 16384  # candidates that fit the cache
SIEVE_BYTES = 512 << 20  # of different successors that a task holds before it sends them off
_UNLIMITED = 1 << 62
_CODEC = pa.Codec("lz4")
_kernels: dict[str, Kernel] = {}


@dataclass(frozen=True)
class Job:
    """Inputs of tasks. key: of the model. packed: its kernel's source; digest: of that.

    place: the folder of the runs (see `Folder`). shards: how many.
    """

    key: str
    packed: bytes
    digest: str
    place: str
    shards: int

    @classmethod
    def of(cls, key: str, source: KernelSource, place: str, shards: int) -> Job:
        text = json.dumps([source.metadata, source.text]).encode()
        return cls(key, zlib.compress(text, 1), hashlib.sha256(text).hexdigest(), place, shards)

    def kernel(self) -> Kernel:
        """The kernel, compiled once on a machine (where it has a cache) and loaded once in a process."""
        if self.digest not in _kernels:
            with _one_at_a_time(self.digest):
                source = KernelSource(*json.loads(zlib.decompress(self.packed)))
                _kernels[self.digest] = load_kernel(self.digest) or compile_source(source, self.digest)
        return _kernels[self.digest]


@contextmanager
def _one_at_a_time(name: str) -> Iterator[None]:
    """While one process of a machine is in the body, others wait. Without a cache there is nothing to wait for."""
    try:
        cache_directory().mkdir(parents=True, exist_ok=True)
        lock = (cache_directory() / f"{name}.lock").open("w")
    except OSError:
        yield
        return
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@dataclass
class Found:
    """Findings of a part of a level; all but the last three as in `Findings` and `abi`.

    sent_bytes: candidates sent to shards. peak_bytes: of the largest process. states: new ones.
    """

    counters: Longs
    seen: Longs
    new: Longs
    broken: int = 0
    deadlocks: int = 0
    sent_bytes: int = 0
    peak_bytes: int = 0
    states: int = 0

    @classmethod
    def nothing(cls, kernel: Kernel) -> Found:
        counters, leaves, actions = kernel.counters, len(kernel.layout.leaves), len(kernel.actions)
        return cls(np.zeros(counters, np.int64), np.zeros(leaves, np.int64), np.zeros(actions, np.int64))

    def add(self, other: Found) -> None:
        """Put two parts together."""
        self.counters += other.counters
        self.seen |= other.seen
        self.new += other.new
        self.broken |= other.broken
        self.deadlocks += other.deadlocks
        self.sent_bytes += other.sent_bytes
        self.peak_bytes = max(self.peak_bytes, other.peak_bytes)
        self.states += other.states


@dataclass(frozen=True)
class ShardFiles:
    """The files of a shard's states. frontier: of the last level. visited: runs of all levels, oldest first.

    garbage: runs that were merged into others since the last level.
    """

    frontier: Run | None = None
    visited: tuple[Run, ...] = ()
    garbage: tuple[Run, ...] = field(default=(), compare=False)


class Deduplicator:
    """Takes candidates, keeps each state once, with the least action that generates it."""

    def __init__(self, kernel: Kernel, shards: int) -> None:
        self._kernel = kernel
        self._order = order_of(kernel.layout.view)
        self._most = SIEVE_BYTES // (8 * kernel.words + 24)
        self._shards = shards
        self._clear()

    def _clear(self) -> None:
        room = self._most + BOX + len(self._kernel.instances) + 2 * abi.BLOCK
        self._states = Shard(self._kernel, Budget(_UNLIMITED), capacity=room)

    @property
    def full(self) -> bool:
        return self._states.count >= self._most

    def insert(self, address: int, n: int) -> None:
        """Add candidates (at most a box and what one state adds)."""
        self._states.insert(address, n)

    def drain(self) -> Iterator[tuple[int, Records]]:
        """(shard, its records in order, with actions for metas), and start afresh."""
        states = self._states.states(0, self._states.count)
        sorting = self._order.sort(states)
        records: Records = np.empty((len(states), self._order.words + 1), np.uint64)
        records[:, :-1], records[:, -1] = states[sorting], self._states.origins()[sorting]
        self._clear()
        yield from parted(self._order, records, self._shards)


def parted(order: Order, records: npt.NDArray[Any], shards: int) -> Iterator[tuple[int, npt.NDArray[Any]]]:
    """(shard, those of the records that belong to it, in the order they had); records begin with a state's words."""
    if shards == 1 or not len(records):
        if len(records):
            yield 0, records
        return
    states = np.ascontiguousarray(records[:, : order.words]).view(np.uint64)
    belongs = order.shards(states, shards)
    ends = np.cumsum(np.bincount(belongs, minlength=shards))
    records = records[np.argsort(belongs, kind="stable")]
    for shard, (first, end) in enumerate(itertools.pairwise([0, *ends.tolist()])):
        if first < end:
            yield shard, records[first:end]


def pack(records: Records) -> bytes:
    """Sorted records for sending: column by column, which makes them small."""
    columns = [np.ascontiguousarray(records[:, k]).tobytes() for k in range(records.shape[1] - 1)]
    columns.append(records[:, -1].astype("<u2").tobytes())
    return len(records).to_bytes(8, "little") + bytes(_CODEC.compress(b"".join(columns), asbytes=True))


def unpack(data: bytes, words: int) -> Records:
    """Undo `pack`."""
    n = int.from_bytes(data[:8], "little")
    columns = _CODEC.decompress(data[8:], n * (8 * words + 2), asbytes=True)
    records: Records = np.empty((n, words + 1), np.uint64)
    for k in range(words):
        records[:, k] = np.frombuffer(columns, "<u8", n, 8 * n * k)
    records[:, -1] = np.frombuffer(columns, "<u2", n, 8 * n * words)
    return records


def expand(job: Job, frontiers: Iterable[Run | None]) -> Iterator[tuple[int, bytes] | Found]:
    """Expand some shards' states of a level: (shard, packed candidates) repeatedly, then what was found."""
    kernel, folder = job.kernel(), folder_of(job.place)
    found = Found.nothing(kernel)
    context, buffer = Context(kernel, 1, BOX), Deduplicator(kernel, job.shards)

    def drained() -> Iterator[tuple[int, bytes]]:
        for shard, records in buffer.drain():
            data = pack(records)
            found.sent_bytes += len(data)
            yield shard, data

    readers = (RunReader(folder, run, kernel.words) for run in frontiers if run is not None)
    for states in itertools.chain.from_iterable(reader.groups() for reader in readers):
        done = 0
        while done < len(states):
            done = kernel.calls["expand"](context.address, states.ctypes.data, done, len(states))
            context.close()
            buffer.insert(*context.box(0))
            if buffer.full:
                yield from drained()
    yield from drained()
    found.counters += context.counters
    found.broken, found.deadlocks = int(context.record[abi.BROKEN]), int(context.record[abi.DEADLOCKS])
    yield found


def start(job: Job, states: Words) -> Iterator[tuple[int, bytes]]:
    """(shard, packed candidates) of the initial states."""
    kernel = job.kernel()
    context, buffer = Context(kernel, 1, BOX), Deduplicator(kernel, job.shards)
    done = 0
    while done < len(states):
        done = kernel.calls["route"](context.address, states.ctypes.data, done, len(states))
        context.close()
        buffer.insert(*context.box(0))
    for shard, records in buffer.drain():
        yield shard, pack(records)


def absorb(job: Job, shard: int, level: int, files: ShardFiles, parts: Iterable[bytes]) -> tuple[ShardFiles, Found]:
    """Enter the candidates for a shard: those that it has not seen are its states of `level`."""
    kernel, folder = job.kernel(), folder_of(job.place)
    order = order_of(kernel.layout.view)
    found = Found.nothing(kernel)
    records = order.merge(unpack(part, kernel.words) for part in parts)
    is_seen = np.zeros(len(records), dtype=np.uint8)
    for run in files.visited if len(records) else ():
        mark_seen(folder, run, order, records, is_seen)
    records = records[is_seen == 0]
    if len(records):
        states = np.ascontiguousarray(records[:, :-1])
        _look(kernel, states, records[:, -1].astype(np.uint16), level, found)
        name = f"levels/{level:06}/{shard:04}-{secrets.token_hex(8)}.parquet"
        with RunWriter(folder, name, kernel.words) as writer:
            writer.add(states)
        files = _with_run(job, folder, shard, files, writer.run)
    else:
        files = ShardFiles(None, files.visited)
    found.peak_bytes = _peak_bytes()
    return files, found


def _look(kernel: Kernel, states: Words, actions: npt.NDArray[np.uint16], level: int, found: Found) -> None:
    """Look at new states: what they break, and what they come from."""
    seen = np.zeros((len(kernel.layout.leaves), LANES), dtype=np.int64)
    found.broken = survey(kernel, states, seen)
    found.seen[:] = np.bitwise_or.reduce(seen, axis=1)
    found.states = len(states)
    if level > 1:  # no action generated the initial states
        kernel.calls["tally"](actions.ctypes.data, len(actions), found.new.ctypes.data)


def _with_run(job: Job, folder: Folder, shard: int, files: ShardFiles, run: Run) -> ShardFiles:
    """The shard's files with a new run; where there are many runs, the small ones are merged."""
    visited = (*files.visited, run)
    many = grown(visited)
    if not many:
        return ShardFiles(run, visited)
    order = order_of(job.kernel().layout.view)
    merged = merge_runs(folder, order, visited[-many:], f"runs/{shard:04}-{secrets.token_hex(8)}.parquet")
    return ShardFiles(run, (*visited[:-many], merged), visited[-many:])


def select(job: Job, run: Run | None, pick: Picking) -> Iterator[Words]:
    """The states of a shard's part of a level that `pick` picks."""
    kernel = job.kernel()
    states_of = pick.prepare(kernel)
    for states in RunReader(folder_of(job.place), run, kernel.words).groups() if run else ():
        yield states_of(states)


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
