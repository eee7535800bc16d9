"""Sets with a bound: members in slots, of which some are empty, and no two are alike."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from checker.lang.frontend.collections import Collections, Element
from checker.lang.frontend.symbols import Symbol, Val
from checker.lang.ir import EventKind, Node
from checker.lang.types import BoundedSetType, Type


class Bounded(Collections):
    """Operations on sets of which at least one has a bound."""

    def bounded_as(self, symbol: Symbol, type_: BoundedSetType, node: ast.AST) -> tuple[Node, ...]:
        """The leaves of a set as one with a bound; a cut where it has more members."""
        elements = self.elements(symbol, node)
        if len(elements) > type_.capacity:  # how many there are is looked at before the members
            one, none = self.graph.integer(1), self.graph.integer(0)
            size = self.total([self.graph.select(there, one, none) for there, _ in elements])
            full = self.graph.lt(self.graph.integer(type_.capacity), size)
            self.event(EventKind.CUT, full, node, f"more than {type_.capacity} in the set")
        slots = self._slots_of(elements, type_.element, node)
        self.silent += 1  # that it is cut has been said
        nodes = self.bag_as(slots, type_, node)
        self.silent -= 1
        return nodes

    def _slots_of(self, elements: Sequence[Element], element: Type, node: ast.AST) -> Val:
        """The set of these members, no two of which are alike, each in a slot of its own."""
        made, nodes = BoundedSetType(element, len(elements)), []
        for there, member in elements:
            with self.assuming(there):
                slot = self.slot_of(made, member, node)
            nodes += [self.graph.select(there, code, self._zero(code)) for code in slot]
        return Val(made, tuple(nodes))

    def bounded_set(self, members: Sequence[Element], element: Type, node: ast.AST) -> Val:
        """The set of these members, some of which may be alike."""
        return self._slots_of(self.distinct(members, node), element, node)

    def bounded_operation(self, a: Symbol, op: ast.operator, b: Symbol, node: ast.AST) -> Val:
        """`a | b`, `a & b` and `a - b`."""
        first, second, g = self.elements(a, node), self.elements(b, node), self.graph
        element = self.member_type([symbol for _, symbol in (*first, *second)], node)
        if element is None:  # neither has room for any
            element = next(s.type.element for s in (a, b) if isinstance(s, Val) and isinstance(s.type, BoundedSetType))
        if isinstance(op, ast.BitOr):
            more = [(g.and_(there, g.not_(self.contains(a, m, node))), m) for there, m in second]
            return self._slots_of([*first, *more], element, node)
        kept = []
        for there, member in first:
            inside = self.contains(b, member, node)
            kept.append((g.and_(there, inside if isinstance(op, ast.BitAnd) else g.not_(inside)), member))
        return self._slots_of(kept, element, node)

    def is_subset(self, a: Symbol, b: Symbol, node: ast.AST) -> Node:
        """The condition that every member of `a` is one of `b`."""
        g = self.graph
        return g.all_(
            [g.or_(g.not_(there), self.contains(b, member, node)) for there, member in self.elements(a, node)]
        )
