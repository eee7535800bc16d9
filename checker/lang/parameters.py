"""What the parameters of an action range over."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import itertools
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from checker.lang.declare import Declared
from checker.lang.errors import SpecError
from checker.lang.ir import Member
from checker.lang.resolve import hints, resolve
from checker.lang.types import (
    BagType,
    MapType,
    OptionType,
    RecordType,
    Scalar,
    SeqType,
    SetType,
    Type,
    UnionType,
    code_count,
    universe,
)
from checker.lang.values import Arrangement, MemberOf, Permutation
from checker.lang.where import function_place

MAX_VALUES = 1024  # of one parameter: each is compiled on its own


@dataclass(frozen=True)
class Parameter:
    """A parameter. `collection` is set for a member of a collection of the state, whose path is `path`.

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

    def value(self, candidate: Any, state: Any, earlier: Mapping[str, Any]) -> tuple[bool, Any]:
        """(whether it is there, the value) that `candidate` stands for in `state`.

        A member that equals an earlier one is not there: each value is taken once.
        """
        if not isinstance(candidate, Member):
            return True, candidate
        assert self.path is not None
        members = _walk(self.path, state, earlier)
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
        if name not in annotations:
            place = function_place(declared.function, name)
            raise SpecError(f"{where} has no type", place=place, mend=f"{name}: Broker")
        try:
            found.append(_fair(_parameter(name, annotations[name], where, state, found), declared.fair))
        except SpecError as error:
            place = function_place(declared.function, name)
            raise SpecError(error.reason, mend=error.mend, place=place) from None
    return found


def _fair(found: Parameter, fair: str) -> Parameter:
    """A parameter of an action that is fair: of a map, equal members have a binding each."""
    return dataclasses.replace(found, keyed=True) if fair and isinstance(found.collection, MapType) else found


def fair_binding(parameters: Sequence[Parameter], bound: Sequence[Any]) -> tuple[Any, ...]:
    """What of a binding an action is fair to.

    Members of bags and sequences have no place of their own, they move as others come and go. So the action is fair to
    any of them: it is taken again and again for some member, where there is one again and again.
    """
    return tuple(
        candidate
        for parameter, candidate in zip(parameters, bound, strict=True)
        if not isinstance(parameter.collection, BagType | SeqType)
    )


def _parameter(
    name: str, hint: Any, where: str, state: RecordType | None, earlier: list[Parameter]
) -> Parameter:
    marks = typing.get_args(hint)[1:] if typing.get_origin(hint) is Annotated else ()
    if Permutation in marks or Arrangement in marks:
        element = resolve(typing.get_args(typing.get_args(hint)[0])[0], where)
        if not isinstance(element, Scalar):
            raise SpecError(f"{where}: a permutation of {element}", mend="permute an identity or an enum")
        shortest = element.size if Permutation in marks else 0
        orders = [o for n in range(shortest, element.size + 1) for o in itertools.permutations(element.domain(), n)]
        return Parameter(name, SeqType(element, element.size), tuple(_few(orders, len(orders), where)))
    for mark in marks:
        if isinstance(mark, MemberOf):
            if state is None:
                raise SpecError(f"{where}: there is no state yet to take a member of", mend="range over a type")
            base, *others = typing.get_args(hint)
            rest = [m for m in others if m is not mark]
            declared = resolve(Annotated[base, *rest] if rest else base, where)
            return _of_kind(_member(name, mark.path, where, state, earlier), declared, where, mark.path)
    type_ = resolve(hint, where)
    inner = type_.inner if isinstance(type_, OptionType) else type_
    if not isinstance(inner, Scalar | SetType | RecordType) or any(not leaf.size for _, leaf in type_.leaves):
        raise SpecError(
            f"{where}: {type_} has no finite list of values",
            mend='range over members of the state: Sent = Annotated[Message, MemberOf("network")]',
        )
    return Parameter(name, type_, tuple(_few(universe(type_), code_count(type_), where)))


def _few(values: Iterable[Any], count: int, where: str) -> Iterable[Any]:
    if count > MAX_VALUES:
        raise SpecError(
            f"{where}: {count} values, and at most {MAX_VALUES} are compiled",
            mend="shrink the constants, or let it range over members of the state with MemberOf",
        )
    return values


def _member(name: str, text: str, where: str, state: RecordType, earlier: list[Parameter]) -> Parameter:
    try:
        path = ast.parse(text, mode="eval").body
    except SyntaxError:
        raise SpecError(f"{where}: {text!r} is no path into the state", mend='MemberOf("channels[broker]")') from None
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
    raise SpecError(f"{where}: {text} is a {collection}", mend="take a member of a set, bag, sequence or map")


def _of_kind(found: Parameter, declared: Type, where: str, path: str) -> Parameter:
    """The parameter with its declared type: that of the members, or one variant of theirs."""
    if (str(declared), declared.leaves) == (str(found.type), found.type.leaves):
        return found
    if isinstance(found.type, UnionType) and isinstance(declared, RecordType) and declared.cls in found.type.tags:
        return dataclasses.replace(found, variant=declared)
    raise SpecError(f"{where} is declared a {declared}, and {path} holds {found.type}",
                    mend=f"Annotated[{found.type}, MemberOf({path!r})]")  # fmt: skip


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
        mend=f"start with one of its fields ({', '.join(state.fields)}); an index is an earlier parameter",
    )


def bindings(parameters: list[Parameter]) -> Iterator[tuple[Any, ...]]:
    """What the instances of an action are bound to, in order."""
    return itertools.product(*[p.candidates for p in parameters])
