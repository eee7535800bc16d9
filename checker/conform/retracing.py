"""The ways to pairs that a checkpoint has, on which the SUT is driven again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from checker.conform.canonical import Digest
from checker.conform.worker import BEGIN, Retraced

AT_ONCE = 256  # pairs: between two askings limits are looked at


class Retracing(NamedTuple):
    """Some of the pairs that so many steps lead to. is_first: of them."""

    steps: int
    is_first: bool
    pairs: list[Retraced]


def retracings(
    last: Sequence[int], parents: Sequence[int], instances: Sequence[int], digests: Sequence[Digest]
) -> Iterator[Retracing]:
    """The ways to the pairs `last` of one level, level by level; the last level has them in their order.

    parents, instances, digests: of each pair, by its number, as in `Candidate`.
    """
    levels = [list(last)]
    while levels[-1] and parents[levels[-1][0]] != BEGIN:
        levels.append(sorted({parents[pair] for pair in levels[-1]}))
    before = {BEGIN: BEGIN}
    for steps, level in enumerate(reversed(levels)):
        pairs = [Retraced(before[parents[pair]], instances[pair], digests[pair]) for pair in level]
        for start in range(0, len(pairs), AT_ONCE):
            yield Retracing(steps, start == 0, pairs[start : start + AT_ONCE])
        before = {pair: at for at, pair in enumerate(level)}
