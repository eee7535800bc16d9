"""Memory of a search: the shards' states and hash tables, and the boxes between threads."""

from __future__ import annotations

import mmap
import sys
import threading

import numpy as np
import numpy.typing as npt

from checker.errors import FencepostError
from checker.explicit.kernel import abi
from checker.explicit.kernel.kernel import Kernel
from checker.running.arrays import Longs, Words
from checker.verdicts import ExitCode

FIRST_SLOTS = 1 << 12
_NORESERVE = 0x4000 if sys.platform == "linux" else 0
_HUGE_PAGE = 2 << 20
_PADDING = 16  # words on either side of a record that one thread writes: no cache line is shared


def _record(size: int) -> Longs:
    return np.zeros(size + 2 * _PADDING, dtype=np.int64)[_PADDING:-_PADDING]


class OutOfMemoryError(FencepostError):
    """The memory limit would be exceeded. The message says by what."""

    exit_code = ExitCode.INCOMPLETE

    @property
    def message(self) -> str:
        return f"incomplete: memory limit: {self}"


class Region:
    """Zeroed anonymous memory, taken from the system page by page as it is touched. size: bytes."""

    def __init__(self, size: int) -> None:
        self.size = max(size, mmap.PAGESIZE)
        self._map = mmap.mmap(-1, self.size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE)
        if self.size >= _HUGE_PAGE and hasattr(mmap, "MADV_HUGEPAGE"):
            self._map.madvise(mmap.MADV_HUGEPAGE)
        self.bytes = np.frombuffer(self._map, dtype=np.uint8)
        self.address = int(self.bytes.ctypes.data)


