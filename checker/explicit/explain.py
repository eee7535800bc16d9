"""Why a property does not hold in a state: the conjunct that is false, and the values it speaks of."""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass
from types import FrameType
from typing import Any

from checker.explicit.reference import read_only
from checker.lang.declare import Declared
from checker.lang.frontend.source import Function, function_of
from checker.lang.itf import to_itf


@dataclass(frozen=True)
class Explanation:
    """conjunct: its source; line: of the property's file; values: (expression, ITF value) in order of appearance."""

    conjunct: str
    file: str
    line: int
    values: tuple[tuple[str, Any], ...]


def explain(declared: Declared, *states: Any) -> Explanation:
    """Which part of a property is false in `states` (one, or before and after)."""
    function = function_of(declared.function)
    with read_only():
        returned, names = _at_return(declared, states)
        if returned is None or returned.value is None:
            return Explanation("", function.file, function.tree.lineno, ())
        drill = _Drill(function, names)
        part = drill.down(returned.value)
        return Explanation(function.text(part), function.file, part.lineno, drill.values(part))


def _at_return(declared: Declared, states: tuple[Any, ...]) -> tuple[ast.Return | None, dict[str, Any]]:
    """The return statement that a property comes to, and its local names there."""
    function = function_of(declared.function)
    seen: dict[str, Any] = {}
    line = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal line
        if frame.f_code is not function.code:
            return None
        if event == "return":
            seen.update(frame.f_locals)
            line = frame.f_lineno
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        declared.function(*states)
    except Exception:
        pass  # it breaks down: the caller tells of the error itself
    finally:
        sys.settrace(before)
    returns = [n for n in ast.walk(function.tree) if isinstance(n, ast.Return)]
    here = [r for r in returns if r.lineno <= line <= (r.end_lineno or r.lineno)]
    return (here[-1] if here else None), seen


class _Drill:
    """Goes from a false expression down to the smallest part that makes it false."""

    def __init__(self, function: Function, names: dict[str, Any]) -> None:
        self.function = function
        self.names = dict(names)

    def down(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            for part in node.values:
                if not self._value(part):
                    return self.down(part)
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            return ast.copy_location(ast.BoolOp(node.op, [self.down(part) for part in node.values]), node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "all":
            if len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
                return self._failing_element(node, node.args[0])
        return node

    def _failing_element(self, node: ast.Call, generator: ast.GeneratorExp) -> ast.expr:
        """The element for which `all(...)` fails; its names are known from here on."""
        targets = [n.id for g in generator.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)]
        names = ast.Tuple([ast.Name(t, ast.Load()) for t in targets], ast.Load())
        *first, last = generator.generators
        failing = ast.comprehension(last.target, last.iter, [*last.ifs, ast.UnaryOp(ast.Not(), generator.elt)], 0)
        search = ast.GeneratorExp(names, [*first, failing])
        call = ast.Call(ast.Name("next", ast.Load()), [search, ast.Constant(None)], [])
        found = self._value(ast.fix_missing_locations(ast.copy_location(call, node)))
        if found is None:
            return node
        self.names.update(zip(targets, found, strict=True))
        return self.down(generator.elt)

    def _value(self, node: ast.expr) -> Any:
        code = compile(ast.Expression(node), self.function.file, "eval")
        # one dictionary: what a generator inside reads are globals to it
        return eval(code, {**self.function.globals, **self.names})

    def values(self, node: ast.expr) -> tuple[tuple[str, Any], ...]:
        """The values of the paths and names in an expression, the longest ones, each once."""
        found: dict[str, Any] = {}
        bound = {n.id for g in ast.walk(node) if isinstance(g, ast.comprehension)
                 for n in ast.walk(g.target) if isinstance(n, ast.Name)}  # fmt: skip
        self._collect(node, bound, found)
        return tuple(found.items())

    def _collect(self, node: ast.AST, bound: set[str], found: dict[str, Any]) -> None:
        if isinstance(node, ast.Call):
            for argument in node.args:
                self._collect(argument, bound, found)
            return
        if isinstance(node, ast.Attribute | ast.Subscript | ast.Name):
            used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
            if used & bound:
                return
            if used & set(self.names):
                self._add(node, found)
                for index in [n.slice for n in ast.walk(node) if isinstance(n, ast.Subscript)]:
                    self._collect(index, bound, found)
            return
        for child in ast.iter_child_nodes(node):
            self._collect(child, bound, found)

    def _add(self, node: ast.expr, found: dict[str, Any]) -> None:
        try:
            value = self._value(node)
        except Exception:
            return  # not evaluated where `and` and `or` stop short
        if not (isinstance(node, ast.Name) and _is_state(value)):
            found[self.function.text(node)] = to_itf(value)


def _is_state(value: Any) -> bool:
    from checker.lang.declare import MARK, RecordInfo

    info = getattr(type(value), MARK, None)
    return isinstance(info, RecordInfo) and info.is_state
