"""The report of a divergence: the shortest trace to it, the two states side by side, and what is at fault."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from checker.conform.behaviour import Behaviour
from checker.conform.canonical import places
from checker.conform.driver import Diverges
from checker.conform.rows import Row, Seen, seen
from checker.conform.system import Probe, System
from checker.conform.worker import ATTEMPT, BEGIN, GROWTH, PROBE, STEP, Place
from checker.explicit.check import SHORTEST
from checker.lang.loader import BoundModel
from checker.reference.step import StepResult
from checker.reference.trace import Tracer, line_of, location
from traces import Step, Trace, Violation

KIND = "divergence"
TRIED = "tried, though the spec refuses it"
PROBED = "not under way, and tried all the same: "
BY_RANK = "its ordinals are by rank, not as above"
GROWING = "growth"
GROWS = "hidden state grows without bound: the way goes round, and each time there is more in {}"
UNSTEADY = (
    "it diverged ({}) and, driven along the same way again, did not: the implementation does not always do the same, "
    "or the key of its adapter leaves out what decides"
)


@dataclass(frozen=True)
class Divergence:
    """A divergence to report. rows: the two states side by side; () where the SUT has none."""

    trace: Trace
    rows: tuple[Row, ...]

    @property
    def reason(self) -> str:
        assert self.trace.violation is not None
        return self.trace.violation.statement


def reproduce(
    model: BoundModel,
    system: System[Any],
    name: str,
    first: int,
    instances: Sequence[int],
    place: Place,
    before: Seen | None,
) -> Divergence:
    """The divergence at `place`, to which the instances lead from the initial state with the number `first`.

    name: of the SUT. The behaviour is driven once more, by plain Python. before: what the search came upon, which
    stands in the report where it is not seen again.
    """
    recorder = Recorder(model, system, name)
    recorder.begin(first)
    systems = [recorder.behaviour.system]
    for instance in instances:
        recorder.step(instance)
        systems.append(recorder.behaviour.system)
    if place.phase == GROWTH:
        recorder.grew(systems[place.number])
    elif place.pair != BEGIN and place.phase == STEP:
        recorder.step(place.number)
    elif place.phase == ATTEMPT:
        recorder.attempt(place.number)
    elif place.phase == PROBE:
        recorder.probe(recorder.behaviour.probes()[place.number][place.probe])
    return recorder.divergence(before)


class Recorder:
    """Drives the SUT along a behaviour and records both. found: the first divergence, or None so far."""

    def __init__(self, model: BoundModel, system: System[Any], name: str) -> None:
        self._model, self._system, self._name = model, system, name
        self.behaviour = Behaviour(model, system)
        self.found: Diverges | None = None
        self._kind = KIND
        self._tracer = Tracer(model)
        self._steps: list[Step] = []
        self._refusal = StepResult(None)  # by the spec, of the last attempt or probe

    def begin(self, number: int) -> None:
        """Go to the initial state with this number."""
        self._try(self.behaviour.begin, number)
        shown, source = self._model.state_type.itf(self.behaviour.plain), self._model.model.init.source
        self._steps.append(Step(1, "init", "", {}, shown, source=source))

    def step(self, instance: int) -> None:
        """Take a step that the spec takes."""
        before = self.behaviour.plain
        self._try(self.behaviour.step, instance)
        self._steps.append(self._tracer.step(len(self._steps) + 1, instance, before, self.behaviour.plain))

    def attempt(self, instance: int) -> None:
        """Try what the spec refuses."""
        self._refusal = self.behaviour.result(instance)
        self._try(self.behaviour.attempt, instance)
        plain = self.behaviour.plain
        step = self._tracer.step(len(self._steps) + 1, instance, plain, plain)
        self._steps.append(replace(step, notes=(TRIED, *step.notes)))

    def probe(self, probe: Probe) -> None:
        """Let a message land that is not under way."""
        self._try(self.behaviour.probe, probe)
        result = self.behaviour.driver.outcome(probe)
        self._refusal = result if result.ended else self._refusal
        reference = self.behaviour.reference
        number = next(i for i, action in enumerate(reference.actions) if action.name == probe.action)
        arguments = tuple(probe.arguments[p.name] for p in reference.parameters[number])
        after = probe.state if result.ended else result.state
        step = self._tracer.step_by(len(self._steps) + 1, number, arguments, after)
        self._steps.append(replace(step, notes=(f"{PROBED}{probe.name}", BY_RANK, *step.notes)))

    def grew(self, before: Any) -> None:
        """Report the fields without a rule in which the SUT has more than `before`, and in nothing else."""
        after, self._kind = self.behaviour.system, GROWING
        rows = places(self._system.key(before), self._system.key(after))
        grown = [row.path for row in rows if row.spec != row.system]
        reason = GROWS.format(", ".join(grown))
        self.found = self.found or Diverges(reason, spec=self.behaviour.plain, system=after, before=before)

    def _try(self, call: Callable[[Any], None], argument: Any) -> None:
        try:
            call(argument)
        except Diverges as diverges:
            self.found = self.found or diverges

    def divergence(self, before: Seen | None = None) -> Divergence:
        """The divergence that was found; where there was none, the one that was seen before. There must be one."""
        if self.found is not None:
            reason, rows = seen(self._system, self.found)
        else:
            assert before is not None
            reason, rows = UNSTEADY.format(before.reason), before.rows
        refusal = self._refusal
        guard = (line_of(refusal), location(refusal.file, refusal.line)) if refusal.ended else ("", "")
        values = tuple((row.path, row.text()) for row in rows if row.differs)
        violation = Violation(self._name, self._kind, _sentence(reason), "", *guard, values)
        trace = Trace(
            model=self._model.name, constants=self._tracer.constants(), steps=tuple(self._steps), violation=violation,
            head=(*self._tracer.head(), f"implementation: {self._name}", SHORTEST), columns=self._tracer.columns(),
        )  # fmt: skip
        return Divergence(trace, rows)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."
