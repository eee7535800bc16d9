"""From a bound model to its `ir.Program`: every action evaluated symbolically under each binding.

Raises SpecError, at the place in the spec, for anything that the language does not have.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import linecache
import string
from collections.abc import Callable, Mapping, Set
from typing import Any

from checker.lang.declare import Declared
from checker.lang.errors import SpecError
from checker.lang.frontend.arguments import arguments_of
from checker.lang.frontend.codes import NONE
from checker.lang.frontend.limits import count_bindings
from checker.lang.frontend.liveness import compile_liveness
from checker.lang.frontend.path import Ended, Facts, Frame, Sites
from checker.lang.frontend.refinement import Mapped, Refinement, abstraction
from checker.lang.frontend.source import function_of
from checker.lang.frontend.statements import Machine
from checker.lang.frontend.symbols import Store, Symbol, Truth
from checker.lang.frontend.templates import Templates
from checker.lang.graph import Graph
from checker.lang.interpret import check_nodes
from checker.lang.ir import EVALUATES, Bag, BoundReads, Instance, Leaf, Node, Property, support
from checker.lang.liveness import LIVENESS
from checker.lang.loader import BoundModel
from checker.lang.parameters import Parameter, bindings
from checker.lang.program import Program
from checker.lang.types import BagType, MapType, OptionType, RecordType, Type

__all__ = ["compile_expression", "compile_model", "compile_variants", "run_actions", "state_leaves"]


def compile_model(
    model: BoundModel, progress: Callable[[int, int], None] | None = None, *, for_kernel: bool = False
) -> Program:
    """The program of `model`, which must be in force.

    progress: called with (bindings compiled so far, all of them), before each and now and then; what it raises ends
    the work. for_kernel: the instances of an action with many bindings are made from one symbolic run where that is
    possible, and nothing is left of what follows a guard that no state satisfies; then `BoundReads` mean nothing.
    """
    compiler = _Compiler(model, for_kernel)
    compiler.progress = progress
    return compiler.program({})


def compile_variants(model: BoundModel) -> Callable[[Mapping[int, Declared]], Program]:
    """Return a compiler of `model`, which must be in force, with others in place of the actions with these numbers.

    What variants have in common is compiled once; what means the same is the same node in all of them.
    """
    return _Compiler(model, for_kernel=True).program


def run_actions(model: BoundModel, machine: Callable[..., Machine]) -> tuple[Program, Graph]:
    """The program of `model`, which must be in force, with the graph of its nodes, as machines that look on make it.

    machine: makes what runs an instance, called as `Machine` is. Each binding of each action has a run of its own.
    """
    compiler = _Compiler(model, for_kernel=True)
    compiler.machine, compiler.templates = machine, False
    return compiler.program({}), compiler.graph


def state_leaves(model: BoundModel) -> tuple[list[Leaf], list[Bag]]:
    """The leaves and bags of a model's state, as its program has them. The model must be in force."""
    compiler = _Compiler(model)
    return compiler.leaves, compiler.bags


def compile_expression(text: str, names: dict[str, Any]) -> Declared:
    """A witness from the text of an expression over the state `s`, which may use `names`. Raises SpecError."""
    file = "<expression>"
    source = f"def expression(s):\n    return {text}\n"
    try:
        code = compile(source, file, "exec")
    except SyntaxError as error:
        hint = "write a Python expression over the state s"
        raise SpecError(f"not an expression: {text} ({error.msg})", hint=hint) from None
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    function_of.cache_clear()
    scope = {**names, "__name__": "checker.lang.expression"}
    exec(code, scope)
    return Declared("witness", text, scope["expression"], text)


