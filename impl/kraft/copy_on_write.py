"""A dict whose copies share all but the parts that one of them has changed.

A persistent map of a library would do, but for its order, which differs from run to run (rpds-py), or for its state of
repair (immutables, pyrsistent): what a core decides has to depend on nothing but its input.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any, TypeVar, overload

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")
MOST_A_CHUNK = 128
"""Entries on average, at most: so many are copied when one of them changes for the first time after a copy."""


class CopyOnWriteDict(MutableMapping[K, V]):
    """A dict in chunks, by the hashes of its keys. A value must not change: copies share it.

    A copy costs nothing, and what follows it the copy of a list of chunks, and of each chunk in which something
    changes. As it grows the chunks are divided, in a pass over it each time it is four times as large.
    """

    __slots__ = ("_chunks", "_mask", "_owned", "_size")

    def __init__(self) -> None:
        self._chunks: list[dict[K, V]] = [{}]
        self._mask = 0
        self._size = 0
        self._owned: set[int] | None = {0}

    def copy(self) -> CopyOnWriteDict[K, V]:
        """A dict that changes on its own. Until one of the two does, they share the list of chunks, too."""
        self._owned = None
        other: CopyOnWriteDict[K, V] = CopyOnWriteDict.__new__(CopyOnWriteDict)
        other._chunks, other._mask, other._size, other._owned = self._chunks, self._mask, self._size, None
        return other

    def _divide(self) -> None:
        mask = self._mask = 4 * self._mask + 3
        chunks: list[dict[K, V]] = [{} for _ in range(mask + 1)]
        for chunk in self._chunks:
            for key, value in chunk.items():
                chunks[hash(key) & mask][key] = value
        self._chunks, self._owned = chunks, set(range(mask + 1))

    def _own(self, key: K) -> dict[K, V]:
        """The chunk of a key, which no copy shares from now on."""
        index = self._mask and hash(key) & self._mask
        if self._owned is None:
            self._chunks, self._owned = self._chunks.copy(), set()
        if index not in self._owned:
            self._chunks[index] = self._chunks[index].copy()
            self._owned.add(index)
        return self._chunks[index]

    def __setitem__(self, key: K, value: V) -> None:
        chunk = self._own(key)
        before = len(chunk)
        chunk[key] = value
        if len(chunk) > before:
            self._size += 1
            if self._size > MOST_A_CHUNK * len(self._chunks):
                self._divide()

    def __delitem__(self, key: K) -> None:
        del self._own(key)[key]
        self._size -= 1

    def __getitem__(self, key: K) -> V:
        return self._chunks[self._mask and hash(key) & self._mask][key]

    @overload
    def get(self, key: K, default: None = None, /) -> V | None: ...
    @overload
    def get(self, key: K, default: V | T, /) -> V | T: ...
    def get(self, key: K, default: Any = None, /) -> Any:
        return self._chunks[self._mask and hash(key) & self._mask].get(key, default)

    def __contains__(self, key: object) -> bool:
        return key in self._chunks[self._mask and hash(key) & self._mask]

    def __iter__(self) -> Iterator[K]:
        """In an order that nothing may depend on: of strings, it differs from run to run."""
        for chunk in self._chunks:
            if chunk:  # one that was emptied remembers how large it was, and is searched all through
                yield from chunk

    def __len__(self) -> int:
        return self._size

    def __eq__(self, other: object) -> bool:
        if isinstance(other, CopyOnWriteDict) and self._mask == other._mask:
            return self._chunks is other._chunks or self._chunks == other._chunks
        return super().__eq__(other)

    def __repr__(self) -> str:
        return repr(dict(self))
