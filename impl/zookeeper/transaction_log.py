"""The transaction log of a ZooKeeper server: every write and every session's end, in the one order that all agree on.

For judging a run after the fact, by what the server did rather than by what its clients say. The format is that of
ZooKeeper's FileTxnLog, version 2: a header, then for each transaction a checksum, its length and bytes, and a mark.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_MAGIC = b"ZKLG"
_HEADER_BYTES = 16
_RECORD = struct.Struct(">qi")  # checksum, length
_HEADER = struct.Struct(">qiqqi")  # session, cxid, zxid, time in ms, type
_CREATE_TYPES = (1, 15, 19, 21)  # create, create2, createContainer, createTTL
_DELETE_TYPES = (2, 20)
_SET_DATA, _MULTI, _ERROR, _CLOSE_SESSION = 5, 14, -1, -11


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one znode. data: None where it was deleted. is_ephemeral: of a create."""

    path: str
    data: bytes | None
    is_create: bool = False
    is_ephemeral: bool = False


@dataclass(frozen=True, slots=True)
class Logged:
    """A transaction. session: of who wrote; ends_session: it is the end of that session, by itself or by expiry."""

    zxid: int
    session: int
    time_ms: int
    changes: tuple[Change, ...]
    ends_session: bool = False


def read_logs(folder: Path) -> list[Logged]:
    """The transactions in a server's log files, in order. Those that a server was killed over are left out."""
    files = sorted(folder.glob("log.*"), key=lambda file: int(file.suffix[1:], 16))
    found = {one.zxid: one for file in files for one in _read(file.read_bytes())}
    return [found[zxid] for zxid in sorted(found)]


def _read(data: bytes) -> Iterator[Logged]:
    if not data.startswith(_MAGIC):
        return
    at = _HEADER_BYTES
    while at + _RECORD.size <= len(data):
        _, size_bytes = _RECORD.unpack_from(data, at)
        at += _RECORD.size
        if size_bytes <= 0 or at + size_bytes + 1 > len(data):
            return  # the file is filled up with zeros, or was cut
        yield _transaction(data[at : at + size_bytes])
        at += size_bytes + 1


def _transaction(data: bytes) -> Logged:
    session, _, zxid, time_ms, kind = _HEADER.unpack_from(data)
    body = _Fields(data[_HEADER.size :])
    if kind == _CLOSE_SESSION:
        return Logged(zxid, session, time_ms, tuple(Change(path, None) for path in body.strings()), ends_session=True)
    return Logged(zxid, session, time_ms, tuple(_changes(kind, body)))


def _changes(kind: int, body: _Fields) -> Iterator[Change]:
    if kind in _CREATE_TYPES:
        path, data = body.string(), body.buffer()
        for _ in range(body.int32()):  # the access list
            body.int32()
            body.string()
            body.string()
        yield Change(path, data, is_create=True, is_ephemeral=kind in (1, 15) and body.boolean())
    elif kind in _DELETE_TYPES:
        yield Change(body.string(), None)
    elif kind == _SET_DATA:
        yield Change(body.string(), body.buffer())
    elif kind == _MULTI:
        parts = [(body.int32(), body.buffer()) for _ in range(body.int32())]
        if any(part == _ERROR for part, _ in parts):
            return  # one that was refused is logged too, with its parts up to the one that was
        for part, fields in parts:
            yield from _changes(part, _Fields(fields))


class _Fields:
    """Fields as ZooKeeper's jute writes them."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def int32(self) -> int:
        return int.from_bytes(self._take(4), "big", signed=True)

    def boolean(self) -> bool:
        return self._take(1) != b"\0"

    def buffer(self) -> bytes:
        return self._take(max(self.int32(), 0))

    def string(self) -> str:
        return self.buffer().decode("utf-8")

    def strings(self) -> list[str]:
        return [self.string() for _ in range(max(self.int32(), 0))]

    def _take(self, size_bytes: int) -> bytes:
        taken = self._data[self._at : self._at + size_bytes]
        self._at += size_bytes
        return taken
