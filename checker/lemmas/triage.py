"""Triage of counterexamples to induction: some show that a claim is false, others that it needs a lemma.

A state from which a step breaks a claim is either reached, and then the claim is false, or it is not, and then some
invariant that rules it out is missing. The explicit search decides, if it finishes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from checker.explicit.check import CheckOptions, Report, bounds, check
from checker.lang.declare import Declared
from checker.lang.ir import EVALUATES
from checker.lemmas.distinguish import Distinction, distinguish
from checker.running.deadline import CompilationStopped
from checker.running.limits import Limits, Progress
from checker.symbolic.induction import Proof
from checker.symbolic.results import NO_ERROR
from checker.verdicts import INTERRUPTED, VIOLATED
from traces import Trace

REACHABLE, UNREACHABLE, UNKNOWN = "reachable", "unreachable", "unknown"


@dataclass(frozen=True)
class Triaged:
    """The verdict on a counterexample to induction.

    REACHABLE: the claim is false, `trace` is a shortest violation. UNREACHABLE: the search finished without
    one; `distinction` says what no reached state has. UNKNOWN: it was stopped. explored: a text on what the search saw.
    stopped: why it did not finish.
    """

    verdict: str
    explored: str
    trace: Trace | None = None
    distinction: Distinction | None = None
    stopped: str | None = None


def triage(
    proof: Proof, limits: Limits, threads: int, progress: Callable[[Progress], None] | None = None
) -> dict[int, Triaged]:
    """Claim -> what its counterexample is, for all claims of a proof that have one. One search decides them all.

    A limit, or Ctrl-C, leaves what is not decided by then UNKNOWN.
    """
    open_ = {n: f for n, f in enumerate(proof.findings) if f.counterexample is not None}
    wanted = {f.claim.name.removesuffix(EVALUATES) for f in open_.values()}
    known: list[Declared] = [*proof.model.model.properties, *proof.model.model.lemmas]
    declared = list({d.name: d for d in known if d.name in wanted}.values())
    model = proof.model.with_properties(declared)
    options = CheckOptions(threads=threads, limits=limits, all_violations=True)
    found: dict[int, Triaged] = {}
    try:
        report = check(model, options, started=time.perf_counter(), progress=progress)
        for n in open_:
            found[n] = _one(proof, n, report)
    except (CompilationStopped, KeyboardInterrupt) as end:
        why = INTERRUPTED if isinstance(end, KeyboardInterrupt) else str(end)
        found |= {n: Triaged(UNKNOWN, f"stopped: {why}", stopped=why) for n in open_ if n not in found}
    return found


def _one(proof: Proof, claim: int, report: Report) -> Triaged:
    finding, result = proof.findings[claim], report.result
    limits = bounds(report.model, report.kernel, result)
    explored = "; ".join([f"{result.distinct:,} states, depth {result.depth}", *limits])
    name = finding.claim.name.removesuffix(EVALUATES)
    errors = finding.claim.name == NO_ERROR
    for found in report.properties:
        if found.verdict == VIOLATED and (found.kind == "runtime error" if errors else found.name == name):
            return Triaged(REACHABLE, explored, found.trace)
    if result.stopped is not None:
        return Triaged(UNKNOWN, f"{explored}; stopped: {result.stopped}", stopped=result.stopped)
    example = finding.counterexample
    assert example is not None
    read = proof.reads(claim, example.instance)
    distinction = distinguish(proof.model.state_type, report.kernel, result, example.before, read)
    return Triaged(UNREACHABLE, explored, distinction=distinction)
