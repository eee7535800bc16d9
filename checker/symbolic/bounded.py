"""Bounded model checking: every behaviour of up to K steps at once, as one formula.

Step k leads from state k to state k + 1 by the instance that the number `choice k` names. A violation is looked for
after 0 steps, 1 step, 2 steps, ...: the first that is found is a shortest one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import z3

from checker.lang.frontend import compile_model
from checker.lang.itf import to_itf
from checker.lang.loader import BoundModel
from checker.lang.program import Program
from checker.running.pool import Died, OutOfTime, pool
from checker.symbolic.encoding import State
from checker.symbolic.induction import PROVABLE, Progress, ProofOptions
from checker.symbolic.relation import Relation
from checker.symbolic.results import NO_ERROR
from checker.verdicts import INCOMPLETE, VIOLATED, WITHIN

SHORTEST = "shortest: no shorter behaviour breaks anything"


@dataclass(frozen=True)
class Run:
    """A behaviour: the codes of its states, and the instances between them.

    broken: the property that its end breaks, as a place in the program's properties; None: its last instance, which
    has no state after it, breaks down.
    """

    states: tuple[tuple[int, ...], ...]
    instances: tuple[int, ...]
    broken: int | None


@dataclass
class Bounded:
    """Results of an unrolling. clear: the longest behaviours, in steps, of which none breaks anything; -1: none.

    run: a shortest violation. stopped: why it ended before the bound, None if it did not.
    """

    model: BoundModel
    program: Program
    clear: int = -1
    run: Run | None = None
    stopped: str | None = None
    seconds: float = 0.0

    @property
    def broken(self) -> str:
        """The name of what the run breaks."""
        assert self.run is not None
        return NO_ERROR if self.run.broken is None else self.program.properties[self.run.broken].name

    @property
    def verdict(self) -> str:
        """The verdict: nothing is known of longer behaviours."""
        return VIOLATED if self.run is not None else INCOMPLETE if self.stopped is not None else WITHIN

    def to_json(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        return {
            "model": self.model.name,
            "constants": {name: to_itf(value) for name, value in self.model.constants.items()},
            "verdict": self.verdict,
            "clear_steps": self.clear,
            "violated": self.broken if self.run is not None else None,
            "trace_length": len(self.run.states) if self.run is not None else None,
            "stopped": self.stopped,
            "seconds": round(self.seconds, 4),
        }


def unroll(
    model: BoundModel, steps: int, options: ProofOptions, progress: Callable[[Progress], None] | None = None
) -> Bounded:
    """Look for a violation within `steps` steps. The model, which must be in force, is taken with all its bounds."""
    started = time.perf_counter()
    provable = model.with_properties([p for p in model.model.properties if p.kind in PROVABLE])
    program = compile_model(provable, options.while_compiling())
    result = Bounded(model, program)
    with pool(lambda: Unrolling(model, program, options.timeout_s).violation, 1, options.deadline) as workers:
        try:
            for number, found in workers.answers(range(steps + 1)):
                if found is not None:
                    if isinstance(found, Run):
                        result.run = found
                    else:
                        why = str(found) if isinstance(found, Died) else found
                        result.stopped = f"unknown after {number} steps: {why}"
                    break
                result.clear = number
                if progress is not None:
                    progress(Progress(number, steps, time.perf_counter() - started))
        except (KeyboardInterrupt, OutOfTime) as end:
            result.stopped = options.why(end)
    result.seconds = time.perf_counter() - started
    return result


class Unrolling:
    """The behaviours of a model up to some number of steps, one more with each call."""

    def __init__(self, model: BoundModel, program: Program, timeout_s: float | None) -> None:
        self.relation = Relation(model, program)
        self.program = program
        self.solver = z3.Solver()
        if timeout_s is not None:
            self.solver.set("timeout", max(1, round(timeout_s * 1000)))
        self.states: list[State] = [self.relation.encoding.state("0")]
        self.choices: list[Any] = []
        first = self.states[0]
        initial = [self.relation.equals(first, model.state_type.encode(s)) for s in model.initial_states()]
        self.solver.add(z3.Or(*initial), self.relation.typed(first))

    def violation(self, steps: int) -> Run | str | None:
        """A violation after exactly `steps` steps (called with 0, 1, 2, ...), the solver's reason for not knowing,
        or None where there is none."""
        if steps:
            self.extend()
        ends = self._ends()
        self.solver.push()
        self.solver.add(z3.Or(*[condition for condition, _, _ in ends], False))
        result = self.solver.check()
        reason = self.solver.reason_unknown() if result == z3.unknown else None
        run = self._run(self.solver.model(), ends) if result == z3.sat else None
        self.solver.pop()
        return run or reason

    def extend(self) -> None:
        """One more step, taken from a state inside the constraints."""
        before, number = self.states[-1], len(self.choices)
        relation, encoding = self.relation, self.relation.encoding
        instances = self.program.instances
        choice = z3.BitVec(f"choice {number}", max(1, (len(instances) - 1).bit_length()))
        taken = [choice == i for i in range(len(instances))]
        self.solver.add(relation.inside(before), z3.ULE(choice, len(instances) - 1))
        after = encoding.state(str(number + 1))
        values = list(before.leaves)
        for instance, chosen in zip(instances, taken, strict=True):
            self.solver.add(z3.Implies(chosen, relation.fires(instance, before)))
            for leaf, node in instance.updates.items():
                values[leaf] = z3.If(chosen, encoding.of(node, before), values[leaf])
        self.solver.add(*[a == b for a, b in zip(after.leaves, values, strict=True)], relation.typed(after))
        self.choices.append(choice)
        self.states.append(after)

    def _ends(self) -> list[tuple[Any, int | None, int | None]]:
        """(condition, property, instance): what the last state or step may break, or a further step break down in."""
        relation, last = self.relation, self.states[-1]
        found: list[tuple[Any, int | None, int | None]] = [
            (relation.encoding.of(p.condition, last), number, None)
            for number, p in enumerate(self.program.properties) if p.condition is not None
        ]  # fmt: skip
        for i, instance in enumerate(self.program.instances):
            for number, condition in instance.breaks if self.choices else ():
                broken = relation.encoding.of(condition, self.states[-2])
                found.append((z3.And(self.choices[-1] == i, broken), number, None))
            found.append((z3.And(relation.inside(last), relation.breaks_down(instance, last)), None, i))
        return found

    def _run(self, model: z3.ModelRef, ends: list[tuple[Any, int | None, int | None]]) -> Run:
        holds = (end for end in ends if z3.is_true(model.eval(end[0], model_completion=True)))
        _, broken, further = next(holds)
        states = tuple(tuple(self.relation.encoding.codes(model, state)) for state in self.states)
        instances = tuple(model.eval(c, model_completion=True).as_long() for c in self.choices)
        return Run(states, (*instances, *([further] if further is not None else [])), broken)