class Budget:
    """The memory that shards and contexts may hold together. limit, peak: bytes."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.peak = 0
        self._held: dict[str, int] = {}
        self._lock = threading.Lock()

    def hold(self, holder: str, size: int) -> None:
        """Note that `holder` now holds `size` bytes."""
        with self._lock:
            self._held[holder] = size
            self.peak = max(self.peak, sum(self._held.values()))

    def check(self, more: int = 0) -> None:
        """Raise OutOfMemoryError where what is held and `more` bytes exceed the limit."""
        with self._lock:
            total = sum(self._held.values()) + more
        if total > self.limit:
            raise OutOfMemoryError(f"{total / 2**30:.3g} GiB needed, {self.limit / 2**30:.3g} GiB allowed")

    @property
    def held(self) -> int:
        """Bytes held now."""
        with self._lock:
            return sum(self._held.values())


class Shard:
    """A set of states, in order of discovery: those of a search that belong to one thread, or others.

    number: its name in the budget. capacity: most states, None: as many as the budget could ever hold.
    """

    def __init__(self, kernel: Kernel, budget: Budget, number: int = 0, capacity: int | None = None) -> None:
        self._kernel = kernel
        self._budget = budget
        self._name = f"shard {number}"
        self._state_bytes = 8 * kernel.words
        if capacity is None:
            capacity = max(1 << 16, min(2 * budget.limit // self._state_bytes, (1 << abi.INDEX_BITS) - 2))
        self._reserve(capacity + abi.BLOCK)
        self._widest = 0  # most states of a level so far: what is touched of `_origin`
        self.record = _record(abi.SHARD_FIELDS)
        self.address = int(self.record.ctypes.data)
        self.record[abi.STORE] = self._store.address
        self.record[abi.ORIGIN] = self._origin.address
        self._slots = 0
        self._set_table(FIRST_SLOTS)

    def _reserve(self, capacity: int) -> None:
        """Set room aside for `capacity` states, or for fewer where the system does not grant that much."""
        try:
            self._store = Region(capacity * self._state_bytes)
            self._origin = Region(capacity * 2)
            self._capacity = capacity
        except OSError:
            if capacity <= FIRST_SLOTS:
                raise
            self._reserve(capacity // 2)

    @property
    def count(self) -> int:
        """Stored states."""
        return int(self.record[abi.COUNT])

    @property
    def store_address(self) -> int:
        """The address of the stored states."""
        return self._store.address

    def states(self, first: int, limit: int) -> Words:
        """The packed states first..limit-1 in place: shape (limit - first, words)."""
        part = self._store.bytes[first * self._state_bytes : limit * self._state_bytes]
        return part.view(np.uint64).reshape(limit - first, self._kernel.words)

    def begin_level(self) -> None:
        """Begin a new level, to which the states added from now on belong."""
        self._note_level()
        self.record[abi.LEVEL_START] = self.count

    def origins(self) -> npt.NDArray[np.uint16]:
        """Per state of the level being built, in order: the least action that generated it."""
        size = self.count - int(self.record[abi.LEVEL_START])
        return self._origin.bytes[: 2 * size].view(np.uint16)

    def insert(self, address: int, n: int) -> None:
        """Add `n` candidates, growing the table as needed. Raises OutOfMemoryError: some are not added then."""
        size = 8 * (self._kernel.words + 1)
        insert = self._kernel.calls["insert"]
        while n:
            done = insert(self.address, address, n)
            address += done * size
            n -= done
            if n:
                self._grow()

    def note(self) -> None:
        """Report the memory in use to the budget: the table, the stored states, and the origins of the widest level."""
        self._note_level()
        held = 8 * self._slots + self.count * self._state_bytes + 2 * self._widest
        self._budget.hold(self._name, held)

    def _note_level(self) -> None:
        self._widest = max(self._widest, self.count - int(self.record[abi.LEVEL_START]))

    def _grow(self) -> None:
        if self.count + abi.BLOCK > self._capacity:
            raise OutOfMemoryError("the memory set aside for states is full")
        self.note()
        self._budget.check(8 * self._slots)
        self._set_table(2 * self._slots)
        self.note()
        self._kernel.calls["rehash"](self.address)

    def _set_table(self, slots: int) -> None:
        """Replace the table by an empty one. The old one goes first: the two are never held together."""
        self.record[abi.LIMIT] = 0  # should there be no new one, nothing is inserted
        self._table: Region | None = None
        try:
            self._table = Region(8 * slots)
        except OSError as error:
            raise OutOfMemoryError(f"no {8 * slots / 2**30:.3g} GiB for a table") from error
        self._slots = slots
        self.record[abi.TABLE] = self._table.address
        self.record[abi.MASK] = slots - 1
        self.record[abi.LIMIT] = min(slots * 3 // 4, self._capacity)


class Context:
    """Working memory of one thread: counters, and boxes of candidates, one for every shard.

    capacity: candidates a box takes. edges: records of the box of edges (none: it stays closed).
    sets: 2 where one set of boxes is filled while others still read the one filled before.
    ends: of a kernel that records outcomes: per instance, how it ended in the state expanded last; and a spare.
    """

    def __init__(self, kernel: Kernel, shards: int, capacity: int, edges: int = 0, sets: int = 1) -> None:
        self.record = _record(abi.COUNTERS + kernel.counters)
        self.record[abi.SHARDS] = shards
        self.address = int(self.record.ctypes.data)
        self.ends = np.zeros(len(kernel.instances) + 1, dtype=np.uint16)
        self.record[abi.OUTCOMES] = self.ends.ctypes.data
        self._margin = len(kernel.instances) + 1  # most records one state can add to a box
        width = kernel.words + 1
        self._sets = [
            [self._memory(edges, width + 1), *[self._memory(capacity, width) for _ in range(shards)]]
            for _ in range(sets)
        ]
        self._full = self._sets[-1]
        self._filled = [0] * (1 + shards)
        self._open(self._sets[0])

    def _memory(self, size: int, width: int) -> Longs:
        return np.empty((size + self._margin if size else 0, width), np.int64)

    @property
    def counters(self) -> Longs:
        """The counters, in place; see `coverage`."""
        return self.record[abi.COUNTERS :]

    @property
    def size(self) -> int:
        """Bytes held."""
        return sum(box.nbytes for boxes in self._sets for box in boxes) + self.record.nbytes

    def _open(self, boxes: list[Longs]) -> None:
        """Let candidates go into these boxes, from the start."""
        self._filling = boxes
        for number, box in enumerate(boxes):
            address = int(box.ctypes.data) if len(box) else 0
            limit = address + 8 * box.shape[1] * (len(box) - self._margin)
            at = abi.BOXES + 2 * number
            self.record[at : at + 2] = (address, limit) if len(box) else (0, np.iinfo(np.int64).max)

    def close(self) -> None:
        """Hand over the boxes to be read, and open the next set of boxes."""
        self._full = self._filling
        for number, box in enumerate(self._full):
            used = int(self.record[abi.BOXES + 2 * number]) - int(box.ctypes.data) if len(box) else 0
            self._filled[number] = used // (8 * box.shape[1])
        self._sets.append(self._sets.pop(0))
        self._open(self._sets[0])

    def box(self, shard: int) -> tuple[int, int]:
        """Address and number of the candidates for a shard, as of the last `close`."""
        return int(self._full[1 + shard].ctypes.data), self._filled[1 + shard]

    def records(self, shard: int) -> Longs:
        """The candidates for a shard, as of the last `close`: shape (n, words + 1)."""
        return self._full[1 + shard][: self._filled[1 + shard]]

    def edges(self) -> Longs:
        """The edges, as of the last `close`: shape (n, words + 2)."""
        return self._full[0][: self._filled[0]]
