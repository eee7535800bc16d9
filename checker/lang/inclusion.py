"""Inclusion of behaviours: all that can be seen of one model can be seen of another, whatever is hidden in either."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from checker.lang.declare import Model
from checker.lang.errors import Place, SpecError
from checker.lang.loader import BoundModel, Spec, bound, find, suggest
from checker.lang.where import assigned_place, caller_place


@dataclass(frozen=True)
class Inclusion:
    """Every behaviour of `model` looks like one of `within`.

    seen, seen_within: functions of a state of either model that give what can be seen of it, both as one message. Steps
    after which the same is seen as before do not count, on either side. Unlike a refinement it needs no mapping, so
    that `within` may do earlier, or in one step, what is done late and in many. from_any_state: a behaviour may look
    like the rest of one of `within`.
    """

    name: str
    doc: str
    model: Model
    within: Model
    seen: Callable[[Any], Any]
    seen_within: Callable[[Any], Any]
    source: str = ""
    from_any_state: bool = False

    place: Place = field(default_factory=Place, compare=False, repr=False)  # of the call that made it

    def __post_init__(self) -> None:
        object.__setattr__(self, "place", caller_place(2) if not self.place.file else self.place)


@dataclass(frozen=True)
class BoundInclusion:
    """An inclusion whose models have their constants. name: what the command line calls it."""

    name: str
    inclusion: Inclusion
    model: BoundModel
    within: BoundModel


def inclusions_of(spec: Spec) -> list[Inclusion]:
    """The inclusions that a spec lists as INCLUSIONS. Raises SpecError where these are something else."""
    listed = getattr(spec.module, "INCLUSIONS", ())
    if not isinstance(listed, list | tuple) or not all(isinstance(one, Inclusion) for one in listed):
        raise SpecError(f"INCLUSIONS of {spec.name} is no list of inclusions",
                        place=assigned_place(spec.module.__file__ or "", "INCLUSIONS"),
                        hint="INCLUSIONS = [Inclusion(...), ...]")  # fmt: skip
    names = [one.name for one in listed]
    for one in listed:
        if names.count(one.name) > 1:
            raise SpecError(f"two inclusions are called {one.name}", place=one.place, hint="rename one")
    return list(listed)


def load_inclusion(target: str, changes: Mapping[str, str] | None = None, setting: str | None = None) -> BoundInclusion:
    """The inclusion that `target` names: one of its spec's, or the first one.

    changes: NAME -> text of a value, for the models that have the constant: one of them at least. setting: of both
    models. Raises SpecError.
    """
    spec, name = find(target)
    listed = inclusions_of(spec)
    if not listed:
        raise SpecError(f"{spec.name} lists no inclusions", hint="INCLUSIONS = [Inclusion(...), ...]")
    chosen = [one for one in listed if name in (None, one.name)]
    if not chosen:
        raise SpecError(f"{spec.name} has no inclusion {name}",
                        hint=suggest(name or "", [one.name for one in listed], "inclusions"))  # fmt: skip
    one = chosen[0]
    sides = [
        bound(spec, model, f"{spec.name}/{model.name}", changes or {}, setting) for model in (one.model, one.within)
    ]
    for side in sides:
        if side.model.hide:
            raise SpecError(
                f"{side.name} hides {', '.join(side.model.hide)}: of states that differ only there one is explored",
                place=one.place, hint="compare models without `hide`",
            )  # fmt: skip
    return BoundInclusion(f"{spec.name}/{one.name}", one, sides[0].with_properties([]), sides[1].with_properties([]))
