"""Statements of a spec: assignments, branches, loops, and functions that are inlined."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from typing import Any

from checker.lang.claims import RETURNED, claims_of, is_held
from checker.lang.frontend.calls import Calls
from checker.lang.frontend.codes import NONE
from checker.lang.frontend.loops import check_order
from checker.lang.frontend.path import Frame, PathState, Write
from checker.lang.frontend.source import function_of
from checker.lang.frontend.symbols import Display, Location, Symbol
from checker.lang.graph import TooLargeError
from checker.lang.ir import Node
from checker.lang.resolve import resolve
from checker.lang.types import MapType, OptionType, RecordType, SeqType, Type

Block = list["ast.stmt | Binding"]


class Binding:
    """A pseudo-statement: one round of a loop, with its element bound where it is there."""

    def __init__(self, there: Node, target: ast.expr, element: Symbol, body: Block) -> None:
        self.there, self.target, self.element, self.body = there, target, element, body


def may_return(statement: ast.stmt | Binding) -> bool:
    """True if a return stands anywhere inside."""
    if isinstance(statement, Binding):
        return any(may_return(s) for s in statement.body)
    return _has_return(statement)


@functools.cache  # the same statement is met on every path and in every model
def _has_return(statement: ast.stmt) -> bool:
    return any(isinstance(n, ast.Return) for n in ast.walk(statement))


@functools.cache
def _names(test: ast.expr) -> frozenset[str]:
    return frozenset(n.id for n in ast.walk(test) if isinstance(n, ast.Name))


class Machine(Calls):
    """Runs a function of a spec symbolically, on all its paths at once."""

    def run(self, function: Callable[..., Any], arguments: list[Symbol], pure: bool) -> Symbol:
        """The result of `function`; its assignments are left in the store, its possible endings in `events`."""
        source = function_of(function)
        claims = claims_of(function) if is_held(function) else {}
        frame = Frame(source, dict(zip(source.parameters, arguments, strict=True)), pure, claims=claims)
        self.frames.append(frame)
        self._hold(frame)
        self.block(list(source.tree.body))
        self.frames.pop()
        return frame.result if frame.result is not None else NONE

    def inline(self, function: Callable[..., Any], arguments: list[Symbol]) -> Symbol:
        return self.run(function, arguments, pure=True)

    def _hold(self, frame: Frame) -> None:
        """Check a helper's arguments against its annotations."""
        for argument in frame.function.tree.args.args:
            claim = frame.claims.get(argument.arg)
            if claim is not None:
                frame.locals[argument.arg] = self.claimed(frame.locals[argument.arg], claim, argument)

    # Blocks. A branch that may return takes the statements after it along, so that
    # what follows an early return is evaluated only on the paths that get there.

    def block(self, statements: Block) -> None:
        for i, statement in enumerate(statements):
            rest = statements[i + 1 :]
            if isinstance(statement, ast.For):
                rounds = self._rounds(statement)
                if any(may_return(r) for r in rounds):
                    self.block([*rounds, *rest])
                    return
                self._rounds_in_any_order(statement, rounds)
            elif isinstance(statement, ast.If | ast.Match | Binding):
                follows = rest if may_return(statement) else []
                self._branching(statement, follows)
                if may_return(statement):
                    return
            else:
                self._statement(statement)
            if self.frame.returned:
                return

    def _branching(self, statement: ast.If | ast.Match | Binding, rest: Block) -> None:
        if isinstance(statement, ast.If):
            condition = self.truth(statement.test)
            self._branch(condition, [*statement.body, *rest], [*statement.orelse, *rest], statement)
        elif isinstance(statement, ast.Match):
            subject = self.expression(statement.subject)
            self._cases(subject, statement, statement.cases, rest)
        else:
            self._round(statement, rest)

    def _branch(self, condition: Node, then: Block, otherwise: Block, node: ast.stmt) -> None:
        known = self.facts.of(condition)
        if known is not None:
            self._check_dead(otherwise if known else then, node)
            self.block(then if known else otherwise)
            return
        self._fork(condition, lambda: self.block(then), lambda: self.block(otherwise), node)

    def _check_dead(self, block: Block, node: ast.stmt) -> None:
        """Look for errors in a branch that a design switch turns off; it leaves no code."""
        if not (isinstance(node, ast.If) and self._on_constants_only(node.test)):
            return
        before = self.capture()
        self.silent += 1
        self.block(block)
        self.silent -= 1
        self.restore(before)

    def _on_constants_only(self, test: ast.expr) -> bool:
        names = _names(test)
        return bool(names) and names.isdisjoint(self.frame.locals)

    def _fork(self, condition: Node, then: Callable[[], None], otherwise: Callable[[], None], node: ast.AST) -> None:
        """Run both branches and merge what they leave."""
        start, outer = self.capture(), self.condition
        self.condition = self.graph.and_(outer, condition)
        self.facts.learn(condition)
        then()
        yes = self.capture()
        self.restore(start)
        negated = self.graph.not_(condition)
        self.condition = self.graph.and_(outer, negated)
        self.facts.learn(negated)
        otherwise()
        no = self.capture()
        self.condition = outer
        self._merge(condition, yes, no, start, node)

    def _merge(self, condition: Node, yes: PathState, no: PathState, start: PathState, node: ast.AST) -> None:
        if yes.nodes != no.nodes:
            pairs = zip(yes.nodes, no.nodes, strict=True)
            self.store.nodes[:] = [a if a is b else self.graph.select(condition, a, b) for a, b in pairs]
        self.facts = start.facts
        self.assigned = yes.assigned or no.assigned
        self.cut = yes.cut or no.cut
        self.fresh = {s: max(yes.fresh.get(s, 0), no.fresh.get(s, 0)) for s in {*yes.fresh, *no.fresh}}
        self.writes = [*yes.writes, *no.writes[len(start.writes) :]]
        frame = self.frame
        frame.returned = yes.returned or no.returned
        if frame.returned:
            frame.result = self._merged_result(condition, yes, no, node)
            return
        both = [name for name in yes.locals if name in no.locals]
        frame.locals = {n: self._merged_local(condition, n, yes, no, node) for n in both}

    def _merged_local(self, condition: Node, name: str, yes: PathState, no: PathState, node: ast.AST) -> Symbol:
        a, b = yes.locals[name], no.locals[name]
        if isinstance(a, Location) and isinstance(b, Location) and a != b and not self._same_place(a, b):
            self.fail(node, f"{name} stands for a different place on each branch", "name two places")
        return self.joined(condition, a, b, node)

    def _merged_result(self, condition: Node, yes: PathState, no: PathState, node: ast.AST) -> Symbol:
        a = yes.result if yes.result is not None else NONE
        b = no.result if no.result is not None else NONE
        return self.joined(condition, a, b, node)

    # Match.

    def _cases(self, subject: Symbol, node: ast.Match, cases: list[ast.match_case], rest: Block) -> None:
        if not cases:
            self.block(rest)
            return
        case, *others = cases
        condition, bindings = self._pattern(subject, case.pattern)

        def matched() -> None:
            for name, symbol in bindings().items():
                self.frame.locals[name] = symbol
            if case.guard is None:
                self.block([*case.body, *rest])
                return
            holds = self.truth(case.guard)
            body: Block = [*case.body, *rest]
            self._fork(holds, lambda: self.block(body), lambda: self._cases(subject, node, others, rest), node)

        known = self.facts.of(condition)
        if known is None:
            self._fork(condition, matched, lambda: self._cases(subject, node, others, rest), node)
        elif known:
            matched()
        else:
            self._cases(subject, node, others, rest)

    def _pattern(self, subject: Symbol, pattern: ast.pattern) -> tuple[Node, Callable[[], dict[str, Symbol]]]:
        """(the condition that the pattern matches, the names that it then binds)."""
        if isinstance(pattern, ast.MatchAs) and pattern.pattern is None:
            name = pattern.name
            return self.graph.true, lambda: {name: subject} if name else {}
        if isinstance(pattern, ast.MatchValue):
            return self.equal(subject, self.expression(pattern.value), pattern), dict
        if isinstance(pattern, ast.MatchSingleton) and pattern.value is None:
            return self.equal(subject, NONE, pattern), dict
        if isinstance(pattern, ast.MatchOr):
            found = [self._pattern(subject, p)[0] for p in pattern.patterns]
            return self.graph.any_(found), dict
        if isinstance(pattern, ast.MatchClass) and not pattern.patterns:
            return self._class_pattern(subject, pattern)
        self.fail(pattern, "this pattern is not known to specs", "case Kind(): case Kind(field=name): case VALUE:")

    def _class_pattern(self, subject: Symbol, pattern: ast.MatchClass) -> tuple[Node, Callable[[], dict[str, Symbol]]]:
        condition = self.is_variant(subject, self.expression(pattern.cls), pattern)
        for part in pattern.kwd_patterns:
            if not (isinstance(part, ast.MatchAs) and part.pattern is None and part.name):
                self.fail(part, "a pattern inside a pattern", "bind the field to a name and test it in the case")

        def bindings() -> dict[str, Symbol]:
            names = [p.name for p in pattern.kwd_patterns if isinstance(p, ast.MatchAs) and p.name]
            holder = pattern.cls
            return {n: self.attribute(subject, a, holder) for a, n in zip(pattern.kwd_attrs, names, strict=True)}

        return condition, bindings

    # Loops.

    def _rounds(self, node: ast.For) -> Block:
        if node.orelse:
            self.fail(node.orelse[0], "else after a loop", "put it under an if")
        elements = self.iterated(node.iter)
        if not self.has_order(node.iter):
            check_order(self, node)
        return [Binding(there, node.target, element, list(node.body)) for there, element in elements]

    def _rounds_in_any_order(self, node: ast.For, rounds: Block) -> None:
        """The rounds of a loop; those over a set must not end the step in different ways, for one would come first."""
        before = len(self.events)
        self.block(rounds)
        kinds = {self.sites.sites[e.site].kind for e in self.events[before:]}
        if len(kinds) > 1 and not self.names_in_order(node.iter):
            self.fail(
                node, "which round of this loop ends the step, and how, depends on the order of a set",
                "test with all(...) before the loop what a round requires, and what it may not do",
            )  # fmt: skip

    def _round(self, statement: Binding, rest: Block) -> None:
        def enter() -> None:
            self.bind(statement.target, statement.element)
            self.block([*statement.body, *rest])

        known = self.facts.of(statement.there)
        if known:
            enter()
        elif known is False:
            self.block(rest)
        else:
            self._fork(statement.there, enter, lambda: self.block(rest), statement.target)

    # Simple statements.

    def _statement(self, node: ast.stmt | Binding) -> None:
        try:
            self._simple_statement(node)
        except TooLargeError as error:
            assert isinstance(node, ast.AST)
            self.too_large(node, error)

    def _simple_statement(self, node: ast.stmt | Binding) -> None:
        if isinstance(node, ast.Return):
            self.frame.result = NONE if node.value is None else self._returned(node.value)
            self.frame.returned = True
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self.assign(target, self.assigned_value(node.value), node)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._annotated(node)
        elif isinstance(node, ast.AugAssign):
            self._augmented(node)
        elif isinstance(node, ast.Assert):
            holds = self.truth(node.test)
            self.error(self.graph.not_(holds), node, "an assertion is false")
            self.facts.learn(holds)
        elif isinstance(node, ast.Expr):
            self._expression_statement(node)
        elif not isinstance(node, ast.Pass):
            assert isinstance(node, ast.AST)
            self.fail(node, "this cannot stand here")

    def _expression_statement(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return
        if not isinstance(node.value, ast.Call):
            self.fail(node, "an expression whose value is not used", "assign it, require it, or leave it out")
        if self.expression(node.value) != NONE:
            self.fail(node, "a call whose result is not used", "values do not change: assign the result")

    def _returned(self, value: ast.expr) -> Symbol:
        symbol = self.assigned_value(value)
        returns = self.frame.function.tree.returns
        if not callable(symbol):
            claim = self.frame.claims.get(RETURNED)
            return symbol if claim is None else self.claimed(symbol, claim, value)
        if returns is None:
            self.fail(value, "a map is made where its type is known", "say what the function returns")
        return self.made_map(symbol, self._type(returns, "what is returned"), value)

    def _type(self, annotation: ast.expr, where: str) -> Type:
        names = self.frame.function.globals
        try:
            hint = eval(compile(ast.Expression(annotation), self.frame.function.file, "eval"), names)
        except Exception:
            self.fail(annotation, "this is not a type", "name a declared type")
        return resolve(hint, where)

    def _annotated(self, node: ast.AnnAssign) -> None:
        assert node.value is not None
        type_ = self._type(node.annotation, self.frame.function.text(node.target))
        symbol = self.assigned_value(node.value)
        if callable(symbol):
            symbol = self.made_map(symbol, type_, node.value)
        if isinstance(type_, SeqType) and isinstance(symbol, Display):
            type_ = SeqType(type_.element, len(symbol.elements))  # a bound of the type is one of what is stored
        if isinstance(symbol, Display) or symbol == NONE:
            symbol = self.symbol(type_, self.coerced(symbol, type_, node.value))
        self.assign(node.target, symbol, node)

    def _augmented(self, node: ast.AugAssign) -> None:
        current = self.expression(_loading(node.target))
        self.assign(node.target, self.binary(current, node.op, self.expression(node.value), node), node)

    # Assignments.

    def assign(self, target: ast.expr, value: Any, node: ast.stmt) -> None:
        if isinstance(target, ast.Name):
            if callable(value):
                literal = getattr(node, "value", node)
                self.fail(literal, "a map is made where its type is known", "say which: names: Map[K, V] = ...")
            self.frame.locals[target.id] = value
        elif isinstance(target, ast.Tuple):
            self.bind(target, value)
        else:
            self._assign_place(self._target(target), value, node)

    def _target(self, target: ast.expr) -> Location:
        """The place that an assignment goes to. Raises SpecError where it is none of the state."""
        if isinstance(target, ast.Attribute):
            holder = self.expression(target.value)
            if self._is_record_place(holder):
                place = self.inner_place(holder, target.value)
                self.check_alive(place, target)
                if isinstance(place.type, RecordType):
                    if target.attr not in place.type.fields:
                        self.field(place, target.attr, target)  # says what is wrong
                    return self.field_place(place, target.attr)
            self.fail(target, "an assignment to a value", "only the state changes: make a new value with replace(...)")
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.expr):
            holder = self.expression(target.value)
            if isinstance(holder, Location) and isinstance(holder.type, MapType):
                return self.key_place(holder, self.expression(target.slice), target)
            self.fail(target, "an assignment to an element of a value", "only maps of the state change in place")
        self.fail(target, "this cannot be assigned to")

    def _assign_place(self, place: Location, value: Any, node: ast.stmt) -> None:
        if self.frame.pure or not place.writable:
            self.fail(
                node, "a helper or property assigns to the state",
                "helpers are pure: return the new value and let the action assign it",
            )  # fmt: skip
        if callable(value):
            if not isinstance(place.type, MapType):
                self.fail(node, f"a map where a {place.type} is needed")
            nodes = value(place.type)
        else:
            self.blamed = node
            nodes = self.coerced(value, place.type, getattr(node, "value", node))
            self.blamed = None
        self.assigned = self.assigned or node
        for condition, start in place.alternatives:
            for i, new in enumerate(nodes):
                old = place.store.nodes[start + i]
                place.store.nodes[start + i] = self.graph.select(condition, new, old)
        inner = place.type.inner if isinstance(place.type, OptionType) else place.type
        record = isinstance(inner, MapType) or (isinstance(inner, RecordType) and not inner.frozen)
        self.writes.append(Write(place.store, place.way, record))


def _loading(target: ast.expr) -> ast.expr:
    """The target of an augmented assignment as an expression that is read."""
    if isinstance(target, ast.Name):
        return ast.copy_location(ast.Name(target.id, ast.Load()), target)
    return target
