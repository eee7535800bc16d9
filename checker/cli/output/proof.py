"""What `fencepost prove` prints: claims, what they rest on, which bounds remain, and the verdict."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import click

from checker.cli.output.report import table
from checker.lang.itf import to_itf
from checker.verdicts import (
    INCOMPLETE,
    NOT_PROVED,
    PROVED,
    PROVED_WITHIN,
    VACUOUS,
    VIOLATED,
    WITHIN,
    color,
    exit_code,
    strongest,
)
from traces.values import plural

if TYPE_CHECKING:
    from checker.lemmas.triage import Triaged
    from checker.symbolic.bounded import Bounded
    from checker.symbolic.induction import Proof
    from checker.symbolic.results import Finding

ONLY_EXPLORED = "only explored"


class ProofReport:
    """A proof and what became of its counterexamples, judged. triaged: by claim, of those that have one."""

    def __init__(self, proof: Proof, triaged: dict[int, Triaged]) -> None:
        self.proof, self.triaged = proof, triaged
        self.verdicts = [self._of_claim(n, f) for n, f in enumerate(proof.findings)]

    def _of_claim(self, number: int, finding: Finding) -> str:
        from checker.lemmas.triage import REACHABLE
        from checker.symbolic.results import PROVED as SHOWN
        from checker.symbolic.results import UNUSED

        if finding.initial is not None:
            return VIOLATED
        if finding.verdict == UNUSED:
            return UNUSED
        if finding.verdict == SHOWN:
            return PROVED_WITHIN if self.proof.bounds_of(number).words() else PROVED
        found = self.triaged.get(number)
        return VIOLATED if found is not None and found.verdict == REACHABLE else NOT_PROVED

    @property
    def verdict(self) -> str:
        """Of the claims that were used, the strongest; vacuous where an action can never be taken."""
        from checker.symbolic.results import UNUSED

        vacuous = [VACUOUS] * bool(self.proof.never or not self.proof.program.properties)
        stopped = [INCOMPLETE] * bool(self.proof.stopped)
        return strongest([*[v for v in self.verdicts if v != UNUSED], *vacuous, *stopped])

    @property
    def reason(self) -> str:
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

    def text(self) -> str:
        """For people: the verdict is the last line."""
        proof = self.proof
        rows = [("claim", "kind", "verdict", "queries", "s", "rests on")]
        for n, (finding, verdict) in enumerate(zip(proof.findings, self.verdicts, strict=True)):
            names = ", ".join(proof.findings[c].claim.name for c in sorted(finding.rests_on))
            reason = f" ({finding.reason})" * bool(finding.reason) + self._triage_word(n)
            rows.append((finding.claim.name, finding.claim.kind, verdict + reason, f"{finding.queries:,}",
                         f"{finding.seconds:.2f}", names))  # fmt: skip
        rows += [(name, kind, ONLY_EXPLORED, "", "", "") for name, kind in self._only_explored() if kind != "witness"]
        slowest = max((f.slowest for f in proof.findings), default=0.0)
        lines = [proof.model.name, "", *table(rows, (False, False, False, True, True, False))]
        lines += ["", *self._scope(), ""]
        lines.append(
            f"{proof.queries:,} queries, the slowest {slowest:.2f} s; "
            f"{proof.seconds:.2f} s with {plural(proof.jobs, 'worker')}"
        )
        for n in self.triaged:
            lines += ["", *self._explained(n)]
        verdict = click.style(self.verdict, fg=color(self.verdict), bold=True)
        return "\n".join([*lines, "", f"{verdict}: {self.reason}" if self.reason else verdict])

    def _triage_word(self, claim: int) -> str:
        if self.proof.findings[claim].counterexample is None:
            return ""
        found = self.triaged.get(claim)
        return " (not inductive)" if found is None else f" (not inductive: {found.verdict})"

    def _only_explored(self) -> list[tuple[str, str]]:
        from checker.symbolic.induction import PROVABLE

        return [(p.name, p.kind) for p in self.proof.model.model.properties if p.kind not in PROVABLE]

    def _scope(self) -> list[str]:
        """What the proof holds for: the model's constants, and what is bounded or not."""
        proof = self.proof
        usual = proof.model.info.defaults if proof.model.info else {}
        constants = [
            f"{name}={to_itf(value)}".replace("True", "true").replace("False", "false")
            for name, value in proof.model.constants.items()
            if (value != usual[name] if isinstance(value, bool) else value != 0)
        ]
        kept: dict[str, list[str]] = {}
        any_number: dict[str, None] = {}
        for n, verdict in enumerate(self.verdicts):
            if verdict in (PROVED, PROVED_WITHIN):
                found = proof.bounds_of(n)
                for word in found.words():
                    kept.setdefault(word, []).append(proof.findings[n].claim.name)
                any_number |= {place.path: None for place in found.any_number}
        free = [p.path for p in proof.places if str(p) not in kept and p.path not in any_number]
        rows = [
            ("holds for", "runs of any length" + f", with {' '.join(constants)}" * bool(constants)),
            ("unbounded", ", ".join(sorted({leaf.sort for leaf in proof.program.leaves if leaf.sort}))),
            ("free", f"{', '.join(free)}: may hold anything before a step" if free else ""),
            ("any number", f"{', '.join(any_number)}: a step sees any of all that was ever sent" if any_number else ""),
            *[("bounded", f"{word}, in {', '.join(names)}") for word, names in kept.items()],
            (ONLY_EXPLORED, ", ".join(n for n, kind in self._only_explored() if kind == "witness")),
        ]
        return table([row for row in rows if row[1]], (False, False))

    def _explained(self, claim: int) -> list[str]:
        """What is known of a counterexample to induction, and what to do about it."""
        from checker.lemmas.triage import UNREACHABLE

        found, name = self.triaged[claim], self.proof.findings[claim].claim.name
        lines = [f"{name}: its counterexample to induction is {found.verdict} ({found.explored})"]
        told = found.distinction
        if found.verdict == UNREACHABLE and told is not None:
            if told.texts:
                lines.append("  no state that was reached has all of this; a lemma could say so:")
                lines += [f"    {text}" for text in told.texts]
            if told.differences:
                lines.append("  the nearest state that was reached has everything that matters to the step but:")
                lines += [f"    {text}" for text in told.differences]
        return [part for line in lines for part in textwrap.wrap(line, 160, subsequent_indent="      ") or [""]]

    def to_json(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        proof = self.proof
        return {
            "model": proof.model.name,
            "constants": {name: to_itf(value) for name, value in proof.model.constants.items()},
            "verdict": self.verdict,
            "reason": self.reason,
            "claims": [self._claim_json(n) for n in range(len(proof.findings))],
            "only_explored": [name for name, _ in self._only_explored()],
            "never": proof.never,
            "queries": proof.queries,
            "jobs": proof.jobs,
            "seconds": round(proof.seconds, 4),
        }

    def _claim_json(self, number: int) -> dict[str, Any]:
        finding, found = self.proof.findings[number], self.triaged.get(number)
        kept = self.proof.bounds_of(number)
        told = found.distinction if found is not None else None
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
            "triage": found.verdict if found is not None else None,
            "explored": found.explored if found is not None else None,
            "distinction": list(told.texts) if told is not None else None,
        }


