"""From annotations to types, for the constants in force."""

from __future__ import annotations

import enum
import inspect
import sys
import types as python_types
import typing
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Annotated, Any

from checker.lang.errors import Place, SpecError
from checker.lang.graph import HIGHEST
from checker.lang.marks import MARK, RecordInfo, binding_version
from checker.lang.sizes import bound_of, check_width
from checker.lang.types import (
    MAX_MEMBERS,
    BagType,
    BoolType,
    BoundedSetType,
    EnumType,
    FixedOrdinalType,
    IdentityType,
    MapType,
    OptionType,
    OrdinalType,
    RangeType,
    RecordType,
    Scalar,
    SeqType,
    SetType,
    Type,
    UnionType,
)
from checker.lang.values import AtMost, Bag, History, Identity, Map, Nat, Ordinal, Range
from checker.lang.where import field_place, function_place

_cache: dict[tuple[int, Any], Any] = {}


def cached(key: Any, make: Any) -> Any:
    """Cache a function of the constants for as long as one binding is in force."""
    full = (binding_version(), key)
    if full not in _cache:
        for old in [k for k in _cache if k[0] != binding_version()]:
            del _cache[old]
        _cache[full] = make()
    return _cache[full]


def field_types(cls: type[Any]) -> dict[str, Type] | None:
    """The types of a record's fields; None before any model's constants are bound."""
    version = binding_version()
    if version == 0:
        return None
    found: RecordType = _cache.get((version, cls)) or record_type(cls)
    return found.fields


def record_type(cls: type[Any]) -> RecordType:
    """The type of a class marked `@record`, `@message` or `@state`. Raises SpecError for a field that is not a type."""
    found: RecordType = cached(cls, lambda: _make_record(cls))
    return found


_making: list[type[Any]] = []  # the records whose fields are being resolved, each inside the one before


def hints(cls: Any) -> dict[str, Any]:
    """Annotations with aliases resolved. Raises SpecError where a name is unknown."""
    try:
        return _class_hints(cls) if isinstance(cls, type) else typing.get_type_hints(cls, include_extras=True)
    except SpecError:
        raise
    except Exception as error:
        place = _unresolved_place(cls, error)
        raise SpecError(
            f"the annotations of {getattr(cls, '__name__', cls)} cannot be resolved: {error}",
            hint="every name in an annotation must be importable from its module", place=place,
        ) from None  # fmt: skip


def _class_hints(cls: type[Any]) -> dict[str, Any]:
    """The fields of a class and of those it inherits from. A lambda in a bound sees the names of its module.

    `typing.get_type_hints` of a class takes its body for the module, so that `Range(0, lambda: K.n)` finds no K.
    """
    found: dict[str, Any] = {}
    for owner in reversed(cls.__mro__):
        own = python_types.SimpleNamespace(__annotations__=inspect.get_annotations(owner))
        inner = {name: value for name, value in vars(owner).items() if isinstance(value, type)}
        module = vars(sys.modules.get(owner.__module__, python_types))
        found.update(typing.get_type_hints(own, module, inner, include_extras=True))
    return found


def _unresolved_place(cls: Any, error: Exception) -> Place | None:
    """The field or parameter whose annotation holds the name that is unknown."""
    unknown = getattr(error, "name", None) or ""
    names = [n for n, text in getattr(cls, "__annotations__", {}).items() if unknown and unknown in str(text)]
    if isinstance(cls, type):
        return field_place(cls, names[0] if names else None)
    return function_place(cls, names[0] if names else None)


def _make_record(cls: type[Any]) -> RecordType:
    info: RecordInfo = getattr(cls, MARK)
    fields = {}
    _making.append(cls)
    try:
        for name, hint in hints(cls).items():
            fields[name] = _field_type(cls, name, hint, info)
    finally:
        _making.pop()
    return RecordType(cls, fields, info.frozen)


def _field_type(cls: type[Any], name: str, hint: Any, info: RecordInfo) -> Type:
    where = f"{cls.__name__}.{name}"
    try:
        type_ = resolve(hint, where)
        if info.frozen:
            _require_value(type_, where, "a @message")
        return type_
    except SpecError as error:
        if error.place.file:
            raise
        raise SpecError(error.reason, hint=error.hint, place=field_place(cls, name)) from None


