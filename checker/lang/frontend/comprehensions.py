"""Literal collections, comprehensions, and what a `for` goes through, evaluated symbolically."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from checker.lang.frontend.collections import Element
from checker.lang.frontend.expressions import Expressions
from checker.lang.frontend.symbols import Display, Num, Symbol, Val
from checker.lang.ir import Node
from checker.lang.types import MAX_MEMBERS, OptionType


class Comprehensions(Expressions):
    """Goes through collections, element by element. `check_in_order` is left to the subclass that knows order."""

    def check_in_order(self, node: ast.expr, reason: str) -> None:
        raise NotImplementedError

    def _tuple(self, node: ast.Tuple) -> Symbol:
        return Display("tuple", tuple(self.expression(e) for e in node.elts))

    def _set(self, node: ast.Set) -> Symbol:
        return Display("set", tuple(self._member(e) for e in node.elts))

    def _member(self, node: ast.expr) -> Symbol:
        """A member of a literal set: an option must be known to be present, for None is in no set."""
        symbol = self.value(self.expression(node), node)
        if isinstance(symbol, Val) and isinstance(symbol.type, OptionType):
            if not self.facts.of(self.present(symbol)):
                self.fail(node, "a set of what may be absent", "take it with require_some(...), or test it before")
            return self.inner(symbol)
        return symbol

    def generated(
        self, node: ast.GeneratorExp | ast.SetComp, goes_on: Callable[[], Node] | None = None, ordered_for: str = ""
    ) -> Iterator[Element]:
        """The elements of a comprehension, each with the condition that it is there.

        Evaluate what is made of an element before asking for the next: its condition is assumed meanwhile.
        goes_on: whether the next element is looked at (any and all stop when they are decided). ordered_for: what an
        error says where the elements come from what has no order; "" where none is needed.
        """
        goes_on = goes_on or (lambda: self.graph.true)
        yield from self._generate(node.generators, node.elt, self.graph.true, goes_on, ordered_for)

    def _generate(
        self,
        generators: list[ast.comprehension],
        element: ast.expr,
        there: Node,
        goes_on: Callable[[], Node],
        ordered_for: str,
    ) -> Iterator[Element]:
        if not generators:
            yield there, self.expression(element)
            return
        first, *rest = generators
        if ordered_for:
            self.check_in_order(first.iter, ordered_for)
        for exists, item in self.iterated(first.iter):
            if self.facts.of(exists) is False:
                continue
            before = dict(self.frame.locals)
            self.bind(first.target, item)
            with self.assuming(self.graph.and_(exists, goes_on())):
                condition = exists
                for test in first.ifs:
                    condition = self.graph.and_(condition, self.truth(test))
                if self.facts.of(condition) is not False:
                    with self.assuming(condition):
                        reached = self.graph.and_(there, condition)
                        yield from self._generate(rest, element, reached, goes_on, ordered_for)
            self.frame.locals = before

    def iterated(self, node: ast.expr) -> list[Element]:
        """The elements that a `for` iterates over; .items() and .values() of a map, and range(), are understood."""
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
        g.decided.add((high, None))
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
        self.fail(target, "this cannot be given a value here", "one assignment a line")

    def _setcomp(self, node: ast.SetComp) -> Symbol:
        found = [(there, self.unwrapped(element, node)) for there, element in self.generated(node)]
        if not found:
            return Display("set", ())
        element_type = self.member_type([element for _, element in found], node)
        if element_type is not None and (element_type.count is None or element_type.count > MAX_MEMBERS):
            return self.bounded_set(found, element_type, node)
        type_ = self.set_of([element for _, element in found], node)
        members = self.no_members(type_)
        for there, element in found:
            one = self.set_of_one(type_, self.index(element, type_.element, node))
            members = self.united(members, self.if_there(there, one))
        return Val(type_, members)
