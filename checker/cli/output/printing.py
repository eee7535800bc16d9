"""Printing on standard output: numbers, verdicts, traces, JSON."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.cli.output.table import paragraphs
from checker.verdicts import color

if TYPE_CHECKING:
    from traces import Trace


def count(number: int) -> str:
    """A number for people: 12,345 or 17.7 M."""
    return f"{number / 1e6:,.1f} M" if number >= 1_000_000 else f"{number:,}"


def print_json(value: dict[str, Any] | list[dict[str, Any]]) -> None:
    click.echo(json.dumps(value, indent=2))


def verdict_line(verdict: str, reason: str = "") -> str:
    """The last line that a command prints: its verdict in colour, and why."""
    text = paragraphs([f"{verdict}: {reason}" if reason else verdict])
    return click.style(verdict, fg=color(verdict), bold=True) + text.removeprefix(verdict)


def print_report(body: str, traces: Sequence[Trace], last: str) -> None:
    """What a command found: tables and counts, then the traces, then the verdict, which is what a reader looks for."""
    click.echo(body + "\n")
    for trace in traces:
        show(trace)
    click.echo(last)


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
