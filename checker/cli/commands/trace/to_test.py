"""trace to-test: a test of a divergence."""

from __future__ import annotations

from pathlib import Path

import click

from checker.cli.options import new_file


@click.command("to-test")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    callback=new_file,
    metavar="FILE",
    help="Write it to a file, test_*.py (default: print it).",
)
def to_test(file: Path, out: Path | None) -> int:
    """A pytest file from a divergence that `fencepost conform --trace-out` wrote to FILE.

    It drives the implementation along the trace, and fails as long as it diverges.
    """
    from checker.conform.regression import to_test as run
    from traces import TraceError
    from traces import load as load_trace
    from traces.files import write_whole

    recorded = load_trace(file)
    try:
        text = run(recorded, out)
    except TraceError as error:
        raise error.within(str(file)) from None
    if out is None:
        click.echo(text, nl=False)
    else:
        write_whole(out, text.encode())
        click.echo(f"test written to {out}", err=True)
    return 0
