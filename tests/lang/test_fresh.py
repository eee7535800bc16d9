"""Ordinals that plain Python issues."""

from __future__ import annotations

from checker.lang.loader import load
from checker.reference.step import Reference


def test_a_step_issues_the_next_ordinal_however_often_it_is_taken() -> None:
    """Of `grow_log`, whose first assignment is of what `fresh` has issued, and which there begins anew on a copy."""
    model = load("kraft/unfencing_ends")
    reference = Reference(model)
    state = model.initial_states()[0]
    grows = next(
        number for number, (action, _) in enumerate(reference.instances) if reference.actions[action].name == "grow_log"
    )
    for _ in range(2):
        after = reference.step(state, grows).state
        assert after is not None
        assert [one.image.offset.value for one in after.controllers.values()] == [0]
