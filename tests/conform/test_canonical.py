"""Structures by rank: equal exactly where the ordinals stand in the same order."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from checker.conform.canonical import Canonical, Named, places, renumbered
from checker.conform.graph import Free
from checker.conform.system import Ordinal

SORTS = st.sampled_from(["Term", "Offset"])
ORDINALS = st.builds(Ordinal, SORTS, st.integers(0, 4))
LEAVES = st.one_of(ORDINALS, st.none(), st.booleans(), st.sampled_from(["BUSY", "NONE"]))
STRUCTURES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner, max_size=3), max_leaves=8
)
PAIRS = st.tuples(STRUCTURES, STRUCTURES)


def ordinals(node: Any) -> set[Ordinal]:
    if isinstance(node, Ordinal):
        return {node}
    return {o for part in node for o in ordinals(part)} if isinstance(node, tuple | frozenset) else set()


def renamed(node: Any, numbers: dict[Ordinal, int]) -> Any:
    if isinstance(node, Ordinal):
        return Ordinal(node.sort, numbers[node])
    if isinstance(node, tuple | frozenset):
        return type(node)(renamed(part, numbers) for part in node)
    return node


def together(pair: Any) -> Any:
    """The oracle: both parts with the ordinals of both by rank."""
    found = sorted(ordinals(pair))
    return renamed(pair, {o: [p for p in found if p.sort == o.sort].index(o) for o in found})


@given(PAIRS, PAIRS)
def test_pairs_are_equal_exactly_where_all_ordinals_stand_in_the_same_order(one: Any, other: Any) -> None:
    canonical = Canonical()
    assert (canonical.pair(*one) == canonical.pair(*other)) == (together(one) == together(other))


@given(PAIRS, st.lists(st.integers(1, 9), min_size=5, max_size=5))
def test_other_numbers_in_the_same_order_make_no_difference(pair: Any, gaps: list[int]) -> None:
    numbers = {o: sum(gaps[: o.value + 1]) for o in ordinals(pair)}
    canonical = Canonical()
    assert canonical.pair(*pair) == canonical.pair(*renamed(pair, numbers))
    assert canonical.of(pair[0]) == canonical.of(renamed(pair[0], numbers))


def test_what_does_not_show_is_placed_among_what_does() -> None:
    """Between the two that show, above them, or one of them: three states."""
    shown = (Ordinal("Term", 5), Ordinal("Term", 9))
    canonical = Canonical()
    found = {canonical.pair(shown, Ordinal("Term", value)) for value in (5, 6, 7, 9, 10, 11)}
    assert len(found) == 4 and len({look for look, _ in found}) == 1


class Broker(NamedTuple):
    epoch: Ordinal
    replicas: frozenset[int]


def test_places_have_names_and_the_numbers_of_the_other_side() -> None:
    spec = (Broker(Ordinal("Term", 3), frozenset({1})), None)
    system = (Broker(Ordinal("Term", 70), frozenset({1, 2})), Ordinal("Term", 90))
    found = list(places(spec, renumbered(system, spec)))
    assert found == [
        Named("[0].epoch", Ordinal("Term", 3), Ordinal("Term", 3)),
        Named("[0].replicas", frozenset({1}), frozenset({1, 2})),
        Named("[1]", None, Ordinal("Term", 4)),
    ]


def test_a_field_without_a_rule_is_one_place() -> None:
    assert list(places((Free(1),), (Free(2),))) == [Named("[0]", 1, 2)]
    assert list(places(Free((1, 5)), Free((1, 4)), "seen")) == [Named("seen[0]", 1, 1), Named("seen[1]", 5, 4)]
