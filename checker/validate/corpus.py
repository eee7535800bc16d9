"""A corpus of recorded traces: every trace judged, and the totals. One shard of it, or all."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from checker.lang.loader import BoundModel
from checker.running.arrays import Words
from checker.validate.diagnosis import Diagnosis
from checker.validate.orders import in_any_order
from checker.validate.reader import MOST_SHOWN, Recorded, in_batches
from checker.validate.validator import ACCEPTED, REJECTED, UNDECIDED, UNREADABLE, Rejection, Validator
from checker.verdicts import INTERRUPTED, ExitCode
from traces.values import shortened

EVENTS_AT_ONCE = 1 << 18
STATUSES = (ACCEPTED, REJECTED, UNDECIDED, UNREADABLE)


@dataclass(frozen=True)
class Verdict:
    """The findings on one trace that is not accepted.

    line: of the event at which it was left, 0 where the trace cannot be read; event: what it says; candidates: how
    many states it might have been in (20 at most are looked at); nearest: one of them, as ITF.
    """

    trace: str
    status: str
    reason: str
    line: int = 0
    event: str = ""
    candidates: int = 0
    nearest: dict[str, Any] | None = None


@dataclass
class Summary:
    """The totals of a corpus, or of a part of it.

    actions: action -> events that are certainly steps of it; possible: actions of steps that may have been taken,
    certain ones among them; endless: accepted traces that say nowhere how many events they have, and so may have been
    cut between two lines.
    """

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STATUSES, 0))
    events: int = 0
    endless: int = 0
    actions: dict[str, int] = field(default_factory=dict)
    possible: set[str] = field(default_factory=set)
    transitions: Words = field(default_factory=lambda: np.zeros(0, np.uint64))
    verdicts: list[Verdict] = field(default_factory=list)
    seconds: float = 0.0
    stopped: str | None = None

    @property
    def traces(self) -> int:
        return sum(self.counts.values())

    @property
    def exit_code(self) -> int:
        """0 all accepted, 1 some rejected, 3 some undecided, unreadable or not looked at."""
        if self.counts[REJECTED]:
            return ExitCode.VIOLATED
        decided = self.counts[ACCEPTED] == self.traces and self.stopped is None
        return ExitCode.HOLDS if decided else ExitCode.INCOMPLETE

    def add(self, other: Summary) -> None:
        """Take in another part of the corpus. `seconds` and `stopped` stay."""
        for status, count in other.counts.items():
            self.counts[status] += count
        for action, count in other.actions.items():
            self.actions[action] = self.actions.get(action, 0) + count
        self.possible |= other.possible
        self.events += other.events
        self.endless += other.endless
        self.transitions = np.union1d(self.transitions, other.transitions)
        self.verdicts += other.verdicts

    def to_json(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        return {
            **self.counts, "events": self.events, "endless": self.endless, "actions": self.actions,
            "possible": sorted(self.possible), "transitions": len(self.transitions), "seconds": round(self.seconds, 3),
            "stopped": self.stopped, "verdicts": [asdict(v) for v in self.verdicts],
        }  # fmt: skip


@dataclass(frozen=True)
class CorpusOptions:
    """silent: unobserved steps before an event, where a trace declares none. max_candidates: of one trace at a time."""

    silent: int = 0
    max_candidates: int = 10_000


def validate(
    model: BoundModel,
    files: Iterable[tuple[str, bytes | OSError]],
    options: CorpusOptions,
    *,
    progress: Callable[[Summary], None] | None = None,
    keep: Callable[[Verdict, Recorded], None] | None = None,
) -> Summary:
    """Judge every trace of some files, given as (name, content, or why it cannot be read).

    keep: called with each rejected trace. Ctrl-C ends it with what was judged so far, and `stopped` says so.
    """
    validator = Validator(model, silent=options.silent, max_candidates=options.max_candidates)
    diagnosis = Diagnosis(validator)
    summary = Summary()
    started = time.monotonic()
    try:
        for batch in in_batches(_traces(validator, files), EVENTS_AT_ONCE):
            for trace, rejection in zip(batch, validator.rejections(batch), strict=True):
                if rejection is not None and trace.after:
                    rejection = in_any_order(validator, trace)
                verdict = _verdict(validator, diagnosis, trace, rejection)
                summary.counts[verdict.status] += 1
                summary.events += len(trace.events)
                summary.endless += verdict.status == ACCEPTED and trace.announced is None
                if verdict.status != ACCEPTED:
                    summary.verdicts.append(verdict)
                if verdict.status == REJECTED and keep is not None:
                    keep(verdict, trace)
            validator.reader.forget()
            summary.seconds = time.monotonic() - started
            if progress is not None:
                progress(summary)
    except KeyboardInterrupt:
        summary.stopped = INTERRUPTED
    summary.seconds = time.monotonic() - started
    coverage = validator.coverage
    summary.actions = dict(zip(coverage.names, coverage.actions.tolist(), strict=True))
    summary.possible = {name for name, possible in zip(coverage.names, coverage.possible, strict=True) if possible}
    summary.transitions = coverage.transitions()
    return summary


def _traces(validator: Validator, files: Iterable[tuple[str, bytes | OSError]]) -> Iterator[Recorded]:
    for name, content in files:
        yield from validator.reader.traces(name, content)


def _verdict(validator: Validator, diagnosis: Diagnosis, trace: Recorded, rejection: Rejection | None) -> Verdict:
    if rejection is None:
        return Verdict(trace.name, UNREADABLE if trace.problem else ACCEPTED, trace.problem)
    kind, _ = trace.events[rejection.event]
    line, event = trace.lines[rejection.event], shortened(validator.reader.kinds.names[kind], MOST_SHOWN)
    if rejection.undecided:
        return Verdict(trace.name, UNDECIDED, rejection.undecided, line, event, len(rejection.before))
    refusal = diagnosis.refusal(trace, rejection)
    steps, _ = trace.silent
    within = f"within {steps} silent steps, " if steps else ""
    if trace.after:
        within = f"in no order that causes allow; {within}"
    lines = ", ".join(str(trace.lines[event]) for event in rejection.others)
    others = f"; what else could come next does not fit either (line {lines})" if lines else ""
    reason = shortened(within + refusal.reason + others, MOST_SHOWN)
    return Verdict(trace.name, REJECTED, reason, line, event, len(rejection.before), refusal.nearest)
