"""The number of controllers that a model is written for, assumed besides the assumptions of `design`."""

from __future__ import annotations

from checker.lang import assume
from spec.kraft.design import Design


@assume
def one_controller() -> bool:
    """no controller is elected here: there is one, and what it decides is committed at once."""
    return Design.controllers == 1


@assume
def several_controllers() -> bool:
    """a majority of several controllers elects one here, and commits what it decides."""
    return Design.controllers > 1


@assume
def three_controllers() -> bool:
    """the start of this model is one of three controllers."""
    return Design.controllers == 3
