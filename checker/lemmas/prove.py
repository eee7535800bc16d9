"""A proof by induction, with all that is made of it: lemmas that nobody wrote, counterexamples triaged, one verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from checker.lang.itf import to_itf
from checker.lang.loader import BoundModel
from checker.lemmas.behaviour import induction_trace, initial_trace
from checker.lemmas.find import Found, find_lemmas
from checker.lemmas.triage import REACHABLE, Triaged, triage
from checker.running.limits import Limits
from checker.running.limits import Progress as Searched
from checker.running.pool import OutOfTime
from checker.symbolic import results
from checker.symbolic.induction import PROVABLE, Progress, Proof, ProofOptions
from checker.symbolic.induction import prove as prove_by_induction
from checker.verdicts import (
    INCOMPLETE,
    INTERRUPTED,
    NOT_PROVED,
    PROVED,
    PROVED_WITHIN,
    VACUOUS,
    VIOLATED,
    exit_code,
    strongest,
)
from traces import Trace


@dataclass(frozen=True)
class ProofReport:
    """A proof, judged. triaged: by claim, of those with a counterexample. found: lemmas, where they were looked for."""

    proof: Proof
    triaged: dict[int, Triaged]
    found: Found | None = None

    @cached_property
    def verdicts(self) -> list[str]:
        """The verdict on each claim."""
        return [self._of_claim(number, finding) for number, finding in enumerate(self.proof.findings)]

    def _of_claim(self, number: int, finding: results.Finding) -> str:
        if finding.initial is not None:
            return VIOLATED
        if finding.verdict == results.UNUSED:
            return results.UNUSED
        if finding.verdict == results.PROVED:
            return PROVED_WITHIN if self.proof.bounds_of(number).words() else PROVED
        triaged = self.triaged.get(number)
        return VIOLATED if triaged is not None and triaged.verdict == REACHABLE else NOT_PROVED

    @property
    def verdict(self) -> str:
        """Of the claims that were used, the strongest; vacuous where an action can never be taken."""
        vacuous = [VACUOUS] * bool(self.proof.never or not self.proof.program.properties)
        stopped = [INCOMPLETE] * bool(self.proof.stopped)
        return strongest([*[v for v in self.verdicts if v != results.UNUSED], *vacuous, *stopped])

    @property
    def reason(self) -> str:
        """The reason for the verdict: claims, bounds, or what stopped the proof."""
        names = [f.claim.name for f, v in zip(self.proof.findings, self.verdicts, strict=True) if v == self.verdict]
        if self.verdict == INCOMPLETE:
            return self.proof.stopped or ""
        if self.verdict in (VIOLATED, NOT_PROVED):
            return ", ".join([*names, *([self.proof.stopped] if self.proof.stopped else [])])
        if self.verdict == VACUOUS:
            never = ", ".join(self.proof.never)
            return f"no state with the proved invariants can take: {never}" if never else "nothing to prove"
        if self.verdict == PROVED_WITHIN:
            within = [n for n, v in enumerate(self.verdicts) if v == PROVED_WITHIN]
            return "; ".join(dict.fromkeys(word for n in within for word in self.proof.bounds_of(n).words()))
        return ""

    @property
    def exit_code(self) -> int:
        return exit_code(self.verdict)

    @property
    def only_explored(self) -> list[tuple[str, str]]:
        """(name, kind) of the properties that induction does not prove."""
        return [(p.name, p.kind) for p in self.proof.model.model.properties if p.kind not in PROVABLE]

    @cached_property
    def traces(self) -> list[Trace]:
        """A trace for each claim that has a counterexample: first violations, then what is not inductive."""
        found = []
        for number, finding in enumerate(self.proof.findings):
            if finding.initial is not None:
                found.append(initial_trace(self.proof, number))
            elif finding.counterexample is not None:
                triaged = self.triaged.get(number)
                reached = triaged.trace if triaged is not None else None
                found.append(reached or induction_trace(self.proof, number))
        return sorted(found, key=lambda t: t.violation is not None and t.violation.kind.startswith("induction"))

    def to_json(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        proof = self.proof
        return {
            "model": proof.model.name,
            "constants": {name: to_itf(value) for name, value in proof.model.constants.items()},
            "verdict": self.verdict,
            "reason": self.reason,
            "claims": [self._claim_json(n) for n in range(len(proof.findings))],
            "only_explored": [name for name, _ in self.only_explored],
            "never": proof.never,
            "queries": proof.queries,
            "jobs": proof.jobs,
            "seconds": round(proof.seconds, 4),
        } | ({"found_lemmas": self.found.to_json()} if self.found is not None else {})

    def _claim_json(self, number: int) -> dict[str, Any]:
        finding, triaged = self.proof.findings[number], self.triaged.get(number)
        kept = self.proof.bounds_of(number)
        distinction = triaged.distinction if triaged is not None else None
        return {
            "name": finding.claim.name,
            "kind": finding.claim.kind,
            "verdict": self.verdicts[number],
            "reason": finding.reason,
            "queries": finding.queries,
            "seconds": round(finding.seconds, 4),
            "slowest_s": round(finding.slowest, 4),
            "rests_on": [self.proof.findings[c].claim.name for c in sorted(finding.rests_on)],
            "bounds": kept.words(),
            "any_number": [place.path for place in kept.any_number],
            "inductive": finding.counterexample is None,
            "triage": triaged.verdict if triaged is not None else None,
            "explored": triaged.explored if triaged is not None else None,
            "distinction": list(distinction.texts) if distinction is not None else None,
        }


def prove(
    model: BoundModel, how: ProofOptions, *, find_lemmas_s: float | None, triage_s: float, threads: int,
    searching: Callable[[Searched], None] | None = None, proving: Callable[[Progress], None] | None = None,
    triaging: Callable[[Searched], None] | None = None,
) -> ProofReport:  # fmt: skip
    """Prove a model by induction, and say of what is not inductive whether it is reached.

    find_lemmas_s: look for lemmas instead of using the declared ones, with so many seconds of search; None: don't.
    triage_s: seconds of search for triage, 0: none. searching, proving, triaging: called with progress.
    """
    found = None
    if find_lemmas_s is None:
        proof = prove_by_induction(model, how, progress=proving)
    else:
        found = find_lemmas(model, how, Limits(time_limit_s=find_lemmas_s), searched=searching, progress=proving)
        proof = found.proof
    triaged: dict[int, Triaged] = {}
    left_s = how.left_s(triage_s)
    if left_s and any(f.counterexample is not None for f in proof.findings):
        triaged = triage(proof, Limits(time_limit_s=left_s), threads, progress=triaging)
        reasons = [t.stopped for t in triaged.values() if t.stopped is not None]
        if INTERRUPTED in reasons:
            proof.stopped = INTERRUPTED
        elif reasons and how.is_over:
            proof.stopped = how.why(OutOfTime())
    return ProofReport(proof, triaged, found)
