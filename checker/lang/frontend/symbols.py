"""Symbols: the values of a spec's expressions during symbolic evaluation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from checker.lang.ir import Node
from checker.lang.types import Type


@dataclass(frozen=True)
class Num:
    """An integer."""

    node: Node


@dataclass(frozen=True)
class Truth:
    """A boolean."""

    node: Node


@dataclass(frozen=True)
class Val:
    """A value of a declared type that is not a number or boolean: one node per leaf."""

    type: Type
    nodes: tuple[Node, ...]
    origins: tuple[Location, ...] = field(default=(), compare=False)  # records of the state it may stand for


@dataclass(frozen=True)
class Static:
    """A value that is known when the model is compiled and has no code: None, a class, a function."""

    value: Any


@dataclass(frozen=True)
class Display:
    """A literal set or tuple whose type depends on where it goes."""

    kind: str  # "set" or "tuple"
    elements: tuple[Symbol, ...]


@dataclass(frozen=True)
class Choice:
    """One of two symbols of different types, by a condition."""

    condition: Node
    yes: Symbol
    no: Symbol


@dataclass
class Store:
    """The leaves of one state: as they were, or as they are so far in a step."""

    nodes: list[Node]


@dataclass(frozen=True)
class Step:
    """One step of the way to a place: a field's name, or a key."""

    field: str = ""
    key: tuple[Node, ...] = ()


@dataclass(frozen=True)
class Location:
    """A record or map of a state, which a local name may stand for.

    alternatives: (condition, first leaf): exactly one condition holds. made: how many assignments of
    whole places had happened when the location was reached.
    """

    store: Store = field(repr=False)
    type: Type
    alternatives: tuple[tuple[Node, int], ...]
    way: tuple[Step, ...]
    made: int
    writable: bool


Symbol = Num | Truth | Val | Static | Display | Choice | Location
