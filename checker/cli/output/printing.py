"""Printing on standard output: tables, numbers, verdicts, traces, JSON."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.verdicts import color

if TYPE_CHECKING:
    from traces import Trace

LEAST_COLUMN = 36  # of a table: a text is not wrapped to less


def count(number: int) -> str:
    """A number for people: 12,345 or 17.7 M."""
    return f"{number / 1e6:,.1f} M" if number >= 1_000_000 else f"{number:,}"


def print_json(value: dict[str, Any]) -> None:
    click.echo(json.dumps(value, indent=2))


def table(rows: Sequence[Sequence[str]], right: Sequence[bool]) -> list[str]:
    """Rows of cells as aligned lines, without trailing blanks; on a terminal the last column is wrapped.

    Where the other columns leave it no room there, it stands below them.
    """
    widths = [max(len(row[i]) for row in rows) for i in range(len(right))]
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() and not right[-1] else sys.maxsize
    margin = 2 + sum(w + 2 for w in widths[:-1])
    below = columns - margin < min(widths[-1], LEAST_COLUMN)
    margin = 6 if below else margin
    lines = []
    for row in rows:
        *cells, last = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right, strict=True)]
        start = "  " + "  ".join(cells)
        rest = [last.rstrip()] if len(last.rstrip()) <= columns - margin else textwrap.wrap(last, columns - margin)
        if not below:
            start, *rest = [f"{start}  {rest[0]}" if cells else f"  {rest[0]}", *rest[1:]]
        lines += [start.rstrip(), *[(" " * margin + line).rstrip() for line in rest]]
    return lines


def verdict_line(verdict: str, reason: str = "") -> str:
    """The last line that a command prints: its verdict in colour, and why."""
    styled = click.style(verdict, fg=color(verdict), bold=True)
    return f"{styled}: {reason}" if reason else styled


def use_color() -> bool:
    """True if standard output is a terminal that shows colours, and nobody objects."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def columns() -> int:
    """Columns of the terminal."""
    return shutil.get_terminal_size((100, 24)).columns


def show(trace: Trace) -> None:
    """Draw a trace as a table."""
    from traces.render import render

    click.echo(render(trace, columns(), use_color()))
    click.echo()


def write_traces(traces: list[Trace], path: Path | None) -> None:
    """Write the traces, if there is a path: the first to it, the others beside it, numbered."""
    from traces import save
    from traces.files import ENDINGS

    if path is None:
        return
    ending = next(e for e in ENDINGS if path.name.endswith(e))
    for number, trace in enumerate(traces, 1):
        name = path.name if number == 1 else f"{path.name.removesuffix(ending)}-{number}{ending}"
        save(trace, path.with_name(name))
        click.echo(f"trace written to {path.with_name(name)}", err=True)
    if not traces:
        click.echo(f"there is no trace to write to {path}", err=True)
