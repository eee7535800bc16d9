"""Explanation of a property that is false in a state: the conjunct that is false, and the values in it."""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from types import FrameType, FunctionType
from typing import Any

from checker.lang.declare import Declared
from checker.lang.frontend.source import Function, function_of
from checker.lang.itf import to_itf
from checker.lang.marks import MARK, RecordInfo
from checker.lang.values import Identity
from checker.lang.where import raised_at
from checker.reference.step import read_only

# what `not` needs no brackets for
_SIMPLE = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Constant, ast.UnaryOp)


@dataclass(frozen=True)
class Explanation:
    """conjunct: its source; file, line: of the property's part it is; values: (expression, ITF value), in order.

    breakdown: why the property cannot be evaluated, where it cannot; `conjunct` is then the line that breaks.
    """

    conjunct: str
    file: str
    line: int
    values: tuple[tuple[str, Any], ...]
    breakdown: str = ""


def explain(declared: Declared, *states: Any, holds: bool = False) -> Explanation:
    """The part of a property that is false in `states` (one, or before and after); holds: the part that is true."""
    broken = breakdown_in(declared, *states)
    if broken is not None:
        return broken
    function = function_of(declared.function)
    with read_only():
        part = _of_call(function, states, holds)
    if part is None:
        return Explanation("", function.file, function.tree.lineno, ())
    text = f"{part.text}  # in {part.helper}" if part.helper else part.text
    return Explanation(text, function.file, part.line, tuple(part.values.items()))


def breakdown_in(declared: Declared, *states: Any) -> Explanation | None:
    """Find where a property, or the mapping of a refinement, breaks down in `states`; None if it can be evaluated."""
    with read_only():
        try:
            declared.function(*states)
        except Exception as error:  # whatever a spec may raise
            return _breakdown(error, function_of(declared.function), states)
    return None


def _breakdown(error: Exception, function: Function, states: tuple[Any, ...]) -> Explanation:
    """The line of the spec that an error comes from, with the values in the property's own part of it."""
    file, line = raised_at(error)
    if not file:
        return Explanation("", function.file, function.tree.lineno, (), str(error))
    statement, names = _at_end(function, states)
    values = _leaf(_Scope(function, names), statement).values if statement is not None else {}
    text = linecache.getline(file, line).strip().removeprefix("return ")
    return Explanation(text, file, line, tuple(values.items()), str(error))


@dataclass(frozen=True)
class _Scope:
    """A function of the spec that is being evaluated, and its local names."""

    function: Function
    names: dict[str, Any]

    def value(self, node: ast.expr) -> Any:
        code = compile(ast.Expression(node), self.function.file, "eval")
        # one dictionary: what a generator inside reads are globals to it
        return eval(code, {**self.function.globals, **self.names})


@dataclass(frozen=True)
class _Part:
    """A part of a property: its source, the line of the property's file it is in or is called from, and the values
    of the paths and names in it. helper: the function it stands in, where that is not the property's own.
    names: what each name in the source stands for."""

    text: str
    line: int
    values: dict[str, Any]
    helper: str = ""
    names: Mapping[str, Any] = field(default_factory=dict)


def _of_call(function: Function, arguments: tuple[Any, ...], value: bool) -> _Part | None:
    """The part that makes a function return `value`; None where that cannot be said."""
    statement, names = _at_end(function, arguments)
    if not isinstance(statement, ast.Return) or statement.value is None:
        return None
    scope = _Scope(function, names)
    if isinstance(statement.value, ast.Constant):
        condition = _condition(function, statement)
        return _blame(scope, condition, value) if condition is not None else _leaf(scope, statement)
    return _blame(scope, statement.value, value)


def _at_end(function: Function, arguments: tuple[Any, ...]) -> tuple[ast.stmt | None, dict[str, Any]]:
    """The statement that a function ends with (returning, or breaking down), and its local names there."""
    names: dict[str, Any] = {}
    line = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal line
        if frame.f_code is not function.code:
            return None
        if event == "return":
            names.update(frame.f_locals)
            line = frame.f_lineno
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function.function(*arguments)
    except Exception:
        pass  # the names and the line are what is asked for
    finally:
        sys.settrace(before)
    simple = (ast.Return, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr)
    statements = [n for n in ast.walk(function.tree) if isinstance(n, simple)]
    here = [n for n in statements if n.lineno <= line <= (n.end_lineno or n.lineno)]
    return (here[-1] if here else None), names


