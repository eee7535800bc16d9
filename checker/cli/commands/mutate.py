"""mutate: changes to a model's actions, one at a time, that no property or witness objects to."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checker.cli.options import SET, SETTING, columns, cores, finite, load_model, new_file, show
from checker.verdicts import HOLDS, INCOMPLETE, VIOLATED, color

if TYPE_CHECKING:
    from checker.mutate.summary import Outcome, Summary

EXPLAINED = "survivors.toml"  # beside the file that lists the models


@click.command()
@click.argument("models", metavar="MODEL...", nargs=-1, required=True)
@SET
@SETTING
@click.option("--only", multiple=True, metavar="TEXT",
              help="Only mutants whose key holds TEXT, or that change the action TEXT (repeatable).")  # fmt: skip
@click.option("--jobs", type=click.IntRange(1), help="Mutants judged at a time (default: all cores).")
@click.option("--max-states", type=click.IntRange(1),
              help="A mutant with more is undecided (default: 4 times those of the model, or a million).")
@click.option("--time-limit-s", type=click.FloatRange(0), callback=finite, help="Stop after this many seconds in all.")
@click.option("--checkpoint", type=click.Path(path_type=Path), callback=new_file, metavar="FILE",
              help="Append each verdict to FILE, which is started anew.")
@click.option("--resume", type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="FILE",
              help="Go on from a FILE that --checkpoint wrote, and append to it.")
@click.option("--explained", type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="FILE",
              help=f"Survivors that are explained (default: {EXPLAINED} beside the models, if it is there).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
@click.option("--quiet", is_flag=True, help="No progress.")
def mutate(models: tuple[str, ...], changes: dict[str, str], setting: str | None, **options: Any) -> int:
    """Change MODEL's actions, one place at a time, and see whether a property or witness objects.

    Of several models of one spec, what one of them kills is not tried on the next. Where a single mutant is
    asked for, its trace is shown.

    Exit codes: 0 all killed, explained, or proved to be the same, 1 a survivor is not explained, 3 stopped before the
    end, or a mutant is undecided.
    """
    if options["checkpoint"] and options["resume"]:
        raise click.UsageError("--resume FILE appends to FILE: it needs no --checkpoint")
    bound = [load_model(model, changes, setting) for model in models]
    from checker.cli.output.report import ProgressLine, print_json
    from checker.mutate.session import Options, Session
    from checker.mutate.summary import read_explained

    path = options["explained"] or Path(bound[0].spec.module.__file__ or "").with_name(EXPLAINED)
    chosen = Options(
        only=options["only"], jobs=options["jobs"] or cores(), threads=cores(), max_states=options["max_states"],
        time_limit_s=options["time_limit_s"], file=options["resume"] or options["checkpoint"],
        resume=options["resume"] is not None, explained=read_explained(path) if path.is_file() else {},
    )  # fmt: skip
    with ProgressLine(quiet=options["quiet"]) as line:
        session = Session(bound, chosen, line.search, line.mutants)
        summary = session.run()
    if options["as_json"]:
        print_json(summary.to_json())
        return summary.exit_code
    if session.trace is not None:
        show(session.trace)
    click.echo(summary_text(summary, path))
    silent = summary.silent([p.name for model in bound for p in model.model.properties])
    if silent and summary.stopped is None and not options["only"]:
        click.echo(f"note: no mutant was first noticed by {', '.join(silent)}", err=True)
    return summary.exit_code


# What is printed.


def summary_text(summary: Summary, explained: Path) -> str:
    """Survivors in full, then how many mutants each property kills, counts, and the verdict as the last line."""
    from checker.cli.output.report import table
    from checker.mutate.judge import INVALID, NOT_EXERCISED, STUTTERING, SURVIVED, UNDECIDED
    from traces.values import plural

    lines = [", ".join(summary.models)]
    groups = {
        "survived": summary.unexplained,
        "undecided": [o for o in summary.of(UNDECIDED) if not o.explained],
        "explained": [o for v in (SURVIVED, UNDECIDED) for o in summary.of(v) if o.explained],
        "stuttering (only steps that change nothing)": summary.of(STUTTERING),
        "not exercised": summary.of(NOT_EXERCISED),
        "invalid (cannot be compiled)": summary.of(INVALID),
    }
    if len(summary.outcomes) == 1 and not any(groups.values()):
        groups[summary.outcomes[0].verdict] = summary.outcomes
    for title, outcomes in groups.items():
        if outcomes:
            lines += ["", f"{title}:", *[line for o in outcomes for line in _told(o, len(summary.models) > 1)]]
    kills = sorted(summary.kills().items(), key=lambda item: -item[1])
    if kills:
        lines += ["", *table([("what objects", "mutants"), *[(name, f"{n:,}") for name, n in kills]], (False, True))]
    lines += [f"note: {key} is explained in {explained}, and needs not be" for key in summary.stale]
    counts = ", ".join(f"{n:,} {verdict}" for verdict, n in summary.counts.items() if n)
    lines += ["", f"{plural(len(summary.expected), 'mutant')}: {counts or 'none judged'}",
              f"{summary.judged:,} judged in {summary.seconds:.1f} s, {summary.rate:.1f} mutants/s"]  # fmt: skip
    return "\n".join([*lines, "", _last(summary)])


def _told(outcome: Outcome, several: bool) -> list[str]:
    found = outcome.found
    model = f" ({outcome.model})" if several else ""
    width = columns() if sys.stdout.isatty() else 10_000  # a pipe gets whole lines
    texts = [f"{found.place}{model}  {found.key}", f"    {found.reason}", f"    {outcome.explained}"]
    return [line for text in texts if text.strip()
            for line in textwrap.wrap(text, width - 2, initial_indent="  ", subsequent_indent="      ")]  # fmt: skip


def _last(summary: Summary) -> str:
    from traces.values import plural

    standing, verdict, rest = HOLDS, "no mutant survives unexplained", ""
    if summary.stopped is not None:
        missing = plural(len(summary.expected) - len(summary.outcomes), "mutant")
        standing, verdict, rest = INCOMPLETE, INCOMPLETE, f": {summary.stopped}; {missing} not judged"
    elif summary.unexplained:
        survivors = plural(len(summary.unexplained), "mutant")
        standing, verdict, rest = VIOLATED, "survived", f": {survivors} that nothing objects to"
    elif summary.exit_code:
        standing, verdict, rest = INCOMPLETE, INCOMPLETE, ": some mutants are undecided"
    return click.style(verdict, fg=color(standing), bold=True) + rest
