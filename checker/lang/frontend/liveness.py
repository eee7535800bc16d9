"""Liveness, compiled: obligations, and the groups of steps that fairness and goals refer to."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NoReturn

from checker.lang.declare import Declared
from checker.lang.errors import SpecError
from checker.lang.frontend.path import Frame, Sites
from checker.lang.frontend.source import function_of
from checker.lang.frontend.statements import Machine
from checker.lang.frontend.symbols import Choice, Display, Store, Symbol, Truth
from checker.lang.graph import Graph
from checker.lang.groups import Group, fair_groups, groups_of
from checker.lang.ir import Instance, Kind, Node, Op
from checker.lang.liveness import ALWAYS_EVENTUALLY, LEADS_TO, LIVENESS, Liveness, Obligation, StepGroup
from checker.lang.loader import BoundModel
from checker.lang.parameters import Parameter, bindings, parameters_of

_GOAL = "def p(s: S, broker: Broker) -> bool: return goal"
HEADERS = {
    "leads-to": "def p(s: S, broker: Broker) -> tuple[bool, bool]: return condition, goal",
    "eventually": _GOAL, "always eventually": _GOAL, "eventually always": _GOAL,
    "fairness": "def f(s: S, broker: Broker) -> bool: return condition",
}  # fmt: skip


def compile_liveness(
    model: BoundModel, graph: Graph, before: list[Node], properties: Sequence[Declared], instances: Sequence[Instance]
) -> tuple[Liveness | None, list[tuple[str, Node]]]:
    """The liveness of a model, None if it has none; and its parts whose evaluation may break down, with the condition.

    before: the leaves of a state. Raises SpecError for what is not an obligation, or could not be checked soundly.
    """
    asked = [(i, p) for i, p in enumerate(properties) if p.kind in LIVENESS]
    if not asked:
        return None, []
    if model.model.hide:
        raise SpecError(
            f"model {model.model.name} hides {', '.join(model.model.hide)} and checks {asked[0][1].name}: of states"
            " that a view makes equal one is explored, so that a loop of the view need not be one of the system",
            place=model.model.place, hint="a model of its own for what must eventually happen, without hide",
        )  # fmt: skip
    compiler = _Compiler(model, graph, before)
    for group in fair_groups(model):
        compiler.fair(group)
    for index, declared in asked:
        compiler.oblige(index, declared)
    groups = compiler.groups
    members = {i for group in groups for i in group.instances}
    renewing = {i: node for i in sorted(members) if (node := _renews(graph, instances[i])) is not graph.false}
    return Liveness(tuple(compiler.obligations), tuple(groups), renewing), list(compiler.breakdowns.items())


def _renews(graph: Graph, instance: Instance) -> Node:
    """The condition that a step of an instance leaves a new ordinal in the state."""

    @functools.cache
    def is_new(node: Node) -> Node:
        if node.op is Op.SELECT:
            return graph.select(node.args[0], is_new(node.args[1]), is_new(node.args[2]))
        return graph.boolean(node.op is Op.FRESH)

    return graph.any_([is_new(node) for node in instance.updates.values() if node.kind is Kind.ORDINAL])


class _Compiler:
    """Collects obligations and groups. breakdowns: by name, where evaluating it breaks down."""

    def __init__(self, model: BoundModel, graph: Graph, before: list[Node]) -> None:
        self.model, self.graph, self.before = model, graph, before
        self.obligations: list[Obligation] = []
        self.groups: list[StepGroup] = []
        self.breakdowns: dict[str, Node] = {}

    def fair(self, group: Group) -> None:
        """Enter a group that is fair."""
        declared = group.declared
        condition = None
        if declared.kind == "fairness":
            _, condition = self._evaluated(declared, self._parameters(declared), group.binding)
        self.groups.append(StepGroup(declared.fair, group.instances, condition))

    def oblige(self, index: int, declared: Declared) -> None:
        """Enter the obligations of a property, and the groups of steps that are its goal."""
        parameters = self._parameters(declared)
        goals = [group.instances for group in groups_of(self.model, declared)] if declared.actions else []
        for number, binding in enumerate(bindings(parameters)):
            condition, goal = self._evaluated(declared, parameters, binding)
            if declared.kind == ALWAYS_EVENTUALLY:
                condition = self.graph.true
            taken = len(self.groups) if goals else None
            if goals:
                self.groups.append(StepGroup("", goals[number], goal))
            self.obligations.append(Obligation(index, binding, condition, goal, taken))

    def _evaluated(
        self, declared: Declared, parameters: list[Parameter], binding: tuple[Any, ...]
    ) -> tuple[Node | None, Node]:
        """(condition, goal) under a binding; where evaluating it breaks down, the goal does not hold."""
        condition, goal, errors = _Evaluation(self.model, self.graph, self.before, declared).of(parameters, binding)
        before = self.breakdowns.get(declared.name, self.graph.false)
        self.breakdowns[declared.name] = self.graph.or_(before, errors)
        return condition, self.graph.and_(goal, self.graph.not_(errors))

    def _parameters(self, declared: Declared) -> list[Parameter]:
        if not function_of(declared.function).parameters:
            raise SpecError(
                f"{declared.kind} {declared.name} takes no state", place=declared.place, hint=HEADERS[declared.kind]
            )
        found = parameters_of(declared, self.model.state_type)
        for parameter in found:
            if parameter.collection is not None:
                raise SpecError(
                    f"{declared.kind} {declared.name}, parameter {parameter.name}: what must come of a member cannot be"
                    " told once it is gone",
                    place=declared.place, hint="range over a type: one obligation for each of its values",
                )  # fmt: skip
        return found


class _Evaluation:
    """One property or fairness, evaluated in a state given by its leaves."""

    def __init__(self, model: BoundModel, graph: Graph, before: list[Node], declared: Declared) -> None:
        self.model, self.graph, self.declared = model, graph, declared
        self.machine = Machine(graph, Sites(), -1, Store(list(before)))
        self.function = function_of(declared.function)

    def of(self, parameters: list[Parameter], binding: tuple[Any, ...]) -> tuple[Node | None, Node, Node]:
        """(condition, None where there is none; goal; where evaluating them breaks down)."""
        machine = self.machine
        place = machine.state_place(machine.store, self.model.state_type, writable=False)
        values = [machine.literal(p.type, value) for p, value in zip(parameters, binding, strict=True)]
        result = machine.run(self.declared.function, [place, *values], pure=True)
        machine.frames.append(Frame(self.function, {}, True))  # what messages point at
        condition, goal = self._pair(result)
        return condition, goal, self.graph.any_([event.condition for event in machine.events])

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
