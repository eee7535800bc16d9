"""gallery: the bugs of history, run, and their pages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from checker.cli.options import QUIET, THREADS, cores
from checker.lang.errors import SpecError

if TYPE_CHECKING:
    from checker.lang.declare import Bug

FOLDER = Path("docs/gallery")


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option(
    "--to",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=FOLDER,
    show_default=True,
    metavar="DIR",
    help="The folder of the pages.",
)
@click.option("--check", "only_check", is_flag=True, help="Write nothing; say whether the pages are up to date.")
@THREADS
@QUIET
def gallery(names: tuple[str, ...], folder: Path, only_check: bool, threads: int | None, quiet: bool) -> int:
    """Find the bugs of history again, each with its guard switched off, and write a page about each.

    Exit codes: 0 all were found as they are declared, 1 one was not, or with --check a page is out of date.
    """
    every = _declared()
    _known(names, [bug.name for _, bug in every])
    from checker.cli.commands.gallery_pages import INDEX, index, page
    from checker.cli.output.progress import ProgressLine
    from checker.explicit.gallery import reproduce
    from checker.lang.loader import load_spec

    good = True
    width = max(len(bug.name) for _, bug in every)
    for design, bug in every:
        if names and bug.name not in names:
            continue
        with ProgressLine(quiet=quiet) as line:
            found = reproduce(load_spec(design), bug, threads=threads or cores(), progress=line.search)
        fine, text = False, f"declared: {bug.violates.name} violated in {bug.states} states"
        if found.as_declared:
            fine, text = _settle(folder / f"{bug.name}.md", page(found), only_check)
        good &= fine
        click.echo(f"{bug.name:<{width}}  {found.model.name}: {found.verdict}; {text}")
    fine, text = _settle(folder / INDEX, index(every), only_check)
    click.echo(f"{INDEX:<{width}}  {text}")
    strays = {file.name for file in folder.glob("*.md")} - {f"{bug.name}.md" for _, bug in every} - {INDEX}
    for name in sorted(strays):
        click.echo(f"{name:<{width}}  is about no bug of the gallery: remove it")
    return 0 if good and fine and not strays else 1


def _declared() -> list[tuple[str, Bug]]:
    """The bugs of all designs, each with its design."""
    from checker.lang.loader import bugs_of, designs

    found = [(design, bug) for design in designs() for bug in bugs_of(design)]
    if not found:
        raise SpecError("no design has a gallery", hint="list bugs as BUGS in spec/<design>/gallery.py")
    return found


def _known(names: tuple[str, ...], known: list[str]) -> None:
    from checker.lang.loader import suggest

    for name in names:
        if name not in known:
            raise SpecError(f"there is no bug {name} in the gallery", hint=suggest(name, known, "bugs"))


def _settle(file: Path, text: str, only_check: bool) -> tuple[bool, str]:
    """Bring a page up to date, or say that it is not: (whether it now is, what there is to say)."""
    there = file.read_text(encoding="utf-8") if file.is_file() else None
    if there == text:
        return True, "page unchanged"
    if only_check:
        return False, "there is no page" if there is None else "the page is out of date"
    from traces.files import write_whole

    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, text.encode())
    return True, "page written"
