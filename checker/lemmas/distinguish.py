"""Distinctions between a state that is never reached and every state that is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from checker.explicit.kernel.kernel import Kernel
from checker.explicit.kernel.layout import Layout
from checker.explicit.search.results import SearchResult
from checker.explicit.search.store import Shard
from checker.lang.types import RecordType
from checker.lemmas.features import Columns, Feature, chunks, features
from checker.running.arrays import Bits

_CHUNK = 1 << 16


@dataclass(frozen=True)
class Distinction:
    """texts: true of the state, and all of them true of no state that was reached; none may be left out.

    Empty if the features do not distinguish it. nearest: the codes of a reached state with most of the state's
    features, and differences: the features that it does not have.
    """

    texts: tuple[str, ...]
    nearest: tuple[int, ...]
    differences: tuple[str, ...]


def distinguish(
    type_: RecordType, kernel: Kernel, result: SearchResult, codes: Sequence[int], read: frozenset[int]
) -> Distinction:
    """Tell the state with these codes from all that a search stored, by the leaves in `read`."""
    layout = kernel.layout
    known = features(type_, layout, layout.canonical(codes), read)
    shards = result.exploration.shards

    def states() -> Iterator[Columns]:
        return (Columns(layout, words) for words in chunks(shards, _CHUNK))

    chosen = _separating(known, states)
    row, differences = _nearest(known, shards, layout)
    return Distinction(tuple(f.text for f in chosen), tuple(layout.unpack(row)), tuple(differences))


def _separating(known: Sequence[Feature], states: Callable[[], Iterator[Columns]]) -> list[Feature]:
    """Features that no state has all of: each time the one that most of the states left do not have."""
    chosen: list[Feature] = []
    while True:
        lacking, left = np.zeros(len(known), dtype=np.int64), 0
        for columns in states():
            alike = _all_hold(chosen, columns)
            left += int(alike.sum())
            if alike.any():
                lacking += [int((alike & ~feature.holds(columns)).sum()) for feature in known]
        if not left:
            break
        best = int(lacking.argmax()) if len(known) else 0
        if not len(known) or not lacking[best]:
            return []
        chosen.append(known[best])
    for feature in list(chosen):  # a later choice may have made an earlier one needless
        rest = [other for other in chosen if other is not feature]
        if rest and not any(_all_hold(rest, columns).any() for columns in states()):
            chosen = rest
    return chosen


def _all_hold(chosen: Sequence[Feature], columns: Columns) -> Bits:
    alike = np.ones(len(columns), dtype=np.bool_)
    for feature in chosen:
        alike &= feature.holds(columns)
    return alike


def _nearest(known: Sequence[Feature], shards: Sequence[Shard], layout: Layout) -> tuple[list[int], list[str]]:
    """(the packed words of a state with most of the features, those that it lacks)."""
    best: tuple[int, list[int], list[str]] | None = None
    for words in chunks(shards, _CHUNK):
        columns = Columns(layout, words)
        lacks = np.array([~feature.holds(columns) for feature in known]).reshape(len(known), len(columns))
        counts = lacks.sum(axis=0)
        row = int(counts.argmin())
        if best is None or counts[row] < best[0]:
            missing = [f.text for f, lacking in zip(known, lacks[:, row], strict=True) if lacking]
            best = (int(counts[row]), [int(w) for w in words[row]], missing)
    assert best is not None, "a search stores its initial states"
    return best[1], best[2]
