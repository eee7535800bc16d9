"""The intermediate representation: what a spec means for one model, as a graph of expressions.

The front end evaluates every action symbolically, once for each binding of its parameters, and
leaves a `Program`: a flat list of state leaves, and per binding (an *instance*) the events that may
end it early and the next value of each leaf that it assigns. Kernel and solver both read this and
nothing else, so a transition is written once.

Nodes are hash-consed: two equal expressions are the same object, so `is` compares them. The
constructors below fold constants and keep the interval of every integer; `VALIDITY` says what each
operator takes and gives, and `interpret.check_nodes` holds nodes to it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

EVALUATES = " can be evaluated"  # after the name of what is declared: the property that evaluating it never breaks down


class Kind(Enum):
    """What a node's value is."""

    BOOL = "bool"
    INT = "int"  # also enums, identities, tags and present-or-absent codes: the code of the value
    ORDINAL = "ordinal"  # code 0 is absent, live ones are 1.. in order
    SET = "set"  # a bit mask of at most 64 bits

    __hash__ = object.__hash__  # an enum's own is several times slower, and every node is looked up by its kind


class Op(Enum):
    """The operators. `Node.data` holds what is not a node (a constant, a leaf's index, ...)."""

    CONST = "const"  # data: the value
    LEAF = "leaf"  # data: index into Program.leaves; the value before the step
    FRESH = "fresh"  # data: (sort, k): the k-th ordinal issued in this step, above all live ones
    NOT = "not"
    AND = "and"
    OR = "or"
    SELECT = "select"  # condition, if true, if false
    EQ = "eq"
    LT = "lt"
    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    DIV = "div"  # rounded down, as Python has it; by 0: anything, and nothing selects it
    MOD = "mod"  # the remainder of that: of the divisor's sign
    SET_AND = "set_and"
    SET_OR = "set_or"
    SET_MINUS = "set_minus"
    BIT = "bit"  # the set of one member, whose index is the argument
    HAS = "has"  # set, index of a member
    COUNT = "count"  # members of a set

    __hash__ = object.__hash__  # as of Kind


class Shape(NamedTuple):
    """Kinds of an operator's arguments and of its result; None: the same as the first None."""

    arguments: tuple[Kind | None, ...]
    result: Kind | None


_B, _I, _S = Kind.BOOL, Kind.INT, Kind.SET
VALIDITY: dict[Op, Shape] = {
    Op.NOT: Shape((_B,), _B),
    Op.AND: Shape((_B, _B), _B),
    Op.OR: Shape((_B, _B), _B),
    Op.SELECT: Shape((_B, None, None), None),
    Op.EQ: Shape((None, None), _B),
    Op.LT: Shape((None, None), _B),
    Op.ADD: Shape((_I, _I), _I),
    Op.SUB: Shape((_I, _I), _I),
    Op.MUL: Shape((_I, _I), _I),
    Op.DIV: Shape((_I, _I), _I),
    Op.MOD: Shape((_I, _I), _I),
    Op.SET_AND: Shape((_S, _S), _S),
    Op.SET_OR: Shape((_S, _S), _S),
    Op.SET_MINUS: Shape((_S, _S), _S),
    Op.BIT: Shape((_I,), _S),
    Op.HAS: Shape((_S, _I), _B),
    Op.COUNT: Shape((_S,), _I),
}


class Node:
    """One expression. `lo..hi` bounds an integer's value (both inclusive); `sort` names an ordinal's sort."""

    __slots__ = ("args", "data", "hi", "kind", "lo", "op", "serial", "sort")

    def __init__(
        self, op: Op, args: tuple[Node, ...], data: Any, kind: Kind, lo: int, hi: int, sort: str, serial: int
    ) -> None:
        self.op = op
        self.args = args
        self.data = data
        self.kind = kind
        self.lo = lo
        self.hi = hi
        self.sort = sort
        self.serial = serial

    def __repr__(self) -> str:
        if self.op is Op.CONST:
            return str(self.data)
        inner = ", ".join([repr(a) for a in self.args] + ([str(self.data)] if self.data is not None else []))
        return f"{self.op.value}({inner})"


def reachable(nodes: Iterable[Node]) -> list[Node]:
    """Every node that `nodes` are made from, themselves included."""
    found: dict[int, Node] = {}
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if node.serial not in found:
            found[node.serial] = node
            stack.extend(node.args)
    return list(found.values())


def support(node: Node) -> frozenset[int]:
    """The leaves that an expression reads."""
    return frozenset(n.data for n in reachable([node]) if n.op is Op.LEAF)


