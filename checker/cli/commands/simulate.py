"""simulate: random walks through a model."""

from __future__ import annotations

import click

from checker.cli.options import (
    MAX_THREADS,
    PROPERTY,
    TIME_LIMIT,
    Output,
    Target,
    cores,
    output_options,
    target_options,
)


@click.command()
@target_options
@PROPERTY
@click.option("--seed", type=click.IntRange(0), help="Seed of the walks (default: drawn, and printed).")
@click.option("--walks", type=click.IntRange(1), default=1000, show_default=True, help="How many walks.")
@click.option("--max-steps", type=click.IntRange(1), default=200, show_default=True, help="Steps of a walk at most.")
@click.option("--jobs", type=click.IntRange(1, MAX_THREADS), help="Walks at a time (default: all cores).")
@TIME_LIMIT
@output_options
def simulate(
    target: Target, properties: tuple[str, ...], seed: int | None, walks: int, max_steps: int, jobs: int | None,
    time_limit_s: float | None, output: Output,
) -> int:  # fmt: skip
    """Random walks through MODEL, for what is too large to exhaust. A violation is shrunk.

    From each state one of the enabled bindings of actions is taken, each with the same probability. The same seed gives
    the same result for any number of jobs.

    Exit codes: 0 nothing found (which proves nothing), 1 violated, 3 stopped by the time limit or Ctrl-C.
    """
    import secrets

    bound = target.load(properties)
    seed = seed if seed is not None else secrets.randbelow(2**32)
    from checker.cli.commands.simulate_text import coverage_text, ending_text
    from checker.cli.output.printing import print_json, print_report, write_traces
    from checker.cli.output.progress import ProgressLine
    from checker.explicit.simulate import simulate as run
    from checker.running.deadline import CompilationStopped
    from checker.verdicts import INCOMPLETE

    click.echo(f"seed {seed}", err=True)
    with ProgressLine(quiet=output.quiet) as line:
        try:
            found = run(bound, seed=seed, walks=walks, max_steps=max_steps, jobs=jobs or cores(),
                        time_limit_s=time_limit_s, progress=line.walks, stages=line.stage)  # fmt: skip
        except CompilationStopped as stopped:
            if output.as_json:
                print_json({"model": bound.name, "verdict": INCOMPLETE, "reason": str(stopped)})
            raise
    traces = [found.trace] if found.trace is not None else []
    if output.as_json:
        print_json(found.to_json())
    else:
        print_report(coverage_text(found), traces, ending_text(found))
    write_traces(traces, output.trace_out)
    return found.exit_code
