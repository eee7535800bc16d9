"""Structures by rank: ordinals renumbered 0, 1, ... within their sort, so that equal means the same.

What is the same from step to step is not looked at again: every part of a structure is remembered with the ordinals
in it, and with what it becomes under the ranks that they have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, cast

from checker.conform.graph import Free
from checker.conform.system import Ordinal, Structure

MOST_REMEMBERED = 1 << 18  # parts; beyond it all are forgotten
PARTED = (tuple, frozenset)
PLAIN = frozenset({int, str, bool, type(None)})

Ordinals = tuple[Any, ...]  # distinct, in order
Ranks = dict[Any, int]


class Named(NamedTuple):
    """A place in two structures, `brokers[0].epoch`, and what stands there in each."""

    path: str
    spec: Structure
    system: Structure


class Canonical:
    """Renames ordinals by rank, and remembers how."""

    def __init__(self) -> None:
        self._ordinals: dict[Structure, Ordinals] = {}
        self._renamed: dict[tuple[Structure, tuple[int, ...]], Structure] = {}
        self._ranks: dict[Ordinals, Ranks] = {}
        self._pairs: dict[tuple[Structure, Structure], tuple[Structure, Structure]] = {}

    def of(self, structure: Structure) -> Structure:
        """The structure with its own ordinals by rank. All tuples in it are plain ones."""
        return self._rename(structure, self._ranked(self._in(structure)))

    def pair(self, shown: Structure, hidden: Structure) -> tuple[Structure, Structure]:
        """(`shown` by its own ranks, what is equal exactly where the rest of the two together is equal too)."""
        found = self._pairs.get((shown, hidden))
        if found is None:
            self._forget()
            found = self._pairs[shown, hidden] = self._paired(shown, hidden)
        return found

    def _paired(self, shown: Structure, hidden: Structure) -> tuple[Structure, Structure]:
        own, others = self._in(shown), self._in(hidden)
        ranks = self._ranked(own)
        canonical = self._rename(shown, ranks)
        if all(ordinal in ranks for ordinal in others):
            return canonical, self._rename(hidden, ranks)
        together = self._ranked(tuple(sorted({*own, *others})))
        return canonical, (self._rename(hidden, together), tuple([together[ordinal] for ordinal in own]))

    def _forget(self) -> None:
        for memory in (self._ordinals, self._renamed, self._ranks, self._pairs):
            if len(memory) > MOST_REMEMBERED:
                memory.clear()

    def _in(self, node: Structure) -> Ordinals:
        """The ordinals in a structure."""
        if node.__class__ in PLAIN:
            return ()
        if isinstance(node, Ordinal):
            return (node,)
        found = self._ordinals.get(node)
        if found is None:
            if not isinstance(node, PARTED):
                return ()
            inside = {ordinal for part in node for ordinal in self._in(part)}
            found = self._ordinals[node] = tuple(sorted(inside))
        return found

    def _ranked(self, ordinals: Ordinals) -> Ranks:
        ranks = self._ranks.get(ordinals)
        if ranks is None:
            ranks = self._ranks[ordinals] = ranks_of(ordinals)
        return ranks

    def _rename(self, node: Structure, ranks: Ranks) -> Structure:
        inside = self._in(node)
        if not inside:
            return node
        if isinstance(node, Ordinal):
            return (node.sort, ranks[node])
        key = (node, tuple([ranks[ordinal] for ordinal in inside]))
        found = self._renamed.get(key)
        if found is None:
            assert isinstance(node, PARTED)
            parts = [self._rename(part, ranks) for part in node]
            found = self._renamed[key] = tuple(parts) if isinstance(node, tuple) else frozenset(parts)
        return found


def ranks_of(ordinals: Iterable[Any]) -> Ranks:
    """The rank of each within its sort. ordinals: in order."""
    ranks: Ranks = {}
    sort, rank = None, 0
    for ordinal in ordinals:
        if ordinal.sort != sort:
            sort, rank = ordinal.sort, 0
        ranks[ordinal] = rank
        rank += 1
    return ranks


def renumbered(structure: Structure, like: Structure) -> Structure:
    """The structure with each ordinal as that of the same rank in `like`; named tuples keep their names."""
    ranks = ranks_of(sorted(_ordinals(structure)))
    numbers: dict[str, list[int]] = {}
    for sort, value in sorted(_ordinals(like)):
        numbers.setdefault(sort, []).append(value)

    def number(sort: str, rank: int) -> int:
        known = numbers.get(sort, [])
        return known[rank] if rank < len(known) else (known[-1] + 1 if known else 0) + rank - len(known)

    def rename(node: Any) -> Any:
        if isinstance(node, Ordinal):
            return Ordinal(node.sort, number(node.sort, ranks[node]))
        if isinstance(node, frozenset):
            return frozenset(map(rename, node))
        return tuple.__new__(type(node), map(rename, node)) if isinstance(node, tuple) else node

    return cast(Structure, rename(structure))


def _ordinals(node: Any) -> set[Any]:
    if isinstance(node, Ordinal):
        return {node}
    return {found for part in node for found in _ordinals(part)} if isinstance(node, PARTED) else set()


def places(spec: Structure, system: Structure, path: str = "") -> Iterator[Named]:
    """Two structures side by side: the places in them that are not tuples, or not the same kind of tuple in both."""
    alike = type(spec) is type(system) and not isinstance(spec, Ordinal)
    if alike and isinstance(spec, tuple) and isinstance(system, tuple) and len(spec) == len(system) > 0:
        names = getattr(spec, "_fields", None)
        for number, (a, b) in enumerate(zip(spec, system, strict=True)):
            below = f"{path}[{number}]" if names is None else f"{path}.{names[number]}".lstrip(".")
            yield from places(a, b, path if isinstance(spec, Free) else below)
    else:
        yield Named(path, spec, system)
