"""A cluster and its twin, which differs from it in what keys leave out: what makes no difference, and what does."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from checker.conform.canonical import Canonical, Digest
from checker.conform.driver import Driver
from checker.conform.graph import By, Fields, Graph, LeftOut, Rules
from checker.conform.spec_side import SpecSide, kernel_of
from checker.lang.loader import BoundModel

Change = Callable[[random.Random, Any], Any]
"""A cluster in which something that its key leaves out is changed."""
AS_IT_IS = Graph({}, named=False)


def left_out(rules: Rules, parts: Mapping[str, Fields] | None = None) -> set[str]:
    """`Kind.field` of every field that is left out. parts: further rules, by what they are of."""
    tables = {kind.__name__: fields for kind, fields in rules.items()} | dict(parts or {})
    return {name for kind, fields in tables.items() for name in _left_out(kind, fields)}


def _left_out(where: str, fields: Fields) -> Iterator[str]:
    for name, rule in fields.items():
        if isinstance(rule, LeftOut):
            yield f"{where}.{name}"
        elif isinstance(rule, By):
            yield from _left_out(f"{where}.{name}", rule.fields)


class Walk:
    """Random behaviours of a spec, which implementations are driven along."""

    def __init__(self, model: BoundModel, system: Any, rng: random.Random) -> None:
        assert not system.lacks(model.constants, ())
        self._constants, self._rng, self._canonical = model.constants, rng, Canonical()
        kernel = kernel_of(model)
        self._spec = SpecSide(model, kernel, system, self._canonical)
        self._driver = Driver(self._spec.reference, system, self._canonical)
        self._system = system
        self._first = self._words = kernel.layout.pack(model.state_type.encode(model.initial_states()[0]))

    def begin(self) -> Any:
        """The implementation at the beginning of a behaviour."""
        self._words = self._first
        return self._driver.begin(self._constants, self._spec.state(self._words), self._spec.looks(self._words))[0]

    def go_on(self) -> Callable[[Any], tuple[Any, Digest]] | None:
        """The next step: of an implementation, what it is after it, and its key. None: there is none."""
        moves = self._spec.moves(self._words)
        if not moves.steps:
            return None
        (_, action, arguments), self._words, *_ = self._rng.choice(moves.steps)
        looks = self._spec.looks(self._words)
        return lambda cluster: self._driver.step(cluster, action, arguments, moves.state, looks)[:2]

    def whole(self, cluster: Any) -> Any:
        """All of a cluster that is compared, up to the numbering of ordinals."""
        return self._canonical.pair(self._system.observe(cluster), self._system.key(cluster))


def assert_twin_does_the_same(model: BoundModel, system: Any, change: Change) -> None:
    """Along random behaviours every step of the spec is taken by both; they look alike, and their keys are equal.

    Where the change makes another key, something else was changed with it, and the twin stays as it was. In some state
    it has to change what is not in the key, or nothing is tested.
    """
    rng, is_changed = random.Random(f"{model.name} {change.__name__}"), False
    walk = Walk(model, system, rng)
    for _ in range(3):
        one = twin = walk.begin()
        for _ in range(30):
            step = walk.go_on()
            if step is None:
                break
            varied = change(rng, twin)
            if walk.whole(varied) == walk.whole(twin):
                is_changed = is_changed or AS_IT_IS.read(varied) != AS_IT_IS.read(twin)
                twin = varied
            one, key = step(one)
            twin, other = step(twin)
            assert key == other
    assert is_changed
