"""reach: the shortest way to a state that an expression describes."""

from __future__ import annotations

import click

from checker.cli.options import Output, Search, Target, output_options, search_options, target_options
from checker.verdicts import ExitCode


@click.command()
@target_options
@click.argument("expression")
@search_options
@output_options
def reach(target: Target, expression: str, search: Search, output: Output) -> int:
    """The shortest trace to a state of MODEL where EXPRESSION over the state `s` holds, or that none exists.

    Exit codes: 0 reached, 4 no reachable state has it, 3 a limit stopped the search before.
    """
    bound = target.load()
    from checker.cli.output.printing import print_json, show, write_traces
    from checker.cli.output.progress import ProgressLine
    from checker.explicit.reach import reach as run

    with ProgressLine(quiet=output.quiet) as line:
        found = run(bound, expression, threads=search.threads_or_cores, limits=search.limits(), progress=line.search)
    traces = [found.trace] if found.trace is not None else []
    if output.as_json:
        print_json({"model": bound.name, "expression": expression, **found.to_json()})
    else:
        for trace in traces:
            show(trace)
        click.echo(found.text, err=found.exit_code == ExitCode.USAGE)
    write_traces(traces, output.trace_out)
    return found.exit_code
