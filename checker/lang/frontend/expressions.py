"""Expressions of a spec, evaluated symbolically."""

from __future__ import annotations

import ast
import builtins
import functools
from collections.abc import Callable
from typing import Any

from checker.lang.claims import AnyInteger, Claim
from checker.lang.declare import ConstantsInfo
from checker.lang.frontend.bounded import Bounded
from checker.lang.frontend.codes import NONE
from checker.lang.frontend.path import PULSE
from checker.lang.frontend.symbols import Choice, Display, Location, Num, Static, Symbol, Truth, Val
from checker.lang.graph import TooLargeError
from checker.lang.ir import Node
from checker.lang.marks import MARK
from checker.lang.order import OrderedEnum
from checker.lang.types import (
    BagType,
    EnumType,
    IdentityType,
    MapType,
    OptionType,
    OrdinalType,
    RecordType,
    SeqType,
    SetType,
    UnionType,
)


@functools.cache
def _method_name(kind: str) -> str:
    return f"_{kind.lower()}"


class Expressions(Bounded):
    """Evaluates names, fields, elements and operators. `call` is left to the subclass that knows functions."""

    def call(self, node: ast.Call) -> Symbol:
        raise NotImplementedError

    def expression(self, node: ast.expr) -> Symbol:
        """The symbol of an expression, with the events of evaluating it."""
        self.evaluated += 1
        if self.evaluated % PULSE == 0:
            self.graph.pulse()
        method: Callable[[Any], Symbol] | None = getattr(self, _method_name(type(node).__name__), None)
        if method is None:
            hint = "Map({b: ... for b in Broker})" if isinstance(node, ast.Dict | ast.DictComp) else ""
            self.fail(node, "this cannot stand here", hint)
        try:
            return method(node)
        except TooLargeError as error:
            self.too_large(node, error)

    def peeked(self, node: ast.expr) -> Symbol:
        """The symbol of an expression, without the events of evaluating it."""
        self.silent += 1
        symbol = self.expression(node)
        self.silent -= 1
        return symbol

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
            return self.graph.not_(self.is_empty(symbol.nodes))
        if isinstance(symbol, Val) and isinstance(symbol.type, SeqType | BagType):
            return self.graph.not_(self.graph.eq(self.length(symbol, node), self.graph.integer(0)))
        self.fail(
            node, f"{self.describe(symbol)} is neither true nor false",
            "say what is meant: `is not None`, `!= 0`, `len(...) > 0`",
        )  # fmt: skip

    def claimed(self, symbol: Symbol, claim: Claim, node: ast.AST) -> Symbol:
        """A symbol as a value of its annotated type, with events if it is not one. A place stays one."""
        if isinstance(claim, AnyInteger):
            return Num(self.as_number(symbol, node))
        if isinstance(symbol, Location):
            inner = claim.inner if isinstance(claim, OptionType) else claim
            if self.same_type(symbol.type, claim) or self.same_type(symbol.type, inner):
                return symbol
            if isinstance(symbol.type, OptionType) and self.same_type(symbol.type.inner, claim):
                return self.inner_place(symbol, node)
        symbol = self.value(symbol, node)
        if isinstance(symbol, Val) and self.same_type(symbol.type, claim):
            return symbol
        return self.symbol(claim, self.coerced(symbol, claim, node))

    def number(self, node: ast.expr) -> Node:
        return self.as_number(self.expression(node), node)

    def as_number(self, symbol: Symbol, node: ast.AST) -> Node:
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
        if node.id in self.frame.function.code.co_varnames:
            self.fail(node, f"{node.id} has no value on some path to here", "assign it before the branches")
        names = self.frame.function.globals
        if node.id in names:
            return self.lift(names[node.id], node)
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
        possible = self.possible_variants(holder, union)
        result: Symbol | None = None
        fits = self.graph.false
        for variant in [v for v in possible if v in having] or having[:1]:
            here = self.graph.eq(holder.nodes[0], self.graph.integer(union.tags[variant.cls]))
            found = self._record_attribute(self.variant(holder, variant), variant, name, node)
            fits = self.graph.or_(fits, here)
            result = found if result is None else self.joined(here, found, result, node)
        if not all(v in having for v in possible):
            self.error(self.graph.not_(fits), node, f"this variant has no field {name}")
        assert result is not None
        return result

    def possible_variants(self, holder: Val, union: UnionType) -> list[RecordType]:
        """The variants that a union may be on this path."""
        tests = {v.cls: self.graph.eq(holder.nodes[0], self.graph.integer(union.tags[v.cls])) for v in union.variants}
        known = [v for v in union.variants if self.facts.of(tests[v.cls])]
        return known or [v for v in union.variants if self.facts.of(tests[v.cls]) is not False]

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

    # Sequences.

    def _element(self, sequence: Val, node: ast.Subscript) -> Symbol:
        assert isinstance(sequence.type, SeqType) and isinstance(node.slice, ast.expr)
        g, length = self.graph, sequence.nodes[0]
        index = self._from_end(self.number(node.slice), length)
        outside = g.or_(g.lt(index, g.integer(0)), g.not_(g.lt(index, length)))
        self.error(outside, node, "an index outside the sequence")
        return self.symbol(sequence.type.element, self._place_in(sequence, index))

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

    def _bound(self, node: ast.expr | None, default: Node, length: Node) -> Node:
        if node is None:
            return default
        return self._from_end(self.number(node), length)

    def _from_end(self, index: Node, length: Node) -> Node:
        """An index or bound as in Python: a negative one counts from the end."""
        if index.lo >= 0:
            return index
        negative = self.graph.lt(index, self.graph.integer(0))
        return self.graph.select(negative, self.graph.add(length, index), index)

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
        if self.is_set(a) or self.is_set(b):
            return self._set_operation(a, op, b, node)
        x, y = self.as_number(a, left), self.as_number(b, right)
        if isinstance(op, ast.Add):
            return Num(self.graph.add(x, y))
        if isinstance(op, ast.Sub):
            return Num(self.graph.sub(x, y))
        if isinstance(op, ast.Mult):
            return Num(self.graph.mul(x, y))
        if isinstance(op, ast.FloorDiv | ast.Mod):
            return Num(self._divided(x, op, y, node))
        self.fail(node, f"{self.describe(a)} and {self.describe(b)} cannot be combined like this")

    def _divided(self, a: Node, op: ast.operator, b: Node, node: ast.AST) -> Node:
        self.error(self.graph.eq(b, self.graph.integer(0)), node, "division by zero")
        return self.graph.div(a, b) if isinstance(op, ast.FloorDiv) else self.graph.mod(a, b)

    def _set_operation(self, a: Symbol, op: ast.operator, b: Symbol, node: ast.AST) -> Symbol:
        if self.is_bounded(a) or self.is_bounded(b):
            if not isinstance(op, ast.BitOr | ast.BitAnd | ast.Sub):
                self.fail(node, "sets have |, & and -")
            return self.bounded_operation(a, op, b, node)
        type_, x, y = self.as_sets(a, b, node)
        operations = {ast.BitOr: self.united, ast.BitAnd: self.shared, ast.Sub: self.without}
        if type(op) not in operations:
            self.fail(node, "sets have |, & and -")
        return Val(type_, operations[type(op)](x, y))

    # Comparisons.

    def _compare(self, node: ast.Compare) -> Symbol:
        result, before = self.graph.true, self.comparing_counts
        self.comparing_counts = self._compares_counts(node)
        left = self.expression(node.left)
        for op, part in zip(node.ops, node.comparators, strict=True):
            with self.assuming(result):
                right = self.expression(part)
                holds = self._comparison(left, op, right, node)
            result = self.graph.and_(result, holds)
            left = right
        self.comparing_counts = before
        return Truth(result)

    def _compares_counts(self, node: ast.Compare) -> bool:
        """True if this is `after.bag.count(m) < before.bag.count(m)`, or the like: what else the bag holds is the same
        to it."""
        calls = [part for part in (node.left, *node.comparators) if isinstance(part, ast.Call)]
        holders = [c.func.value for c in calls if isinstance(c.func, ast.Attribute) and c.func.attr == "count"]
        if len(node.comparators) != 1 or len(holders) != 2:
            return False
        names = [next(n for n in ast.walk(holder) if isinstance(n, ast.Name)) for holder in holders]
        paths = {ast.unparse(holder).removeprefix(name.id) for holder, name in zip(holders, names, strict=True)}
        members = {ast.unparse(argument) for call in calls for argument in call.args}
        states = [self.frame.locals.get(name.id) for name in names]
        return (
            len(paths) == len(members) == 1 and all(isinstance(c.args[0], ast.Name) for c in calls)
            and all(isinstance(s, Location) and s.way == () for s in states) and names[0].id != names[1].id
        )  # fmt: skip

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
        if self.is_set(a) or self.is_set(b):
            return self._subset(a, op, b, node)
        if isinstance(op, ast.Gt | ast.LtE):
            a, b = b, a
        less = g.lt(*self._ordered_codes(a, b, node))
        return less if isinstance(op, ast.Lt | ast.Gt) else g.not_(less)

    def _subset(self, a: Symbol, op: ast.cmpop, b: Symbol, node: ast.AST) -> Node:
        g = self.graph
        if isinstance(op, ast.Gt | ast.GtE):
            a, b = b, a
        if self.is_bounded(a) or self.is_bounded(b):
            proper = g.true if isinstance(op, ast.LtE | ast.GtE) else g.not_(self.is_subset(b, a, node))
            return g.and_(self.is_subset(a, b, node), proper)
        _, x, y = self.as_sets(a, b, node)
        subset = self.is_empty(self.without(x, y))
        return subset if isinstance(op, ast.LtE | ast.GtE) else g.and_(subset, g.not_(self.is_same(x, y)))

    def _ordered_codes(self, a: Symbol, b: Symbol, node: ast.AST) -> tuple[Node, Node]:
        if isinstance(a, Num) and isinstance(b, Num):
            return a.node, b.node
        if isinstance(a, Val) and isinstance(b, Val):
            if isinstance(a.type, OrdinalType) and isinstance(b.type, OrdinalType):
                if not self.same_type(a.type, b.type):
                    self.fail(node, f"a {a.type} is compared with a {b.type}", "compare ordinals of one sort")
                return a.nodes[0], b.nodes[0]
            if isinstance(a.type, EnumType) and self.same_type(a.type, b.type):
                if issubclass(a.type.cls, OrderedEnum):
                    return a.nodes[0], b.nodes[0]
                self.fail(node, f"{a.type} has no order", f"class {a.type}(OrderedEnum) has that of its declaration")
        if NONE in (a, b):
            return self.graph.integer(0), self.graph.integer(0)
        self.fail(
            node, f"{self.describe(a)} and {self.describe(b)} have no order",
            "integers, ordinals of one sort and members of an OrderedEnum have one; identities have none",
        )  # fmt: skip
