"""A network that keeps every message ever sent, in place of one that has room for K.

A bag of at most K becomes a set that only grows: each step sees some K of the messages ever sent, whichever, and what
it leaves in the bag is sent. So a message may be lost, repeated and overtaken, and any number may be under way. An
invariant about the bag then says: it holds for every K of the messages ever sent.

To show that it stays so, take the K that the step sees, and any K of those that were sent before or by this step.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

import z3

from checker.lang.ir import Bag
from checker.symbolic.encoding import State
from checker.symbolic.relation import Relation


class Network:
    """The messages of a growing network: those that a step sees (`seen`), and as many others (`others`)."""

    def __init__(self, relation: Relation, seen: State) -> None:
        self._bags = relation.program.bags
        others = relation.encoding.state("others")
        leaves = list(seen.leaves)
        for index in (i for bag in self._bags for slot in bag.slots for i in slot):
            leaves[index] = others.leaves[index]
        self._seen, self._others = seen, State(leaves, seen.fresh)
        self.typed = relation.typed(self._others)

    def views(self, read: frozenset[int]) -> Iterator[State]:
        """The state with each choice of K from what the step sees and the others, for the bags that are `read`."""
        bags = [bag for bag in self._bags if read.intersection(i for slot in bag.slots for i in slot)]
        for chosen in product(*[self._choices(bag) for bag in bags]):
            leaves = list(self._seen.leaves)
            for bag, slots in zip(bags, chosen, strict=True):
                for slot, values in zip(bag.slots, slots, strict=True):
                    for index, value in zip(slot, values, strict=True):
                        leaves[index] = value
            yield State(leaves, self._seen.fresh)

    def _choices(self, bag: Bag) -> Iterator[tuple[list[Any], ...]]:
        pool = [[state.leaves[i] for i in slot] for state in (self._seen, self._others) for slot in bag.slots]
        return combinations(pool, len(bag.slots))

    def after(self, state: State) -> State:
        """A state after the step, with any K of the other messages and those that the step leaves."""
        leaves = list(state.leaves)
        for number, bag in enumerate(self._bags):
            left = [[state.leaves[i] for i in slot] for slot in bag.slots]
            for place, slot in enumerate(bag.slots):
                values = [self._others.leaves[i] for i in slot]
                for k, message in enumerate(left):
                    takes = z3.Bool(f"bag {number} slot {place} takes {k}")
                    values = [z3.If(takes, a, b) for a, b in zip(message, values, strict=True)]
                for index, value in zip(slot, values, strict=True):
                    leaves[index] = value
        return State(leaves, {})
