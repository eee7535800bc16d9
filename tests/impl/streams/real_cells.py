"""What the last five rows of the document's test matrix are, with real applications: releases, bounces, the table."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from impl.streams.matrix import CELLS, LINES, Cell
from impl.streams.versions import RELEASES

Found = dict[str, object]
"""Of a run: the version that all send in the end and the rebalances after the last bounce, or what broke."""
ROWS = LINES[2:7]
RELEASE_OF = {
    "0.10.2": "0.10.2.2",
    "0.11.0": "0.11.0.3",
    "1.0": "1.0.2",
    "1.1": "1.1.1",
    "1.2": "2.0.1",
    "post-1.2": "2.3.1",
}
"""The release that is run of each line: those with the back port of KAFKA-6054, and post-1.2 one of version 4."""
REAL_CELLS = tuple(cell for cell in CELLS if cell.old in ROWS)


@dataclass(frozen=True)
class Stage:
    """What the operator starts a process with. held: upgrade.from is set."""

    line: str
    held: bool = False


@dataclass(frozen=True)
class Step:
    """A bounce, and the versions that application and member send once the group has settled."""

    is_real: bool
    to: Stage
    real: int
    ours: int


def latest(line: str) -> int:
    """The newest version of a line."""
    return RELEASES[our_release(line)].latest


def our_release(line: str) -> str:
    """A row of the table of releases: 2.0 has one for all of its line."""
    return "2.0" if line == "1.2" else RELEASE_OF[line]


def steps(cell: Cell, *, real_leads: bool) -> Iterator[Step]:
    """The procedure: who follows at first is bounced first."""
    old, new = latest(cell.old), latest(cell.new)
    order = (False, True) if real_leads else (True, False)
    if cell.has_two_bounces:
        for is_real in order:
            yield Step(is_real, Stage(cell.new, held=True), old, old)
    first, second = order
    between = old if not cell.has_two_bounces else new
    yield Step(first, Stage(cell.new), *((between, old) if first else (old, between)))
    yield Step(second, Stage(cell.new), new, new)


def key(cell: Cell, real_leads: bool) -> str:
    return f"{cell}, {'the application' if real_leads else 'our member'} leads at first"


def results(file: Path) -> dict[str, Found]:
    """What was found, by `key`: the last of each."""
    if not file.exists():
        return {}
    return {one["run"]: one for one in map(json.loads, file.read_text().splitlines())}


def table(found: Mapping[str, Found]) -> str:
    """The rows of the matrix, each cell with the application leading at first and with our member; as Markdown."""
    notes: dict[str, int] = {}
    lines = [f"| from \\ to | {' | '.join(LINES[3:])} |", "|---" * (len(LINES) - 2) + "|"]
    for old in ROWS:
        marks = [" / ".join(_mark(found.get(key(Cell(old, new), leads)), notes) for leads in (True, False))
                 if Cell(old, new) in REAL_CELLS else "" for new in LINES[3:]]  # fmt: skip
        lines.append(f"| {old} | {' | '.join(marks)} |")
    return "\n".join([*lines, *(f"\n({number}) {note}" for note, number in notes.items())])


def _mark(result: Found | None, notes: dict[str, int]) -> str:
    if result is None:
        return "not run"
    if "broken" in result:
        return f"({notes.setdefault(str(result['broken']), len(notes) + 1)})"
    return f"{result['version']}, {result['rebalances']}"
