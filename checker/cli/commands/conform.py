"""conform: an implementation held to a model."""

from __future__ import annotations

from pathlib import Path

import click

from checker.cli.options import (
    MEMORY,
    TIME_LIMIT,
    Output,
    Target,
    cores,
    memory_bytes,
    output_options,
    target_options,
)


@click.command()
@target_options
@click.option(
    "--impl",
    "name",
    required=True,
    metavar="NAME",
    help="The implementation: one of those here (kraft), or package.module:NAME of an adapter.",
)
@click.option("--jobs", type=click.IntRange(1, 64), help="Processes to explore in (default: all cores).")
@click.option("--max-depth", type=click.IntRange(1), help="Stop after this many levels.")
@TIME_LIMIT
@MEMORY
@click.option("--checkpoint", type=click.Path(path_type=Path), metavar="DIR", help="Save every finished level to DIR.")
@click.option(
    "--resume",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Go on from a DIR that --checkpoint wrote, and save to it.",
)
@click.option("--no-probes", is_flag=True, help="Try no messages that are not under way.")
@output_options
def conform(
    target: Target, name: str, jobs: int | None, max_depth: int | None, time_limit_s: float | None,
    memory_gib: float | None, checkpoint: Path | None, resume: Path | None, no_probes: bool, output: Output,
) -> int:  # fmt: skip
    """Does an implementation do what MODEL does, and nothing else, in every state that the two can be in together?

    Exit codes: 0 it conforms, 1 it diverges (with a shortest trace), 3 stopped before all was explored, 4 something of
    the spec never happened.
    """
    if checkpoint and resume:
        raise click.UsageError("--resume DIR saves to DIR: it needs no --checkpoint")
    bound = target.load()
    from checker.cli.commands.conform_text import conform_text, conform_verdict
    from checker.cli.output.printing import print_json, print_report, write_traces
    from checker.cli.output.progress import ProgressLine
    from checker.conform.check import ConformOptions
    from checker.conform.check import conform as run
    from checker.conform.loading import load_system

    system = load_system(name)
    how = ConformOptions(
        jobs or cores(), max_depth, time_limit_s, memory_bytes(memory_gib), checkpoint, resume, probes=not no_probes
    )
    with ProgressLine(quiet=output.quiet) as line:
        report = run(bound, system, name, how, searching=line.search, exploring=line.product)
    if output.as_json:
        print_json(report.to_json())
    else:
        shown = [report.divergence.trace] if report.divergence is not None else []
        print_report(conform_text(report), shown, conform_verdict(report, checkpoint or resume))
    write_traces(report.traces, output.trace_out)
    return report.exit_code
