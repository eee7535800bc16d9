"""Mutation operators: every edit of a function's tree, one at a time, in the order of the source.

Left out, as it would not pay: `and` for `or` (what notices a clause is missing also notices a weaker one), and
conditions on constants alone, which are design switches: `--set` turns those.
"""

from __future__ import annotations

import ast
import copy
import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from checker.lang.declare import ConstantsInfo, replace
from checker.lang.marks import MARK
from checker.lang.values import Identity, require, require_some

Path = tuple[tuple[str, int | None], ...]  # from a function's tree to a node: fields, with an index where it is a list
UNKNOWN = object()  # what a name stands for that only a run can show

_SHIFTED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_OPPOSITE = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)  # for these, to shift is to negate
_LEFT_OUT = ("clause", "field")  # operators that leave out a part of what they change
_SWAPPED = {"any": "all", "all": "any", "min": "max", "max": "min"}


@dataclass(frozen=True)
class Edit:
    """One change of a function. before, after: source on one line ("" where it is dropped); tree: the function changed.

    line: where it stands in the file. statement: the way to the statement it is in.
    """

    operator: str
    before: str
    after: str
    line: int
    tree: ast.FunctionDef
    statement: Path

    @property
    def text(self) -> str:
        return f"replace {self.before} by {self.after}" if self.after else f"drop {self.before}"


def edits(tree: ast.FunctionDef, scope: dict[str, Any], finder: type[Finder] | None = None) -> Iterator[Edit]:
    """Every edit of a function whose globals are `scope`; those with the same result are given once.

    finder: looks for what can be changed; None: what is changed of a spec.
    """
    looking = (finder or Finder)(tree, scope)
    looking.block(tree.body, "body", ())
    seen = {ast.unparse(tree)}
    for operator, path, statement, before, after, node in looking.found:
        changed = replaced(tree, path, node)
        text = ast.unparse(changed)
        if text not in seen:
            seen.add(text)
            line = getattr(at(tree, path), "lineno", tree.lineno)
            yield Edit(operator, before, after, line, changed, statement)


def at(tree: ast.AST, path: Path) -> Any:
    """The node that a path leads to."""
    for field, index in path:
        tree = getattr(tree, field) if index is None else getattr(tree, field)[index]
    return tree


def replaced(tree: ast.FunctionDef, path: Path, node: ast.AST) -> ast.FunctionDef:
    """A copy of the function with `node` in the place that `path` leads to. What is not on the way is shared."""
    changed = copy.copy(tree)
    place: Any = changed
    *way, last = path
    for field, index in way:
        place = _renewed(place, field, index, copy.copy(at(place, ((field, index),))))
    _renewed(place, *last, ast.copy_location(copy.deepcopy(node), at(tree, path)))
    return ast.fix_missing_locations(changed)


def _renewed(parent: Any, field: str, index: int | None, node: ast.AST) -> ast.AST:
    """`node`, put in the place of a child of `parent`, of which no other node has a part."""
    if index is None:
        setattr(parent, field, node)
    else:
        siblings = list(getattr(parent, field))
        siblings[index] = node
        setattr(parent, field, siblings)
    return node


def one_line(node: ast.AST) -> str:
    """The source of a node on one line."""
    return " ".join(ast.unparse(node).split())


def looked_up(node: ast.AST, scope: dict[str, Any]) -> Any:
    """The value of a name or a chain of attributes in a function's globals, else UNKNOWN."""
    if isinstance(node, ast.Name):
        return scope.get(node.id, UNKNOWN)
    if isinstance(node, ast.Attribute):
        return getattr(looked_up(node.value, scope), node.attr, UNKNOWN)
    return UNKNOWN


