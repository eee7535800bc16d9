"""diff: two settings of a model beside each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from checker.cli.options import Output, Search, output_options, search_options
from checker.lang.errors import SpecError

if TYPE_CHECKING:
    from checker.lang.loader import BoundModel

AS_IT_STANDS = "the model as it stands"


def _side(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> list[str]:
    """The parts of one side: names of settings, and NAME=VALUE; a setting comes before what changes it."""
    parts = [part for text in values for part in text.split(",") if part]
    settings = [part for part in parts if "=" not in part]
    if len(settings) > 1:
        raise click.BadParameter(f"{' and '.join(settings)} are two settings, and a side has one")
    return settings + [part for part in parts if "=" in part]


def _bound(model: str, sides: list[list[str]]) -> list[tuple[str, BoundModel]]:
    """Both sides, each with its label, of a spec that is loaded once: they share the classes of its state."""
    from checker.lang.loader import bind_model, find

    spec, name = find(model)
    bound = []
    for parts in sides:
        setting = next((part for part in parts if "=" not in part), None)
        changes = dict(part.split("=", 1) for part in parts if "=" in part)
        bound.append((", ".join(parts) or AS_IT_STANDS, bind_model(spec, name, changes, setting)))
    return bound


@click.command()
@click.argument("model")
@click.option("--set", "--setting", "one", multiple=True, callback=_side, metavar="NAME|NAME=VALUE,...",
              help="One side: a setting, constants or switches, or both (default: the model as it stands).")
@click.option("--against", "other", multiple=True, callback=_side, metavar="NAME|NAME=VALUE,...",
              help="The other side, written likewise (default: the model as it stands).")
@search_options
@output_options
def diff(model: str, one: list[str], other: list[str], search: Search, output: Output) -> int:
    """Compare two settings of MODEL: reachable states, transitions, the first difference.

    Exit codes: 0 both do the same, 1 they differ, 3 no difference was found before a limit or Ctrl-C.
    """
    sides = _bound(model, [one, other])
    if sides[0][1].constants == sides[1][1].constants:
        raise SpecError(
            f"both sides are the same: {sides[0][0]} and {sides[1][0]}",
            hint="say with --set and --against what differs",
        )
    from checker.cli.commands.diff_text import diff_text, diff_verdict
    from checker.cli.output.printing import print_json, print_report, write_traces
    from checker.cli.output.progress import ProgressLine
    from checker.explicit.diff import diff as run

    with ProgressLine(quiet=output.quiet) as line:
        found = run(*sides, threads=search.threads_or_cores, limits=search.limits(), searching=line.search,
                    comparing=line.comparison)  # fmt: skip
    if output.as_json:
        print_json(found.to_json())
    else:
        print_report(diff_text(found), found.traces, diff_verdict(found))
    write_traces(found.traces, output.trace_out)
    return found.exit_code
