"""list, check, simulate, reach: models looked at and explored on this machine."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.cli.options import (
    SET,
    SETTING,
    TIME_LIMIT,
    TRACE_OUT,
    cores,
    engine_options,
    limits,
    load_model,
    new_file,
    refuse_options_of_others,
    search_options,
    show,
    write_traces,
)
from checker.verdicts import ExitCode

if TYPE_CHECKING:
    from checker.cli.output.report import ProgressLine
    from checker.explicit.check import Report
    from checker.lang.loader import BoundModel


@click.command("list")
@click.argument("model", required=False)
def list_(model: str | None) -> int:
    """Designs and models; with MODEL: its constants, switches, actions and properties."""
    from checker.cli.output.report import describe, list_models, list_names
    from checker.lang.loader import designs, find, load, load_spec

    found = [(load_spec(design), None) for design in designs()] if model is None else [find(model)]
    if model is not None and (found[0][1] is not None or len(found[0][0].models) == 1):
        click.echo(describe(load(model)))
        return 0
    for spec, _ in found:
        click.echo("\n".join([*list_models(spec.name, spec.models), *list_names(load(spec.name))]))
    click.echo(f"\nfencepost list {found[0][0].name}/{found[0][0].models[0].name} says what each is for", err=True)
    return 0


@click.command()
@click.argument("model")
@SET
@SETTING
@click.option("--property", "properties", multiple=True, metavar="NAME", help="Check this property only (repeatable).")
@click.option("--all-violations", is_flag=True, help="Go on after a violation: a shortest trace for each property.")
@search_options
@engine_options
@click.option("--checkpoint", metavar="DIR", help="Save every finished level to DIR (Spark: or to a URI).")
@click.option("--resume", metavar="DIR", help="Go on from a DIR that --checkpoint wrote, and save to it.")
@click.option("--coverage", is_flag=True, help="Also show guards and fields.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
@click.option("--junit", type=click.Path(path_type=Path), callback=new_file, metavar="FILE",
              help="Write a JUnit XML report.")
@TRACE_OUT
@click.option("--quiet", is_flag=True, help="No progress.")
def check(model: str, changes: dict[str, str], setting: str | None, properties: tuple[str, ...], **options: Any) -> int:
    """Explore MODEL exhaustively: a design (kraft), one of its models (kraft/isr), a module, or a Python file."""
    from checker.cli.output.report import junit_of_failures

    with junit_of_failures(options["junit"], model):
        return _checked(model, changes, setting, properties, options)


def _checked(
    model: str, changes: dict[str, str], setting: str | None, properties: tuple[str, ...], options: dict[str, Any]
) -> int:
    started = time.perf_counter()
    bound = load_model(model, changes, setting, properties)
    refuse_options_of_others(options)
    from checker.cli.output.report import ProgressLine, check_text, print_json, write_junit
    from checker.running.deadline import CompilationStopped
    from checker.verdicts import INCOMPLETE

    run = _check_on_spark if options["engine"] == "spark" else _check_here
    with ProgressLine(quiet=options["quiet"]) as line:
        try:
            report = run(bound, options, started, line)
        except CompilationStopped as stopped:
            if options["as_json"]:
                print_json({"model": bound.name, "verdict": INCOMPLETE, "reason": str(stopped)})
            raise
    if options["as_json"]:
        print_json(report.to_json())
    else:
        for trace in report.traces:
            show(trace)
        saved = options["checkpoint"] or options["resume"]
        click.echo(check_text(report, coverage=options["coverage"], checkpoint=saved))
    if options["junit"] is not None:
        write_junit(report, options["junit"])
    if options["trace_out"] is not None:
        write_traces(report.traces, options["trace_out"])
    return report.exit_code


def _check_here(model: BoundModel, options: dict[str, Any], started: float, line: ProgressLine) -> Report:
    from checker.explicit.check import Options, check

    places = (options["checkpoint"], options["resume"])
    checkpoint, resume = (None if place is None else Path(place) for place in places)
    how = Options(
        threads=options["threads"] or cores(), limits=limits(options), all_violations=options["all_violations"],
        checkpoint=checkpoint, resume=resume,
    )  # fmt: skip
    return check(model, how, started=started, progress=line.search, stages=line.stage)


def _check_on_spark(model: BoundModel, options: dict[str, Any], started: float, line: ProgressLine) -> Report:
    from checker.spark.check import Options, check

    how = Options(
        master=options["master"], conf=options["spark_conf"], partitions=options["partitions"], limits=limits(options),
        task_timeout_s=options["task_timeout_s"],
        all_violations=options["all_violations"], checkpoint=options["checkpoint"], resume=options["resume"],
    )  # fmt: skip
    return check(model, how, started=started, progress=line.search, stages=line.stage)


@click.command()
@click.argument("model")
@SET
@SETTING
@click.option("--seed", type=click.IntRange(0), help="Seed of the walks (default: drawn, and printed).")
@click.option("--walks", type=click.IntRange(1), default=1000, show_default=True, help="How many walks.")
@click.option("--max-steps", type=click.IntRange(1), default=200, show_default=True, help="Steps of a walk at most.")
@TIME_LIMIT
@TRACE_OUT
@click.option("--quiet", is_flag=True, help="No progress.")
def simulate(model: str, changes: dict[str, str], setting: str | None, **options: Any) -> int:
    """Random walks through MODEL, for what is too large to exhaust. A violation is shrunk.

    Exit codes: 0 nothing found (which proves nothing), 1 violated, 3 stopped by the time limit or Ctrl-C.
    """
    import secrets

    bound = load_model(model, changes, setting)
    seed = options["seed"] if options["seed"] is not None else secrets.randbelow(2**32)
    from checker.cli.output.report import ProgressLine
    from checker.explicit.simulate import simulate as run

    click.echo(f"seed {seed}", err=True)
    with ProgressLine(quiet=options["quiet"]) as line:
        found = run(bound, seed=seed, walks=options["walks"], max_steps=options["max_steps"],
                    time_limit_s=options["time_limit_s"], progress=line.walks)  # fmt: skip
    if found.trace is not None:
        show(found.trace)
    click.echo(found.text())
    if options["trace_out"] is not None:
        write_traces([found.trace] if found.trace is not None else [], options["trace_out"])
    return found.exit_code


@click.command()
@click.argument("model")
@click.argument("expression")
@SET
@SETTING
@search_options
@TRACE_OUT
@click.option("--quiet", is_flag=True, help="No progress.")
def reach(model: str, expression: str, changes: dict[str, str], setting: str | None, **options: Any) -> int:
    """The shortest trace to a state of MODEL where EXPRESSION over the state `s` holds, or that none exists.

    Exit codes: 0 reached, 4 no reachable state has it, 3 a limit stopped the search before.
    """
    bound = load_model(model, changes, setting)
    from checker.cli.output.report import ProgressLine
    from checker.explicit.reach import reach as run

    with ProgressLine(quiet=options["quiet"]) as line:
        found = run(bound, expression, threads=options["threads"] or cores(), limits=limits(options),
                    progress=line.search)  # fmt: skip
    if found.trace is not None:
        show(found.trace)
    click.echo(found.text, err=found.exit_code == ExitCode.USAGE)
    if options["trace_out"] is not None:
        write_traces([found.trace] if found.trace is not None else [], options["trace_out"])
    return found.exit_code


