"""One worker's solver: answers queries about single steps."""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import z3

from checker.lang.ir import Instance, support
from checker.lang.loader import BoundModel
from checker.lang.program import Program
from checker.symbolic.bounds import Bounds, growing
from checker.symbolic.encoding import State
from checker.symbolic.network import Network
from checker.symbolic.relation import Relation
from checker.symbolic.results import PROVED, REFUTED, UNKNOWN, Answer, Claim, Counterexample, Query

_NEARER_S = 5.0  # for making a counterexample like an initial state


@dataclass(frozen=True)
class Example:
    """Asks for a counterexample to a query that was refuted, as like the state with codes `near` as may be."""

    query: Query
    near: tuple[int, ...]


@dataclass(frozen=True)
class Enabled:
    """Asks whether any of these instances is taken from any state that has what is assumed."""

    instances: tuple[int, ...]
    assumed: frozenset[int]


class Prover:
    """The states that have the declared types and keep the constraints, the steps out of them, and what is claimed.

    Each claim that may be assumed hangs on a literal, so that an unsatisfiable core names the ones that a proof uses.
    """

    def __init__(self, model: BoundModel, program: Program, claims: Sequence[Claim], timeout_s: float | None) -> None:
        self.relation = Relation(model, program)
        self.program, self.claims = program, claims
        self.before = self.relation.encoding.state("before")
        self.solver = z3.Solver()
        if timeout_s is not None:
            self.solver.set("timeout", max(1, round(timeout_s * 1000)))
        self.solver.add(self.relation.typed(self.before), self.relation.inside(self.before))
        self.literals = {n: z3.Bool(f"claim {n}") for n, claim in enumerate(claims) if claim.assumable}
        for n, literal in self.literals.items():
            self.solver.add(z3.Implies(literal, z3.Not(self._broken(n, self.before))))
        self._network: Network | None = None

    def work(self, task: Any) -> Any:
        """Queries about one instance: their answers. An Example: a Counterexample or None. Enabled: a bool or None."""
        if isinstance(task, Example):
            return self._example(task)
        if isinstance(task, Enabled):
            return self._enabled(task)
        return [self._answer(query) for query in task]

    def _condition(self, claim: int) -> Any:
        index = self.claims[claim].index
        assert index is not None
        return self.program.properties[index].condition

    def _broken(self, claim: int, state: State) -> Any:
        """The state breaks an invariant."""
        return self.relation.encoding.of(self._condition(claim), state)

    def _goal(self, query: Query) -> Any:
        """The step breaks the claim."""
        claim, instance = self.claims[query.claim], self.program.instances[query.instance]
        relation, before = self.relation, self.before
        without = self._bounds.guards(query.instance) if query.widened else frozenset()
        if claim.kind == "runtime error":
            return relation.breaks_down(instance, before, without)
        fires = relation.fires(instance, before, without)
        if claim.kind == "types":
            return z3.And(fires, z3.Not(relation.keeps_types(before, relation.after(instance, before))))
        if not claim.assumable:
            [broken] = [condition for index, condition in instance.breaks if index == claim.index]
            return z3.And(fires, relation.encoding.of(broken, before))
        after = relation.after(instance, before)
        return z3.And(fires, self._broken(query.claim, self.network.after(after) if query.widened else after))

    @functools.cached_property
    def _bounds(self) -> Bounds:
        return Bounds(self.program, growing(self.relation.type, self.program))

    @property
    def network(self) -> Network:
        """The growing network, once it is asked for: from then on, what is assumed holds for every view of it."""
        if self._network is None:
            self._network = network = Network(self.relation, self.before)
            self.solver.add(network.typed)
            for n, literal in self.literals.items():
                for view in network.views(support(self._condition(n))):
                    self.solver.add(z3.Implies(literal, z3.Not(self._broken(n, view))))
        return self._network

    def _assumed(self, claims: frozenset[int]) -> list[Any]:
        return [self.literals[n] for n in sorted(claims)]

    def _answer(self, query: Query) -> Answer:
        started = time.perf_counter()
        goal = self._goal(query)
        used, reason = frozenset[int](), ""
        self.solver.push()
        try:
            self.solver.add(goal)
            itself = query.assumed & {query.claim}  # enough for most, and a proof is to rest on little
            result = self.solver.check(*self._assumed(itself))
            if result != z3.unsat and query.assumed != itself:
                result = self.solver.check(*self._assumed(query.assumed))
            if result == z3.unsat:
                used = self._needed()
            elif result == z3.unknown:
                reason = self.solver.reason_unknown()
        except z3.Z3Exception as error:
            result, reason = z3.unknown, str(error)
        finally:
            self.solver.pop()
        verdict = PROVED if result == z3.unsat else REFUTED if result == z3.sat else UNKNOWN
        return Answer(query, verdict, time.perf_counter() - started, used, reason)

    def _needed(self) -> frozenset[int]:
        """Of what was assumed in an unsatisfiable check, the claims without any of which it would not be."""
        needed = self._core()
        for claim in sorted(needed):
            if claim in needed and self.solver.check(*self._assumed(needed - {claim})) == z3.unsat:
                needed = self._core()
        return needed

    def _core(self) -> frozenset[int]:
        names = {str(literal) for literal in self.solver.unsat_core()}
        return frozenset(n for n, literal in self.literals.items() if str(literal) in names)

    def _example(self, task: Example) -> Counterexample | None:
        instance: Instance = self.program.instances[task.query.instance]
        self.solver.push()
        try:
            self.solver.add(self._goal(task.query), *self._assumed(task.query.assumed))
            if self.solver.check() != z3.sat:
                return None
            found = self._nearest(task.near)
            before = tuple(self.relation.encoding.codes(found, self.before))
            if self.claims[task.query.claim].kind == "runtime error":
                return Counterexample(task.query.instance, before, None)
            after = self.relation.encoding.codes(found, self.relation.after(instance, self.before))
            return Counterexample(task.query.instance, before, tuple(after))
        finally:
            self.solver.pop()

    def _nearest(self, near: Sequence[int]) -> z3.ModelRef:
        """A model that has one leaf after another as in `near`, as long as there still is a counterexample."""
        deadline = time.perf_counter() + _NEARER_S
        model = self.solver.model()
        for value, leaf, code in zip(self.before.leaves, self.program.leaves, near, strict=True):
            same = value == self.relation.encoding.value(leaf, code)
            if not z3.is_true(model.eval(same, model_completion=True)):
                if time.perf_counter() > deadline or self.solver.check(same) != z3.sat:
                    continue
                model = self.solver.model()
            self.solver.add(same)
        return model

    def _enabled(self, task: Enabled) -> bool | None:
        answer: bool | None = False
        for index in task.instances:
            self.solver.push()
            self.solver.add(self.relation.fires(self.program.instances[index], self.before))
            result = self.solver.check(*self._assumed(task.assumed))
            self.solver.pop()
            if result == z3.sat:
                return True
            answer = None if result == z3.unknown else answer
        return answer
