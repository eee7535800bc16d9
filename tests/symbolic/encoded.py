"""The solver's reading of a model, asked about states that are known: for the tests that hold it to plain Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations, product
from typing import Any

import z3

from checker.lang.frontend import compile_model
from checker.lang.ir import Instance
from checker.lang.loader import BoundModel
from checker.lang.scalars import canonical
from checker.reference.step import Reference
from checker.symbolic.bounded import Unrolling
from checker.symbolic.encoding import State
from checker.symbolic.relation import Relation


class Encoded:
    """A model twice: as plain Python, and as the solver sees it. Codes are those of states, one for each leaf."""

    def __init__(self, model: BoundModel) -> None:
        self.model = model
        self.program = compile_model(model)
        self.relation = Relation(model, self.program)
        self.reference = Reference(model)
        assert len(self.reference.instances) == len(self.program.instances)

    def codes(self, state: Any) -> list[int]:
        return self.model.state_type.encode(state)

    def key(self, codes: Sequence[int]) -> tuple[int, ...]:
        """A key that is the same for equal states: bags in order, ordinals by rank."""
        return canonical(self.model.state_type, self.model.state_type.decode(codes))

    def at(self, codes: Sequence[int]) -> State:
        """The state with these codes. What it issues next is above all that is there."""
        leaves = self.program.leaves
        values = [self.relation.encoding.value(leaf, code) for leaf, code in zip(leaves, codes, strict=True)]
        fresh: dict[tuple[str, int], Any] = {}
        for sort, count in self.program.fresh_per_step.items():
            most = max((c for c, leaf in zip(codes, leaves, strict=True) if leaf.sort == sort), default=0)
            fresh |= {(sort, k): z3.IntVal(most + 1 + k) for k in range(count)}
        return State(values, fresh)

    def worth(self, condition: Any) -> bool:
        """A condition that has no variables left."""
        value = z3.simplify(condition)
        assert z3.is_true(value) or z3.is_false(value), value
        return bool(z3.is_true(value))

    def number(self, expression: Any) -> int:
        value = z3.simplify(expression)
        return int(z3.is_true(value)) if z3.is_bool(value) else value.as_long()

    def after(self, instance: Instance, before: State) -> list[int]:
        return [self.number(value) for value in self.relation.after(instance, before).leaves]

    def broken(self, state: State) -> set[str]:
        """The invariants that a state breaks, and the witnesses that it is."""
        known = [(p.name, p.condition) for p in self.program.properties if p.condition is not None]
        return {name for name, condition in known if self.worth(self.relation.encoding.of(condition, state))}

    def alike(self, state: State, codes: Sequence[int]) -> Any:
        """The state is the one with these codes, whatever the numbers of its ordinals."""
        known, conditions = list(zip(state.leaves, self.program.leaves, codes, strict=True)), []
        for value, leaf, code in known:
            equal = value == self.relation.encoding.value(leaf, code)
            conditions.append(z3.Not(value == 0) if leaf.sort and code else equal)
        for (a, leaf, code), (b, other, other_code) in combinations([k for k in known if k[1].sort], 2):
            if leaf.sort == other.sort:
                conditions.append(a < b if code < other_code else a == b if code == other_code else a > b)
        return z3.And(*conditions)

    def last_states(self, unrolling: Unrolling) -> set[tuple[int, ...]]:
        """The keys of all states that the last step of an unrolling leads to, found one by one."""
        found, last = set(), unrolling.states[-1]
        unrolling.solver.push()
        while unrolling.solver.check() == z3.sat:
            codes = self.relation.encoding.codes(unrolling.solver.model(), last)
            found.add(self.key(codes))
            unrolling.solver.add(z3.Not(self.alike(last, codes)))
        unrolling.solver.pop()
        return found


def arrangements(codes: Sequence[int], encoded: Encoded) -> Iterator[list[int]]:
    """The same codes with the slots of each bag in any order: a solver does not sort them."""
    bags = encoded.program.bags
    for orders in product(*[permutations(range(len(bag.slots))) for bag in bags]):
        found = list(codes)
        for bag, order in zip(bags, orders, strict=True):
            for place, source in enumerate(order):
                for i, j in zip(bag.slots[place], bag.slots[source], strict=True):
                    found[i] = codes[j]
        yield found
