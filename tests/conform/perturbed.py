"""Fields of a cluster changed one by one: whatever its key does not leave out has to show, or to change the key."""

from __future__ import annotations

import enum
import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from checker.conform.graph import slots_of
from checker.lang.loader import BoundModel
from impl.zookeeper.model import Tree
from tests.conform.twins import Walk

FAR = 1_000


@dataclass(frozen=True)
class Place:
    """A field of an object, and what it is called where rules are."""

    owner: Any
    field: str
    name: str


def names_of(value: Any) -> tuple[str, ...]:
    kind: type = type(value)
    return slots_of(kind) + tuple(getattr(value, "__dict__", ()))


def is_object(value: Any) -> bool:
    """It has fields of its own."""
    return not isinstance(value, enum.Enum | type) and bool(names_of(value))


def is_value(value: Any) -> bool:
    """It is never changed, so that others that hold it do not share it."""
    parameters = getattr(value, "__dataclass_params__", None)
    return parameters is not None and bool(parameters.frozen)


def clone(value: Any, forget: Collection[str], made: dict[int, tuple[Any, Any]] | None = None) -> Any:
    """A copy in which no two places hold one and the same value, but may hold one object. forget: fields to drop."""
    made = {} if made is None else made
    if isinstance(value, dict):
        items = {clone(key, forget, made): clone(part, forget, made) for key, part in value.items()}
        return items if type(value) is dict else type(value)(items)
    if isinstance(value, list | tuple | set | frozenset):
        parts = [clone(part, forget, made) for part in value]
        return tuple.__new__(type(value), parts) if isinstance(value, tuple) else type(value)(parts)
    if not is_object(value):
        return value
    if id(value) not in made:
        other = object.__new__(type(value))
        made[id(value)] = value, other
        for name in names_of(value):
            if name not in forget and hasattr(value, name):
                object.__setattr__(other, name, clone(getattr(value, name), forget, made))
    return made.pop(id(value))[1] if is_value(value) else made[id(value)][1]


def places(value: Any, left_out: Collection[str], where: str = "", seen: set[int] | None = None) -> Iterator[Place]:
    """The fields of all objects that can be reached but for those left out, in an order that is always the same.

    left_out: `Kind.field`, or `Kind.field.inner` where the value of a field has rules of its own.
    """
    seen = set() if seen is None else seen
    nested = {name.rpartition(".")[0] for name in left_out}
    if isinstance(value, Tree):
        for path, znode in sorted(value.items()):
            if f"znode.{path.rpartition('/')[0]}/" not in left_out:
                yield from places(znode, left_out, f"znode.{path}", seen)
    elif isinstance(value, list | tuple | set | frozenset | Mapping):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from places(part, left_out, where, seen)
    elif is_object(value) and id(value) not in seen:
        seen.add(id(value))
        for field in names_of(value):
            name, part = f"{where or type(value).__name__}.{field}", getattr(value, field, None)
            if name not in left_out and id(part) not in seen:  # else it is a part of another object, too
                yield Place(value, field, name)
                yield from places(part, left_out, name if name in nested else "", seen)


def others(value: Any) -> Iterator[Any]:
    """Other values of a field, some of which its rule takes for another than this."""
    match value:
        case bool():
            yield not value
        case enum.Enum():
            yield from (one for one in type(value) if one is not value)
        case int():
            yield from (value + FAR, value - FAR, 0)
        case str():
            yield value + "x"
        case bytes():
            yield value + b"0"
        case list() | tuple() | set() | frozenset() if not hasattr(value, "_fields"):
            yield type(value)(list(value)[1:] if value else [FAR])
        case dict():
            items = list(value.items())
            yield dict(items[1:]) if items else {FAR: FAR}
            yield dict(items[:-1])
        case None:
            yield FAR
        case _:
            yield None


def unnoticed(
    system: Any, models: Iterable[BoundModel], left_out: Collection[str], forget: Collection[str] = ()
) -> set[str]:
    """The fields that were changed in random states, always without another observation or key.

    left_out: fields that are not changed. forget: fields that hold what was made of an object before.
    """
    tried, noticed = set[str](), set[str]()
    for model in models:
        walk = Walk(model, system, random.Random(model.name))
        for cluster in clusters(walk):
            made = partial(clone, cluster, forget)
            names = [place.name for place in places(made(), left_out)]
            for number, name in enumerate(names):
                if name not in noticed:
                    tried.add(name)
                    changed = changes(made, left_out, number)
                    if any(is_noticed(walk, cluster, other) for other in changed):
                        noticed.add(name)
    return tried - noticed


def clusters(walk: Walk) -> Iterator[Any]:
    """An implementation in some states."""
    for _ in range(2):
        cluster = walk.begin()
        for _ in range(30):
            yield cluster
            step = walk.go_on()
            if step is None:
                break
            cluster, _ = step(cluster)


def changes(made: Callable[[], Any], left_out: Collection[str], number: int) -> Iterator[Any]:
    """Copies of a cluster, made by `made`, with other values in one of the places."""

    def place_in(cluster: Any) -> Place:
        return next(islice(places(cluster, left_out), number, None))

    place = place_in(made())
    for other in others(getattr(place.owner, place.field, None)):
        cluster = made()
        object.__setattr__(place_in(cluster).owner, place.field, other)
        yield cluster


def is_noticed(walk: Walk, before: Any, cluster: Any) -> bool:
    """Something else is compared than before; or the cluster cannot be read, as it is not what it should be."""
    try:
        return bool(walk.whole(cluster) != walk.whole(before))
    except Exception:  # any value stands in any field here: there is no telling how an adapter fails on it
        return True