def highs(greatest: Node, least: Node | None = None) -> frozenset[int]:
    """The leaves whose largest values `greatest.hi` comes from, and `least.lo`."""
    found: set[int] = set()
    seen: set[tuple[int, bool]] = set()
    stack = [(greatest, True), *([(least, False)] if least is not None else [])]
    while stack:
        node, up = stack.pop()
        if node.kind is not Kind.INT or (node.serial, up) in seen:
            continue
        seen.add((node.serial, up))
        if node.op is Op.LEAF and up:
            found.add(node.data)
        elif node.op is Op.SUB:
            stack += [(node.args[0], up), (node.args[1], not up)]
        elif node.op in (Op.MUL, Op.DIV, Op.MOD):
            stack += [(a, way) for a in node.args for way in (True, False)]
        else:  # of a SELECT, the condition is no INT
            stack += [(a, up) for a in node.args]
    return frozenset(found)


@dataclass(frozen=True)
class Leaf:
    """One scalar of the state. `size` is the number of codes (0..size-1); for a set, of members.

    An ordinal has no size here: the layout derives it from the number of leaves of its sort.
    `slot` is (bag, slot) for a leaf inside a bag's slot: the slots of a bag are kept sorted.
    """

    path: str
    kind: Kind
    size: int = 0
    sort: str = ""
    slot: tuple[int, int] | None = None
    hidden: bool = False  # a history variable that a view leaves out of the state's identity


@dataclass(frozen=True)
class Bag:
    """A bag of at most `capacity` slots; `slots[i]` are the leaf indices of slot i in declared order.

    The first leaf of a slot is an INT code that is 0 exactly when the slot is empty (and then all its
    leaves are 0). Canonical order: full slots first, ascending by their leaves in declared order.
    """

    path: str
    slots: tuple[tuple[int, ...], ...]


class EventKind(Enum):
    REQUIRE = "require"  # a guard is false: the step cannot happen
    ABSENT = "absent"  # the member that a parameter stands for is not there: no attempt at all
    CUT = "cut"  # a bound would be exceeded: the step is enabled but cut
    ERROR = "error"  # out of range, absent option used, ...: a violation


@dataclass(frozen=True)
class Site:
    """A place in a spec that can end a step. `text` is its source, `reason` what an error says."""

    kind: EventKind
    action: int
    file: str
    line: int
    text: str
    reason: str = ""


@dataclass(frozen=True)
class Event:
    """Ends the step when `condition` is true and no earlier event's was.

    `reached` is true where the spec's text gets to this place on the path taken (TRUE for straight-line code).
    `reads`: what a guard rests on and need not show.
    """

    condition: Node
    site: int
    reached: Node
    reads: BoundReads = field(default_factory=lambda: BoundReads())


@dataclass(frozen=True)
class BoundReads:
    """How expressions rest on the bounds of the state, where the expressions themselves need not show it.

    decided: (a, b), each a node or None: that `a.hi` is not above `b.lo`, or that `a.hi` is no more than it is, decided
    a comparison (`s.losses > 2` is false where there are at most 2).
    counted: leaves of collections that were gone through in some other way than by `any`, `all` and `in`.
    quantified: (leaves, depth): collections that these went through, nested so deep.
    """

    decided: frozenset[tuple[Node, Node | None]] = frozenset()
    counted: frozenset[int] = frozenset()
    quantified: frozenset[tuple[frozenset[int], int]] = frozenset()

    def __or__(self, other: BoundReads) -> BoundReads:
        return BoundReads(
            self.decided | other.decided, self.counted | other.counted, self.quantified | other.quantified
        )

    @functools.cached_property
    def largest(self) -> frozenset[int]:
        """The leaves whose largest values something rests on."""
        return frozenset[int]().union(*[highs(a, b) for a, b in self.decided])


@dataclass(frozen=True)
class Instance:
    """One action under one binding of its parameters.

    `updates`: leaf index -> its value after the step (leaves that stay are left out).
    `breaks`: (property, condition): the step breaks that transition property.
    `outside`: the state after the step breaks a state constraint.
    `reads`: what its events and updates rest on and need not show, but for what is said of its guards.
    """

    action: int
    parameters: tuple[Any, ...]  # Python values, or Member(i)
    events: tuple[Event, ...]
    updates: dict[int, Node]
    breaks: tuple[tuple[int, Node], ...]
    outside: Node
    reads: BoundReads = field(default_factory=lambda: BoundReads())


@dataclass(frozen=True)
class Member:
    """A parameter bound to the member with this index (slot of a bag or sequence, bit of a set, key of a map)."""

    index: int


@dataclass(frozen=True)
class Property:
    """A property of states. Invariant: broken where `condition` holds. Witness: reached where it holds."""

    name: str
    kind: str  # "invariant", "transition invariant", "witness", "deadlock", or one of `LIVENESS`
    condition: Node | None
    reads: BoundReads = field(default_factory=BoundReads)


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

    def nodes(self) -> list[Node]:
        """Every node made so far, arguments before what uses them."""
        return list(self._nodes.values())

    def taken_reads(self) -> BoundReads:
        """What was made since this was last asked for rests on, beyond what it shows."""
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
        """How many members a set over `most` possible ones has."""
        if members.op is Op.CONST:
            return self.integer(members.data.bit_count())
        return self._make(Op.COUNT, (members,), None, Kind.INT, 0, most)
