"""Words of `prove`: claims, what they rest on, which bounds remain; counterexamples explained, and the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.cli.output.printing import verdict_line
from checker.cli.output.table import fold, paragraphs, table, width
from checker.lang.itf import to_itf
from checker.lemmas.triage import UNREACHABLE
from checker.verdicts import PROVED, PROVED_WITHIN
from traces.values import plural

if TYPE_CHECKING:
    from checker.lemmas.prove import ProofReport
    from checker.symbolic.bounded import Bounded

ONLY_EXPLORED = "only explored"


def proof_text(report: ProofReport) -> str:
    """A proof for people: claims, and what it holds for."""
    proof = report.proof
    rows: list[tuple[str, ...]] = [("claim", "kind", "verdict", "queries", "s", "rests on")]
    for n, (finding, verdict) in enumerate(zip(proof.findings, report.verdicts, strict=True)):
        names = ", ".join(proof.findings[c].claim.name for c in sorted(finding.rests_on))
        reason = f" ({finding.reason})" * bool(finding.reason) + _triage_word(report, n)
        rows.append((finding.claim.name, finding.claim.kind, verdict + reason, f"{finding.queries:,}",
                     f"{finding.seconds:.2f}", names))  # fmt: skip
    rows += [(name, kind, ONLY_EXPLORED, "", "", "") for name, kind in report.only_explored if kind != "witness"]
    slowest = max((f.slowest for f in proof.findings), default=0.0)
    if not any(row[-1] for row in rows[1:]):  # nothing rests on anything
        rows = [row[:-1] for row in rows]
    lines = [proof.model.name, "", *table(rows, (False, False, False, True, True, False)[: len(rows[0])])]
    lines += ["", *_scope(report), ""]
    lines.append(
        f"{proof.queries:,} queries, the slowest {slowest:.2f} s; "
        f"{proof.seconds:.2f} s with {plural(proof.jobs, 'worker')}"
    )
    found = [*report.found.text().splitlines(), ""] if report.found is not None else []
    return paragraphs([*found, *lines])


def proof_verdict(report: ProofReport) -> str:
    """Each counterexample explained, and the verdict as the last line."""
    lines = [line for n in report.triaged for line in [*_explained(report, n), ""]]
    return "\n".join([*lines, verdict_line(report.verdict, report.reason)])


def _triage_word(report: ProofReport, claim: int) -> str:
    if report.proof.findings[claim].counterexample is None:
        return ""
    found = report.triaged.get(claim)
    return " (not inductive)" if found is None else f" (not inductive: {found.verdict})"


def _scope(report: ProofReport) -> list[str]:
    """The scope of the proof: the model's constants, and what is bounded or not."""
    proof = report.proof
    usual = proof.model.info.defaults if proof.model.info else {}
    constants = [
        f"{name}={to_itf(value)}".replace("True", "true").replace("False", "false")
        for name, value in proof.model.constants.items()
        if (value != usual[name] if isinstance(value, bool) else value != 0)
    ]
    zeros = [name for name, value in proof.model.constants.items() if not isinstance(value, bool) and value == 0]
    held = "runs of any length" + f", with {' '.join(constants)}" * bool(constants)
    kept: dict[str, list[str]] = {}
    any_number: dict[str, None] = {}
    for n, verdict in enumerate(report.verdicts):
        if verdict in (PROVED, PROVED_WITHIN):
            found = proof.bounds_of(n)
            for word in found.words():
                kept.setdefault(word, []).append(proof.findings[n].claim.name)
            any_number |= {place.path: None for place in found.any_number}
    free = [p.path for p in proof.places if str(p) not in kept and p.path not in any_number]
    rows = [
        ("holds for", held + f"; switched off, being 0: {', '.join(zeros)}" * bool(zeros)),
        ("unbounded", ", ".join(sorted({leaf.sort for leaf in proof.program.leaves if leaf.sort}))),
        ("free", f"{', '.join(free)}: may hold anything before a step" if free else ""),
        ("any number", f"{', '.join(any_number)}: a step sees any of all that was ever sent" if any_number else ""),
        *[("bounded", f"{word}, in {', '.join(names)}") for word, names in kept.items()],
        (ONLY_EXPLORED, ", ".join(n for n, kind in report.only_explored if kind == "witness")),
    ]
    return table([row for row in rows if row[1]], (False, False))


def _explained(report: ProofReport, claim: int) -> list[str]:
    """Lines on a counterexample to induction, and what to do about it."""
    found, name = report.triaged[claim], report.proof.findings[claim].claim.name
    lines = [f"{name}: its counterexample to induction is {found.verdict} ({found.explored})"]
    distinction = found.distinction
    if found.verdict == UNREACHABLE and distinction is not None:
        if distinction.texts:
            lines.append("  no state that was reached has all of this; a lemma could say so:")
            lines += [f"    {text}" for text in distinction.texts]
        if distinction.differences:
            lines.append("  the nearest state that was reached has everything that matters to the step but:")
            lines += [f"    {text}" for text in distinction.differences]
    return [part for line in lines for part in fold(line, min(width(), 160), "    ")]


def bounded_text(found: Bounded) -> str:
    """An unrolling as text, the verdict as the last line."""
    seen = f"no behaviour of up to {plural(found.clear, 'step')} breaks anything"
    if found.run is not None:
        rest = f"{found.broken}, {plural(len(found.run.states), 'state')}"
    elif found.stopped is not None:
        rest = found.stopped + (f"; {seen}" if found.clear >= 0 else "")
    else:
        rest = seen
    return f"{found.seconds:.2f} s\n\n{verdict_line(found.verdict, rest)}"
