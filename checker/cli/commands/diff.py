"""diff: two settings of a model beside each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from checker.cli.options import SETTING, Output, Search, output_options, search_options
from checker.lang.errors import SpecError

if TYPE_CHECKING:
    from checker.lang.loader import BoundModel

AS_IT_STANDS = "the model as it stands"


def _side(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> list[str]:
    """The parts of one side: names of settings, and NAME=VALUE; a setting comes before what changes it."""
    parts = [part for text in values for part in text.split(",") if part]
    settings = [part for part in parts if "=" not in part]
    for setting in settings:
        if setting.isdecimal() or setting.lower() in ("true", "false"):
            raise click.BadParameter(f"{setting!r} is no setting; several values of a constant are for fencepost check")
    return _one_setting(settings) + [part for part in parts if "=" in part]


def _both(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> list[str]:
    """Changes of both sides: NAME=VALUE."""
    parts = [part for text in values for part in text.split(",") if part]
    for part in parts:
        if "=" not in part:
            raise click.BadParameter(f"{part!r}: write NAME=VALUE; a setting is of one side (--setting, --against)")
    return parts


def _one_setting(settings: list[str]) -> list[str]:
    if len(settings) > 1:
        raise click.BadParameter(f"{' and '.join(settings)} are two settings, and a side has one")
    return settings


def _with_both(side: list[str], both: list[str]) -> list[str]:
    """The parts of a side and of both. Raises UsageError where they give a constant two values."""
    names = [part.split("=", 1)[0] for part in side]
    for part in both:
        if (name := part.split("=", 1)[0]) in names:
            raise click.UsageError(f"{name} is given with --both ({part}) and for one side: give it once")
    return side + both


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
@click.option(
    "--set",
    "one",
    multiple=True,
    callback=_side,
    metavar="NAME=VALUE",
    help="Set a constant or switch of one side (default: the model as it stands).",
)
@SETTING
@click.option(
    "--against",
    "other",
    multiple=True,
    callback=_side,
    metavar="NAME=VALUE|NAME",
    help="The other side: a constant or switch, or a setting (default: the model as it stands).",
)
@click.option(
    "--both", multiple=True, callback=_both, metavar="NAME=VALUE", help="Set a constant or switch of both sides."
)
@search_options
@output_options
def diff(
    model: str, one: list[str], setting: str | None, other: list[str], both: list[str], search: Search, output: Output
) -> int:  # fmt: skip
    """Compare two settings of MODEL: reachable states, transitions, the first difference.

    One side is what --set and --setting give, the other what --against gives. All but --setting are repeatable, and
    take several with commas; --set also takes the name of a setting.

    Exit codes: 0 both do the same, 1 they differ, 3 no difference was found before a limit or Ctrl-C.
    """
    if setting is not None:
        settings = [setting, *[part for part in one if "=" not in part]]
        one = _one_setting(settings) + [part for part in one if "=" in part]
    sides = _bound(model, [_with_both(side, both) for side in (one, other)])
    if sides[0][1].constants == sides[1][1].constants:
        raise SpecError(
            f"both sides are the same: {sides[0][0]} and {sides[1][0]}",
            hint="say with --set, --setting and --against what differs",
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
