"""Coverage counters, and what their counts say about actions and guards.

Instances of one action whose events come at the same sites share counters: one for each event that
can end the step, one for the step taken. Everything else is derived from these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from checker.lang.ir import EventKind, Instance, Op, Site

NONE = -1


@dataclass(frozen=True)
class Exit:
    """An event of a signature: its site, its counter, and the counter of how often it was reached (or NONE)."""

    site: int
    counter: int
    reached: int


@dataclass(frozen=True)
class Signature:
    """The part that instances of `action` with the same sequence of sites share; `fired`: a counter."""

    action: int
    fired: int
    exits: tuple[Exit, ...]


@dataclass
class ActionCoverage:
    """Counts of an action: tried, enabled (fired, cut or in error), and led to a state not seen before."""

    attempts: int = 0
    fired: int = 0
    cut: int = 0
    errors: int = 0
    new: int = 0

    @property
    def enabled(self) -> int:
        return self.fired + self.cut + self.errors


@dataclass
class SiteCoverage:
    """Counts of a site: evaluated, and ended the step."""

    evaluated: int = 0
    ended: int = 0


@dataclass
class CounterPlan:
    """The counters of a model. `of_instance[i]`: index into `signatures`."""

    signatures: list[Signature] = field(default_factory=list)
    of_instance: list[int] = field(default_factory=list)
    size: int = 1  # the first one is abi.OUTSIDE_COUNTER

    def new(self) -> int:
        self.size += 1
        return self.size - 1


def plan_counters(instances: Sequence[Instance], sites: Sequence[Site]) -> CounterPlan:
    """Assign the counters of all instances."""
    plan = CounterPlan()
    known: dict[tuple[object, ...], int] = {}
    for instance in instances:
        key = (instance.action, *[(e.site, e.reached.op is Op.CONST) for e in instance.events])
        if key not in known:
            known[key] = len(plan.signatures)
            exits = []
            for event in instance.events:
                kind = sites[event.site].kind
                counter = NONE if kind is EventKind.ABSENT else plan.new()
                partial = kind is EventKind.REQUIRE and event.reached.op is not Op.CONST
                exits.append(Exit(event.site, counter, plan.new() if partial else NONE))
            plan.signatures.append(Signature(instance.action, plan.new(), tuple(exits)))
        plan.of_instance.append(known[key])
    return plan


def generated(signatures: Sequence[Signature], counters: Sequence[int]) -> int:
    """Steps taken."""
    return sum(int(counters[s.fired]) for s in signatures)


def summarize(
    signatures: Sequence[Signature], sites: Sequence[Site], actions: int, counters: Sequence[int]
) -> tuple[list[ActionCoverage], list[SiteCoverage]]:
    """Coverage per action and per site. `counters`: the sums over all threads."""
    by_action = [ActionCoverage() for _ in range(actions)]
    by_site = [SiteCoverage() for _ in sites]
    for signature in signatures:
        counted = [e for e in signature.exits if e.counter != NONE]
        fired = int(counters[signature.fired])
        remaining = fired + sum(int(counters[e.counter]) for e in counted)
        action = by_action[signature.action]
        action.attempts += remaining
        action.fired += fired
        for e in counted:
            ended = int(counters[e.counter])
            by_site[e.site].evaluated += remaining if e.reached == NONE else int(counters[e.reached])
            by_site[e.site].ended += ended
            remaining -= ended
            if sites[e.site].kind is EventKind.CUT:
                action.cut += ended
            elif sites[e.site].kind is EventKind.ERROR:
                action.errors += ended
    return by_action, by_site
