"""Refinement: every step of a spec is, through a mapping, a step of an abstract spec or none at all."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from checker.lang.declare import Declared, InstanceInfo, Model
from checker.lang.errors import SpecError
from checker.lang.frontend.arguments import arguments_of
from checker.lang.frontend.path import Frame, Sites
from checker.lang.frontend.source import function_of
from checker.lang.frontend.statements import Machine
from checker.lang.frontend.symbols import Store
from checker.lang.graph import Graph
from checker.lang.ir import Kind, Node, Op
from checker.lang.loader import BoundModel, initial_states, state_class
from checker.lang.marks import INSTANCE
from checker.lang.parameters import Parameter, bindings, parameters_of
from checker.lang.resolve import record_type
from checker.lang.scalars import canonical
from checker.lang.types import BagType, RecordType
from checker.lang.values import StepEnd

Mapped = tuple[tuple[Node, ...], Node]  # (leaves of the abstract state, whether mapping breaks down)
Taken = tuple[Node, list[Node]]  # (whether the abstract step can be taken, the leaves after it)


@dataclass(frozen=True)
class Abstraction:
    """The abstract spec of a refinement: its state's type, its actions with their parameters."""

    type: RecordType
    actions: list[tuple[Declared, list[Parameter]]]


def abstraction(model: BoundModel, declared: Declared) -> Abstraction:
    """The abstraction that `declared` maps to. Raises SpecError if the abstract spec cannot be compared with."""
    assert declared.abstract is not None
    type_ = record_type(state_class(declared.abstract))
    for name, field in type_.fields.items():
        if isinstance(field, BagType):
            raise SpecError(
                f"refinement {declared.name}: the abstract field {name} is a {field}", place=declared.place,
                hint="an abstract state has sets, maps and sequences",
            )  # fmt: skip
    _check_constants(declared, declared.abstract)
    actions = [(a, parameters_of(a, type_)) for a in declared.abstract.actions]
    _check_initial(model, declared, type_)
    return Abstraction(type_, actions)


def _check_constants(declared: Declared, abstract: Model) -> None:
    """Raise SpecError if the constants of an instance differ from those that its model sets."""
    made = vars(sys.modules[abstract.init.function.__module__]).get(INSTANCE)
    if not isinstance(made, InstanceInfo):
        return
    in_force = made.values()
    for name, value in abstract.constants.items():
        if name not in made.given and in_force.get(name, value) != value:
            raise SpecError(
                f"refinement {declared.name}: {abstract.name} sets {name} to {value!r}, and its instance does not",
                place=made.place, hint=f"{name}={value!r}",
            )  # fmt: skip


def _check_initial(model: BoundModel, declared: Declared, type_: RecordType) -> None:
    """Raise SpecError where the mapping takes an initial state to none of the abstract spec."""
    assert declared.abstract is not None
    wanted = {canonical(type_, s) for s in initial_states(declared.abstract, type_)}
    for state in model.initial_states():
        try:
            mapped = type_.store(declared.function(state))
        except StepEnd as end:
            raise SpecError(f"refinement {declared.name} maps an initial state to none of {type_}: {end}",
                            place=declared.place, hint="change the mapping") from None  # fmt: skip
        if canonical(type_, mapped) not in wanted:
            raise SpecError(
                f"refinement {declared.name} maps an initial state to {mapped}, which is not initial in "
                f"{declared.abstract.name}", place=declared.place, hint="change the mapping, or the abstract @init",
            )  # fmt: skip


class Refinement:
    """Compares mapped states. `before` and `after` are the leaves of two abstract states."""

    def __init__(self, graph: Graph, abstract: Abstraction) -> None:
        self.graph = graph
        self.abstract = abstract
        self._taken: dict[tuple[Node, ...], list[Taken]] = {}

    def broken(self, before: Mapped, after: Mapped) -> Node:
        """The condition that the step from `before` to `after` changes something and is not an abstract step."""
        g = self.graph
        same = g.all_([g.eq(a, b) for a, b in zip(before[0], after[0], strict=True)])
        allowed = g.any_([same, *self._steps(before[0], after[0])])
        return g.any_([before[1], after[1], g.not_(allowed)])

    def _steps(self, before: tuple[Node, ...], after: tuple[Node, ...]) -> Iterator[Node]:
        """Per abstract action and binding, whether it leads from `before` to `after`."""
        if before not in self._taken:  # every step of the spec starts from the same state
            self._taken[before] = [
                self._take(action, parameters, binding, before)
                for action, parameters in self.abstract.actions
                for binding in bindings(parameters)
            ]
        g = self.graph
        for enabled, nodes in self._taken[before]:
            pairs = list(zip(nodes, after, strict=True))
            matches = [self._matches(node, wanted, before) for node, wanted in pairs]
            issued = [wanted for node, wanted in pairs if node.op is Op.FRESH]
            yield g.all_([enabled, *matches, *[g.eq(a, b) for a, b in itertools.pairwise(issued)]])

    def _take(
        self, action: Declared, parameters: list[Parameter], binding: tuple[object, ...], before: tuple[Node, ...]
    ) -> Taken:
        """An abstract action under one binding, taken out of `before`."""
        g = self.graph
        machine = Machine(g, Sites(), -1, Store(list(before)))
        place = machine.state_place(machine.store, self.abstract.type, writable=True)
        machine.frames.append(Frame(function_of(action.function), {}, False))
        arguments = arguments_of(machine, place, parameters, binding)
        machine.frames.pop()
        machine.run(action.function, [place, *arguments.values()], pure=False)
        if any(count > 1 for count in machine.fresh.values()):
            raise SpecError(
                f"abstract action {action.name} issues two ordinals of one sort in a step", place=action.place,
                hint="issue one, or split the action",
            )  # fmt: skip
        return g.not_(g.any_([e.condition for e in machine.events])), machine.store.nodes

    def _matches(self, node: Node, wanted: Node, before: tuple[Node, ...]) -> Node:
        """The condition that a leaf comes out as `wanted`; a fresh ordinal may be any above those that were live."""
        g = self.graph
        if node.op is Op.FRESH:
            same_sort = [b for b in before if b.kind is Kind.ORDINAL and b.sort == node.sort]
            return g.all_([g.lt(b, wanted) for b in same_sort])
        if node.op is Op.SELECT and node.kind is Kind.ORDINAL:
            condition, yes, no = node.args
            return g.select(condition, self._matches(yes, wanted, before), self._matches(no, wanted, before))
        return g.eq(node, wanted)
