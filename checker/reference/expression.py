"""Expressions over the state `s`, as they are typed: compiled with the names of a spec, evaluated as plain Python."""

from __future__ import annotations

import sys
from typing import Any

from checker.lang.errors import SpecError
from checker.lang.frontend import compile_expression
from checker.lang.itf import to_itf
from checker.lang.loader import BoundModel
from checker.lang.values import RuntimeViolation
from checker.reference.step import BREAKDOWNS, read_only
from traces.trace import Value


def names_of(model: BoundModel) -> dict[str, object]:
    """What an expression may name: everything that the spec's modules can see."""
    names: dict[str, object] = {}
    for declared in (*model.model.properties, model.model.init, *model.model.actions):
        names.update(vars(sys.modules[declared.function.__module__]))
    return names


def values_of(model: BoundModel, text: str, states: list[Any]) -> list[Value]:
    """The value (ITF) of an expression in each state; where it breaks down, why, as a text. Raises SpecError."""
    function = compile_expression(text, names_of(model)).function
    values: list[Value] = []
    for state in states:
        try:
            with read_only():
                values.append(to_itf(function(state)))
        except (RuntimeViolation, *BREAKDOWNS) as error:
            values.append(f"cannot be evaluated: {error}")
        except NameError as error:
            raise SpecError(f"{text}: {error}", hint="write a Python expression over the state s") from None
    return values
