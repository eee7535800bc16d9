"""Faults planted in a spec: a fragment of an action, or of a helper it calls, changed. The files stay as they are."""

from __future__ import annotations

from checker.lang.loader import BoundModel
from checker.lang.where import definition
from checker.mutate.mutants import changed, functions_of, mutated
from tests import fragments


def planted(model: BoundModel, function: str, old: str, new: str) -> BoundModel:
    """The model with `new` for `old` (see tests.fragments) in its one function of that name."""
    [(found, actions)] = [(f, actions) for f, actions in functions_of(model).items() if f.__qualname__ == function]
    tree = definition(found)
    assert tree is not None
    return mutated(model, changed(model, actions, found, fragments.changed(tree, old, new)))
