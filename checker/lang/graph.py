"""Builds expressions of the intermediate representation: hash-consed, folded, each integer with its interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from checker.lang.ir import BoundReads, Kind, Leaf, Node, Op

LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1
"""Between these are the integers of a node that is computed: kernels compute in 64 bits."""


class TooLargeError(ArithmeticError):
    """A number that is computed may leave 64 bits: it is between `lo` and `hi`."""

    def __init__(self, lo: int, hi: int) -> None:
        self.lo, self.hi = lo, hi
        super().__init__(f"a number between {lo} and {hi}")


def _check_range(lo: int, hi: int, args: tuple[Node, ...]) -> None:
    constants = [(a.lo, a.hi) for a in args if a.op is Op.CONST and a.kind is Kind.INT]
    for least, most in ((lo, hi), *constants):
        if least < LOWEST or most > HIGHEST:
            raise TooLargeError(least, most)


class Graph:
    """Builds nodes: folds constants, keeps intervals, shares equal expressions.

    first: the serial of its first node; above those of another graph, where nodes of both are used together.
    """

    def __init__(self, first: int = 0) -> None:
        self._first = first
        self.pulse: Callable[[], None] = lambda: None  # called now and then while nodes are made; it may raise
        self._nodes: dict[tuple[Any, ...], Node] = {}
        self.decided: set[tuple[Node, Node | None]] = set()  # these three: see BoundReads
        self.counted: set[int] = set()
        self.quantified: set[tuple[frozenset[int], int]] = set()
        self.quantifiers: dict[int, int] = {}  # see Program
        self.true = self._make(Op.CONST, (), True, Kind.BOOL, 0, 1)
        self.false = self._make(Op.CONST, (), False, Kind.BOOL, 0, 1)

    def _make(
        self, op: Op, args: tuple[Node, ...], data: Any, kind: Kind, lo: int = 0, hi: int = 0, sort: str = ""
    ) -> Node:
        key = (op, args, data, kind, sort, hi if op is Op.LEAF or op is Op.COUNT else 0)
        node = self._nodes.get(key)
        if node is None:
            if kind is Kind.INT and op is not Op.CONST:
                _check_range(lo, hi, args)
            node = Node(op, args, data, kind, lo, hi, sort, self._first + len(self._nodes))
            self._nodes[key] = node
        return node

    def __len__(self) -> int:
        """How many nodes were made."""
        return len(self._nodes)

    def nodes(self) -> list[Node]:
        """Every node made so far, arguments before what uses them."""
        return list(self._nodes.values())

    def taken_reads(self) -> BoundReads:
        """Return the reads of all that was made since the last call, beyond what the nodes show."""
        reads = BoundReads(frozenset(self.decided), frozenset(self.counted), frozenset(self.quantified))
        self.decided.clear()
        self.counted.clear()
        self.quantified.clear()
        return reads

    def give_back(self, reads: BoundReads) -> None:
        """Note again what `taken_reads` gave."""
        self.decided |= reads.decided
        self.counted |= reads.counted
        self.quantified |= reads.quantified

    # Constants and sources.

    def integer(self, value: int) -> Node:
        return self._make(Op.CONST, (), value, Kind.INT, value, value)

    def boolean(self, value: bool) -> Node:
        return self.true if value else self.false

    def mask(self, value: int) -> Node:
        return self._make(Op.CONST, (), value, Kind.SET)

    def absent_ordinal(self, sort: str) -> Node:
        return self._make(Op.CONST, (), 0, Kind.ORDINAL, sort=sort)

    def leaf(self, index: int, leaf: Leaf) -> Node:
        hi = leaf.size - 1 if leaf.kind is Kind.INT else 1
        return self._make(Op.LEAF, (), index, leaf.kind, 0, hi, leaf.sort)

    def narrow_leaf(self, node: Node, hi: int) -> Node:
        """The same leaf, known to be at most `hi` here (variants of a union share leaves)."""
        return self._make(Op.LEAF, (), node.data, node.kind, 0, hi)

    def fresh(self, sort: str, k: int) -> Node:
        return self._make(Op.FRESH, (), (sort, k), Kind.ORDINAL, sort=sort)

    # Booleans.

    def not_(self, a: Node) -> Node:
        if a.op is Op.CONST:
            return self.boolean(not a.data)
        if a.op is Op.NOT:
            return a.args[0]
        return self._make(Op.NOT, (a,), None, Kind.BOOL, 0, 1)

    def and_(self, a: Node, b: Node) -> Node:
        if a.op is Op.CONST:
            return b if a.data else a
        if b.op is Op.CONST:
            return a if b.data else b
        if a is b:
            return a
        if self._opposite(a, b):
            return self.false
        if a.op is Op.AND and b in a.args:
            return a
        if b.op is Op.AND and a in b.args:
            return b
        for x, y in ((a, b), (b, a)):
            if y.op is Op.NOT and y.args[0].op is Op.AND and x in y.args[0].args:
                p, q = y.args[0].args
                return self.and_(x, self.not_(q if p is x else p))
        return self._make(Op.AND, self._ordered(a, b), None, Kind.BOOL, 0, 1)

    def or_(self, a: Node, b: Node) -> Node:
        if a.op is Op.CONST:
            return a if a.data else b
        if b.op is Op.CONST:
            return b if b.data else a
        if a is b:
            return a
        if self._opposite(a, b):
            return self.true
        return self._make(Op.OR, self._ordered(a, b), None, Kind.BOOL, 0, 1)

    def all_(self, nodes: Sequence[Node]) -> Node:
        result = self.true
        for node in nodes:
            result = self.and_(result, node)
        return result

    def any_(self, nodes: Sequence[Node]) -> Node:
        result = self.false
        for node in nodes:
            result = self.or_(result, node)
        return result

    @staticmethod
    def _opposite(a: Node, b: Node) -> bool:
        return (a.op is Op.NOT and a.args[0] is b) or (b.op is Op.NOT and b.args[0] is a)

    @staticmethod
    def _ordered(a: Node, b: Node) -> tuple[Node, Node]:
        return (a, b) if a.serial <= b.serial else (b, a)

    def select(self, condition: Node, a: Node, b: Node) -> Node:
        if condition.op is Op.CONST:
            return a if condition.data else b
        if a is b:
            return a
        if condition.op is Op.NOT:
            return self.select(condition.args[0], b, a)
        if a.kind is Kind.BOOL:
            if a.op is Op.CONST:
                return self.or_(condition, b) if a.data else self.and_(self.not_(condition), b)
            if b.op is Op.CONST:
                return self.or_(self.not_(condition), a) if b.data else self.and_(condition, a)
        if a.op is Op.SELECT and a.args[0] is condition:
            return self.select(condition, a.args[1], b)
        if b.op is Op.SELECT and b.args[0] is condition:
            return self.select(condition, a, b.args[2])
        return self._make(
            Op.SELECT, (condition, a, b), None, a.kind, min(a.lo, b.lo), max(a.hi, b.hi), a.sort or b.sort
        )

    # Comparisons.

    def eq(self, a: Node, b: Node) -> Node:
        if a is b:
            return self.true
        if a.kind is Kind.BOOL:
            return self.select(a, b, self.not_(b))
        if a.op is Op.CONST and b.op is Op.CONST:
            return self.boolean(a.data == b.data)
        if a.kind is Kind.INT:
            if a.hi < b.lo or b.hi < a.lo:
                self.decided.add((a, b) if a.hi < b.lo else (b, a))
                return self.false
            if a.op is Op.CONST:
                a, b = b, a
            if b.op is Op.CONST and a.op is Op.ADD and a.args[1].op is Op.CONST:
                return self.eq(a.args[0], self.integer(b.data - a.args[1].data))
            if a.op is Op.ADD and b.op is Op.ADD and a.args[1] is b.args[1]:
                return self.eq(a.args[0], b.args[0])
            if b.op is Op.CONST and a.op is Op.SELECT and any(x.op is Op.CONST for x in a.args[1:]):
                return self.select(a.args[0], self.eq(a.args[1], b), self.eq(a.args[2], b))
        if a.kind is Kind.ORDINAL and Op.FRESH in (a.op, b.op) and Op.LEAF in (a.op, b.op):
            return self.false  # what is fresh equals nothing that was there
        return self._make(Op.EQ, self._ordered(a, b), None, Kind.BOOL, 0, 1)

    def lt(self, a: Node, b: Node) -> Node:
        if a is b:
            return self.false
        if a.kind is Kind.INT:
            if a.hi < b.lo:
                self.decided.add((a, b))
                return self.true
            if a.lo >= b.hi:
                self.decided.add((b, a))
                return self.false
        return self._make(Op.LT, (a, b), None, Kind.BOOL, 0, 1)

    # Integers.

    def add(self, a: Node, b: Node) -> Node:
        if a.op is Op.CONST and b.op is Op.CONST:
            return self.integer(a.data + b.data)
        if a.op is Op.CONST:
            a, b = b, a
        if b.op is Op.CONST:
            if b.data == 0:
                return a
            if a.op is Op.ADD and a.args[1].op is Op.CONST:
                return self.add(a.args[0], self.integer(a.args[1].data + b.data))
        else:
            a, b = self._ordered(a, b)
        return self._make(Op.ADD, (a, b), None, Kind.INT, a.lo + b.lo, a.hi + b.hi)

    def sub(self, a: Node, b: Node) -> Node:
        if b.op is Op.CONST:
            return self.add(a, self.integer(-b.data))
        if a is b:
            return self.integer(0)
        return self._make(Op.SUB, (a, b), None, Kind.INT, a.lo - b.hi, a.hi - b.lo)

    def mul(self, a: Node, b: Node) -> Node:
        if a.op is Op.CONST and b.op is Op.CONST:
            return self.integer(a.data * b.data)
        a, b = self._ordered(a, b)
        for x, y in ((a, b), (b, a)):
            if x.op is Op.CONST and x.data in (0, 1):
                return y if x.data else x
        corners = [x * y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
        return self._make(Op.MUL, (a, b), None, Kind.INT, min(corners), max(corners))

    def div(self, a: Node, b: Node) -> Node:
        if a.op is Op.CONST and b.op is Op.CONST and b.data:
            return self.integer(a.data // b.data)
        if b.op is Op.CONST and b.data == 1:
            return a
        divisors = [y for y in (b.lo, -1, 1, b.hi) if y and b.lo <= y <= b.hi]
        corners = [x // y for x in (a.lo, a.hi) for y in divisors] or [0]
        return self._make(Op.DIV, (a, b), None, Kind.INT, min(corners), max(corners))

    def mod(self, a: Node, b: Node) -> Node:
        if a.op is Op.CONST and b.op is Op.CONST and b.data:
            return self.integer(a.data % b.data)
        if a.lo >= 0 and a.hi < b.lo:
            self.decided.add((a, b))
            return a
        hi = max(0, b.hi - 1) if a.lo < 0 or b.lo <= 0 else min(a.hi, b.hi - 1)
        return self._make(Op.MOD, (a, b), None, Kind.INT, min(0, b.lo + 1), hi)

    # Sets.

    def set_and(self, a: Node, b: Node) -> Node:
        if a is b:
            return a
        if a.op is Op.CONST and b.op is Op.CONST:
            return self.mask(a.data & b.data)
        if self._empty(a) or self._empty(b):
            return self.mask(0)
        return self._make(Op.SET_AND, self._ordered(a, b), None, Kind.SET)

    def set_or(self, a: Node, b: Node) -> Node:
        if a is b or self._empty(b):
            return a
        if self._empty(a):
            return b
        if a.op is Op.CONST and b.op is Op.CONST:
            return self.mask(a.data | b.data)
        return self._make(Op.SET_OR, self._ordered(a, b), None, Kind.SET)

    def set_minus(self, a: Node, b: Node) -> Node:
        if self._empty(b) or self._empty(a):
            return a
        if a is b:
            return self.mask(0)
        if a.op is Op.CONST and b.op is Op.CONST:
            return self.mask(a.data & ~b.data)
        return self._make(Op.SET_MINUS, (a, b), None, Kind.SET)

    @staticmethod
    def _empty(a: Node) -> bool:
        return a.op is Op.CONST and a.data == 0

    def bit(self, index: Node) -> Node:
        if index.op is Op.CONST:
            return self.mask(1 << index.data)
        return self._make(Op.BIT, (index,), None, Kind.SET)

    def has(self, members: Node, index: Node) -> Node:
        if members.op is Op.CONST and index.op is Op.CONST:
            return self.boolean(bool(members.data >> index.data & 1))
        if self._empty(members):
            return self.false
        return self._make(Op.HAS, (members, index), None, Kind.BOOL, 0, 1)

    def count(self, members: Node, most: int) -> Node:
        """The number of members of a set over `most` possible ones."""
        if members.op is Op.CONST:
            return self.integer(members.data.bit_count())
        return self._make(Op.COUNT, (members,), None, Kind.INT, 0, most)
