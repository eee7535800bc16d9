"""prove: runs of any length by induction, and all runs of up to K steps."""

from __future__ import annotations

import time
from typing import Any

import click

from checker.cli.options import SET, SETTING, TRACE_OUT, cores, finite, load_model, show, write_traces
from checker.verdicts import exit_code

TRIAGE_S = 60.0
SEARCH_S = 30.0


@click.command()
@click.argument("model")
@SET
@SETTING
@click.option("--property", "properties", multiple=True, metavar="NAME", help="Prove this property only (repeatable).")
@click.option("--bounded", type=click.IntRange(0), metavar="K",
              help="Instead, look for a violation in all behaviours of up to K steps.")
@click.option("--find-lemmas", is_flag=True,
              help="Prove without the lemmas that the model declares: look for some that do.")
@click.option("--search-s", type=click.FloatRange(0, min_open=True), callback=finite, default=SEARCH_S,
              show_default=True, help="With --find-lemmas: seconds of search for states that refute candidates.")
@click.option("--jobs", type=click.IntRange(1, 64), help="Processes to prove in (default: all cores).")
@click.option("--timeout-s", type=click.FloatRange(0, min_open=True), callback=finite, default=60.0, show_default=True,
              help="Seconds for one query; then it is unknown.")
@click.option("--time-limit-s", type=click.FloatRange(0, min_open=True), callback=finite,
              help="Seconds for all of it, the search for lemmas and triage too; then it is incomplete.")
@click.option("--triage-s", type=click.FloatRange(0), callback=finite, default=TRIAGE_S, show_default=True,
              help="Seconds of search to tell what a counterexample to induction is; 0: none.")
@click.option("--every-counterexample", is_flag=True,
              help="Draw every counterexample, not only the first to a claim that is false, or that is not inductive.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
@TRACE_OUT
@click.option("--quiet", is_flag=True, help="No progress.")
def prove(model: str, changes: dict[str, str], setting: str | None, properties: tuple[str, ...], **options: Any) -> int:
    """Prove MODEL by induction with Z3: runs of any length, ordinals without bound.

    Exit codes: 0 proved, 1 violated (with a trace), 3 not proved or incomplete, 4 vacuous.
    """
    if options["find_lemmas"] and options["bounded"] is not None:
        raise click.UsageError("--find-lemmas is for proofs by induction: leave out --bounded")
    started = time.monotonic()
    bound = load_model(model, changes, setting, properties)
    from checker.symbolic.induction import Options

    how = Options(options["jobs"] or cores(), options["timeout_s"], options["time_limit_s"], started)
    return _bounded(bound, how, options) if options["bounded"] is not None else _induction(bound, how, options)


def _induction(bound: Any, how: Any, options: dict[str, Any]) -> int:
    from checker.cli.output.proof import ProofReport
    from checker.cli.output.report import ProgressLine, print_json
    from checker.lemmas.behaviour import induction_trace, initial_trace
    from checker.lemmas.triage import triage
    from checker.running.limits import Limits
    from checker.symbolic.induction import prove as run
    from traces.values import plural

    triaged, found_lemmas = {}, None
    with ProgressLine(quiet=options["quiet"]) as line:
        if options["find_lemmas"]:
            from checker.lemmas.find import find_lemmas

            limits = Limits(time_limit_s=options["search_s"])
            with ProgressLine(quiet=options["quiet"]) as search_line:
                found_lemmas = find_lemmas(bound, how, limits, searched=search_line.search, progress=line.proof)
            proof = found_lemmas.proof
        else:
            proof = run(bound, how, progress=line.proof)
        if options["triage_s"] and any(f.counterexample is not None for f in proof.findings):
            limits = Limits(time_limit_s=how.left_s(options["triage_s"]))
            triaged = triage(proof, limits, cores(), progress=line.search)
    report = ProofReport(proof, triaged)
    traces = []
    for number, finding in enumerate(proof.findings):
        if finding.initial is not None:
            traces.append(initial_trace(proof, number))
        elif finding.counterexample is not None:
            found = triaged.get(number)
            traces.append(found.trace if found and found.trace else induction_trace(proof, number))
    traces.sort(key=lambda trace: trace.violation is not None and trace.violation.kind.startswith("induction"))
    if options["as_json"]:
        print_json(report.to_json() | ({"found_lemmas": found_lemmas.to_json()} if found_lemmas is not None else {}))
    else:
        shown = traces if options["every_counterexample"] else traces[:1]
        for trace in shown:
            show(trace)
        if len(shown) < len(traces):
            click.echo(f"and {plural(len(traces) - 1, 'counterexample')} more: --every-counterexample draws them\n")
        if found_lemmas is not None:
            click.echo(found_lemmas.text() + "\n")
        click.echo(report.text())
    if options["trace_out"] is not None:
        write_traces(traces, options["trace_out"])
    return report.exit_code


def _bounded(bound: Any, how: Any, options: dict[str, Any]) -> int:
    from checker.cli.output.proof import bounded_json, bounded_text, bounded_verdict
    from checker.cli.output.report import ProgressLine, print_json
    from checker.lemmas.behaviour import run_trace
    from checker.symbolic.bounded import unroll

    with ProgressLine(quiet=options["quiet"]) as line:
        found = unroll(bound, options["bounded"], how, progress=line.unrolling)
    traces = [run_trace(found)] if found.run is not None else []
    if options["as_json"]:
        print_json(bounded_json(found))
    else:
        for trace in traces:
            show(trace)
        click.echo(bounded_text(found))
    if options["trace_out"] is not None:
        write_traces(traces, options["trace_out"])
    return exit_code(bounded_verdict(found))
