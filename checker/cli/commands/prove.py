"""prove: runs of any length by induction, and all runs of up to K steps."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from checker.cli.options import PROPERTY, Output, Target, cores, finite, output_options, target_options
from checker.verdicts import exit_code

if TYPE_CHECKING:
    from checker.lang.loader import BoundModel
    from checker.symbolic.induction import ProofOptions

TRIAGE_S = 60.0
SEARCH_S = 30.0


@click.command()
@target_options
@PROPERTY
@click.option(
    "--bounded",
    type=click.IntRange(0),
    metavar="K",
    help="Instead, look for a violation in all behaviours of up to K steps.",
)
@click.option(
    "--find-lemmas", is_flag=True, help="Prove without the lemmas that the model declares: look for some that do."
)
@click.option(
    "--search-s",
    type=click.FloatRange(0, min_open=True),
    callback=finite,
    default=SEARCH_S,
    show_default=True,
    help="With --find-lemmas: seconds of search for states that refute candidates.",
)
@click.option("--jobs", type=click.IntRange(1, 64), help="Processes to prove in (default: all cores).")
@click.option(
    "--timeout-s",
    type=click.FloatRange(0, min_open=True),
    callback=finite,
    default=60.0,
    show_default=True,
    help="Seconds for one query; then it is unknown.",
)
@click.option(
    "--time-limit-s",
    type=click.FloatRange(0, min_open=True),
    callback=finite,
    help="Seconds for all of it, the search for lemmas and triage too; then it is incomplete.",
)
@click.option(
    "--triage-s",
    type=click.FloatRange(0),
    callback=finite,
    default=TRIAGE_S,
    show_default=True,
    help="Seconds of search to classify a counterexample to induction; 0: none.",
)
@click.option(
    "--every-counterexample",
    is_flag=True,
    help="Draw every counterexample, not only the first to a claim that is false, or that is not inductive.",
)
@output_options
def prove(
    target: Target, properties: tuple[str, ...], bounded: int | None, find_lemmas: bool, search_s: float,
    jobs: int | None, timeout_s: float, time_limit_s: float | None, triage_s: float, every_counterexample: bool,
    output: Output,
) -> int:  # fmt: skip
    """Prove MODEL by induction with Z3: runs of any length, ordinals without bound.

    Exit codes: 0 proved, 1 violated (with a trace), 3 not proved or incomplete, 4 vacuous.
    """
    if find_lemmas and bounded is not None:
        raise click.UsageError("--find-lemmas is for proofs by induction: leave out --bounded")
    started = time.monotonic()
    bound = target.load(properties)
    from checker.symbolic.induction import ProofOptions

    how = ProofOptions(jobs or cores(), timeout_s, time_limit_s, started)
    if bounded is not None:
        return _bounded(bound, bounded, how, output)
    return _induction(bound, how, search_s if find_lemmas else None, triage_s, every_counterexample, output)


def _induction(
    model: BoundModel, how: ProofOptions, find_lemmas_s: float | None, triage_s: float, every_counterexample: bool,
    output: Output,
) -> int:  # fmt: skip
    from checker.cli.commands.prove_text import proof_text, proof_verdict
    from checker.cli.output.printing import print_json, print_report, write_traces
    from checker.cli.output.progress import ProgressLine
    from checker.lemmas.prove import prove as run
    from traces.values import plural

    with ProgressLine(quiet=output.quiet) as line, ProgressLine(quiet=output.quiet) as search_line:
        report = run(model, how, find_lemmas_s=find_lemmas_s, triage_s=triage_s, threads=cores(),
                     searching=search_line.search, proving=line.proof, triaging=line.search)  # fmt: skip
    if output.as_json:
        print_json(report.to_json())
    else:
        shown = report.traces if every_counterexample else report.traces[:1]
        last = proof_verdict(report)
        if len(shown) < len(report.traces):
            more = plural(len(report.traces) - 1, "counterexample")
            last = f"and {more} more: --every-counterexample draws them\n\n{last}"
        print_report(proof_text(report), shown, last)
    write_traces(report.traces, output.trace_out)
    return report.exit_code


def _bounded(model: BoundModel, steps: int, how: ProofOptions, output: Output) -> int:
    from checker.cli.commands.prove_text import bounded_text
    from checker.cli.output.printing import print_json, show, write_traces
    from checker.cli.output.progress import ProgressLine
    from checker.lemmas.behaviour import run_trace
    from checker.symbolic.bounded import unroll

    with ProgressLine(quiet=output.quiet) as line:
        found = unroll(model, steps, how, progress=line.unrolling)
    traces = [run_trace(found)] if found.run is not None else []
    if output.as_json:
        print_json(found.to_json())
    else:
        for trace in traces:
            show(trace)
        click.echo(bounded_text(found))
    write_traces(traces, output.trace_out)
    return exit_code(found.verdict)
