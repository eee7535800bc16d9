"""IR expressions as Z3 expressions.

Booleans are Z3 booleans and ordinals unbounded integers (0 dead, live ones above it, nothing but order and equality).
Codes and sets are bit-vectors, each of one width for the whole program, wide enough for every value that a node of it
can have. A bag's slots may stand in any order and have holes: the program asks neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import z3

from checker.lang.ir import Kind, Leaf, Node, Op, reachable
from checker.lang.program import Program

_MAX_SET = 64


def program_nodes(program: Program) -> list[Node]:
    """Every node that a program's steps and properties are made from."""
    roots = [program.outside, *(p.condition for p in program.properties if p.condition is not None)]
    for instance in program.instances:
        roots += [event.condition for event in instance.events]
        roots += [*instance.updates.values(), *(condition for _, condition in instance.breaks), instance.outside]
    return reachable(roots)


class State:
    """A state as Z3 sees it: an expression for each leaf, for each ordinal that the step out of it issues, and
    what was made of them so far."""

    def __init__(self, leaves: Sequence[Any], fresh: Mapping[tuple[str, int], Any]) -> None:
        self.leaves = list(leaves)
        self.fresh = fresh
        self.memo: dict[int, Any] = {}


class Encoding:
    """The Z3 sorts of a program, and its expressions over given states."""

    def __init__(self, program: Program) -> None:
        self.program = program
        nodes = program_nodes(program)
        self.code_bits = _code_bits(program.leaves, nodes)
        self.set_bits = _set_bits(program.leaves, nodes)

    def code(self, value: int) -> Any:
        return z3.BitVecVal(value, self.code_bits)

    def value(self, leaf: Leaf, code: int) -> Any:
        """A code of a leaf as an expression."""
        if leaf.kind is Kind.BOOL:
            return z3.BoolVal(bool(code))
        if leaf.kind is Kind.ORDINAL:
            return z3.IntVal(code)
        return z3.BitVecVal(code, self.set_bits if leaf.kind is Kind.SET else self.code_bits)

    def variable(self, leaf: Leaf, name: str) -> Any:
        if leaf.kind is Kind.BOOL:
            return z3.Bool(name)
        if leaf.kind is Kind.ORDINAL:
            return z3.Int(name)
        return z3.BitVec(name, self.set_bits if leaf.kind is Kind.SET else self.code_bits)

    def state(self, name: str) -> State:
        """A state of which nothing is known. Its variables are called by `name` and the paths of its leaves."""
        leaves = [self.variable(leaf, f"{name}{leaf.path}#{i}") for i, leaf in enumerate(self.program.leaves)]
        fresh = {
            (sort, k): z3.Int(f"{name} fresh {sort}#{k}")
            for sort, count in self.program.fresh_per_step.items() for k in range(count)
        }  # fmt: skip
        return State(leaves, fresh)

    def after(self, before: State, updates: Mapping[int, Node]) -> State:
        """The state that a step leaves: `updates` read in `before`, all else as it was."""
        leaves = [self.of(updates[i], before) if i in updates else old for i, old in enumerate(before.leaves)]
        return State(leaves, {})

    def fresh_is_above(self, state: State) -> list[Any]:
        """The promise of `fresh`: each ordinal is above all of its sort in the state, and above those issued before."""
        facts = []
        for (sort, k), issued in state.fresh.items():
            below = [v for v, leaf in zip(state.leaves, self.program.leaves, strict=True) if leaf.sort == sort]
            facts += [issued > value for value in (below if k == 0 else [state.fresh[sort, k - 1]])]
            facts.append(issued > 0)
        return facts

    def codes(self, model: z3.ModelRef, state: State) -> list[int]:
        """The codes that a model gives to a state's leaves."""
        found = []
        for expression in state.leaves:
            value = model.eval(expression, model_completion=True)
            found.append(int(z3.is_true(value)) if z3.is_bool(value) else value.as_long())
        return found

    def of(self, node: Node, state: State) -> Any:
        """The expression that `node` is in `state`."""
        memo = state.memo
        stack = [node]
        while stack:
            top = stack[-1]
            if top.serial in memo:
                stack.pop()
                continue
            missing = [a for a in top.args if a.serial not in memo]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            memo[top.serial] = self._make(top, state, [memo[a.serial] for a in top.args])
        return memo[node.serial]

    def _make(self, node: Node, state: State, args: list[Any]) -> Any:
        if node.op is Op.CONST:
            return self.value(Leaf("", node.kind), node.data)
        if node.op is Op.LEAF:
            return state.leaves[node.data]
        if node.op is Op.FRESH:
            return state.fresh[node.data]
        if node.op is Op.BIT:
            return self._one() << self._index(args[0])
        if node.op is Op.HAS:
            return self._bit(args[0], node.args[1], args[1])
        if node.op is Op.COUNT:
            return self._count(args[0])
        return _APPLY[node.op](*args)

    def _one(self) -> Any:
        return z3.BitVecVal(1, self.set_bits)

    def _index(self, code: Any) -> Any:
        """A code as wide as a set. What does not fit is the index of no member, which nothing selects."""
        if self.code_bits < self.set_bits:
            return z3.ZeroExt(self.set_bits - self.code_bits, code)
        return z3.Extract(self.set_bits - 1, 0, code)

    def _bit(self, members: Any, index: Node, code: Any) -> Any:
        if index.op is Op.CONST:
            return z3.Extract(index.data, index.data, members) == 1
        return z3.Extract(0, 0, z3.LShR(members, self._index(code))) == 1

    def _count(self, members: Any) -> Any:
        bits = [z3.Extract(i, i, members) for i in range(self.set_bits)]
        wide = [z3.ZeroExt(self.code_bits - 1, bit) for bit in bits]
        return z3.Sum(wide) if len(wide) > 1 else wide[0]


