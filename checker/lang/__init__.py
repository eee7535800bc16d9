"""The language of specs. `from checker.lang import ...` loads the standard library only."""

from collections.abc import Set as AbstractSet
from typing import TypeAlias, TypeVar

from checker.lang.declare import (
    Bug,
    Declared,
    Model,
    action,
    assume,
    constants,
    constraint,
    fresh,
    init,
    invariant,
    message,
    record,
    replace,
    state,
    terminal,
    transition_invariant,
    witness,
)
from checker.lang.declare import deadlock_free as deadlock_free  # a property: a spec that means it imports it by name
from checker.lang.errors import SpecError
from checker.lang.inclusion import Inclusion
from checker.lang.instances import instance
from checker.lang.notes import Notes, TakenStep
from checker.lang.order import OrderedEnum, choose, fold
from checker.lang.refinement import refines
from checker.lang.temporal import (
    always_eventually,
    eventually,
    eventually_always,
    leads_to,
    strong_fairness,
    weak_fairness,
)
from checker.lang.values import (
    Arrangement,
    AtMost,
    Bag,
    History,
    Identity,
    Map,
    MemberOf,
    Nat,
    Ordinal,
    Permutation,
    Range,
    require,
    require_some,
)

_T = TypeVar("_T")
Option: TypeAlias = _T | None
Set: TypeAlias = AbstractSet[_T]
Seq: TypeAlias = tuple[_T, ...]

__all__ = [
    "Arrangement",
    "AtMost",
    "Bag",
    "Bug",
    "Declared",
    "History",
    "Identity",
    "Inclusion",
    "Map",
    "MemberOf",
    "Model",
    "Nat",
    "Notes",
    "Option",
    "OrderedEnum",
    "Ordinal",
    "Permutation",
    "Range",
    "Seq",
    "Set",
    "SpecError",
    "TakenStep",
    "action",
    "always_eventually",
    "assume",
    "choose",
    "constants",
    "constraint",
    "eventually",
    "eventually_always",
    "fold",
    "fresh",
    "init",
    "instance",
    "invariant",
    "leads_to",
    "message",
    "record",
    "refines",
    "replace",
    "require",
    "require_some",
    "state",
    "strong_fairness",
    "terminal",
    "transition_invariant",
    "weak_fairness",
    "witness",
]  # fmt: skip
