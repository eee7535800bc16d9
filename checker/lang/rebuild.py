"""A node of the IR made again from other arguments; the graph folds what has become constant."""

from __future__ import annotations

from collections.abc import Sequence

from checker.lang.graph import Graph
from checker.lang.ir import Kind, Node, Op

_MAKE = {
    Op.NOT: "not_", Op.AND: "and_", Op.OR: "or_", Op.SELECT: "select", Op.EQ: "eq", Op.LT: "lt", Op.ADD: "add",
    Op.SUB: "sub", Op.MUL: "mul", Op.SET_AND: "set_and", Op.SET_OR: "set_or", Op.SET_MINUS: "set_minus", Op.BIT: "bit",
    Op.HAS: "has", Op.DIV: "div", Op.MOD: "mod",
}  # fmt: skip


def made_again(graph: Graph, node: Node, args: Sequence[Node]) -> Node:
    """The expression of `node` over other arguments, in `graph`."""
    if node.op is Op.COUNT:
        return graph.count(args[0], node.hi)
    if node.op is Op.BIT or node.op is Op.HAS:
        *sets, index = args
        args = [*sets, _in_word(graph, index)]
    made: Node = getattr(graph, _MAKE[node.op])(*args)
    return made


def constant(graph: Graph, kind: Kind, code: int, sort: str = "") -> Node:
    """The constant with this code."""
    if kind is Kind.BOOL:
        return graph.boolean(bool(code))
    if kind is Kind.SET:
        return graph.mask(code)
    if kind is Kind.ORDINAL:
        assert code == 0, "a live ordinal is never a constant"
        return graph.absent_ordinal(sort)
    return graph.integer(code)


def _in_word(graph: Graph, index: Node) -> Node:
    """An index of a bit; one that is out of range is one that nothing selects, and any will do."""
    return graph.integer(index.data & 63) if index.op is Op.CONST and not 0 <= index.data < 64 else index
