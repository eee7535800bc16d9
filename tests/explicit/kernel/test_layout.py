"""States into words and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker.explicit.kernel.layout import Layout, LayoutError
from checker.lang.ir import Bag, Kind, Leaf

PLAIN = st.one_of(
    st.just((Kind.BOOL, 0)),
    st.tuples(st.just(Kind.INT), st.one_of(st.integers(1, 40), st.integers(1, 1 << 40))),
    st.tuples(st.just(Kind.SET), st.integers(1, 64)),
    st.just((Kind.ORDINAL, 0)),
)


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    leaves = []
    for i, (kind, size) in enumerate(draw(st.lists(PLAIN, min_size=1, max_size=40))):
        sort = draw(st.sampled_from(("Epoch", "Offset"))) if kind is Kind.ORDINAL else ""
        leaves.append(Leaf(f"f{i}", kind, size, sort, hidden=draw(st.integers(0, 9)) == 0))
    slots = []
    for slot in range(draw(st.integers(0, 4))):
        slots.append((len(leaves), len(leaves) + 1))
        leaves.append(Leaf(f"bag[{slot}].kind", Kind.INT, 4, slot=(0, slot)))
        leaves.append(Leaf(f"bag[{slot}].to", Kind.SET, 30, slot=(0, slot)))
    return Layout(leaves, [Bag("bag", tuple(slots))] if slots else [], {})


@st.composite
def states(draw: st.DrawFn) -> tuple[Layout, list[int]]:
    layout = draw(layouts())
    codes = []
    for leaf, bits in zip(layout.leaves, layout.bits, strict=True):
        most = leaf.size - 1 if leaf.kind is Kind.INT else (1 << bits) - 1
        codes.append(draw(st.integers(0, most)))
    for bag in layout.bags:
        for slot in bag.slots:
            if codes[slot[0]] == 0:
                for i in slot:
                    codes[i] = 0
    return layout, layout.canonical(codes)


@given(states())
def test_round_trip(state: tuple[Layout, list[int]]) -> None:
    layout, codes = state
    words = layout.pack(codes)
    assert len(words) == layout.words
    assert all(0 <= word < 1 << 64 for word in words)
    assert layout.unpack(words) == codes
    assert layout.pack(layout.unpack(words)) == words


@given(layouts())
def test_fields_do_not_overlap_and_take_the_fewest_words(layout: Layout) -> None:
    taken = [0] * layout.words
    for field in layout.fields:
        for piece in field:
            mask = piece.mask << piece.shift
            assert mask < 1 << 64 and not taken[piece.word] & mask
            taken[piece.word] |= mask
    if not layout.bags:
        assert layout.words == max(1, -(-sum(layout.bits) // 64))


@given(states())
def test_slots_lie_in_one_piece_and_ascend(state: tuple[Layout, list[int]]) -> None:
    layout, codes = state
    words = layout.pack(codes)
    for slots in layout.slots:
        keys = []
        for (piece,) in slots:
            keys.append((words[piece.word] >> piece.shift) & piece.mask)
        full = [key for key in keys if key]
        assert keys == sorted(full) + [0] * (len(keys) - len(full))


def test_ordinals_count_by_rank_only() -> None:
    layout = Layout([Leaf(f"e{i}", Kind.ORDINAL, sort="Epoch") for i in range(4)], [], {})
    assert layout.pack([9, 0, 3, 9]) == layout.pack([2, 0, 1, 2])
    assert layout.unpack(layout.pack([9, 0, 3, 9])) == [2, 0, 1, 2]


def test_the_view_leaves_hidden_fields_out() -> None:
    layout = Layout([Leaf("a", Kind.INT, 8), Leaf("b", Kind.INT, 8, hidden=True)], [], {})
    (piece,) = layout.fields[1]
    assert layout.has_view
    assert layout.view[piece.word] == ~(7 << piece.shift) & (1 << 64) - 1


@pytest.mark.parametrize(
    ("leaves", "message"),
    [
        ([Leaf("s", Kind.SET, 65)], "s: a set of 65 possible members"),
        ([Leaf("b.kind", Kind.INT, 2, slot=(0, 0)), Leaf("b.to", Kind.SET, 64, slot=(0, 0))], "b: a slot takes 65"),
    ],
)
def test_what_does_not_fit_is_refused(leaves: list[Leaf], message: str) -> None:
    bags = [Bag("b", ((0, 1),))] if len(leaves) > 1 else []
    with pytest.raises(LayoutError, match=message):
        Layout(leaves, bags, {})


def test_a_code_out_of_range_is_refused() -> None:
    layout = Layout([Leaf("x", Kind.INT, 5)], [], {})
    with pytest.raises(LayoutError, match="x: code 8 does not fit 3 bits"):
        layout.pack([8])
    with pytest.raises(LayoutError, match="2 codes for 1 leaves"):
        layout.pack([1, 1])
