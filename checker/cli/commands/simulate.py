"""simulate: random walks through a model."""

from __future__ import annotations

from pathlib import Path

import click

from checker.cli.options import QUIET, TIME_LIMIT, TRACE_OUT, Target, target_options


@click.command()
@target_options
@click.option("--seed", type=click.IntRange(0), help="Seed of the walks (default: drawn, and printed).")
@click.option("--walks", type=click.IntRange(1), default=1000, show_default=True, help="How many walks.")
@click.option("--max-steps", type=click.IntRange(1), default=200, show_default=True, help="Steps of a walk at most.")
@TIME_LIMIT
@TRACE_OUT
@QUIET
def simulate(
    target: Target, seed: int | None, walks: int, max_steps: int, time_limit_s: float | None, trace_out: Path | None,
    quiet: bool,
) -> int:  # fmt: skip
    """Random walks through MODEL, for what is too large to exhaust. A violation is shrunk.

    Exit codes: 0 nothing found (which proves nothing), 1 violated, 3 stopped by the time limit or Ctrl-C.
    """
    import secrets

    bound = target.load()
    seed = seed if seed is not None else secrets.randbelow(2**32)
    from checker.cli.output.printing import show, write_traces
    from checker.cli.output.progress import ProgressLine
    from checker.explicit.simulate import simulate as run

    click.echo(f"seed {seed}", err=True)
    with ProgressLine(quiet=quiet) as line:
        found = run(bound, seed=seed, walks=walks, max_steps=max_steps, time_limit_s=time_limit_s,
                    progress=line.walks)  # fmt: skip
    if found.trace is not None:
        show(found.trace)
    click.echo(found.text())
    write_traces([found.trace] if found.trace is not None else [], trace_out)
    return found.exit_code
