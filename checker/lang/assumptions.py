"""Assumptions of a spec about its constants, as TLA+'s ASSUME: checked whenever a model is bound."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from typing import Any

from checker.lang.declare import ConstantsInfo, Declared, Model
from checker.lang.errors import SpecError, shortened
from checker.lang.where import definition, raised_place


def check_assumptions(label: str, model: Model, info: ConstantsInfo | None, values: Mapping[str, Any]) -> None:
    """Hold the constants in force to what the spec and the model assume. Raises SpecError for what does not hold."""
    for assumed in assumptions_of(model, info):
        try:
            holds = assumed.function()
        except Exception as error:
            raise SpecError(f"the assumption {assumed.name} cannot be evaluated: {type(error).__name__}: "
                            f"{shortened(error)}", place=raised_place(error) or assumed.place) from None  # fmt: skip
        if not isinstance(holds, bool):
            raise SpecError(f"the assumption {assumed.name} gives {shortened(repr(holds))}, and no boolean",
                            place=assumed.place, hint="return a condition on the constants")  # fmt: skip
        if not holds:
            read = ", ".join(f"{name}={values[name]}" for name in _constants_read(assumed, values))
            raise SpecError(f"{label} has no meaning with {read or 'these constants'}: {assumed.doc or assumed.name}",
                            place=assumed.place, hint="choose other constants: fencepost list " + label)  # fmt: skip


def assumptions_of(model: Model, info: ConstantsInfo | None) -> list[Declared]:
    """The assumptions that stand beside the constants, which are of every model, and then the model's own."""
    beside = vars(sys.modules[info.cls.__module__]).values() if info is not None else ()
    found = [d for d in beside if isinstance(d, Declared) and d.kind == "assumption"]
    return [*found, *[d for d in model.assumptions if d not in found]]


def _constants_read(assumed: Declared, values: Mapping[str, Any]) -> list[str]:
    """The constants that an assumption names, in their order there."""
    tree = definition(assumed.function)
    read = [n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)] if tree is not None else []
    return [name for name in dict.fromkeys(read) if name in values]
