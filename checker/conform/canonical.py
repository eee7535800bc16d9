"""Structures by rank: digests that are equal where structures are, once ordinals are renumbered within their sort.

A structure is read into a code, which has the sort of each ordinal in its place, and the ordinals in order. Codes of
equal parts are one object. Of two structures with the same code, those are equal by rank whose ordinals stand in the
same order. Members of a set are read in the order of their codes, and of their ordinals where those are equal.
"""

from __future__ import annotations

import enum
from array import array
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any, NamedTuple, cast

from checker.conform.graph import Free
from checker.conform.system import Ordinal, Structure

MOST_REMEMBERED = 1 << 16  # parts, and codes; beyond it all are forgotten
DIGEST_BYTES = 16
PARTED = (tuple, frozenset)
PLAIN = frozenset({int, str, bool, type(None)})
LIKELY = 2  # so deep in a structure are the parts that are mostly the same from state to state, as whole hosts are
SORT_BYTES, VALUE_BYTES = 8, 24

Digest = bytes
"""Of a structure: the same in every process."""
Ordinals = tuple[str, ...]
"""By their numbers: strings, which are hashed once, in the order of the ordinals of a sort."""
Ranks = dict[Any, int]


class Named(NamedTuple):
    """A place in two structures, `brokers[0].epoch`, and what stands there in each."""

    path: str
    spec: Structure
    system: Structure


class Code:
    """A structure but for the values of its ordinals. Equal ones are one object."""

    __slots__ = ("digest",)

    def __init__(self, digest: Digest) -> None:
        self.digest = digest


class Canonical:
    """Makes digests of structures, and remembers the parts that structures share."""

    def __init__(self) -> None:
        self._codes: dict[Any, Code] = {}
        self._read: dict[Structure, tuple[Code, Ordinals]] = {}  # of parts
        self._same: dict[int, tuple[Any, tuple[Code, Ordinals]]] = {}  # by id, with the part: to hash it is slow
        self._numbers: dict[Ordinal, str] = {}

    def of(self, structure: Structure) -> Digest:
        """Equal for structures that are equal by rank."""
        self._forget()
        code, ordinals = self._flat((structure,), -1)
        return _digest((code,), ordinals)

    def pair(self, shown: Structure, hidden: Structure) -> tuple[Digest, Digest]:
        """(that of `shown` alone, what is equal exactly where the two together are equal by rank)."""
        return self.three(shown, hidden, None)[:2]

    def three(self, shown: Structure, hidden: Structure, apart: Structure) -> tuple[Digest, Digest, Digest]:
        """As `pair`, and what is equal exactly where all three together are equal by rank."""
        self._forget()
        own_code, own = self._flat((shown,), -1)
        code, others = self._flat((hidden,), -1)
        both = _digest((own_code, code), own + others)
        last_code, last = self._flat((apart,), -1)
        whole = _digest((own_code, code, last_code), own + others + last) if last else both + last_code.digest
        return _digest((own_code,), own), both, whole

    def _forget(self) -> None:
        if len(self._same) > MOST_REMEMBERED:
            self._same.clear()
        if max(len(self._read), len(self._codes), len(self._numbers)) > MOST_REMEMBERED:
            for table in (self._read, self._codes, self._same, self._numbers):
                table.clear()

    def _flat(self, node: Any, depth: int) -> tuple[Code, Ordinals]:
        """The code of a tuple or set, and the ordinals in it as they stand there."""
        is_set = isinstance(node, frozenset)
        if depth == LIKELY or (is_set and depth > 0):
            known = self._read.get(node)
            if known is None:
                known = self._read[node] = self._of_set(node) if is_set else self._of(node, depth)
            self._same[id(node)] = node, known
            return known
        return self._of_set(node) if is_set else self._of(node, depth)

    def _of(self, node: Any, depth: int) -> tuple[Code, Ordinals]:
        codes: list[Any] = []
        ordinals: list[str] = []
        numbers, same, below = self._numbers, self._same, depth + 1
        for part in node:
            kind = part.__class__
            if kind in PLAIN:
                codes.append(part)
            elif kind is Ordinal:
                codes.append(self._code(part.sort))
                ordinals.append(numbers.get(part) or self._number(part))
            elif isinstance(part, PARTED):
                known = same.get(id(part))
                code, inside = self._flat(part, below) if known is None else known[1]
                codes.append(code)
                ordinals += inside
            else:
                codes.append(part)
        return self._code(tuple(codes)), tuple(ordinals)

    def _of_set(self, node: frozenset[Any]) -> tuple[Code, Ordinals]:
        members = [self._flat((member,), LIKELY) for member in node]
        members.sort(key=lambda one: (one[0].digest, one[1]))
        code = self._code((frozenset, *[code for code, _ in members]))
        return code, tuple([ordinal for _, inside in members for ordinal in inside])

    def _number(self, ordinal: Ordinal) -> str:
        """A number that is in order with those of the same sort, and the same in every process."""
        sort = blake2b(ordinal.sort.encode(), digest_size=SORT_BYTES).digest()
        value = ordinal.value + (1 << 8 * VALUE_BYTES - 1)
        made = self._numbers[ordinal] = (sort + value.to_bytes(VALUE_BYTES, "big")).decode("latin-1")
        return made

    def _code(self, parts: Any) -> Code:
        """parts: codes and plain values; or the name of a sort."""
        found = self._codes.get(parts)
        if found is None:
            whole = b"".join(map(_content, parts)) if isinstance(parts, tuple) else b"ordinal " + parts.encode()
            found = self._codes[parts] = Code(blake2b(whole, digest_size=DIGEST_BYTES).digest())
        return found


