"""Faults planted in a spec: a fragment of an action, or of a helper it calls, changed. The files stay as they are."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from checker.explicit.check import CheckOptions, check
from checker.lang.loader import BoundModel, load, load_spec
from checker.lang.where import definition
from checker.mutate.mutants import changed, functions_of, mutated
from tests import fragments
from tests.conftest import ROOT, read_pins


@dataclass(frozen=True)
class Mutant:
    """In an action or helper of the model `new` stands for the fragment `old`, and the property breaks.

    Without `new` the fragment is left out. Fragments are compared as syntax: see tests.fragments.
    """

    breaks: str
    model: str
    function: str
    old: str
    new: str = ""
    changes: dict[str, str] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        return f"{self.model} {self.breaks}"


def planted(model: BoundModel, function: str, old: str, new: str) -> BoundModel:
    """The model with `new` for `old` (see tests.fragments) in its one function of that name."""
    [(found, actions)] = [(f, actions) for f, actions in functions_of(model).items() if f.__qualname__ == function]
    tree = definition(found)
    assert tree is not None
    return mutated(model, changed(model, actions, found, fragments.changed(tree, old, new)))


def assert_broken(design: str, mutant: Mutant) -> None:
    """The search finds that the mutant's property, claimed alone, is violated."""
    model = planted(load(f"{design}/{mutant.model}", mutant.changes), mutant.function, mutant.old, mutant.new)
    alone = model.with_properties([p for p in model.model.properties if p.name == mutant.breaks])
    report = check(alone, CheckOptions(threads=2), started=time.perf_counter())
    assert [p.name for p in report.properties if p.verdict == "violated"] == [mutant.breaks]


def never_broken(design: str, mutants: Iterable[Mutant]) -> set[str]:
    """What a design claims and no mutant breaks, and no pinned switch, setting or bug of the gallery."""
    broken = {m.breaks for m in mutants}
    for pin in read_pins(ROOT / "tests" / "pins.toml"):
        if pin.target.startswith(f"{design}/"):
            broken |= set(pin.expected.get("violated", {}))
    return {p.name for m in load_spec(design).models for p in m.properties if p.kind != "witness"} - broken