def _condition(function: Function, statement: ast.Return) -> ast.expr | None:
    """For `return True` or `return False`: an expression with that value, from the `if` around it."""
    returned = statement.value
    for node in ast.walk(function.tree):
        if isinstance(node, ast.If) and statement in (*node.body, *node.orelse):
            holds = statement in node.body
            assert isinstance(returned, ast.Constant)
            if holds is bool(returned.value):
                return node.test
            return ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test)
    return None


def _blame(scope: _Scope, node: ast.expr, value: bool) -> _Part:
    """The smallest part of `node` that gives it the truth value `value`."""
    try:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = _blame(scope, node.operand, not value)
            return replace(inner, text=f"not {_bracketed(inner.text)}")
        if isinstance(node, ast.BoolOp):
            return _blame_connective(scope, node, value)
        if isinstance(node, ast.IfExp):
            return _blame(scope, node.body if scope.value(node.test) else node.orelse, value)
        if isinstance(node, ast.Call):
            return _blame_call(scope, node, value)
        if isinstance(node, ast.Name) and (meaning := _meaning(scope.function, node.id)) is not None:
            return _blame(scope, meaning, value)
    except Exception:
        pass  # a part breaks down where `and` and `or` would not have reached it
    return _leaf(scope, node)


def _meaning(function: Function, name: str) -> ast.expr | None:
    """The expression that a local name was assigned, where there is one and it is assigned only once."""
    assigned = [n for n in ast.walk(function.tree) if isinstance(n, ast.Name) and n.id == name
                and isinstance(n.ctx, ast.Store)]  # fmt: skip
    for statement in function.tree.body:
        if isinstance(statement, ast.Assign) and statement.targets == assigned:
            return statement.value
    return None


def _blame_connective(scope: _Scope, node: ast.BoolOp, value: bool) -> _Part:
    """`and` is false for its first false part; `or` is false for all of its parts together."""
    both = isinstance(node.op, ast.And)
    if both is not value:
        deciding = next(part for part in node.values if bool(scope.value(part)) is value)
        return _blame(scope, deciding, value)
    parts = [_blame(scope, part, value) for part in node.values]
    opened = [i for i, part in enumerate(parts) if part.helper]
    if len(opened) > 1 or any(_is_compound(parts[i].text) for i in opened):
        for i in opened:  # side by side, names say more than code: `not leads(process) or knows_isr(process)`
            parts[i] = _as_called(scope, node.values[i])
    word = " and " if both else " or "
    merged = {text: shown for part in parts for text, shown in part.values.items()}
    names = {name: meant for part in parts for name, meant in part.names.items()}
    # the last one is what is claimed, those before say when: `not leads or knows`
    helper = next((part.helper for part in parts if part.helper), "")
    return _Part(word.join(part.text for part in parts), parts[-1].line, merged, helper, names)


