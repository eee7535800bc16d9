"""Faults planted in a spec: a text of an action, or of a helper it calls, replaced. The files stay as they are."""

from __future__ import annotations

import ast
import inspect
import textwrap

from checker.lang.loader import BoundModel
from checker.mutate.mutants import changed, functions_of, mutated


def planted(model: BoundModel, file: str, old: str, new: str) -> BoundModel:
    """The model with `new` for `old`, which must stand once in one of its functions in a file of that name."""
    places = [
        (function, actions, inspect.getsource(function)) for function, actions in functions_of(model).items()
        if function.__code__.co_filename.endswith(f"/{file}") and old in inspect.getsource(function)
    ]  # fmt: skip
    [(function, actions, text)] = places
    assert text.count(old) == 1
    tree = ast.parse(textwrap.dedent(text.replace(old, new))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    ast.increment_lineno(tree, function.__code__.co_firstlineno - 1)
    return mutated(model, changed(model, actions, function, tree))
