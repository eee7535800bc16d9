"""conform: an implementation held to a model."""

from __future__ import annotations

from typing import Any

import click

from checker.cli.options import (
    MEMORY,
    SET,
    SETTING,
    TIME_LIMIT,
    TRACE_OUT,
    cores,
    load_model,
    memory_bytes,
    show,
    write_traces,
)


@click.command()
@click.argument("model")
@click.option("--impl", "name", required=True, metavar="NAME",
              help="The implementation: one of those here (kraft), or package.module:NAME of an adapter.")
@SET
@SETTING
@click.option("--jobs", type=click.IntRange(1, 64), help="Processes to explore in (default: all cores).")
@click.option("--max-depth", type=click.IntRange(1), help="Stop after this many levels.")
@TIME_LIMIT
@MEMORY
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
@TRACE_OUT
@click.option("--quiet", is_flag=True, help="No progress.")
def conform(model: str, name: str, changes: dict[str, str], setting: str | None, **options: Any) -> int:
    """Does an implementation do what MODEL does, and nothing else, in every state that the two can be in together?

    Exit codes: 0 it conforms, 1 it diverges (with a shortest trace), 3 stopped before all was explored, 4 something of
    the spec never happened.
    """
    bound = load_model(model, changes, setting)
    from checker.cli.output.conformance import conform_text, side_by_side
    from checker.cli.output.report import ProgressLine, print_json
    from checker.conform.check import Options
    from checker.conform.check import conform as run
    from checker.conform.loading import load_system

    system = load_system(name)
    how = Options(options["jobs"] or cores(), options["max_depth"], options["time_limit_s"], memory_bytes(options))
    with ProgressLine(quiet=options["quiet"]) as line:
        report = run(bound, system, name, how, searching=line.search, exploring=line.product)
    if options["as_json"]:
        print_json(report.to_json())
    else:
        if report.divergence is not None:
            show(report.divergence.trace)
            click.echo(side_by_side(report.divergence) + "\n")
        click.echo(conform_text(report))
    if options["trace_out"] is not None:
        write_traces(report.traces, options["trace_out"])
    return report.exit_code
