"""Loops over what has no order must not depend on one.

A loop over a set or an identity may write places that its own element indexes, and gather results
that come out the same in any order. Anything else would let Python's order of iteration decide.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from typing import Any

GATHERING = (ast.BitOr, ast.BitAnd, ast.Add, ast.Sub, ast.Mult)
MEND = (
    "loop over a sequence or a permutation parameter where the order is part of the design; "
    "else write only what the loop's element indexes, or gather with |=, &=, += or -="
)


def check_order(machine: Any, loop: ast.For) -> None:
    """Raise SpecError where the result of a loop without order may depend on the order."""
    _Check(machine, loop).run()


def _names(target: ast.expr) -> set[str]:
    return {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}


def _given(statement: ast.Assign | ast.AnnAssign) -> set[str]:
    """The local names that a statement assigns."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return {t.id for t in targets if isinstance(t, ast.Name)}


def _chain(node: ast.expr) -> tuple[str, str, set[str]]:
    """(root name, first field, names of its indices) of a path such as `s.brokers[b].state`."""
    indices: set[str] = set()
    field = ""
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Subscript):
            indices |= {node.slice.id} if isinstance(node.slice, ast.Name) else set()
        else:
            field = node.attr
        node = node.value
    return (node.id if isinstance(node, ast.Name) else ""), field, indices


class _Check:
    def __init__(self, machine: Any, loop: ast.For) -> None:
        self.machine = machine
        self.loop = loop
        self.element = _names(loop.target)
        self.aliases: dict[str, tuple[str, str, set[str]]] = {}  # local names of places, given in the body
        self.gathered: dict[str, type[ast.operator]] = {}  # what is gathered, and with which operator
        self.indexed: set[tuple[str, str]] = set()  # (root, field) written under the element's index
        self.set_to: dict[str, str] = {}  # targets that get a constant, and which

    def run(self) -> None:
        for statement in self._statements(self.loop.body):
            self._statement(statement)
        self._reads()

    def _statements(self, body: list[Any]) -> Iterator[ast.stmt]:
        for statement in body:
            yield from (n for n in ast.walk(statement) if isinstance(n, ast.stmt))

    def _fail(self, node: ast.AST, what: str) -> None:
        self.machine.fail(node, f"{what}: the result may depend on the order of a loop that has none", MEND)

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Return):
            self._fail(node, "a return from inside the loop")
        if isinstance(node, ast.AugAssign):
            self._gathering(node)
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._assignment(target, node.value, node)
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            self._assignment(node.target, node.value, node)

    def _gathering(self, node: ast.AugAssign) -> None:
        target = ast.unparse(node.target)
        root, field, indices = self._resolved(node.target)
        if indices & self.element:
            self.indexed.add((root, field))
            return
        before = self.gathered.setdefault(target, type(node.op))
        if before is not type(node.op) or not isinstance(node.op, GATHERING):
            self._fail(node, f"{target} is gathered in two ways")

    def _assignment(self, target: ast.expr, value: ast.expr, node: ast.stmt) -> None:
        if isinstance(target, ast.Name):
            root, field, indices = self._resolved(value)
            if isinstance(value, ast.Attribute | ast.Subscript):
                self.aliases[target.id] = (root, field, indices)
            if isinstance(value, ast.Constant):
                self._constant(target, value, node)
            elif self._used_after(target.id):
                self._fail(node, f"{target.id} keeps what the last round gave it")
            if target.id in self.machine.frame.locals and self._read_before_given(target.id):
                self._fail(node, f"{target.id} is read before a round gives it a value")
            return
        root, field, indices = self._resolved(target)
        if indices & self.element:
            self.indexed.add((root, field))
        elif isinstance(value, ast.Constant):
            self._constant(target, value, node)
        else:
            self._fail(node, f"{ast.unparse(target)} is assigned in every round")

    def _constant(self, target: ast.expr, value: ast.Constant, node: ast.stmt) -> None:
        """Every round may set a flag, if all set it to the same."""
        if self.set_to.setdefault(ast.unparse(target), ast.unparse(value)) != ast.unparse(value):
            self._fail(node, f"{ast.unparse(target)} is set to one value or another")

    def _read_before_given(self, name: str) -> bool:
        """Whether a round may read what an earlier one left in a local name."""
        given = [s for s in self.loop.body if isinstance(s, ast.Assign | ast.AnnAssign) and name in _given(s)]
        start = given[0].lineno if given else sys.maxsize
        return any(
            isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) and n.lineno <= start
            for n in self._body_expressions()
        )

    def _resolved(self, node: ast.expr) -> tuple[str, str, set[str]]:
        if isinstance(node, ast.Call) and len(node.args) == 1:
            node = node.args[0]  # require_some(place)
        root, field, indices = _chain(node)
        if root in self.aliases:
            base = self.aliases[root]
            return base[0], base[1], base[2] | indices
        return root, field, indices

    def _used_after(self, name: str) -> bool:
        """Whether a name given in the loop is read outside it."""
        tree = self.machine.frame.function.tree
        inside = {id(n) for n in ast.walk(self.loop)}
        return any(
            isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) and id(n) not in inside
            for n in ast.walk(tree)
        )

    def _reads(self) -> None:
        """What rounds write, no other round may read."""
        for node in self._body_expressions():
            if isinstance(node, ast.Attribute | ast.Subscript | ast.Name) and isinstance(node.ctx, ast.Load):
                root, field, indices = self._resolved(node)
                if (root, field) in self.indexed and not indices & self.element and not self._prefix(node):
                    self._fail(node, f"{ast.unparse(node)} is read while other rounds write it")
                if ast.unparse(node) in self.gathered or (
                    ast.unparse(node) in self.set_to and not isinstance(node, ast.Name)
                ):
                    self._fail(node, f"{ast.unparse(node)} is read while it is gathered")
                if isinstance(node, ast.Name) and not self._prefix(node) and node.id in self._written_roots():
                    self._fail(node, f"all of {node.id} is read while it is written")
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "fresh":
                self._fail(node, "fresh ordinals are issued in the order of the rounds")

    def _written_roots(self) -> set[str]:
        """The names under which rounds write."""
        targets = [ast.parse(t, mode="eval").body for t in (*self.gathered, *self.set_to)]
        paths = [t for t in targets if not isinstance(t, ast.Name)]
        return {root for root, _ in self.indexed} | {self._resolved(t)[0] for t in paths}

    def _body_expressions(self) -> Iterator[ast.AST]:
        for statement in self.loop.body:
            yield from ast.walk(statement)

    def _prefix(self, node: ast.AST) -> bool:
        """Whether a node is only the beginning of a longer path in the body."""
        for other in self._body_expressions():
            if isinstance(other, ast.Attribute | ast.Subscript) and other.value is node:
                return True
        return False
