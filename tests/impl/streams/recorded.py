"""Runs of members that are recorded, and held against `streams/full` or `streams/offline` with their constants."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from checker.lang.loader import load
from checker.validate.corpus import CorpusOptions, Summary, validate
from checker.validate.validator import ACCEPTED
from impl.runtime.recorder import Recorder
from impl.streams.codec import SHIPPED
from impl.streams.config import StreamsConfig
from impl.streams.design import Design
from impl.streams.recording import (
    SILENT,
    GroupWatch,
    MemberWatch,
    ProcessRecorder,
    Rounds,
    spec_versions,
)
from impl.streams.versions import RELEASES
from traces.merging import merge

_RELEASES = {1: "R0_10_0", 2: "R1_1", 3: "R1_2", 4: "POST_1_2", 5: "LATER"}
"""A release of the spec for each of its versions."""
_ROOM = 9
"""For faults: more than a run has."""
_SILENT_STEPS = 3
Stage = tuple[str, bool]
"""A release, and whether upgrade.from is set."""


def stage_of(config: StreamsConfig) -> Stage:
    return config.release.name, config.upgrade_from is not None


class RecordedRun(GroupWatch):
    """The traces of a run. stages: what a process is after so many bounces.

    offline: all are stopped before one is started with the last stage. Recorded from there on: the model begins with a
    stable group. replaces: a process that is bounced is another one, for its former members may be in one generation
    with it. together: all processes are started before one is bounced, though some join later. failovers, expiries: of
    the coordinator and of live members, at most. unseen: steps that were perhaps not recorded.
    """

    def __init__(
        self,
        folder: Path,
        processes: int,
        stages: Sequence[Stage],
        tasks: int = 0,
        clock: Callable[[], int] | None = None,
        *,
        threads: int = 1,
        offline: bool = False,
        replaces: bool = False,
        together: bool = False,
        failovers: int = 0,
        expiries: int = _ROOM,
        unseen: Sequence[str] = SILENT,
    ) -> None:
        self._folder, self._stages, self._clock = folder, tuple(stages), clock
        self._replaces, self._unseen = replaces, unseen
        releases = [RELEASES[name] for name, _ in stages]
        self._model = "streams/offline" if offline else "streams/replaced" if replaces else "streams/full"
        self._versions = spec_versions(release.latest for release in releases)
        old, new = (_RELEASES[self._versions[releases[place].latest]] for place in (0, -1))
        design = releases[-1].design
        self.constants: dict[str, Any] = {
            "processes": processes * len(stages) if replaces else processes,
            "threads": threads,
            "tasks": tasks,
            "from_release": old,
            "to_release": new,
            "sets_upgrade_from": any(held for _, held in stages),
            "offline": offline,
            "rolls_in_turn": False,
            "first_roll_ends": False,
            **{f"max_{fault}": _ROOM for fault in ("crashes", "rollbacks")},
            "max_expiries": expiries,
            "max_failovers": failovers,
            "max_lost_replies": processes * threads * failovers,
            **{one.name: getattr(design, one.name) for one in fields(Design)},
        }
        self._form = releases[-1].form if releases[-1].form.is_simulated else SHIPPED
        self._recorders: list[Recorder] = []
        self._watches: dict[int, ProcessRecorder] = {}
        self._next = dict.fromkeys(range(processes), self._stages[0])
        self._turns, self._rounds = itertools.count(1), Rounds()
        self._to_come = list(range(processes)) if together else []
        """Processes that are started in the trace before they are."""
        for process in self._to_come:
            self._does(process, "start")

    def starts(self, process: int, config: StreamsConfig) -> Sequence[MemberWatch]:
        """A process starts, after the bounces that bring it there."""
        if self.constants["offline"] and stage_of(config) == self._stages[0]:
            return super().starts(process, config)
        if self._replaces:
            self._next[process] = stage_of(config)
        if process in self._to_come:
            self._to_come.remove(process)
        else:
            self._does(process, "start")
        if self._next[process] != stage_of(config):
            self._stops(process, stage_of(config))
            return self.starts(process, config)
        return self._watches[self._number(process)].threads

    def stops(self, process: int, then: StreamsConfig | None = None) -> None:
        if self._replaces:
            self._does(process, "crash")
        elif not self.constants["offline"]:
            self._stops(process, self._next[process] if then is None else stage_of(then))
        elif self._next[process] != self._stages[-1]:
            self._next = dict.fromkeys(self._next, self._stages[-1])
            self._does(process, "stop_all")

    def fails_over(self) -> None:
        self._rounds.coordinator += 1

    def _stops(self, process: int, stage: Stage) -> None:
        was, will = (self._stages.index(one) for one in (self._next[process], stage))
        step = (will > was) - (will < was)
        self._next[process] = self._stages[was + step]
        self._does(process, {1: "bounce", 0: "crash", -1: "roll_back"}[step])

    def _number(self, process: int) -> int:
        """The process of the spec."""
        return process * len(self._stages) + self._stages.index(self._next[process]) if self._replaces else process

    def _does(self, process: int, action: str) -> None:
        number = self._number(process)
        if number not in self._watches:
            self._watches[number] = self._watch(number)
        self._watches[number].operator(action, next(self._turns))

    def _watch(self, number: int) -> ProcessRecorder:
        unseen = [action for action in self._unseen if self._may(action)]
        header = {"constants": self.constants, "silent": {"steps": _SILENT_STEPS, "actions": unseen}}
        names = [f"c{number}" + f".{thread}" * (thread > 0) for thread in range(self.constants["threads"])]
        recorders = [
            Recorder(self._folder / f"{name}.ndjson", self._model, name, clock=self._clock, **header) for name in names
        ]
        self._recorders += recorders
        has_tasks = self.constants["tasks"] > 0
        return ProcessRecorder(recorders, number, self._rounds, self._versions, self._form, has_tasks=has_tasks)

    def _may(self, action: str) -> bool:
        """The model has it, and there is room for it."""
        fault = {"expire_early": "max_expiries", "fail_over": "max_failovers"}.get(action)
        return fault is None or (self.constants[fault] > 0 and not self.constants["offline"])

    def trace(self) -> str:
        """The run, merged. Nothing is recorded after it."""
        for recorder in self._recorders:
            recorder.close()
        return merge((path.name, path.read_text()) for path in sorted(self._folder.glob("*.ndjson")))

    def judged(self, *traces: str) -> Summary:
        """What `fencepost trace validate` finds of traces of this run."""
        changes = {name: str(value) for name, value in self.constants.items()}
        files = [(f"run {number}", trace.encode()) for number, trace in enumerate(traces)]
        return validate(load(self._model, changes), files, CorpusOptions())

    def assert_accepted(self) -> None:
        """The run is a behaviour of the spec."""
        found = self.judged(self.trace())
        assert found.counts[ACCEPTED] == 1, [(one.line, one.event, one.reason) for one in found.verdicts]
