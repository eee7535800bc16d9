"""Codes and symbols: what the leaves of a value stand for, and values of one type as those of another."""

from __future__ import annotations

import ast
import enum
from typing import Any

from checker.lang.frontend.path import Path
from checker.lang.frontend.symbols import Choice, Display, Location, Num, Static, Symbol, Truth, Val
from checker.lang.ir import EventKind, Kind, Node, Op
from checker.lang.types import (
    BagType,
    BoolType,
    BoundedSetType,
    EnumType,
    IdentityType,
    MapType,
    OptionStyle,
    OptionType,
    RangeType,
    RecordType,
    SeqType,
    SetType,
    Type,
    UnionType,
)
from checker.lang.values import Identity

NONE = Static(None)


def _classes(type_: Type) -> tuple[Any, ...]:
    """The classes that a type is made from, in order; those of records include their fields'."""
    if isinstance(type_, UnionType):
        return tuple(variant.cls for variant in type_.variants)
    if isinstance(type_, MapType):
        return (*_classes(type_.key_type), *_classes(type_.value_type))
    if isinstance(type_, OptionType):
        return _classes(type_.inner)
    if isinstance(type_, SetType | SeqType | BagType):
        return _classes(type_.element)
    return (getattr(type_, "cls", None),)


class Codes(Path):
    """Reads and writes the codes of values."""

    def symbol(self, type_: Type, nodes: tuple[Node, ...]) -> Symbol:
        """The symbol of a value whose leaves are `nodes`."""
        if isinstance(type_, BoolType):
            return Truth(nodes[0])
        if isinstance(type_, RangeType):
            return Num(self.graph.add(self.narrowed(nodes[0], type_.size), self.graph.integer(type_.lo)))
        return Val(type_, nodes)

    def narrowed(self, node: Node, size: int) -> Node:
        """`node`, narrowed to the range of its type: a leaf that variants share may be declared wider."""
        if node.kind is not Kind.INT or node.hi < size:
            return node
        if node.op is Op.LEAF:
            return self.graph.narrow_leaf(node, size - 1)
        if node.op is Op.SELECT:
            condition, a, b = node.args
            return self.graph.select(condition, self.narrowed(a, size), self.narrowed(b, size))
        return node

    def literal(self, type_: Type, value: Any) -> Symbol:
        """The symbol of a Python value that is known when the model is compiled."""
        codes = type_.encode(value)
        nodes = [self.code(c, leaf.kind, leaf.sort) for c, (_, leaf) in zip(codes, type_.leaves, strict=True)]
        return self.symbol(type_, tuple(nodes))

    def lift(self, value: Any, node: ast.AST) -> Symbol:
        """The symbol of an object that a name of the spec stands for."""
        if isinstance(value, bool):
            return Truth(self.graph.boolean(value))
        if isinstance(value, int) and not isinstance(value, enum.Enum):
            return Num(self.graph.integer(value))
        if isinstance(value, enum.Enum):
            return self.literal(EnumType(type(value)), value)
        if isinstance(value, Identity):
            type_ = IdentityType(type(value))
            if value.index >= type_.size:
                self.fail(node, f"{value!r} is beyond the {type_.size} members of {type_}", "raise its size")
            return self.literal(type_, value)
        if isinstance(value, tuple):
            return Display("tuple", tuple(self.lift(v, node) for v in value))
        if isinstance(value, frozenset):
            return Display("set", tuple(self.lift(v, node) for v in value))
        if isinstance(value, str | float | bytes):
            self.fail(node, f"a spec cannot compute with {value!r}", "use an enum for names")
        return Static(value)

    def present(self, option: Val) -> Node:
        return self.graph.not_(self.absent(option))

    def absent(self, option: Val) -> Node:
        head = option.nodes[0]
        zero = self.code(0, head.kind, head.sort)
        return self.graph.eq(head, zero)

    def inner(self, option: Val) -> Symbol:
        """The value of an option that is present."""
        assert isinstance(option.type, OptionType)
        nodes = option.nodes
        if option.type.style is OptionStyle.CODE:
            nodes = (self.predecessor(nodes[0]), *nodes[1:])
        elif option.type.style is OptionStyle.TAG:
            nodes = nodes[1:]
        return self.symbol(option.type.inner, nodes)

    def predecessor(self, node: Node) -> Node:
        """The code of an option's value from the code of the option; any valid code if it is absent."""
        if node.op is Op.SELECT:
            condition, a, b = node.args
            if any(x.op is Op.CONST for x in (a, b)):
                return self.graph.select(condition, self.predecessor(a), self.predecessor(b))
        if node.op is Op.CONST:
            return self.graph.integer(max(0, node.data - 1))
        return self.graph.sub(node, self.graph.integer(1))

    @staticmethod
    def same_type(a: Type, b: Type) -> bool:
        """True if two types have the same values: classes of one name in two instances of a spec do not."""
        alike = a is b or (type(a) is type(b) and str(a) == str(b) and a.leaves == b.leaves)
        return alike and (a is b or _classes(a) == _classes(b))

    def seq_as(self, symbol: Val, type_: SeqType, node: ast.AST) -> tuple[Node, ...]:
        assert isinstance(symbol.type, SeqType)
        if symbol.type.length > type_.length:
            too_long = self.graph.lt(self.graph.integer(type_.length), symbol.nodes[0])
            self.event(EventKind.CUT, too_long, node, f"longer than {type_.length}")
            return (self.at_most(symbol.nodes[0], type_.length), *symbol.nodes[1 : type_.width])
        missing = type_.leaves[len(symbol.nodes) :]
        return (*symbol.nodes, *[self.code(0, leaf.kind, leaf.sort) for _, leaf in missing])

    def at_most(self, node: Node, most: int) -> Node:
        """`node`, which events have shown to be at most `most`, with that bound."""
        if node.hi <= most:
            return node
        return self.graph.select(self.graph.lt(node, self.graph.integer(most)), node, self.graph.integer(most))

    def bag_as(self, symbol: Val, type_: BagType, node: ast.AST) -> tuple[Node, ...]:
        assert isinstance(symbol.type, BagType)
        w = type_.slot_width
        kept = list(symbol.nodes[: type_.width])
        kept += [self.code(0, leaf.kind, leaf.sort) for _, leaf in type_.leaves[len(kept) :]]
        for start in range(type_.width, len(symbol.nodes), w):
            kept, full = self.put_in_slot(kept, w, list(symbol.nodes[start : start + w]))
            what = "set" if isinstance(type_, BoundedSetType) else "bag"
            self.event(EventKind.CUT, full, node, f"more than {type_.capacity} in the {what}")
        return tuple(kept)

    def put_in_slot(self, slots: list[Node], w: int, member: list[Node]) -> tuple[list[Node], Node]:
        """(the slots with `member` in the first empty one, the condition of no room). Empty members are ignored."""
        g = self.graph
        waiting = g.not_(g.eq(member[0], g.integer(0)))
        result = list(slots)
        for start in range(0, len(slots), w):
            empty = g.eq(slots[start], g.integer(0))
            here = g.and_(waiting, empty)
            for i in range(w):
                result[start + i] = g.select(here, member[i], result[start + i])
            waiting = g.and_(waiting, g.not_(empty))
        return result, waiting

    def variant_as(self, symbol: Val, variant: RecordType, type_: UnionType) -> tuple[Node, ...]:
        nodes = [self.code(0, leaf.kind, leaf.sort) for _, leaf in type_.leaves]
        nodes[0] = self.graph.integer(type_.tags[variant.cls])
        for place, node in zip(type_.places[variant.cls], symbol.nodes, strict=True):
            nodes[place] = node
        return tuple(nodes)

    def variant(self, union: Val, variant: RecordType) -> Val:
        """A union as the record that it is where its tag says so."""
        assert isinstance(union.type, UnionType)
        places = union.type.places[variant.cls]
        nodes = [
            self.narrowed(union.nodes[place], leaf.size)
            for place, (_, leaf) in zip(places, variant.leaves, strict=True)
        ]
        return Val(variant, tuple(nodes))

    def describe(self, symbol: Symbol) -> str:
        """Describe a symbol for an error message."""
        if isinstance(symbol, Num):
            return "an integer"
        if isinstance(symbol, Truth):
            return "a boolean"
        if isinstance(symbol, Val | Location):
            return f"a {symbol.type}"
        if isinstance(symbol, Display):
            return f"a {symbol.kind} of {len(symbol.elements)}"
        if isinstance(symbol, Choice):
            return f"{self.describe(symbol.yes)} or {self.describe(symbol.no)}"
        return "None" if symbol.value is None else f"{getattr(symbol.value, '__name__', symbol.value)}"
