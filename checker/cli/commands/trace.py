"""trace show, trace replay, trace to-test, trace validate."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.cli.options import SET, SETTING, TASK_TIMEOUT, columns, constants, load_model, new_file, use_color
from checker.lang.errors import SpecError

if TYPE_CHECKING:
    from checker.cli.output.report import ProgressLine
    from checker.lang.loader import BoundModel
    from checker.validate.corpus import Summary

    Keep = Callable[[str, bytes], None]

LONGEST_NAME = 150  # of a kept file, without its ending


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
    from checker.lang.loader import load
    from checker.reference.replay import confirmed, replay
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
        from checker.reference.session import step_on

        return step_on(bound, recorded, result, continue_from)
    if result.departure is None:
        end = confirmed(bound, recorded, result)
        click.echo(f"{file}: {len(recorded.steps)} steps, a behaviour of {bound.name}" + (f"; {end}" if end else ""))
        return 0
    click.echo(f"{file}: departs from {bound.name} at step {result.departure.index}: {result.departure.reason}")
    return 1


@trace.command("to-test")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), callback=new_file, metavar="FILE",
              help="Write it to a file, test_*.py (default: print it).")
def trace_to_test(file: Path, out: Path | None) -> int:
    """A pytest file from a divergence that `fencepost conform --trace-out` wrote to FILE.

    It drives the implementation along the trace, and fails as long as it diverges.
    """
    from checker.conform.regression import to_test
    from traces import TraceError
    from traces import load as load_trace
    from traces.files import write_whole

    recorded = load_trace(file)
    try:
        text = to_test(recorded)
    except TraceError as error:
        raise error.within(str(file)) from None
    if out is None:
        click.echo(text, nl=False)
    else:
        write_whole(out, text.encode())
        click.echo(f"test written to {out}", err=True)
    return 0


@trace.command("validate")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
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
@click.option("--engine", type=click.Choice(["local", "spark"]), default="local", show_default=True,
              help="Judge on this machine, or on Apache Spark.")
@click.option("--master", metavar="URL", help="Spark: the cluster (default: local[*], all cores of this machine).")
@click.option("--spark-conf", multiple=True, metavar="K=V", callback=constants,
              help="Spark: a setting, such as spark.executor.memory=8g (repeatable).")
@TASK_TIMEOUT
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
@click.option("--quiet", is_flag=True, help="No progress.")
def trace_validate(
    paths: tuple[str, ...], model: str, changes: dict[str, str], setting: str | None, **options: Any
) -> int:
    """Is each recorded trace a behaviour of the model? PATH: NDJSON files (.gz too), or folders of them.

    Exit codes: 0 all accepted, 1 some rejected, 3 none rejected, and some undecided or unreadable.
    """
    bound = load_model(model, changes, setting)
    from checker.cli.output.report import ProgressLine, corpus_text, print_json

    run = _validate_on_spark if options["engine"] == "spark" else _validate_here
    keep = None if options["rejected"] is None else _keeper(options["rejected"])
    with ProgressLine(quiet=options["quiet"]) as line:
        found = run(bound, paths, options, line, keep)
    if options["as_json"]:
        print_json({"model": bound.name, **found.to_json()})
    else:
        click.echo(corpus_text(bound, found, options["show"]))
    return found.exit_code


def _validate_here(
    model: BoundModel, paths: tuple[str, ...], options: dict[str, Any], line: ProgressLine, keep: Keep | None
) -> Summary:
    from checker.validate.corpus import Options, validate
    from checker.validate.recorded import files_below

    if options["master"] or options["spark_conf"] or options["task_timeout_s"]:
        raise click.UsageError("--master, --spark-conf, --task-timeout-s: this is for --engine spark")
    files = files_below([Path(path) for path in paths])
    kept = None if keep is None else lambda verdict, trace: keep(verdict.trace, b"\n".join([*trace.source, b""]))
    how = Options(options["silent"], options["max_candidates"])
    return validate(model, _contents(files), how, progress=line.corpus, keep=kept)


def _validate_on_spark(
    model: BoundModel, paths: tuple[str, ...], options: dict[str, Any], line: ProgressLine, keep: Keep | None
) -> Summary:
    from checker.spark.corpus import Where, validate_on_spark
    from checker.validate.corpus import Options

    how = Options(options["silent"], options["max_candidates"])
    where = Where(options["master"], options["spark_conf"], options["task_timeout_s"])
    return validate_on_spark(model, paths, how, where, progress=line.tasks, keep=keep)


def _contents(files: list[Path]) -> Iterator[tuple[str, bytes | OSError]]:
    for file in files:
        try:
            yield str(file), file.read_bytes()
        except OSError as error:  # the others are judged all the same
            yield str(file), error


def _keeper(folder: Path) -> Keep:
    """What writes a rejected trace into `folder`."""
    from traces.files import write_whole

    folder.mkdir(parents=True, exist_ok=True)

    def keep(name: str, content: bytes) -> None:
        plain = re.sub(r"(\.ndjson|\.jsonl)?(\.gz)?(#|$)", r"\3", name, count=1)
        plain = re.sub(r"[^A-Za-z0-9#._-]+", "_", plain).lstrip("._")
        write_whole(folder / f"{plain[:LONGEST_NAME]}.ndjson", content)

    return keep
