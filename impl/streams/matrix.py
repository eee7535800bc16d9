"""The document's test matrix: each cell an emulated group, upgraded by its procedure, with a fault or a mistake.

A cell names lines of releases. An old process is of the line's last release without the back port of KAFKA-6054, a new
one of the first with it; 1.2 came out as 2.0.0, and post-1.2 is the simulated version 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from impl.streams.assignor import Sources
from impl.streams.codec import SHIPPED
from impl.streams.config import StreamsConfig
from impl.streams.emulation import BrokenPromiseError, Emulation
from impl.streams.errors import Cause
from impl.streams.recording import GroupWatch
from impl.streams.versions import FIRST_PROBING, RELEASES, Release

LINES = ("0.10.0", "0.10.1", "0.10.2", "0.11.0", "1.0", "1.1", "1.2", "post-1.2")
_OLD = {"0.10.2": "0.10.2.1", "0.11.0": "0.11.0.2", "1.0": "1.0.1", "1.1": "1.1.0", "1.2": "2.0"}
_FIXED = {
    "0.10.1": "0.10.1.2",
    "0.10.2": "0.10.2.2",
    "0.11.0": "0.11.0.3",
    "1.0": "1.0.2",
    "1.1": "1.1.1",
    "1.2": "2.0",
    "post-1.2": "simulated",
}
_PROCESSES, _THREADS, _TASKS = 3, 2, 8
_SEEDS = 4
_DOWN_MS, _SOON_MS = 1_000, 2_000
_LIMIT_MS, _QUIET_MS = 300_000, 40_000
_BEFORE_SESSION_MS, _AFTER_SESSION_MS = 4_000, 10_500


class Disturbance(Enum):
    """What happens beside the procedure, or instead of it."""

    NONE = "none"
    IMPATIENT = "bounces that do not wait for a stable group"
    CRASH_BOUNCED = "the process that was bounced dies"
    CRASH_LEADER = "the leader dies"
    CRASH_THIRD = "another process dies"
    EXPIRY = "a session ends early"
    FAILOVER = "the coordinator fails over"
    OFFLINE = "all stopped, and started with the new release"
    FORGOTTEN = "upgrade.from is forgotten"
    LEFT = "upgrade.from is left in place on one process"
    EARLY = "upgrade.from is removed from one process before all have had their first bounce"
    ROLLBACK = "a process is put back in the middle"
    UNFIXED = "the new release has no back port of KAFKA-6054"

    @property
    def option(self) -> str:
        """Its name on a command line."""
        return self.name.lower().replace("_", "-")


@dataclass(frozen=True)
class Cell:
    """An upgrade from one line to another, or between two releases of `versions.RELEASES`."""

    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.old} to {self.new}"

    def release(self, *, is_new: bool, has_fix: bool = True) -> Release:
        if is_new and (has_fix or self.new in ("1.2", "post-1.2")):
            return RELEASES[_FIXED.get(self.new, self.new)]
        line = self.new if is_new else self.old
        return RELEASES[_OLD.get(line, line)]

    @property
    def has_two_bounces(self) -> bool:
        """The old release cannot probe, and the new one has a newer version."""
        old = self.release(is_new=False).latest
        return old < FIRST_PROBING and old < self.release(is_new=True).latest


CELLS = tuple(Cell(old, new) for place, old in enumerate(LINES[:-1]) for new in LINES[place + 1 :])
"""The document's 28."""


@dataclass(frozen=True)
class Outcome:
    """What became of an upgrade.

    broken: the first promise that did not hold, or "". deaths: of threads, by cause. version: the lowest that is sent
    in the end, in which the group works. rebalances: after the last bounce.
    """

    broken: str
    deaths: tuple[Cause, ...]
    version: int
    rebalances: int

    def __str__(self) -> str:
        return "holds" if not self.broken else f"{self.broken} ({len(self.deaths)} die)" if self.deaths else self.broken


