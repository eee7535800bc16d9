"""Proofs by induction: the initial states have every invariant, and every step keeps them.

One query for each instance of an action and each claim that it could break. Invariants are proved together, each
step starting from a state that has all of them; those that some step breaks are dropped, and what was proved with
their help is asked again without it. What is left is inductive: it holds in runs of any length.
"""

from __future__ import annotations

import functools
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from checker.lang.frontend import compile_model
from checker.lang.interpret import evaluate
from checker.lang.ir import EventKind, support
from checker.lang.loader import BoundModel
from checker.lang.program import Program
from checker.running.deadline import CompilationDeadline
from checker.running.limits import Limits
from checker.running.pool import Died, OutOfTime, Pool, pool
from checker.symbolic.bounds import Bounds, Growing, growing
from checker.symbolic.prover import Enabled, Example, Prover
from checker.symbolic.results import (
    NO_ERROR,
    PROVED,
    REFUTED,
    TYPES,
    UNKNOWN,
    UNUSED,
    Answer,
    Claim,
    Finding,
    Query,
)
from checker.verdicts import INTERRUPTED

PROVABLE = ("invariant", "transition invariant", "refinement")


@dataclass(frozen=True)
class ProofOptions:
    """jobs: processes to prove in; timeout_s: for a query, None: none. time_limit_s: for all that is done with these
    options, from `started` (`time.monotonic()`) on."""

    jobs: int = 1
    timeout_s: float | None = 60.0
    time_limit_s: float | None = None
    started: float = field(default_factory=time.monotonic)

    @property
    def deadline(self) -> float | None:
        return None if self.time_limit_s is None else self.started + self.time_limit_s

    def while_compiling(self) -> Callable[[int, int], None]:
        """What `compile_model` calls as it goes; raises CompilationStopped."""
        return CompilationDeadline(Limits(time_limit_s=self.time_limit_s), started=self.started).bindings

    def left_s(self, most_s: float | None) -> float | None:
        """The seconds that are left, of at most so many; None: there is no limit."""
        if self.deadline is None:
            return most_s
        left_s = max(0.0, self.deadline - time.monotonic())
        return left_s if most_s is None else min(most_s, left_s)

    @property
    def is_over(self) -> bool:
        """True if the time limit has passed."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    def ask(self) -> None:
        """Raises OutOfTime once the time limit has passed: for long work that waits for no worker."""
        if self.is_over:
            raise OutOfTime

    def why(self, end: BaseException) -> str:
        """The reason that work was stopped, as text. end: KeyboardInterrupt or OutOfTime."""
        return INTERRUPTED if isinstance(end, KeyboardInterrupt) else f"time limit of {self.time_limit_s:g} s"


@dataclass(frozen=True)
class Progress:
    """A proof under way: queries answered and known of, seconds since it began."""

    done: int
    total: int
    seconds: float


@dataclass(frozen=True)
class Kept:
    """The bounds that the proof of a claim keeps to.

    places: whose bound; cuts: as text, steps that are cut by no bound of the state; constraints: no step was taken out
    of a state outside these. any_number: bags of which it allows any number of members instead.
    """

    places: list[Growing]
    cuts: list[str]
    constraints: list[str]
    any_number: list[Growing]

    def words(self) -> list[str]:
        """Each of them as text."""
        return [*map(str, self.places), *self.cuts, *[f"inside the constraint {name}" for name in self.constraints]]


@dataclass
class Proof:
    """Results of induction on a model.

    findings: one for each claim, in their order: properties, lemmas, then types and runtime errors.
    any_number: claims that also hold for a network that keeps every message ever sent (see `network`) and without
    guards that rest on a bound: what they then rest on.
    never: actions that no state with the proved invariants can take; unknown_actions: of which that is not known.
    places: what steps may grow. asked: the (claim, instance) pairs of which something was shown. stopped: why it ended
    early, None if it did not.
    """

    model: BoundModel
    program: Program
    findings: list[Finding]
    places: list[Growing]
    asked: frozenset[tuple[int, int]] = frozenset()
    any_number: dict[int, frozenset[int]] = field(default_factory=dict)
    never: list[str] = field(default_factory=list)
    stopped: str | None = None
    seconds: float = 0.0
    jobs: int = 1
    _kept: dict[int, Kept] = field(default_factory=dict)

    @functools.cached_property
    def bounds(self) -> Bounds:
        return Bounds(self.program, self.places)

    @property
    def queries(self) -> int:
        return sum(f.queries for f in self.findings)

    def invariants_of(self, claim: int) -> frozenset[int]:
        """The invariants whose keeping the proof of a claim amounts to: itself, if it is one, and what it rests on."""
        own = {claim} if self.findings[claim].claim.assumable else set()
        return self.findings[claim].rests_on | own

    def bounds_of(self, claim: int) -> Kept:
        """The bounds that the proof of a claim keeps to."""
        if claim not in self._kept:
            self._kept[claim] = self._bounds_of(claim)
        return self._kept[claim]

    def _bounds_of(self, claim: int) -> Kept:
        wide = claim in self.any_number
        shown = self.invariants_of(claim) | {claim} | (self.any_number[claim] if wide else frozenset())
        properties = [i for n in shown if (i := self.findings[n].claim.index) is not None]
        rests = self.bounds.decided
        for index in properties:
            rests |= self.bounds.property(index, wide)
        for number in {instance for n, instance in self.asked if n in shown}:
            rests |= self.bounds.step(number, guarded=not wide)
            for index in properties:
                rests |= self.bounds.breaks(self.program.instances[number], index)
        read = self._read(shown)
        free = [p for n, p in enumerate(self.places) if p.kind == "bag" and n not in rests.places]
        sites = [self.program.sites[site] for site in sorted(rests.cuts)]
        return Kept(
            places=[p for n, p in enumerate(self.places) if n in rests.places],
            cuts=list(dict.fromkeys(f"{self.program.actions[s.action]} is cut: {s.text} ({s.reason})" for s in sites)),
            constraints=[c.name for c in self.model.model.constraints],
            any_number=[place for place in free if place.leaves & read],
        )  # fmt: skip

    def reads(self, claim: int, instance: int) -> frozenset[int]:
        """The leaves that decide whether a step is taken and whether it breaks a claim."""
        step, index = self.program.instances[instance], self.findings[claim].claim.index
        found = frozenset[int]().union(*[support(event.condition) for event in step.events])
        if index is None:
            return found
        for leaf in self._read([claim]):
            found |= support(step.updates[leaf]) if leaf in step.updates else {leaf}
        return found.union(*[support(condition) for broken, condition in step.breaks if broken == index])

    def _read(self, claims: Iterable[int]) -> frozenset[int]:
        conditions = [self.program.properties[i].condition for c in claims
                      if (i := self.findings[c].claim.index) is not None]  # fmt: skip
        return frozenset().union(*[support(c) for c in conditions if c is not None])


def prove(model: BoundModel, options: ProofOptions, progress: Callable[[Progress], None] | None = None) -> Proof:
    """Prove the properties of a model that are about states and steps, with the help of its lemmas.

    `model` must be in force. A claim counts as proved only if the solver said so of every query about it.
    """
    provable = [p for p in model.model.properties if p.kind in PROVABLE]
    lemmas = [d for d in model.model.lemmas if d not in provable]
    program = compile_model(model.with_properties([*provable, *lemmas]), options.while_compiling())
    return prove_program(model, program, {d.name for d in lemmas}, options, progress)


def prove_program(
    model: BoundModel, program: Program, lemmas: set[str], options: ProofOptions,
    progress: Callable[[Progress], None] | None = None,
) -> Proof:  # fmt: skip
    """Prove the properties of a program of `model`, with the help of those among them that are called as `lemmas`."""
    claims = _claims(program, lemmas)
    run = _Run(model, program, claims, options, progress)
    timeout_s = options.timeout_s
    with pool(lambda: Prover(model, program, claims, timeout_s).work, options.jobs, options.deadline) as workers:
        try:
            run.prove(workers)
        except (KeyboardInterrupt, OutOfTime) as end:
            run.proof.stopped = options.why(end)
    return run.finished()


def unproved(model: BoundModel, program: Program, stopped: str) -> Proof:
    """The proof of a program that was stopped before it began."""
    run = _Run(model, program, _claims(program, set()), ProofOptions(), None)
    run.proof.stopped = stopped
    return run.finished()


def _claims(program: Program, lemmas: set[str]) -> list[Claim]:
    found = [Claim(p.name, "lemma" if p.name in lemmas else p.kind, i) for i, p in enumerate(program.properties)]
    return [*found, Claim(NO_ERROR, "runtime error", None), Claim(TYPES, "types", None)]


class _Run:
    """The rounds of one proof, driven from outside the workers."""

    def __init__(
        self, model: BoundModel, program: Program, claims: list[Claim], options: ProofOptions,
        progress: Callable[[Progress], None] | None,
    ) -> None:  # fmt: skip
        self.started = time.perf_counter()
        self.program, self.claims, self.progress = program, claims, progress
        self.initial = [tuple(model.state_type.encode(s)) for s in model.initial_states()]
        places = growing(model.state_type, program)
        self.proof = Proof(model, program, [Finding(c, UNKNOWN) for c in claims], places, jobs=options.jobs)
        self.reads = [self._support(claim) for claim in claims]
        self.asked: list[Query] = []
        self.done = 0

    def _support(self, claim: Claim) -> frozenset[int]:
        condition = self.program.properties[claim.index].condition if claim.index is not None else None
        return support(condition) if condition is not None else frozenset()

    def finished(self) -> Proof:
        self.proof.seconds = time.perf_counter() - self.started
        return self.proof

    def prove(self, workers: Pool) -> None:
        findings = self.proof.findings
        self._start()
        assumed = frozenset(n for n, f in enumerate(findings) if f.claim.assumable and f.initial is None)
        answers, assumed = self._rounds(workers, assumed)
        self.proof.asked = frozenset(answers)
        self._judge(answers)
        self._examples(workers, answers)
        self._widen(workers, answers, assumed)
        self._vacuous(workers, assumed)

    def _start(self) -> None:
        """The first half of induction: the initial states, taken one by one."""
        for finding in self.proof.findings:
            if finding.claim.assumable:
                condition = self.program.properties[finding.claim.index or 0].condition
                assert condition is not None
                broken = (codes for codes in self.initial if evaluate(condition, codes, {}, {}))
                finding.initial = next(broken, None)
                finding.verdict = UNKNOWN if finding.initial is None else REFUTED

    def _queries(self, claims: frozenset[int], assumed: frozenset[int]) -> list[Query]:
        """Every step that could break a claim: of those that leave alone what it reads nothing need be asked."""
        found = []
        for number, instance in enumerate(self.program.instances):
            errors = any(self.program.sites[e.site].kind is EventKind.ERROR for e in instance.events)
            breaks = {index for index, _ in instance.breaks}
            for n in sorted(claims):
                claim = self.claims[n]
                if claim.kind == "runtime error":
                    asked = errors
                elif claim.kind == "types":
                    asked = bool(instance.updates)
                elif claim.assumable:
                    asked = n in assumed and not self.reads[n].isdisjoint(instance.updates)
                else:
                    asked = claim.index in breaks
                if asked:  # the types stand on their own: each query starts from them
                    found.append(Query(n, number, frozenset() if claim.kind == "types" else assumed))
        return found

    def _rounds(self, workers: Pool, assumed: frozenset[int]) -> tuple[dict[tuple[int, int], Answer], frozenset[int]]:
        """(the last answer for each claim and instance, the claims that were shown and may be assumed).

        Lemmas are asked for once a proof uses them. What some step breaks, or may break for all the solver knows, is
        dropped, until all that is left is kept.
        """
        answers: dict[tuple[int, int], Answer] = {}
        wanted = frozenset(n for n, claim in enumerate(self.claims) if claim.kind != "lemma")
        queries = self._queries(wanted, assumed)
        while queries:
            for answer in self._ask(workers, queries):
                answers[answer.query.claim, answer.query.instance] = answer
            assumed -= {q.claim for q in queries if answers[q.claim, q.instance].verdict != PROVED}
            proved = [a for a in answers.values() if a.verdict == PROVED]
            queries = [
                Query(a.query.claim, a.query.instance, assumed) for a in proved
                if not a.used <= assumed and (a.query.claim in assumed or not self.claims[a.query.claim].assumable)
            ]  # fmt: skip
            used = frozenset[int]().union(*[a.used for a in proved]) & assumed - wanted
            wanted |= used
            queries += self._queries(used, assumed)
        for n in set(range(len(self.claims))) - wanted:
            self.proof.findings[n].verdict = UNUSED
        return answers, assumed & wanted

    def _ask(self, workers: Pool, queries: Sequence[Query]) -> Iterator[Answer]:
        """The answers, as they come; queries about one instance go to one worker."""
        batches: dict[int, list[Query]] = defaultdict(list)
        for query in queries:
            batches[query.instance].append(query)
        tasks = list(batches.values())
        self.asked += queries
        for number, found in workers.answers(tasks):
            if isinstance(found, Died):
                reason = str(found)
                found = [Answer(q, UNKNOWN, 0.0, reason=reason) for q in tasks[number]]
            for answer in found:
                finding = self.proof.findings[answer.query.claim]
                finding.queries += 1
                finding.seconds += answer.seconds
                finding.slowest = max(finding.slowest, answer.seconds)
                yield answer
            self.done += len(found)
            if self.progress is not None:
                self.progress(Progress(self.done, len(self.asked), time.perf_counter() - self.started))

    def _judge(self, answers: dict[tuple[int, int], Answer]) -> None:
        """A verdict for each claim, once the rounds are over."""
        by_claim: dict[int, list[Answer]] = defaultdict(list)
        for answer in answers.values():
            by_claim[answer.query.claim].append(answer)
        for n, finding in enumerate(self.proof.findings):
            verdicts = {a.verdict for a in by_claim[n]}
            if finding.initial is None and finding.verdict != UNUSED:
                finding.verdict = REFUTED if REFUTED in verdicts else UNKNOWN if UNKNOWN in verdicts else PROVED
                finding.reason = next((a.reason for a in by_claim[n] if a.verdict == UNKNOWN), "")
        direct = {n: frozenset[int]().union(*[a.used for a in by_claim[n]]) for n in range(len(self.claims))}
        for n, finding in enumerate(self.proof.findings):
            finding.rests_on = _closure(direct, n) - {n} if finding.verdict == PROVED else frozenset()
        if self.proof.findings[-1].verdict != PROVED:  # the types, which every query starts from
            for finding in self.proof.findings[:-1]:
                if finding.verdict == PROVED:
                    finding.verdict, finding.reason = UNKNOWN, f"not shown: {TYPES}"

    def _examples(self, workers: Pool, answers: dict[tuple[int, int], Answer]) -> None:
        """A counterexample for each claim that some step breaks: by the first such step in declared order."""
        broken: dict[int, Query] = {}
        for key in sorted(answers):
            if answers[key].verdict == REFUTED and self.claims[key[0]].kind != "types":
                broken.setdefault(key[0], answers[key].query)
        tasks = [Example(query, self.initial[0]) for query in broken.values()]
        for number, found in workers.answers(tasks):
            if not isinstance(found, Died):
                self.proof.findings[tasks[number].query.claim].counterexample = found

    def _widen(self, workers: Pool, answers: dict[tuple[int, int], Answer], assumed: frozenset[int]) -> None:
        """Find whether what was proved of a bounded network holds for one that keeps every message ever sent."""
        slots = frozenset(i for bag in self.program.bags for slot in bag.slots for i in slot)
        proved = {n for n, finding in enumerate(self.proof.findings) if finding.verdict == PROVED}
        used = {n: frozenset[int]().union(*[a.used for (c, _), a in answers.items() if c == n]) for n in proved}
        guarded = {i for i in range(len(self.program.instances)) if self.proof.bounds.guards(i)}
        queries = [
            Query(n, i, assumed, widened=True) for n, i in answers
            if n in proved and (i in guarded or (n in assumed and self.reads[n] & slots))
        ]  # fmt: skip
        failed = set(range(len(self.claims))) - proved
        for answer in self._ask(workers, queries):
            n = answer.query.claim
            used[n] |= answer.used
            failed |= {n} if answer.verdict != PROVED else set()
        found = {n: _closure(used, n) for n in proved}
        self.proof.any_number = {n: rests for n, rests in found.items() if not (rests | {n}) & failed}

    def _vacuous(self, workers: Pool, assumed: frozenset[int]) -> None:
        """Actions that no state with the proved invariants can take: of these the proof says nothing."""
        by_action: dict[int, list[int]] = {number: [] for number in range(len(self.program.actions))}
        for number, instance in enumerate(self.program.instances):
            by_action[instance.action].append(number)
        tasks = [Enabled(tuple(instances), assumed) for instances in by_action.values()]
        enabled = dict(workers.answers(tasks))
        self.proof.never = [self.program.actions[n] for n in sorted(enabled) if enabled[n] is False]


def _closure(used: dict[int, frozenset[int]], claim: int) -> frozenset[int]:
    """All claims that a proof rests on, by way of others."""
    found: set[int] = set()
    stack = list(used[claim])
    while stack:
        one = stack.pop()
        if one not in found:
            found.add(one)
            stack.extend(used[one])
    return frozenset(found)
