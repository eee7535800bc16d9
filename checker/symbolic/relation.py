"""A model's states and steps as Z3 conditions: what proofs and unrollings are built from."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import z3

from checker.lang.ir import EventKind, Instance
from checker.lang.loader import BoundModel
from checker.lang.program import Program
from checker.symbolic.encoding import Encoding, State
from checker.symbolic.wellformed import well_formed


class Relation:
    """The encoding of one program, with its types."""

    def __init__(self, model: BoundModel, program: Program) -> None:
        self.program = program
        self.type = model.state_type
        self.encoding = Encoding(program)

    def typed(self, state: State) -> Any:
        """The state is one of the declared types, and what is issued in the step out of it is fresh."""
        return z3.And(*well_formed(self.type, state.leaves), *self.encoding.fresh_is_above(state), True)

    def keeps_types(self, before: State, after: State) -> Any:
        """The state after a step is one of the declared types, as that before it is: what the step changed is asked."""
        known = well_formed(self.type, before.leaves)
        same = {condition.get_id() for condition in known}
        return z3.And(*[c for c in well_formed(self.type, after.leaves) if c.get_id() not in same], True)

    def inside(self, state: State) -> Any:
        """The state keeps every state constraint: steps out of it are looked at."""
        return z3.Not(self.encoding.of(self.program.outside, state))

    def fires(self, instance: Instance, before: State, without: Collection[int] = ()) -> Any:
        """The step is taken: nothing ends it early. without: events that do not end it, by their places."""
        events = [event for i, event in enumerate(instance.events) if i not in without]
        return z3.And(*[z3.Not(self.encoding.of(event.condition, before)) for event in events], True)

    def breaks_down(self, instance: Instance, before: State, without: Collection[int] = ()) -> Any:
        """The step ends in a runtime error. What ends it before that keeps it from getting there.

        without: events that do not, by their places.
        """
        reached, errors = z3.BoolVal(True), []
        for event in (event for i, event in enumerate(instance.events) if i not in without):
            condition = self.encoding.of(event.condition, before)
            if self.program.sites[event.site].kind is EventKind.ERROR:
                errors.append(z3.And(reached, condition))
            reached = z3.And(reached, z3.Not(condition))
        return z3.Or(*errors, False)

    def after(self, instance: Instance, before: State) -> State:
        return self.encoding.after(before, instance.updates)

    def equals(self, state: State, codes: list[int]) -> Any:
        """The state is the one with these codes."""
        leaves = zip(state.leaves, self.program.leaves, codes, strict=True)
        return z3.And(*[value == self.encoding.value(leaf, code) for value, leaf, code in leaves], True)
