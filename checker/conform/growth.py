"""Fields of an implementation that grow without bound, as far as an exploration can tell.

A field that no rule is about is in the key as it is. Where it only ever rises, a state that looks the same and differs
in nothing else is reached again and again, each time with more in that field, and the exploration has no end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from checker.conform.graph import FREE
from checker.conform.system import Structure

RISES = 6  # so often, one after the other on one way, nothing but the field may change


def rises(keys: Sequence[Structure]) -> bool:
    """Whether the keys along a way differ only in fields without a rule, one of which rises from each to the next."""
    last = skeleton(keys[-1])
    alike = [key for key in keys if skeleton(key) == last]
    if len(alike) <= RISES:
        return False
    sizes = [list(_sizes(key)) for key in alike[-RISES - 1 :]]
    return any(all(a < b for a, b in pairwise(size)) for size in zip(*sizes, strict=True))


def skeleton(node: Structure) -> Structure:
    """A structure without the values of fields that no rule is about."""
    if _is_free(node):
        return FREE
    if isinstance(node, tuple):
        return tuple([skeleton(part) for part in node])
    return frozenset([skeleton(part) for part in node]) if isinstance(node, frozenset) else node


def _is_free(node: Any) -> bool:
    return isinstance(node, tuple) and len(node) == 2 and node[1] == FREE


def _sizes(node: Any) -> Iterator[float]:
    """The measures of such values, in an order that is the same for alike structures outside of sets."""
    if _is_free(node):
        yield _count(node[0])
        yield _weight(node[0])
    elif isinstance(node, tuple):
        for part in node:
            yield from _sizes(part)


def _count(node: Any) -> float:
    """A number itself, and of all else how many parts it has."""
    return node if isinstance(node, int | float) else len(node)


def _weight(node: Any) -> float:
    """All numbers in a value, and how many parts there are: what rises where a count within it does."""
    if isinstance(node, int | float):
        return abs(node)
    if isinstance(node, tuple | frozenset):
        return len(node) + sum(map(_weight, node))
    return len(node) if isinstance(node, str | bytes) else 0
