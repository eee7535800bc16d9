"""Sets, sequences, bags and finite domains: their elements, size and membership."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator, Sequence
from typing import Any

from checker.lang.frontend.codes import NONE
from checker.lang.frontend.numbering import Words
from checker.lang.frontend.places import Places
from checker.lang.frontend.symbols import Choice, Display, Location, Num, Static, Symbol, Val
from checker.lang.ir import Node, Op, reachable
from checker.lang.types import (
    MAX_MEMBERS,
    BagType,
    BoundedSetType,
    EnumType,
    IdentityType,
    MapType,
    OptionType,
    RangeType,
    RecordType,
    SeqType,
    SetType,
    Type,
    UnionType,
)
from checker.lang.values import Identity

Element = tuple[Node, Symbol]  # (whether it is there, what it is)


class Collections(Places):
    """Computes with collections whose members may or may not be there."""

    def as_sequence(self, symbol: Symbol, node: ast.expr) -> Val:
        """A symbol as a sequence. A literal takes the type of its first element."""
        symbol = self.unwrapped(symbol, node)
        if isinstance(symbol, Val) and isinstance(symbol.type, SeqType):
            return symbol
        if isinstance(symbol, Display) and symbol.kind == "tuple" and symbol.elements:
            type_ = SeqType(self._element_type(symbol, node), len(symbol.elements))
            return Val(type_, self.coerced(symbol, type_, node))
        self.fail(node, f"{self.describe(symbol)} is not a sequence")

    def _element_type(self, symbol: Display, node: ast.expr) -> Any:
        first = self.value(symbol.elements[0], node)
        if isinstance(first, Num):
            numbers = [e.node for e in symbol.elements if isinstance(e, Num)]
            return RangeType(min(n.lo for n in numbers), max(n.hi for n in numbers), False)
        if isinstance(first, Val):
            return first.type
        self.fail(node, f"a sequence of {self.describe(first)}", "name its type: log: Log = (...)")

    def _place_in(self, sequence: Val, index: Node) -> tuple[Node, ...]:
        assert isinstance(sequence.type, SeqType)
        w = sequence.type.element.width
        if sequence.type.length == 0:
            return tuple(self.code(0, leaf.kind, leaf.sort) for _, leaf in sequence.type.element.leaves)
        result = list(sequence.nodes[1 : 1 + w])
        for i in range(1, sequence.type.length):
            here = self.graph.eq(index, self.graph.integer(i))
            part = sequence.nodes[1 + i * w : 1 + (i + 1) * w]
            result = [self.graph.select(here, a, b) for a, b in zip(part, result, strict=True)]
        return tuple(result)

    def _zero(self, node: Node) -> Node:
        return self.code(0, node.kind, node.sort)

    def appended(self, sequence: Val, there: Node, element: Symbol, node: ast.AST) -> Val:
        """A sequence of the same type with `element` at its end where `there` holds (there must be room)."""
        assert isinstance(sequence.type, SeqType)
        g, w = self.graph, sequence.type.element.width
        if there is g.false:
            return sequence
        new = self.coerced(element, sequence.type.element, node)
        nodes, length = list(sequence.nodes), sequence.nodes[0]
        for i in range(sequence.type.length):
            here = g.and_(there, g.eq(length, g.integer(i)))
            for j in range(w):
                at = 1 + i * w + j
                nodes[at] = g.select(here, new[j], nodes[at])
        longer = g.select(there, g.add(length, g.integer(1)), length)
        nodes[0] = self.at_most(longer, sequence.type.length)
        return Val(sequence.type, tuple(nodes))

    def concatenated(self, a: Symbol, b: Symbol, node: ast.BinOp) -> Symbol:
        """Two sequences, one after the other, in a type long enough for both."""
        if isinstance(a, Display) and isinstance(b, Display):
            return Display("tuple", (*a.elements, *b.elements))
        if isinstance(a, Display):
            held, a = self._element_of_both(self.as_sequence(b, node.right), a, node)
        else:
            held, b = self._element_of_both(self.as_sequence(a, node.left), b, node)
        first, second = self.as_sequence(a, node.left), self.as_sequence(b, node.right)
        assert isinstance(first.type, SeqType) and isinstance(second.type, SeqType)
        type_ = SeqType(held, first.type.length + second.type.length)
        result = Val(type_, self.coerced(first, type_, node))
        for there, element in self.elements(second, node):
            result = self.appended(result, there, element, node)
        return result

    def _element_of_both(self, sequence: Val, other: Symbol, node: ast.expr) -> tuple[Type, Symbol]:
        """(the type of elements of both, the other sequence of these)."""
        assert isinstance(sequence.type, SeqType)
        if not isinstance(other, Display):
            other = self.as_sequence(other, node)
        common = self.common_sequence(sequence.type, other)
        element = common.element if common is not None else sequence.type.element
        if isinstance(other, Display):
            exact = SeqType(element, len(other.elements))
            other = Val(exact, self.coerced(other, exact, node))
        return element, other

    def elements(self, symbol: Symbol, node: ast.AST) -> list[Element]:
        """The elements of a finite domain or a collection, each with the condition that it is there."""
        if isinstance(symbol, Static):
            return self._domain(symbol.value, node)
        if not (isinstance(symbol, Location) and isinstance(symbol.type, MapType)):
            symbol = self.unwrapped(symbol, node)
        if isinstance(symbol, Display):
            return self._literal(symbol, node)
        if isinstance(symbol, Val | Location):
            return list(self._members(symbol, node))
        self.fail(node, f"{self.describe(symbol)} cannot be looped over", "use a finite type, a set, sequence or bag")

    def _literal(self, symbol: Display, node: ast.AST) -> list[Element]:
        """The elements of a literal; those of a set that are equal are one."""
        elements = [(self.graph.true, element) for element in symbol.elements]
        return self.distinct(elements, node) if symbol.kind == "set" else elements

    def distinct(self, elements: Sequence[Element], node: ast.AST) -> list[Element]:
        """The elements without duplicates: of equal ones, only the first."""
        g = self.graph
        found: list[Element] = []
        for i, (there, element) in enumerate(elements):
            alike = [(earlier, e) for earlier, e in elements[:i] if not self._are_of_two_kinds(element, e)]
            again = [g.and_(earlier, self.equal(element, e, node)) for earlier, e in alike]
            found.append((g.and_(there, g.not_(g.any_(again))), element))
        return found

    @staticmethod
    def _are_of_two_kinds(a: Symbol, b: Symbol) -> bool:
        """True if two values are messages of different classes."""
        types = [s.type for s in (a, b) if isinstance(s, Val)]
        records = [t for t in types if isinstance(t, RecordType)]
        return len(records) == 2 and records[0].cls is not records[1].cls

    def _domain(self, value: Any, node: ast.AST) -> list[Element]:
        true = self.graph.true
        if isinstance(value, type) and issubclass(value, Identity):
            type_ = IdentityType(value)
            return [(true, self.literal(type_, member)) for member in type_.domain()]
        if isinstance(value, type) and issubclass(value, enum.Enum):
            enum_type = EnumType(value)
            return [(true, self.literal(enum_type, member)) for member in enum_type.domain()]
        self.fail(node, f"{getattr(value, '__name__', value)} has no finite list of values",
                  "loop over an identity, an enum, a set, sequence or bag")  # fmt: skip

    def _members(self, symbol: Val | Location, node: ast.AST) -> Iterator[Element]:
        g, type_ = self.graph, symbol.type
        if isinstance(type_, MapType):
            for key in type_.keys:
                yield g.true, self.literal(type_.key_type, key)
            return
        assert isinstance(symbol, Val)
        if isinstance(type_, SeqType | BagType):
            self._go_through(symbol, node)
        if isinstance(type_, SetType):
            for i, member in enumerate(type_.members):
                yield self.has_number(symbol.nodes, g.integer(i)), self.literal(type_.element, member)
        elif isinstance(type_, SeqType):
            w = type_.element.width
            for i in range(type_.length):
                part = symbol.nodes[1 + i * w : 1 + (i + 1) * w]
                yield g.lt(g.integer(i), symbol.nodes[0]), self.symbol(type_.element, part)
        elif isinstance(type_, BagType):
            w = type_.slot_width
            for start in range(0, len(symbol.nodes), w):
                slot = symbol.nodes[start + int(type_.tagged) : start + w]
                there = g.not_(g.eq(symbol.nodes[start], g.integer(0)))
                yield there, self.inner(Val(type_.slot, slot))
        else:
            self.fail(node, f"a {type_} cannot be looped over", "use a finite type, a set, sequence or bag")

    def _go_through(self, symbol: Val, node: ast.AST) -> None:
        """Note that the nodes made now depend on a collection's capacity."""
        if all(n.op is Op.LEAF for n in symbol.nodes) and isinstance(symbol.type, BagType):
            if id(node) in self.quantifying:
                self.gone_through.append((id(node), frozenset(n.data for n in symbol.nodes)))
                return
        self.count_members(symbol)

    def count_members(self, symbol: Val) -> None:
        """Note that the nodes made now depend on all the members of a collection together."""
        if isinstance(symbol.type, SeqType):
            self.graph.decided.add((symbol.nodes[0], None))
        else:
            self.graph.counted.update(n.data for n in reachable(symbol.nodes) if n.op is Op.LEAF)

    def quantified(self, some: Node, sources: set[int], since: int) -> Node:
        """`some`, the condition that a member qualifies; marked as quantified if a source (ids of syntax) is a bag.

        since: how many bags were gone through before.
        """
        inside = self.gone_through[since:]
        if any(place in sources for place, _ in inside):
            leaves = frozenset[int]().union(*[found for _, found in inside])
            depth = len({place for place, _ in inside})
            self.graph.quantified.add((leaves, depth))
            if some.op is not Op.CONST:
                self.graph.quantifiers[some.serial] = max(depth, self.graph.quantifiers.get(some.serial, 0))
        return some

    def length(self, symbol: Symbol, node: ast.AST) -> Node:
        """The number of members of a collection."""
        if isinstance(symbol, Val) and isinstance(symbol.type, SetType):
            return self.member_count(symbol.type, symbol.nodes)
        if isinstance(symbol, Val) and isinstance(symbol.type, SeqType):
            return symbol.nodes[0]
        total = self.graph.integer(0)
        for there, _ in self.elements(symbol, node):
            one = self.graph.select(there, self.graph.integer(1), self.graph.integer(0))
            total = self.graph.add(total, one)
        return total

    @staticmethod
    def _is_sequence(symbol: Symbol) -> bool:
        if isinstance(symbol, Display):
            return symbol.kind == "tuple"
        return isinstance(symbol, Val) and isinstance(symbol.type, SeqType)

    @staticmethod
    def is_set(symbol: Symbol) -> bool:
        if isinstance(symbol, Display):
            return symbol.kind == "set"
        if isinstance(symbol, Choice):
            return Collections.is_set(symbol.yes) or Collections.is_set(symbol.no)
        return isinstance(symbol, Val) and isinstance(symbol.type, SetType | BoundedSetType)

    def as_sets(self, a: Symbol, b: Symbol, node: ast.AST) -> tuple[SetType, Words, Words]:
        """Two sets of one type: a literal takes the type of the other."""
        types = [s.type for s in (a, b) if isinstance(s, Val) and isinstance(s.type, SetType)]
        literal = [e for s in (a, b) for e in self._literal_elements(s)]
        if literal and (not types or isinstance(types[0].element, RangeType)):
            types.append(self.set_of(literal, node))
        if not types:
            self.fail(node, "sets whose type is not known here", "name the type: members: Set[Broker] = frozenset()")
        type_ = types[0]
        ranges = [t.element for t in types if isinstance(t.element, RangeType)]
        if ranges:
            type_ = self._number_set(min(r.lo for r in ranges), max(r.hi for r in ranges), node)
        if len(types) > 1 and self.is_among(type_.element, types[1].element):
            type_ = types[1]
        return type_, self.coerced(a, type_, node), self.coerced(b, type_, node)

    def set_of(self, members: Sequence[Symbol], node: ast.AST) -> SetType:
        """The type of a set of these members. Raises SpecError where it has none."""
        found = [self.unwrapped(m, node) for m in members]
        element = self.member_type(found, node)
        if isinstance(element, RangeType):
            return self._number_set(element.lo, element.hi, node)
        if element is None or element.count is None:
            self.fail(node, f"a set of {self.describe(found[0])}", "sets hold identities, enums, numbers and messages")
        if element.count > MAX_MEMBERS:
            self.fail(node, f"a set over {element.count} possible members, and at most {MAX_MEMBERS} fit",
                      "shrink the constants, or put fewer fields into it")  # fmt: skip
        return SetType(element)

    def member_type(self, members: Sequence[Symbol], node: ast.AST) -> Type | None:
        """The type that the members of a set have: of messages of several kinds, their union."""
        numbers = [m.node for m in members if isinstance(m, Num)]
        if numbers and len(numbers) == len(members):
            return RangeType(min(n.lo for n in numbers), max(n.hi for n in numbers), False)
        types = [m.type for symbol in members for m in self._alternatives_of(symbol) if isinstance(m, Val)]
        records = {t.cls: t for t in types if isinstance(t, RecordType)}
        if len(records) > 1 and len(types) == len([t for t in types if isinstance(t, RecordType)]):
            return UnionType(list(records.values()))
        if members and not types and isinstance(members[0], Display) and members[0].kind == "set":
            inner = [e for m in members for e in self._literal_elements(m)]
            return self.set_of(inner, node) if inner else None
        return next((t for t in types if isinstance(t, UnionType)), types[0] if types else None)

    def _alternatives_of(self, symbol: Symbol) -> Iterator[Symbol]:
        """The alternatives of a symbol: all those of a choice, else the symbol itself."""
        if isinstance(symbol, Choice):
            yield from self._alternatives_of(symbol.yes)
            yield from self._alternatives_of(symbol.no)
        else:
            yield symbol

    def _number_set(self, lo: int, hi: int, node: ast.AST) -> SetType:
        if hi - lo >= MAX_MEMBERS:
            self.fail(node, f"a set of numbers from {lo} to {hi}", f"at most {MAX_MEMBERS} different ones fit a set")
        return SetType(RangeType(lo, hi, False))

    def _literal_elements(self, symbol: Symbol) -> tuple[Symbol, ...]:
        if isinstance(symbol, Choice):
            return (*self._literal_elements(symbol.yes), *self._literal_elements(symbol.no))
        return symbol.elements if isinstance(symbol, Display) else ()

    def contains(self, collection: Symbol, member: Symbol, node: ast.AST) -> Node:
        """The condition that `member` is in `collection`."""
        g = self.graph
        if isinstance(collection, Location) and isinstance(collection.type, MapType):
            self.fail(node, "a map has every key", "ask for its value")
        if isinstance(collection, Static):
            self.fail(node, f"{self.describe(collection)} is not a set, sequence or bag", "ask a tuple or frozenset")
        collection = self.unwrapped(collection, node)
        if isinstance(collection, Choice):
            yes, no = self.contains(collection.yes, member, node), self.contains(collection.no, member, node)
            return g.select(collection.condition, yes, no)
        member = self.value(member, node)
        if isinstance(collection, Display):
            literals = [self.value(e, node) for e in collection.elements]
            if any(e == NONE or (isinstance(e, Val) and isinstance(e.type, OptionType)) for e in literals):
                return g.any_([self.equal(e, member, node) for e in literals])
        if isinstance(member, Choice) or (isinstance(member, Val) and isinstance(member.type, OptionType)):
            return self._contains_optional(collection, member, node)
        if member == NONE:
            return g.false
        if isinstance(collection, Val) and isinstance(collection.type, SetType):
            return self._has(collection, collection.type, member, node)
        self.quantifying.add(id(node))
        since = len(self.gone_through)
        members = [g.and_(there, self.equal(e, member, node)) for there, e in self.elements(collection, node)]
        return self.quantified(g.any_(members), {id(node)}, since)

    def _contains_optional(self, collection: Symbol, member: Symbol, node: ast.AST) -> Node:
        """Membership of an option or a choice, where no member can be None."""
        if isinstance(member, Choice):
            yes, no = self.contains(collection, member.yes, node), self.contains(collection, member.no, node)
            return self.graph.select(member.condition, yes, no)
        assert isinstance(member, Val)
        present = self.present(member)
        if self.facts.of(present) is False:
            return self.graph.false
        with self.assuming(present):
            inside = self.contains(collection, self.inner(member), node)
        return self.graph.and_(present, inside)

    def _has(self, collection: Val, type_: SetType, member: Symbol, node: ast.AST) -> Node:
        g, element = self.graph, type_.element
        if isinstance(element, RangeType) and isinstance(member, Num):
            below = g.lt(member.node, g.integer(element.lo))
            above = g.lt(g.integer(element.hi), member.node)
            inside = g.not_(g.or_(below, above))
            code = g.sub(member.node, g.integer(element.lo))
            return g.and_(inside, self.has_number(collection.nodes, g.select(inside, code, g.integer(0))))
        return self.has_number(collection.nodes, self.index(member, element, node))
