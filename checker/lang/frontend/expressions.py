"""Expressions of a spec, evaluated symbolically."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator
from typing import Any

from checker.lang.declare import MARK, ConstantsInfo
from checker.lang.frontend.conversion import NONE, Conversion
from checker.lang.frontend.symbols import Choice, Display, Location, Num, Static, Step, Symbol, Truth, Val
from checker.lang.ir import Node
from checker.lang.types import (
    BagType,
    IdentityType,
    MapType,
    OptionType,
    OrdinalType,
    RangeType,
    RecordType,
    Scalar,
    SeqType,
    SetType,
    UnionType,
    universe,
)
from checker.lang.values import Identity

Element = tuple[Node, Symbol]  # (whether it is there, what it is)


class Expressions(Conversion):
    """Evaluates expressions. `call` is left to the subclass that knows functions."""

    def call(self, node: ast.Call) -> Symbol:
        raise NotImplementedError

    def expression(self, node: ast.expr) -> Symbol:
        """The symbol of an expression, with the events of evaluating it."""
        method: Callable[[Any], Symbol] | None = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            self.fail(node, "this cannot stand here")
        return method(node)

    def truth(self, node: ast.expr) -> Node:
        """The condition that an expression states."""
        return self.as_truth(self.expression(node), node)

    def as_truth(self, symbol: Symbol, node: ast.expr) -> Node:
        symbol = self.value(symbol, node)
        if isinstance(symbol, Truth):
            return symbol.node
        if isinstance(symbol, Choice):
            yes, no = self.as_truth(symbol.yes, node), self.as_truth(symbol.no, node)
            return self.graph.select(symbol.condition, yes, no)
        if isinstance(symbol, Display):
            return self.graph.boolean(bool(symbol.elements))
        if isinstance(symbol, Val) and isinstance(symbol.type, SetType):
            return self.graph.not_(self.graph.eq(symbol.nodes[0], self.graph.mask(0)))
        if isinstance(symbol, Val) and isinstance(symbol.type, SeqType | BagType):
            return self.graph.not_(self.graph.eq(self.length(symbol, node), self.graph.integer(0)))
        self.fail(
            node, f"{self.describe(symbol)} is neither true nor false",
            "say what is meant: `is not None`, `!= 0`, `len(...) > 0`",
        )  # fmt: skip

    def number(self, node: ast.expr) -> Node:
        return self.as_number(self.expression(node), node)

    def as_number(self, symbol: Symbol, node: ast.expr) -> Node:
        symbol = self.unwrapped(symbol, node)
        if isinstance(symbol, Num):
            return symbol.node
        if symbol == NONE:
            return self.graph.integer(0)
        if isinstance(symbol, Val) and isinstance(symbol.type, OrdinalType):
            self.fail(
                node, f"arithmetic on {symbol.type}, of which only order and freshness matter",
                "use ==, < and fresh(...); where a distance matters, keep a Nat that saturates",
            )  # fmt: skip
        self.fail(node, f"{self.describe(symbol)} where an integer is needed")

    # Names and constants.

    def _constant(self, node: ast.Constant) -> Symbol:
        return NONE if node.value is None else self.lift(node.value, node)

    def _name(self, node: ast.Name) -> Symbol:
        if node.id in self.frame.locals:
            return self.frame.locals[node.id]
        names = self.frame.function.globals
        if node.id in names:
            return self.lift(names[node.id], node)
        if node.id in self.frame.function.code.co_varnames:
            self.fail(node, f"{node.id} has no value on some path to here", "assign it before the branches")
        if hasattr(builtins, node.id):
            return Static(getattr(builtins, node.id))
        self.fail(node, f"{node.id} is not defined", "import it, or assign it first")

    def _attribute(self, node: ast.Attribute) -> Symbol:
        return self.attribute(self.expression(node.value), node.attr, node)

    def attribute(self, holder: Symbol, name: str, node: ast.expr) -> Symbol:
        if isinstance(holder, Static) and holder != NONE:
            return self._static_attribute(holder.value, name, node)
        holder = self.unwrapped(holder, node)
        if isinstance(holder, Location):
            return self.field(holder, name, node)
        if isinstance(holder, Choice):
            yes, no = self.attribute(holder.yes, name, node), self.attribute(holder.no, name, node)
            return self.joined(holder.condition, yes, no, node)
        if isinstance(holder, Val) and isinstance(holder.type, UnionType):
            return self._union_attribute(holder, holder.type, name, node)
        if isinstance(holder, Val) and isinstance(holder.type, RecordType):
            return self._record_attribute(holder, holder.type, name, node)
        if isinstance(holder, Val) and isinstance(holder.type, IdentityType) and name == "index":
            self.fail(node, f"the number of a {holder.type}, which is a name without order", "compare with ==")
        self.fail(node, f"{self.describe(holder)} has no field {name}")

    def _static_attribute(self, holder: Any, name: str, node: ast.expr) -> Symbol:
        info = holder.__dict__.get(MARK) if isinstance(holder, type) else None
        if isinstance(info, ConstantsInfo) and name not in info.defaults:
            self.fail(node, f"{holder.__name__} has no constant {name}", f"it has {', '.join(info.defaults)}")
        if not hasattr(holder, name):
            self.fail(node, f"{getattr(holder, '__name__', holder)} has no {name}")
        return self.lift(getattr(holder, name), node)

    def _record_attribute(self, holder: Val, type_: RecordType, name: str, node: ast.expr) -> Symbol:
        if name not in type_.fields:
            self.fail(node, f"{type_} has no field {name}", f"it has {', '.join(type_.fields)}")
        start, inner = type_.offsets[name], type_.fields[name]
        return self.symbol(inner, holder.nodes[start : start + inner.width])

    def _union_attribute(self, holder: Val, union: UnionType, name: str, node: ast.expr) -> Symbol:
        """A field of whichever variant it is; a violation where that variant has no such field."""
        having = [v for v in union.variants if name in v.fields]
        if not having:
            self.fail(node, f"no variant of {union} has a field {name}")
        result: Symbol | None = None
        fits = self.graph.false
        for variant in having:
            here = self.graph.eq(holder.nodes[0], self.graph.integer(union.tags[variant.cls]))
            if self.facts.of(here) is False:
                continue
            found = self._record_attribute(self.variant(holder, variant), variant, name, node)
            if self.facts.of(here) is True:
                return found
            fits = self.graph.or_(fits, here)
            result = found if result is None else self.joined(here, found, result, node)
        self.error(self.graph.not_(fits), node, f"this variant has no field {name}")
        if result is None:
            result = self._record_attribute(self.variant(holder, having[0]), having[0], name, node)
        return result

    # Places.

    def field(self, place: Location, name: str, node: ast.AST) -> Symbol:
        """What a field of a record in the state is: a place if it can be changed in place, else its value."""
        if not isinstance(place.type, RecordType):
            self.fail(node, f"a {place.type} has no field {name}")
        if name not in place.type.fields:
            self.fail(node, f"{place.type} has no field {name}", f"it has {', '.join(place.type.fields)}")
        self.check_alive(place, node)
        return self._reached(self.field_place(place, name), node)

    def field_place(self, place: Location, name: str) -> Location:
        assert isinstance(place.type, RecordType)
        offset = place.type.offsets[name]
        alternatives = tuple((c, start + offset) for c, start in place.alternatives)
        way = (*place.way, Step(field=name))
        return Location(place.store, place.type.fields[name], alternatives, way, len(self.wholes), place.writable)

    def _reached(self, place: Location, node: ast.AST) -> Symbol:
        if self._is_record_place(place) and not self._is_frozen(place):
            return place
        return self.symbol(place.type, self.loaded(place, node))

    @staticmethod
    def _is_frozen(place: Location) -> bool:
        inner = place.type.inner if isinstance(place.type, OptionType) else place.type
        return isinstance(inner, RecordType) and inner.frozen

    def key_place(self, place: Location, key: Symbol, node: ast.AST) -> Location:
        """The place of one key's value in a map of the state."""
        assert isinstance(place.type, MapType)
        self.check_alive(place, node)
        code = self.key_code(key, place.type, node)
        width = place.type.value_type.width
        alternatives = []
        for i in range(len(place.type.keys)):
            here = self.graph.eq(code, self.code(i, code.kind))
            if self.facts.of(here) is False:
                continue
            alternatives += [
                (self.graph.and_(condition, here), start + i * width) for condition, start in place.alternatives
            ]
        way = (*place.way, Step(key=(code,)))
        found = tuple(a for a in alternatives if a[0] is not self.graph.false) or tuple(alternatives[:1])
        found = found or place.alternatives  # every key is excluded: an event said so
        return Location(place.store, place.type.value_type, found, way, len(self.wholes), place.writable)

    def key_code(self, key: Symbol, type_: MapType, node: ast.AST) -> Node:
        """The number of a key; a violation where it is none of the map's."""
        key = self.unwrapped(key, node)
        if isinstance(type_.key_type, RangeType) and isinstance(key, Num):
            code = self.graph.sub(key.node, self.graph.integer(type_.key_type.lo))
            outside = self.graph.or_(
                self.graph.lt(code, self.graph.integer(0)),
                self.graph.not_(self.graph.lt(code, self.graph.integer(type_.key_type.size))),
            )
            self.error(outside, node, f"no key of {type_}")
            return code
        if key == NONE:
            return self.graph.integer(0)
        return self.coerced(key, type_.key_type, node)[0]

    def _subscript(self, node: ast.Subscript) -> Symbol:
        holder = self.expression(node.value)
        if not isinstance(holder, Location):
            holder = self.unwrapped(holder, node.value)
        if isinstance(holder, Static):
            self.fail(node, f"{self.describe(holder)} cannot be indexed")
        if isinstance(node.slice, ast.Slice):
            return self._sliced(self.as_sequence(holder, node.value), node.slice)
        if isinstance(holder, Location) and isinstance(holder.type, MapType):
            return self._reached(self.key_place(holder, self.expression(node.slice), node), node)
        holder = self.value(holder, node)
        if isinstance(holder, Val) and isinstance(holder.type, MapType):
            return self._map_value(holder, holder.type, self.expression(node.slice), node)
        if isinstance(holder, Choice):
            self.fail(node, "one of two values of different types is indexed", "give both branches one type")
        return self._element(self.as_sequence(holder, node.value), node)

    def _map_value(self, holder: Val, type_: MapType, key: Symbol, node: ast.AST) -> Symbol:
        code = self.key_code(key, type_, node)
        width = type_.value_type.width
        result = list(holder.nodes[:width])
        for i in range(1, len(type_.keys)):
            here = self.graph.eq(code, self.code(i, code.kind))
            part = holder.nodes[i * width : (i + 1) * width]
            result = [self.graph.select(here, a, b) for a, b in zip(part, result, strict=True)]
        return self.symbol(type_.value_type, tuple(result))

    # Sequences.

    def as_sequence(self, symbol: Symbol, node: ast.expr) -> Val:
        """A symbol as a sequence. A literal takes the type of its first element."""
        symbol = self.unwrapped(symbol, node)
        if isinstance(symbol, Val) and isinstance(symbol.type, SeqType):
            return symbol
        if isinstance(symbol, Display) and symbol.kind == "tuple" and symbol.elements:
            type_ = SeqType(self._element_type(symbol, node), len(symbol.elements))
            return Val(type_, self.coerced(symbol, type_, node))
        self.fail(node, f"{self.describe(symbol)} is no sequence")

    def _element_type(self, symbol: Display, node: ast.expr) -> Any:
        first = self.value(symbol.elements[0], node)
        if isinstance(first, Num):
            numbers = [e.node for e in symbol.elements if isinstance(e, Num)]
            return RangeType(min(n.lo for n in numbers), max(n.hi for n in numbers), False)
        if isinstance(first, Val):
            return first.type
        self.fail(node, f"a sequence of {self.describe(first)}", "name its type: log: Log = (...)")

    def _element(self, sequence: Val, node: ast.Subscript) -> Symbol:
        assert isinstance(sequence.type, SeqType) and isinstance(node.slice, ast.expr)
        g, length = self.graph, sequence.nodes[0]
        index = self._from_end(self.number(node.slice), length)
        outside = g.or_(g.lt(index, g.integer(0)), g.not_(g.lt(index, length)))
        self.error(outside, node, "an index outside the sequence")
        return self.symbol(sequence.type.element, self._place_in(sequence, index))

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

    def _sliced(self, sequence: Val, node: ast.Slice) -> Val:
        assert isinstance(sequence.type, SeqType)
        if node.step is not None:
            self.fail(node.step, "a slice with a step", "take the elements one by one")
        length = sequence.nodes[0]
        low = self._bound(node.lower, self.graph.integer(0), length)
        high = self._bound(node.upper, length, length)
        result = Val(sequence.type, (self.graph.integer(0), *[self._zero(n) for n in sequence.nodes[1:]]))
        for i, (there, element) in enumerate(self.elements(sequence, node)):
            inside = self.graph.not_(self.graph.lt(self.graph.integer(i), low))
            inside = self.graph.and_(inside, self.graph.lt(self.graph.integer(i), high))
            result = self.appended(result, self.graph.and_(there, inside), element, node)
        return result

    def _zero(self, node: Node) -> Node:
        return self.code(0, node.kind, node.sort)

    def _bound(self, node: ast.expr | None, default: Node, length: Node) -> Node:
        if node is None:
            return default
        return self._from_end(self.number(node), length)

    def _from_end(self, index: Node, length: Node) -> Node:
        """An index or bound as Python has it: a negative one counts from the end."""
        if index.lo >= 0:
            return index
        negative = self.graph.lt(index, self.graph.integer(0))
        return self.graph.select(negative, self.graph.add(length, index), index)

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

    def concatenated(self, a: Symbol, b: Symbol, node: ast.BinOp) -> Val:
        """Two sequences, one after the other, in a type long enough for both."""
        if isinstance(a, Display) and isinstance(b, Val) and isinstance(b.type, SeqType):
            head = SeqType(b.type.element, len(a.elements))
            first = Val(head, self.coerced(a, head, node))
        else:
            first = self.as_sequence(a, node.left)
        assert isinstance(first.type, SeqType)
        if isinstance(b, Display):
            exact = SeqType(first.type.element, len(b.elements))
            b = Val(exact, self.coerced(b, exact, node))
        second = self.as_sequence(b, node.right)
        assert isinstance(second.type, SeqType)
        type_ = SeqType(first.type.element, first.type.length + second.type.length)
        result = Val(type_, self.coerced(first, type_, node))
        for there, element in self.elements(second, node):
            result = self.appended(result, there, element, node)
        return result

    # What can be looped over.

    def elements(self, symbol: Symbol, node: ast.AST) -> list[Element]:
        """The elements of a finite domain or a collection, each with the condition that it is there."""
        if isinstance(symbol, Static):
            return self._domain(symbol.value, node)
        if not (isinstance(symbol, Location) and isinstance(symbol.type, MapType)):
            symbol = self.unwrapped(symbol, node)
        if isinstance(symbol, Display):
            return [(self.graph.true, e) for e in symbol.elements]
        if isinstance(symbol, Val | Location):
            return list(self._members(symbol, node))
        self.fail(node, f"{self.describe(symbol)} cannot be looped over", "use a finite type, a set, sequence or bag")

    def _domain(self, value: Any, node: ast.AST) -> list[Element]:
        import enum

        from checker.lang.types import EnumType

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
        if isinstance(type_, SetType):
            for i, member in enumerate(universe(type_.element)):
                yield g.has(symbol.nodes[0], g.integer(i)), self.literal(type_.element, member)
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

    def map_values(self, holder: Symbol, node: ast.AST) -> list[tuple[Symbol, Symbol]]:
        """(key, value) of every key of a map."""
        if isinstance(holder, Location) and isinstance(holder.type, MapType):
            keys = [self.literal(holder.type.key_type, k) for k in holder.type.keys]
            return [(k, self._reached(self.key_place(holder, k, node), node)) for k in keys]
        if isinstance(holder, Val) and isinstance(holder.type, MapType):
            keys = [self.literal(holder.type.key_type, k) for k in holder.type.keys]
            return [(k, self._map_value(holder, holder.type, k, node)) for k in keys]
        self.fail(node, f"{self.describe(holder)} is no map")

    def length(self, symbol: Symbol, node: ast.AST) -> Node:
        """How many members a collection has."""
        if isinstance(symbol, Val) and isinstance(symbol.type, SetType):
            return self.graph.count(symbol.nodes[0], symbol.type.size)
        if isinstance(symbol, Val) and isinstance(symbol.type, SeqType):
            return symbol.nodes[0]
        total = self.graph.integer(0)
        for there, _ in self.elements(symbol, node):
            one = self.graph.select(there, self.graph.integer(1), self.graph.integer(0))
            total = self.graph.add(total, one)
        return total

    # Operators.

    def _boolop(self, node: ast.BoolOp) -> Symbol:
        conjunction = isinstance(node.op, ast.And)
        result = self.truth(node.values[0])
        for part in node.values[1:]:
            goes_on = result if conjunction else self.graph.not_(result)
            if self.facts.of(goes_on) is False:
                break
            with self.assuming(goes_on):
                right = self.truth(part)
            result = self.graph.and_(result, right) if conjunction else self.graph.or_(result, right)
        return Truth(result)

    def _unaryop(self, node: ast.UnaryOp) -> Symbol:
        if isinstance(node.op, ast.Not):
            return Truth(self.graph.not_(self.truth(node.operand)))
        return Num(self.graph.sub(self.graph.integer(0), self.number(node.operand)))

    def _ifexp(self, node: ast.IfExp) -> Symbol:
        condition = self.truth(node.test)
        known = self.facts.of(condition)
        if known is not None:
            return self.expression(node.body if known else node.orelse)
        with self.assuming(condition):
            yes = self.expression(node.body)
        with self.assuming(self.graph.not_(condition)):
            no = self.expression(node.orelse)
        return self.joined(condition, yes, no, node)

    def _binop(self, node: ast.BinOp) -> Symbol:
        left, right = self.expression(node.left), self.expression(node.right)
        return self.binary(left, node.op, right, node)

    def binary(self, a: Symbol, op: ast.operator, b: Symbol, node: Any) -> Symbol:
        left, right = getattr(node, "left", node), getattr(node, "right", node)
        a, b = self.unwrapped(a, left), self.unwrapped(b, right)
        if isinstance(op, ast.Add) and (self._is_sequence(a) or self._is_sequence(b)):
            if not isinstance(node, ast.BinOp):
                node = ast.copy_location(ast.BinOp(node.target, op, node.value), node)
            return self.concatenated(a, b, node)
        if self._is_set(a) or self._is_set(b):
            return self._set_operation(a, op, b, node)
        x, y = self.as_number(a, left), self.as_number(b, right)
        if isinstance(op, ast.Add):
            return Num(self.graph.add(x, y))
        if isinstance(op, ast.Sub):
            return Num(self.graph.sub(x, y))
        if isinstance(op, ast.Mult):
            return Num(self.graph.mul(x, y))
        self.fail(node, f"{self.describe(a)} and {self.describe(b)} cannot be combined like this")

    @staticmethod
    def _is_sequence(symbol: Symbol) -> bool:
        if isinstance(symbol, Display):
            return symbol.kind == "tuple"
        return isinstance(symbol, Val) and isinstance(symbol.type, SeqType)

    @staticmethod
    def _is_set(symbol: Symbol) -> bool:
        if isinstance(symbol, Display):
            return symbol.kind == "set"
        if isinstance(symbol, Choice):
            return Expressions._is_set(symbol.yes) or Expressions._is_set(symbol.no)
        return isinstance(symbol, Val) and isinstance(symbol.type, SetType)

    def as_sets(self, a: Symbol, b: Symbol, node: ast.AST) -> tuple[SetType, Node, Node]:
        """Two sets of one type: a literal takes the type of the other."""
        for symbol in (a, b):
            if isinstance(symbol, Val) and isinstance(symbol.type, SetType):
                return symbol.type, self.coerced(a, symbol.type, node)[0], self.coerced(b, symbol.type, node)[0]
        elements = [e for s in (a, b) for e in self._literal_elements(s)]
        for element in elements:
            found = self.value(element, node)
            if isinstance(found, Val) and isinstance(found.type, Scalar | RecordType):
                type_ = SetType(found.type)
                return type_, self.coerced(a, type_, node)[0], self.coerced(b, type_, node)[0]
        self.fail(node, "sets whose type is not known here", "name the type: members: Set[Broker] = frozenset()")

    def _literal_elements(self, symbol: Symbol) -> tuple[Symbol, ...]:
        if isinstance(symbol, Choice):
            return (*self._literal_elements(symbol.yes), *self._literal_elements(symbol.no))
        return symbol.elements if isinstance(symbol, Display) else ()

    def _set_operation(self, a: Symbol, op: ast.operator, b: Symbol, node: ast.AST) -> Symbol:
        type_, x, y = self.as_sets(a, b, node)
        operations = {ast.BitOr: self.graph.set_or, ast.BitAnd: self.graph.set_and, ast.Sub: self.graph.set_minus}
        if type(op) not in operations:
            self.fail(node, "sets have |, & and -")
        return Val(type_, (operations[type(op)](x, y),))  # type: ignore[index]

    # Comparisons.

    def _compare(self, node: ast.Compare) -> Symbol:
        result = self.graph.true
        left = self.expression(node.left)
        for op, part in zip(node.ops, node.comparators, strict=True):
            with self.assuming(result):
                right = self.expression(part)
                holds = self._comparison(left, op, right, node)
            result = self.graph.and_(result, holds)
            left = right
        return Truth(result)

    def _comparison(self, a: Symbol, op: ast.cmpop, b: Symbol, node: ast.Compare) -> Node:
        g = self.graph
        if isinstance(op, ast.Is | ast.IsNot):
            if NONE not in (a, b):
                self.fail(node, "`is` compares with None only", "use ==")
            same = self.equal(a, b, node)
            return same if isinstance(op, ast.Is) else g.not_(same)
        if isinstance(op, ast.Eq | ast.NotEq):
            same = self.equal(a, b, node)
            return same if isinstance(op, ast.Eq) else g.not_(same)
        if isinstance(op, ast.In | ast.NotIn):
            inside = self.contains(b, a, node)
            return inside if isinstance(op, ast.In) else g.not_(inside)
        a, b = self.unwrapped(a, node), self.unwrapped(b, node)
        if self._is_set(a) or self._is_set(b):
            return self._subset(a, op, b, node)
        if isinstance(op, ast.Gt | ast.LtE):
            a, b = b, a
        less = g.lt(*self._ordered_codes(a, b, node))
        return less if isinstance(op, ast.Lt | ast.Gt) else g.not_(less)

    def _subset(self, a: Symbol, op: ast.cmpop, b: Symbol, node: ast.AST) -> Node:
        g = self.graph
        _, x, y = self.as_sets(a, b, node)
        if isinstance(op, ast.Gt | ast.GtE):
            x, y = y, x
        subset = g.eq(g.set_minus(x, y), g.mask(0))
        return subset if isinstance(op, ast.LtE | ast.GtE) else g.and_(subset, g.not_(g.eq(x, y)))

    def _ordered_codes(self, a: Symbol, b: Symbol, node: ast.AST) -> tuple[Node, Node]:
        if isinstance(a, Num) and isinstance(b, Num):
            return a.node, b.node
        types = [s.type for s in (a, b) if isinstance(s, Val)]
        if len(types) == 2 and all(isinstance(t, OrdinalType) for t in types):
            if not self.same_type(types[0], types[1]):
                self.fail(node, f"a {types[0]} is compared with a {types[1]}", "compare ordinals of one sort")
            return a.nodes[0], b.nodes[0]  # type: ignore[union-attr]
        if NONE in (a, b):
            return self.graph.integer(0), self.graph.integer(0)
        self.fail(
            node, f"{self.describe(a)} and {self.describe(b)} have no order",
            "integers and ordinals of one sort have one; identities have none",
        )  # fmt: skip

    def contains(self, collection: Symbol, member: Symbol, node: ast.AST) -> Node:
        """Whether `member` is in `collection`."""
        g = self.graph
        if isinstance(collection, Location) and isinstance(collection.type, MapType):
            self.fail(node, "a map has every key", "ask for its value")
        if isinstance(collection, Static):
            self.fail(node, f"{self.describe(collection)} has every member of its type")
        collection = self.unwrapped(collection, node)
        if isinstance(collection, Choice):
            yes, no = self.contains(collection.yes, member, node), self.contains(collection.no, member, node)
            return g.select(collection.condition, yes, no)
        member = self.value(member, node)
        if isinstance(member, Choice) or (isinstance(member, Val) and isinstance(member.type, OptionType)):
            return self._contains_optional(collection, member, node)
        if member == NONE:
            return g.false
        if isinstance(collection, Val) and isinstance(collection.type, SetType):
            return self._has(collection, collection.type, member, node)
        return g.any_([g.and_(there, self.equal(e, member, node)) for there, e in self.elements(collection, node)])

    def _contains_optional(self, collection: Symbol, member: Symbol, node: ast.AST) -> Node:
        """Membership of what may be absent or one of two: None is in no collection."""
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
            return g.and_(inside, g.has(collection.nodes[0], g.select(inside, code, g.integer(0))))
        return g.has(collection.nodes[0], self.index(member, element, node))

    # Literals and comprehensions.

    def _tuple(self, node: ast.Tuple) -> Symbol:
        return Display("tuple", tuple(self.expression(e) for e in node.elts))

    def _set(self, node: ast.Set) -> Symbol:
        return Display("set", tuple(self.expression(e) for e in node.elts))

    def generated(self, node: ast.GeneratorExp | ast.SetComp) -> Iterator[Element]:
        """The elements of a comprehension, each with the condition that it is there.

        Evaluate what is made of an element before asking for the next: its condition is assumed meanwhile.
        """
        yield from self._generate(node.generators, node.elt, self.graph.true)

    def _generate(self, generators: list[ast.comprehension], element: ast.expr, there: Node) -> Iterator[Element]:
        if not generators:
            yield there, self.expression(element)
            return
        first, *rest = generators
        for exists, item in self.iterated(first.iter):
            if self.facts.of(exists) is False:
                continue
            before = dict(self.frame.locals)
            self.bind(first.target, item)
            with self.assuming(exists):
                condition = exists
                for test in first.ifs:
                    condition = self.graph.and_(condition, self.truth(test))
                if self.facts.of(condition) is not False:
                    with self.assuming(condition):
                        yield from self._generate(rest, element, self.graph.and_(there, condition))
            self.frame.locals = before

    def iterated(self, node: ast.expr) -> list[Element]:
        """What a `for` goes through; .items() and .values() of a map, and range(), are understood."""
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and node.func.attr in ("items", "values"):
                pairs = self.map_values(self.expression(node.func.value), node)
                with_keys = node.func.attr == "items"
                return [(self.graph.true, Display("tuple", p) if with_keys else p[1]) for p in pairs]
            if isinstance(node.func, ast.Name) and node.func.id == "range":
                return self._range_elements(node)
        return self.elements(self.expression(node), node)

    def _range_elements(self, node: ast.Call) -> list[Element]:
        bounds = [self.number(a) for a in node.args]
        if not 1 <= len(bounds) <= 2:
            self.fail(node, "range takes one or two bounds", "range(len(log)), range(1, n)")
        low, high = (self.graph.integer(0), bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[1])
        g = self.graph
        return [
            (g.and_(g.not_(g.lt(g.integer(i), low)), g.lt(g.integer(i), high)), Num(g.integer(i)))
            for i in range(low.lo, high.hi)
        ]

    def bind(self, target: ast.expr, symbol: Symbol) -> None:
        """Give a local name (or the two of a key and its value) to a symbol."""
        if isinstance(target, ast.Name):
            self.frame.locals[target.id] = symbol
            return
        if isinstance(target, ast.Tuple) and isinstance(symbol, Display) and len(symbol.elements) == len(target.elts):
            for part, value in zip(target.elts, symbol.elements, strict=True):
                self.bind(part, value)
            return
        self.fail(target, "this cannot be given a value here")

    def _setcomp(self, node: ast.SetComp) -> Symbol:
        g = self.graph
        type_: SetType | None = None
        mask = g.mask(0)
        for there, element in self.generated(node):
            if type_ is None:
                found = self.value(element, node)
                if isinstance(found, Choice):
                    found = self.unwrapped(found, node)
                if not isinstance(found, Val):
                    self.fail(node, f"a set of {self.describe(found)}", "sets hold identities, enums and messages")
                type_ = SetType(found.type.inner if isinstance(found.type, OptionType) else found.type)
            bit = g.bit(self.index(element, type_.element, node))
            mask = g.set_or(mask, g.select(there, bit, g.mask(0)))
        return Val(type_, (mask,)) if type_ else Display("set", ())
