"""Houdini: of a set of candidates, the largest part that is inductive.

Every step is asked of all candidates at once: is there a state with all of them, from which it leads to one that
lacks some? Those that the state lacks are dropped. What no step breaks any more, assuming only what is left, is kept.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import z3

from checker.lang.interpret import evaluate
from checker.lang.ir import support
from checker.lang.loader import BoundModel
from checker.lang.program import Program
from checker.lemmas.mining import Candidate
from checker.running.pool import Died, pool
from checker.symbolic.induction import Progress, ProofOptions
from checker.symbolic.relation import Relation


@dataclass(frozen=True)
class Kept:
    """Effect of one instance on candidates: `dropped` it breaks, or may; of the rest it keeps all, given `used`."""

    dropped: frozenset[int]
    used: frozenset[int]


class Step:
    """One worker's solver. A task is (an instance, the candidates that are left)."""

    def __init__(
        self, model: BoundModel, program: Program, candidates: Sequence[Candidate], timeout_s: float | None
    ) -> None:
        self.relation = Relation(model, program)
        self.program, self.candidates = program, candidates
        self.before = self.relation.encoding.state("before")
        self.reads = [support(c.condition) for c in candidates]
        self.solver = z3.Solver()
        if timeout_s is not None:
            self.solver.set("timeout", max(1, round(timeout_s * 1000)))
        self.solver.add(self.relation.typed(self.before))
        self.solver.add(self.relation.inside(self.before))
        self.literals = [z3.Bool(f"candidate {n}") for n in range(len(candidates))]
        self.numbers = {str(literal): n for n, literal in enumerate(self.literals)}
        for literal, candidate in zip(self.literals, candidates, strict=True):
            broken = self.relation.encoding.of(candidate.condition, self.before)
            self.solver.add(z3.Implies(literal, z3.Not(broken)))

    def telling(self, candidates: Sequence[int]) -> list[int]:
        """Those that the types alone do not imply."""
        conditions = [self.relation.encoding.of(self.candidates[n].condition, self.before) for n in candidates]
        return [n for n, c in zip(candidates, conditions, strict=True) if self.solver.check(c) != z3.unsat]

    def kept(self, task: tuple[int, frozenset[int]]) -> Kept:
        number, left = task
        instance = self.program.instances[number]
        asked = [n for n in sorted(left) if not self.reads[n].isdisjoint(instance.updates)]
        after = self.relation.after(instance, self.before)
        self.solver.push()
        try:
            self.solver.add(self.relation.fires(instance, self.before))
            breaks = {n: z3.Bool(f"breaks {n}") for n in asked}
            for n, literal in breaks.items():
                self.solver.add(z3.Implies(literal, self.relation.encoding.of(self.candidates[n].condition, after)))
            return self._fixpoint(asked, left, breaks, after)
        finally:
            self.solver.pop()

    def _fixpoint(self, asked: Sequence[int], left: frozenset[int], breaks: dict[int, Any], after: Any) -> Kept:
        dropped, used = set[int](), set[int]()
        stack = [list(asked)]
        while stack:
            some = [n for n in stack.pop() if n not in dropped]
            if not some:
                continue
            goal = z3.FreshBool("goal")
            self.solver.add(z3.Implies(goal, z3.Or(*[breaks[n] for n in some])))
            result = self.solver.check(goal, *[self.literals[n] for n in sorted(left - dropped)])
            if result == z3.unsat:
                used |= {self.numbers[str(c)] for c in self.solver.unsat_core() if str(c) in self.numbers}
            elif result == z3.sat:
                codes = self.relation.encoding.codes(self.solver.model(), after)
                memo: dict[int, int] = {}
                dropped |= {n for n in some if evaluate(self.candidates[n].condition, codes, {}, memo)}
                stack.append(some)
            elif len(some) == 1:
                dropped |= set(some)
            else:
                stack += [some[: len(some) // 2], some[len(some) // 2 :]]
        return Kept(frozenset(dropped), frozenset(used))


@dataclass(frozen=True)
class Fixpoint:
    """The result of Houdini. asked: candidates that the types do not imply; kept: the inductive ones."""

    asked: int
    kept: frozenset[int]


def houdini(
    model: BoundModel, program: Program, candidates: Sequence[Candidate], options: ProofOptions,
    progress: Callable[[Progress], None] | None = None,
) -> Fixpoint:  # fmt: skip
    """The largest inductive part of `candidates`, each of which every initial state has.

    What the solver does not decide in time, or takes with it as its process ends, is dropped: what is left is
    inductive for sure. Raises OutOfTime.
    """
    started = time.perf_counter()

    def work_of() -> Callable[[Any], Any]:
        step = Step(model, program, candidates, options.timeout_s)
        return lambda task: step.kept(task) if isinstance(task, tuple) else step.telling(task)

    with pool(work_of, options.jobs, options.deadline) as workers:
        shares = [list(range(k, len(candidates), options.jobs)) for k in range(options.jobs)]
        left = frozenset(n for _, part in workers.answers(shares) if not isinstance(part, Died) for n in part)
        asked = len(left)
        kept: dict[int, Kept] = {}
        done = 0
        while todo := [i for i in _spread(program) if i not in kept or not kept[i].used <= left]:
            tasks = [(instance, left) for instance in todo]
            for number, answer in workers.answers(tasks):
                found = Kept(left, frozenset()) if isinstance(answer, Died) else answer  # then nothing is known
                kept[todo[number]] = found
                left -= found.dropped
                tasks[:] = [(instance, left) for instance in todo]  # of those that are yet to be given out
                done += 1
                if progress is not None:
                    open_ = sum(i not in kept or not kept[i].used <= left for i in todo)
                    progress(Progress(done, done + open_, time.perf_counter() - started))
    return Fixpoint(asked, left)


def _spread(program: Program) -> list[int]:
    """The instances, those of one action far apart: they break much the same, which is dropped once then."""
    seen: dict[int, int] = defaultdict(int)
    ranked = []
    for number, instance in enumerate(program.instances):
        ranked.append((seen[instance.action], number))
        seen[instance.action] += 1
    return [number for _, number in sorted(ranked)]
