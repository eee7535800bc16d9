"""The last five rows of the document's test matrix, with an application of real Kafka Streams beside our member.

usage: python -m tests.impl.streams.real_matrix [--results FILE] [--from LINE --to LINE] [--table]

Each cell is a group of two processes on a real Kafka, upgraded by its procedure twice: once the application leads at
first, once our member; who follows is bounced first. What a file of results has already is not run again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from impl.runtime.client import Address
from impl.runtime.wire import WireError
from impl.streams.matrix import LINES, Cell
from impl.streams.metadata import TaskId
from impl.streams.recording import GroupWatch
from tests.cluster.kafka import missing
from tests.impl.streams.observed import ObservedGroup, observed
from tests.impl.streams.real_cells import (
    REAL_CELLS,
    RELEASE_OF,
    ROWS,
    Found,
    Stage,
    key,
    latest,
    our_release,
    results,
    steps,
    table,
)
from tests.impl.streams.real_group import PARTITIONS, TOPIC, Group, broker, group
from tests.impl.streams.real_releases import RealApplication, missing_applications

RESULTS = Path("build") / "real-matrix.ndjson"
SESSION_MS = 10_000
LIMIT_S = 400.0
_POLL_S = 0.25
_OURS = 0
"""The number of the process that is our member."""


class DiedError(Exception):
    """The application or our member has died, and this is of what."""


class MixedGroup:
    """An application and a member in one group."""

    def __init__(self, address: Address, name: str, members: Group, folder: Path) -> None:
        self._address, self._name, self._members, self._folder = address, name, members, folder
        self._real: RealApplication | None = None
        self.seen = ObservedGroup("", {})

    def start(self, is_real: bool, stage: Stage, old: str) -> None:
        """A process starts. old: the line that upgrade.from stands for, where it is set."""
        if is_real:
            server = f"{self._address[0]}:{self._address[1]}"
            held = old if stage.held else ""
            release = RELEASE_OF[stage.line]
            self._real = RealApplication(release, server, self._name, TOPIC, SESSION_MS, self._folder, held)
        else:
            held = old if stage.held else "null"
            self._members.start(_OURS, our_release(stage.line), held, session_ms=SESSION_MS)

    async def stop(self, is_real: bool) -> None:
        """It leaves no group: its session runs out."""
        if not is_real:
            await self._members.stop(_OURS)
        elif self._real is not None:
            self._real.kill()
            self._real = None

    @property
    def generation(self) -> int:
        """As our member knows it."""
        return self._members.members[_OURS].core.generation

    async def settles(self, real: int | None, ours: int | None, after: int = 0) -> None:
        """Wait until the group is stable, who runs has sent these versions, and each task has one owner.

        after: a generation of before, in which a process that was bounced may still be a member. Raises DiedError,
        TimeoutError.
        """
        for _ in range(int(LIMIT_S / _POLL_S)):
            if self._real is not None and (why := self._real.end()):
                raise DiedError(f"the application: {why}")
            if (member := self._members.members.get(_OURS)) is not None and member.core.death is not None:
                raise DiedError(f"our member: {member.core.death}")
            if (member is None or self.generation > after) and await self._is_settled(real, ours):
                return
            await asyncio.sleep(_POLL_S)
        raise TimeoutError(f"versions {real} of the application and {ours} of ours are not reached: {self.seen}")

    async def _is_settled(self, real: int | None, ours: int | None) -> bool:
        if self._members.members and not self._members.is_at_rest():
            return False
        try:
            self.seen = await asyncio.to_thread(observed, self._address, self._name)
        except (OSError, WireError):
            return False
        mine = self.seen.members.get(f"c{_OURS}")
        others = [one for name, one in self.seen.members.items() if one is not mine]
        sent = ([one.used for one in others], None if mine is None else mine.used)
        tasks = sorted(task for one in self.seen.members.values() for task in one.tasks)
        known = mine is None or list(mine.tasks) == self._members.owned()
        every = [TaskId(0, number) for number in range(PARTITIONS)]
        return known and tasks == every and sent == ([real] if real is not None else [], ours)


async def upgrade(address: Address, cell: Cell, real_leads: bool, folder: Path, watch: GroupWatch) -> Found:
    """Run one cell."""
    name = f"{cell}, {'real' if real_leads else 'our'} leader".replace(" ", "-").replace(",", "")
    old = latest(cell.old)
    async with group(address, name, watch) as members:
        mixed = MixedGroup(address, name, members, folder)
        try:
            mixed.start(real_leads, Stage(cell.old), cell.old)
            await mixed.settles(old if real_leads else None, None if real_leads else old)
            mixed.start(not real_leads, Stage(cell.old), cell.old)
            await mixed.settles(old, old)
            before = 0
            for step in steps(cell, real_leads=real_leads):
                before = mixed.generation
                await mixed.stop(step.is_real)
                mixed.start(step.is_real, step.to, cell.old)
                await mixed.settles(step.real, step.ours, before)
            return {"version": latest(cell.new), "rebalances": mixed.generation - before}
        except (DiedError, TimeoutError) as error:
            return {"broken": str(error)}
        finally:
            await mixed.stop(is_real=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.impl.streams.real_matrix")
    parser.add_argument("--results", type=Path, default=RESULTS, help="a line for each run; default: %(default)s")
    parser.add_argument("--from", dest="old", choices=ROWS, help="one cell only")
    parser.add_argument("--to", dest="new", choices=LINES[3:], help="with --from")
    parser.add_argument("--table", action="store_true", help="run nothing, print what was found")
    options = parser.parse_args(arguments)
    cells = [one for one in REAL_CELLS if options.old in (None, one.old) and options.new in (None, one.new)]
    runs = [
        (cell, leads) for cell in cells for leads in (True, False) if key(cell, leads) not in results(options.results)
    ]
    if runs and not options.table:
        if why := missing() or missing_applications():
            parser.error(why)
        options.results.parent.mkdir(parents=True, exist_ok=True)
        with broker() as (address, _), tempfile.TemporaryDirectory() as folder:
            for cell, leads in runs:
                found = asyncio.run(upgrade(address, cell, leads, Path(folder), GroupWatch()))
                with options.results.open("a") as file:
                    file.write(json.dumps({"run": key(cell, leads), **found}) + "\n")
                print(key(cell, leads), found, flush=True)
    print(table(results(options.results)))
    return int(any("broken" in one for one in results(options.results).values()))


if __name__ == "__main__":
    raise SystemExit(main())