def _floor_divided(a: Any, b: Any) -> Any:
    """Rounded down: `/` of bit-vectors rounds towards 0."""
    rest = z3.SRem(a, b)
    return z3.If(z3.And(rest != 0, (rest < 0) != (b < 0)), a / b - 1, a / b)


_APPLY: dict[Op, Any] = {
    Op.NOT: z3.Not,
    Op.AND: z3.And,
    Op.OR: z3.Or,
    Op.SELECT: z3.If,
    Op.EQ: lambda a, b: a == b,
    Op.LT: lambda a, b: a < b,  # of bit-vectors: signed
    Op.ADD: lambda a, b: a + b,
    Op.SUB: lambda a, b: a - b,
    Op.MUL: lambda a, b: a * b,
    Op.DIV: _floor_divided,
    Op.MOD: lambda a, b: a % b,  # of bit-vectors: of the divisor's sign
    Op.SET_AND: lambda a, b: a & b,
    Op.SET_OR: lambda a, b: a | b,
    Op.SET_MINUS: lambda a, b: a & ~b,
}


def _code_bits(leaves: Sequence[Leaf], nodes: Sequence[Node]) -> int:
    """Bits of two's complement that hold every integer of the program."""
    values = [leaf.size - 1 for leaf in leaves if leaf.kind is Kind.INT]
    values += [bound for node in nodes if node.kind is Kind.INT for bound in (node.lo, node.hi)]
    return 1 + max((v.bit_length() for v in values), default=1)


def _set_bits(leaves: Sequence[Leaf], nodes: Sequence[Node]) -> int:
    """The most members that a set of the program may have."""
    sizes = [leaf.size for leaf in leaves if leaf.kind is Kind.SET]
    sizes += [node.data.bit_length() for node in nodes if node.op is Op.CONST and node.kind is Kind.SET]
    sizes += [min(_MAX_SET, node.args[-1].hi + 1) for node in nodes if node.op in (Op.BIT, Op.HAS)]
    return max(sizes, default=1) or 1
