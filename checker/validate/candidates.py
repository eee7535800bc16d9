"""States that an implementation may be in, and what is known of the numbers that their ordinals stand for.

A packed state has ordinals by rank; a trace has them as the implementation numbers them. A candidate therefore keeps
for each live rank the numbers that it may stand for: an interval of halves. An even bound 2v is the number v itself,
an odd one lies between two numbers: [2v, 2v] is exactly v, [2a + 1, 2b - 1] is anything strictly between a and b
(of which there always is more: only order and equality count). Ranks rise, so both bounds rise with them; what an
ordinal that died ruled out stays in the bounds of its neighbours. That makes the check exact: a candidate is kept
as long as numbers exist for all its ordinals, past and present, that agree with everything observed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from checker.explicit.kernel.columns import codes_of
from checker.explicit.kernel.layout import Layout
from checker.explicit.kernel.observed_steps import ALL_SURVIVE, ObservedSteps
from checker.running.arrays import Bits, Longs, Words

LOW, HIGH = -(1 << 62) + 1, (1 << 62) - 1  # odd: no bound


@dataclass(frozen=True)
class Candidates:
    """Rows of candidates. item: whose. low, high: shape (rows, columns), bounds by rank, sort by sort."""

    item: Longs
    words: Words
    low: Longs
    high: Longs

    def __len__(self) -> int:
        return len(self.item)

    def take(self, rows: Longs | Bits) -> Candidates:
        return Candidates(self.item[rows], np.ascontiguousarray(self.words[rows]), self.low[rows], self.high[rows])

    def joined(self, *others: Candidates) -> Candidates:
        every = (self, *others)
        return Candidates(
            np.concatenate([c.item for c in every]), np.concatenate([c.words for c in every]),
            np.concatenate([c.low for c in every]), np.concatenate([c.high for c in every]),
        )  # fmt: skip

    def in_order(self) -> Candidates:
        """The same in order of items."""
        return self.take(np.argsort(self.item, kind="stable"))

    def distinct(self) -> Candidates:
        """Each candidate of an item once; in order of items."""
        if len(self.item) < 2 or (np.diff(self.item) > 0).all():
            return self
        return self.take(self._first_rows()).in_order()

    def beyond(self, others: Candidates) -> Candidates:
        """Each candidate once that is none of others, which are distinct."""
        rows = others.joined(self)._first_rows()
        return self.take(rows[rows >= len(others)] - len(others))

    def _first_rows(self) -> Longs:
        """The first row of each distinct candidate."""
        rows = np.concatenate([self.item[:, None], self.words.view(np.int64), self.low, self.high], axis=1)
        whole = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.shape[1] * 8))).reshape(-1)
        found: Longs = np.unique(whole, return_index=True)[1]
        return found


@dataclass(frozen=True)
class Sort:
    """A sort of ordinals: its leaves, and its columns in the bounds (rank r is column first + r - 1)."""

    leaves: list[int]
    first: int

    @property
    def columns(self) -> slice:
        return slice(self.first, self.first + len(self.leaves))


class Numbers:
    """The meaning of the bounds of one model's candidates, and how steps and observations change them."""

    def __init__(self, observed_steps: ObservedSteps) -> None:
        self.layout: Layout = observed_steps.layout
        self.sorts: list[Sort] = []
        for leaves in self.layout.sorts.values():
            self.sorts.append(Sort(leaves, sum(len(s.leaves) for s in self.sorts)))
        self.columns = sum(len(s.leaves) for s in self.sorts)
        self._ordinal = np.array([bool(leaf.sort) for leaf in self.layout.leaves])
        self._first = {leaf: sort.first for sort in self.sorts for leaf in sort.leaves}

    def unbound(self, item: Longs, words: Words) -> Candidates:
        """Candidates of which no number is known."""
        shape = (len(item), self.columns)
        return Candidates(item, words, np.full(shape, LOW), np.full(shape, HIGH))

    def complete(self, item: Longs, codes: Longs) -> Candidates:
        """Candidates from states that were observed in full. codes: with ordinals as they were recorded."""
        found = self.unbound(item, self.pack(self.ranked(codes)))
        for sort in self.sorts:
            values = np.sort(codes[:, sort.leaves], axis=1)
            fresh = np.diff(values, axis=1, prepend=0) > 0
            rows, places = np.nonzero(fresh)
            columns = sort.first + np.cumsum(fresh, axis=1)[fresh] - 1
            found.low[rows, columns] = found.high[rows, columns] = 2 * (values[rows, places] - 1)
        return found

    def ranked(self, codes: Longs) -> Longs:
        """Codes with recorded ordinals replaced by their ranks."""
        result = codes.copy()
        for sort in self.sorts:
            values = codes[:, sort.leaves]
            order = np.argsort(values, axis=1)
            rising = np.diff(np.take_along_axis(values, order, axis=1), axis=1, prepend=0) > 0
            ranks = np.empty_like(values)
            np.put_along_axis(ranks, order, np.cumsum(rising, axis=1), axis=1)
            result[:, sort.leaves] = ranks
        return result

    def pack(self, codes: Longs) -> Words:
        """Packed words of canonical codes; shape (rows, words)."""
        words = np.zeros((len(codes), self.layout.words), dtype=np.uint64)
        for leaf, field in enumerate(self.layout.fields):
            for piece in field:
                part = codes[:, leaf].view(np.uint64) >> np.uint64(piece.at) & np.uint64(piece.mask)
                words[:, piece.word] |= part << np.uint64(piece.shift)
        return words

    def wanted(self, codes: Longs, known: Bits) -> Words:
        """The part of observed states that native code must match: the mask's words, then the value's.

        Plain leaves, ordinals that are absent, and the ranks of a sort that was observed in full.
        """
        if not known.any():
            return np.zeros((len(codes), 2 * self.layout.words), np.uint64)
        shown = np.where(known, codes, 0)
        matched = known & (~self._ordinal | (codes == 0))
        ranks = self.ranked(shown)
        for sort in self.sorts:
            matched[:, sort.leaves] |= known[:, sort.leaves].all(axis=1, keepdims=True)
        every = np.where(matched, np.int64(-1), np.int64(0))
        return np.concatenate([self.pack(every), self.pack(np.where(matched, ranks, 0))], axis=1)

    def after(self, before: Candidates, words: Words, survivors: Longs) -> Candidates:
        """The candidates that steps lead to. before: row by row what each step leaves; survivors: see `Successors`."""
        low, high = before.low.copy(), before.high.copy()
        for number, sort in enumerate(self.sorts):
            rows = np.flatnonzero(survivors[:, number] != ALL_SURVIVE)
            if not len(rows):
                continue
            source = _sources(survivors[rows, number], len(sort.leaves))
            old_low, old_high = before.low[rows, sort.columns], before.high[rows, sort.columns]
            above_all = (old_low | 1).max(axis=1)  # what is fresh is above everything that was live
            low[rows, sort.columns] = _picked(old_low, above_all, LOW, source)
            high[rows, sort.columns] = _picked(old_high, np.full(len(rows), HIGH), HIGH, source)
        return Candidates(before.item, words, low, high)

    def observed(self, found: Candidates, codes: Longs, known: Bits, *, plain: bool) -> tuple[Candidates, Bits]:
        """The candidates once what was observed of them is taken in, and which of them agree with it.

        plain: look at leaves that are not ordinals, too.
        """
        agree = np.ones(len(found), dtype=bool)
        looked_at = np.flatnonzero(known.any(axis=0))
        if not len(looked_at):
            return found, agree
        low, high = found.low.copy(), found.high.copy()
        for leaf in looked_at.tolist():
            if not plain and not self._ordinal[leaf]:
                continue
            rows = np.flatnonzero(known[:, leaf])
            code = codes_of(self.layout, found.words[rows], range(leaf, leaf + 1))[:, 0]
            wanted = codes[rows, leaf]
            if not self._ordinal[leaf]:
                agree[rows] &= code == wanted
                continue
            agree[rows] &= (code == 0) == (wanted == 0)
            live = (code != 0) & (wanted != 0)
            rows, number = rows[live], 2 * (wanted[live] - 1)
            column = self._first[leaf] + code[live] - 1
            agree[rows] &= (low[rows, column] <= number) & (number <= high[rows, column])
            low[rows, column] = high[rows, column] = number
        if self._ordinal[looked_at].any():
            agree &= self._narrowed(low, high)
        return Candidates(found.item, found.words, low, high), agree

    def _narrowed(self, low: Longs, high: Longs) -> Bits:
        """Let bounds rise with the ranks, in place; whether each row still has numbers for all."""
        fits = np.ones(len(low), dtype=bool)
        for sort in self.sorts:
            mine_low, mine_high = low[:, sort.columns], high[:, sort.columns]
            below = np.maximum.accumulate(mine_low | 1, axis=1)[:, :-1]
            above = np.minimum.accumulate(((mine_high - 1) | 1)[:, ::-1], axis=1)[:, ::-1][:, 1:]
            mine_low[:, 1:] = np.maximum(mine_low[:, 1:], below)
            mine_high[:, :-1] = np.minimum(mine_high[:, :-1], above)
            fits &= (mine_low <= mine_high).all(axis=1)
        return fits


def _sources(survivors: Longs, columns: int) -> Longs:
    """Per rank the column it had before the step: shape (rows, columns). `columns`: it is fresh, +1: there is none."""
    source = np.full((len(survivors), columns), columns + 1)
    left = survivors & ~1
    for rank in range(columns):
        bit = left & -left
        live = bit != 0
        if not live.any():
            break
        code = np.frexp(bit.astype(np.float64))[1] - 1
        source[live, rank] = np.minimum(code[live] - 1, columns)
        left ^= bit
    return source


def _picked(old: Longs, fresh: Longs, none: int, source: Longs) -> Longs:
    every = np.concatenate([old, fresh[:, None], np.full((len(old), 1), none)], axis=1)
    return np.take_along_axis(every, source, axis=1)
