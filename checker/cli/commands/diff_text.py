"""Words of `diff`: states and transitions of both sides, and the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.cli.output.printing import verdict_line
from checker.cli.output.table import paragraphs, table
from checker.verdicts import INCOMPLETE

if TYPE_CHECKING:
    from checker.explicit.diff import Difference


def diff_text(found: Difference) -> str:
    """A finished comparison for people: states and transitions of both sides."""
    sides = found.sides
    counts = [
        ("", "A", "B"),
        ("reachable states", *[f"{s.states:,}" for s in sides]),
        ("  that the other has not reached", *[f"{s.own_states:,}" for s in sides]),
        ("transitions", *[f"{s.transitions:,}" for s in sides]),
        ("  out of states of both, that the other does not take", *[f"{sum(s.from_shared):,}" for s in sides]),
        ("  out of states that the other has not reached", *[f"{sum(s.from_own):,}" for s in sides]),
    ]
    names = [action.name for action in sides[0].model.model.actions]
    by_action = [("not taken by the other", "A, of both", "A, of its own", "B, of both", "B, of its own")]
    by_action += [
        (name, *[f"{n:,}" for n in numbers])
        for name, *numbers in zip(names, *[n for s in sides for n in (s.from_shared, s.from_own)], strict=True)
        if any(numbers)
    ]
    lines = [f"{found.name}: A is {sides[0].label}, B is {sides[1].label}"]
    lines += [f"not finished: {found.stopped}; what follows is of the states seen so far"] * bool(found.stopped)
    lines += ["", *table(counts, (False, True, True)), ""]
    lines += [*table(by_action, (False, True, True, True, True)), ""] if len(by_action) > 1 else []
    for name, other, side in zip("AB", "BA", sides, strict=True):
        if side.trace is not None:
            length = len(side.trace.steps)
            lines.append(f"{name} first does what {other} does not at step {length}")
    lines.append(f"{found.seconds:.2f} s in all")
    return paragraphs(lines)


def diff_verdict(found: Difference) -> str:
    """The verdict as the last line, and why where it is incomplete."""
    return verdict_line(found.verdict, (found.stopped or "") if found.verdict == INCOMPLETE else "")
