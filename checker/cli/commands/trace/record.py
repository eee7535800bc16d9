"""trace record: a run of a real cluster under faults, and its decisions as a trace."""

from __future__ import annotations

import importlib
from pathlib import Path

import click

from checker.cli.options import new_file

RECORDER = "impl.apache.recording.record"
"""Of an implementation, which the checker does not see: it is named, and loaded when it is asked for."""


@click.group()
def record() -> None:
    """Run an implementation under faults, and record what it decides."""


@record.command()
@click.option("--controllers", type=click.IntRange(1, 5), default=1, show_default=True, help="How many controllers.")
@click.option("--brokers", type=click.IntRange(1, 5), default=3, show_default=True, help="How many brokers.")
@click.option("--seed", type=click.IntRange(0), help="Faults and operations are drawn by it (default: 0).")
@click.option(
    "--scenario", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Do what a file says instead (JSON; docs/apache-kafka.md).",
)  # fmt: skip
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("kafka.ndjson"), show_default=True, callback=new_file,
    metavar="FILE", help="Write the traces to it, *.ndjson.",
)  # fmt: skip
@click.option(
    "--keep", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
    help="Keep the nodes' data, logs and configurations, and the scenario, in a new folder.",
)  # fmt: skip
@click.option("--version", default="4.3.1", show_default=True, help="The release, whose jars are in the cache.")
def kafka(
    controllers: int, brokers: int, seed: int | None, scenario: Path | None, out: Path, keep: Path | None, version: str
) -> int:
    """Start a KRaft cluster of Apache Kafka, drive it through faults, and write a trace for each partition.

    It runs on this machine, for a minute or two. Brokers are killed, stopped, paused, cut off, slowed down and made to
    send requests twice, controllers killed and cut off where there are several; topics are created, deleted and
    reassigned by a client.

    Exit codes: 0 recorded, 2 usage, or no Java, no jars, or a cluster that does not come up.
    """
    from checker.errors import FencepostError

    if seed is not None and scenario is not None:
        raise click.UsageError("--seed draws a scenario, and --scenario gives one: leave one of them out")
    recorder = importlib.import_module(RECORDER)
    try:
        said: str = recorder.run(
            out, controllers, brokers, seed, scenario, keep, version, lambda text: click.echo(text, err=True)
        )
    except recorder.PROBLEMS as problem:
        raise FencepostError(str(problem)) from None
    click.echo(said)
    return 0