def _content(part: Any) -> bytes:
    """What a part adds to the digest of what it stands in: as many bytes as are said first, equal for equal parts."""
    if isinstance(part, Code):
        return b"c" + part.digest
    if isinstance(part, int):
        text = f"int {int(part)}"
    elif isinstance(part, str):
        text = f"str {str.__str__(part)}"
    elif isinstance(part, enum.Enum):
        text = f"enum {type(part).__qualname__}.{part.name}"
    else:
        text = repr(part)
    content = text.encode()
    return b"p%d " % len(content) + content


def _digest(codes: tuple[Code, ...], ordinals: Ordinals) -> Digest:
    """Of codes, and of the places of the ordinals in them among all of them."""
    places = {ordinal: place for place, ordinal in enumerate(sorted(set(ordinals)))}
    in_order = map(places.__getitem__, ordinals)
    content = bytes(in_order) if len(places) <= 256 else array("I", in_order).tobytes()
    whole = b"".join([*[code.digest for code in codes], content])
    return blake2b(whole, digest_size=DIGEST_BYTES).digest()


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


def by_rank(structure: Structure) -> Structure:
    """The structure with each ordinal by rank. All tuples in it are plain ones."""
    ranks = ranks_of(sorted(_ordinals(structure)))

    def rename(node: Any) -> Any:
        if isinstance(node, Ordinal):
            return (node.sort, ranks[node])
        if isinstance(node, PARTED):
            parts = map(rename, node)
            return tuple(parts) if isinstance(node, tuple) else frozenset(parts)
        return node

    return cast(Structure, rename(structure))


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
    if isinstance(spec, Free) and isinstance(system, Free):
        yield from places(spec.value, system.value, path)
        return
    alike = type(spec) is type(system) and not isinstance(spec, Ordinal)
    if alike and isinstance(spec, tuple) and isinstance(system, tuple) and len(spec) == len(system) > 0:
        names = getattr(spec, "_fields", None)
        for number, (a, b) in enumerate(zip(spec, system, strict=True)):
            below = f"{path}[{number}]" if names is None else f"{path}.{names[number]}".lstrip(".")
            yield from places(a, b, below)
    else:
        yield Named(path, spec, system)
