"""The values of an action's parameters under one binding: constants, or members of the state that may be there."""

from __future__ import annotations

from typing import Any

from checker.lang.errors import Place, SpecError
from checker.lang.frontend.numbering import Words
from checker.lang.frontend.source import function_of
from checker.lang.frontend.statements import Machine
from checker.lang.frontend.symbols import Location, Static, Symbol, Val
from checker.lang.frontend.templates import Bound
from checker.lang.ir import EventKind, Member, Node
from checker.lang.parameters import Parameter
from checker.lang.types import BagType, MapType, RecordType, SeqType, SetType


def arguments_of(
    machine: Machine, place: Location, parameters: list[Parameter], binding: tuple[Any, ...]
) -> dict[str, Symbol]:
    """The parameters' symbols by name, in the state at `place`; an event ends the attempt where a member is missing.

    binding: a candidate for each, or the leaves of a template. machine: with a frame of the action on top.
    """
    found: dict[str, Symbol] = {}
    for parameter, candidate in zip(parameters, binding, strict=True):
        found[parameter.name] = _argument(machine, place, parameter, candidate, found)
    return found


def _argument(
    machine: Machine, place: Location, parameter: Parameter, candidate: Any, earlier: dict[str, Symbol]
) -> Symbol:
    graph, tree = machine.graph, machine.frame.function.tree
    if isinstance(candidate, Bound):
        return machine.symbol(parameter.type, candidate.nodes)
    if not isinstance(candidate, Member):
        return machine.literal(parameter.type, candidate)
    if isinstance(parameter.collection, SetType):
        members = _set(machine, place, parameter, earlier)
        there = machine.has_number(members, graph.integer(candidate.index))
        machine.event(EventKind.ABSENT, graph.not_(there), tree)
        return machine.literal(parameter.variant or parameter.type, parameter.collection.members[candidate.index])
    collection = _at_path(machine, place, parameter, earlier)
    found = _listed(machine, collection, parameter)
    there, member = found[candidate.index]
    if isinstance(collection, Val) and isinstance(member, Val):
        machine.members.add((collection.nodes, member.nodes))
    for other_there, other in [] if parameter.keyed else found[: candidate.index]:
        same = graph.and_(other_there, machine.equal(other, member, tree))
        there = graph.and_(there, graph.not_(same))
    if parameter.variant is not None:
        assert isinstance(member, Val)
        there = graph.and_(there, machine.is_variant(member, Static(parameter.variant.cls), tree))
        variant = machine.variant(member, parameter.variant)
        machine.members |= {(bag, variant.nodes) for bag, nodes in list(machine.members) if nodes == member.nodes}
        member = variant
    machine.event(EventKind.ABSENT, graph.not_(there), tree)
    return member


def _set(machine: Machine, place: Location, parameter: Parameter, earlier: dict[str, Symbol]) -> Words:
    """The set that a parameter is a member of."""
    tree = machine.frame.function.tree
    if parameter.drawn is None:
        value = machine.value(_at_path(machine, place, parameter, earlier), tree)
        assert isinstance(value, Val)
        return value.nodes
    assert isinstance(place.type, RecordType) and parameter.collection is not None
    before = len(machine.events)
    reading = machine.state_place(place.store, place.type, writable=False)
    drawn = machine.inline(parameter.drawn, [reading, *[earlier[name] for name in parameter.drawn_from]])
    members = machine.coerced(drawn, parameter.collection, function_of(parameter.drawn).tree)
    if len(machine.events) > before:
        site = machine.sites.sites[machine.events[before].site]
        raise SpecError(
            f"{parameter.name} is drawn from a set that may not exist: {site.reason}",
            place=Place(site.file, site.line, 0, 10_000),
            hint=f"give {parameter.drawn.__name__} a value in every state: test first what it takes for granted",
        )
    return members


def _at_path(machine: Machine, place: Location, parameter: Parameter, earlier: dict[str, Symbol]) -> Symbol:
    """The collection that a path leads to: its first name is a field of the state, its indices earlier parameters."""
    assert parameter.path is not None and isinstance(place.type, RecordType)
    tree = machine.frame.function.tree
    fields = {name: machine.field(place, name, tree) for name in place.type.fields}
    machine.frame.locals = {**earlier, **fields}
    return machine.expression(parameter.path)


def _listed(machine: Machine, collection: Symbol, parameter: Parameter) -> list[tuple[Node, Symbol]]:
    tree = machine.frame.function.tree
    if isinstance(parameter.collection, MapType):
        return [(machine.graph.true, machine.value(v, tree)) for _, v in machine.map_values(collection, tree)]
    assert isinstance(parameter.collection, SeqType | BagType)
    machine.quantifying.add(id(tree))
    return machine.elements(collection, tree)