class Upgrade:
    """One run of a cell. first: the process that is bounced first; process 0 leads at the start."""

    def __init__(
        self,
        cell: Cell,
        disturbance: Disturbance = Disturbance.NONE,
        first: int = 0,
        after_ms: int = 0,
        seed: int = 0,
        *,
        threads: int = _THREADS,
        watch: GroupWatch | None = None,
    ) -> None:
        """after_ms: after which time of a bounce the disturbance comes. threads: of a process."""
        self.cell, self.disturbance, self.after_ms = cell, disturbance, after_ms
        self._order = [(first + number) % _PROCESSES for number in range(_PROCESSES)]
        form = cell.release(is_new=True).form
        sources = Sources({0: ("t",), 1: ("u", "v")}, {"t": 4, "u": 4, "v": 3})
        self.group = Emulation(sources, seed, form=form if form.is_simulated else SHIPPED)
        self._threads, self.watch = threads, watch or GroupWatch()
        self._before = 0
        """Rebalances before the last bounce."""
        self._done = False

    def run(self) -> Outcome:
        """Upgrade all processes, and look."""
        for process in range(_PROCESSES):
            self._start(process, self._config(process, is_new=False))
            self.group.run(_SOON_MS)
        try:
            if not self._settles():
                return self._outcome("does not begin")
            self._upgrade()
            if not self._settles():
                return self._outcome("L2: does not settle")
            self.group.run(_QUIET_MS)
        except BrokenPromiseError as error:
            return self._outcome(str(error))
        return self._outcome(self._broken())

    def _config(self, process: int, *, is_new: bool, is_held: bool = False) -> StreamsConfig:
        has_fix = self.disturbance is not Disturbance.UNFIXED
        release = self.cell.release(is_new=is_new, has_fix=has_fix)
        held = self.cell.old if is_held and self.cell.old in release.upgrade_from else None
        server = f"host{process}:80{process}"
        return StreamsConfig("matrix", release, held, server, standby_replicas=1, threads=self._threads)

    def _settles(self) -> bool:
        return self.group.run(_LIMIT_MS, self.group.is_settled)

    # The operator.

    def _upgrade(self) -> None:
        if self.disturbance is Disturbance.OFFLINE:
            self._before = self.group.rebalances
            for process in self._order:
                self._stop(process)
            self.group.run(_DOWN_MS)
            for process in self._order:
                self._start(process, self._config(process, is_new=True))
            return
        if not self.cell.has_two_bounces or self.disturbance is Disturbance.FORGOTTEN:
            self._roll(is_held=False)
            return
        if self.disturbance is Disturbance.EARLY:
            first = self._order[0]
            self._bounce(first, is_held=True)
            self._bounce(first, is_held=False)
            self._order = self._order[1:]
        self._roll(is_held=True)
        if self.disturbance is Disturbance.LEFT:
            self._order = self._order[1:]
        self._roll(is_held=False)

    def _roll(self, *, is_held: bool) -> None:
        for number, process in enumerate(self._order):
            self._bounce(process, is_held=is_held)
            if number == 0 and self.disturbance is Disturbance.ROLLBACK and not self._done:
                self._done = True
                self._bounce(process, is_held=False, is_new=False)
                self._bounce(process, is_held=is_held)

    def _bounce(self, process: int, *, is_held: bool, is_new: bool = True) -> None:
        self._before = self.group.rebalances
        config = self._config(process, is_new=is_new, is_held=is_held)
        self._stop(process, config)
        self.group.run(_DOWN_MS)
        self._start(process, config)
        self._disturb(process)
        if self.disturbance is Disturbance.IMPATIENT:
            self.group.run(_SOON_MS)
        else:
            self._settles()

    def _start(self, process: int, config: StreamsConfig) -> None:
        self.group.start(process, config, self.watch.starts(process, config))

    def _stop(self, process: int, then: StreamsConfig | None = None) -> None:
        self.watch.stops(process, then)
        self.group.stop(process)

    def _disturb(self, bounced: int) -> None:
        """Once, while the group rebalances after the second bounce: then both releases are there."""
        if self._done or bounced != self._order[min(1, len(self._order) - 1)]:
            return
        leader = self.group.leader()
        others = [process for process in range(_PROCESSES) if process not in (bounced, leader)]
        dies = {
            Disturbance.CRASH_BOUNCED: bounced,
            Disturbance.CRASH_LEADER: bounced if leader is None else leader,
            Disturbance.CRASH_THIRD: others[0],
        }.get(self.disturbance)
        if dies is None and self.disturbance not in (Disturbance.EXPIRY, Disturbance.FAILOVER):
            return
        self._done = True
        self.group.run(self.after_ms)
        if dies is not None:
            self._stop(dies)
            self.group.run(_DOWN_MS)
            self._start(dies, self.group.applications[dies].config)
        elif self.disturbance is Disturbance.EXPIRY:
            self.group.expire(others[0])
        else:
            self.group.fail_over()
            self.watch.fails_over()

    # What is looked at.

    def _broken(self) -> str:
        if self.group.deaths:
            return f"V1: {self.group.deaths[0][1].cause.value}"
        if not self.group.is_settled():
            return "L2: does not stay settled"
        for thread in self.group.alive():
            held = thread.core.config.held_version
            if held is not None and thread.core.used != held:
                return "V3: upgrade.from is not obeyed"
        configs = [thread.core.config for thread in self.group.alive()]
        if set(self.group.sent_versions()) != {config.first_used for config in configs}:
            return "L1: not every member sends the newest version"
        owned = [task for thread in self.group.alive() for task in thread.core.tasks]
        return "" if len(owned) == len(set(owned)) == _TASKS else "T2: not every task has one owner"

    def _outcome(self, broken: str) -> Outcome:
        causes = tuple(death.cause for _, death in self.group.deaths)
        if causes and not broken.startswith("V1"):
            broken = f"V1: {causes[0].value}"
        version = min(self.group.sent_versions(), default=0)
        return Outcome(broken, causes, version, self.group.rebalances - self._before)


