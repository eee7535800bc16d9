"""Violations that are known: those that a design switch repairs which is off. A check goes on past them.

A violation is known by a switch when with this switch on, and all else as it is, nothing is violated in as few states
any more (of a liveness property: it is not violated at all). The switch then stays on, and the model is checked again,
until nothing is violated or no switch repairs what is. Where several switches break something in equally few states,
they are known together, each of them needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from checker.explicit.check import PropertyReport, Report
from checker.lang.liveness import LIVENESS
from checker.lang.loader import BoundModel
from checker.reference.switches import repairs, switches_off
from checker.verdicts import HOLDS, INCOMPLETE, KNOWN, VIOLATED, WITHIN, exit_code

Check = Callable[[BoundModel], Report]


@dataclass(frozen=True)
class KnownViolation:
    """A violation and the switch that repairs it. alternatives: switches that, on in its place, stop the same steps."""

    switch: str
    found: PropertyReport
    alternatives: tuple[str, ...]


@dataclass(frozen=True)
class PastKnown:
    """The known violations of a model, and its check with their switches on.

    undecided: why it was not found out whether the violation in `rest` is known, None where it was.
    """

    known: tuple[KnownViolation, ...]
    rest: Report
    undecided: str | None

    @property
    def off(self) -> list[str]:
        """The switches that are still off in `rest`."""
        return switches_off(self.rest.model)

    @property
    def verdict(self) -> str:
        """Only known violations where the rest holds, else the verdict of the rest."""
        if self.undecided is not None:
            return INCOMPLETE
        return KNOWN if self.known and self.rest.verdict in (HOLDS, WITHIN) else self.rest.verdict

    @property
    def reason(self) -> str:
        if self.undecided is not None:
            return f"whether {self.rest.reason} is known was not decided: {self.undecided}"
        if self.verdict == VIOLATED and self.known:
            return f"{self.rest.reason}: no single switch repairs it"
        if self.verdict == KNOWN:
            return "; ".join([", ".join(one.switch for one in self.known), *self.rest.reasons])
        return self.rest.reason

    @property
    def exit_code(self) -> int:
        return exit_code(self.verdict)


class _Undecided(Exception):
    """A check was stopped before it was seen whether a switch repairs a violation."""


def past_known(model: BoundModel, check: Check) -> PastKnown:
    """Check a model past its known violations. check: called with the model as it is to be checked, bound."""
    known: list[KnownViolation] = []
    report = check(model)
    undecided = None
    try:
        while report.verdict == VIOLATED and (repaired := _repaired(report, check)) is not None:
            found, report = repaired
            known += found
    except _Undecided as stopped:
        undecided = str(stopped)
    report.model.bind()
    return PastKnown(tuple(known), report, undecided)


def _repaired(report: Report, check: Check) -> tuple[list[KnownViolation], Report] | None:
    """The switches that repair the violation of a report, and the check with these on; None where none do."""
    violation, found = _shown(report), []
    while True:
        shown = _shown(report)
        candidates = _candidates(report.model, shown)
        first: Report | None = None
        for switch in candidates:
            other = _checked(report.model, {switch: True}, check)
            first = first or other
            if not _is_violated_still(other, violation):
                found.append(_known(switch, shown, candidates))
                return _needed(found, other, violation, check)
        if first is None:
            return None
        found.append(_known(candidates[0], shown, candidates))
        report = first


def _needed(
    found: list[KnownViolation], report: Report, violation: PropertyReport, check: Check
) -> tuple[list[KnownViolation], Report]:
    """Those of several switches that are needed to repair a violation, and the check with these on."""
    needed = found[-1:]
    for one in found[:-1]:
        without = _checked(report.model, {one.switch: False}, check)
        if _is_violated_still(without, violation):
            needed.insert(-1, one)
        else:
            report = without
    return needed, report


def _shown(report: Report) -> PropertyReport:
    """The violation that a report shows: the first of those with the shortest trace."""
    shown = next((p for p in report.properties if p.trace is not None), None)
    if shown is None:
        raise _Undecided(report.stopped or "there is no trace")
    return shown


def _candidates(model: BoundModel, violation: PropertyReport) -> list[str]:
    """The switches that are off, with which on the steps of a violation are not taken, or violate it no longer."""
    assert violation.trace is not None
    return [one.switch for one in repairs(model, violation.trace) if one.departed is not None and one.departed.repairs]


def _known(switch: str, found: PropertyReport, candidates: list[str]) -> KnownViolation:
    return KnownViolation(switch, found, tuple(name for name in candidates if name != switch))


def _checked(model: BoundModel, changes: dict[str, bool], check: Check) -> Report:
    changed = model.with_constants(changes)
    changed.bind()
    return check(changed)


def _is_violated_still(report: Report, violation: PropertyReport) -> bool:
    """A check finds the violation again, or another in as few states. Raises _Undecided where it was stopped before."""
    states = violation.trace_length or 0
    violated = [p for p in report.properties if p.verdict == VIOLATED]
    if violation.kind in LIVENESS:
        if report.verdict == INCOMPLETE:
            raise _Undecided(report.reason)
        return any(p.name == violation.name or p.kind not in LIVENESS for p in violated)
    if not violated and report.verdict == INCOMPLETE and report.result.depth < states:
        raise _Undecided(report.reason)
    return any((p.trace_length or 0) <= states for p in violated if p.kind not in LIVENESS)
