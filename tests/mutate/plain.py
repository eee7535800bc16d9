"""Verdicts on mutants in plain Python, without the front end, the kernel or the comparison."""

from __future__ import annotations

from dataclasses import dataclass, field

from checker.lang.ir import EventKind
from checker.lang.loader import BoundModel
from checker.reference.step import Reference

Canonical = tuple[int, ...]


@dataclass
class Explored:
    """A whole exploration. level: of the first violation, None for none. seen: witnesses reached and actions fired."""

    level: int | None = None
    seen: set[str] = field(default_factory=set)
    edges: set[tuple[Canonical, int, Canonical]] = field(default_factory=set)
    states: set[Canonical] = field(default_factory=set)


def explore(model: BoundModel) -> Explored:
    """Breadth-first, up to the end of the level with the first violation."""
    reference, found = Reference(model), Explored()
    kinds = {kind: [p for p in model.model.properties if p.kind == kind]
             for kind in ("invariant", "transition invariant", "witness")}  # fmt: skip
    frontier, level = {reference.canonical(s): s for s in model.initial_states()}, 1
    while frontier and found.level is None:
        found.states |= set(frontier)
        after = {}
        for key, state in frontier.items():
            if not all(reference.evaluate(p, state) for p in kinds["invariant"]):
                found.level = level
            found.seen |= {p.name for p in kinds["witness"] if reference.evaluate(p, state)}
            for i, (number, _) in enumerate(reference.instances):
                step = reference.step(state, i)
                if step.ended is EventKind.ERROR:
                    found.level = level
                if step.ended is not None:
                    continue
                found.seen.add(reference.actions[number].name)
                successor = reference.canonical(step.state)
                found.edges.add((key, i, successor))
                if not all(reference.evaluate(p, state, step.state) for p in kinds["transition invariant"]):
                    found.level = found.level or level + 1
                if successor not in found.states:
                    after[successor] = step.state
        frontier, level = after, level + 1
    return found
