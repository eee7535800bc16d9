"""Mutation operators for the implementation: all those for a spec, and those that only plain Python needs.

Left out: assertions and what is raised or said (the text of a message), which no answer depends on.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import itertools
from typing import Any, TypeGuard

from checker.mutate import operators
from checker.mutate.operators import Path, looked_up

_PAIRS = (
    ("isr", "replicas"), ("adding_replicas", "removing_replicas"), ("leader_epoch", "partition_epoch"),
    ("committed", "speculative"), ("pending_change", "in_flight"), ("high_watermark", "end_offset"),
    ("leaders", "followers"),
    ("caught_up_ms", "fetched_ms"), ("log_end_offset", "leader_end_offset"), ("fenced", "in_controlled_shutdown"),
    ("want_fence", "want_shut_down"), ("metadata_offset", "shutdown_offset"), ("base_offset", "last_offset"),
    ("retry_backoff_ms", "retry_backoff_max_ms"),
    ("min_supported_version", "max_supported_version"), ("start", "renew"), ("union", "difference"),
)  # fmt: skip
_CONFUSED = dict([*_PAIRS, *((b, a) for a, b in _PAIRS), ("maximal_isr", "isr")])
"""Attributes of one thing that are of one type, so that one is easily taken for the other."""


class Finder(operators.Finder):
    """Also: calls, raises, deletions and yields dropped; guards out of order; parts of displays, arguments and fields
    that have a default left out; an order lost; one attribute for another."""

    # Statements.

    def block(self, statements: list[ast.stmt], field: str, path: Path) -> None:
        super().block(statements, field, path)
        for index, (one, other) in enumerate(itertools.pairwise(statements)):
            if _is_guard(one) and _is_guard(other):
                self.statement = here = (*path, (field, index))
                first = ast.If(other.test, other.body, [ast.If(one.test, one.body, [])])
                self.offer("order", here, one.test, first, f"{operators.one_line(other.test)} first")

    def _can_go(self, statement: ast.stmt, nested: bool) -> bool:
        if isinstance(statement, ast.Raise | ast.Delete | ast.Break | ast.Continue):
            return True
        if isinstance(statement, ast.Expr):
            return isinstance(statement.value, ast.Call | ast.Yield | ast.YieldFrom)
        return super()._can_go(statement, nested)

    def _statement(self, node: ast.stmt, path: Path) -> None:
        if isinstance(node, ast.While):
            self._expression(node.test, (*path, ("test", None)), condition=True)
            self.block(node.body, "body", path)
        elif isinstance(node, ast.FunctionDef):
            self.bound |= {a.arg for a in node.args.args}
            self.block(node.body, "body", path)
        else:
            super()._statement(node, path)

    # Expressions.

    def _rounds(self, node: ast.comprehension, path: Path) -> None:
        super()._rounds(node, path)
        for index, test in enumerate(node.ifs):
            self.offer("filter", (*path, ("ifs", index)), test, ast.Constant(True))

    def _visit_JoinedStr(self, node: ast.JoinedStr, path: Path) -> None:
        """The text of a message."""

    def _visit_Call(self, node: ast.Call, path: Path) -> None:
        called = looked_up(node.func, self.scope)
        optional = _optional(called)
        for index, keyword in enumerate(node.keywords):
            if called is dataclasses.replace or keyword.arg in optional:
                self.offer("field", path, keyword, ast.Call(node.func, node.args, _without(node.keywords, index)))
        if len(node.args) - 1 in optional.values() and not any(isinstance(one, ast.Starred) for one in node.args):
            self.offer("field", path, node.args[-1], ast.Call(node.func, node.args[:-1], node.keywords))
        if isinstance(node.func, ast.Name) and node.func.id == "sorted":
            self.offer("order", path, node, node.args[0])
        if isinstance(node.func, ast.Attribute) and node.func.attr in _CONFUSED:
            other = ast.Attribute(node.func.value, _CONFUSED[node.func.attr], ast.Load())
            self.offer("attribute", path, node, ast.Call(other, node.args, node.keywords))
        super()._visit_Call(node, path)

    def _visit_Attribute(self, node: ast.Attribute, path: Path) -> None:
        if node.attr in _CONFUSED:
            self.offer("attribute", path, node, ast.Attribute(node.value, _CONFUSED[node.attr], ast.Load()))
        super()._visit_Attribute(node, path)

    def _visit_Tuple(self, node: ast.Tuple, path: Path) -> None:
        self._display(node, path)

    def _visit_List(self, node: ast.List, path: Path) -> None:
        self._display(node, path)

    def _visit_Set(self, node: ast.Set, path: Path) -> None:
        self._display(node, path)

    def _display(self, node: ast.Tuple | ast.List | ast.Set, path: Path) -> None:
        """Of any number of elements, not a pair or the like, each left out; a part and one more in the other order."""
        has_part = any(isinstance(one, ast.Starred) for one in node.elts)
        if has_part or isinstance(node, ast.List):
            for index, element in enumerate(node.elts):
                self.offer("field", path, element, _like(node, _without(node.elts, index)))
        if has_part and len(node.elts) == 2 and not isinstance(node, ast.Set):
            self.offer("order", path, node, _like(node, node.elts[::-1]))
        self._children(node, path)

    def _visit_Dict(self, node: ast.Dict, path: Path) -> None:
        for index, key in enumerate(node.keys):
            if key is not None:
                fewer = ast.Dict(_without(node.keys, index), _without(node.values, index))
                self.offer("field", path, key, fewer)
        self._children(node, path)


def _without(items: list[Any], index: int) -> list[Any]:
    return items[:index] + items[index + 1 :]


def _like(node: ast.Tuple | ast.List | ast.Set, elements: list[ast.expr]) -> ast.expr:
    return ast.Set(elements) if isinstance(node, ast.Set) else type(node)(elements, ast.Load())


def _is_guard(statement: ast.stmt) -> TypeGuard[ast.If]:
    """Ends the function where its condition holds."""
    if not isinstance(statement, ast.If) or statement.orelse:
        return False
    return isinstance(statement.body[-1], ast.Return | ast.Raise)


def _optional(called: Any) -> dict[str, int]:
    """The arguments that a call may leave out: name -> place."""
    if not (inspect.isfunction(called) or (isinstance(called, type) and dataclasses.is_dataclass(called))):
        return {}
    parameters = enumerate(inspect.signature(called).parameters.values())
    return {parameter.name: place for place, parameter in parameters if parameter.default is not parameter.empty}
