"""Which clauses over a few facts no explored state refutes.

`not (a and b and c)` holds in every state where the three are never together. States are looked at as rows of facts,
alike ones once; a fact or its negation (a *literal*) is then a column of bits, and a clause costs one `and`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from checker.houdini.templates import Fact
from checker.lang.ir import Graph, Node, Op

Codes = npt.NDArray[np.int64]
"""Shape (states, leaves)."""


@dataclass(frozen=True)
class Candidate:
    """An invariant that nobody wrote. text: in words; condition: broken where it holds, as of any property."""

    text: str
    condition: Node


def value(node: Node, codes: Codes, memo: dict[int, npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """A fact in many states at once."""
    if node.serial not in memo:
        if node.op is Op.LEAF:
            memo[node.serial] = codes[:, node.data]
        elif node.op is Op.CONST:
            memo[node.serial] = np.full(len(codes), int(node.data), dtype=np.int64)
        else:
            memo[node.serial] = _APPLY[node.op](*[value(a, codes, memo) for a in node.args]).astype(np.int64)
    return memo[node.serial]


_APPLY = {
    Op.NOT: lambda a: a == 0,
    Op.AND: lambda a, b: a & b,
    Op.OR: lambda a, b: a | b,
    Op.EQ: lambda a, b: a == b,
    Op.LT: lambda a, b: a < b,
    Op.HAS: lambda s, i: s >> i & 1,
}


class Mine:
    """The candidates of one family of facts. choices: how many expressions each fact has."""

    def __init__(self, bag: str, facts: Sequence[Fact], graph: Graph, states: Iterable[Codes]) -> None:
        self.bag, self.facts, self.graph = bag, facts, graph
        truth = self._rows(states)
        columns = np.ascontiguousarray(truth.T)
        width = -(-len(truth) // 64) * 64
        both = np.zeros((2 * len(facts), width), dtype=bool)
        both[::2, : len(truth)], both[1::2, : len(truth)] = columns, ~columns
        self.bits = np.packbits(both, axis=1).view(np.uint64)
        self.ever = self.bits.any(axis=1)

    def _rows(self, states: Iterable[Codes]) -> npt.NDArray[np.bool_]:
        """Each row of facts that some state has for some choice, once."""
        found = np.zeros((0, -(-len(self.facts) // 8)), dtype=np.uint8)
        for codes in states:
            memo: dict[int, npt.NDArray[np.int64]] = {}
            for choice in range(len(self.facts[0].nodes)):
                truth = np.stack([value(f.nodes[choice], codes, memo) != 0 for f in self.facts], axis=1)
                found = np.unique(np.concatenate([found, np.packbits(truth, axis=1)]), axis=0)
        return np.unpackbits(found, axis=1, count=len(self.facts)).astype(bool)

    def candidates(self) -> Iterator[Candidate]:
        """The clauses that no shorter one of them implies: of one literal, of two, and of two facts that join and any."""
        own = np.array([f.bag == self.bag for f in self.facts for _ in range(2)])
        for a in np.flatnonzero(~self.ever & own):
            yield self._candidate([int(a)])
        literals = [int(a) for a in np.flatnonzero(self.ever) if self.ever[a ^ 1]]
        never = self._never_together(literals)
        for a, b in combinations(literals, 2):
            if never[a, b] and a ^ 1 != b and (own[a] or own[b]):
                yield self._candidate([a, b])
        joins = [a for a in self._differing(literals) if a % 2 == 0 and self.facts[a // 2].joins]
        for a, b in combinations(joins, 2):
            if never[a, b] or never[a, b ^ 1] or never[a ^ 1, b]:
                continue
            possible = [c for c in literals if not never[a, c] and not never[b, c] and (own[a] or own[b] or own[c])]
            together = self.bits[a] & self.bits[b]
            at = np.flatnonzero(together)
            meet = (self.bits[np.ix_(possible, at)] & together[at]).any(axis=1)
            yield from (self._candidate([a, b, c]) for c, met in zip(possible, meet, strict=True) if not met)

    def _never_together(self, literals: Sequence[int]) -> npt.NDArray[np.bool_]:
        found = np.zeros((len(self.bits), len(self.bits)), dtype=bool)
        for a in literals:
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
