"""The last five rows of the document's test matrix, with an application of real Kafka Streams beside our member.

usage: python -m tests.impl.streams.real_matrix [--results FILE] [--from LINE --to LINE] [--table]

Each cell is a group of two processes on a real Kafka, upgraded by its procedure twice: once the application leads at
first, once our member; who follows is bounced first. Each run is held against `streams/full`. What a file of results
has already is not run again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from impl.runtime.wire import WireError
from impl.streams.config import StreamsConfig, read_config
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
from tests.impl.streams.real_group import PARTITIONS, TOPIC, Broker, Group, broker, group
from tests.impl.streams.real_releases import RealApplication, missing_applications
from tests.impl.streams.recorded import RecordedRun

RESULTS = Path("build") / "real-matrix.ndjson"
SESSION_MS = 10_000
LIMIT_S = 400.0
_POLL_S = 0.25
_OURS, _REAL = 0, 1
"""The numbers of the processes: our member, the application."""


class DiedError(Exception):
    """The application or our member has died, and this is of what."""


class MixedGroup:
    """An application and a member in one group. old: the line that upgrade.from stands for, where it is set."""

    def __init__(self, kafka: Broker, name: str, old: str, members: Group, folder: Path, watch: GroupWatch) -> None:
        self._kafka, self._name, self._old = kafka, name, old
        self._members, self._folder, self._watch = members, folder, watch
        self._real: RealApplication | None = None
        self.seen = ObservedGroup("", {})

    def _config(self, stage: Stage) -> StreamsConfig:
        held = self._old if stage.held else "null"
        return read_config({"application.id": self._name, "release": our_release(stage.line), "upgrade.from": held})

    def start(self, is_real: bool, stage: Stage) -> None:
        if is_real:
            (wire, *_) = self._kafka.wires
            (thread,) = self._watch.starts(_REAL, self._config(stage))
            wire.shows(thread)
            held, release = self._old if stage.held else "", RELEASE_OF[stage.line]
            self._real = RealApplication(release, wire.address, self._name, TOPIC, SESSION_MS, self._folder, held)
        else:
            held = self._old if stage.held else "null"
            self._members.start(_OURS, our_release(stage.line), held, session_ms=SESSION_MS)

    async def stop(self, is_real: bool, then: Stage | None = None) -> None:
        """It leaves no group: its session runs out."""
        config = None if then is None else self._config(then)
        if not is_real:
            await self._members.stop(_OURS, config)
        elif self._real is not None:
            self._real.kill()
            self._real = None
            await self._kafka.wires[0].ends()
            self._watch.stops(_REAL, config)

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
            self.seen = await asyncio.to_thread(observed, self._kafka.address, self._name)
        except (OSError, WireError):
            return False
        mine = self.seen.members.get(f"c{_OURS}")
        others = [one for name, one in self.seen.members.items() if one is not mine]
        sent = ([one.used for one in others], None if mine is None else mine.used)
        tasks = sorted(task for one in self.seen.members.values() for task in one.tasks)
        known = mine is None or list(mine.tasks) == self._members.owned()
        every = [TaskId(0, number) for number in range(PARTITIONS)]
        return known and tasks == every and sent == ([real] if real is not None else [], ours)


def recorded(folder: Path, cell: Cell) -> RecordedRun:
    """What shows that the run of a cell is a behaviour of the spec.

    Tasks are left out: which of several fair shares is given is for the application to say where it leads.
    """
    stages = [(cell.old, False), *([(cell.new, True)] if cell.has_two_bounces else []), (cell.new, False)]
    folder.mkdir()
    return RecordedRun(folder, 2, [(our_release(line), held) for line, held in stages])


async def upgrade(kafka: Broker, cell: Cell, real_leads: bool, folder: Path, watch: GroupWatch) -> Found:
    """Run one cell."""
    name = f"{cell}, {'real' if real_leads else 'our'} leader".replace(" ", "-").replace(",", "")
    old = latest(cell.old)
    async with group(kafka.address, name, watch) as members:
        mixed = MixedGroup(kafka, name, cell.old, members, folder, watch)
        try:
            mixed.start(real_leads, Stage(cell.old))
            await mixed.settles(old if real_leads else None, None if real_leads else old)
            mixed.start(not real_leads, Stage(cell.old))
            await mixed.settles(old, old)
            before = 0
            for step in steps(cell, real_leads=real_leads):
                before = mixed.generation
                await mixed.stop(step.is_real, step.to)
                mixed.start(step.is_real, step.to)
                await mixed.settles(step.real, step.ours, before)
            return {"version": latest(cell.new), "rebalances": mixed.generation - before}
        except (DiedError, TimeoutError) as error:
            return {"broken": str(error)}
        finally:
            await mixed.stop(is_real=True)


def run(kafka: Broker, cell: Cell, real_leads: bool, folder: Path) -> Found:
    """Run one cell, and hold its trace against the spec."""
    traces = recorded(folder / "traces", cell)
    found = asyncio.run(upgrade(kafka, cell, real_leads, folder, traces))
    for judged in [] if "broken" in found else traces.judged(traces.trace()).verdicts:
        return {"broken": f"no behaviour of the spec: line {judged.line}, {judged.event}: {judged.reason}"}
    return found


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
        with broker() as kafka, tempfile.TemporaryDirectory() as folder:
            for cell, leads in runs:
                found = run(kafka, cell, leads, Path(tempfile.mkdtemp(dir=folder)))
                with options.results.open("a") as file:
                    file.write(json.dumps({"run": key(cell, leads), **found}) + "\n")
                print(key(cell, leads), found, flush=True)
    print(table(results(options.results)))
    return int(any("broken" in one for one in results(options.results).values()))


if __name__ == "__main__":
    raise SystemExit(main())
