"""What must eventually happen, compiled: obligations, and which bindings of actions are fair.

Semantics, as in TLA+ (Lamport, Specifying Systems, chapter 8): a behaviour is infinite, and may stay in a
state for ever. Only fairness makes something happen: a weakly fair binding of an action is taken again and
again unless it is disabled again and again; a strongly fair one is taken again and again if it is enabled again and
again. So a state in which no fair binding is enabled, a deadlock for one, may be where everything ends.
A behaviour that again and again comes to a state where a fair step is cut by a bound, or leads outside a state
constraint, is no counterexample: the property then holds within bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checker.lang.ir import Node

LEADS_TO, EVENTUALLY = "leads-to", "eventually"
LIVENESS = (LEADS_TO, EVENTUALLY)
"""The kinds of properties that speak of behaviours without end."""

WEAK, STRONG = "weak", "strong"


@dataclass(frozen=True)
class Obligation:
    """A liveness property under one binding of its parameters: where `condition` holds, `goal` must come.

    property: index into `Program.properties`. condition None: in the initial states (`@eventually`).
    """

    property: int
    parameters: tuple[Any, ...]
    condition: Node | None
    goal: Node


@dataclass(frozen=True)
class Liveness:
    """obligations: by property, then by parameters.

    fairness: of the instances that are fair, (number of the fair binding, "weak" or "strong"). Instances that differ
    only in which member of a bag or sequence they take are one fair binding.
    """

    obligations: tuple[Obligation, ...]
    fairness: dict[int, tuple[int, str]]
