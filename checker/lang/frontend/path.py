"""The current path of symbolic evaluation: its condition, the facts known on it, and the events that may end it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NoReturn

from checker.lang.claims import Claim
from checker.lang.errors import SpecError, shortened
from checker.lang.frontend.source import Function
from checker.lang.frontend.symbols import Step, Store, Symbol
from checker.lang.graph import Graph, TooLargeError
from checker.lang.ir import BoundReads, Event, EventKind, Kind, Node, Op, Site

PULSE = 256  # expressions between two looks at the limits


class Sites:
    """The places in a spec that can end a step, numbered. Shared by all instances of a program."""

    def __init__(self) -> None:
        self.sites: list[Site] = []
        self._numbers: dict[Site, int] = {}

    def number(self, site: Site) -> int:
        if site not in self._numbers:
            self._numbers[site] = len(self.sites)
            self.sites.append(site)
        return self._numbers[site]

    def forget(self, first: int) -> None:
        """Forget the places with this number and above."""
        for site in self.sites[first:]:
            del self._numbers[site]
        del self.sites[first:]


class Facts:
    """Facts that hold on a path: conditions, and the value of nodes compared with constants."""

    def __init__(self, known: dict[int, bool] | None = None, values: dict[int, int] | None = None) -> None:
        self._known = known or {}
        self._values = values or {}

    def copy(self) -> Facts:
        return Facts(dict(self._known), dict(self._values))

    def learn(self, node: Node, holds: bool = True) -> None:
        if node.op is Op.NOT:
            self.learn(node.args[0], not holds)
            return
        self._known[node.serial] = holds
        if (node.op is Op.AND and holds) or (node.op is Op.OR and not holds):
            for part in node.args:
                self.learn(part, holds)
        if node.op is Op.EQ and holds:
            for a, b in (node.args, node.args[::-1]):
                if b.op is Op.CONST:
                    self._values[a.serial] = b.data

    def of(self, node: Node) -> bool | None:
        """True or False if the condition is known, else None."""
        if node.op is Op.CONST:
            return bool(node.data)
        if node.op is Op.NOT:
            inner = self.of(node.args[0])
            return None if inner is None else not inner
        if node.serial in self._known:
            return self._known[node.serial]
        if node.op in (Op.EQ, Op.LT):
            a, b = (self._value(x) for x in node.args)
            if a is not None and b is not None:
                return a == b if node.op is Op.EQ else a < b
        if node.op in (Op.AND, Op.OR):
            parts = [self.of(a) for a in node.args]
            absorbing = node.op is Op.OR
            if absorbing in parts:
                return absorbing
            if None not in parts:
                return not absorbing
        return None

    def _value(self, node: Node) -> int | None:
        return node.data if node.op is Op.CONST else self._values.get(node.serial)


@dataclass
class Frame:
    """One function being evaluated: an action, a property or a helper that is inlined."""

    function: Function
    locals: dict[str, Symbol]
    pure: bool
    returned: bool = False
    result: Symbol | None = None
    claims: Mapping[str, Claim] = field(default_factory=dict)  # of a helper: its annotations


@dataclass
class Write:
    """An assignment to a place of the state.

    record: a record or map was replaced, and a local name for what was there is stale.
    """

    store: Store
    way: tuple[Step, ...]
    record: bool


@dataclass
class PathState:
    """The state of a path: all that differs between the branches of an `if`."""

    nodes: list[Node]
    locals: dict[str, Symbol]
    assigned: ast.AST | None
    cut: ast.AST | None
    fresh: dict[str, int]
    facts: Facts
    writes: list[Write]
    returned: bool = False
    result: Symbol | None = None


class Ended(Exception):
    """The step ends here under this binding of its parameters, whatever the state."""


class Path:
    """Bookkeeping of one symbolic run. Subclasses evaluate."""

    def __init__(self, graph: Graph, sites: Sites, action: int, store: Store) -> None:
        self.graph = graph
        self.sites = sites
        self.action = action
        self.store = store
        self.events: list[Event] = []
        self.condition = graph.true
        self.facts = Facts()
        self.assigned: ast.AST | None = None  # the first assignment to the state on this path
        self.cut: ast.AST | None = None  # the first place on this path that may cut
        self.fresh: dict[str, int] = {}
        self.writes: list[Write] = []
        self.frames: list[Frame] = []
        self.blamed: ast.AST | None = None  # the statement that stores: its events are identified by it
        self.quantifying: set[int] = set()  # ids of the syntax of what any, all and in go through
        self.members: set[tuple[tuple[Node, ...], tuple[Node, ...]]] = set()  # (bag, member of it that is there)
        self.gone_through: list[tuple[int, frozenset[int]]] = []  # bags that they did: that id, the leaves
        self.comparing_counts = False  # of a member in a bag before and after a step
        self.risks = 0  # places met that may cut or break down, unless it is known that they do not
        self.silent = 0  # above 0: dead code is being checked, and leaves no events
        self.prunes = False  # whether what follows where the step always ends is checked only, and leaves no events
        self.ended = False  # such a place was met
        self.stops = False  # whether to raise Ended there
        self.evaluated = 0  # expressions so far

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    def fail(self, node: ast.AST, reason: str, hint: str = "") -> NoReturn:
        """Raise SpecError at `node` of the function being evaluated."""
        raise SpecError(reason, place=self.frame.function.place(node), hint=hint)

    def too_large(self, node: ast.AST, error: TooLargeError) -> NoReturn:
        """Refuse a number that may leave 64 bits: the kernel would not have the value that plain Python has."""
        most = "" if error.lo == error.hi else f" to {shortened(error.hi)}"
        reason = f"a number here may be {shortened(error.lo)}{most}, which takes more than 64 bits"
        self.fail(node, reason, "narrow the ranges of what it is computed from")

    def event(
        self, kind: EventKind, condition: Node, node: ast.AST, reason: str = "", text: str = "",
        reads: BoundReads | None = None,
    ) -> None:  # fmt: skip
        """The step ends here when `condition` holds (on this path).

        text: the source, if it is not all of `node`. reads: of a guard, what it rests on and need not show.
        """
        holds = self.facts.of(condition)
        if kind in (EventKind.CUT, EventKind.ERROR) and (condition.op is Op.CONST or holds is not False):
            self.risks += 1
        if holds is False or self.silent:
            return
        if holds:
            condition = self.graph.true
        if kind is EventKind.CUT and self.cut is None:
            self.cut = node
        node = self.blamed or node
        function = self.frame.function
        line = getattr(node, "lineno", function.tree.lineno)
        site = Site(kind, self.action, function.file, line, text or function.text(node), reason)
        full = self.graph.and_(self.condition, condition)
        if full is not self.graph.false:
            number = self.sites.number(site)
            if not self.ended:
                self.events.append(Event(full, number, self.condition, reads or BoundReads()))
            self._end(full)
        self.facts.learn(condition, False)

    def _end(self, condition: Node) -> None:
        if self.prunes and condition is self.graph.true:
            self.ended = True
            if self.stops:
                raise Ended

    def error(self, condition: Node, node: ast.AST, reason: str) -> None:
        self.event(EventKind.ERROR, condition, node, reason)

    @contextmanager
    def assuming(self, condition: Node) -> Iterator[None]:
        """Evaluate the body only where `condition` holds; it changes no state."""
        before, facts = self.condition, self.facts
        self.condition = self.graph.and_(before, condition)
        self.facts = facts.copy()
        self.facts.learn(condition)
        try:
            yield
        finally:
            self.condition, self.facts = before, facts

    def capture(self) -> PathState:
        frame = self.frame
        return PathState(
            list(self.store.nodes), dict(frame.locals), self.assigned, self.cut, dict(self.fresh),
            self.facts.copy(), list(self.writes), frame.returned, frame.result,
        )  # fmt: skip

    def restore(self, state: PathState) -> None:
        self.store.nodes[:] = state.nodes
        self.frame.locals = dict(state.locals)
        self.assigned, self.cut = state.assigned, state.cut
        self.fresh = dict(state.fresh)
        self.facts = state.facts.copy()
        self.writes = list(state.writes)
        self.frame.returned, self.frame.result = state.returned, state.result

    # Reading codes.

    def code(self, value: int, kind: Kind, sort: str = "") -> Node:
        if kind is Kind.BOOL:
            return self.graph.boolean(bool(value))
        if kind is Kind.SET:
            return self.graph.mask(value)
        if kind is Kind.ORDINAL:
            assert value == 0, "a live ordinal is never a constant"
            return self.graph.absent_ordinal(sort)
        return self.graph.integer(value)