def history_fields(cls: type[Any]) -> list[str]:
    """The fields of a state that are marked `History`."""
    return [n for n, hint in hints(cls).items() if History in typing.get_args(hint)[1:]]


def _require_value(type_: Type, where: str, holder: str) -> None:
    """Values inside values must be immutable: a record inside them must be a @message, a map cannot be there."""
    inner = type_
    while isinstance(inner, OptionType | SeqType):
        inner = inner.inner if isinstance(inner, OptionType) else inner.element
    if isinstance(inner, BagType):
        what = "a set with a bound" if isinstance(inner, BoundedSetType) else "a bag"
        raise SpecError(f"{where}: {what} inside {holder}", hint="keep it in a field of the state or of a @record")
    if isinstance(inner, MapType) or (isinstance(inner, RecordType) and not inner.frozen):
        raise SpecError(
            f"{where}: {inner} can be changed in place, and {holder} holds values only",
            hint="declare the record with @message, or keep a map of the state itself",
        )


def resolve(hint: Any, where: str) -> Type:
    """The type that an annotation stands for. Raises SpecError that names `where`."""
    if isinstance(hint, type) and hint is not bool and not typing.get_origin(hint):
        return _class_type(hint, where)
    if hint is bool:
        return BoolType()
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return _annotated(args[0], args[1:], where)
    if origin in (typing.Union, python_types.UnionType):
        return _union(args, where)
    if isinstance(origin, type) and issubclass(origin, AbstractSet):
        return _set(resolve(args[0], where), where)
    if origin is Map:
        return _map(resolve(args[0], where), resolve(args[1], where), where)
    if origin is tuple and (len(args) != 2 or args[1] is not Ellipsis):
        raise SpecError(f"{where}: a tuple with a type for each place", hint="declare a @message with a field for each")
    if origin in (tuple, Bag):
        raise SpecError(
            f"{where}: how long may it grow?", hint="give it a bound: Log = Annotated[Seq[Entry], AtMost(3)]"
        )
    raise _no_type(hint, where)


def _no_type(hint: Any, where: str) -> SpecError:
    return SpecError(
        f"{where}: {getattr(hint, '__name__', hint)} is not a finite type",
        hint="use bool, an enum, Nat, Range, an Ordinal, an Identity, Option, Set, Map, Seq, Bag or a record",
    )


def _class_type(cls: type[Any], where: str) -> Type:
    if issubclass(cls, enum.Enum):
        _check_enum(cls, where)
        return EnumType(cls)
    if issubclass(cls, Identity) and cls is not Identity:
        if bound_of(cls._size, where, f"size of {cls.__name__}") < 1:
            raise SpecError(f"{where}: {cls.__name__} has no members", hint="its size must be at least 1")
        return _scalar(cls, IdentityType)
    if issubclass(cls, Ordinal) and cls is not Ordinal:
        return _scalar(cls, FixedOrdinalType if cls.is_fixed() else OrdinalType)
    if isinstance(cls.__dict__.get(MARK), RecordInfo):
        if cls in _making:
            raise SpecError(f"{where}: a {cls.__name__} inside a {cls.__name__} has no end",
                            hint="refer to another one by an identity, and keep them in a map")  # fmt: skip
        return record_type(cls)
    if cls is int:
        raise SpecError(f"{where}: an int without bounds", hint="Version = Annotated[int, Nat(5)], or Range(-1, 3)")
    raise _no_type(cls, where)


def _check_enum(cls: type[enum.Enum], where: str) -> None:
    """Refuse an enum that is not a plain list of names: with none, with two for one value, with values that combine."""
    if issubclass(cls, enum.Flag):
        raise SpecError(f"{where}: members of the Flag {cls.__name__} combine", hint="a Set of the members of an Enum")
    same = [name for name, member in cls.__members__.items() if member.name != name]
    if same:
        raise SpecError(f"{where}: {cls.__name__}.{same[0]} is {cls[same[0]]}: they have one value",
                        hint="give each member a value of its own")  # fmt: skip
    if not cls.__members__:
        raise SpecError(f"{where}: {cls.__name__} has no members", hint="an enum needs one at least")


def _scalar(cls: type[Any], make: Callable[[Any], Type]) -> Type:
    found: Type = cached(cls, lambda: make(cls))
    return found


