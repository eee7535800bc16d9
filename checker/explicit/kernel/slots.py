"""Slots: the places in a packed state of the members that an instance's parameters stand for."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from checker.lang.ir import Member
from checker.lang.parameters import Parameter
from checker.lang.types import BagType, MapType, RecordType, SeqType, SetType, Type


@dataclass(frozen=True)
class Slot:
    """The leaves from `first` on hold a parameter's value, as one of `type` (in a bag: the option that a slot is)."""

    first: int
    type: Type


class NotFixed(Exception):
    """The place depends on the state."""


def slots_of(state: RecordType, parameters: list[Parameter], binding: tuple[Any, ...]) -> dict[str, Any]:
    """Per parameter of one instance its value, or the `Slot` that holds it.

    binding: as of `Reference.instances`. Raises NotFixed for an index that is itself a member of the state.
    """
    found: dict[str, Any] = {}
    for parameter, candidate in zip(parameters, binding, strict=True):
        if not isinstance(candidate, Member):
            found[parameter.name] = candidate
        elif isinstance(parameter.collection, SetType):
            found[parameter.name] = parameter.collection.members[candidate.index]
        else:
            assert parameter.path is not None
            first, collection = _place(parameter.path, state, found)
            found[parameter.name] = _slot(first, collection, candidate.index)
    return found


def _place(path: ast.expr, state: RecordType, earlier: Mapping[str, Any]) -> tuple[int, Type]:
    """(first leaf, type) of what `path` leads to."""
    if isinstance(path, ast.Name):
        return state.offsets[path.id], state.fields[path.id]
    if isinstance(path, ast.Attribute):
        first, holder = _place(path.value, state, earlier)
        assert isinstance(holder, RecordType)
        return first + holder.offsets[path.attr], holder.fields[path.attr]
    assert isinstance(path, ast.Subscript) and isinstance(path.slice, ast.Name)
    first, holder = _place(path.value, state, earlier)
    assert isinstance(holder, MapType)
    key = earlier[path.slice.id]
    if isinstance(key, Slot):
        raise NotFixed
    return first + holder.keys.index(key) * holder.value_type.width, holder.value_type


def _slot(first: int, collection: Type, index: int) -> Slot:
    if isinstance(collection, BagType):
        return Slot(first + index * collection.slot_width + int(collection.tagged), collection.slot)
    if isinstance(collection, SeqType):
        return Slot(first + 1 + index * collection.element.width, collection.element)
    assert isinstance(collection, MapType)
    return Slot(first + index * collection.value_type.width, collection.value_type)
