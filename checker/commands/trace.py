"""trace show, trace replay, trace validate."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.lang.errors import SpecError
from checker.options import SET, SETTING, columns, load_model, use_color

if TYPE_CHECKING:
    from checker.validate.corpus import Verdict
    from checker.validate.recorded import Recorded


@click.group()
def trace() -> None:
    """Show traces, run them again, and hold those of an implementation to a spec."""


@trace.command("show")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--width", type=click.IntRange(40), help="Columns (default: those of the terminal).")
@click.option("--color/--no-color", default=None, help="Colours (default: on a terminal).")
def trace_show(file: Path, width: int | None, color: bool | None) -> int:
    """Draw the trace in FILE (ITF or NDJSON) as a table."""
    from traces import load
    from traces.render import render

    click.echo(render(load(file), width or columns(), use_color() if color is None else color), color=color)
    return 0


@trace.command("replay")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--model", help="Replay on this model (default: the one the trace names).")
@SET
@click.option("--continue-from", type=click.IntRange(1), metavar="STEP", help="Then step on interactively from STEP.")
def trace_replay(file: Path, model: str | None, changes: dict[str, str], continue_from: int | None) -> int:
    """Run the trace in FILE again as plain Python; say at which step and `require` it departs from the spec.

    Exit codes: 0 it is a behaviour of the spec, 1 it departs.
    """
    from checker.explicit.replay import confirmed, replay
    from checker.lang.loader import load
    from traces import TraceError
    from traces import load as load_trace

    recorded = load_trace(file)
    if not (model or recorded.model):
        raise SpecError(f"{file} names no model", mend="say which one with --model")
    wanted = {name: str(value) for name, value in recorded.constants.items()} if model is None else {}
    bound = load(model or recorded.model, {**wanted, **changes})
    try:
        result = replay(bound, recorded)
    except TraceError as error:
        raise error.within(str(file)) from None
    if continue_from is not None:
        from checker.stepping import step_on

        return step_on(bound, recorded, result, continue_from)
    if result.departure is None:
        end = confirmed(bound, recorded, result)
        click.echo(f"{file}: {len(recorded.steps)} steps, a behaviour of {bound.name}" + (f"; {end}" if end else ""))
        return 0
    click.echo(f"{file}: departs from {bound.name} at step {result.departure.index}: {result.departure.reason}")
    return 1


@trace.command("validate")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH...")
@click.option("--model", required=True, help="The model that they are to be behaviours of.")
@SET
@SETTING
@click.option("--silent", type=click.IntRange(0), default=0, metavar="N",
              help="Steps that may go unobserved before each event, where a trace declares none (default: 0).")
@click.option("--max-candidates", type=click.IntRange(1), default=10_000, show_default=True,
              help="States that one trace may be in at a time; beyond it the trace is undecided.")
@click.option("--rejected", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="Keep each rejected trace, whole, in this folder.")
@click.option("--show", type=click.IntRange(0), default=10, show_default=True,
              help="Traces that are not accepted to tell of.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
@click.option("--quiet", is_flag=True, help="No progress.")
def trace_validate(
    paths: tuple[Path, ...], model: str, changes: dict[str, str], setting: str | None, **options: Any
) -> int:
    """Is each recorded trace a behaviour of the model? PATH: NDJSON files (.gz too), or folders of them.

    Exit codes: 0 all accepted, 1 some rejected, 3 none rejected, and some undecided or unreadable.
    """
    from checker.validate.recorded import files_below

    files = files_below(paths)
    bound = load_model(model, changes, setting)
    from checker.report import ProgressLine, corpus_text, print_json
    from checker.validate.corpus import Options, validate

    keep = None if options["rejected"] is None else _keeper(options["rejected"])
    with ProgressLine(quiet=options["quiet"]) as line:
        found = validate(
            bound, _contents(files), Options(options["silent"], options["max_candidates"]), progress=line.corpus,
            keep=keep,
        )  # fmt: skip
    if options["as_json"]:
        print_json({"model": bound.name, **found.to_json()})
    else:
        click.echo(corpus_text(bound, found, options["show"]))
    return found.exit_code


def _contents(files: list[Path]) -> Iterator[tuple[str, bytes]]:
    for file in files:
        yield str(file), file.read_bytes()


def _keeper(folder: Path) -> Any:
    """What writes a rejected trace into `folder`."""
    from traces.files import write_whole

    folder.mkdir(parents=True, exist_ok=True)

    def keep(verdict: Verdict, recorded: Recorded) -> None:
        name = verdict.trace.replace("/", "_").removesuffix(".gz").removesuffix(".ndjson").lstrip("._")
        write_whole(folder / f"{name}.ndjson", b"\n".join([*recorded.source, b""]))

    return keep
