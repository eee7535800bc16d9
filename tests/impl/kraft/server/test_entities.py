"""The tags of headers are skipped, whatever they are; what ends within them is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.kraft.server.entities import NO_TAGS, without_tags
from impl.runtime.wire import WireError, uvarint

TAGS = st.lists(st.tuples(st.integers(0, 2**31 - 1), st.binary(max_size=300)), max_size=5)


@given(TAGS, st.binary(max_size=40))
def test_tags_are_skipped(tags: list[tuple[int, bytes]], body: bytes) -> None:
    written = b"".join(uvarint(tag) + uvarint(len(value)) + value for tag, value in tags)
    assert without_tags(uvarint(len(tags)) + written + body) == body


def test_no_tags_are_one_byte() -> None:
    assert without_tags(NO_TAGS + b"body") == b"body"


@pytest.mark.parametrize("data", [b"", b"\x01", b"\x01\x00\x05abcd", b"\x80", b"\xff" * 11], ids=repr)
def test_what_ends_within_the_tags_is_refused(data: bytes) -> None:
    with pytest.raises(WireError, match="tags of a header"):
        without_tags(data)
