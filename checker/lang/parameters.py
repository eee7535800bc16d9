"""Parameters of actions, and the values that they range over."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import itertools
import math
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from checker.lang.declare import Declared
from checker.lang.errors import SpecError
from checker.lang.ir import Member
from checker.lang.resolve import hints, resolve
from checker.lang.types import (
    BagType,
    MapType,
    RecordType,
    Scalar,
    SeqType,
    SetType,
    Type,
    UnionType,
)
from checker.lang.values import Arrangement, MemberOf, Permutation
from checker.lang.where import function_place

MAX_VALUES = 1024  # of one parameter of an action: each is compiled on its own
MAX_INITIAL = 1_000_000  # bindings of the parameters of @init


@dataclass(frozen=True)
class Parameter:
    """A parameter. `collection` is set for a member of a collection of the state, whose path is `path`.

    drawn: instead of a path, the helper that computes the set, from the state and the earlier parameters `drawn_from`.
    variant: of a union's members, only those of this kind. keyed: members of a map that are equal are not one:
    a fair action has a binding for each key. `candidates` is what its instances are bound to: values, or `Member(i)`.
    """

    name: str
    type: Type
    candidates: tuple[Any, ...]
    path: ast.expr | None = None
    collection: Type | None = None
    variant: RecordType | None = None
    keyed: bool = False
    drawn: Callable[..., Any] | None = None
    drawn_from: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """The collection that a member is taken from, as the spec has it; "" if the parameter ranges over a type."""
        if self.drawn is not None:
            return f"{self.drawn.__name__}(s{''.join(f', {name}' for name in self.drawn_from)})"
        return ast.unparse(self.path) if self.path is not None else ""

    def value(self, candidate: Any, state: Any, earlier: Mapping[str, Any]) -> tuple[bool, Any]:
        """(whether it is there, the value) that `candidate` stands for in `state`.

        A member that equals an earlier one is not there: each value is taken once.
        """
        if not isinstance(candidate, Member):
            return True, candidate
        members = self._members(state, earlier)
        if isinstance(self.collection, SetType):
            value = self.collection.members[candidate.index]
            return value in members, value
        listed = list(members.values()) if isinstance(self.collection, MapType) else list(members)
        if isinstance(self.collection, BagType):
            listed.sort(key=self.collection.element.key)
        if candidate.index >= len(listed):
            return False, None
        value = listed[candidate.index]
        wanted = self.variant is None or isinstance(value, self.variant.cls)
        return wanted and (self.keyed or value not in listed[: candidate.index]), value

    def _members(self, state: Any, earlier: Mapping[str, Any]) -> Any:
        if self.drawn is not None:
            return self.drawn(state, *[earlier[name] for name in self.drawn_from])
        assert self.path is not None
        return _walk(self.path, state, earlier)


def _walk(path: ast.expr, state: Any, earlier: Mapping[str, Any]) -> Any:
    if isinstance(path, ast.Name):
        return getattr(state, path.id)
    if isinstance(path, ast.Attribute):
        return getattr(_walk(path.value, state, earlier), path.attr)
    assert isinstance(path, ast.Subscript) and isinstance(path.slice, ast.Name)
    return _walk(path.value, state, earlier)[earlier[path.slice.id]]


def parameters_of(declared: Declared, state: RecordType | None) -> list[Parameter]:
    """The parameters after the state (all of them where `state` is None). Raises SpecError."""
    names = list(inspect.signature(declared.function).parameters)
    annotations = hints(declared.function)
    found: list[Parameter] = []
    for name in names[0 if state is None else 1 :]:
        where = f"{declared.kind} {declared.name}, parameter {name}"
        place = function_place(declared.function, name)
        if name not in annotations:
            raise SpecError(f"{where} has no type", place=place, hint=f"{name}: Broker")
        try:
            most = MAX_INITIAL if state is None else MAX_VALUES
            found.append(_fair(_parameter(name, annotations[name], where, state, found, most), declared.fair))
        except SpecError as error:
            raise SpecError(error.reason, hint=error.hint, place=error.place if error.place.file else place) from None
    count = math.prod(len(p.candidates) for p in found)
    if state is None and count > MAX_INITIAL:
        what = f"init {declared.name}: {count} bindings of its parameters, and at most {MAX_INITIAL} are tried"
        raise SpecError(what, place=declared.place, hint="shrink the constants, or let actions choose")
    return found


def _fair(found: Parameter, fair: str) -> Parameter:
    """A parameter of an action that is fair: of a map, equal members have a binding each."""
    return dataclasses.replace(found, keyed=True) if fair and isinstance(found.collection, MapType) else found


def fair_binding(parameters: Sequence[Parameter], bound: Sequence[Any]) -> tuple[Any, ...]:
    """The part of a binding that an action is fair to.

    Members of bags and sequences have no place of their own, they move as others come and go. So the action is fair to
    any of them: it is taken infinitely often for some member, where there is one infinitely often.
    """
    return tuple(
        candidate
        for parameter, candidate in zip(parameters, bound, strict=True)
        if not isinstance(parameter.collection, BagType | SeqType)
    )


def _parameter(
    name: str, hint: Any, where: str, state: RecordType | None, earlier: list[Parameter], most: int
) -> Parameter:
    marks = typing.get_args(hint)[1:] if typing.get_origin(hint) is Annotated else ()
    if Permutation in marks or Arrangement in marks:
        element = resolve(typing.get_args(typing.get_args(hint)[0])[0], where)
        if not isinstance(element, Scalar):
            raise SpecError(f"{where}: a permutation of {element}", hint="permute an identity or an enum")
        shortest = element.size if Permutation in marks else 0
        listed = sum(math.perm(element.size, n) for n in range(shortest, element.size + 1))
        orders = (o for n in range(shortest, element.size + 1) for o in itertools.permutations(element.domain(), n))
        return Parameter(name, SeqType(element, element.size), tuple(_few(orders, listed, where, most)))
    for mark in marks:
        if isinstance(mark, MemberOf):
            if state is None:
                raise SpecError(f"{where}: there is no state yet to take a member of", hint="range over a type")
            base, *others = typing.get_args(hint)
            rest = [m for m in others if m is not mark]
            declared = resolve(Annotated[base, *rest] if rest else base, where)
            if callable(mark.source):
                found = _drawn(name, mark.source, where, earlier)
            else:
                found = _member(name, mark.source, where, state, earlier)
            return _of_kind(found, declared, where)
    type_ = resolve(hint, where)
    count = type_.count
    if count is None:
        raise SpecError(
            f"{where}: {type_} has no finite list of values",
            hint='range over members of the state: Sent = Annotated[Message, MemberOf("network")]',
        )
    return Parameter(name, type_, tuple(_few(type_.values(), count, where, most)))


def _few(values: Iterable[Any], count: int, where: str, most: int) -> Iterable[Any]:
    if count > most:
        what = "compiled" if most == MAX_VALUES else "made"
        raise SpecError(
            f"{where}: {count} values, and at most {most} are {what}",
            hint="shrink the constants, or let it range over members of the state with MemberOf",
        )
    return values


def _drawn(name: str, helper: Callable[..., Any], where: str, earlier: list[Parameter]) -> Parameter:
    """A parameter that is drawn from the set which `helper` makes of the state and of earlier parameters."""
    example = f"def {name}s(s: S) -> Set[...], and MemberOf({name}s)"
    if not inspect.isfunction(helper) or helper.__name__ == "<lambda>":
        raise SpecError(f"{where}: {getattr(helper, '__name__', helper)} is not a helper", hint=f"write {example}")
    place = function_place(helper)
    given = hints(helper).get("return")
    collection = resolve(given, f"what {helper.__name__} returns") if given is not None else None
    if not isinstance(collection, SetType):
        raise SpecError(f"{where} is drawn from {helper.__name__}, which is not declared to return a set", place=place,
                        hint=example)  # fmt: skip
    names = list(inspect.signature(helper).parameters)[1:]
    unknown = [n for n in names if n not in [p.name for p in earlier]]
    if unknown or not inspect.signature(helper).parameters:
        raise SpecError(
            f"{where}: {helper.__name__} takes {', '.join(unknown) or 'nothing'}", place=place,
            hint="it takes the state, then earlier parameters of the action by their names",
        )  # fmt: skip
    members = tuple(map(Member, range(collection.size)))
    return Parameter(name, collection.element, members, None, collection, drawn=helper, drawn_from=tuple(names))


def _member(name: str, text: str, where: str, state: RecordType, earlier: list[Parameter]) -> Parameter:
    try:
        path = ast.parse(text, mode="eval").body
    except SyntaxError:
        raise SpecError(f"{where}: {text!r} is not a path into the state",
                        hint='MemberOf("channels[broker]")') from None  # fmt: skip
    collection = _path_type(path, where, state, {p.name: p for p in earlier})
    if isinstance(collection, SetType):
        return Parameter(name, collection.element, tuple(map(Member, range(collection.size))), path, collection)
    if isinstance(collection, BagType):
        return Parameter(name, collection.element, tuple(map(Member, range(collection.capacity))), path, collection)
    if isinstance(collection, SeqType):
        return Parameter(name, collection.element, tuple(map(Member, range(collection.length))), path, collection)
    if isinstance(collection, MapType):
        members = tuple(map(Member, range(len(collection.keys))))
        return Parameter(name, collection.value_type, members, path, collection)
    raise SpecError(f"{where}: {text} is a {collection}", hint="take a member of a set, bag, sequence or map")


def _of_kind(found: Parameter, declared: Type, where: str) -> Parameter:
    """The parameter with its declared type: that of the members, or one variant of theirs."""
    if (str(declared), declared.leaves) == (str(found.type), found.type.leaves):
        return found
    if isinstance(found.type, UnionType) and isinstance(declared, RecordType) and declared.cls in found.type.tags:
        candidates = found.candidates
        if isinstance(found.collection, SetType):
            members = found.collection.members
            candidates = tuple(c for c in candidates if isinstance(members[c.index], declared.cls))
        return dataclasses.replace(found, variant=declared, candidates=candidates)
    member = found.drawn.__name__ if found.drawn is not None else repr(found.source)
    raise SpecError(f"{where} is declared a {declared}, and {found.source} holds {found.type}",
                    hint=f"Annotated[{found.type}, MemberOf({member})]")  # fmt: skip


def _path_type(path: ast.expr, where: str, state: RecordType, earlier: Mapping[str, Parameter]) -> Type:
    if isinstance(path, ast.Name) and path.id in state.fields:
        return state.fields[path.id]
    if isinstance(path, ast.Attribute):
        holder = _path_type(path.value, where, state, earlier)
        if isinstance(holder, RecordType) and path.attr in holder.fields:
            return holder.fields[path.attr]
    if isinstance(path, ast.Subscript) and isinstance(path.slice, ast.Name) and path.slice.id in earlier:
        holder = _path_type(path.value, where, state, earlier)
        if isinstance(holder, MapType):
            return holder.value_type
    raise SpecError(
        f"{where}: {ast.unparse(path)} is nothing of the state",
        hint=f"start with one of its fields ({', '.join(state.fields)}); an index is an earlier parameter",
    )


def bindings(parameters: list[Parameter]) -> Iterator[tuple[Any, ...]]:
    """The bindings of an action's instances, in order."""
    return itertools.product(*[p.candidates for p in parameters])
