"""Limits on the bindings of a model's actions, each of which is compiled on its own."""

from __future__ import annotations

import math
import warnings

from checker.errors import FencepostWarning
from checker.lang.declare import Declared
from checker.lang.errors import SpecError
from checker.lang.loader import BoundModel

MANY_BINDINGS = 2_000  # of one action: from here on a warning says why compiling takes long
MAX_BINDINGS = 100_000  # of all actions: minutes, and a gigabyte
_HINT = "let a parameter range over members of the state with MemberOf, or shrink the constants"


def count_bindings(model: BoundModel) -> int:
    """The bindings of all actions. Warns of an action that has many. Raises SpecError where there are too many.

    Nothing is compiled yet: a product of parameters that would take hours is refused at once.
    """
    counts = [math.prod(len(p.candidates) for p in model.parameters(action)) for action in model.model.actions]
    total = sum(counts)
    if total > MAX_BINDINGS:
        count, action = max(zip(counts, model.model.actions, strict=True), key=lambda found: found[0])
        reason = f"{_described(model, action, count)}; at most {MAX_BINDINGS:,} of all actions are compiled"
        raise SpecError(reason, place=action.place, hint=_HINT)
    for count, action in zip(counts, model.model.actions, strict=True):
        if count > MANY_BINDINGS:
            text = f"{_described(model, action, count)}, and each is compiled on its own, which takes a while"
            warnings.warn(f"{text}. To shorten it, {_HINT}", FencepostWarning, stacklevel=2)
    return total


def _described(model: BoundModel, action: Declared, count: int) -> str:
    product = " x ".join(f"{len(p.candidates):,} of {p.name}" for p in model.parameters(action))
    return f"action {action.name} has {count:,} bindings of its parameters ({product})"
