"""Liveness, compiled: obligations, and the groups of steps that fairness and goals refer to.

Semantics, as in TLA+ (Lamport, Specifying Systems, chapter 8): a behaviour is infinite, and may stay in a
state forever. Only fairness makes something happen: a weakly fair group of steps is taken infinitely often unless
it is disabled infinitely often; a strongly fair one is taken infinitely often if it is enabled infinitely often.
Fairness of A is about <<A>>_vars: a step that changes nothing is none, and where only such steps are possible the
group is disabled. So a state in which no fair group is enabled, a deadlock for one, may be where everything ends.
A behaviour that infinitely often reaches a state where a fair step is cut by a bound, or leads outside a state
constraint, is not a counterexample: the property then holds within bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checker.lang.ir import Node, Op

LEADS_TO, EVENTUALLY = "leads-to", "eventually"
ALWAYS_EVENTUALLY, EVENTUALLY_ALWAYS = "always eventually", "eventually always"
LIVENESS = (LEADS_TO, EVENTUALLY, ALWAYS_EVENTUALLY, EVENTUALLY_ALWAYS)
"""The kinds of properties of infinite behaviours."""

WEAK, STRONG = "weak", "strong"


@dataclass(frozen=True)
class Obligation:
    """A liveness property under one binding of its parameters: where `condition` holds, `goal` must come.

    property: index into `Program.properties`. condition None: in the initial states. taken: the number of a group:
    the goal is that a step of it is taken where `goal` holds. Of `@eventually_always`, `goal` must hold at last.
    """

    property: int
    parameters: tuple[Any, ...]
    condition: Node | None
    goal: Node
    taken: int | None = None


@dataclass(frozen=True)
class StepGroup:
    """Steps that are one to fairness or to a goal: <<P and (A or B)>>_vars. Steps that change nothing are not of it.

    kind: WEAK or STRONG, "" for a goal. instances: of actions. condition: P, None where it always holds.
    """

    kind: str
    instances: tuple[int, ...]
    condition: Node | None = None


@dataclass(frozen=True)
class Liveness:
    """obligations: by property, then by parameters. groups: the fair ones first.

    renewing: of the instances in groups that may leave an ordinal in the state that is new, where they do: such a step
    changes the state, although the state may be the same but for the numbers of ordinals.
    """

    obligations: tuple[Obligation, ...]
    groups: tuple[StepGroup, ...]
    renewing: dict[int, Node]

    @property
    def fair_instances(self) -> frozenset[int]:
        """The instances that some fairness refers to."""
        return frozenset(i for group in self.groups if group.kind for i in group.instances)

    @property
    def conditions(self) -> list[Node]:
        """The conditions on states that decide which steps are of which groups, each once."""
        asked = [group.condition for group in self.groups if group.condition is not None]
        found = {node.serial: node for node in [*asked, *self.renewing.values()]}
        return [node for node in found.values() if node.op is not Op.CONST]
