"""The `fencepost` command. What is heavy (compiler, search, rendering) is imported by the command that needs it.

Exit codes: 0 holds (or did what was asked), 1 violated, 2 usage or spec error, 3 incomplete, 4 vacuous.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.lang.errors import SpecError

if TYPE_CHECKING:
    from checker.explicit.results import Limits
    from checker.lang.loader import BoundModel
    from traces import Trace

USAGE = 2


def main() -> None:
    """Run the command; every foreseeable error is one message and exit code 2."""
    try:
        code = fencepost(standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("interrupted", err=True)
        code = 130
    except click.ClickException as error:
        error.show()
        code = USAGE
    except SpecError as error:
        click.echo(str(error), err=True)
        code = USAGE
    except OSError as error:
        click.echo(f"error: {error.strerror}: {error.filename}", err=True)
        code = USAGE
    except Exception as error:
        from checker.report import known_error

        if not known_error(error):
            raise
        click.echo(str(error) if str(error).startswith("error") else f"error: {error}", err=True)
        code = USAGE
    sys.exit(code)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="fencepost")
def fencepost() -> None:
    """Formal verification and conformance for Kafka's control plane."""


def _constants(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for text in values:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.BadParameter(f"{text!r}: write NAME=VALUE")
        found[name] = value
    return found


_SET = click.option(
    "--set", "changes", multiple=True, metavar="NAME=VALUE", callback=_constants, help="Set a constant or switch."
)
_SETTING = click.option("--setting", metavar="NAME", help="A named setting of the design switches.")


@fencepost.command("list")
@click.argument("model", required=False)
def list_(model: str | None) -> int:
    """Designs and models; with MODEL: its constants, switches, actions and properties."""
    from checker.lang.loader import designs, find, load, load_spec

    if model is None:
        for design in designs():
            for found in load_spec(design).models:
                click.echo(f"{design}/{found.name:<14} {found.doc}")
        return 0
    spec, name = find(model)
    if name is None and len(spec.models) > 1:
        for found in spec.models:
            click.echo(f"{spec.name}/{found.name:<14} {found.doc}")
        return 0
    from checker.report import describe

    click.echo(describe(load(model)))
    return 0


@fencepost.command()
@click.argument("model")
@_SET
@_SETTING
@click.option("--property", "properties", multiple=True, metavar="NAME", help="Check this property only (repeatable).")
@click.option("--all-violations", is_flag=True, help="Go on after a violation: a shortest trace for each property.")
@click.option("--threads", type=click.IntRange(1, 64), help="Threads to search with (default: all cores).")
@click.option("--max-states", type=click.IntRange(1), help="Stop after this many distinct states.")
@click.option("--max-depth", type=click.IntRange(1), help="Stop after this many levels.")
@click.option("--time-limit-s", type=click.FloatRange(0), help="Stop after this many seconds of search.")
@click.option("--memory-gib", type=click.FloatRange(0, min_open=True), help="Memory to use (default: 80 % of free).")
@click.option("--checkpoint", type=click.Path(path_type=Path), help="Save every finished level to this directory.")
@click.option("--resume", type=click.Path(path_type=Path), help="Go on from a directory that --checkpoint wrote.")
@click.option("--coverage", is_flag=True, help="Also show guards and fields.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
@click.option("--junit", type=click.Path(path_type=Path), help="Write a JUnit XML report.")
@click.option("--trace-out", type=click.Path(path_type=Path), help="Write the trace (.itf.json or .ndjson).")
@click.option("--quiet", is_flag=True, help="No progress.")
def check(model: str, changes: dict[str, str], setting: str | None, properties: tuple[str, ...], **options: Any) -> int:
    """Explore MODEL exhaustively: a design (kraft), one of its models (kraft/isr), a module, or a Python file."""
    started = time.perf_counter()
    bound = _load(model, changes, setting, properties)
    from checker.explicit.check import Options
    from checker.explicit.check import check as run
    from checker.report import ProgressLine, check_text, print_json, write_junit

    if options["trace_out"] is not None:
        _check_ending(options["trace_out"])
    with ProgressLine(quiet=options["quiet"]) as line:
        report = run(
            bound,
            Options(
                threads=options["threads"] or _cores(), limits=_limits(options),
                all_violations=options["all_violations"], checkpoint=options["checkpoint"], resume=options["resume"],
            ),
            started=started, progress=line,
        )  # fmt: skip
    if options["as_json"]:
        print_json(report.to_json())
    else:
        for trace in report.traces:
            _show(trace)
        click.echo(check_text(report, coverage=options["coverage"]))
    if options["junit"] is not None:
        write_junit(report, options["junit"])
    if options["trace_out"] is not None:
        _write_traces(report.traces, options["trace_out"])
    return report.exit_code


def _load(
    model: str, changes: dict[str, str], setting: str | None, properties: tuple[str, ...] = ()
) -> BoundModel:
    from checker.lang.loader import load, suggest

    bound = load(model, changes, setting)
    known = {p.name: p for p in bound.model.properties}
    for name in properties:
        if name not in known:
            raise SpecError(f"{bound.name} has no property {name}", mend=suggest(name, known, "properties"))
    return bound.with_properties([known[n] for n in properties]) if properties else bound


def _cores() -> int:
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _limits(options: dict[str, Any]) -> Limits:
    from checker.explicit.results import Limits

    gib = options["memory_gib"]
    return Limits(
        max_states=options["max_states"], max_depth=options["max_depth"], time_limit_s=options["time_limit_s"],
        memory_bytes=None if gib is None else int(gib * 2**30),
    )  # fmt: skip


def _check_ending(path: Path) -> None:
    """Say before a long search that its trace could not be written."""
    from traces.files import ENDINGS

    if not any(path.name.endswith(e) for e in ENDINGS):
        raise click.BadParameter(f"{path}: a trace ends in {' or '.join(ENDINGS)}", param_hint="--trace-out")
    if not path.resolve().parent.is_dir():
        raise click.BadParameter(f"{path}: there is no folder {path.resolve().parent}", param_hint="--trace-out")


def _write_traces(traces: list[Trace], path: Path) -> None:
    """Write the traces: the first to `path`, the others beside it, numbered."""
    from traces import save

    for number, trace in enumerate(traces, 1):
        stem, _, ending = path.name.partition(".")
        target = path if number == 1 else path.with_name(f"{stem}-{number}.{ending}")
        save(trace, target)
        click.echo(f"trace written to {target}", err=True)


def _show(trace: Trace) -> None:
    import shutil

    from traces.render import render

    color = sys.stdout.isatty()
    click.echo(render(trace, shutil.get_terminal_size((100, 24)).columns, color))
    click.echo()


@fencepost.command()
@click.argument("model")
@_SET
@_SETTING
@click.option("--seed", type=int, help="Seed of the walks (default: drawn, and printed).")
@click.option("--walks", type=click.IntRange(1), default=1000, show_default=True, help="How many walks.")
@click.option("--max-steps", type=click.IntRange(1), default=200, show_default=True, help="Steps of a walk at most.")
@click.option("--time-limit-s", type=click.FloatRange(0), help="Stop after this many seconds.")
@click.option("--trace-out", type=click.Path(path_type=Path), help="Write the trace (.itf.json or .ndjson).")
def simulate(model: str, changes: dict[str, str], setting: str | None, **options: Any) -> int:
    """Random walks through MODEL, for what is too large to exhaust. A violation is shrunk."""
    import secrets

    bound = _load(model, changes, setting)
    seed = options["seed"] if options["seed"] is not None else secrets.randbelow(2**32)
    if options["trace_out"] is not None:
        _check_ending(options["trace_out"])
    from checker.explicit.simulation import simulate as run

    click.echo(f"seed {seed}", err=True)
    found = run(bound, seed=seed, walks=options["walks"], max_steps=options["max_steps"],
                time_limit_s=options["time_limit_s"])  # fmt: skip
    if found.trace is not None:
        _show(found.trace)
        if options["trace_out"] is not None:
            _write_traces([found.trace], options["trace_out"])
    click.echo(found.text())
    return found.exit_code


@fencepost.command()
@click.argument("model")
@click.argument("expression")
@_SET
@_SETTING
@click.option("--threads", type=click.IntRange(1, 64), help="Threads to search with (default: all cores).")
@click.option("--max-states", type=click.IntRange(1), help="Stop after this many distinct states.")
@click.option("--max-depth", type=click.IntRange(1), help="Stop after this many levels.")
@click.option("--time-limit-s", type=click.FloatRange(0), help="Stop after this many seconds of search.")
@click.option("--memory-gib", type=click.FloatRange(0, min_open=True), help="Stop before using more.")
@click.option("--trace-out", type=click.Path(path_type=Path), help="Write the trace (.itf.json or .ndjson).")
def reach(model: str, expression: str, changes: dict[str, str], setting: str | None, **options: Any) -> int:
    """The shortest trace to a state of MODEL where EXPRESSION over the state `s` holds, or that none exists.

    Exit codes: 0 reached, 4 no reachable state has it, 3 a limit stopped the search before.
    """
    bound = _load(model, changes, setting)
    if options["trace_out"] is not None:
        _check_ending(options["trace_out"])
    from checker.explicit.reach import reach as run
    from checker.report import ProgressLine

    with ProgressLine(quiet=False) as line:
        found = run(bound, expression, threads=options["threads"] or _cores(), limits=_limits(options), progress=line)
    if found.trace is not None:
        _show(found.trace)
        if options["trace_out"] is not None:
            _write_traces([found.trace], options["trace_out"])
    click.echo(found.text)
    return found.exit_code


@fencepost.group()
def trace() -> None:
    """Show traces, and run them again."""


@trace.command("show")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--width", type=click.IntRange(40), help="Columns (default: those of the terminal).")
@click.option("--color/--no-color", default=None, help="Colours (default: on a terminal).")
def trace_show(file: Path, width: int | None, color: bool | None) -> int:
    """Draw the trace in FILE (ITF or NDJSON) as a table."""
    import shutil

    from traces import load
    from traces.render import render

    columns = width or shutil.get_terminal_size((100, 24)).columns
    click.echo(render(load(file), columns, sys.stdout.isatty() if color is None else color), color=color)
    return 0


@trace.command("replay")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--model", help="Replay on this model (default: the one the trace names).")
@_SET
@click.option("--continue-from", type=click.IntRange(1), metavar="STEP", help="Then step on interactively from STEP.")
def trace_replay(file: Path, model: str | None, changes: dict[str, str], continue_from: int | None) -> int:
    """Run the trace in FILE again as plain Python; say at which step and `require` it departs from the spec.

    Exit codes: 0 it is a behaviour of the spec, 1 it departs.
    """
    from checker.explicit.replay import replay
    from checker.lang.loader import load
    from traces import load as load_trace

    recorded = load_trace(file)
    wanted = {name: str(value) for name, value in recorded.constants.items()} if model is None else {}
    bound = load(model or recorded.model, {**wanted, **changes})
    result = replay(bound, recorded)
    if continue_from is not None:
        from checker.stepping import step_on

        return step_on(bound, recorded, result, continue_from)
    if result.departure is None:
        click.echo(f"{file}: {len(recorded.steps)} steps, a behaviour of {bound.name}")
        return 0
    click.echo(f"{file}: departs from {bound.name} at step {result.departure.index}: {result.departure.reason}")
    return 1
