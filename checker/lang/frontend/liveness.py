"""The obligations of `@leads_to` and `@eventually`, compiled under each binding of their parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from checker.lang.declare import Declared
from checker.lang.errors import SpecError
from checker.lang.frontend.path import Frame, Sites
from checker.lang.frontend.source import function_of
from checker.lang.frontend.statements import Machine
from checker.lang.frontend.symbols import Choice, Display, Store, Symbol, Truth
from checker.lang.ir import Graph, Instance, Node
from checker.lang.liveness import LEADS_TO, LIVENESS, Liveness, Obligation
from checker.lang.loader import BoundModel
from checker.lang.parameters import Parameter, bindings, fair_binding, parameters_of

HEADERS = {
    "leads-to": "def p(s: S, broker: Broker) -> tuple[bool, bool]: return condition, goal",
    "eventually": "def p(s: S, broker: Broker) -> bool: return goal",
}


def compile_liveness(
    model: BoundModel, graph: Graph, before: list[Node], properties: Sequence[Declared], instances: Sequence[Instance]
) -> tuple[Liveness | None, dict[int, Node]]:
    """The liveness of a model, None where none is asked for; and per property, where evaluating it breaks down.

    before: the leaves of a state. Raises SpecError for what is no obligation, or could not be checked soundly.
    """
    asked = [(i, p) for i, p in enumerate(properties) if p.kind in LIVENESS]
    if not asked:
        return None, {}
    if model.model.hide:
        raise SpecError(
            f"model {model.model.name} hides {', '.join(model.model.hide)} and checks {asked[0][1].name}: of states"
            " that a view makes equal one is explored, so that a loop of the view need not be one of the system",
            place=model.model.place, mend="a model of its own for what must eventually happen, without hide",
        )  # fmt: skip
    obligations: list[Obligation] = []
    breakdowns: dict[int, Node] = {}
    for index, declared in asked:
        breakdowns[index] = graph.false
        parameters = _parameters(model, declared)
        for binding in bindings(parameters):
            obligation, errors = _Obligation(model, graph, before, declared).compile(index, parameters, binding)
            obligations.append(obligation)
            breakdowns[index] = graph.or_(breakdowns[index], errors)
    return Liveness(tuple(obligations), _fairness(model, instances)), breakdowns


def _fairness(model: BoundModel, instances: Sequence[Instance]) -> dict[int, tuple[int, str]]:
    """The fairness of the instances of fair actions, as `Liveness` has it."""
    actions = model.model.actions
    parameters = {i: parameters_of(a, model.state_type) for i, a in enumerate(actions) if a.fair}
    numbers: dict[tuple[int, tuple[Any, ...]], int] = {}
    found: dict[int, tuple[int, str]] = {}
    for i, one in enumerate(instances):
        if one.action in parameters:
            binding = one.action, fair_binding(parameters[one.action], one.parameters)
            found[i] = numbers.setdefault(binding, len(numbers)), actions[one.action].fair
    return found


def _parameters(model: BoundModel, declared: Declared) -> list[Parameter]:
    if not function_of(declared.function).parameters:
        raise SpecError(
            f"{declared.kind} {declared.name} takes no state", place=declared.place, mend=HEADERS[declared.kind]
        )
    found = parameters_of(declared, model.state_type)
    for parameter in found:
        if parameter.collection is not None:
            raise SpecError(
                f"{declared.kind} {declared.name}, parameter {parameter.name}: what must come of a member cannot be"
                " told once it is gone",
                place=declared.place, mend="range over a type: one obligation for each of its values",
            )  # fmt: skip
    return found


class _Obligation:
    """One property, evaluated in a state given by its leaves."""

    def __init__(self, model: BoundModel, graph: Graph, before: list[Node], declared: Declared) -> None:
        self.model, self.graph, self.declared = model, graph, declared
        self.machine = Machine(graph, Sites(), -1, Store(list(before)))
        self.function = function_of(declared.function)

    def compile(
        self, index: int, parameters: list[Parameter], binding: tuple[Any, ...]
    ) -> tuple[Obligation, Node]:
        """(the obligation under a binding, where evaluating it breaks down)."""
        machine = self.machine
        place = machine.state_place(machine.store, self.model.state_type, writable=False)
        values = [machine.literal(p.type, value) for p, value in zip(parameters, binding, strict=True)]
        result = machine.run(self.declared.function, [place, *values], pure=True)
        machine.frames.append(Frame(self.function, {}, True))  # what messages point at
        condition, goal = self._pair(result)
        errors = self.graph.any_([event.condition for event in machine.events])
        return Obligation(index, binding, condition, self.graph.and_(goal, self.graph.not_(errors))), errors

    def _pair(self, result: Symbol) -> tuple[Node | None, Node]:
        if self.declared.kind != LEADS_TO:
            return None, self._truth(result)
        if isinstance(result, Choice):
            (p, q), (r, s) = self._pair(result.yes), self._pair(result.no)
            assert p is not None and r is not None
            return self.graph.select(result.condition, p, r), self.graph.select(result.condition, q, s)
        if not isinstance(result, Display) or result.kind != "tuple" or len(result.elements) != 2:
            self._fail(result)
        condition, goal = result.elements
        return self._truth(condition), self._truth(goal)

    def _truth(self, symbol: Symbol) -> Node:
        found = self.machine.value(symbol, self.function.tree)
        if not isinstance(found, Truth):
            self._fail(symbol)
        return found.node

    def _fail(self, symbol: Symbol) -> NoReturn:
        needed = "a condition and a goal" if self.declared.kind == LEADS_TO else "a boolean"
        what = f"{self.declared.name} returns {self.machine.describe(symbol)}, not {needed}"
        self.machine.fail(self.function.tree, what, HEADERS[self.declared.kind])
