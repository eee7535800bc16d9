"""The IR read slowly: whether nodes are well formed, and what they are worth in a state. The kernel is held to it."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

from checker.lang.ir import VALIDITY, Kind, Node, Op


def check_nodes(nodes: Iterable[Node]) -> None:
    """Hold every node to `VALIDITY`. Raises ValueError naming the operator and the kinds it was given."""
    for node in nodes:
        check_node(node)


def check_node(node: Node) -> None:
    """Hold a node to `VALIDITY`. Raises ValueError naming the operator and the kinds it was given."""
    _check_use(node.op, node.kind, tuple([a.kind for a in node.args]), tuple([a.sort for a in node.args]))


@functools.cache
def _check_use(op: Op, result: Kind, kinds: tuple[Kind, ...], sorts_of: tuple[str, ...]) -> None:
    if op not in VALIDITY:
        return
    shape = VALIDITY[op]
    free = {k for k, want in zip(kinds, shape.arguments, strict=True) if want is None}
    fixed = all(want is None or k is want for k, want in zip(kinds, shape.arguments, strict=True))
    sorts = {sort for kind, sort in zip(kinds, sorts_of, strict=True) if kind is Kind.ORDINAL}
    allowed = shape.result or next(iter(free), None)
    if not fixed or len(free) > 1 or len(sorts) > 1 or result is not allowed:
        raise ValueError(f"{op.value} cannot take {[k.value for k in kinds]} of sorts {sorted(sorts)}")


def evaluate(node: Node, leaves: Sequence[int], fresh_base: dict[str, int], memo: dict[int, int]) -> int:
    """The value of `node` in a state given by its leaves' codes: a slow third reading, for tests and explanations.

    fresh_base: sort -> a code above all live ones of that sort; memo: filled, one per state.
    """
    found = memo.get(node.serial)
    if found is not None:
        return found
    if node.op is Op.CONST:
        value = int(node.data)
    elif node.op is Op.LEAF:
        value = leaves[node.data]
    elif node.op is Op.FRESH:
        value = fresh_base[node.data[0]] + node.data[1]
    elif node.op is Op.SELECT:
        chosen = node.args[1] if evaluate(node.args[0], leaves, fresh_base, memo) else node.args[2]
        value = evaluate(chosen, leaves, fresh_base, memo)
    else:
        value = int(_APPLY[node.op](*[evaluate(a, leaves, fresh_base, memo) for a in node.args]))
    memo[node.serial] = value
    return value


_APPLY: dict[Op, Any] = {
    Op.NOT: lambda a: not a,
    Op.AND: lambda a, b: a and b,
    Op.OR: lambda a, b: a or b,
    Op.EQ: lambda a, b: a == b,
    Op.LT: lambda a, b: a < b,
    Op.ADD: lambda a, b: a + b,
    Op.SUB: lambda a, b: a - b,
    Op.MUL: lambda a, b: a * b,
    Op.DIV: lambda a, b: a // (b or 1),
    Op.MOD: lambda a, b: a % (b or 1),
    Op.SET_AND: lambda a, b: a & b,
    Op.SET_OR: lambda a, b: a | b,
    Op.SET_MINUS: lambda a, b: a & ~b,
    Op.BIT: lambda a: 1 << (a & 63),  # an index that is out of range is one that nothing selects
    Op.HAS: lambda s, i: s >> (i & 63) & 1,
    Op.COUNT: lambda s: s.bit_count(),
}
