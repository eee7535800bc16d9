"""The order of values (`checker.lang.order`): comparisons by it, the least of what satisfies a condition, folds."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from checker.lang.frontend.collections import Element
from checker.lang.frontend.comprehensions import Comprehensions
from checker.lang.frontend.source import function_of
from checker.lang.frontend.symbols import Display, Location, Num, Static, Symbol, Truth, Val
from checker.lang.ir import Kind, Node
from checker.lang.resolve import hints, resolve
from checker.lang.types import BagType, MapType, OptionType, RecordType, SeqType, SetType, Type, UnionType
from checker.lang.values import Identity

MAX_DEPTH = 24


class Ordering(Comprehensions):
    """Goes through collections in the order of their elements. `inline` is left to the subclass."""

    def inline(self, function: Callable[..., Any], arguments: list[Symbol]) -> Symbol:
        raise NotImplementedError

    def inlined(self, function: Callable[..., Any], arguments: list[Symbol], node: ast.Call) -> Symbol:
        """The value that a helper returns. Raises SpecError if it calls itself."""
        if any(f.function.function is function for f in self.frames) or len(self.frames) > MAX_DEPTH:
            self.fail(node, f"{function.__name__} calls itself", "helpers are inlined: use a loop over a finite domain")
        return self.inline(function, arguments)

    def _argument(self, node: ast.Call, count: int = 1) -> list[ast.expr]:
        if len(node.args) != count or node.keywords:
            self.fail(node, f"{self.frame.function.text(node.func)} takes {count} argument{'s' * (count > 1)}")
        return node.args

    def _items(self, argument: ast.expr) -> list[tuple[Node, Symbol]]:
        if isinstance(argument, ast.GeneratorExp):
            return [(there, self.unwrapped(e, argument)) for there, e in self.generated(argument)]
        return [(there, self.value(e, argument)) for there, e in self.iterated(argument)]

    # What has an order.

    def has_order(self, node: ast.expr) -> bool:
        """True if the iterable of a `for` is ordered: sets, bags, maps and identities are not."""
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id == "range":
                return True
            if isinstance(node.func, ast.Attribute) and node.func.attr in ("items", "values"):
                return False
        symbol = self.peeked(node)
        if isinstance(symbol, Static):
            return not (isinstance(symbol.value, type) and issubclass(symbol.value, Identity))
        return self._is_sequence(symbol)

    def check_in_order(self, node: ast.expr, reason: str) -> None:
        """Raise SpecError with this reason where it is not a sequence, range or finite type."""
        call = node.func if isinstance(node, ast.Call) else None
        view = isinstance(call, ast.Attribute) and call.attr in ("items", "values")
        if view or not (self.has_order(node) or isinstance(self.peeked(node), Static)):
            self.fail(node, reason, "go through a sequence or a type: (b for b in Broker if b in members)")

    def names_in_order(self, node: ast.expr) -> bool:
        """True if plain Python iterates over it in a known order, unlike sets and bags."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return True
        symbol = self.peeked(node)
        if isinstance(symbol, Val | Display):
            return self._is_sequence(symbol)
        return True

    # What is less.

    def less(self, a: Symbol, b: Symbol, node: ast.AST) -> Node:
        """The condition that `a` comes before `b`, two values of one type."""
        if isinstance(a, Num) and isinstance(b, Num):
            return self.graph.lt(a.node, b.node)
        if isinstance(a, Truth) and isinstance(b, Truth):
            return self.graph.and_(self.graph.not_(a.node), b.node)
        if (self.is_set(a) or self.is_set(b)) and not (self.is_bounded(a) or self.is_bounded(b)):
            type_, x, y = self.as_sets(a, b, node)
            return self._less_set(type_, x, y)
        if isinstance(a, Val) and isinstance(b, Val) and self.same_type(a.type, b.type):
            return self._less(a.type, a.nodes, b.nodes, node)
        common = self._common_type(a, b) or self._common_type(b, a)
        if common is not None:
            return self._less(common, self.coerced(a, common, node), self.coerced(b, common, node), node)
        self.fail(
            node, f"{self.describe(a)} and {self.describe(b)} have no order",
            "values of one declared type have one: give a literal a name with a type",
        )  # fmt: skip

    def _less(self, type_: Type, a: Sequence[Node], b: Sequence[Node], node: ast.AST) -> Node:
        g = self.graph
        match type_:
            case OptionType():
                x, y = Val(type_, tuple(a)), Val(type_, tuple(b))
                return g.and_(self.present(y), g.or_(self.absent(x), self.less(self.inner(x), self.inner(y), node)))
            case SetType():
                return self._less_set(type_, a, b)
            case RecordType():
                return self._less_by_parts(list(type_.fields.values()), a, b, node)
            case UnionType():
                return self._less_union(type_, a, b, node)
            case SeqType():
                longer = self._less_by_parts([type_.element] * type_.length, a[1:], b[1:], node)
                return g.or_(g.lt(a[0], b[0]), g.and_(g.eq(a[0], b[0]), longer))
            case MapType():
                return self._less_by_parts([type_.value_type] * len(type_.keys), a, b, node)
            case BagType():
                self.fail(node, f"a {type_} has no order", "choose among its members")
        if a[0].kind is Kind.BOOL:
            return g.and_(g.not_(a[0]), b[0])
        return g.lt(a[0], b[0])

    def _less_by_parts(self, types: list[Type], a: Sequence[Node], b: Sequence[Node], node: ast.AST) -> Node:
        """By the first part that differs."""
        g, result = self.graph, self.graph.false
        end = len(a)
        for type_ in reversed(types):
            start = end - type_.width
            x, y = a[start:end], b[start:end]
            same = g.all_([g.eq(p, q) for p, q in zip(x, y, strict=True)])
            result = g.or_(self._less(type_, x, y, node), g.and_(same, result))
            end = start
        return result

    def _less_set(self, type_: SetType, a: Sequence[Node], b: Sequence[Node]) -> Node:
        """By the greatest member that only one has: the highest bit of what differs."""
        g, result = self.graph, self.graph.false
        for i in range(type_.size):
            mine, other = self.has_number(a, g.integer(i)), self.has_number(b, g.integer(i))
            result = g.select(g.eq(mine, other), result, other)
        return result

    def _less_union(self, type_: UnionType, a: Sequence[Node], b: Sequence[Node], node: ast.AST) -> Node:
        g, result = self.graph, self.graph.false
        for first in type_.variants:
            is_first = g.eq(a[0], g.integer(type_.tags[first.cls]))
            for second in type_.variants:
                both = g.and_(is_first, g.eq(b[0], g.integer(type_.tags[second.cls])))
                if first is second:
                    x, y = self.variant(Val(type_, tuple(a)), first), self.variant(Val(type_, tuple(b)), second)
                    result = g.or_(result, g.and_(both, self.less(x, y, node)))
                elif str(first) < str(second):
                    result = g.or_(result, both)
        return result

    # The least one, and folds.

    def _choose(self, node: ast.Call) -> Symbol:
        [argument] = self._argument(node)
        g, found = self.graph, self.graph.false
        best: Symbol | None = None
        for there, symbol in self._items(argument):
            symbol = self.unwrapped(symbol, node)
            if best is None:
                best, found = symbol, there
                continue
            wins = g.and_(there, g.or_(g.not_(found), self.less(symbol, best, node)))
            best = self.joined(wins, symbol, best, node)
            found = g.or_(found, there)
        self.error(g.not_(found), node, "choose of nothing")
        return best if best is not None else Num(g.integer(0))

    def _fold(self, node: ast.Call) -> Symbol:
        helper, elements, initial = self._argument(node, 3)
        callee = self.expression(helper)
        step = callee.value if isinstance(callee, Static) else None
        if not inspect.isfunction(step) or len(function_of(step).parameters) != 2:
            self.fail(
                helper, "fold takes a helper of two parameters",
                "def longest(so_far: Level, word: Word) -> Level: what came out so far, and the next element",
            )  # fmt: skip
        result = self._initial(initial, step)
        if isinstance(elements, ast.GeneratorExp):
            items = self.generated(elements, ordered_for="a fold over what has no order")
        else:
            items = iter(self._in_order(elements))
        for there, element in items:
            if self.facts.of(there) is False:
                continue
            with self.assuming(there):
                after = self.inlined(step, [result, element], node)
            result = self.joined(there, after, result, node)
        return result

    def _initial(self, node: ast.expr, step: Callable[..., Any]) -> Symbol:
        """The initial value of a fold: a literal is of the type of the helper's first parameter."""
        symbol = self.expression(node)
        hint = hints(step).get(function_of(step).parameters[0])
        if not isinstance(symbol, Display) or hint is None:
            return symbol
        type_ = resolve(hint, self.frame.function.text(node))
        if isinstance(type_, SeqType):
            type_ = SeqType(type_.element, len(symbol.elements))  # a bound of the type is one of what is stored
        return self.symbol(type_, self.coerced(symbol, type_, node))

    def _in_order(self, argument: ast.expr) -> list[Element]:
        """The elements that a fold goes through, each with the condition that it is there."""
        if isinstance(argument, ast.Call) and isinstance(argument.func, ast.Name) and argument.func.id == "range":
            return self.iterated(argument)
        symbol = self.expression(argument)
        if not isinstance(symbol, Static | Location):
            symbol = self.unwrapped(symbol, argument)
        elements = self.elements(symbol, argument)
        unsorted = isinstance(symbol, Val) and isinstance(symbol.type, BagType)
        literal = isinstance(symbol, Display) and symbol.kind == "set"
        return self._sorted(elements, argument) if unsorted or literal else elements

    def _sorted(self, elements: list[Element], node: ast.AST) -> list[Element]:
        """The elements from the least to the greatest: each goes to the place that is the number of those before it."""
        g = self.graph
        places: list[Node] = []
        for i, (there, element) in enumerate(elements):
            place = g.integer(0)
            for j, (other_there, other) in enumerate(elements):
                if i != j:
                    tied = self.equal(other, element, node) if j < i else g.false
                    before = g.and_(other_there, g.or_(self.less(other, element, node), tied))
                    place = g.add(place, g.select(before, g.integer(1), g.integer(0)))
            places.append(g.select(there, place, g.integer(len(elements))))
        result: list[Element] = []
        for i in range(len(elements)):
            here = [g.eq(place, g.integer(i)) for place in places]
            chosen = elements[0][1]
            for condition, (_, element) in zip(here[1:], elements[1:], strict=True):
                chosen = self.joined(condition, element, chosen, node)
            result.append((g.any_(here), chosen))
        return result
