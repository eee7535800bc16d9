"""trace replay: a trace run again as plain Python."""

from __future__ import annotations

from pathlib import Path

import click

from checker.cli.options import SET
from checker.cli.output.table import paragraphs
from checker.lang.errors import SpecError


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--model", help="Replay on this model (default: the one the trace names).")
@SET
@click.option("--continue-from", type=click.IntRange(1), metavar="STEP", help="Then step on interactively from STEP.")
def replay(file: Path, model: str | None, changes: dict[str, str], continue_from: int | None) -> int:
    """Run the trace in FILE again as plain Python; say at which step and `require` it departs from the spec.

    Exit codes: 0 it is a behaviour of the spec, 1 it departs.
    """
    from checker.lang.loader import load
    from checker.reference.replay import confirmed
    from checker.reference.replay import replay as run
    from traces import TraceError
    from traces import load as load_trace

    recorded = load_trace(file)
    if not (model or recorded.model):
        raise SpecError(f"{file} names no model", hint="say which one with --model")
    wanted = {name: str(value) for name, value in recorded.constants.items()} if model is None else {}
    bound = load(model or recorded.model, {**wanted, **changes})
    try:
        result = run(bound, recorded)
    except TraceError as error:
        raise error.within(str(file)) from None
    if continue_from is not None:
        from checker.cli.commands.trace.replay_prompt import step_on

        return step_on(bound, recorded, result, continue_from, lambda text: click.echo(paragraphs(text.splitlines())))
    if result.departure is None:
        end = confirmed(bound, recorded, result)
        click.echo(f"{file}: {len(recorded.steps)} steps, a behaviour of {bound.name}" + (f"; {end}" if end else ""))
        return 0
    click.echo(f"{file}: departs from {bound.name} at step {result.departure.index}: {result.departure.reason}")
    return 1
