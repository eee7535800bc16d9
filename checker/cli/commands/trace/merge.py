"""trace merge: the traces of the processes of a run, merged into one."""

from __future__ import annotations

from pathlib import Path

import click

from checker.cli.options import new_file


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    callback=new_file,
    metavar="FILE",
    help="Write it to a file, *.ndjson (default: print it).",
)
def merge(files: tuple[Path, ...], out: Path | None) -> int:
    """Merge the traces that the processes of one run recorded, for `fencepost trace validate`.

    FILE: NDJSON, of one process each. Events are ordered as far as causes order them; validation tries the orders that
    these allow.
    """
    from traces import TraceError
    from traces.files import write_whole
    from traces.merging import merge as merged

    texts = []
    for file in files:
        try:
            texts.append((str(file), file.read_text(encoding="utf-8")))
        except UnicodeDecodeError as error:
            raise TraceError(f"this is not UTF-8 text (byte {error.start})", where=str(file)) from None
        except OSError as error:
            raise TraceError(f"cannot read it: {error.strerror}", where=str(file)) from None
    text = merged(texts)
    if out is None:
        click.echo(text, nl=False)
    else:
        write_whole(out, text.encode())
        click.echo(f"trace written to {out}", err=True)
    return 0
