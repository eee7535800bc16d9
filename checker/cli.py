"""The `fencepost` command. What is heavy (compiler, search, rendering) is imported by the command that needs it.

Exit codes: 0 holds (or did what was asked), 1 violated, 2 usage or spec error, 3 incomplete, 4 vacuous.
"""

from __future__ import annotations

import math
import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from checker.lang.errors import SpecError

if TYPE_CHECKING:
    from checker.explicit.results import Limits
    from checker.lang.loader import BoundModel
    from traces import Trace

USAGE, INTERRUPTED, BROKEN_PIPE = 2, 3, 141
MAX_THREADS = 64


class _Group(click.Group):
    """A group of commands that turns every foreseeable error into one message and an exit code."""

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> NoReturn:
        """Run a command and exit. Does what click's own does, which would give 1 (violated!) for a broken pipe."""
        try:
            with self.make_context(prog_name, list(sys.argv[1:] if args is None else args), **extra) as context:
                code = self.invoke(context)
            sys.stdout.flush()
        except click.exceptions.Exit as end:  # --help, --version
            code = end.exit_code
        except (KeyboardInterrupt, click.exceptions.Abort):  # outside of a search, which would tell its counts
            click.echo("interrupted", err=True)
            code = INTERRUPTED
        except BrokenPipeError:  # the reader, `head` say, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = BROKEN_PIPE
        except click.ClickException as error:
            error.show()
            code = USAGE
        except Exception as error:
            click.echo(_message(error), err=True)
            code = USAGE
        sys.exit(code)


def _message(error: Exception) -> str:
    """One message for bad input; what is no bad input is raised on."""
    from checker.report import known_error

    if isinstance(error, SpecError):
        return str(error)
    if isinstance(error, OSError) and error.strerror is not None:
        return f"error: {error.filename or 'a file'}: {error.strerror}"
    if not known_error(error):
        raise error
    return f"error: {error}"


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="fencepost")
def fencepost() -> None:
    """Formal verification and conformance for Kafka's control plane.

    Exit codes: 0 holds, 1 violated, 2 usage or spec error, 3 incomplete, 4 vacuous.
    """


def main() -> None:
    """Run the command."""
    fencepost(prog_name="fencepost")


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


