"""The mutants of a model: which functions its actions are made from, and actions in which one of them is changed.

A mutant is made of copies: of the changed function, and of all on the way from an action to it, each with globals
of its own in which the copies stand. Properties, and whatever else uses a helper, still see the original.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import typing
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Annotated, Any

from checker.lang.claims import code_of, is_held
from checker.lang.declare import Declared
from checker.lang.loader import BoundModel
from checker.lang.values import MemberOf
from checker.lang.where import TREE, VARIANT, definition
from checker.mutate.operators import Edit, edits


@dataclass(frozen=True)
class Mutant:
    """One edit of one function, and the numbers of the actions that it changes.

    key: names it for as long as the function keeps its name and the place its text, whatever changes around it.
    """

    key: str
    function: FunctionType
    edit: Edit
    actions: tuple[int, ...]

    @property
    def place(self) -> str:
        """File and line."""
        return f"{Path(self.function.__code__.co_filename).name}:{self.edit.line}"

    def of(self, model: BoundModel) -> dict[int, Declared]:
        """The changed actions by number."""
        return changed(model, self.actions, self.function, self.edit.tree)


def changed(
    model: BoundModel, actions: Iterable[int], function: FunctionType, tree: ast.FunctionDef
) -> dict[int, Declared]:
    """These actions with another body for `function`, which they are or call."""
    changes: dict[FunctionType, FunctionType] = {function: _from_tree(function, tree)}
    found = {}
    for number in actions:
        action = model.model.actions[number]
        copy = _rebuilt(_plain(action), changes)
        copy.__dict__[VARIANT] = f"{function.__module__}.{function.__qualname__}: {ast.unparse(tree)}"
        found[number] = dataclasses.replace(action, function=copy)
    return found


def mutated(model: BoundModel, actions: dict[int, Declared]) -> BoundModel:
    """The model with these actions in place of its own."""
    listed = [actions.get(n, action) for n, action in enumerate(model.model.actions)]
    return dataclasses.replace(model, model=dataclasses.replace(model.model, actions=listed))


def mutants_of(model: BoundModel) -> list[Mutant]:
    """All mutants of a model in order: of its actions and helpers as they stand in the files, then by source."""
    return [
        Mutant(key, function, edit, actions)
        for function, actions in functions_of(model).items()
        for key, edit in edits_of(function)
    ]


def edits_of(function: FunctionType) -> Iterator[tuple[str, Edit]]:
    """All edits of a function, each with its mutant's key. The model in whose actions it stands must be bound."""
    tree = definition(function)
    assert tree is not None, "a model that was compiled"
    counts: dict[str, int] = {}
    for edit in edits(tree, function.__globals__):
        name = f"{name_of(function)}: {edit.text}"
        counts[name] = counts.get(name, 0) + 1
        yield name if counts[name] == 1 else f"{name} #{counts[name]}", edit


def name_of(function: FunctionType) -> str:
    """The prefix of the keys of its mutants."""
    return f"{Path(function.__code__.co_filename).stem}.{function.__qualname__}"


def function_of(key: str) -> str:
    """The prefix of a mutant's key: what `name_of` gives."""
    return key.split(": ")[0]


def functions_of(model: BoundModel) -> dict[FunctionType, tuple[int, ...]]:
    """The actions and helpers of a model as they stand in the files, each with the numbers of the actions it serves."""
    users: dict[FunctionType, list[int]] = {}
    for number, action in enumerate(model.model.actions):
        for function in _closure(_plain(action)):
            users.setdefault(function, []).append(number)
    in_order = sorted(users, key=lambda f: (f.__code__.co_filename, f.__code__.co_firstlineno))
    return {function: tuple(users[function]) for function in in_order}


def _plain(action: Declared) -> FunctionType:
    function = inspect.unwrap(action.function)
    assert isinstance(function, FunctionType)
    return function


def _closure(function: FunctionType) -> set[FunctionType]:
    """A function and all helpers it calls, and they call."""
    found = {function}
    for _, callee in _callees(function):
        found |= _closure(callee)
    return found


@functools.cache
def _callees(function: FunctionType) -> tuple[tuple[tuple[str, ...], FunctionType], ...]:
    """(name, or names of a module and of what is in it, by which it is called; helper of a spec) for each in a tree."""
    return tuple(_named(function))


def _named(function: FunctionType) -> Iterator[tuple[tuple[str, ...], FunctionType]]:
    tree, scope = definition(function), function.__globals__
    assert tree is not None
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and _is_helper(scope.get(node.id)):
            yield (node.id,), scope[node.id]
        elif isinstance(node, ast.Name) and (drawn := _drawn(scope.get(node.id))) is not None:
            yield (node.id,), drawn
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = scope.get(node.value.id)
            if isinstance(module, ModuleType) and _is_helper(getattr(module, node.attr, None)):
                yield (node.value.id, node.attr), getattr(module, node.attr)


def _is_helper(value: Any) -> bool:
    return isinstance(value, FunctionType) and not value.__module__.startswith("checker.lang")


def _drawn(hint: Any) -> FunctionType | None:
    """The helper that parameters of a type are drawn by: `Candidate = Annotated[Broker, MemberOf(eligible)]`."""
    marks = typing.get_args(hint)[1:] if typing.get_origin(hint) is Annotated else ()
    return next((m.source for m in marks if isinstance(m, MemberOf) and isinstance(m.source, FunctionType)), None)


def _rebuilt(function: FunctionType, changes: dict[FunctionType, FunctionType]) -> FunctionType:
    """The function with `changes` for what it calls; the function itself where that is nothing. Fills in `changes`."""
    if function not in changes:
        calls = [(names, callee, _rebuilt(callee, changes)) for names, callee in _callees(function)]
        renewed = [(names, new) for names, old, new in calls if new is not old]
        changes[function] = _copy(function, function.__code__, _scope(function, renewed)) if renewed else function
    return changes[function]


def _scope(function: FunctionType, renewed: list[tuple[tuple[str, ...], FunctionType]]) -> dict[str, Any]:
    """The function's globals with other helpers under their names."""
    scope = dict(function.__globals__)
    for names, new in renewed:
        if len(names) == 2:
            module = ModuleType(scope[names[0]].__name__)
            module.__dict__.update(vars(scope[names[0]]))
            scope[names[0]] = module
            setattr(module, names[1], new)
        elif _drawn(scope[names[0]]) is not None:
            base, *marks = typing.get_args(scope[names[0]])
            others = [m for m in marks if not isinstance(m, MemberOf)]
            scope[names[0]] = Annotated[(base, *others, MemberOf(new))]
        else:
            scope[names[0]] = new
    return scope


def _from_tree(function: FunctionType, tree: ast.FunctionDef) -> FunctionType:
    """A copy of the function with another body."""
    made = _copy(function, code_of(tree, function.__code__.co_filename, held=is_held(function)), function.__globals__)
    made.__dict__[TREE] = tree
    return made


def _copy(function: FunctionType, code: CodeType, scope: dict[str, Any]) -> FunctionType:
    made = FunctionType(code, scope, function.__name__, function.__defaults__, function.__closure__)
    functools.update_wrapper(made, function)
    vars(made).pop("__wrapped__")
    return made
