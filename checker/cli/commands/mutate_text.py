"""Words of `mutate`: survivors in full, what each property kills, and the verdict."""

from __future__ import annotations

from pathlib import Path

import click

from checker.cli.output.table import fold, paragraphs, table, width
from checker.mutate.judge import INVALID, NOT_EXERCISED, STUTTERING, SURVIVED, UNDECIDED
from checker.mutate.summary import Outcome, Summary
from checker.verdicts import HOLDS, INCOMPLETE, VIOLATED, color
from traces.values import plural


def summary_text(summary: Summary, explained: Path) -> str:
    """Survivors in full, then how many mutants each property kills, and counts."""
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
    return paragraphs(lines)


def _told(outcome: Outcome, several: bool) -> list[str]:
    found = outcome.found
    model = f" ({outcome.model})" if several else ""
    texts = [f"{found.place}{model}  {found.key}", f"    {found.reason}", f"    {outcome.explained}"]
    return [line for text in texts if text.strip() for line in fold("  " + text, width(), "    ")]


def mutate_verdict(summary: Summary) -> str:
    """The verdict as the last line."""
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
