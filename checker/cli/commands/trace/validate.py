"""trace validate: recorded traces of an implementation, held against a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from checker.cli.options import JSON, QUIET, SET, SETTING, Cluster, cluster_options, load_model

if TYPE_CHECKING:
    from checker.cli.output.progress import ProgressLine
    from checker.lang.loader import BoundModel
    from checker.validate.corpus import CorpusOptions, Summary

    Keep = Callable[[str, bytes], None]

LONGEST_NAME = 150  # of a kept file, without its ending


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--model", required=True, help="The model that they are to be behaviours of.")
@SET
@SETTING
@click.option(
    "--silent",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Steps that may go unobserved before each event, where a trace declares none (default: 0).",
)
@click.option(
    "--max-candidates",
    type=click.IntRange(1),
    default=10_000,
    show_default=True,
    help="States that one trace may be in at a time; beyond it the trace is undecided.",
)
@click.option(
    "--rejected",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep each rejected trace, whole, in this folder.",
)
@click.option(
    "--show",
    "most",
    type=click.IntRange(0),
    default=10,
    show_default=True,
    help="How many traces that are not accepted to report.",
)
@cluster_options
@JSON
@QUIET
def validate(
    paths: tuple[str, ...], model: str, changes: dict[str, str], setting: str | None, silent: int, max_candidates: int,
    rejected: Path | None, most: int, cluster: Cluster, as_json: bool, quiet: bool,
) -> int:  # fmt: skip
    """Is each recorded trace a behaviour of the model? PATH: NDJSON files (.gz too), or folders of them.

    Exit codes: 0 all accepted, 1 some rejected, 3 none rejected, and some undecided or unreadable.
    """
    bound = load_model(model, changes, setting)
    from checker.cli.commands.trace.validate_text import corpus_text
    from checker.cli.output.printing import print_json
    from checker.cli.output.progress import ProgressLine
    from checker.validate.corpus import CorpusOptions

    how = CorpusOptions(silent, max_candidates)
    keep = None if rejected is None else _keeper(rejected)
    run = _on_spark if cluster.on_spark else _here
    with ProgressLine(quiet=quiet) as line:
        found = run(bound, paths, how, cluster, line, keep)
    if as_json:
        print_json({"model": bound.name, **found.to_json()})
    else:
        click.echo(corpus_text(bound, found, most))
    return found.exit_code


def _here(
    model: BoundModel, paths: tuple[str, ...], how: CorpusOptions, cluster: Cluster, line: ProgressLine,
    keep: Keep | None,
) -> Summary:  # fmt: skip
    from checker.validate.corpus import validate
    from checker.validate.reader import files_below

    if any(cluster.given().values()):
        raise click.UsageError(f"{', '.join(cluster.given())}: this is for --engine spark")
    files = files_below([Path(path) for path in paths])
    kept = None if keep is None else lambda verdict, trace: keep(verdict.trace, b"\n".join([*trace.source, b""]))
    return validate(model, _contents(files), how, progress=line.corpus, keep=kept)


def _on_spark(
    model: BoundModel, paths: tuple[str, ...], how: CorpusOptions, cluster: Cluster, line: ProgressLine,
    keep: Keep | None,
) -> Summary:  # fmt: skip
    from checker.spark.corpus import Where, validate_on_spark

    where = Where(cluster.master, cluster.spark_conf, cluster.task_timeout_s)
    return validate_on_spark(model, paths, how, where, progress=line.tasks, keep=keep)


def _contents(files: list[Path]) -> Iterator[tuple[str, bytes | OSError]]:
    for file in files:
        try:
            yield str(file), file.read_bytes()
        except OSError as error:  # the others are judged all the same
            yield str(file), error


def _keeper(folder: Path) -> Keep:
    """Return a function that writes a rejected trace into `folder`."""
    from traces.files import write_whole

    folder.mkdir(parents=True, exist_ok=True)

    def keep(name: str, content: bytes) -> None:
        plain = re.sub(r"(\.ndjson|\.jsonl)?(\.gz)?(#|$)", r"\3", name, count=1)
        plain = re.sub(r"[^A-Za-z0-9#._-]+", "_", plain).lstrip("._")
        write_whole(folder / f"{plain[:LONGEST_NAME]}.ndjson", content)

    return keep
