"""Two semantics of one model side by side: plain Python, which is the oracle, and the compiled kernel.

Compared for each state and each binding of an action's parameters: how it ends, at which line of the spec, and the
packed words of the state after it; for each step, whether it breaks a transition invariant or leaves the state
constraint; for each state, its invariants and witnesses, and whether it is a deadlock.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from checker.explicit.kernel.build import compile_kernel
from checker.explicit.search.walk import Walker
from checker.lang.declare import Declared
from checker.lang.frontend import compile_model
from checker.lang.ir import EventKind
from checker.lang.loader import BoundModel
from checker.lang.parameters import bindings, parameters_of
from checker.lang.resolve import record_type
from checker.lang.scalars import canonical
from checker.lang.types import SeqType
from checker.lang.values import RuntimeViolation, StepEnd
from checker.reference.step import Reference, StepResult, step

Packed = tuple[int, ...]


class Pair:
    """The two semantics of one model, side by side."""

    def __init__(self, model: BoundModel) -> None:
        self.model = model
        self.reference = Reference(model)
        self.kernel = compile_kernel(compile_model(model, for_kernel=True), model.key(), record_outcomes=True)
        self.walker = Walker(self.kernel)
        assert len(self.kernel.instances) == len(self.reference.instances)

    def initial(self) -> list[Packed]:
        return [self.words(state) for state in self.model.initial_states() if self.inside(state)]

    def words(self, state: Any) -> Packed:
        return tuple(self.kernel.layout.pack(self.model.state_type.encode(state)))

    def state(self, words: Packed) -> Any:
        return self.model.state_type.decode(self.kernel.layout.unpack(words))

    def inside(self, state: Any) -> bool:
        return all(self.reference.evaluate(c, state) for c in self.model.model.constraints)

    def compare(self, words: Packed) -> list[Packed]:
        """Hold the kernel to plain Python in one state. Gives the states after it that a search goes on from."""
        state = self.state(words)
        assert self.words(state) == words, "a canonical state packs to itself"
        expansion = self.walker.expand(words)
        results = [self.reference.step(state, i) for i in range(len(self.reference.instances))]
        for outcome, result in zip(self.walker.outcomes(words), results, strict=True):
            self._compare_outcome(state, outcome.instance, outcome.site, outcome.words, result)
        self._compare_properties(state, words)
        enabled = [r for r in results if r.ended not in (EventKind.ABSENT, EventKind.REQUIRE)]
        finished = any(self.reference.evaluate(t, state) for t in self.model.model.terminal)
        assert expansion.deadlocked == (not enabled and not finished), state
        found = []
        for taken in expansion.steps:
            after = results[taken.instance].state
            assert taken.outside != self.inside(after), (state, after)
            assert self._broken_names(taken.broken) == self._broken_by_step(state, after), (state, after)
            if not taken.outside:
                found.append(taken.words)
        return found

    def _compare_outcome(
        self, state: Any, instance: int, site: int | None, words: Packed | None, result: StepResult
    ) -> None:
        place = self.kernel.sites[site] if site is not None else None
        same = result.ended is (place.kind if place else None)
        if same and place is None:
            same = words == self.words(result.state)
        elif same and place is not None and place.kind is not EventKind.ABSENT:  # nothing there: no place in the spec
            same = (result.file, result.line) == (place.file, place.line)
        if not same:
            action, binding = self.reference.instances[instance]
            after = None if words is None else self.state(words)
            name = self.reference.actions[action].name
            pytest.fail(f"{name}{binding} in {state}\nplain Python: {result}\nkernel: {place or after}")

    def _compare_properties(self, state: Any, words: Packed) -> None:
        found = self._names(self.walker.properties(words), "invariant", "witness")
        expected = set()
        for declared in self.model.model.properties:
            if declared.kind not in ("invariant", "witness"):
                continue
            try:
                if self.reference.evaluate(declared, state) == (declared.kind == "witness"):
                    expected.add(declared.name)
            except RuntimeViolation:  # breaks an invariant; a witness has an invariant of its own for this
                expected.add(declared.name if declared.kind == "invariant" else f"{declared.name} can be evaluated")
        assert found == expected, state

    def _broken_by_step(self, before: Any, after: Any) -> set[str]:
        broken = set()
        for declared in self.model.model.properties:
            if declared.kind == "transition invariant" and not self.reference.evaluate(declared, before, after):
                broken.add(declared.name)
            if declared.kind == "refinement" and not is_refined(declared, before, after):
                broken.add(declared.name)
        return broken

    def _broken_names(self, mask: int) -> set[str]:
        return self._names(mask, "transition invariant", "refinement")

    def _names(self, mask: int, *kinds: str) -> set[str]:
        return {p.name for i, p in enumerate(self.kernel.properties) if mask >> i & 1 and p.kind in kinds}


def is_refined(declared: Declared, before: Any, after: Any) -> bool:
    """True if a step, seen through a refinement mapping, is a step of the abstract model or none."""
    assert declared.abstract is not None
    try:
        start, end = declared.function(before), declared.function(after)
    except StepEnd:  # the mapping breaks down
        return False
    type_ = record_type(type(start))

    def seen(state: Any) -> tuple[int, ...]:
        """`state` beside `start`: its ordinals are compared with those that were there, their numbers say nothing."""
        return canonical(SeqType(type_, 2), (start, state))

    ends = [start]
    for action in declared.abstract.actions:
        parameters = parameters_of(action, type_)
        for binding in bindings(parameters):
            values: dict[str, Any] = {}
            for parameter, candidate in zip(parameters, binding, strict=True):
                there, values[parameter.name] = parameter.value(candidate, start, values)
                if not there:
                    break
            else:
                result = step(start, action, tuple(values.values()))
                ends += [result.state] if result.ended is None else []
    return seen(end) in map(seen, ends)


def breadth_first(pair: Pair, most: int) -> Iterator[Packed]:
    """Compares and gives the first `most` states."""
    queue = list(dict.fromkeys(pair.initial()))
    seen = set(queue)
    for position in range(most):
        if position == len(queue):
            return
        yield queue[position]
        for words in pair.compare(queue[position]):
            if words not in seen:
                seen.add(words)
                queue.append(words)


def random_walks(pair: Pair, seed: int, walks: int, steps: int) -> None:
    """Compares along seeded random behaviours."""
    chance = random.Random(seed)
    for _ in range(walks):
        words = chance.choice(pair.initial())
        for _ in range(steps):
            after = pair.compare(words)
            if not after:
                break
            words = chance.choice(after)