def times_of(disturbance: Disturbance) -> tuple[int, ...]:
    """The times after a bounce at which a fault comes: at once, in the rebalance, once the old session is over."""
    faults = ("CRASH_BOUNCED", "CRASH_LEADER", "CRASH_THIRD", "EXPIRY", "FAILOVER")
    return (20, _BEFORE_SESSION_MS, _AFTER_SESSION_MS) if disturbance.name in faults else (0,)


def outcomes(cell: Cell, disturbance: Disturbance = Disturbance.NONE) -> Iterator[Outcome]:
    """Of a cell with each process bounced first, and by some seeds: the leader is first, in between, last."""
    for first in range(_PROCESSES):
        for after_ms in times_of(disturbance):
            for seed in range(_SEEDS):
                yield Upgrade(cell, disturbance, first, after_ms, seed).run()


def worst(cell: Cell, disturbance: Disturbance = Disturbance.NONE) -> Outcome:
    """The outcome that has most that is broken; of those that hold, the one with most rebalances."""
    return max(outcomes(cell, disturbance), key=lambda one: (bool(one.broken), len(one.deaths), one.rebalances))


def text_table(found: Mapping[Cell, Outcome]) -> str:
    """The matrix as the document draws it; what does not hold is numbered, and said below."""
    notes: dict[str, int] = {}
    rows = [("from \\ to", *(f"{line}.x" for line in LINES[1:]))]
    for old in LINES[:-1]:
        marks = []
        for new in LINES[1:]:
            outcome = found.get(Cell(old, new))
            if outcome is None:
                marks.append("")
            elif not outcome.broken:
                marks.append(f"{outcome.version}, {outcome.rebalances}")
            else:
                marks.append(f"({notes.setdefault(str(outcome), len(notes) + 1)})")
        rows.append((f"{old}.x", *marks))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines += [
        "",
        "version that the group works in, rebalances after the last bounce; the worst of each process bounced first",
    ]
    return "\n".join([*lines, *(f"({number}) {note}" for note, number in notes.items())])
