"""Shrink a failing run: leave out what it does not need to break the same rule (delta debugging)."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace

from impl.kraft.simulation.cluster import simulation_of
from impl.kraft.simulation.histories import NotLinearizableError, WrongReadError
from impl.kraft.simulation.invariants import BrokenRuleError, NotRecoveredError
from impl.kraft.simulation.swarm import Plan, Swarm

CALM = Swarm(
    voters=3, uses_prevote=False, chaos_ms=0, tick_ms=10, delay_ms=1, flush_ms=1, segment_bytes=1 << 20,
    fetch_max_bytes=1 << 20, lost=0, twice=0, partition=0, kill=0, power_loss=0, append=0, resign=0, pause=0,
    disk_fault=0, full_disk=0, drift=0, reserve_bytes=0,
)  # fmt: skip


def failure(plan: Plan) -> str | None:
    """What a run of a plan breaks, without the numbers, which change as it shrinks; None: it breaks nothing."""
    try:
        simulation_of(plan).go()
    except (BrokenRuleError, NotLinearizableError, NotRecoveredError, WrongReadError) as error:
        return f"{type(error).__name__}: {str(error).partition(':')[0]}"
    except Exception as error:  # of a core or a storage: known by the function that raises it
        return f"{type(error).__name__} in {traceback.extract_tb(error.__traceback__)[-1].name}"
    return None


def shrunk(plan: Plan) -> Plan:
    """A plan that breaks the same rule, and no longer does without any one of its steps. Raises ValueError."""
    rule = failure(plan)
    if rule is None:
        raise ValueError(f"seed {plan.seed} breaks no rule: there is nothing to shrink")

    def fails(other: Plan) -> bool:
        return failure(other) == rule

    smaller = calmed(fewer_steps(plan, fails), fails)
    while smaller != plan:
        plan, smaller = smaller, calmed(fewer_steps(smaller, fails), fails)
    return plan


def fewer_steps(plan: Plan, fails: Callable[[Plan], bool]) -> Plan:
    """Leave out spans of steps, half of them at first, one at a time at last."""
    span = max(1, len(plan.schedule) // 2)
    while span:
        first = 0
        while first < len(plan.schedule):
            smaller = replace(plan, schedule=plan.schedule[:first] + plan.schedule[first + span :])
            if fails(smaller):
                plan = smaller
            else:
                first += span
        span //= 2
    return plan


def calmed(plan: Plan, fails: Callable[[Plan], bool]) -> Plan:
    """Let times, sizes and the network be calm, one after the other."""
    for calmer in calmer_swarms(plan):
        smaller = replace(plan, swarm=Swarm(**{**asdict(plan.swarm), **calmer}))
        if smaller != plan and fails(smaller):
            plan = smaller
    return plan


def calmer_swarms(plan: Plan) -> Iterator[dict[str, int | bool]]:
    """One field each. There are no fewer voters than the steps name, and the chaos ends behind the last step."""
    for name in Swarm.__dataclass_fields__:
        if name == "chaos_ms":
            yield {name: plan.schedule[-1].at_ms + 1 if plan.schedule else 0}
        elif name != "voters" or all(step.node < CALM.voters for step in plan.schedule):
            yield {name: getattr(CALM, name)}
