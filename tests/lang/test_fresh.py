"""Ordinals that plain Python issues."""

from __future__ import annotations

from checker.lang.loader import load
from checker.reference.step import Reference


def test_a_step_issues_the_lowest_ordinal_however_often_it_is_taken() -> None:
    """The first assignment comes after `fresh`, and there a step that was tried on the state itself begins anew."""
    model = load("kraft/membership")
    reference = Reference(model)
    state = model.initial_states()[0]
    starts = [
        number for number, (action, _) in enumerate(reference.instances) if reference.actions[action].name == "start"
    ]
    for _ in range(2):
        for number in starts:
            after = reference.step(state, number).state
            assert after is not None
            issued = [one.incarnation.value for one in after.processes.values() if one.incarnation is not None]
            assert issued == [0]
