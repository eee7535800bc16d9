"""A disk in memory, with crashes that keep as little as a real one may.

Of what was not fsynced, a power loss keeps any version of each sector (so writes are torn and reordered), any size that
the file had or a size between two of them, and any of the changes of names, in their order for each name. A file is
on disk when its bytes are and its name is, and these are separate. A failing fsync writes any part, and drops the
rest: what runs on still reads the new bytes, and a later fsync does not write them. A failing sync of a directory
changes nothing: its names are the file system's own, which writes them or fails for good.
"""

from __future__ import annotations

import errno
from bisect import insort
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import pairwise

Choose = Callable[[int], int]
"""Choose(n) is one of 0 to n - 1."""


class PowerLossError(Exception):
    """The machine is off. `SimulatedDisk.after_power_loss` has what is left."""


class ProcessKilledError(Exception):
    """The process is dead, and the system lives: `SimulatedDisk.after_kill` has all that was written."""


class Fault(Enum):
    """What happens at an operation."""

    POWER_LOSS = auto()
    KILL = auto()
    ERROR = auto()
    "The operation fails; of a write, any part is done."
    FULL = auto()
    "As ERROR, for want of space; only of operations that take any."


@dataclass(slots=True, eq=False)
class Inode:
    """Bytes as the system shows them, and what the disk may have of them.

    sectors: by number, the versions that were written since the last fsync. sizes: those that the file had since.
    """

    content: bytearray = field(default_factory=bytearray)
    durable: bytes = b""
    sectors: dict[int, list[bytes]] = field(default_factory=dict)
    sizes: list[int] = field(default_factory=list)

    def written(self, first: int, end: int, sector_bytes: int) -> None:
        """Take note that the bytes from `first` to `end` were changed."""
        for sector in range(first // sector_bytes, -(-end // sector_bytes)):
            at = sector * sector_bytes
            version = bytes(self.content[at : at + sector_bytes]).ljust(sector_bytes, b"\0")
            versions = self.sectors.setdefault(sector, [])
            if version not in versions:
                versions.append(version)
        if len(self.content) not in self.sizes:
            insort(self.sizes, len(self.content))

    def sync(self, sector_bytes: int) -> None:
        """Write what changed since the last sync, and only that."""
        synced = bytearray(self.durable)
        if self.sizes:
            synced = synced[: len(self.content)].ljust(len(self.content), b"\0")
        for sector in self.sectors:
            at = sector * sector_bytes
            if at < len(self.content):
                synced[at : at + sector_bytes] = self.content[at : at + sector_bytes]
        self.durable_is(bytes(synced))

    def durable_is(self, content: bytes) -> None:
        """The disk has this, and nothing more is on its way."""
        self.durable = content
        self.sectors.clear()
        self.sizes.clear()

    def left(self, choose: Choose, sector_bytes: int, size_step: int) -> bytes:
        """What the disk has, should it go off now. size_step: sizes between those that it had are multiples of this."""
        sizes = sorted({len(self.durable), *self.sizes})
        between = [span for a, b in pairwise(sizes) if (span := range(a - a % size_step + size_step, b, size_step))]
        whole = [range(size, size + 1) for size in (len(self.durable), *self.sizes)]  # the first: nothing was written
        spans = [*whole, *between]
        span = spans[choose(len(spans))]
        size = span[choose(len(span))]
        found = bytearray(self.durable[:size].ljust(size, b"\0"))
        for sector, versions in sorted(self.sectors.items()):
            at = sector * sector_bytes
            if at < size and (version := choose(len(versions) + 1)):
                found[at : at + sector_bytes] = versions[version - 1][: size - at]
        return bytes(found)


@dataclass(slots=True, eq=False)
class Directory:
    """Names as the system shows them, those on disk, and the changes since: (name, node, the name that it had)."""

    entries: dict[str, Node] = field(default_factory=dict)
    durable: dict[str, Node] = field(default_factory=dict)
    pending: list[tuple[str, Node | None, str | None]] = field(default_factory=list)

    def change(self, name: str, node: Node | None, renamed_from: str | None = None) -> None:
        self.pending.append((name, node, renamed_from))
        apply(self.entries, name, node, renamed_from)

    def left(self, choose: Choose) -> dict[str, Node]:
        found = dict(self.durable)
        for change in self.pending:
            if choose(2):
                apply(found, *change)
        return found


Node = Inode | Directory


def apply(entries: dict[str, Node], name: str, node: Node | None, renamed_from: str | None) -> None:
    if renamed_from is not None and entries.get(renamed_from) is node:
        del entries[renamed_from]
    if node is None:
        entries.pop(name, None)
    else:
        entries[name] = node


class SimulatedDisk:
    """A disk whose faults are chosen.

    choose: what a fault leaves; 0 always: nothing that was not synced.
    faults: by the number of the operation that they happen at, counted from 1; only what
    changes or syncs is an operation. capacity_bytes: of all files together. size_step: see `Inode.left`.
    open_files: how many its process has open.
    """

    def __init__(
        self,
        choose: Choose = lambda n: 0,
        *,
        sector_bytes: int = 512,
        size_step: int = 1,
        capacity_bytes: int | None = None,
    ) -> None:
        self.choose = choose
        self.sector_bytes, self.size_step = sector_bytes, size_step
        self.capacity_bytes = capacity_bytes
        self.faults: Mapping[int, Fault] = {}
        self.operations = 0
        self.root = Directory()
        self._locked: set[str] = set()
        self.open_files = 0

    def open(self, path: str, *, create: bool = False) -> SimulatedFile:
        directory, name = self._place(path)
        node = directory.entries.get(name)
        if node is None:
            if not create:
                raise FileNotFoundError(errno.ENOENT, "no such file", path)
            node = Inode()
            made = node
            self.operation(lambda: directory.change(name, made), takes_space=True)
        if not isinstance(node, Inode):
            raise IsADirectoryError(errno.EISDIR, "a directory", path)
        return SimulatedFile(self, node, path)

    def names(self, directory: str) -> list[str]:
        return sorted(self._directory(directory).entries)

    def make_directory(self, path: str) -> None:
        directory, name = self._place(path)
        if name not in directory.entries:
            self.operation(lambda: directory.change(name, Directory()), takes_space=True)

    def rename(self, old: str, new: str) -> None:
        (directory, name), (same, new_name) = self._place(old), self._place(new)
        if directory is not same or name not in directory.entries:
            raise FileNotFoundError(errno.ENOENT, "no such file in this directory", old)
        self.operation(lambda: directory.change(new_name, directory.entries[name], name))

    def delete(self, path: str) -> None:
        directory, name = self._place(path)
        if name not in directory.entries:
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        self.operation(lambda: directory.change(name, None))

    def sync_directory(self, path: str) -> None:
        directory = self._directory(path)
        self.operation(lambda: None, is_sync=True)
        directory.durable = dict(directory.entries)
        directory.pending.clear()

    def lock(self, path: str) -> SimulatedFile:
        if path in self._locked:
            raise BlockingIOError(errno.EAGAIN, f"{path} is locked by another process")
        file = self.open(path, create=True)
        self._locked.add(path)
        return file

    def unlock(self, path: str) -> None:
        self._locked.discard(path)

    def operation(
        self, act: Callable[[], None], part: Callable[[], None] | None = None, *, takes_space: bool = False,
        is_sync: bool = False,
    ) -> None:  # fmt: skip
        """Carry out an operation, or what its fault leaves of it. part: some of it, as an error may leave."""
        self.operations += 1
        fault = self.faults.get(self.operations)
        if fault is None or (fault is Fault.FULL and not takes_space):
            act()
            return
        if fault in (Fault.ERROR, Fault.FULL):
            if part is not None:
                part()
            number = errno.ENOSPC if fault is Fault.FULL else errno.EIO
            raise OSError(number, "no space left on the disk" if fault is Fault.FULL else "input/output error")
        if not is_sync:  # one that ends with the power may have begun: what is left of it is chosen with the rest
            act()
        raise PowerLossError if fault is Fault.POWER_LOSS else ProcessKilledError

    def after_power_loss(self, choose: Choose | None = None) -> SimulatedDisk:
        """The disk of the machine that starts again. This one stays as it was."""
        choose = choose or self.choose
        disk = SimulatedDisk(
            self.choose,
            sector_bytes=self.sector_bytes,
            size_step=self.size_step,
            capacity_bytes=self.capacity_bytes,
        )
        kept: dict[int, Node] = {}
        disk.root = self._directory_left(self.root, choose, kept)
        return disk

    def after_kill(self) -> SimulatedDisk:
        """The same disk for the next process: nothing is lost, nothing more is on disk than was."""
        self._locked.clear()
        self.open_files = 0
        self.faults = {}
        return self

    def damage(self, path: str, content: bytes) -> None:
        """Let a file have other bytes, on disk and in what the system shows."""
        inode = self._inode(path)
        inode.content[:] = content
        inode.durable_is(content)

    def used_bytes(self) -> int:
        return sum(len(inode.content) for inode in inodes(self.root))

    def image(self) -> dict[str, bytes]:
        """Every file by its path, as the system shows it."""
        return dict(files(self.root, ""))

    def _directory_left(self, directory: Directory, choose: Choose, kept: dict[int, Node]) -> Directory:
        entries: dict[str, Node] = {}
        for name, node in sorted(directory.left(choose).items()):
            if id(node) not in kept:
                if isinstance(node, Directory):
                    kept[id(node)] = self._directory_left(node, choose, kept)
                else:
                    left = node.left(choose, self.sector_bytes, self.size_step)
                    kept[id(node)] = Inode(bytearray(left), left)
            entries[name] = kept[id(node)]
        return Directory(entries, dict(entries))

    def _place(self, path: str) -> tuple[Directory, str]:
        parent, _, name = path.rpartition("/")
        return self._directory(parent), name

    def _directory(self, path: str) -> Directory:
        node: Node | None = self.root
        for name in path.split("/"):
            if name:
                node = node.entries.get(name) if isinstance(node, Directory) else None
        if not isinstance(node, Directory):
            raise FileNotFoundError(errno.ENOENT, "no such directory", path)
        return node

    def _inode(self, path: str) -> Inode:
        directory, name = self._place(path)
        node = directory.entries.get(name)
        if not isinstance(node, Inode):
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        return node


class SimulatedFile:
    """An open file of a simulated disk. Once it is closed, to use it is an error of whoever does."""

    def __init__(self, disk: SimulatedDisk, inode: Inode, path: str) -> None:
        self._disk, self._inode, self._path = disk, inode, path
        self._is_open = True
        disk.open_files += 1

    def size(self) -> int:
        return len(self._inode.content)

    def read(self, at: int, size_bytes: int) -> bytes:
        self._require_open()
        return bytes(self._inode.content[at : at + size_bytes])

    def write(self, at: int, data: bytes) -> None:
        self._require_open()
        disk, grows = self._disk, at + len(data) - self.size()
        if disk.capacity_bytes is not None and grows > disk.capacity_bytes - disk.used_bytes():
            fits = max(0, len(data) - grows + disk.capacity_bytes - disk.used_bytes())
            disk.operation(lambda: self._put(at, data[:fits]))
            raise OSError(errno.ENOSPC, "no space left on the disk")
        disk.operation(
            lambda: self._put(at, data),
            lambda: self._put(at, data[: disk.choose(len(data) + 1)]),
            takes_space=grows > 0,
        )

    def truncate(self, size_bytes: int) -> None:
        self._require_open()
        self._disk.operation(lambda: self._cut(size_bytes))

    def fsync(self) -> None:
        self._require_open()
        inode, disk = self._inode, self._disk
        disk.operation(
            lambda: inode.sync(disk.sector_bytes),
            lambda: inode.durable_is(inode.left(disk.choose, disk.sector_bytes, disk.size_step)),
            takes_space=True,
            is_sync=True,
        )

    def close(self) -> None:
        self._disk.unlock(self._path)
        self._disk.open_files -= self._is_open
        self._is_open = False

    def _require_open(self) -> None:
        if not self._is_open:
            raise ValueError(f"{self._path} is closed")

    def _put(self, at: int, data: bytes) -> None:
        content = self._inode.content
        if len(content) < at:
            content.extend(bytes(at - len(content)))
        content[at : at + len(data)] = data
        self._inode.written(at, at + len(data), self._disk.sector_bytes)

    def _cut(self, size_bytes: int) -> None:
        content = self._inode.content
        old = len(content)
        if size_bytes == old:
            return
        del content[size_bytes:]
        content.extend(bytes(size_bytes - len(content)))
        self._inode.written(min(old, size_bytes), max(old, size_bytes), self._disk.sector_bytes)


def inodes(directory: Directory) -> list[Inode]:
    """The files that have a name, each once."""
    found: dict[int, Inode] = {}
    for node in directory.entries.values():
        for inode in inodes(node) if isinstance(node, Directory) else [node]:
            found[id(inode)] = inode
    return list(found.values())


def files(directory: Directory, path: str) -> Iterator[tuple[str, bytes]]:
    for name, node in sorted(directory.entries.items()):
        if isinstance(node, Directory):
            yield from files(node, f"{path}/{name}")
        else:
            yield f"{path}/{name}", bytes(node.content)
