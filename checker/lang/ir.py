"""The intermediate representation: what a spec means for one model, as a graph of expressions.

The front end evaluates every action symbolically, once for each binding of its parameters, and
leaves a `Program`: a flat list of state leaves, and per binding (an *instance*) the events that may
end it early and the next value of each leaf that it assigns. Kernel and solver both read this and
nothing else, so a transition is written once.

Nodes are hash-consed: two equal expressions are the same object, so `is` compares them. `graph.Graph` builds them,
folds constants and keeps the interval of every integer; `VALIDITY` says what each operator takes and gives, and
`interpret.check_nodes` holds nodes to it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

EVALUATES = " can be evaluated"  # after the name of what is declared: the property that evaluating it never breaks down


class Kind(Enum):
    """The kind of a node's value."""

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
        else:  # of a SELECT, the condition is not an INT
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
    """The ways in which expressions rest on the bounds of the state, where the expressions themselves need not show it.

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
