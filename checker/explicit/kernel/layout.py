"""Layout of states: the place of each leaf in the packed words, and the canonical form of a state.

A packed state is a fixed number of 64-bit words. Two states are equal exactly when their canonical
words are: live ordinals are numbered 1.. by rank within their sort, the slots of a bag are sorted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from checker.errors import FencepostError
from checker.lang.ir import Bag, Kind, Leaf

WORD = 64
MAX_CODE = 62  # ordinal codes are bits of a word while a step is canonicalized, and 1 << 63 is left out


class LayoutError(FencepostError):
    """A state that cannot be packed; the message names the leaf, bag or sort and says why."""


@dataclass(frozen=True)
class Piece:
    """`bits` bits of a field from its bit `at` on, kept in word `word` from bit `shift` on."""

    word: int
    shift: int
    bits: int
    at: int

    @property
    def mask(self) -> int:
        """The piece's bits, right-aligned."""
        return (1 << self.bits) - 1


Field = tuple[Piece, ...]  # least significant piece first; no piece at all where there is only the code 0


@dataclass(frozen=True)
class _Unit:
    """Leaves that must lie side by side, first one most significant: a bag's slot, or a single leaf."""

    leaves: tuple[int, ...]
    bits: int
    solid: bool = False  # must not cross a word: slots are sorted as integers