_BOUNDED: dict[Any, type[SeqType | BagType]] = {tuple: SeqType, Bag: BagType, AbstractSet: BoundedSetType}
_NOUNS: dict[type[Type], str] = {SeqType: "a sequence", BagType: "a bag", BoundedSetType: "a set"}


def _annotated(base: Any, marks: tuple[Any, ...], where: str) -> Type:
    for mark in marks:
        if isinstance(mark, Nat):
            return _range(0, bound_of(mark.maximum, where, "maximum"), True, where)
        if isinstance(mark, Range):
            lowest, highest = bound_of(mark.lowest, where, "minimum"), bound_of(mark.highest, where, "maximum")
            return _range(lowest, highest, False, where)
        if isinstance(mark, AtMost):
            if typing.get_origin(base) is tuple and typing.get_args(base)[1:] != (Ellipsis,):
                return resolve(base, where)  # which is refused
            made = _BOUNDED.get(typing.get_origin(base))
            if made is None:
                hint = "Annotated[Set[Entry], AtMost(3)]"
                raise SpecError(f"{where}: AtMost bounds a Seq, a Bag or a Set", hint=hint)
            element = resolve(typing.get_args(base)[0], where)
            if made is not SeqType:
                _require_value(element, where, "a bag" if made is BagType else "a set")
            elif isinstance(element, BagType):
                raise SpecError(f"{where}: a sequence of bags", hint="keep a bag in a field of the state or a @record")
            length = bound_of(mark.length, where, "length")
            if length < 0:
                raise SpecError(f"{where}: at most {length} elements", hint="a length is 0 or more")
            check_width(length * element.width, where, f"{_NOUNS[made]} of {length}")
            return made(element, length)
    return resolve(base, where)


def _range(lo: int, hi: int, cuts: bool, where: str) -> RangeType:
    if hi < lo:
        raise SpecError(f"{where}: the range {lo}..{hi} is empty", hint="its maximum must not be below its minimum")
    if hi - lo > HIGHEST:
        raise SpecError(f"{where}: the range {lo}..{hi} has more numbers than 64 bits distinguish", hint="narrow it")
    return RangeType(lo, hi, cuts)


def _union(args: tuple[Any, ...], where: str) -> Type:
    parts = [a for a in args if a is not type(None)]
    if len(parts) == 1:
        inner = resolve(parts[0], where)
        if isinstance(inner, OptionType):
            raise SpecError(f"{where}: an Option of an Option", hint="one None is enough: use an enum for more cases")
        if isinstance(inner, BagType):
            raise SpecError(f"{where}: an Option of a {inner}", hint="an empty one is enough")
        return OptionType(inner)
    variants = [resolve(p, where) for p in parts]
    if not all(isinstance(v, RecordType) and v.frozen for v in variants):
        raise SpecError(f"{where}: a union of {', '.join(map(str, variants))}", hint="unions are of @message records")
    union = UnionType([v for v in variants if isinstance(v, RecordType)])
    return union if len(parts) == len(args) else OptionType(union)


def _map(key: Type, value: Type, where: str) -> MapType:
    if isinstance(key, Scalar):
        check_width(key.size * value.width, where, f"a map with {key.size} keys")
        return MapType(key, value)
    _require_value(key, where, "a key of a map")
    count = key.count
    if count is None:
        raise SpecError(
            f"{where}: {key} cannot be the key of a map",
            hint="keys are identities, enums, ranges, and sets and @message records of these: leave the ordinals out",
        )
    if count > MAX_MEMBERS:
        raise SpecError(f"{where}: a map with {count} keys, and at most {MAX_MEMBERS} fit", hint="shrink the constants")
    check_width(count * value.width, where, f"a map with {count} keys")
    return MapType(key, value)


def _set(element: Type, where: str) -> SetType:
    _require_value(element, where, "a set")
    count = element.count
    if count is None:
        raise SpecError(
            f"{where}: a set of {element}, of which there is no list: it holds ordinals",
            hint=f"bound how many are there at once: Annotated[Set[{element}], AtMost(4)]",
        )
    if count > MAX_MEMBERS:
        raise SpecError(
            f"{where}: a set over {count} possible members, and at most {MAX_MEMBERS} fit",
            hint=f"shrink the constants, or bound how many are there at once: Annotated[Set[{element}], AtMost(4)]",
        )
    return SetType(element)
