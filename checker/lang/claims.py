"""The annotations of helpers, held: what a helper is given and returns must be of the types that it declares.

As for a store, a number above a `Nat` and a sequence or bag that is too long cut the step, and all else that does not
fit is a violation. In plain Python the helpers' own code says so: `hold` puts a call before their first line for each
parameter, and around each value that they return, and leaves all lines where they are.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping
from types import CodeType, FunctionType
from typing import Annotated, Any, TypeGuard, get_origin

from checker.lang.errors import SpecError
from checker.lang.marks import binding_version
from checker.lang.resolve import cached, hints, resolve
from checker.lang.scalars import BoolType, wrong
from checker.lang.types import BagType, MapType, OptionType, RecordType, SeqType, SetType, Type
from checker.lang.values import Bag, Cut, Map, RuntimeViolation
from checker.lang.where import definition, function_place

HELD = "__fencepost_held__"  # on a helper whose code holds its annotations
RETURNED = "return"
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
"""The fields of syntax trees that hold statements."""


class AnyInteger:
    """The meaning of `int` in the annotation of a helper: a number, of any size."""


Claim = Type | AnyInteger


def claims_of(function: FunctionType) -> Mapping[str, Claim]:
    """The claims of a helper's annotations on its parameters and, as "return", on its value, where they are spec types.

    Raises SpecError for an annotation that cannot be resolved, and for a range or bound that cannot be.
    """
    found: Mapping[str, Claim] = cached(("claims", function), lambda: _claims(function))
    return found


def _claims(function: FunctionType) -> dict[str, Claim]:
    found: dict[str, Claim] = {}
    for name, hint in hints(function).items():
        if hint is int:
            found[name] = AnyInteger()
            continue
        try:
            found[name] = resolve(hint, f"{function.__name__}, {name}")
        except SpecError as error:
            if get_origin(hint) is Annotated:
                place = function_place(function, name)
                raise SpecError(error.reason, place=place, hint=error.hint) from None
    return found


def is_held(function: Any) -> TypeGuard[FunctionType]:
    """True if a function is a helper whose code holds its annotations."""
    return isinstance(function, FunctionType) and HELD in function.__dict__


def hold(function: FunctionType) -> None:
    """Make the code of a helper hold its annotations, once. What is written without def is left as it is."""
    if is_held(function) or not function.__annotations__ or function.__closure__:
        return
    tree = definition(function)
    if tree is None or tree.args.vararg or tree.args.kwarg or tree.args.posonlyargs:
        return
    function.__globals__[_name(function.__name__)] = _Holder(function)
    function.__code__ = code_of(tree, function.__code__.co_filename, held=True)
    function.__dict__[HELD] = True


def code_of(tree: ast.FunctionDef, file: str, held: bool) -> CodeType:
    """The code of a function with this tree, which holds its annotations if `held`."""
    body = _holding(tree) if held else tree.body
    bare = ast.FunctionDef(tree.name, tree.args, body, [], None)  # without decorators: it is not declared again
    module = ast.fix_missing_locations(ast.Module([ast.copy_location(bare, tree)], []))
    code = compile(module, file, "exec", dont_inherit=True)
    found = next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == tree.name)
    return found.replace(co_firstlineno=min([tree.lineno, *[d.lineno for d in tree.decorator_list]]))


def _holding(tree: ast.FunctionDef) -> list[ast.stmt]:
    """The statements of a helper with checks of what it is given and returns."""
    body = [_returning(tree.name, statement) for statement in tree.body]
    given = [a for a in tree.args.args if a.annotation is not None]
    checks = [_check(tree.name, a.arg, ast.Name(a.arg, ast.Load()), a) for a in given]
    documented = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    return [*body[:documented], *[ast.copy_location(ast.Expr(c), c) for c in checks], *body[documented:]]


def _name(helper: str) -> str:
    """The global name by which the code of a helper reaches what holds its annotations."""
    return f"__held_{helper}__"


def _check(helper: str, name: str, value: ast.expr, at: ast.AST) -> ast.Call:
    call = ast.Call(ast.Name(_name(helper), ast.Load()), [ast.Constant(name), value], [])
    return ast.copy_location(call, at)


def _returning(helper: str, node: ast.AST) -> Any:
    """A statement, or a part of one that has statements, with a check around what it returns.

    Only what leads to a `return` is copied. A function in a function returns for itself.
    """
    if isinstance(node, ast.Return) and node.value is not None:
        return ast.copy_location(ast.Return(_check(helper, RETURNED, node.value, node.value)), node)
    blocks = [] if isinstance(node, ast.FunctionDef) else [name for name in _BLOCKS if hasattr(node, name)]
    if not blocks:
        return node
    found = copy.copy(node)
    for name in blocks:
        setattr(found, name, [_returning(helper, part) for part in getattr(node, name)])
    return found


class _Holder:
    """Gives a value back that is what a helper says it is. Raises Cut or RuntimeViolation for another."""

    def __init__(self, function: FunctionType) -> None:
        self.function = function
        self._version = 0  # of the binding that was in force last
        self._claims: Mapping[str, Claim] = {}

    def __call__(self, name: str, value: Any) -> Any:
        version = binding_version()
        if version:
            if version != self._version:
                self._version, self._claims = version, claims_of(self.function)
            claim = self._claims.get(name)
            if isinstance(claim, AnyInteger):
                if not isinstance(value, int) or isinstance(value, bool):
                    raise RuntimeViolation(f"{value!r} is not an integer")
            elif claim is not None:
                _fit(claim, value)
        return value


def _fit(type_: Type, value: Any) -> None:
    """Raise what storing the value in a place of the type would raise; nothing is copied."""
    if isinstance(type_, BoolType):  # what stands for a truth is one: `return s.isr and ...`
        return
    if isinstance(type_, OptionType):
        if value is not None:
            _fit(type_.inner, value)
    elif isinstance(type_, RecordType) and not type_.frozen:
        if type(value) is not type_.cls:
            raise wrong(value, type_)
    elif isinstance(type_, MapType):
        if not isinstance(value, Map) or set(value) != set(type_.keys):
            raise wrong(value, type_)
        for key in type_.keys:
            _fit(type_.value_type, value[key])
    elif isinstance(type_, SeqType | BagType):
        if not isinstance(value, tuple if isinstance(type_, SeqType) else Bag):
            raise wrong(value, type_)
        most = type_.length if isinstance(type_, SeqType) else type_.capacity
        if len(value) > most:
            raise Cut(f"{len(value)} elements exceed the {most} of a {type_}")
        for element in value:
            _fit(type_.element, element)
    elif isinstance(type_, SetType):
        if not isinstance(value, frozenset | set):
            raise wrong(value, type_)
        for member in value:
            _fit(type_.element, member)
    else:
        type_.store(value)
