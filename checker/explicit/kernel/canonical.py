"""Generated code that brings a successor into canonical form: ordinals by rank, bags in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from checker.explicit.kernel.assembler import Function
from checker.explicit.kernel.layout import Field, Layout
from checker.explicit.kernel.lowering import extract, insert, word_arguments, word_names, word_parameters


class Canonicalizer:
    """Emits calls to one function per sort and per bag, and those functions as they are needed."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._sort_order = {sort: k for k, sort in enumerate(layout.sorts)}
        self._bag_of = {i: b for b, bag in enumerate(layout.bags) for slot in bag.slots for i in slot}
        self._functions: dict[str, str] = {}

    def text(self) -> str:
        """The definitions of all functions called so far."""
        return "\n".join(self._functions.values())

    def successor(
        self, f: Function, words: Sequence[str], updates: Mapping[int, str]
    ) -> tuple[list[str], dict[str, str]]:
        """The canonical words after a step, and per renumbered sort the mask of the codes before that are left.

        updates: leaf -> its code as an i64 value, ordinals unranked.
        """
        layout = self._layout
        plain = [(layout.fields[i], v) for i, v in updates.items() if not layout.leaves[i].sort]
        ordinals: dict[str, list[tuple[Field, str]]] = {}
        for i, value in updates.items():
            if layout.leaves[i].sort:
                ordinals.setdefault(layout.leaves[i].sort, []).append((layout.fields[i], value))
        blank = [(field, "0") for changed in ordinals.values() for field, _ in changed]
        result = insert(f, words, plain + blank)
        ranked: list[tuple[Field, str]] = []
        left: dict[str, str] = {}
        for sort, changed in ordinals.items():
            result, left[sort] = self._rank_rest(f, result, sort, [value for _, value in changed])
            ranked += [(field, _rank(f, value, left[sort])) for field, value in changed]
        if ranked:
            result = insert(f, result, ranked)
        for bag in sorted({self._bag_of[i] for i in updates if i in self._bag_of}):
            if len(layout.bags[bag].slots) > 1:
                result = self._order(f, result, bag)
        return result, left

    def _rank_rest(self, f: Function, words: list[str], sort: str, values: list[str]) -> tuple[list[str], str]:
        """Renumber the leaves of `sort` that stay; gives the words and the mask of all codes present."""
        new = f.any_of([f.op(f"shl i64 1, {value}") for value in values])
        name = f"rank{self._sort_order[sort]}"
        count = self._layout.words
        if name not in self._functions:
            self._functions[name] = _rank_function(name, self._layout, sort)
        result = f.op(f"call fastcc [{count + 1} x i64] @{name}({word_arguments([*words, new])})")
        parts = [f.op(f"extractvalue [{count + 1} x i64] {result}, {k}") for k in range(count + 1)]
        return parts[:-1], parts[-1]

    def _order(self, f: Function, words: list[str], bag: int) -> list[str]:
        name = f"order{bag}"
        count = self._layout.words
        if name not in self._functions:
            self._functions[name] = _order_function(name, count, self._layout.slots[bag])
        result = f.op(f"call fastcc [{count} x i64] @{name}({word_arguments(words)})")
        return [f.op(f"extractvalue [{count} x i64] {result}, {k}") for k in range(count)]


def _rank(f: Function, code: str, present: str) -> str:
    """The rank of a code among those present: 0 for 0, 1.. for live ones."""
    bit = f.op(f"shl i64 1, {code}")
    below = f.op(f"and i64 {f.op(f'sub i64 {bit}, 1')}, {present}")
    return f.op(f"call i64 @llvm.ctpop.i64(i64 {below})")


def _return_words(f: Function, words: Sequence[str]) -> None:
    result = "undef"
    for k, word in enumerate(words):
        result = f.op(f"insertvalue [{len(words)} x i64] {result}, i64 {word}, {k}")
    f.line(f"ret [{len(words)} x i64] {result}")


def _rank_function(name: str, layout: Layout, sort: str) -> str:
    """(words, mask of the new codes) -> (words, mask of all codes and 0). New codes' leaves are 0 in the words."""
    count = layout.words
    parameters = {**word_parameters(count), "new": "i64"}
    f = Function(name, f"[{count + 1} x i64]", parameters, "internal fastcc", "noinline")
    words = word_names(count)
    members = [(layout.fields[i], extract(f, words, layout.fields[i])) for i in layout.sorts[sort]]
    codes = [f.op(f"shl i64 1, {value}") for _, value in members]
    present = f.any_of(["%new", "1", *codes])
    gap = f.op(f"and i64 {present}, {f.op(f'add i64 {present}, 1')}")
    renumber, done = f.label(), f.label()
    f.branch(f.op(f"icmp eq i64 {gap}, 0"), done, renumber)
    f.open(done)
    _return_words(f, [*words, present])
    f.open(renumber)
    ranked = insert(f, words, [(field, _rank(f, value, present)) for field, value in members])
    _return_words(f, [*ranked, present])
    return f.text()


def _order_function(name: str, count: int, slots: Sequence[Field]) -> str:
    """Sort a bag's slots: a network on keys slot - 1, unsigned, so that empty slots (0) come last."""
    f = Function(name, f"[{count} x i64]", word_parameters(count), "internal fastcc", "noinline")
    words = word_names(count)
    keys = [f.op(f"sub i64 {extract(f, words, slot)}, 1") for slot in slots]
    for a, b in _network(len(keys)):
        low = f.op(f"call i64 @llvm.umin.i64(i64 {keys[a]}, i64 {keys[b]})")
        keys[b] = f.op(f"call i64 @llvm.umax.i64(i64 {keys[a]}, i64 {keys[b]})")
        keys[a] = low
    sorted_slots = [(slot, f.op(f"add i64 {key}, 1")) for slot, key in zip(slots, keys, strict=True)]
    _return_words(f, insert(f, words, sorted_slots))
    return f.text()


def _network(n: int) -> list[tuple[int, int]]:
    """Batcher's odd-even merge sort: pairs (a, b), a < b, to be compared and exchanged in order."""
    pairs = []
    p = 1
    while p < n:
        k = p
        while k >= 1:
            for j in range(k % p, n - k, 2 * k):
                for i in range(min(k, n - j - k)):
                    if (i + j) // (2 * p) == (i + j + k) // (2 * p):
                        pairs.append((i + j, i + j + k))
            k //= 2
        p *= 2
    return pairs