class Layout:
    """The packing of one model's states.

    words: 64-bit words a state takes. fields: one per leaf. slots: per bag, per slot, its field.
    sorts: sort -> its leaves' indices. view: per word, the bits that count for a state's identity.
    Raises LayoutError for a bag slot wider than a word and for a sort with too many ordinals.
    """

    def __init__(self, leaves: Sequence[Leaf], bags: Sequence[Bag], fresh_per_step: Mapping[str, int]) -> None:
        self.leaves = list(leaves)
        self.bags = list(bags)
        self.sorts: dict[str, list[int]] = {}
        for index, leaf in enumerate(leaves):
            if leaf.kind is Kind.ORDINAL:
                self.sorts.setdefault(leaf.sort, []).append(index)
        for sort, members in self.sorts.items():
            most = len(members) + fresh_per_step.get(sort, 0)
            if most > MAX_CODE:
                raise LayoutError(
                    f"the ordinal {sort} has {len(members)} places and {most - len(members)} fresh values "
                    f"in one step: together at most {MAX_CODE} are supported"
                )
        self.bits = [self._bits(leaf) for leaf in leaves]
        units = self._units()
        total = sum(self.bits)
        fewest = max(1, -(-total // WORD))
        placed, words = _first_fit(units)
        self.words = words
        if words > fewest:
            placed, self.words = _straddling(units)
        self.fields: list[Field] = [()] * len(leaves)
        for unit, field in zip(units, placed, strict=True):
            at = unit.bits
            for leaf_index in unit.leaves:
                at -= self.bits[leaf_index]
                self.fields[leaf_index] = _part(field, at, self.bits[leaf_index])
        self._whole = [(f[0].word, f[0].shift, f[0].mask) if len(f) == 1 else None for f in self.fields]
        of_unit = {unit.leaves: field for unit, field in zip(units, placed, strict=True)}
        self.slots: list[list[Field]] = [[of_unit[tuple(slot)] for slot in bag.slots] for bag in bags]
        self.view = self._view()

    def _bits(self, leaf: Leaf) -> int:
        if leaf.kind is Kind.BOOL:
            return 1
        if leaf.kind is Kind.SET:
            if leaf.size > WORD:
                raise LayoutError(f"{leaf.path}: a set of {leaf.size} possible members, at most {WORD} fit")
            return leaf.size
        codes = len(self.sorts[leaf.sort]) + 1 if leaf.kind is Kind.ORDINAL else leaf.size
        return (codes - 1).bit_length()

    def _units(self) -> list[_Unit]:
        units = []
        inside: set[int] = set()
        for bag in self.bags:
            for slot in bag.slots:
                bits = sum(self.bits[i] for i in slot)
                if bits > WORD:
                    raise LayoutError(f"{bag.path}: a slot takes {bits} bits, at most {WORD} are supported")
                units.append(_Unit(tuple(slot), bits, solid=True))
                inside.update(slot)
        units += [_Unit((i,), self.bits[i]) for i in range(len(self.leaves)) if i not in inside]
        return units

    def _view(self) -> tuple[int, ...]:
        view = [(1 << WORD) - 1] * self.words
        for leaf, field in zip(self.leaves, self.fields, strict=True):
            if leaf.hidden:
                for piece in field:
                    view[piece.word] &= ~(piece.mask << piece.shift)
        return tuple(view)

    @property
    def has_view(self) -> bool:
        """True if some leaf is left out of a state's identity."""
        return any(leaf.hidden for leaf in self.leaves)

    def canonical(self, codes: Sequence[int]) -> list[int]:
        """The same state with ordinals renumbered by rank and bags in order. `codes`: one per leaf."""
        result = [int(code) for code in codes]
        for members in self.sorts.values():
            live = sorted({result[i] for i in members} - {0})
            rank = {0: 0} | {code: 1 + k for k, code in enumerate(live)}
            for i in members:
                result[i] = rank[result[i]]
        for bag in self.bags:
            contents = [[result[i] for i in slot] for slot in bag.slots]
            contents.sort(key=lambda values: (values[0] == 0, values))
            for slot, values in zip(bag.slots, contents, strict=True):
                for i, value in zip(slot, values, strict=True):
                    result[i] = value
        return result

    def pack(self, codes: Sequence[int]) -> tuple[int, ...]:
        """The canonical words of a state given by one code per leaf. Raises LayoutError for a code out of range."""
        if len(codes) != len(self.leaves):
            raise LayoutError(f"{len(codes)} codes for {len(self.leaves)} leaves")
        words = [0] * self.words
        for index, code in enumerate(self.canonical(codes)):
            if not 0 <= code < 1 << self.bits[index]:
                raise LayoutError(f"{self.leaves[index].path}: code {code} does not fit {self.bits[index]} bits")
            for piece in self.fields[index]:
                words[piece.word] |= (code >> piece.at & piece.mask) << piece.shift
        return tuple(words)

    def unpack(self, words: Sequence[int]) -> list[int]:
        """One code per leaf of a packed state."""
        values = [int(word) for word in words]
        return [
            values[whole[0]] >> whole[1] & whole[2]
            if whole is not None
            else sum((values[p.word] >> p.shift & p.mask) << p.at for p in field)
            for field, whole in zip(self.fields, self._whole, strict=True)
        ]


def _part(field: Field, at: int, bits: int) -> Field:
    """The bits at..at+bits-1 of a field, as a field."""
    pieces = []
    for piece in field:
        low, high = max(at, piece.at), min(at + bits, piece.at + piece.bits)
        if low < high:
            pieces.append(Piece(piece.word, piece.shift + low - piece.at, high - low, low - at))
    return tuple(pieces)


def _first_fit(units: Sequence[_Unit]) -> tuple[list[Field], int]:
    """First fit, widest first: no unit crosses a word. Gives a field per unit and the number of words."""
    used: list[int] = [0]
    placed: list[Field] = [()] * len(units)
    for index in sorted(range(len(units)), key=lambda i: -units[i].bits):
        bits = units[index].bits
        if bits == 0:
            continue
        word = next((w for w, taken in enumerate(used) if taken + bits <= WORD), len(used))
        if word == len(used):
            used.append(0)
        placed[index] = (Piece(word, used[word], bits, 0),)
        used[word] += bits
    return placed, len(used)


def _straddling(units: Sequence[_Unit]) -> tuple[list[Field], int]:
    """Bag slots by first fit, then every other leaf into the gaps in order, cut where a word is full."""
    solid = [unit if unit.solid else _Unit(unit.leaves, 0) for unit in units]
    placed, words = _first_fit(solid)
    used = [0] * words
    for field in placed:
        for piece in field:
            used[piece.word] = max(used[piece.word], piece.shift + piece.bits)
    word = 0
    for index, unit in enumerate(units):
        if placed[index] or unit.bits == 0:
            continue
        pieces: list[Piece] = []
        at = 0
        while at < unit.bits:
            while word < len(used) and used[word] == WORD:
                word += 1
            if word == len(used):
                used.append(0)
            bits = min(unit.bits - at, WORD - used[word])
            pieces.append(Piece(word, used[word], bits, at))
            used[word] += bits
            at += bits
        placed[index] = tuple(pieces)
    return placed, len(used)
