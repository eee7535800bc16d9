"""The syntax tree of a spec's function, and the whitelist of the syntax allowed in it."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable
from typing import Any

from checker.lang.errors import Place, SpecError
from checker.lang.where import definition, function_place, place_of

ALLOWED: tuple[type[ast.AST], ...] = (
    ast.FunctionDef, ast.arguments, ast.arg, ast.Return, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For, ast.If,
    ast.Match, ast.match_case, ast.MatchValue, ast.MatchSingleton, ast.MatchClass, ast.MatchAs, ast.MatchOr,
    ast.Expr, ast.Pass, ast.Assert, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.BinOp, ast.Add,
    ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.BitOr, ast.BitAnd, ast.IfExp, ast.Set, ast.SetComp, ast.DictComp,
    ast.Dict, ast.GeneratorExp, ast.comprehension, ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE,
    ast.Is, ast.IsNot, ast.In, ast.NotIn, ast.Call, ast.keyword, ast.Constant, ast.Attribute, ast.Subscript,
    ast.Slice, ast.Name, ast.Tuple, ast.Load, ast.Store,
)  # fmt: skip

INSTEAD: dict[type[ast.AST], tuple[str, str]] = {
    ast.While: ("a while loop", "loop over a finite domain, a sequence or a permutation parameter"),
    ast.Break: ("break", "say when with any(...), all(...) or a helper that returns early"),
    ast.Continue: ("continue", "put what follows under an if"),
    ast.Try: ("try", "what can go wrong is an outcome of the step: test for it with if or require"),
    ast.Raise: ("raise", "guard with require(...), or let a property say what must not happen"),
    ast.Lambda: ("a lambda", "write a helper function"),
    ast.ListComp: ("a list", "use a set comprehension or tuple(... for ...)"),
    ast.List: ("a list", "sequences are tuples: (a, b)"),
    ast.With: ("with", "specs have no resources"),
    ast.Global: ("global", "what changes belongs to the state"),
    ast.Nonlocal: ("nonlocal", "what changes belongs to the state"),
    ast.NamedExpr: ("an assignment inside an expression", "give it a line of its own"),
    ast.Delete: ("del", "assign None or the empty value"),
    ast.JoinedStr: ("a string", "specs compute with no text: use an enum"),
    ast.Import: ("an import inside a function", "import at the top of the module"),
    ast.ImportFrom: ("an import inside a function", "import at the top of the module"),
    ast.ClassDef: ("a class inside a function", "declare it at the top of the module"),
    ast.Yield: ("yield", "return a value"),
    ast.Await: ("await", "steps are atomic: split them into actions"),
    ast.Div: ("a fraction", "numbers are whole: // divides and rounds down"),
    ast.Starred: ("unpacking", "name the parts"),
}


class Function:
    """A function of a spec: its tree and source location."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.code = inspect.unwrap(function).__code__
        self.file = self.code.co_filename
        self.globals = function.__globals__
        tree = definition(function)
        if tree is None:
            raise SpecError(f"the source of {function.__name__} cannot be read", place=function_place(function),
                            hint="a spec's functions are written with def in a file")  # fmt: skip
        self.tree = tree
        self.parameters = [a.arg for a in self.tree.args.args]
        self._texts: dict[ast.AST, str] = {}
        self._check()

    def place(self, node: ast.AST) -> Place:
        """The place of `node`; a node of several lines is shown by its first."""
        return place_of(self.file, node if hasattr(node, "lineno") else self.tree)

    def text(self, node: ast.AST) -> str:
        """The source of `node` on one line."""
        if node not in self._texts:
            self._texts[node] = " ".join(ast.unparse(node).split())
        return self._texts[node]

    @functools.cached_property
    def defaults(self) -> dict[str, Any]:
        """The defaults of the parameters that have one."""
        declared = inspect.signature(self.function).parameters
        return {name: p.default for name, p in declared.items() if p.default is not inspect.Parameter.empty}

    def _check(self) -> None:
        arguments = self.tree.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs:
            raise SpecError(f"{self.tree.name} takes a variable number of arguments", place=self.place(self.tree),
                            hint="name each parameter")  # fmt: skip
        for statement in self.tree.body:
            for node in ast.walk(statement):
                self._check_node(node)

    def _check_node(self, node: ast.AST) -> None:
        if isinstance(node, ALLOWED):
            if isinstance(node, ast.FunctionDef):
                raise SpecError("a function inside a function", place=self.place(node),
                                hint="write the helper at the top of the module")  # fmt: skip
            return
        what, hint = INSTEAD.get(type(node), (type(node).__name__, "docs/writing-a-spec.md says what a spec may use"))
        if isinstance(node, ast.operator | ast.cmpop | ast.unaryop):
            node = next(n for n in ast.walk(self.tree) if node in ast.iter_child_nodes(n))
        raise SpecError(f"{what} cannot stand in a spec", place=self.place(node), hint=hint)


@functools.lru_cache(maxsize=4096)
def function_of(function: Callable[..., Any]) -> Function:
    """The tree of `function`, checked against the whitelist. Raises SpecError."""
    return Function(function)
