"""IR expressions with some leaves given: what is left of them."""

from __future__ import annotations

from collections.abc import Mapping

from checker.lang.graph import Graph
from checker.lang.ir import Node, Op
from checker.lang.program import Program
from checker.lang.rebuild import constant, made_again
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
        if node.op is Op.LEAF and node.data in codes:
            return constant(self._graph, node.kind, codes[node.data], node.sort)
        if not args or all(a is b for a, b in zip(args, node.args, strict=True)):
            return node
        return made_again(self._graph, node, args)
