"""One symbolic run for many bindings of an action: its parameters are leaves, and each binding puts its values in.

The run costs milliseconds, and putting values in a fraction of one: what rests on some of the parameters only is made
once for each of their values, and a guard that is false for a binding's values ends it there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from checker.lang.errors import SpecError
from checker.lang.frontend.path import Facts, Sites
from checker.lang.graph import Graph
from checker.lang.ir import Event, Instance, Leaf, Node, Op, reachable
from checker.lang.parameters import Parameter
from checker.lang.rebuild import constant, made_again

MIN_BINDINGS = 8  # of one template: fewer are sooner run one by one
MAX_NODES = 50_000  # that a template may add to the graph: one that needs more is no shorter way


@dataclass(frozen=True)
class Bound:
    """A parameter of a template. codes: candidate (by number) -> codes; leaves: numbers of those that stand for it."""

    number: int  # among the action's parameters
    codes: Sequence[Sequence[int]]
    nodes: tuple[Node, ...]


def bound_parameters(graph: Graph, parameters: Sequence[Parameter], chosen: Iterable[int], first: int) -> list[Bound]:
    """Leaves, numbered from `first`, for the parameters with these numbers; a constant for a code that all share."""
    found = []
    for number in chosen:
        parameter = parameters[number]
        codes = [parameter.type.encode(value) for value in parameter.candidates]
        nodes = []
        for i, (path, leaf) in enumerate(parameter.type.leaves):
            if all(code[i] == codes[0][i] for code in codes):
                nodes.append(constant(graph, leaf.kind, codes[0][i], leaf.sort))
            else:
                nodes.append(graph.leaf(first + i, Leaf(path, leaf.kind, leaf.size, leaf.sort)))
        first += len(parameter.type.leaves)
        found.append(Bound(number, codes, tuple(nodes)))
    return found


@dataclass
class _Made:
    """Nodes made under one choice of values, by serial; and the roots of which all nodes were made."""

    nodes: dict[int, Node] = field(default_factory=dict)
    roots: set[int] = field(default_factory=set)


class Template:
    """An instance whose parameters are leaves. `at` gives the instance of a binding."""

    def __init__(self, graph: Graph, instance: Instance, bound: Sequence[Bound]) -> None:
        self._graph = graph
        self._instance = instance
        self._bound = bound
        self._masks: dict[int, int] = {}
        self._leaf_of = {
            node.data: (k, i) for k, one in enumerate(bound) for i, node in enumerate(one.nodes) if node.op is Op.LEAF
        }
        self._roots: dict[int, list[tuple[int, list[Node]]]] = {}
        self._made: dict[tuple[int, ...], _Made] = {}
        self._current: dict[int, _Made] = {}
        self._values: tuple[int, ...] = ()

    def at(self, binding: tuple[Any, ...], values: tuple[int, ...]) -> Instance:
        """The instance of `binding`. values: for each parameter of the template, the number of its candidate."""
        self._values, self._current = values, {}
        template, facts = self._instance, Facts()
        events: list[Event] = []
        for event in template.events:
            condition = self._put(event.condition)
            known = facts.of(condition)
            if known is False:
                continue
            reached = self._put(event.reached)
            events.append(Event(self._graph.true if known else condition, event.site, reached, event.reads))
            if known:  # for these values it always ends here
                return Instance(template.action, binding, tuple(events), {}, (), self._graph.false, template.reads)
            facts.learn(condition, False)
        updates = {leaf: self._put(node) for leaf, node in template.updates.items()}
        changes = {leaf: node for leaf, node in updates.items() if node.op is not Op.LEAF or node.data != leaf}
        breaks = [(number, self._put(node)) for number, node in template.breaks]
        broken = tuple((number, node) for number, node in breaks if facts.of(node) is not False)
        outside = self._put(template.outside)
        return Instance(template.action, binding, tuple(events), changes, broken, outside, template.reads)

    def _put(self, node: Node) -> Node:
        groups = self._roots.get(node.serial)
        for mask, nodes in self._groups(node) if groups is None else groups:
            made = self._of(mask)
            if node.serial not in made.roots:
                made.roots.add(node.serial)
                self._make(made.nodes, nodes)
        return self._given(node)

    def _of(self, mask: int) -> _Made:
        """The nodes made from those that rest on these parameters, under the current values."""
        made = self._current.get(mask)
        if made is None:
            key = (mask, *[value for k, value in enumerate(self._values) if mask >> k & 1])
            of_all = mask.bit_count() == len(self._values)  # no other binding has these values
            made = self._current[mask] = _Made() if of_all else self._made.setdefault(key, _Made())
        return made

    def _given(self, node: Node) -> Node:
        mask = self._masks[node.serial]
        return self._current[mask].nodes[node.serial] if mask else node

    def _make(self, made: dict[int, Node], nodes: Sequence[Node]) -> None:
        for node in nodes:
            if node.serial not in made:
                if node.op is Op.LEAF:
                    k, i = self._leaf_of[node.data]
                    made[node.serial] = constant(self._graph, node.kind, self._bound[k].codes[self._values[k]][i])
                else:
                    made[node.serial] = made_again(self._graph, node, [self._given(a) for a in node.args])

    def _groups(self, root: Node) -> list[tuple[int, list[Node]]]:
        """(parameters, as bits; nodes under `root` that rest on just these, arguments first), the fewest first."""
        groups: dict[int, list[Node]] = {}
        for node in sorted(reachable([root]), key=lambda n: n.serial):
            mask = self._masks.get(node.serial)
            if mask is None:
                mask = 1 << self._leaf_of[node.data][0] if node.op is Op.LEAF and node.data in self._leaf_of else 0
                for a in node.args:
                    mask |= self._masks[a.serial]
                self._masks[node.serial] = mask
            if mask:
                groups.setdefault(mask, []).append(node)
        self._roots[root.serial] = sorted(groups.items(), key=lambda group: group[0].bit_count())
        return self._roots[root.serial]


class Templates:
    """The templates of one action, each made at its first binding: one for each choice of members of the state.

    run: makes the instance of a binding, which may hold `Bound`s in place of values. width: leaves of the state.
    """

    def __init__(
        self, graph: Graph, sites: Sites, parameters: Sequence[Parameter],
        run: Callable[[tuple[Any, ...]], Instance], width: int,
    ) -> None:  # fmt: skip
        self._graph = graph
        self._sites = sites
        self._run = run
        self._parameters = parameters
        self._width = width
        chosen = [n for n, p in enumerate(parameters) if p.collection is None and len(p.candidates) > 1]
        self._possible = math.prod(len(parameters[n].candidates) for n in chosen) >= MIN_BINDINGS
        self._bound = bound_parameters(graph, parameters, chosen, width) if self._possible else []
        self._numbers = [{id(c): i for i, c in enumerate(parameters[n].candidates)} for n in chosen]
        self._templates: dict[tuple[Any, ...], Template] = {}

    def at(self, binding: tuple[Any, ...]) -> Instance | None:
        """The instance of a binding; None where there are too few, or the action's code depends on their values."""
        template = self._template(binding) if self._possible else None
        if template is None:
            return None
        values = tuple(numbers[id(binding[b.number])] for b, numbers in zip(self._bound, self._numbers, strict=True))
        return template.at(binding, values)

    def _template(self, binding: tuple[Any, ...]) -> Template | None:
        symbolic = {b.number: b for b in self._bound}
        given = tuple(symbolic.get(n, candidate) for n, candidate in enumerate(binding))
        members = tuple(c for n, c in enumerate(binding) if n not in symbolic)
        if members not in self._templates:
            known = len(self._sites.sites)
            try:
                self._templates[members] = Template(self._graph, self._within_bounds(given), self._bound)
            except (SpecError, _TooLarge):  # if the spec is to blame, running a binding says so
                self._sites.forget(known)
                self._possible = False
                return None
        return self._templates[members]

    def _within_bounds(self, given: tuple[Any, ...]) -> Instance:
        pulse, most = self._graph.pulse, len(self._graph) + MAX_NODES

        def ask() -> None:
            pulse()
            if len(self._graph) > most:
                raise _TooLarge

        self._graph.pulse = ask
        try:
            return self._run(given)
        finally:
            self._graph.pulse = pulse


class _TooLarge(Exception):
    pass