def bounded_verdict(found: Bounded) -> str:
    """The verdict on an unrolling: nothing is known of longer behaviours."""
    return VIOLATED if found.run is not None else INCOMPLETE if found.stopped is not None else WITHIN


def bounded_text(found: Bounded) -> str:
    """An unrolling in words, the verdict as the last line."""
    verdict = bounded_verdict(found)
    seen = f"no behaviour of up to {plural(found.clear, 'step')} breaks anything"
    if found.run is not None:
        rest = f"{found.broken}, {plural(len(found.run.states), 'state')}"
    elif found.stopped is not None:
        rest = found.stopped + (f"; {seen}" if found.clear >= 0 else "")
    else:
        rest = seen
    return f"{found.seconds:.2f} s\n\n{click.style(verdict, fg=color(verdict), bold=True)}: {rest}"


def bounded_json(found: Bounded) -> dict[str, Any]:
    """The object that `--json` prints."""
    return {
        "model": found.model.name,
        "constants": {name: to_itf(value) for name, value in found.model.constants.items()},
        "verdict": bounded_verdict(found),
        "clear_steps": found.clear,
        "violated": found.broken if found.run is not None else None,
        "trace_length": len(found.run.states) if found.run is not None else None,
        "stopped": found.stopped,
        "seconds": round(found.seconds, 4),
    }
