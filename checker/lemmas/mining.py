"""Mining of candidates: clauses over a few facts that no explored state refutes.

`not (a and b and c)` holds in every state where the three are never together. States are looked at as rows of facts,
alike ones once; a fact or its negation (a *literal*) is then a column of bits, and a clause costs one `and`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from checker.lang.graph import Graph
from checker.lang.ir import Node, Op
from checker.lemmas.features import Columns
from checker.lemmas.templates import Fact
from checker.running.arrays import Bits, Longs, Words


@dataclass(frozen=True)
class Candidate:
    """An invariant that nobody wrote. text: for people; condition: broken where it holds, as of any property."""

    text: str
    condition: Node


def value(node: Node, states: Columns, memo: dict[int, Longs]) -> Longs:
    """A fact in many states at once."""
    if node.serial not in memo:
        if node.op is Op.LEAF:
            memo[node.serial] = states[node.data]
        elif node.op is Op.CONST:
            memo[node.serial] = np.full(len(states), int(node.data), dtype=np.int64)
        else:
            memo[node.serial] = _APPLY[node.op](*[value(a, states, memo) for a in node.args]).astype(np.int64)
    return memo[node.serial]


_APPLY: dict[Op, Any] = {
    Op.NOT: lambda a: a == 0,
    Op.AND: lambda a, b: a & b,
    Op.OR: lambda a, b: a | b,
    Op.EQ: lambda a, b: a == b,
    Op.LT: lambda a, b: a < b,
    Op.HAS: lambda s, i: s >> i & 1,
}


def _mixed(words: Words, weights: Words) -> Words:
    """A hash of each row."""
    found = np.zeros(len(words), dtype=np.uint64)
    for column, weight in enumerate(weights):
        found = (found ^ words[:, column]) * weight
        found ^= found >> np.uint64(29)
    return found


class Mine:
    """The candidates of one family of facts.

    ask: called repeatedly, and may raise, to stop.
    """

    def __init__(
        self, bag: str, facts: Sequence[Fact], graph: Graph, states: Iterable[Columns], ask: Callable[[], None]
    ) -> None:
        self.bag, self.facts, self.graph, self._ask = bag, facts, graph, ask
        truth = self._rows(states)
        columns = np.ascontiguousarray(truth.T)
        width = -(-len(truth) // 64) * 64
        both = np.zeros((2 * len(facts), width), dtype=bool)
        both[::2, : len(truth)], both[1::2, : len(truth)] = columns, ~columns
        self.bits = np.packbits(both, axis=1).view(np.uint64)

    def _rows(self, states: Iterable[Columns]) -> Bits:
        """Each row of facts that some state has for some choice, once. Rows of the same hash count as alike."""
        width = -(-len(self.facts) // 64) * 8
        weights = np.random.default_rng(0).integers(1 << 63, size=width // 8, dtype=np.uint64) | np.uint64(1)
        seen, found = np.zeros(0, dtype=np.uint64), [np.zeros((0, width), dtype=np.uint8)]
        for some in states:
            memo: dict[int, Longs] = {}
            for choice in range(len(self.facts[0].nodes)):
                self._ask()
                packed = np.zeros((width, len(some)), dtype=np.uint8)
                for start in range(0, len(self.facts), 8):
                    truth = [value(f.nodes[choice], some, memo) != 0 for f in self.facts[start : start + 8]]
                    packed[start // 8] = np.packbits(np.stack(truth), axis=0)[0]
                rows = np.ascontiguousarray(packed.T)
                hashes = _mixed(rows.view(np.uint64), weights)
                distinct, at = np.unique(hashes, return_index=True)
                new = ~np.isin(distinct, seen)
                seen = np.concatenate([seen, distinct[new]])
                found.append(rows[at[new]])
        return np.unpackbits(np.concatenate(found), axis=1, count=len(self.facts)).astype(bool)

    def candidates(self) -> Iterator[Candidate]:
        """Clauses such as no shorter one implies: of one literal, of two, and of any and two facts that join.

        The last kind is about no messages: of these there are too many facts.
        """
        own = [f.bag == self.bag for f in self.facts for _ in range(2)]
        ever = [bool(bits.any()) for bits in self.bits]
        yield from (self._candidate([a]) for a in range(len(ever)) if own[a] and not ever[a])
        literals = [a for a in range(len(ever)) if ever[a] and ever[a ^ 1]]
        never = self._never_together(literals)
        for a, b in combinations(literals, 2):
            if never[a, b] and a ^ 1 != b and (own[a] or own[b]):
                yield self._candidate([a, b])
        joins = [a for a in self._differing(literals) if a % 2 == 0 and self.facts[a // 2].joins and not self.bag]
        for a, b in combinations(joins, 2):
            self._ask()
            if never[a, b] or never[a, b ^ 1] or never[a ^ 1, b]:
                continue
            possible = [c for c in literals if not never[a, c] and not never[b, c]]
            together = self.bits[a] & self.bits[b]
            at = np.flatnonzero(together)
            meet = (self.bits[possible][:, at] & together[at]).any(axis=1)
            yield from (self._candidate([a, b, c]) for c, met in zip(possible, meet, strict=True) if not met)

    def _never_together(self, literals: Sequence[int]) -> Bits:
        found = np.zeros((len(self.bits), len(self.bits)), dtype=bool)
        for a in literals:
            self._ask()
            found[a, literals] = ~(self.bits[literals] & self.bits[a]).any(axis=1)
        return found

    def _differing(self, literals: Sequence[int]) -> list[int]:
        """One of the literals that are true in the same rows."""
        return list({self.bits[a].tobytes(): a for a in reversed(literals)}.values())[::-1]

    def _candidate(self, literals: Sequence[int]) -> Candidate:
        *given, last = sorted(literals, key=lambda a: (not self.facts[a // 2].joins or a % 2, a))
        condition = self.graph.any_([
            self.graph.all_([self._node(a, choice) for a in literals]) for choice in range(len(self.facts[0].nodes))
        ])  # fmt: skip
        then = self._text(last ^ 1)
        text = f"{' and '.join(self._text(a) for a in given)} => {then}" if given else then
        return Candidate(text, condition)

    def _node(self, literal: int, choice: int) -> Node:
        node = self.facts[literal // 2].nodes[choice]
        return self.graph.not_(node) if literal % 2 else node

    def _text(self, literal: int) -> str:
        text = self.facts[literal // 2].text
        return f"not ({text})" if literal % 2 else text