def _as_called(scope: _Scope, node: ast.expr) -> _Part:
    """`node` as it stands in its own function, with the values of its calls instead of those of their arguments."""
    part = _leaf(scope, node)
    values = dict(part.values)
    for call in [n for n in ast.walk(node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]:
        try:
            value = scope.value(call)
        except Exception:  # a part that `and` and `or` stop short of, or of a comprehension
            continue
        if isinstance(value, bool):
            for argument in call.args:
                values.pop(scope.function.text(argument), None)
            values[scope.function.text(call)] = value
    return replace(part, values=values)


def _blame_call(scope: _Scope, node: ast.Call, value: bool) -> _Part:
    """The element for which all(...) fails (or any(...) holds); of a helper the part that decides it."""
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name in ("all", "any"):
        generator = node.args[0] if node.args else None
        if isinstance(generator, ast.GeneratorExp) and value is (name == "any"):
            return _blame_element(scope, generator, value)
        return _leaf(scope, node)
    helper = scope.value(node.func)
    helper = helper.function if isinstance(helper, Declared) else helper
    if not isinstance(helper, FunctionType) or helper.__module__.startswith("checker.lang."):
        return _leaf(scope, node)
    given = {k.arg: scope.value(k.value) for k in node.keywords if k.arg is not None}
    bound = inspect.signature(helper).bind(*[scope.value(a) for a in node.args], **given)
    bound.apply_defaults()
    inside = _of_call(function_of(helper), tuple(bound.arguments.values()), value)
    if inside is None:
        return _leaf(scope, node)
    return replace(_with(inside, bound.arguments), line=node.lineno, helper=inside.helper or helper.__name__)


def _blame_element(scope: _Scope, generator: ast.GeneratorExp, value: bool) -> _Part:
    """The first element whose value is `value`; its names are known in what is said of it."""
    targets = [n.id for g in generator.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)]
    names = ast.Tuple([ast.Name(t, ast.Load()) for t in targets], ast.Load())
    *first, last = generator.generators
    wanted: ast.expr = generator.elt if value else ast.UnaryOp(ast.Not(), generator.elt)
    chosen = ast.comprehension(last.target, last.iter, [*last.ifs, wanted], 0)
    call = ast.Call(ast.Name("next", ast.Load()), [ast.GeneratorExp(names, [*first, chosen])], [])
    found = scope.value(ast.fix_missing_locations(ast.copy_location(call, generator)))
    element = dict(zip(targets, found, strict=True))
    return _with(_blame(_Scope(scope.function, {**scope.names, **element}), generator.elt, value), element)


def _with(part: _Part, names: Mapping[str, Any]) -> _Part:
    """`part`, saying also which one is spoken of: those of `names` that stand for an identity or a single value."""
    single = {name: value for name, value in names.items() if isinstance(value, Identity | Enum | int)}
    values = {name: to_itf(value) for name, value in single.items()}
    return replace(part, values={**values, **part.values}, names={**single, **part.names})


def _leaf(scope: _Scope, node: ast.expr | ast.stmt) -> _Part:
    """`node` as it stands, with the values of the paths and names in it, the longest ones, each once."""
    values: dict[str, Any] = {}
    bound = {n.id for g in ast.walk(node) if isinstance(g, ast.comprehension)
             for n in ast.walk(g.target) if isinstance(n, ast.Name)}  # fmt: skip
    _collect(scope, node, bound, lambda text, value: values.setdefault(text, value))
    used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} - bound
    names = {name: value for name, value in scope.names.items() if name in used}
    return _Part(scope.function.text(node), node.lineno, values, names=names)


def _collect(scope: _Scope, node: ast.AST, bound: set[str], add: Callable[[str, Any], Any]) -> None:
    if isinstance(node, ast.Attribute | ast.Subscript | ast.Name):
        used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        if used & bound or not used & set(scope.names):
            return
        try:
            value = scope.value(node)
            if not (isinstance(node, ast.Name) and _is_state(value)):
                add(scope.function.text(node), to_itf(value))
        except Exception:  # not evaluated where `and` and `or` stop short, or what breaks down
            if isinstance(node, ast.Attribute | ast.Subscript):
                _collect(scope, node.value, bound, add)
        for index in [n.slice for n in ast.walk(node) if isinstance(n, ast.Subscript)]:
            _collect(scope, index, bound, add)
        return
    children = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Call):  # of `s.log.count(x)` the log, of a helper its arguments only
        children[:1] = [node.func.value] if isinstance(node.func, ast.Attribute) else []
    for child in children:
        _collect(scope, child, bound, add)


def _bracketed(text: str) -> str:
    return text if isinstance(ast.parse(text, mode="eval").body, _SIMPLE) else f"({text})"


def _is_compound(text: str) -> bool:
    return any(isinstance(node, ast.BoolOp) for node in ast.walk(ast.parse(text, mode="eval")))


def _is_state(value: Any) -> bool:
    info = getattr(type(value), MARK, None)
    return isinstance(info, RecordInfo) and info.is_state
