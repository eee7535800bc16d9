r"""Groups: the instances of actions that a fairness, or the goal of a property, refers to under each binding.

`fair="weak"` of an action is a group for each binding of its parameters (but for members of bags and sequences).
`@weak_fairness(send, receive)` is one for each binding of the fairness' own parameters: where an action has a
parameter of that name, it has that value, and its other parameters have any. So without parameters it is
WF_vars(\E x: A(x) \/ \E y: B(y)).
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from checker.lang.declare import Declared
from checker.lang.errors import SpecError
from checker.lang.ir import Member
from checker.lang.loader import BoundModel
from checker.lang.parameters import Parameter, bindings, fair_binding, parameters_of
from checker.lang.types import SetType
from checker.lang.where import definition


@dataclass(frozen=True)
class Group:
    """Instances of actions that are one to a fairness or to a goal.

    declared: the action that is fair, the fairness, or the property; binding: of its parameters (of a fair action,
    what of a binding it is fair to). instances: by number, in the order of all instances of the model.
    """

    declared: Declared
    binding: tuple[Any, ...]
    instances: tuple[int, ...]


def fair_groups(model: BoundModel) -> list[Group]:
    """The groups that are fair: by actions, then by the model's fairness. Raises SpecError."""
    found: dict[tuple[int, tuple[Any, ...]], list[int]] = {}
    actions = model.model.actions
    parameters = [model.parameters(action) for action in actions]
    for number, (action, bound) in enumerate(_instances(parameters)):
        if actions[action].fair:
            found.setdefault((action, fair_binding(parameters[action], bound)), []).append(number)
    own = [Group(actions[action], kept, tuple(numbers)) for (action, kept), numbers in found.items()]
    return [*own, *[group for declared in model.model.fairness for group in groups_of(model, declared)]]


def groups_of(model: BoundModel, declared: Declared) -> list[Group]:
    """The groups of a fairness, or of a property whose goal is a step: one for each binding. Raises SpecError."""
    own = parameters_of(declared, model.state_type)
    names = [action.name for action in declared.actions]
    numbers = [i for i, action in enumerate(model.model.actions) if action.name in names]
    parameters = [model.parameters(action) for action in model.model.actions]
    for number in numbers:
        for parameter in parameters[number]:
            _held(declared, model.model.actions[number], parameter, own)
    _no_stray_names(declared, own, [p.name for number in numbers for p in parameters[number]])
    listed = [(i, action, bound) for i, (action, bound) in enumerate(_instances(parameters)) if action in numbers]
    found = []
    for binding in bindings(own):
        given = dict(zip((p.name for p in own), binding, strict=True))
        alike = (i for i, action, bound in listed if _fits(parameters[action], bound, given))
        found.append(Group(declared, binding, tuple(alike)))
    return found


def _instances(parameters: Sequence[list[Parameter]]) -> list[tuple[int, tuple[Any, ...]]]:
    """(number of the action, what its parameters are bound to) of every instance, in order."""
    return [(number, bound) for number, listed in enumerate(parameters) for bound in bindings(listed)]


def _fits(parameters: Sequence[Parameter], bound: Sequence[Any], given: dict[str, Any]) -> bool:
    pairs = zip(parameters, bound, strict=True)
    return all(_value(p, candidate) == given[p.name] for p, candidate in pairs if p.name in given)


def _value(parameter: Parameter, candidate: Any) -> Any:
    """The value that a candidate is in every state."""
    if isinstance(candidate, Member):
        assert isinstance(parameter.collection, SetType)
        return parameter.collection.members[candidate.index]
    return candidate


def _held(declared: Declared, action: Declared, parameter: Parameter, own: Sequence[Parameter]) -> None:
    """Refuse a parameter of an action that cannot be held to that of the same name."""
    for other in own:
        if other.name != parameter.name:
            continue
        where = f"{declared.kind} {declared.name}, parameter {other.name}"
        if parameter.collection is not None and not isinstance(parameter.collection, SetType):
            raise SpecError(
                f"{where}: {action.name} takes a member of {parameter.source}, and what that is varies",
                place=declared.place, hint=f"leave {other.name} out: any member then counts",
            )  # fmt: skip
        if (str(parameter.type), parameter.type.leaves) != (str(other.type), other.type.leaves):
            raise SpecError(
                f"{where} is a {other.type}, and that of {action.name} a {parameter.type}", place=declared.place,
                hint=f"{other.name}: {parameter.type}",
            )  # fmt: skip


def _no_stray_names(declared: Declared, own: Sequence[Parameter], known: Sequence[str]) -> None:
    """Refuse a parameter that neither an action has nor the function reads: it is misspelt."""
    tree = definition(declared.function)
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} if tree is not None else set()
    for parameter in own:
        if parameter.name not in known and parameter.name not in read:
            listed = ", ".join(dict.fromkeys(known)) or "none"
            where = f"{declared.kind} {declared.name}, parameter {parameter.name}"
            raise SpecError(
                f"{where}: no action that it refers to has it, and nothing reads it", place=declared.place,
                hint=f"name it as in the actions ({listed}), or leave it out",
            )  # fmt: skip
