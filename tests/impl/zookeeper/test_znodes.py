"""Data of znodes: what was written is read, and whatever else is there gets one message that says where and what."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.zookeeper.znodes import (
    MOST_INT32,
    ZnodeError,
    read_controller,
    read_decimal,
    read_id,
    read_int,
    read_json,
    write_controller,
    write_decimal,
    write_json,
)

PATH = "/admin/x"
objects = st.dictionaries(st.text(max_size=3), st.none() | st.integers() | st.text(max_size=3), max_size=3)


@given(st.integers(0, MOST_INT32))
def test_what_was_written_is_read(number: int) -> None:
    assert read_decimal(PATH, write_decimal(number)) == number
    assert read_controller(PATH, write_controller(number, now_ms=1)) == number


@given(st.integers(0, MOST_INT32))
def test_an_id_is_read_from_a_name(number: int) -> None:
    assert read_id(str(number)) == number


@pytest.mark.parametrize("name", ["", "-1", "one", "\u00b2", "\u0661", str(MOST_INT32 + 1), "9" * 5_000])
def test_a_name_that_is_no_id_is_none(name: str) -> None:
    """Python takes other digits than Kafka for a number, and raises at thousands of them."""
    assert read_id(name) is None


@given(st.binary(max_size=12) | st.integers().map(write_decimal))
def test_any_data_is_a_number_or_one_error(data: bytes) -> None:
    try:
        number = read_decimal(PATH, data)
    except ZnodeError as error:
        assert str(error).startswith("/admin/x holds ") and str(error).endswith(" to 2147483647")
    else:
        assert 0 <= number <= MOST_INT32 and int(data) == number


@given(st.binary(max_size=20) | objects.map(write_json) | objects.map(lambda o: write_json({"version": 1, **o})))
def test_any_data_is_a_known_version_or_one_error(data: bytes) -> None:
    try:
        value = read_json(PATH, data)
        read_int(PATH, data, value, "brokerid")
    except ZnodeError as error:
        assert str(error).startswith("/admin/x holds ")
    else:
        assert value == json.loads(data) and value["version"] == 1 and value["brokerid"] >= 0


@pytest.mark.parametrize(("read", "data", "message"), [
    (read_decimal, b"x" * 99, f"/admin/x holds '{'x' * 60}'..., expected a decimal number from 0 to 2147483647"),
    (read_decimal, b"1_0", "/admin/x holds '1_0', expected a decimal number from 0 to 2147483647"),
    (read_decimal, b"9" * 5000, f"/admin/x holds '{'9' * 60}'..., expected a decimal number from 0 to 2147483647"),
    (read_json, b"[" * 100_000, f"/admin/x holds '{'[' * 60}'..., expected a JSON object of version 1"),
    (read_json, b'{"version":2}', """/admin/x holds '{"version":2}', expected a JSON object of version 1"""),
    (read_json, b'{"version":true}', """/admin/x holds '{"version":true}', expected a JSON object of version 1"""),
    (read_json, b'{"version":[]}', """/admin/x holds '{"version":[]}', expected a JSON object of version 1"""),
    (read_controller, b'{"version":1,"brokerid":-1}',
     """/admin/x holds '{"version":1,"brokerid":-1}', expected 'brokerid' from 0 to 2147483647 in it"""),
])  # fmt: skip
def test_the_message_says_where_what_and_what_was_expected(
    read: Callable[[str, bytes], Any], data: bytes, message: str
) -> None:
    with pytest.raises(ZnodeError) as error:
        read(PATH, data)
    assert str(error.value) == message
