"""Places of declarations in a spec's source, for the carets of error messages."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

from checker.lang.errors import Place

OWN = __file__.rsplit("/", 2)[0]  # the checker's own files, spelled as in tracebacks: on Spark they are in a zip
LIBRARY = os.__file__.rsplit("/", 1)[0]  # Python's own

TREE = "__fencepost_tree__"  # on a function that was made from a tree, and not read from its file: the tree
VARIANT = "__fencepost_variant__"  # on a copy of an action that calls such a function: a text that identifies it


@functools.lru_cache(maxsize=256)
def _tree(file: str, text: str) -> ast.Module:
    return ast.parse(text)


def parsed(file: str) -> ast.Module:
    """The syntax tree of a file as it is now."""
    return _tree(file, "".join(linecache.getlines(file)))


def place_of(file: str, node: ast.AST) -> Place:
    """The place of `node`; what spans several lines is shown by its first."""
    line = getattr(node, "lineno", 1)
    column = getattr(node, "col_offset", 0)
    same_line = getattr(node, "end_lineno", line) == line
    end = getattr(node, "end_col_offset", None) if same_line else 10_000
    return Place(file, line, column, end or column + 1)


def definition(function: Callable[..., Any]) -> ast.FunctionDef | None:
    """The tree of a function that is written with def in a file, or that carries its tree."""
    made: ast.FunctionDef | None = function.__dict__.get(TREE)
    if made is not None:
        return made
    code = inspect.unwrap(function).__code__
    for node in ast.walk(parsed(code.co_filename)):
        if isinstance(node, ast.FunctionDef) and node.name == function.__name__:
            if min([node.lineno, *[d.lineno for d in node.decorator_list]]) == code.co_firstlineno:
                return node
    return None


def function_place(function: Callable[..., Any], parameter: str | None = None) -> Place:
    """The line of a function's def, or one of its parameters."""
    code = inspect.unwrap(function).__code__
    tree = definition(function)
    if tree is None:
        return Place(code.co_filename, code.co_firstlineno)
    for argument in tree.args.args:
        if argument.arg == parameter:
            return place_of(code.co_filename, argument)
    return place_of(code.co_filename, tree)


def field_place(cls: type[Any], name: str | None = None) -> Place | None:
    """The line of a class, or of one of its fields (of the class it is inherited from)."""
    for owner in cls.__mro__:
        module = sys.modules.get(owner.__module__)
        file = getattr(module, "__file__", None)
        if file is None or (name is not None and name not in inspect.get_annotations(owner)):
            continue
        for node in ast.walk(parsed(file)):
            if isinstance(node, ast.ClassDef) and node.name == owner.__name__:
                for field in node.body:
                    if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                        if field.target.id == name:
                            return place_of(file, field)
                return place_of(file, node)
    return None


def assigned_place(file: str, name: str) -> Place | None:
    """The line in which a module assigns to a name."""
    for node in parsed(file).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return place_of(file, node)
    return None


def caller_place(depth: int) -> Place:
    """The line of the code that called, `depth` frames up."""
    frame = sys._getframe(depth + 1)
    return Place(frame.f_code.co_filename, frame.f_lineno, 0, 10_000)


def raised_at(error: BaseException) -> tuple[str, int]:
    """The file and line of the spec that an error comes from, not of what its lines called; ("", 0) for none."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = frame.filename
        if not file.startswith((OWN, "<")) and (not file.startswith(LIBRARY) or "site-packages" in file):
            return file, frame.lineno or 0
    return "", 0


def raised_place(error: BaseException) -> Place | None:
    """The line of the spec that an error comes from, whole; None where no line of a spec took part."""
    file, line = raised_at(error)
    return Place(file, line, 0, 10_000) if file else None
