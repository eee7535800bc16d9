"""States read off objects: every field is there, unknown ones as they are, and what cannot be read is refused."""

from __future__ import annotations

import enum
import random
import threading
from array import array
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

import pytest

from checker.conform.graph import Elsewhere, Free, Graph, LeftOut, UnreadableStateError, plain
from checker.conform.growth import RISES, rises
from checker.conform.system import Ordinal


class Colour(enum.Enum):
    RED = 1


class Point(NamedTuple):
    x: int
    y: int


class Slotted:
    __slots__ = ("__private", "unset", "value")

    def __init__(self, value: Any) -> None:
        self.value, self.__private = value, 7


class Derived(Slotted):
    """Slots of the base, and a dict besides."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.own = [value]


@dataclass(frozen=True)
class Term:
    number: int
    note: str = ""


@dataclass
class Server:
    term: Term
    peers: dict[str, Term] = field(default_factory=dict)
    clock_ms: int = 0
    shown: int = 0


RULES: Any = {
    Server: {"term": plain, "peers": plain, "clock_ms": LeftOut("a time"), "shown": Elsewhere("what is observed")},
    Term: {"number": lambda value, owner, graph: Ordinal("Term", value), "note": plain},
}


def read(value: Any, rules: Any = None) -> Any:
    return Graph(rules or {}).read(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ((1, "a", None, Colour.RED, UUID(int=3)), (1, "a", None, Colour.RED, UUID(int=3))),
        ([1, [2]], (1, (2,))),
        (deque([1, 2]), (1, 2)),
        ({2: "b", 1: "a"}, ((1, "a"), (2, "b"))),
        ({1: "a", "b": 2}, frozenset({(1, "a"), ("b", 2)})),
        ({1, 2}, frozenset({1, 2})),
        (bytearray(b"x"), b"x"),
        (Point(1, 2), ("Point", 1, 2)),
        (Slotted("v"), ("Slotted", Free(7), None, Free("v"))),
        (Derived("v"), ("Derived", Free(7), Free(("v",)), None, Free("v"))),
        (Server, f"{__name__}.Server"),
    ],
)
def test_every_value_has_a_structure(value: Any, expected: Any) -> None:
    assert read(value) == expected
    hash(read(value))


class Queue(deque[int]):
    """A builtin with a field of its own."""

    taken = 0


class Named(Point):
    """A named tuple with a dict."""


class Dice(random.Random):
    """An extension type's object with a field of its own."""

    thrown = 0


def counting() -> Counter[str]:
    return Counter({"a": 1})


def grouping() -> defaultdict[str, list[int]]:
    return defaultdict(list, {"a": [1]})


def roll(dice: Dice) -> None:
    dice.thrown += 1


CHANGES: list[tuple[Callable[[], Any], Callable[[Any], object]]] = [
    (counting, lambda one: one.update("a")),
    (grouping, lambda one: one["a"].append(2)),
    (lambda: OrderedDict(a=1, b=2), lambda one: one.move_to_end("a")),
    (lambda: Queue([1]), lambda one: one.append(2)),
    (lambda: Queue([1]), lambda one: setattr(one, "taken", 1)),
    (lambda: Named(1, 2), lambda one: setattr(one, "seen", True)),
    (lambda: array("i", [1]), lambda one: one.append(2)),
    (lambda: random.Random(1), lambda one: one.random()),
    (lambda: Dice(1), roll),
]


@pytest.mark.parametrize(("make", "change"), CHANGES)
def test_what_is_in_an_object_of_a_class_of_python_or_of_an_extension_is_there(
    make: Callable[[], Any], change: Callable[[Any], object]
) -> None:
    one = make()
    before = read(Server(Term(1), clock_ms=one))
    assert before == read(Server(Term(1), clock_ms=make()))
    change(one)
    after = read(Server(Term(1), clock_ms=one))
    assert after != before and hash(after) is not None


def test_rules_say_what_a_field_is() -> None:
    server = Server(Term(5), {"b": Term(6, "x")}, clock_ms=9, shown=4)
    structure = read(server, RULES)
    assert structure == ("Server", (("b", ("Term", "x", Ordinal("Term", 6))),), ("Term", "", Ordinal("Term", 5)))
    assert structure._fields == ("kind", "peers", "term")


def test_a_field_that_nobody_knows_is_there_as_it_is() -> None:
    server = Server(Term(5))
    before = read(server, RULES)
    server.counted = 3  # type: ignore[attr-defined]  # a field that no rule knows
    after = read(server, RULES)
    assert after != before and Free(3) in after


def test_an_immutable_object_is_read_once_and_a_mutable_one_each_time() -> None:
    graph, term, server = Graph(RULES), Term(5), Server(Term(1))
    assert graph.read([term])[0] is graph.read([term])[0]  # type: ignore[index]  # what is read of a list is one
    before = graph.read(server)
    server.term = Term(2)
    assert graph.read(server) != before


@dataclass(frozen=True)
class Holder:
    held: list[int]


def test_a_frozen_object_that_holds_a_mutable_one_is_not_taken_for_immutable() -> None:
    graph, holder = Graph({}), Holder([1])
    before = graph.read(holder)
    holder.held.append(2)
    assert graph.read(holder) != before


def test_a_circle_ends() -> None:
    server = Server(Term(1))
    server.back = server  # type: ignore[attr-defined]  # a field that leads back
    assert ("cycle", "Server") in read(server, RULES)


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (lambda: 1, "a function"),
        ([].append, "a function"),
        ((number for number in (1,)), "a generator"),
        (iter([1]), "an iterator"),
        (enum, "a part of the program"),
        (threading.Lock(), "of the type lock"),
        ({}.keys(), "of the type dict_keys"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_way_to_it(value: Any, what: str) -> None:
    server = Server(Term(1), {"b": Holder([value])})  # type: ignore[dict-item]  # another type than declared
    with pytest.raises(UnreadableStateError, match=rf"peers\['b'\]\.held\[0\] is {what}, whose state cannot be read"):
        read(server, RULES)


def test_a_rule_for_a_field_that_is_not_there_is_refused() -> None:
    with pytest.raises(UnreadableStateError, match="a Term without the fields nmber"):
        read(Term(1), {Term: {"nmber": plain}})


def test_a_field_without_a_rule_that_rises_each_time_grows() -> None:
    keys = [("s", Free(number)) for number in range(RISES + 1)]
    assert rises(keys) and rises([("s", Free((0,) * number)) for number in range(RISES + 1)])
    assert not rises(keys[1:])
    assert not rises([("s", Free(number % 3)) for number in range(RISES + 1)])
    assert not rises([("s", number) for number in range(RISES + 1)])


@pytest.mark.parametrize("make", [lambda n: {"heartbeats": n}, lambda n: Counter(a=n, b=7), lambda n: deque([5] * n)])
def test_a_count_within_a_field_grows_too(make: Callable[[int], Any]) -> None:
    def key(number: int) -> Any:
        server = Server(Term(1))
        server.counts = make(number)  # type: ignore[attr-defined]  # a field that no rule knows
        return read(server, RULES)

    assert rises([key(number) for number in range(RISES + 1)])
    assert not rises([key(number % 3) for number in range(RISES + 1)])
