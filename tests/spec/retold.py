"""A page of the gallery made without a search: its steps are read off the page, and taken by plain Python."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from checker.cli.commands.gallery_pages import page as page_of
from checker.explicit.gallery import Reproduction
from checker.lang.declare import Bug
from checker.lang.loader import BoundModel, bind_model, load_spec
from checker.reference.switches import repairs
from checker.reference.trace import Tracer
from traces import Trace, Violation
from traces.markdown import escaped, first_state, step_taken

_ROW = re.compile(r"^\| (?:[✗↻] )?(\d+) \| (.*?)(?:<br>.*)? \| .* \|$", re.MULTILINE)
_BACK = re.compile(r"^From here it goes back to step (\d+), and so on, forever\.$", re.MULTILINE)
_JUDGEMENT = re.compile(r"(^## What is violated\n\n.*\n)(?s:(.*?))(?=^## )", re.MULTILINE)
_STAYS = "From here on it stays as it is, forever."


class OutOfDate(Exception):
    """A page says what the model no longer does."""


def retold(design: str, bug: Bug, page: str) -> str:
    """The page as the run that it tells of gives it now; of a lasso, what never holds is as it was.

    Raises OutOfDate where the model can no longer take the steps of the page.
    """
    found = _run_again(design, bug, page)
    made = page_of(found)
    assert found.trace is not None
    if found.trace.loop is None:
        return made
    for line in found.trace.tail:
        if f"- {escaped(line)}\n" not in page:
            raise OutOfDate(f"the page lacks: {line}")
    return _JUDGEMENT.sub(lambda ours: ours[1] + _judgement(page), made)


def _run_again(design: str, bug: Bug, page: str) -> Reproduction:
    changes = {name: str(getattr(value, "name", value)) for name, value in bug.constants.items()}
    model = bind_model(load_spec(design), bug.model.name, changes).with_properties([bug.violates])
    tracer = Tracer(model)
    first = _beginning(model, tracer, page)
    loop = _loop(page)
    trace = tracer.trace(first, list(_instances(tracer, first, page)), None if loop is not None else bug.violates)
    if loop is not None:
        violation = Violation(bug.violates.name, bug.violates.kind, bug.violates.doc, bug.violates.source)
        trace = replace(trace, violation=violation, loop=loop if loop >= 0 else len(trace.steps) - 1)
    return Reproduction(bug, model, "", len(trace.steps), trace, tuple(repairs(model, trace)))


def _judgement(page: str) -> str:
    """What a page of a lasso says after its property: found by the search alone."""
    found = _JUDGEMENT.search(page)
    if found is None:
        raise OutOfDate("the page does not say what is violated")
    return found[2]


def _beginning(model: BoundModel, tracer: Tracer, page: str) -> Any:
    """The initial state that the page shows."""
    columns = tracer.columns()
    for state in model.initial_states():
        step = tracer.trace(state, [], None).steps[0]
        if first_state(Trace(model.name, {}, (step,), columns=columns)) in page:
            return state
    raise OutOfDate("no initial state is that of the page")


def _instances(tracer: Tracer, state: Any, page: str) -> Iterator[int]:
    """The instances that the rows of the page name."""
    reference = tracer.reference
    for index, row in _ROW.findall(page):
        taken = next((i for i in range(len(reference.instances)) if _is_taken(tracer, state, i, row)), None)
        result = reference.step(state, taken) if taken is not None else None
        if taken is None or result is None or result.ended is not None:
            raise OutOfDate(f"step {index} is not taken: {row}")
        yield taken
        state = result.state


def _is_taken(tracer: Tracer, state: Any, instance: int, row: str) -> bool:
    number, _ = tracer.reference.instances[instance]
    if f"**{tracer.reference.actions[number].name}**" not in row:
        return False
    arguments = tracer.reference.arguments(state, instance)
    if arguments is None:
        return False
    said = step_taken(tracer.step_by(2, number, arguments, None))
    return row == said or row.startswith(f"{said} → ")


def _loop(page: str) -> int | None:
    """The 0-based position that a lasso goes back to, -1 where it stays in its last state; None: no lasso."""
    if _STAYS in page:
        return -1
    found = _BACK.search(page)
    return int(found[1]) - 1 if found else None
