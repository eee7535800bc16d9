"""Symbols as values of declared types: loading, storing, comparing and merging them."""

from __future__ import annotations

import ast
import dataclasses
from typing import Any, TypeGuard

from checker.lang.frontend.codes import NONE
from checker.lang.frontend.numbering import Numbering, Words
from checker.lang.frontend.symbols import Choice, Display, Location, Num, Store, Symbol, Truth, Val
from checker.lang.ir import EventKind, Node, Op
from checker.lang.types import (
    BagType,
    BoolType,
    BoundedSetType,
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


class Conversion(Numbering):
    """Moves symbols between the forms they have. `as_sets` is left to the subclass that knows collections."""

    def as_sets(self, a: Symbol, b: Symbol, node: ast.AST) -> tuple[SetType, Words, Words]:
        raise NotImplementedError

    def is_set(self, symbol: Symbol) -> bool:
        raise NotImplementedError

    def bounded_as(self, symbol: Symbol, type_: BoundedSetType, node: ast.AST) -> tuple[Node, ...]:
        raise NotImplementedError

    def is_subset(self, a: Symbol, b: Symbol, node: ast.AST) -> Node:
        raise NotImplementedError

    # Places.

    def loaded(self, place: Location, node: ast.AST) -> tuple[Node, ...]:
        """The leaves of the value at a place."""
        self.check_alive(place, node)
        width, nodes = place.type.width, place.store.nodes
        (_, first), *others = place.alternatives
        result = nodes[first : first + width]
        for condition, offset in others:
            result = [self.graph.select(condition, nodes[offset + i], result[i]) for i in range(width)]
        return tuple(result)

    def check_alive(self, place: Location, node: ast.AST) -> None:
        """Raise SpecError where the place was assigned as a whole since the local name was given."""
        for write in self.writes[place.made :]:
            if write.record and write.store is place.store and self._overlaps(write.way, place.way):
                self.fail(
                    node,
                    f"{self.frame.function.text(node)} stands for a place that was assigned as a whole since",
                    "read it again from the state, or assign to its fields instead",
                )

    @staticmethod
    def _overlaps(whole: tuple[Any, ...], way: tuple[Any, ...]) -> bool:
        """True if assigning `whole` may replace the record that `way` leads to."""
        if len(whole) > len(way):
            return False
        for a, b in zip(whole, way, strict=False):
            if a.field != b.field:
                return False
            constant = all(n.op is Op.CONST for n in (*a.key, *b.key))
            if constant and [n.data for n in a.key] != [n.data for n in b.key]:
                return False
        return True

    def value(self, symbol: Symbol, node: ast.AST) -> Symbol:
        """The symbol itself or, for a place, the value there now."""
        if isinstance(symbol, Location):
            return self.symbol(symbol.type, self.loaded(symbol, node))
        if isinstance(symbol, Val) and symbol.origins:
            self._check_unchanged(symbol.origins, node)
        return symbol

    def _check_unchanged(self, origins: tuple[Location, ...], node: ast.AST) -> None:
        """Raise SpecError where a record that may be one of the state's own was changed since it was taken."""
        for place in origins:
            for write in self.writes[place.made :]:
                same = self._overlaps(write.way, place.way) or self._overlaps(place.way, write.way)
                if write.store is place.store and same:
                    self.fail(
                        node, f"{self.frame.function.text(node)} may stand for a record of the state that has changed",
                        "use it before the assignment, or make it with replace(...) on every path",
                    )  # fmt: skip

    # Options.

    def unwrapped(self, symbol: Symbol, node: ast.AST) -> Symbol:
        """The value of an option used as a value; a violation where it is absent."""
        symbol = self.value(symbol, node) if not self._is_record_place(symbol) else symbol
        if isinstance(symbol, Location):
            return self.inner_place(symbol, node)
        if isinstance(symbol, Choice):
            return self._unwrapped_choice(symbol, node)
        if symbol == NONE:
            self.error(self.graph.true, node, "an absent option is used as a value")
            return symbol
        if not (isinstance(symbol, Val) and isinstance(symbol.type, OptionType)):
            return symbol
        self.error(self.absent(symbol), node, "an absent option is used as a value")
        return self.inner(symbol)

    @staticmethod
    def _is_record_place(symbol: Symbol) -> TypeGuard[Location]:
        if not isinstance(symbol, Location):
            return False
        inner = symbol.type.inner if isinstance(symbol.type, OptionType) else symbol.type
        return isinstance(inner, RecordType | MapType)

    def inner_place(self, place: Location, node: ast.AST) -> Location:
        """The place of the record in an optional record; a violation where it is absent."""
        if not isinstance(place.type, OptionType):
            return place
        option = Val(place.type, self.loaded(place, node))
        self.error(self.absent(option), node, "an absent option is used as a value")
        return self.inside(place)

    def inside(self, place: Location) -> Location:
        assert isinstance(place.type, OptionType) and place.type.style is OptionStyle.TAG
        alternatives = tuple((c, offset + 1) for c, offset in place.alternatives)
        return Location(place.store, place.type.inner, alternatives, place.way, place.made, place.writable)

    def _unwrapped_choice(self, choice: Choice, node: ast.AST) -> Symbol:
        with self.assuming(choice.condition):
            yes = self.unwrapped(choice.yes, node)
        with self.assuming(self.graph.not_(choice.condition)):
            no = self.unwrapped(choice.no, node)
        if NONE in (yes, no):
            return no if yes == NONE else yes
        return self.joined(choice.condition, yes, no, node)

    # Merging.

    def joined(self, condition: Node, yes: Symbol, no: Symbol, node: ast.AST) -> Symbol:
        """The symbol that is `yes` where `condition` holds, else `no`."""
        if yes == no or condition is self.graph.true:
            return yes
        if condition is self.graph.false:
            return no
        if isinstance(yes, Location) and isinstance(no, Location) and self._same_place(yes, no):
            return yes
        origins = tuple(o for s in (yes, no) for o in self._origins(s))
        yes, no = self.value(yes, node), self.value(no, node)
        if isinstance(yes, Num) and isinstance(no, Num):
            return Num(self.graph.select(condition, yes.node, no.node))
        if isinstance(yes, Truth) and isinstance(no, Truth):
            return Truth(self.graph.select(condition, yes.node, no.node))
        if isinstance(yes, Val) and isinstance(no, Val) and self.same_type(yes.type, no.type):
            pairs = zip(yes.nodes, no.nodes, strict=True)
            return Val(yes.type, tuple(self.graph.select(condition, a, b) for a, b in pairs), origins)
        common = self._common_type(yes, no) or self._common_type(no, yes)
        if common is not None:
            a, b = self.coerced(yes, common, node), self.coerced(no, common, node)
            return Val(common, tuple(self.graph.select(condition, p, q) for p, q in zip(a, b, strict=True)))
        return Choice(condition, yes, no)

    def _origins(self, symbol: Symbol) -> tuple[Location, ...]:
        """The records of the state that a symbol may be, by identity as in Python."""
        if isinstance(symbol, Location) and self._is_record_place(symbol):
            return (dataclasses.replace(symbol, made=len(self.writes)),)
        return symbol.origins if isinstance(symbol, Val) else ()

    def _common_type(self, a: Symbol, b: Symbol) -> Type | None:
        """A type that holds both a collection and another, longer or literal, one."""
        if not isinstance(a, Val):
            return None
        if isinstance(a.type, SetType) and isinstance(b, Display) and b.kind == "set":
            return a.type
        if isinstance(a.type, SeqType):
            return self.common_sequence(a.type, b)
        if isinstance(a.type, BoundedSetType) and isinstance(b, Display) and b.kind == "set":
            return BoundedSetType(a.type.element, max(a.type.capacity, len(b.elements)))
        if isinstance(b, Val) and isinstance(a.type, BagType) and type(a.type) is type(b.type):
            if self.same_type(a.type.element, b.type.element):
                return type(a.type)(a.type.element, max(a.type.capacity, b.type.capacity))
        return None

    def common_sequence(self, type_: SeqType, other: Symbol) -> SeqType | None:
        """The type of sequences as long as `type_` and `other`, of elements of both; None where there is none."""
        if isinstance(other, Display) and other.kind == "tuple":
            numbers = [e.node for e in other.elements if isinstance(e, Num)]
            element: Type = type_.element
            if numbers and len(numbers) == len(other.elements):
                element = RangeType(min(n.lo for n in numbers), max(n.hi for n in numbers), False)
            length = len(other.elements)
        elif isinstance(other, Val) and isinstance(other.type, SeqType):
            element, length = other.type.element, other.type.length
        else:
            return None
        common = self.common_element(type_.element, element)
        return SeqType(common, max(type_.length, length)) if common is not None else None

    def common_element(self, a: Type, b: Type) -> Type | None:
        """The type of a value that may be an `a` or a `b`."""
        if isinstance(a, RangeType) and isinstance(b, RangeType):
            for one, other in ((a, b), (b, a)):
                if one.lo <= other.lo and other.hi <= one.hi:
                    return one
            return RangeType(min(a.lo, b.lo), max(a.hi, b.hi), False)
        for union, variant in ((a, b), (b, a)):
            if isinstance(union, UnionType) and isinstance(variant, RecordType) and variant.cls in union.tags:
                return union
        return a if self.same_type(a, b) else None

    @staticmethod
    def _same_place(a: Location, b: Location) -> bool:
        return a.store is b.store and a.alternatives == b.alternatives and str(a.type) == str(b.type)

    # Converting to a declared type.

    def coerced(self, symbol: Symbol, type_: Type, node: ast.AST) -> tuple[Node, ...]:
        """The leaves of `symbol` as a value of `type_`, with the events of storing it there."""
        symbol = self.value(symbol, node)
        if isinstance(symbol, Choice):
            with self.assuming(symbol.condition):
                yes = self.coerced(symbol.yes, type_, node)
            with self.assuming(self.graph.not_(symbol.condition)):
                no = self.coerced(symbol.no, type_, node)
            return tuple(self.graph.select(symbol.condition, a, b) for a, b in zip(yes, no, strict=True))
        if isinstance(type_, OptionType):
            return self._as_option(symbol, type_, node)
        if (isinstance(symbol, Val) and isinstance(symbol.type, OptionType)) or symbol == NONE:
            symbol = self.unwrapped(symbol, node)
            if symbol == NONE:
                return tuple(self.code(0, leaf.kind, leaf.sort) for _, leaf in type_.leaves)
            return self.coerced(symbol, type_, node)
        if isinstance(type_, RangeType) and isinstance(symbol, Num):
            return (self._in_range(symbol.node, type_, node),)
        if isinstance(type_, BoolType) and isinstance(symbol, Truth):
            return (symbol.node,)
        if isinstance(type_, BoundedSetType) and self.is_set(symbol) and not self._is_alike(symbol, type_):
            return self.bounded_as(symbol, type_, node)
        if isinstance(symbol, Display):
            return self._display_as(symbol, type_, node)
        if isinstance(symbol, Val):
            return self._val_as(symbol, type_, node)
        self.fail(node, f"{self.describe(symbol)} where a {type_} is needed")

    def _as_option(self, symbol: Symbol, type_: OptionType, node: ast.AST) -> tuple[Node, ...]:
        zeros = tuple(self.code(0, leaf.kind, leaf.sort) for _, leaf in type_.leaves)
        if symbol == NONE:
            return zeros
        if isinstance(symbol, Val) and isinstance(symbol.type, OptionType):
            if self.same_type(symbol.type, type_):
                return symbol.nodes
            with self.assuming(self.present(symbol)):
                some = self._as_option(self.inner(symbol), type_, node)
            gone = self.absent(symbol)
            return tuple(self.graph.select(gone, z, s) for z, s in zip(zeros, some, strict=True))
        inner = self.coerced(symbol, type_.inner, node)
        if type_.style is OptionStyle.CODE:
            return (self.graph.add(inner[0], self.graph.integer(1)), *inner[1:])
        return inner if type_.style is OptionStyle.ORDINAL else (self.graph.integer(1), *inner)

    def _in_range(self, number: Node, type_: RangeType, node: ast.AST) -> Node:
        g = self.graph
        if number.lo < type_.lo:
            self.error(g.lt(number, g.integer(type_.lo)), node, f"stored below {type_}")
        if number.hi > type_.hi:
            above = g.lt(g.integer(type_.hi), number)
            if type_.cuts:
                self.event(EventKind.CUT, above, node, f"above {type_}")
            else:
                self.error(above, node, f"stored above {type_}")
        else:
            g.decided.add((number, None))
        return g.sub(number, g.integer(type_.lo))

    def _display_as(self, symbol: Display, type_: Type, node: ast.AST) -> tuple[Node, ...]:
        if isinstance(type_, SetType) and symbol.kind == "set":
            members = self.no_members(type_)
            for element in symbol.elements:
                members = self.united(members, self.set_of_one(type_, self.index(element, type_.element, node)))
            return members
        if isinstance(type_, SeqType) and symbol.kind == "tuple":
            exact = SeqType(type_.element, len(symbol.elements))
            if exact.length > type_.length:  # the length is looked at before the elements
                self.event(EventKind.CUT, self.graph.true, node, f"longer than {type_.length}")
            nodes = [self.graph.integer(len(symbol.elements))]
            for element in symbol.elements:
                nodes += self.coerced(element, type_.element, node)
            return self.seq_as(Val(exact, tuple(nodes)), type_, node)
        self.fail(node, f"{self.describe(symbol)} where a {type_} is needed")

    def _val_as(self, symbol: Val, type_: Type, node: ast.AST) -> tuple[Node, ...]:
        if self.same_type(symbol.type, type_):
            return symbol.nodes
        if isinstance(symbol.type, SeqType) and isinstance(type_, SeqType):
            if self.same_type(symbol.type.element, type_.element):
                return self.seq_as(symbol, type_, node)
            return self._elements_as(symbol, symbol.type, type_, node)
        if isinstance(symbol.type, MapType) and isinstance(type_, MapType):
            if self.same_type(symbol.type.key_type, type_.key_type):
                return self._values_as(symbol, symbol.type, type_, node)
        if isinstance(symbol.type, BagType) and type(symbol.type) is type(type_):
            if self.same_type(symbol.type.element, type_.element):
                return self.bag_as(symbol, type_, node)
        if isinstance(symbol.type, SetType) and isinstance(type_, SetType):
            if isinstance(symbol.type.element, RangeType) and isinstance(type_.element, RangeType):
                return self.numbers_as(symbol.nodes, symbol.type.element, type_, node)
            if self.is_among(symbol.type.element, type_.element):
                return self._members_as(symbol, symbol.type, type_, node)
        if isinstance(symbol.type, RecordType) and isinstance(type_, UnionType) and symbol.type.cls in type_.tags:
            return self.variant_as(symbol, symbol.type, type_)
        if isinstance(symbol.type, UnionType):
            return self._union_as(symbol, symbol.type, type_, node)
        if str(symbol.type) == str(type_):
            self.fail(node, f"{self.describe(symbol)} where one of another instance of its spec is needed",
                      "share the type: instance(..., Value=Value)")  # fmt: skip
        self.fail(node, f"{self.describe(symbol)} where a {type_} is needed")

    def _elements_as(self, symbol: Val, given: SeqType, type_: SeqType, node: ast.AST) -> tuple[Node, ...]:
        """A sequence as one of another element type: each element that is there, as a store of its own."""
        g, w = self.graph, given.element.width
        long_enough = SeqType(type_.element, given.length)
        nodes, length = [symbol.nodes[0]], symbol.nodes[0]
        if given.length > type_.length:  # the length is looked at before the elements
            self.event(EventKind.CUT, g.lt(g.integer(type_.length), length), node, f"longer than {type_.length}")
        for i in range(given.length):
            there = g.lt(g.integer(i), length)
            with self.assuming(there):
                element = self.symbol(given.element, symbol.nodes[1 + i * w : 1 + (i + 1) * w])
                codes = self.coerced(element, type_.element, node)
            nodes += [g.select(there, code, self.code(0, code.kind, code.sort)) for code in codes]
        return self.seq_as(Val(long_enough, tuple(nodes)), type_, node)

    def _values_as(self, symbol: Val, given: MapType, type_: MapType, node: ast.AST) -> tuple[Node, ...]:
        """A map as one of another value type: each value as a store of its own."""
        values = [self.coerced(value, type_.value_type, node) for value in self._map_values(symbol, given)]
        return tuple(code for codes in values for code in codes)

    def _map_values(self, symbol: Val, type_: MapType) -> list[Symbol]:
        w = type_.value_type.width
        parts = [symbol.nodes[start : start + w] for start in range(0, len(symbol.nodes), w)]
        return [self.symbol(type_.value_type, part) for part in parts]

    def _union_as(self, symbol: Val, union: UnionType, type_: Type, node: ast.AST) -> tuple[Node, ...]:
        wanted = type_.tags if isinstance(type_, UnionType) else {getattr(type_, "cls", None): 0}
        result: tuple[Node, ...] | None = None
        fits = self.graph.false
        for i, variant in enumerate(union.variants):
            if variant.cls not in wanted:
                continue
            here = self.graph.eq(symbol.nodes[0], self.graph.integer(i))
            nodes = self.coerced(self.variant(symbol, variant), type_, node)
            fits = self.graph.or_(fits, here)
            if result is None:
                result = nodes
            else:
                result = tuple(self.graph.select(here, a, b) for a, b in zip(nodes, result, strict=True))
        if result is None:
            self.fail(node, f"{self.describe(symbol)} where a {type_} is needed")
        self.error(self.graph.not_(fits), node, f"this is not a value of {type_}")
        return result

    def slot_of(self, type_: BagType, member: Symbol, node: ast.AST) -> list[Node]:
        """The leaves of a slot that holds `member`."""
        codes = self.coerced(member, type_.slot, node)
        return [*([self.graph.integer(1)] if type_.tagged else []), *codes]

    # Numbering members of sets.

    def index(self, symbol: Symbol, element: Type, node: ast.AST) -> Node:
        """The number of a value among those of a numbered type."""
        return self.number_in(element, self.coerced(symbol, element, node))

    @staticmethod
    def is_among(a: Type, b: Type) -> bool:
        """True if `a` is one of the messages that the union `b` is of, or a union of some of them."""
        parts = a.variants if isinstance(a, UnionType) else [a]
        return isinstance(b, UnionType) and all(isinstance(p, RecordType) and p.cls in b.tags for p in parts)

    def _members_as(self, symbol: Val, given: SetType, wanted: SetType, node: ast.AST) -> Words:
        """A set of messages of one kind as a set of messages of several."""
        members = self.no_members(wanted)
        for i, member in enumerate(given.members):
            there = self.has_number(symbol.nodes, self.graph.integer(i))
            one = self.set_of_one(wanted, self.graph.integer(wanted.numbers[member]))
            members = self.united(members, self.if_there(there, one))
        return members

    # Equality.

    def equal(self, a: Symbol, b: Symbol, node: ast.AST) -> Node:
        """The condition that two symbols have the same value."""
        a, b = self.value(a, node), self.value(b, node)
        for x, y in ((a, b), (b, a)):
            if isinstance(x, Choice):
                yes, no = self.equal(x.yes, y, node), self.equal(x.no, y, node)
                return self.graph.select(x.condition, yes, no)
        for x, y in ((a, b), (b, a)):
            if y == NONE:
                if isinstance(x, Val) and isinstance(x.type, OptionType):
                    return self.absent(x)
                return self.graph.boolean(x == NONE)
        if (isinstance(a, Num) and isinstance(b, Num)) or (isinstance(a, Truth) and isinstance(b, Truth)):
            return self.graph.eq(a.node, b.node)
        return self._equal_vals(a, b, node)

    def _equal_vals(self, a: Symbol, b: Symbol, node: ast.AST) -> Node:
        for x, y in ((a, b), (b, a)):
            if isinstance(x, Val) and isinstance(x.type, OptionType) and not self._optional(y):
                # compared with a value of its own type: absent is equal to none of them
                return self.graph.and_(self.present(x), self.equal(self.inner(x), y, node))
        if self.is_set(a) and self.is_set(b) and (self.is_bounded(a) or self.is_bounded(b)):
            return self.graph.and_(self.is_subset(a, b, node), self.is_subset(b, a, node))
        for x, y in ((a, b), (b, a)):
            if isinstance(x, Val) and isinstance(y, Val | Display) and self._fits(y, x.type):
                if isinstance(x.type, BagType):
                    self.fail(node, "bags are compared by their counts", "compare bag.count(...) or len(bag)")
                if isinstance(x.type, SeqType):
                    return self._equal_seqs(x, y, node)
                if isinstance(x.type, MapType) and isinstance(y, Val) and isinstance(y.type, MapType):
                    pairs = zip(self._map_values(x, x.type), self._map_values(y, y.type), strict=True)
                    return self.graph.all_([self.equal(p, q, node) for p, q in pairs])
                if isinstance(x.type, SetType):
                    _, p, q = self.as_sets(x, y, node)
                    return self.is_same(p, q)
                codes = self.coerced(y, x.type, node)
                return self.graph.all_([self.graph.eq(p, q) for p, q in zip(x.nodes, codes, strict=True)])
        if isinstance(a, Display) and isinstance(b, Display) and not a.elements and not b.elements:
            return self.graph.true
        self.fail(
            node, f"{self.describe(a)} and {self.describe(b)} can never be equal", "compare values of the same type"
        )

    def _equal_seqs(self, a: Val, b: Val | Display, node: ast.AST) -> Node:
        assert isinstance(a.type, SeqType)
        common = self.common_sequence(a.type, b)
        assert common is not None, "it fits"
        pairs = zip(self.coerced(a, common, node), self.coerced(b, common, node), strict=True)
        return self.graph.all_([self.graph.eq(p, q) for p, q in pairs])

    def _fits(self, symbol: Val | Display, type_: Type) -> bool:
        if isinstance(symbol, Display):
            return isinstance(type_, SetType if symbol.kind == "set" else SeqType)
        if self.same_type(symbol.type, type_):
            return True
        if isinstance(symbol.type, SeqType) and isinstance(type_, SeqType):
            return self.common_sequence(type_, symbol) is not None
        if isinstance(symbol.type, OptionType) and isinstance(type_, OptionType):
            return True
        if isinstance(symbol.type, MapType) and isinstance(type_, MapType):
            return self.same_type(symbol.type.key_type, type_.key_type)
        if isinstance(symbol.type, SetType) and isinstance(type_, SetType):
            a, b = symbol.type.element, type_.element
            return (isinstance(a, RangeType) and isinstance(b, RangeType)) or self.is_among(a, b)
        return isinstance(type_, UnionType) and isinstance(symbol.type, RecordType) and symbol.type.cls in type_.tags

    def _is_alike(self, symbol: Symbol, type_: BoundedSetType) -> bool:
        """True if it is a set with a bound, maybe another one, of the same elements."""
        if not isinstance(symbol, Val) or not isinstance(symbol.type, BoundedSetType):
            return False
        return self.same_type(symbol.type.element, type_.element)

    @staticmethod
    def is_bounded(symbol: Symbol) -> bool:
        return isinstance(symbol, Val) and isinstance(symbol.type, BoundedSetType)

    @staticmethod
    def _optional(symbol: Symbol) -> bool:
        return isinstance(symbol, Val) and isinstance(symbol.type, OptionType)

    def state_place(self, store: Store, type_: RecordType, writable: bool) -> Location:
        return Location(store, type_, ((self.graph.true, 0),), (), 0, writable)
