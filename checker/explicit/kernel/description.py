"""The description of a kernel: what is needed besides its code, to JSON and from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from checker.explicit.kernel.coverage import CounterPlan
from checker.explicit.kernel.layout import Layout
from checker.lang.ir import Bag, EventKind, Kind, Leaf, Op, Site
from checker.lang.liveness import Liveness
from checker.lang.program import Program


@dataclass(frozen=True)
class KernelProperty:
    """Name and kind of a property, as in `ir.Property`."""

    name: str
    kind: str


@dataclass(frozen=True)
class KernelObligation:
    """An obligation: the index of its property, the number of its binding, and whether its condition is a state's.

    taken: the group whose steps are its goal, None where that is a state.
    """

    property: int
    number: int
    has_condition: bool
    taken: int | None = None


@dataclass(frozen=True)
class KernelGroup:
    """A group of steps. kind, instances: as of `StepGroup`; condition: its number among the conditions, if any."""

    kind: str
    instances: tuple[int, ...]
    condition: int | None = None


def describe(program: Program, plan: CounterPlan, record_outcomes: bool) -> dict[str, Any]:
    """The metadata that a kernel needs besides its code, as JSON."""
    numbers: dict[int, int] = {}
    instances = []
    for instance in program.instances:
        number = numbers.get(instance.action, 0)
        numbers[instance.action] = number + 1
        instances.append((instance.action, number))
    return {
        "leaves": [[v.path, v.kind.value, v.size, v.sort, v.slot, v.hidden] for v in program.leaves],
        "bags": [[bag.path, bag.slots] for bag in program.bags],
        "fresh": program.fresh_per_step,
        "actions": program.actions,
        "sites": [[s.kind.value, s.action, s.file, s.line, s.text, s.reason] for s in program.sites],
        "properties": [[p.name, p.kind] for p in program.properties],
        "instances": instances,
        "signatures": [[s.action, s.fired, [[e.site, e.counter, e.reached] for e in s.exits]] for s in plan.signatures],
        "counters": plan.size,
        "outcomes": record_outcomes,
        **_liveness(program.liveness or Liveness((), (), {})),
    }


def _liveness(liveness: Liveness) -> dict[str, Any]:
    """The obligations, groups, renewing instances and number of conditions, as `Kernel` has them."""
    bits = {node.serial: bit for bit, node in enumerate(liveness.conditions)}
    numbers: dict[int, int] = {}
    obligations = []
    for one in liveness.obligations:
        number = numbers.get(one.property, 0)
        numbers[one.property] = number + 1
        obligations.append((one.property, number, one.condition is not None, one.taken))
    groups = []
    for group in liveness.groups:
        never = group.condition is not None and group.condition.op is Op.CONST and not group.condition.data
        bit = None if group.condition is None else bits.get(group.condition.serial)
        groups.append((group.kind, () if never else group.instances, bit))
    renewing = [(instance, bits.get(node.serial)) for instance, node in liveness.renewing.items()]
    return {"obligations": obligations, "groups": groups, "renewing": renewing, "conditions": len(bits)}


def layout_of(metadata: Mapping[str, Any]) -> Layout:
    """The layout that `describe` described."""
    leaves = [
        Leaf(path, Kind(kind), size, sort, None if slot is None else (slot[0], slot[1]), hidden)
        for path, kind, size, sort, slot, hidden in metadata["leaves"]
    ]
    bags = [Bag(path, tuple(tuple(slot) for slot in slots)) for path, slots in metadata["bags"]]
    return Layout(leaves, bags, metadata["fresh"])


def sites_of(metadata: Mapping[str, Any]) -> list[Site]:
    """The sites that `describe` described."""
    return [Site(EventKind(kind), *rest) for kind, *rest in metadata["sites"]]
