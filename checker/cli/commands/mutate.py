"""mutate: changes to a model's actions, one at a time, that no property or witness objects to."""

from __future__ import annotations

from pathlib import Path

import click

from checker.cli.options import JSON, QUIET, SET, SETTING, cores, finite, load_model, new_file

EXPLAINED = "survivors.toml"  # beside the file, or the package, that lists the models


@click.command()
@click.argument("models", metavar="MODEL...", nargs=-1, required=True)
@SET
@SETTING
@click.option("--only", multiple=True, metavar="TEXT",
              help="Only mutants whose key holds TEXT, or that change the action TEXT (repeatable).")  # fmt: skip
@click.option("--jobs", type=click.IntRange(1), help="Mutants judged at a time (default: all cores).")
@click.option(
    "--max-states",
    type=click.IntRange(1),
    help="A mutant with more is undecided (default: 4 times those of the model, or a million).",
)
@click.option("--time-limit-s", type=click.FloatRange(0), callback=finite, help="Stop after this many seconds in all.")
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path),
    callback=new_file,
    metavar="FILE",
    help="Append each verdict to FILE, which is overwritten first.",
)
@click.option(
    "--resume",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Go on from a FILE that --checkpoint wrote, and append to it.",
)
@click.option(
    "--killers",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Verdicts of an earlier version of the spec: a model is tried first on what it killed then.",
)
@click.option(
    "--explained",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help=f"Survivors that are explained (default: {EXPLAINED} beside the models, if it is there).",
)
@JSON
@QUIET
def mutate(
    models: tuple[str, ...], changes: dict[str, str], setting: str | None, only: tuple[str, ...], jobs: int | None,
    max_states: int | None, time_limit_s: float | None, checkpoint: Path | None, resume: Path | None,
    killers: Path | None, explained: Path | None, as_json: bool, quiet: bool,
) -> int:  # fmt: skip
    """Change MODEL's actions, one place at a time, and see whether a property or witness objects.

    Of several models of one spec, what one of them kills is not tried on the next. Where a single mutant is
    asked for, its trace is shown.

    Exit codes: 0 all killed, explained, or proved to be the same, 1 a survivor is not explained, 3 stopped before the
    end, or a mutant is undecided.
    """
    if checkpoint and resume:
        raise click.UsageError("--resume FILE appends to FILE: it needs no --checkpoint")
    bound = [load_model(model, changes, setting) for model in models]
    from checker.cli.commands.mutate_text import mutate_verdict, summary_text
    from checker.cli.output.printing import print_json, print_report
    from checker.cli.output.progress import ProgressLine
    from checker.mutate.session import MutationOptions, Session
    from checker.mutate.summary import read_explained

    path = explained or beside(Path(bound[0].spec.module.__file__ or ""))
    chosen = MutationOptions(
        only=only, jobs=jobs or cores(), threads=cores(), max_states=max_states, time_limit_s=time_limit_s,
        file=resume or checkpoint, resume=resume is not None, killers=killers,
        explained=read_explained(path) if path.is_file() else {},
    )  # fmt: skip
    with ProgressLine(quiet=quiet) as line:
        session = Session(bound, chosen, line.search, line.mutants)
        summary = session.run()
    if as_json:
        print_json(summary.to_json())
        return summary.exit_code
    shown = [session.trace] if session.trace is not None else []
    print_report(summary_text(summary, path), shown, mutate_verdict(summary))
    silent = summary.silent([p.name for model in bound for p in model.model.properties])
    if silent and summary.stopped is None and not only:
        click.echo(f"note: no mutant was first noticed by {', '.join(silent)}", err=True)
    return summary.exit_code


def beside(models: Path) -> Path:
    """Where the survivors of a spec are explained, whose models this file lists: a module, or a package of modules."""
    return (models.parent if models.name == "__init__.py" else models).with_name(EXPLAINED)
