"""A compiled model: what the front end makes of a spec, and every engine reads."""

from __future__ import annotations

from dataclasses import dataclass, field

from checker.lang.ir import Bag, Instance, Leaf, Node, Property, Site
from checker.lang.liveness import Liveness


@dataclass
class Program:
    """A model, ready for an engine."""

    leaves: list[Leaf]
    bags: list[Bag]
    actions: list[str]
    sites: list[Site]
    instances: list[Instance]  # by action in declared order, then by parameters
    properties: list[Property]
    outside: Node  # the state breaks a state constraint
    terminal: Node  # a deadlock here is allowed
    fresh_per_step: dict[str, int] = field(default_factory=dict)  # sort -> most ordinals issued in one step
    quantifiers: dict[int, int] = field(default_factory=dict)
    """Nodes, by serial, that say: some members of a bag are such; and of how many at once they say it."""
    liveness: Liveness | None = None  # where there are such properties