def _finite(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is no amount")
    return value


def _trace_file(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Say before a long search that its trace could not be written."""
    from traces.files import ENDINGS

    if path is not None and not path.name.endswith(ENDINGS):
        raise click.BadParameter(f"{path}: a trace ends in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}")
    return _new_file(context, parameter, path)


def _new_file(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Say before a long search that a file could not be written."""
    if path is not None:
        folder = path.resolve().parent
        if path.is_dir():
            raise click.BadParameter(f"{path} is a folder: name a file")
        if not folder.is_dir():
            raise click.BadParameter(f"{path}: there is no folder {folder}")
        if not os.access(folder, os.W_OK):
            raise click.BadParameter(f"{path}: the folder {folder} cannot be written to")
    return path


_TRACE_OUT = click.option(
    "--trace-out", type=click.Path(path_type=Path), callback=_trace_file, metavar="FILE",
    help="Write the trace (.itf.json or .ndjson); further ones beside it, numbered.",
)  # fmt: skip
_TIME_LIMIT = click.option(
    "--time-limit-s", type=click.FloatRange(0), callback=_finite, help="Stop after this many seconds of search."
)
_SEARCH = (
    click.option("--threads", type=click.IntRange(1, MAX_THREADS), help="Threads to search with (default: all cores)."),
    click.option("--max-states", type=click.IntRange(1), help="Stop after this many distinct states."),
    click.option("--max-depth", type=click.IntRange(1), help="Stop after this many levels."),
    _TIME_LIMIT,
    click.option("--memory-gib", type=click.FloatRange(0, min_open=True), callback=_finite,
                 help="Stop before using more memory (default: 80 % of what is free)."),
)  # fmt: skip


def _search_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_SEARCH):
        command = option(command)
    return command


@fencepost.command("list")
@click.argument("model", required=False)
def list_(model: str | None) -> int:
    """Designs and models; with MODEL: its constants, switches, actions and properties."""
    from checker.lang.loader import designs, find, load, load_spec
    from checker.report import describe, list_models, list_names

    found = [(load_spec(design), None) for design in designs()] if model is None else [find(model)]
    if model is not None and (found[0][1] is not None or len(found[0][0].models) == 1):
        click.echo(describe(load(model)))
        return 0
    for spec, _ in found:
        click.echo("\n".join([*list_models(spec.name, spec.models), *list_names(load(spec.name))]))
    click.echo(f"\nfencepost list {found[0][0].name}/{found[0][0].models[0].name} says what each is for", err=True)
    return 0


@fencepost.command()
@click.argument("model")
@_SET
@_SETTING
@click.option("--property", "properties", multiple=True, metavar="NAME", help="Check this property only (repeatable).")
@click.option("--all-violations", is_flag=True, help="Go on after a violation: a shortest trace for each property.")
@_search_options
@click.option("--checkpoint", type=click.Path(path_type=Path), metavar="DIR", help="Save every finished level to DIR.")
@click.option("--resume", type=click.Path(path_type=Path), metavar="DIR",
              help="Go on from a DIR that --checkpoint wrote, and save to it.")
@click.option("--coverage", is_flag=True, help="Also show guards and fields.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
@click.option("--junit", type=click.Path(path_type=Path), callback=_new_file, metavar="FILE",
              help="Write a JUnit XML report.")
@_TRACE_OUT
@click.option("--quiet", is_flag=True, help="No progress.")
def check(model: str, changes: dict[str, str], setting: str | None, properties: tuple[str, ...], **options: Any) -> int:
    """Explore MODEL exhaustively: a design (kraft), one of its models (kraft/isr), a module, or a Python file."""
    started = time.perf_counter()
    bound = _load(model, changes, setting, properties)
    from checker.explicit.check import Options
    from checker.explicit.check import check as run
    from checker.report import ProgressLine, check_text, print_json, write_junit

    with ProgressLine(quiet=options["quiet"]) as line:
        report = run(
            bound,
            Options(
                threads=options["threads"] or _cores(), limits=_limits(options),
                all_violations=options["all_violations"], checkpoint=options["checkpoint"], resume=options["resume"],
            ),
            started=started, progress=line.search,
        )  # fmt: skip
    if options["as_json"]:
        print_json(report.to_json())
    else:
        for trace in report.traces:
            _show(trace)
        saved = options["checkpoint"] or options["resume"]
        click.echo(check_text(report, coverage=options["coverage"], checkpoint=saved))
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
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _limits(options: dict[str, Any]) -> Limits:
    from checker.explicit.results import Limits

    gib = options["memory_gib"]
    return Limits(
        max_states=options["max_states"], max_depth=options["max_depth"], time_limit_s=options["time_limit_s"],
        memory_bytes=None if gib is None else int(gib * 2**30),
    )  # fmt: skip


def _write_traces(traces: list[Trace], path: Path) -> None:
    """Write the traces: the first to `path`, the others beside it, numbered."""
    from traces import save
    from traces.files import ENDINGS

    ending = next(e for e in ENDINGS if path.name.endswith(e))
    for number, trace in enumerate(traces, 1):
        name = path.name if number == 1 else f"{path.name.removesuffix(ending)}-{number}{ending}"
        save(trace, path.with_name(name))
        click.echo(f"trace written to {path.with_name(name)}", err=True)
    if not traces:
        click.echo(f"there is no trace to write to {path}", err=True)


def _use_color() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _columns() -> int:
    return shutil.get_terminal_size((100, 24)).columns


def _show(trace: Trace) -> None:
    from traces.render import render

    click.echo(render(trace, _columns(), _use_color()))
    click.echo()


@fencepost.command()
@click.argument("model")
@_SET
@_SETTING
@click.option("--seed", type=click.IntRange(0), help="Seed of the walks (default: drawn, and printed).")
@click.option("--walks", type=click.IntRange(1), default=1000, show_default=True, help="How many walks.")
@click.option("--max-steps", type=click.IntRange(1), default=200, show_default=True, help="Steps of a walk at most.")
@_TIME_LIMIT
@_TRACE_OUT
@click.option("--quiet", is_flag=True, help="No progress.")
def simulate(model: str, changes: dict[str, str], setting: str | None, **options: Any) -> int:
    """Random walks through MODEL, for what is too large to exhaust. A violation is shrunk.

    Exit codes: 0 nothing found (which proves nothing), 1 violated, 3 stopped by the time limit or Ctrl-C.
    """
    import secrets

    bound = _load(model, changes, setting)
    seed = options["seed"] if options["seed"] is not None else secrets.randbelow(2**32)
    from checker.explicit.simulation import simulate as run
    from checker.report import ProgressLine

    click.echo(f"seed {seed}", err=True)
    with ProgressLine(quiet=options["quiet"]) as line:
        found = run(bound, seed=seed, walks=options["walks"], max_steps=options["max_steps"],
                    time_limit_s=options["time_limit_s"], progress=line.walks)  # fmt: skip
    if found.trace is not None:
        _show(found.trace)
    click.echo(found.text())
    if options["trace_out"] is not None:
        _write_traces([found.trace] if found.trace is not None else [], options["trace_out"])
    return found.exit_code


@fencepost.command()
@click.argument("model")
@click.argument("expression")
@_SET
@_SETTING
@_search_options
@_TRACE_OUT
@click.option("--quiet", is_flag=True, help="No progress.")
def reach(model: str, expression: str, changes: dict[str, str], setting: str | None, **options: Any) -> int:
    """The shortest trace to a state of MODEL where EXPRESSION over the state `s` holds, or that none exists.

    Exit codes: 0 reached, 4 no reachable state has it, 3 a limit stopped the search before.
    """
    bound = _load(model, changes, setting)
    from checker.explicit.reach import reach as run
    from checker.report import ProgressLine

    with ProgressLine(quiet=options["quiet"]) as line:
        found = run(bound, expression, threads=options["threads"] or _cores(), limits=_limits(options),
                    progress=line.search)  # fmt: skip
    if found.trace is not None:
        _show(found.trace)
    click.echo(found.text, err=found.exit_code == USAGE)
    if options["trace_out"] is not None:
        _write_traces([found.trace] if found.trace is not None else [], options["trace_out"])
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
    from traces import load
    from traces.render import render

    click.echo(render(load(file), width or _columns(), _use_color() if color is None else color), color=color)
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
