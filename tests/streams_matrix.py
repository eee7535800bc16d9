"""Writes docs/findings/kip-268-matrix.md: the test matrix of KIP-268 as the checker fills it.

usage: python -m tests.streams_matrix [--run]

The table comes from tests/pins.toml. --run checks every cell first, and ends with 1 where one is not as pinned. Cells
of the same two versions are one run.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field

from checker.lang.loader import load
from spec.streams.releases import Release, version_of
from tests.conftest import ROOT, Pin, read_pins
from tests.properties_table import numbers_of
from tests.spec.pinned import explored
from traces.files import write_whole

PAGE = ROOT / "docs" / "findings" / "kip-268-matrix.md"
HEAD = """<!-- Written by `make docs` from tests/pins.toml. -->

# The test matrix of KIP-268

Each cell of the document's table is an upgrade of three processes from one release to another, by its procedure: two
bounces with `upgrade.from` from a release before 1.2 (2.0.0, as it came out) to a newer metadata version, else one. It
is explored whole, with nothing else going wrong and with what the columns say, and must end with nobody dead of a
version, everybody in the new one, and the group at rest.

✓ holds; else which [statement](../properties.md#streams) breaks, and the states of the shortest trace; – is no case.

`python -m tests.streams_matrix --run` checks all of them.

"""
FOOT = """
- *crash*: a process dies at any time and starts again, the one that is bounced and the leader too. *early expiry*: the
  session of a live member ends. *failover*: of the coordinator while the group rebalances. *offline*: all stop, and
  start with the new release. Each happens once.
- *rolled back*: one process gets back what it ran before, at any time, while the others go on. To a release that cannot
  probe this is no procedure: as a leader it dies of what the others send.
- *forgotten*: `upgrade.from` is never set. *too early*: it is removed from one process before all have it. *second
  upgrade*: to one version more, begun before the first is over. To a release that cannot probe it kills the leader.
  *no back port*: leaders of 0.10.1 to 1.1 answer in version 2 whatever they received (KAFKA-6054).
- `upgrade.from` left in place is part of every run: a roll may end anywhere, and the group settles in the old version.
"""
SECOND = {"then_release": "LATER", "rolls_in_turn": "false"}


@dataclass(frozen=True)
class Column:
    """What goes wrong in a cell: a model, and what is set besides its releases."""

    name: str
    model: str = "matrix"
    changes: dict[str, str] = field(default_factory=dict)

    def is_case(self, old: int, new: int) -> bool:
        """Whether it can happen in an upgrade between these versions."""
        two_bounces = old < 3 and old < new
        if self.name in {"forgotten", "too early"}:
            return two_bounces
        return (old, new) == (1, 2) if self.name == "no back port" else True


COLUMNS = [
    Column("no fault"),
    Column("crash", "matrix_crash"),
    Column("early expiry", "matrix_expiry"),
    Column("failover", "matrix_failover"),
    Column("offline", "matrix_offline"),
    Column("rolled back", "matrix_rollback"),
    Column("forgotten", changes={"sets_upgrade_from": "false"}),
    Column("too early", changes={"rolls_in_turn": "false", "first_roll_ends": "false"}),
    Column("second upgrade", changes=SECOND),
    Column("no back port", changes={"answers_in_lowest": "false"}),
]
RELEASES = [release for release in Release if release not in {Release.NONE, Release.LATER}]
CELLS = [(old, new) for i, old in enumerate(RELEASES) for new in RELEASES[i + 1 :]]


def representatives() -> dict[tuple[int, int], tuple[Release, Release]]:
    """The first cell of each pair of versions: the one that is run for all of them."""
    found: dict[tuple[int, int], tuple[Release, Release]] = {}
    for old, new in CELLS:
        found.setdefault((version_of(old), version_of(new)), (old, new))
    return found


def pins() -> tuple[Pin, ...]:
    return read_pins(ROOT / "tests" / "pins.toml")


def pin_of(old: Release, new: Release, column: Column) -> Pin:
    """The pin of a cell's representative. Raises AssertionError if there is none."""
    target = f"streams/{column.model}"
    releases = {} if (old, new) == CELLS[0] else {"from_release": old.name, "to_release": new.name}  # the model's own
    changes = {**releases, **column.changes}
    found = [pin for pin in pins() if (pin.target, pin.setting, pin.changes) == (target, None, changes)]
    assert len(found) == 1, f"tests/pins.toml has {len(found)} pins of {target} with {changes}"
    return found[0]


def verdict(pin: Pin) -> str:
    """What breaks, by the numbers of its statements."""
    violated = pin.expected.get("violated", {})
    if not violated:
        return "✓"
    broken = [p for p in load(pin.target, pin.changes).model.properties if p.name in violated]
    return f"{', '.join(sorted({n for p in broken for n in numbers_of(p)}))} ({min(violated.values())})"


def page() -> str:
    """The text of the page."""
    head = f"| from | to | {' | '.join(column.name for column in COLUMNS)} |"
    rows = [head, f"|---|---|{'---|' * len(COLUMNS)}", *_rows()]
    return HEAD + "\n".join(rows) + "\n" + FOOT


def _rows() -> Iterator[str]:
    verdicts = {
        versions: [verdict(pin_of(*cell, column)) if column.is_case(*versions) else "–" for column in COLUMNS]
        for versions, cell in representatives().items()
    }
    for old, new in CELLS:
        yield f"| {old.value} | {new.value} | {' | '.join(verdicts[version_of(old), version_of(new)])} |"


def run_all() -> bool:
    """Check each distinct cell, and print what comes of it. Returns whether all is as pinned."""
    same = True
    for versions, (old, new) in representatives().items():
        for column in COLUMNS:
            if not column.is_case(*versions):
                continue
            pin = pin_of(old, new, column)
            found = {p.name: p.trace_length for p in explored(pin.target, 2, pin).properties if p.verdict == "violated"}
            as_pinned = found == pin.expected.get("violated", {})
            same &= as_pinned
            print(
                f"{old.value} to {new.value}, {column.name}: {found or 'holds'}{'' if as_pinned else ', NOT as pinned'}"
            )
    return same


if __name__ == "__main__":
    if "--run" in sys.argv[1:] and not run_all():
        sys.exit(1)
    write_whole(PAGE, page().encode())