class Finder:
    """Collects (operator, path, path of the statement, what is dropped or replaced, by what, what then stands)."""

    def __init__(self, tree: ast.FunctionDef, scope: dict[str, Any]) -> None:
        self.found: list[tuple[str, Path, Path, str, str, ast.AST]] = []
        self.bound = {a.arg for a in tree.args.args}
        local = self.bound | {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        self.scope = {name: value for name, value in scope.items() if name not in local}
        self.statement: Path = ()

    def offer(self, operator: str, path: Path, before: ast.AST, node: ast.AST, after: str | None = None) -> None:
        """after: how the change is shown where the source of `node` would say too much."""
        if after is None:
            after = "" if isinstance(node, ast.Pass) or operator in _LEFT_OUT else one_line(node)
        self.found.append((operator, path, self.statement, one_line(before), after, node))

    # Statements.

    def block(self, statements: list[ast.stmt], field: str, path: Path) -> None:
        for index, statement in enumerate(statements):
            here = (*path, (field, index))
            self.statement = here
            if self._can_go(statement, nested=bool(path)):
                self.offer("drop", here, statement, ast.Pass())
            self._statement(statement, here)

    def _can_go(self, statement: ast.stmt, nested: bool) -> bool:
        """True if a statement is one that is dropped: a guard, an assignment, an early return.

        The first assignment to a local name stays: without it the function means nothing.
        """
        if isinstance(statement, ast.Return):
            return nested
        if isinstance(statement, ast.Expr):
            return self._calls(statement.value, require, require_some)
        if not isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign):
            return False
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        names = {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        first = bool(names - self.bound)
        self.bound |= names
        return not first

    def _statement(self, node: ast.stmt, path: Path) -> None:
        if isinstance(node, ast.If):
            self._expression(node.test, (*path, ("test", None)), condition=True)
            self.block(node.body, "body", path)
            self.block(node.orelse, "orelse", path)
        elif isinstance(node, ast.For):
            self._expression(node.iter, (*path, ("iter", None)))
            self.bound |= {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
            self.block(node.body, "body", path)
        elif isinstance(node, ast.Match):
            self._expression(node.subject, (*path, ("subject", None)))
            for index, case in enumerate(node.cases):
                self.statement = path  # again, after the statements of another case
                self._case(case, (*path, ("cases", index)))
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Return | ast.Expr):
            if node.value is not None:
                self._expression(node.value, (*path, ("value", None)))

    def _case(self, case: ast.match_case, path: Path) -> None:
        self._pattern(case.pattern, (*path, ("pattern", None)))
        if case.guard is not None:
            self._expression(case.guard, (*path, ("guard", None)), condition=True)
        self.block(case.body, "body", path)

    def _pattern(self, pattern: ast.pattern, path: Path) -> None:
        if isinstance(pattern, ast.MatchValue):
            self._expression(pattern.value, (*path, ("value", None)))
        for field in ("patterns", "kwd_patterns"):
            for index, inner in enumerate(getattr(pattern, field, [])):
                self._pattern(inner, (*path, (field, index)))

    # Expressions.

    def _expression(self, node: ast.expr, path: Path, condition: bool = False) -> None:
        if self._is_setting(node):
            return
        if condition:
            self.offer("negate", path, node, _negated(node))
        visit = getattr(self, f"_visit_{type(node).__name__}", None)
        if visit is not None:
            visit(node, path)
        else:
            self._children(node, path)

    def _children(self, node: ast.AST, path: Path) -> None:
        """Whatever stands in an expression, left to right."""
        for field, value in ast.iter_fields(node):
            for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
                here = (*path, (field, index))
                if isinstance(child, ast.expr):
                    self._expression(child, here)
                elif isinstance(child, ast.comprehension | ast.keyword):
                    self._children(child, here) if isinstance(child, ast.keyword) else self._rounds(child, here)

    def _rounds(self, node: ast.comprehension, path: Path) -> None:
        self._expression(node.iter, (*path, ("iter", None)))
        for index, test in enumerate(node.ifs):
            self._expression(test, (*path, ("ifs", index)), condition=True)

    def _visit_BoolOp(self, node: ast.BoolOp, path: Path) -> None:
        for index, operand in enumerate(node.values):
            if self._is_setting(operand):
                continue
            rest = [*node.values[:index], *node.values[index + 1 :]]
            self.offer("clause", path, operand, rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest))
            self._expression(operand, (*path, ("values", index)), condition=True)

    def _visit_UnaryOp(self, node: ast.UnaryOp, path: Path) -> None:
        if isinstance(node.op, ast.Not):
            self.offer("negate", path, node, node.operand)
        self._children(node, path)

    def _visit_Compare(self, node: ast.Compare, path: Path) -> None:
        for index in range(len(node.ops)):
            shifted = [_SHIFTED[type(o)]() if i == index else o for i, o in enumerate(node.ops)]
            self.offer("compare", path, node, ast.Compare(node.left, shifted, node.comparators))
        self._children(node, path)

    def _visit_BinOp(self, node: ast.BinOp, path: Path) -> None:
        """Leave out what is added, taken away or kept; of a union and an intersection, also the other side."""
        self.offer("operand", path, node, node.left)
        if isinstance(node.op, ast.BitOr | ast.BitAnd):
            self.offer("operand", path, node, node.right)
        self._children(node, path)

    def _visit_IfExp(self, node: ast.IfExp, path: Path) -> None:
        self._expression(node.test, (*path, ("test", None)), condition=True)
        self._expression(node.body, (*path, ("body", None)))
        self._expression(node.orelse, (*path, ("orelse", None)))

    def _visit_Call(self, node: ast.Call, path: Path) -> None:
        if self._calls(node, require):
            self._expression(node.args[0], (*path, ("args", 0)), condition=True)
            return
        if self._calls(node, require_some):
            self.offer("guard", path, node, node.args[0])
        if self._calls(node, replace):
            for index, keyword in enumerate(node.keywords):
                fewer = [*node.keywords[:index], *node.keywords[index + 1 :]]
                self.offer("field", path, keyword, ast.Call(node.func, node.args, fewer))
        called = looked_up(node.func, self.scope)
        if isinstance(called, type) and issubclass(called, Identity):
            self._identity(called, node, path)
            return
        if isinstance(node.func, ast.Name) and node.func.id in _SWAPPED:
            other = ast.Name(_SWAPPED[node.func.id], ast.Load())
            self.offer("quantifier", path, node, ast.Call(other, node.args, node.keywords))
        if isinstance(node.func, ast.Attribute):  # a method's receiver; what is called is not a value
            self._expression(node.func.value, (*path, ("func", None), ("value", None)))
        for index, argument in enumerate(node.args):
            self._expression(argument, (*path, ("args", index)))
        for index, keyword in enumerate(node.keywords):
            self._expression(keyword.value, (*path, ("keywords", index), ("value", None)))

    def _identity(self, cls: type[Identity], node: ast.Call, path: Path) -> None:
        """Another one of its kind, as for a value of an enum."""
        index = getattr(node.args[0], "value", None) if len(node.args) == 1 else None
        if isinstance(index, int):
            following = ast.Constant((index + 1) % cls.count())
            self.offer("identity", path, node, ast.Call(node.func, [following], []))

    def _visit_GeneratorExp(self, node: ast.GeneratorExp, path: Path) -> None:
        self._expression(node.elt, (*path, ("elt", None)))
        for index, rounds in enumerate(node.generators):
            self._rounds(rounds, (*path, ("generators", index)))

    def _visit_Attribute(self, node: ast.Attribute, path: Path) -> None:
        member = looked_up(node, self.scope)
        if isinstance(member, enum.Enum):
            names = list(type(member).__members__)
            after = names[(names.index(node.attr) + 1) % len(names)]
            self.offer("enum", path, node, ast.Attribute(node.value, after, ast.Load()))
        else:
            self._children(node, path)

    def _visit_Constant(self, node: ast.Constant, path: Path) -> None:
        if isinstance(node.value, bool):
            self.offer("constant", path, node, ast.Constant(not node.value))
        elif isinstance(node.value, int):
            self.offer("constant", path, node, ast.Constant(node.value + 1))

    def _calls(self, node: ast.AST, *functions: Callable[..., Any]) -> bool:
        return isinstance(node, ast.Call) and looked_up(node.func, self.scope) in functions

    def _is_setting(self, node: ast.expr) -> bool:
        """True if an expression is made of constants of the model alone."""
        found = [self.scope.get(n.id) for n in ast.walk(node) if isinstance(n, ast.Name)]
        switches = [isinstance(getattr(value, MARK, None), ConstantsInfo) for value in found]
        enums = [isinstance(value, type) and issubclass(value, enum.Enum) for value in found]
        return any(switches) and all(a or b for a, b in zip(switches, enums, strict=True))


def _negated(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return node.operand
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], _OPPOSITE):
        return ast.Compare(node.left, [_SHIFTED[type(node.ops[0])]()], node.comparators)
    return ast.UnaryOp(ast.Not(), node)
