"""trace show: a trace as a table."""

from __future__ import annotations

from pathlib import Path

import click

from checker.cli.output.printing import columns, use_color


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--width", type=click.IntRange(40), help="Columns (default: those of the terminal).")
@click.option("--color/--no-color", default=None, help="Colours (default: on a terminal).")
def show(file: Path, width: int | None, color: bool | None) -> int:
    """Draw the trace in FILE (ITF or NDJSON) as a table."""
    from traces import load
    from traces.render import render

    click.echo(render(load(file), width or columns(), use_color() if color is None else color), color=color)
    return 0
