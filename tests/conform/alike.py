"""Implementations with equal keys, each driven in the spec states of the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from checker.conform.canonical import Canonical, Digest
from checker.conform.driver import Diverges, Driver
from checker.conform.spec_side import Call, Moves, SpecSide, kernel_of
from checker.explicit.search.path import Packed
from checker.lang.loader import BoundModel

MOST = 4  # of each key, so many implementations are compared, each in so many spec states


class Alike:
    """All that a product reaches: of each key, implementations that have it, and the spec states that they are in."""

    def __init__(self, model: BoundModel, system: Any) -> None:
        assert system.lacks(model.constants, [action.name for action in model.model.actions]) == ""
        kernel, canonical = kernel_of(model), Canonical()
        self._spec = SpecSide(model, kernel, system, canonical)
        self._driver = Driver(self._spec.reference, system, canonical)
        self._systems: dict[Digest, list[Any]] = defaultdict(list)
        self._states: dict[Digest, list[Packed]] = defaultdict(list)
        frontier = []
        for state in model.initial_states():
            words = kernel.layout.pack(model.state_type.encode(state))
            begun = self._driver.begin(model.constants, self._spec.state(words), self._spec.looks(words))
            frontier.append((words, begun))
        self._explore(frontier)

    def _explore(self, frontier: list[tuple[Packed, Any]]) -> None:
        seen = {(words, held.apart, held.system) for words, held in frontier}
        while frontier:
            words, held = frontier.pop()
            systems, states = self._systems[held.apart], self._states[held.apart]
            if held.system not in systems and len(systems) < MOST:
                systems.append(held.system)
            elif words in states:
                continue  # where as many others were in this state before
            states.append(words)
            moves = self._spec.moves(words)
            for (_, action, arguments), target, _, outside in moves.steps:
                after = self._driver.step(held.system, action, arguments, moves.state, self._spec.looks(target))
                if not outside and (target, after.apart, after.system) not in seen:
                    seen.add((target, after.apart, after.system))
                    frontier.append((target, after))

    def departures(self) -> list[str]:
        """The steps and attempts that not all of them do alike. Some are compared, or nothing is tested."""
        found, compared = [], 0
        for apart, systems in self._systems.items():
            for words in dict.fromkeys(self._states[apart][: MOST - 1] + self._states[apart][-1:]):
                moves = self._spec.moves(words)
                first, *others = (self._futures(one, moves) for one in systems)
                found += [call for other in others for call, outcome in other.items() if outcome != first[call]]
                compared += len(others)
        assert compared > 0
        return found

    def _futures(self, system: Any, moves: Moves) -> dict[str, Any]:
        """By step and attempt, the key to which it leads, or what the implementation does instead."""
        futures: dict[str, Any] = {}

        def note(call: Call, drive: Callable[..., Any], *state: Any) -> None:
            try:
                futures[f"{call.action} {call.instance}"] = drive(system, call.action, call.arguments, *state)
            except Diverges as diverges:
                futures[f"{call.action} {call.instance}"] = str(diverges)

        for call, target, *_ in moves.steps:
            note(call, lambda *asked: self._driver.step(*asked).apart, moves.state, self._spec.looks(target))
        for call in moves.refused:
            note(call, self._driver.attempt, moves.state)
        return futures
