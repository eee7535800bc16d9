"""cluster: a cluster of an implementation, for trying out."""

from __future__ import annotations

import importlib
from pathlib import Path

import click

LOCAL = "impl.kraft.server.local"
"""Of an implementation, which the checker does not see: it is named, and loaded when it is asked for."""


@click.group()
def cluster() -> None:
    """A KIP-631 cluster on this machine, for trying out."""


@cluster.command()
@click.option("--controllers", type=click.IntRange(1, 9), default=3, show_default=True, help="How many controllers.")
@click.option("--brokers", type=click.IntRange(0, 90), default=0, show_default=True, help="How many brokers.")
@click.option(
    "--port", type=click.IntRange(1024, 65_000), default=9093, show_default=True, help="Of the first controller."
)
@click.option(
    "--broker-port", type=click.IntRange(1024, 65_000), default=9192, show_default=True, help="Of the first broker."
)
@click.option(
    "--in", "folder", type=click.Path(path_type=Path, file_okay=False), default=Path("fencepost-cluster"),
    show_default=True, metavar="DIR", help="Where data, configurations and logs are; what is there is gone on with.",
)  # fmt: skip
def up(controllers: int, brokers: int, port: int, broker_port: int, folder: Path) -> int:
    """Start controllers and brokers, and tell who leads and where clients connect, until Ctrl-C.

    Exit codes: 0 stopped by Ctrl-C, 1 all nodes have ended by themselves, 2 usage.
    """
    from checker.errors import FencepostError

    local = importlib.import_module(LOCAL)
    try:
        code: int = local.up(folder, local.Size(controllers, brokers, port, broker_port), click.echo)
    except local.PROBLEMS as problem:
        raise FencepostError(str(problem)) from None
    return code
