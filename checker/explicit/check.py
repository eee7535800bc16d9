"""Checking a model: compile, search, verdict, and a trace for what is broken."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checker.explicit.kernel.build import load_quick, quick_kernel
from checker.explicit.kernel.kernel import Kernel
from checker.explicit.liveness.lasso import lasso_trace
from checker.explicit.search.breadth_first import search
from checker.explicit.search.path import Target, first_state, shortest
from checker.explicit.search.results import SearchResult
from checker.lang.declare import Declared
from checker.lang.frontend import compile_model
from checker.lang.ir import EVALUATES, EventKind, Kind
from checker.lang.itf import to_itf
from checker.lang.loader import BoundModel
from checker.reference.switches import repairs, with_switches_on
from checker.reference.trace import Tracer
from checker.running.checkpoint import CheckpointError
from checker.running.deadline import CompilationDeadline, Stage
from checker.running.limits import Limits, Progress
from checker.verdicts import (
    HOLDS,
    INCOMPLETE,
    INTERRUPTED,
    NOT_REACHED,
    REACHED,
    VACUOUS,
    VIOLATED,
    WITHIN,
    exit_code,
)
from traces import Trace

if TYPE_CHECKING:
    from checker.explicit.liveness.obligations import Lassos

SHORTEST = "shortest: no shorter trace does it"


@dataclass(frozen=True)
class CheckOptions:
    """Options of a check: threads, limits, whether to continue after a violation, where to save to and resume from."""

    threads: int = 1
    limits: Limits = field(default_factory=Limits)
    all_violations: bool = False
    checkpoint: Path | None = None
    resume: Path | None = None


@dataclass
class PropertyReport:
    """A property's verdict. trace_length: states of its shortest counterexample (a witness: of the way to it).

    Liveness: of a lasso that is not always the shortest; the state that closes its loop counts too.
    """

    name: str
    kind: str
    verdict: str
    trace_length: int | None = None
    trace: Trace | None = None


@dataclass
class Report:
    """Results of a check. `seconds`: load, compile, search, liveness, total.

    stopped: why it was not finished (the search, or what follows it), None where it was.
    """

    model: BoundModel
    verdict: str
    reasons: list[str]
    result: SearchResult
    kernel: Kernel
    properties: list[PropertyReport]
    seconds: dict[str, float]
    stopped: str | None

    @property
    def traces(self) -> list[Trace]:
        return [p.trace for p in self.properties if p.trace is not None]

    @property
    def reason(self) -> str:
        """The reason for the verdict."""
        return "; ".join(self.reasons)

    @property
    def exit_code(self) -> int:
        return exit_code(self.verdict)

    def cuts(self) -> list[dict[str, Any]]:
        sites = self.kernel.sites
        return [
            {"action": self.kernel.actions[sites[i].action], "bound": sites[i].reason, "text": sites[i].text,
             "line": sites[i].line, "count": count}
            for i, count in self.result.cuts(sites).items()
        ]  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        result = self.result
        return {
            "model": self.model.name,
            "constants": {name: to_itf(value) for name, value in self.model.constants.items()},
            "verdict": self.verdict,
            "reason": self.reason,
            "generated": result.generated,
            "distinct": result.distinct,
            "depth": result.depth,
            "cuts": self.cuts(),
            "outside": result.outside,
            "actions": [
                {"name": name, "attempts": c.attempts, "enabled": c.enabled, "fired": c.fired, "cut": c.cut,
                 "new": c.new}
                for name, c in zip(self.kernel.actions, result.actions, strict=True)
            ],
            "requires": [
                {"action": self.kernel.actions[s.action], "file": s.file, "line": s.line, "text": s.text,
                 "evaluated": c.evaluated, "refused": c.ended}
                for s, c in zip(self.kernel.sites, result.sites, strict=True) if s.kind is EventKind.REQUIRE
            ],
            "fields": self.fields(),
            "properties": [
                {"name": p.name, "kind": p.kind, "verdict": p.verdict, "trace_length": p.trace_length}
                for p in self.properties
            ],
            "seconds": {name: round(value, 4) for name, value in self.seconds.items()},
            "bytes_per_state": result.bytes_per_state,
            "peak_memory_bytes": result.peak_memory_bytes,
            f"{result.worker}s": result.workers,
        }  # fmt: skip

    def fields(self) -> list[dict[str, Any]]:
        """Per field of the state: how many values it has, and how many were seen (of a set: members ever in it)."""
        found = []
        for leaf, seen in zip(self.kernel.layout.leaves, self.result.seen, strict=True):
            entry: dict[str, Any] = {"field": leaf.path.lstrip(".")}
            if seen.codes is not None:
                possible = 1 << leaf.size if leaf.kind is Kind.SET else leaf.size
                entry["distinct"] = len(seen.codes)
                if leaf.kind is not Kind.ORDINAL:
                    entry["possible"] = possible
            else:
                entry["members"], entry["possible"] = (seen.union or 0).bit_count(), leaf.size
            found.append(entry)
        return found


def kernel_of(model: BoundModel, limits: Limits | None = None, stages: Callable[[Stage], None] | None = None) -> Kernel:
    """The compiled kernel of a bound model, from the cache where it is there.

    stages: called with how far compiling is. Raises CompilationStopped if a limit of time or memory is reached.
    """
    key = model.key()
    found = load_quick(key)
    if found is not None:
        return found
    deadline = CompilationDeadline(limits or Limits(), stages)
    program = compile_model(model, deadline.bindings, for_kernel=True)
    return quick_kernel(program, key, deadline.code)


def check(
    model: BoundModel,
    options: CheckOptions,
    *,
    started: float,
    progress: Callable[[Progress], None] | None = None,
    stages: Callable[[Stage], None] | None = None,
) -> Report:
    """Explore a model and judge it. started: `time.perf_counter()` when loading began.

    progress: called with how far the search is; stages: how far what follows it is, where liveness is asked for.
    """
    loaded = time.perf_counter()
    kernel = kernel_of(model, options.limits, stages)
    compiled = time.perf_counter()
    limits = replace(options.limits, spent_s=compiled - loaded)
    result = search(
        kernel, [model.state_type.encode(s) for s in model.initial_states()], threads=options.threads,
        limits=limits, all_violations=options.all_violations, progress=progress,
        checkpoint=options.checkpoint, resume=options.resume,
    )  # fmt: skip
    seconds = {"load": loaded - started, "compile": compiled - loaded, "search": time.perf_counter() - compiled}
    return judge(model, kernel, result, seconds, started=started, all_violations=options.all_violations,
                 stages=stages)  # fmt: skip


def judge(
    model: BoundModel, kernel: Kernel, result: SearchResult, seconds: dict[str, float], *, started: float,
    all_violations: bool, stages: Callable[[Stage], None] | None = None,
) -> Report:  # fmt: skip
    """Judge the properties of a model by a search, with traces.

    seconds: so far; those for liveness and in all are added. stages: called with how far the search for lassos is.
    """
    judgement = _Judge(model, kernel, result, all_violations)
    begun = time.perf_counter()
    judgement.look_for_lassos(stages)
    seconds = {**seconds, "liveness": time.perf_counter() - begun}
    properties = judgement.properties()
    verdict, reasons = judgement.verdict(properties)
    seconds["total"] = time.perf_counter() - started
    return Report(model, verdict, reasons, result, kernel, properties, seconds, judgement.stopped)


class _Judge:
    """The judgement of a search result on the properties of its model."""

    def __init__(self, model: BoundModel, kernel: Kernel, result: SearchResult, all_violations: bool) -> None:
        self.model, self.kernel, self.result, self.all_violations = model, kernel, result, all_violations
        self._lassos: Lassos | None = None
        self._untraced: str | None = None

    def look_for_lassos(self, stages: Callable[[Stage], None] | None) -> None:
        """Look for behaviours without end that violate a property, after a search that saw every state."""
        if self.kernel.obligations and not self._unfinished():
            from checker.explicit.liveness.obligations import find_lassos

            self._lassos = find_lassos(self.kernel, self.result, stages)

    def properties(self) -> list[PropertyReport]:
        """A report per property that was asked for, and per runtime error; traces for the violated ones."""
        targets: list[tuple[PropertyReport, Target]] = []
        for index, prop in enumerate(self.kernel.properties):
            targets.append((self._property(index, prop.name, prop.kind), Target(property=index)))
        for site, level in sorted(self.result.errors.items(), key=lambda item: item[1]):
            place = self.kernel.sites[site]
            report = PropertyReport(f"{place.reason}: {place.text}", "runtime error", VIOLATED, level)
            targets.append((report, Target(site=site)))
        violated = [found for found in targets if found[0].verdict == VIOLATED]
        if not self.all_violations and violated:
            violated = [min(violated, key=lambda found: found[0].trace_length or 0)]
        try:
            for report, target in violated:
                report.trace = self._trace(target)
        except KeyboardInterrupt:  # gives up the traces, not what was found
            self._untraced = INTERRUPTED
        except CheckpointError as error:  # so does a level that was saved and is lost
            self._untraced = str(error)
        return [report for report, _ in targets]

    def _property(self, index: int, name: str, kind: str) -> PropertyReport:
        level = self.result.deadlock if kind == "deadlock" else self.result.broken.get(index)
        lasso = self._lassos.by_property.get(index) if self._lassos else None
        if lasso is not None:
            level = lasso.length
        if kind == "witness":
            reached = self.result.witnesses.get(index)
            unknown = INCOMPLETE if self._unfinished() else NOT_REACHED
            return PropertyReport(name, kind, REACHED if reached else unknown, reached)
        if level is None:
            undecided = self._unfinished() or (self._lassos is not None and index in self._lassos.undecided)
            return PropertyReport(name, kind, INCOMPLETE if undecided else WITHIN if self.bounds() else HOLDS)
        return PropertyReport(name, kind, VIOLATED, level)

    def _trace(self, target: Target) -> Trace:
        if self._lassos is not None and target.property in self._lassos.by_property:
            lasso = lasso_trace(self.model, self.kernel, self._lassos.by_property[target.property])
            return replace(lasso, tail=(*lasso.tail, *with_switches_on(repairs(self.model, lasso))))
        path = shortest(self.kernel, self.result, target)
        broken = declared_by(self.model, self.kernel, target)
        first = first_state(self.model, self.kernel, path.words[0])
        trace = Tracer(self.model).trace(first, path.instances, broken, SHORTEST)
        return replace(trace, tail=(*trace.tail, *with_switches_on(repairs(self.model, trace))))

    @property
    def stopped(self) -> str | None:
        """The reason that the search, the search for lassos, or the making of traces was not finished."""
        return self.result.stopped or (self._lassos.stopped if self._lassos else None) or self._untraced

    def _unfinished(self) -> bool:
        """True if part of the space was not looked at: stopped by a limit, or by the first violation."""
        return self.result.stopped is not None or (self.result.violated and not self.all_violations)

    def bounds(self) -> list[str]:
        return bounds(self.model, self.kernel, self.result)

    def verdict(self, properties: list[PropertyReport]) -> tuple[str, list[str]]:
        """(verdict, what it rests on). Precedence: violated, incomplete, vacuous, holds within bounds, holds."""
        violated = [p.name for p in properties if p.verdict == VIOLATED]
        stopped = self.stopped
        if violated:
            what = "the search was not finished" if stopped != self._untraced else "there is no trace"
            return VIOLATED, [", ".join(violated), *[f"{what}: {stopped}"] * bool(stopped)]
        if stopped is not None:
            return INCOMPLETE, [stopped]
        never = [n for n, c in zip(self.kernel.actions, self.result.actions, strict=True) if not c.fired]
        missing = [p.name for p in properties if p.verdict == NOT_REACHED]
        if never or missing:
            parts = [f"never fired: {', '.join(never)}"] * bool(never)
            parts += [f"never reached: {', '.join(missing)}"] * bool(missing)
            return VACUOUS, [*parts, *self.bounds()]
        return (WITHIN, self.bounds()) if self.bounds() else (HOLDS, [])


def declared_by(model: BoundModel, kernel: Kernel, target: Target) -> Declared | None:
    """The property that a target stands for; None for a runtime error in an action.

    A kernel has the model's properties first, then "W can be evaluated" for what is declared and may break down.
    """
    properties = model.model.properties
    if target.deadlock:
        return next(p for p in properties if p.kind == "deadlock")
    if target.property is None:
        return None
    if target.property < len(properties):
        return properties[target.property]
    return model.declared(kernel.properties[target.property].name.removesuffix(EVALUATES))


def bounds(model: BoundModel, kernel: Kernel, result: SearchResult) -> list[str]:
    """The bounds that keep a finished search from having seen every state: cuts, constraints, views."""
    found = [
        f"{kernel.actions[kernel.sites[i].action]} was cut {times(count)} ({kernel.sites[i].reason})"
        for i, count in result.cuts(kernel.sites).items()
    ]
    if result.outside:
        constraints = " and ".join(c.name for c in model.model.constraints)
        found.append(f"{result.outside:,} generated states were outside the constraint {constraints}")
    if model.model.hide:
        hidden = ", ".join(model.model.hide)
        found.append(f"a view hides {hidden}: of states that differ only there one was explored")
    return found


def times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