class _Compiler:
    def __init__(self, model: BoundModel, for_kernel: bool = False) -> None:
        self.model = model
        self.for_kernel = for_kernel
        self.templates = for_kernel
        self.machine: Callable[..., Machine] = Machine
        self.type = model.state_type
        self.graph = Graph()
        self.sites = Sites()
        self.hidden = {f".{name}" for name in model.model.hide}
        self.leaves = [
            Leaf(path, leaf.kind, leaf.size, leaf.sort, None, self._is_hidden(path)) for path, leaf in self.type.leaves
        ]
        self.bags: list[Bag] = []
        self._find_bags(self.type, 0, "")
        self.before = [self.graph.leaf(i, leaf) for i, leaf in enumerate(self.leaves)]
        self.properties = list(model.model.properties)
        self.fresh: dict[str, int] = {}
        self.instances: dict[int, list[Instance]] = {}  # of the actions as the model has them
        self.bound_reads: dict[int, BoundReads] = {}  # of the properties, by number
        self.checked = 0  # nodes that were held to the validity table
        self.progress: Callable[[int, int], None] | None = None
        self._compiled = self._all_bindings = 0

    def _is_hidden(self, path: str) -> bool:
        return any(path == h or path.startswith((h + ".", h + "[", h + "?")) for h in self.hidden)

    def _find_bags(self, type_: Type, start: int, path: str) -> None:
        """Number the bags of the state and mark the leaves of their slots."""
        if isinstance(type_, BagType):
            slots = []
            for i in range(type_.capacity):
                first = start + i * type_.slot_width
                slot = tuple(range(first, first + type_.slot_width))
                slots.append(slot)
                for index in slot:
                    old = self.leaves[index]
                    self.leaves[index] = Leaf(old.path, old.kind, old.size, old.sort, (len(self.bags), i), old.hidden)
            self.bags.append(Bag(path, tuple(slots)))
        elif isinstance(type_, RecordType):
            for name, field in type_.fields.items():
                self._find_bags(field, start + type_.offsets[name], f"{path}.{name}")
        elif isinstance(type_, MapType):
            for i, key in enumerate(type_.keys):
                self._find_bags(type_.value_type, start + i * type_.value_type.width, f"{path}[{key!r}]")
        elif isinstance(type_, OptionType) and isinstance(type_.inner, RecordType):
            self._find_bags(type_.inner, start + 1, path)

    def program(self, changed: Mapping[int, Declared]) -> Program:
        """The program with other actions in place of those with the numbers of `changed`."""
        for declared in (*self.model.model.actions, *changed.values(), *self.properties, *self.model.model.fairness):
            if declared.kind != "deadlock":
                function_of(declared.function)  # the whitelist, before anything is evaluated
        self._all_bindings = self._all_bindings or count_bindings(self.model)
        self.graph.pulse = self._pulse
        instances = [
            i for n in range(len(self.model.model.actions))
            for i in (self._action(n, changed[n]) if n in changed else self._unchanged(n))
        ]  # fmt: skip
        properties, evaluates = self._declared_properties
        properties = [dataclasses.replace(p, reads=self._reads_of(i)) for i, p in enumerate(properties)]
        liveness, breakdowns = compile_liveness(self.model, self.graph, self.before, self.properties, instances)
        possible = [(name, errors) for name, errors in [*evaluates, *breakdowns] if errors is not self.graph.false]
        nodes = self.graph.nodes()
        check_nodes(itertools.islice(nodes, self.checked, None))
        self.checked = len(nodes)
        return Program(
            self.leaves, self.bags, [a.name for a in self.model.model.actions], list(self.sites.sites), instances,
            [*properties,
             *[Property(name + EVALUATES, "invariant", errors, self._reads_of(-1)) for name, errors in possible]],
            outside=self._any(self.model.model.constraints, holds=False),
            terminal=self._any(self.model.model.terminal, holds=True),
            fresh_per_step=dict(self.fresh),
            quantifiers=dict(self.graph.quantifiers),
            liveness=liveness,
        )  # fmt: skip

    @functools.cached_property
    def _declared_properties(self) -> tuple[list[Property], list[tuple[str, Node]]]:
        """(the properties; names of declarations, each with the condition that evaluating it breaks down)."""
        properties = []
        breaking: list[tuple[str, Node]] = []
        for i, declared in enumerate(self.properties):
            self.graph.taken_reads()
            condition, errors = self._property(declared)
            self.bound_reads[i] = self._reads_of(i) | self.graph.taken_reads()
            properties.append(Property(declared.name, declared.kind, condition))
            if declared.kind == "witness":
                breaking.append((declared.name, errors))
        for declared in (*self.model.model.constraints, *self.model.model.terminal):
            breaking.append((declared.name, self._evaluate(declared, [list(self.before)], Facts())[1]))
        self.bound_reads[-1] = self.graph.taken_reads()  # of all that is evaluated beside the properties
        return properties, breaking

    # Actions.

    def _unchanged(self, number: int) -> list[Instance]:
        """The instances of an action of the model, unmodified."""
        if number not in self.instances:
            self.instances[number] = self._action(number, self.model.model.actions[number])
        return self.instances[number]

    def _action(self, number: int, action: Declared) -> list[Instance]:
        self._header(action)
        parameters = self.model.parameters(action)
        run = functools.partial(self._instance, number, action, parameters)
        templates = Templates(self.graph, self.sites, parameters, run, len(self.leaves)) if self.templates else None
        instances: list[Instance] = []
        for binding in bindings(parameters):
            self._pulse()
            instance = templates.at(binding) if templates else None
            instances.append(instance or run(binding, bool(instances)))
            self._compiled += 1
        return instances

    def _pulse(self) -> None:
        if self.progress is not None:
            self.progress(self._compiled, self._all_bindings)

    def _header(self, action: Declared) -> None:
        for part, value in (("who acts (who=...)", action.who), ("a source (source=...)", action.source),
                            ("what it is for (a docstring)", action.doc)):  # fmt: skip
            if not value:
                raise SpecError(
                    f"action {action.name} does not say {part}", place=action.place,
                    hint='@action(who="active controller", source="KIP-631, Broker Leases") and a docstring',
                )  # fmt: skip
        names = {p.name for p in self.model.parameters(action)}
        for _, field, _, _ in string.Formatter().parse(action.who):
            if field and field.split(".")[0].split("[")[0] not in names:
                raise SpecError(
                    f"action {action.name}: who names {field}, which is not a parameter", place=action.place,
                    hint=f"its parameters: {', '.join(sorted(names)) or 'none'}",
                )  # fmt: skip

    def _instance(
        self, number: int, action: Declared, parameters: list[Parameter], binding: tuple[Any, ...], stops: bool = False
    ) -> Instance:
        """The instance of one binding.

        stops: whether what follows a guard that no state satisfies is not even checked (for a kernel).
        """
        self.graph.taken_reads()
        machine = self.machine(self.graph, self.sites, number, Store(list(self.before)))
        machine.prunes, machine.stops = self.for_kernel, stops
        with contextlib.suppress(Ended):
            self._run(machine, action, parameters, binding)
        if machine.ended:
            events, reads = tuple(machine.events), self.graph.taken_reads()
            return Instance(number, binding, events, {}, (), self.graph.false, reads)
        for sort, count in machine.fresh.items():
            self.fresh[sort] = max(self.fresh.get(sort, 0), count)
        after, reads = machine.store.nodes, self.graph.taken_reads()
        updates = {i: b for i, (a, b) in enumerate(zip(self.before, after, strict=True)) if a is not b}
        return Instance(
            number, binding, tuple(machine.events), updates, tuple(self._breaks(after, updates.keys(), machine.facts)),
            self._outside(after, updates, machine.facts), reads,
        )  # fmt: skip

    def _run(self, machine: Machine, action: Declared, parameters: list[Parameter], binding: tuple[Any, ...]) -> None:
        place = machine.state_place(machine.store, self.type, writable=True)
        machine.frames.append(Frame(function_of(action.function), {}, False))
        arguments = arguments_of(machine, place, parameters, binding)
        machine.frames.pop()
        if machine.run(action.function, [place, *arguments.values()], pure=False) != NONE:
            raise SpecError(f"action {action.name} returns a value", place=action.place, hint="assign it to the state")

    # Properties.

    def _evaluate(
        self, declared: Declared, stores: list[list[Node]], facts: Facts, graph: Graph | None = None
    ) -> tuple[Node, Node]:
        """(whether it holds, whether evaluating it breaks down) in states given by their leaves, nodes of `graph`."""
        graph = graph or self.graph
        machine = Machine(graph, Sites(), -1, Store(stores[-1]))
        machine.facts = facts.copy()
        places: list[Symbol] = [machine.state_place(Store(nodes), self.type, writable=False) for nodes in stores]
        function = function_of(declared.function)
        if len(function.parameters) != len(places):
            raise SpecError(
                f"{declared.kind} {declared.name} takes {len(function.parameters)} states and needs {len(places)}",
                place=declared.place,
                hint="def p(s: S) -> bool, or def p(before: S, after: S) -> bool for a transition invariant",
            )
        result = machine.run(declared.function, places, pure=True)
        machine.frames.append(Frame(function, {}, True))
        if not isinstance(result, Truth):
            machine.fail(function.tree, f"{declared.name} returns {machine.describe(result)}, not a boolean")
        return result.node, graph.any_([e.condition for e in machine.events])

    def _property(self, declared: Declared) -> tuple[Node | None, Node]:
        """The conditions that a property is broken (or a witness reached), and that evaluating it breaks down."""
        if declared.kind in ("transition invariant", "refinement", "deadlock", *LIVENESS):
            return None, self.graph.false
        holds, errors = self._evaluate(declared, [list(self.before)], Facts())
        if declared.kind == "witness":
            return self.graph.and_(holds, self.graph.not_(errors)), errors
        return self.graph.or_(errors, self.graph.not_(holds)), errors

    def _breaks(self, after: list[Node], changed: Set[int], facts: Facts) -> list[tuple[int, Node]]:
        """The transition properties that a step to `after` may break; changed: the leaves that the step changes."""
        found = []
        for i, declared in enumerate(self.properties):
            if declared.kind == "transition invariant":
                if i in self._sensitive_leaves and self._sensitive_leaves[i].isdisjoint(changed):
                    continue
                holds, errors = self._evaluate(declared, [list(self.before), list(after)], facts)
                broken = self.graph.or_(errors, self.graph.not_(holds))
                if facts.of(broken) is not False:
                    found.append((i, broken))
                self.bound_reads[i] = self._reads_of(i) | self.graph.taken_reads()
            elif declared.kind == "refinement":
                mapped = self._mapped(declared, after, facts)
                found.append((i, self._refinements[declared.name].broken(self._mapped_before[declared.name], mapped)))
                self.bound_reads[i] = self._reads_of(i) | self.graph.taken_reads()
        return found

    def _of_either(self, reads: BoundReads) -> BoundReads:
        """The reads of two states, numbered one after the other, as leaves of one state."""
        width = len(self.leaves)
        return BoundReads(
            frozenset((self.before[i % width], None) for i in reads.largest),
            frozenset(i % width for i in reads.counted),
            frozenset((frozenset(i % width for i in leaves), depth) for leaves, depth in reads.quantified),
        )

    def _reads_of(self, number: int) -> BoundReads:
        return self.bound_reads.get(number, BoundReads())

    @functools.cached_property
    def _sensitive_leaves(self) -> dict[int, set[int]]:
        """By number, the transition invariants that only a step that changes some of these leaves can break.

        Evaluated over two states that have nothing in common, each shows what it needs of the second; it must hold of
        two that are the same. The nodes of this are of no use for anything else.
        """
        graph, width = Graph(), len(self.leaves)
        before, after = ([graph.leaf(start + i, leaf) for i, leaf in enumerate(self.leaves)] for start in (0, width))
        found = {}
        for i, declared in enumerate(self.properties):
            if declared.kind == "transition invariant":
                holds, errors = self._evaluate(declared, [before, before], Facts(), graph)
                if holds is graph.true and errors is graph.false:
                    holds, errors = self._evaluate(declared, [before, after], Facts(), graph)
                    found[i] = {index - width for index in support(holds) | support(errors) if index >= width}
                    self.bound_reads[i] = self._reads_of(i) | self._of_either(graph.taken_reads())
        return found

    @functools.cached_property
    def _refinements(self) -> dict[str, Refinement]:
        found = [d for d in self.properties if d.kind == "refinement"]
        return {d.name: Refinement(self.graph, abstraction(self.model, d)) for d in found}

    @functools.cached_property
    def _mapped_before(self) -> dict[str, Mapped]:
        return {d.name: self._mapped(d, self.before, Facts()) for d in self.properties if d.kind == "refinement"}

    def _mapped(self, declared: Declared, nodes: list[Node], facts: Facts) -> Mapped:
        """The abstract state that a state is mapped to."""
        machine = Machine(self.graph, Sites(), -1, Store(list(nodes)))
        machine.facts = facts.copy()
        place = machine.state_place(machine.store, self.type, writable=False)
        result = machine.run(declared.function, [place], pure=True)
        function = function_of(declared.function)
        machine.frames.append(Frame(function, {}, True))
        leaves = machine.coerced(result, self._refinements[declared.name].abstract.type, function.tree)
        return leaves, self.graph.any_([e.condition for e in machine.events])

    def _outside(self, after: list[Node], updates: dict[int, Node], facts: Facts) -> Node:
        """The condition that the state after breaks a constraint, which the state before did not."""
        outside = self.graph.false
        for declared in self.model.model.constraints:
            holds, errors = self._evaluate(declared, [list(after)], facts)
            unchanged, _ = self._constraint(declared.name)
            if holds is not unchanged:
                outside = self.graph.any_([outside, errors, self.graph.not_(holds)])
        return outside

    @functools.cached_property
    def _constraints(self) -> dict[str, tuple[Node, Node]]:
        found = self.model.model.constraints
        return {d.name: self._evaluate(d, [list(self.before)], Facts()) for d in found}

    def _constraint(self, name: str) -> tuple[Node, Node]:
        return self._constraints[name]

    def _any(self, declared: Any, holds: bool) -> Node:
        """The condition that any of some conditions on states holds (or, with holds=False, does not)."""
        result = self.graph.false
        for one in declared:
            truth, errors = self._evaluate(one, [list(self.before)], Facts())
            result = self.graph.or_(result, truth if holds else self.graph.or_(errors, self.graph.not_(truth)))
        return result
