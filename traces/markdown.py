"""Drawing a trace in Markdown, for pages: a row per step, and a sequence diagram in Mermaid's text.

Both say who acts and what changes. The first step's state is given apart, since tables with it would be wide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traces.changes import Part, Row, rows
from traces.trace import Step, Trace, printable
from traces.values import show_fields

_LONG = 30  # an earlier value is shown up to this length

_ESCAPED = str.maketrans({**{char: "\\" + char for char in "\\*|[]"}, "&": "&amp;", "<": "&lt;", ">": "&gt;"})


def steps_table(trace: Trace) -> str:
    """A table: number of the step, who takes which step, and what it changes under which process."""
    lines = ["| # | step | what changes |", "|--:|---|---|"]
    for step, row in zip(trace.steps, rows(trace), strict=True):
        if step.index > 1:
            lines.append(f"| {_number(trace, step)} | {'<br>'.join(_call(step, row))} | {'<br>'.join(_changed(row))} |")
    if trace.loop is not None:
        stays = trace.loop == len(trace.steps) - 1
        onwards = "on it stays as it is" if stays else f"it goes back to step {trace.loop + 1}, and so on"
        lines += ["", f"From here {onwards}, forever."]
    return "\n".join(lines)


def first_state(trace: Trace) -> str:
    """The state that a trace begins with, a row per process."""
    lines = ["| | state |", "|---|---|"]
    lines += [f"| {escaped(title)} | {' · '.join(map(_part, parts))} |" for title, parts in rows(trace)[0].cells]
    return "\n".join(lines)


def sequence_diagram(trace: Trace) -> str:
    """Mermaid's text of who acts when: a lane for each actor of the trace.

    A step is an arrow to each other actor whose state it changes, else a note in the lane of who takes it.
    """
    drawn = rows(trace)
    columns = [title for title, _ in drawn[0].cells]
    lanes = {step.actor: _column_of(step.actor, columns) or step.actor for step in trace.steps if step.actor}
    named = [c for c in columns if c in lanes.values()] + [a for a in lanes.values() if a not in columns]
    numbers = {lane: number for number, lane in enumerate(dict.fromkeys(named))}
    lines = ["sequenceDiagram", *[f"    participant p{n} as {_plain(lane)}" for lane, n in numbers.items()]]
    for step, row in zip(trace.steps, drawn, strict=True):
        if step.index == 1 or not step.actor:
            continue
        lane = numbers[lanes[step.actor]]
        text = " ".join([str(step.index), _plain(step.action), *map(_plain, row.errors)])
        others = [numbers[t] for t, parts in row.cells if t in numbers and any(p.changed for p in parts)]
        arrows = [f"    p{lane}->>p{other}: {text}" for other in others if other != lane]
        lines += arrows or [f"    Note over p{lane}: {text}"]
    return "\n".join(lines)


def step_taken(step: Step) -> str:
    """Who takes which action with which parameters."""
    parameters = f"({escaped(show_fields(step.parameters))})" if step.parameters else ""
    return f"{escaped(step.actor)}: **{escaped(step.action)}**{parameters}"


def escaped(text: str) -> str:
    """Text for a line of Markdown or a cell of a table. Backticks quote code, as they do in docstrings."""
    return printable(" ".join(text.split())).translate(_ESCAPED)


def _number(trace: Trace, step: Step) -> str:
    last = step.index == len(trace.steps) and trace.violation is not None and trace.loop is None
    mark = "✗ " if last else "↻ " if step.index - 1 == trace.loop else ""
    return f"{mark}{step.index}"


def _call(step: Step, row: Row) -> Iterator[str]:
    yield step_taken(step) + "".join(f" → **{escaped(error)}**" for error in row.errors)
    yield from map(escaped, step.notes)
    if step.state is None:
        yield "It broke while it ran: there is no state after it."


def _changed(row: Row) -> Iterator[str]:
    for title, parts in row.cells:
        shown = [_part(part) for part in parts if part.changed]
        if shown:
            yield f"*{escaped(title)}*: {'; '.join(shown)}"


def _part(part: Part) -> str:
    old = escaped(part.before) + " " if 0 < len(part.before) <= _LONG else ""
    before = f"{old}→ " if part.changed else ""
    value = f"**{escaped(part.now)}**" if part.changed else escaped(part.now)
    return f"{escaped(part.label)} {before}{value}".strip()


def _column_of(actor: str, columns: Sequence[str]) -> str | None:
    """The column that shows an actor: that of "broker 1", and of "active controller" that of "controller"."""
    return next((title for title in columns if actor == title or actor.endswith(f" {title}")), None)


def _plain(text: str) -> str:
    return "".join(char for char in printable(text) if char not in ";#:%")
