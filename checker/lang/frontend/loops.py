"""Loops over what has no order must not depend on one.

A loop over a set or an identity may write places that its own element indexes, and gather results
that come out the same in any order. Anything else would let Python's order of iteration decide.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from checker.lang.frontend.symbols import Location, Num

GATHERING = (ast.BitOr, ast.BitAnd, ast.Add, ast.Sub, ast.Mult)
HINT = (
    "loop over a sequence or a permutation parameter where the order is part of the design; "
    "else write only what the loop's element indexes, or gather with |=, &=, += or -="
)


def check_order(machine: Any, loop: ast.For) -> None:
    """Raise SpecError where the result of a loop without order may depend on the order."""
    _Check(machine, loop).run()


@dataclass(frozen=True)
class _Path:
    """The target of a path such as `s.brokers[b].state`: the fields up to its first index, and all its indices.

    of_state: it starts at the state; else `fields` starts with the name of a local.
    """

    of_state: bool
    fields: tuple[str, ...]
    indices: frozenset[str] = frozenset()
    indexed: bool = False  # an index was passed: what follows is not part of `fields`

    def meets(self, other: _Path) -> bool:
        """True if one may contain the other."""
        shorter = min(len(self.fields), len(other.fields))
        return self.of_state == other.of_state and self.fields[:shorter] == other.fields[:shorter]


def _names(target: ast.expr) -> set[str]:
    return {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}


def _given(statement: ast.Assign | ast.AnnAssign) -> set[str]:
    """The local names that a statement assigns."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return {t.id for t in targets if isinstance(t, ast.Name)}


class _Check:
    def __init__(self, machine: Any, loop: ast.For) -> None:
        self.machine = machine
        self.loop = loop
        self.element = _names(loop.target)
        self.aliases: dict[str, _Path] = {}  # local names of places, given in the body
        self.gathered: dict[str, type[ast.operator]] = {}  # what is gathered, and with which operator
        self.set_to: dict[str, str] = {}  # targets that get a constant, and which
        self.written: list[_Path] = []

    def run(self) -> None:
        for statement in self.loop.body:
            for node in ast.walk(statement):
                if isinstance(node, ast.stmt):
                    self._statement(node)
        for node in self._body():
            self._read(node)

    def _fail(self, node: ast.AST, what: str) -> None:
        self.machine.fail(node, f"{what}: the result may depend on the order of a loop that has none", HINT)

    # Paths.

    def _path(self, node: ast.expr) -> _Path | None:
        """The target of a path; None for any other expression."""
        if isinstance(node, ast.Call) and len(node.args) == 1:
            node = node.args[0]  # require_some(place)
        if isinstance(node, ast.Name):
            return self._root(node.id)
        if not isinstance(node, ast.Attribute | ast.Subscript):
            return None
        holder = self._path(node.value)
        if holder is None:
            return None
        if isinstance(node, ast.Subscript):
            index = frozenset({node.slice.id} if isinstance(node.slice, ast.Name) else ())
            return _Path(holder.of_state, holder.fields, holder.indices | index, True)
        fields = holder.fields if holder.indexed else (*holder.fields, node.attr)
        return _Path(holder.of_state, fields, holder.indices, holder.indexed)

    def _root(self, name: str) -> _Path:
        if name in self.aliases:
            return self.aliases[name]
        symbol = self.machine.frame.locals.get(name)
        if not isinstance(symbol, Location):
            return _Path(False, (name,))
        fields: list[str] = []
        for step in symbol.way:
            if not step.field:
                return _Path(True, tuple(fields), indexed=True)
            fields.append(step.field)
        return _Path(True, tuple(fields))

    # What rounds write.

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Return):
            self._fail(node, "a return from inside the loop")
        elif isinstance(node, ast.AugAssign):
            self._gathering(node)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self._assignment(target, node.value, node)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._assignment(node.target, node.value, node)

    def _written(self, target: ast.expr) -> bool:
        """Note a write to a place; return True if the loop's element indexes it."""
        path = self._path(target)
        if path is None or isinstance(target, ast.Name):
            return False
        self.written.append(path)
        return bool(path.indices & self.element)

    def _gathering(self, node: ast.AugAssign) -> None:
        if self._written(node.target):
            return
        target = ast.unparse(node.target)
        before = self.gathered.setdefault(target, type(node.op))
        if before is not type(node.op) or not isinstance(node.op, GATHERING):
            self._fail(node, f"{target} is gathered in two ways")
        if not isinstance(node.target, ast.Name) and isinstance(self.machine.peeked(node.target), Num):
            self.machine.fail(
                node, f"whether {target} leaves its range on the way may depend on the order of the loop",
                "gather in a local name, and store it after the loop",
            )  # fmt: skip

    def _assignment(self, target: ast.expr, value: ast.expr, node: ast.stmt) -> None:
        if isinstance(target, ast.Name):
            self._local(target.id, value, node)
        elif not self._written(target):
            if not isinstance(value, ast.Constant):
                self._fail(node, f"{ast.unparse(target)} is assigned in every round")
            self._constant(target, value, node)

    def _local(self, name: str, value: ast.expr, node: ast.stmt) -> None:
        path = self._path(value) if isinstance(value, ast.Attribute | ast.Subscript | ast.Call) else None
        if path is not None and path.of_state:
            self.aliases[name] = path
        if isinstance(value, ast.Constant):
            self._constant(ast.Name(name), value, node)
        elif self._used_after(name):
            self._fail(node, f"{name} keeps what the last round gave it")
        if name in self.machine.frame.locals and self._read_before_given(name):
            self._fail(node, f"{name} is read before a round gives it a value")

    def _constant(self, target: ast.expr, value: ast.expr, node: ast.stmt) -> None:
        """Allow every round to set a flag to the same constant."""
        if self.set_to.setdefault(ast.unparse(target), ast.unparse(value)) != ast.unparse(value):
            self._fail(node, f"{ast.unparse(target)} is set to one value or another")

    def _read_before_given(self, name: str) -> bool:
        """True if a round may read what an earlier one left in a local name."""
        given = [s for s in self.loop.body if isinstance(s, ast.Assign | ast.AnnAssign) and name in _given(s)]
        start = given[0].lineno if given else sys.maxsize
        return any(
            isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) and n.lineno <= start
            for n in self._body()
        )

    def _used_after(self, name: str) -> bool:
        """True if a name given in the loop is read outside it."""
        inside = {id(n) for n in ast.walk(self.loop)}
        return any(
            isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) and id(n) not in inside
            for n in ast.walk(self.machine.frame.function.tree)
        )

    # What rounds read: nothing that another round writes.

    def _read(self, node: ast.AST) -> None:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "fresh":
            self._fail(node, "fresh ordinals are issued in the order of the rounds")
        if not isinstance(node, ast.Attribute | ast.Subscript | ast.Name) or not isinstance(node.ctx, ast.Load):
            return
        if self._is_prefix(node):
            return
        if ast.unparse(node) in self.gathered:
            self._fail(node, f"{ast.unparse(node)} is read while it is gathered")
        path = self._path(node)
        if path is None or not path.of_state or path.indices & self.element:
            return
        if any(path.meets(written) for written in self.written):
            self._fail(node, f"{ast.unparse(node)} is read while rounds write it")

    def _body(self) -> Iterator[ast.AST]:
        for statement in self.loop.body:
            yield from ast.walk(statement)

    def _is_prefix(self, node: ast.AST) -> bool:
        """True if a node is only the beginning of a longer path in the body."""
        return any(isinstance(n, ast.Attribute | ast.Subscript) and n.value is node for n in self._body())
