"""trace show: a trace as a table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from checker.cli.output.printing import columns, use_color
from checker.lang.errors import SpecError

if TYPE_CHECKING:
    from traces import Trace


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--eval",
    "expressions",
    multiple=True,
    metavar="EXPRESSION",
    help="Show the value of an expression over the state s at each step (repeatable).",
)
@click.option("--width", type=click.IntRange(40), help="Columns (default: those of the terminal).")
@click.option("--color/--no-color", default=None, help="Colours (default: on a terminal).")
def show(file: Path, expressions: tuple[str, ...], width: int | None, color: bool | None) -> int:
    """Draw the trace in FILE (ITF or NDJSON) as a table."""
    from traces import TraceError, load
    from traces.render import render

    trace = load(file)
    if expressions:
        try:
            trace = _with_values(trace, file, expressions)
        except TraceError as error:
            raise error.within(str(file)) from None
    click.echo(render(trace, width or columns(), use_color() if color is None else color), color=color)
    return 0


def _with_values(trace: Trace, file: Path, expressions: tuple[str, ...]) -> Trace:
    """The trace with a column of what the expressions are at each step. Raises SpecError, TraceError."""
    from checker.lang.loader import load
    from checker.reference.expression import values_of
    from checker.reference.replay import parsed_state
    from traces.trace import Column

    if not trace.model:
        raise SpecError(f"{file} names no model", hint="--eval needs the spec that the trace is of")
    model = load(trace.model, {name: str(value) for name, value in trace.constants.items()})
    known = [step for step in trace.steps if step.state is not None]
    states = [parsed_state(model, step) for step in known]
    values = {text: values_of(model, text, states) for text in expressions}
    steps = {step.index: replace(step, state={**(step.state or {}), **{text: values[text][n] for text in expressions}})
             for n, step in enumerate(known)}  # fmt: skip
    shown = Column("values", tuple((text, (text,)) for text in expressions))
    drawn = trace.columns or (Column("state", tuple((name, (name,)) for name in model.state_type.fields)),)
    return replace(trace, steps=tuple(steps.get(step.index, step) for step in trace.steps), columns=(shown, *drawn))
