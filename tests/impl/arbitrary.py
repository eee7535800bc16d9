"""Values of any field, right and wrong: what a broken or hostile sender might put into a message."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from hypothesis import strategies as st

UUIDS = st.sampled_from([UUID(int=number) for number in (0, 1, 2, 1001, 2001, (1 << 128) - 1)])
LIKELY = st.integers(-2, 8)
EDGES = [
    bound + by for bits in (8, 16, 32, 64) for bound in (-(1 << bits - 1), (1 << bits - 1) - 1) for by in (-1, 0, 1)
]
NUMBERS = LIKELY | LIKELY | st.sampled_from([*EDGES, 1 << 300, -(1 << 300)])
NAMES = st.sampled_from(
    ["orders", "payments", "cluster", "min.insync.replicas", "metadata.version", "", "0", "1", "01", "²", "9" * 5000]
)
TEXTS = NAMES | NAMES | st.text(max_size=5) | st.sampled_from(["\ud800", "x" * 40_000, "é" * 20_000])
OTHERS: tuple[Any, ...] = (
    None,
    True,
    1.5,
    float("nan"),
    "1",
    b"1",
    (),
    [1],
    {},
    {1},
    object(),
    int,
    UUID(int=1),
    1 << 70,
    -1,
)
WRONG = st.sampled_from(OTHERS)
_OF_TYPE: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXTS, bool: st.booleans(), UUID: UUIDS, bytes: st.binary(max_size=3), type(None): st.none(),
    float: st.sampled_from([0.0, 1.0, 0.5, -1.0, 1e300, float("inf")]),
}  # fmt: skip


@cache
def of(hint: Any) -> st.SearchStrategy[Any]:
    """Values for a field of this type, of which one in some dozens is of another type."""
    return st.integers(0, 40).flatmap(lambda chance: WRONG if chance == 0 else right(hint))


@cache
def right(hint: Any) -> st.SearchStrategy[Any]:
    """Values that are of a type, but for parts of them that are not, and for numbers that are too large."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated or hint is int:
        return NUMBERS
    if origin in (Union, UnionType):
        return st.one_of([right(one) for one in arguments])
    if origin is tuple and arguments[1:] == (...,):
        return st.lists(of(arguments[0]), max_size=4).map(tuple)
    if origin is tuple:
        return st.tuples(*[of(one) for one in arguments])
    if is_dataclass(hint):
        hints = get_type_hints(hint, include_extras=True)
        make: Any = hint
        return st.builds(make, **{one.name: of(hints[one.name]) for one in fields(hint)})
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(list(hint))
    return _OF_TYPE[hint]
