"""Refinement mappings: how a spec says which abstract spec it implements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any, TypeVar

from checker.lang.declare import Declared, Model, declared_as
from checker.lang.loader import models_of

F = TypeVar("F", bound=Callable[..., Any])


def refines(abstract: Model | ModuleType, *, source: str = "") -> Callable[[F], Declared]:
    """A refinement mapping: `(s) -> AbstractState`. Every step is, seen through it, a step of `abstract` or none.

    abstract: a model, or the instance of a spec whose first model is meant. Ordinals of its state are of the sorts of
    this one, and it holds no bags.
    """

    def mark(function: F) -> Declared:
        model = models_of(abstract)[0] if isinstance(abstract, ModuleType) else abstract
        return replace(declared_as(function, "refinement", source=source), abstract=model)

    return mark
