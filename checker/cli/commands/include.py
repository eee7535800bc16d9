"""include: can all that is seen of one model be seen of another?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from checker.cli.options import SET, SETTING, Output, Search, output_options, search_options

if TYPE_CHECKING:
    from checker.explicit.inclusion import Included


@click.command()
@click.argument("inclusion")
@SET
@SETTING
@search_options
@output_options
def include(inclusion: str, changes: dict[str, str], setting: str | None, search: Search, output: Output) -> int:
    """Look whether the behaviours of one model are, as far as they can be seen, behaviours of another.

    INCLUSION names one of those that a spec lists: kraft/quorum_as_seen, or FILE.py. --set and --setting are for both
    of its models.

    Exit codes: 0 holds, 1 violated, 3 a limit or Ctrl-C stopped it before, 4 vacuous: there is nothing to be seen.
    """
    from checker.cli.output.printing import print_json, print_report, verdict_line, write_traces
    from checker.cli.output.progress import ProgressLine
    from checker.explicit.inclusion import include as run
    from checker.lang.inclusion import load_inclusion

    asked = load_inclusion(inclusion, changes, setting)
    with ProgressLine(quiet=output.quiet) as line:
        found = run(asked, threads=search.threads_or_cores, limits=search.limits(), searching=line.search,
                    stages=line.stage)  # fmt: skip
    traces = [found.trace] if found.trace is not None else []
    if output.as_json:
        print_json(found.to_json())
    else:
        print_report(_text(found, asked.inclusion.doc), traces, verdict_line(found.verdict, found.reason))
    write_traces(traces, output.trace_out)
    return found.exit_code


def _text(found: Included, doc: str) -> str:
    """A finished inclusion for people: what was explored of both models."""
    from checker.cli.output.table import paragraphs, table

    rows = [("", "states", "transitions")]
    rows += [
        (name, f"{states:,}", f"{transitions:,}")
        for name, states, transitions in zip(found.models, found.states, found.transitions, strict=True)
    ]
    beside = f"{found.pairs:,} states beside {found.sets:,} sets of states that look alike, {found.sights:,} sights"
    return paragraphs([f"{found.name}: {doc}", "", *table(rows, (False, True, True)), "",
                       f"{beside}; {found.seconds:.2f} s in all"])  # fmt: skip
