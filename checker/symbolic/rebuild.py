"""IR expressions with some leaves given: what is left of them."""

from __future__ import annotations

from collections.abc import Mapping

from checker.lang.graph import Graph
from checker.lang.ir import Kind, Node, Op
from checker.lang.program import Program
from checker.symbolic.encoding import program_nodes


class Rebuilt:
    """Expressions of a program, made again by a graph of its own, which folds what is known."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._graph = Graph(1 + max((node.serial for node in program_nodes(program)), default=0))

    def is_false(self, node: Node, codes: Mapping[int, int]) -> bool:
        """True if a condition is false wherever the leaves have these codes, as folding shows."""
        found = self.given(node, codes)
        return found.op is Op.CONST and not found.data

    def given(self, root: Node, codes: Mapping[int, int]) -> Node:
        """`root` where the leaves have these codes."""
        memo: dict[int, Node] = {}
        stack = [root]
        while stack:
            node = stack[-1]
            missing = [a for a in node.args if a.serial not in memo]
            if missing:
                stack += missing
                continue
            stack.pop()
            memo[node.serial] = self._make(node, [memo[a.serial] for a in node.args], codes)
        return memo[root.serial]

    def _make(self, node: Node, args: list[Node], codes: Mapping[int, int]) -> Node:
        g = self._graph
        if node.op is Op.LEAF and node.data in codes:
            return self._constant(node, codes[node.data])
        if not args or all(a is b for a, b in zip(args, node.args, strict=True)):
            return node
        if node.op is Op.COUNT:
            return g.count(args[0], node.hi)
        made: Node = getattr(g, _MAKE[node.op])(*args)
        return made

    def _constant(self, node: Node, code: int) -> Node:
        if node.kind is Kind.BOOL:
            return self._graph.boolean(bool(code))
        if node.kind is Kind.SET:
            return self._graph.mask(code)
        if node.kind is Kind.ORDINAL:
            assert code == 0, "a live ordinal is never a constant"
            return self._graph.absent_ordinal(node.sort)
        return self._graph.integer(code)


_MAKE = {
    Op.NOT: "not_", Op.AND: "and_", Op.OR: "or_", Op.SELECT: "select", Op.EQ: "eq", Op.LT: "lt", Op.ADD: "add",
    Op.SUB: "sub", Op.MUL: "mul", Op.SET_AND: "set_and", Op.SET_OR: "set_or", Op.SET_MINUS: "set_minus", Op.BIT: "bit",
    Op.HAS: "has", Op.DIV: "div", Op.MOD: "mod",
}  # fmt: skip
