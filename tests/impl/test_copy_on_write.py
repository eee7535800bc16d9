"""Dicts that share what they have in common are as dicts that share nothing."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impl.kraft import copy_on_write
from impl.kraft.copy_on_write import CopyOnWriteDict

WHICH, KEYS = st.integers(0, 5), st.integers(-3, 12) | st.sampled_from(["a", (1, 2), -(1 << 61)])
ACTS = st.one_of(
    st.tuples(st.just("copy"), WHICH),
    st.tuples(st.just("set"), WHICH, KEYS, st.integers(0, 2)),
    st.tuples(st.just("set"), WHICH, KEYS, st.integers(0, 2)),
    st.tuples(st.just("delete"), WHICH, KEYS),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(ACTS, max_size=40), st.sampled_from([1, 4, 64]))
def test_copies_change_on_their_own(acts: list[tuple[object, ...]], most: int) -> None:
    found: list[CopyOnWriteDict[object, object]] = [CopyOnWriteDict()]
    wanted: list[dict[object, object]] = [{}]
    with patch.object(copy_on_write, "MOST_A_CHUNK", most):
        for act in acts:
            match act:
                case ("copy", int(which)):
                    found.append(found[which % len(found)].copy())
                    wanted.append(dict(wanted[which % len(wanted)]))
                case ("set", int(which), key, value):
                    found[which % len(found)][key] = wanted[which % len(wanted)][key] = value
                case ("delete", int(which), key):
                    is_there = key in wanted[which % len(wanted)]
                    assert (key in found[which % len(found)]) == is_there
                    wanted[which % len(wanted)].pop(key, None)
                    if is_there:
                        del found[which % len(found)][key]
                    else:
                        with pytest.raises(KeyError):
                            del found[which % len(found)][key]
            assert [dict(one) for one in found] == wanted
            assert [len(one) for one in found] == [len(one) for one in wanted]
    for one, other in zip(found, wanted, strict=True):
        assert one == other and repr(one) == repr(dict(one))
        assert [one.get(key, "none") for key in range(13)] == [other.get(key, "none") for key in range(13)]
        for another, its in zip(found, wanted, strict=True):
            assert (one == another) == (other == its)


def test_a_change_after_a_copy_copies_a_small_part() -> None:
    many: CopyOnWriteDict[int, int] = CopyOnWriteDict()
    for number in range(10_000):
        many[number] = number
    other = many.copy()
    other[77] = 0
    copied = [chunk for chunk, shared in zip(other._chunks, many._chunks, strict=True) if chunk is not shared]
    assert len(copied) == 1 and len(copied[0]) <= copy_on_write.MOST_A_CHUNK
    assert many[77] == 77 and other[77] == 0
