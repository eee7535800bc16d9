"""The contents of the znodes of pinning: what is written, what is read, and what of others' is refused."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.pinning.znodes import (
    Ready,
    id_path,
    read_next,
    read_ready,
    read_registration,
    ready_bytes,
    registration_bytes,
)
from impl.zookeeper.znodes import MOST_INT32, ZnodeError

READERS: tuple[Callable[[bytes], object], ...] = (read_next, read_ready)


def test_these_are_the_bytes_of_ready() -> None:
    assert ready_bytes(Ready(2)) == b"2"
    assert ready_bytes(Ready(2, 17)) == b'{"version":1,"brokerid":2,"request":17}'


@given(st.integers(0, MOST_INT32), st.none() | st.integers(0, 1 << 62))
def test_what_was_written_is_read(broker: int, request: int | None) -> None:
    assert read_ready(ready_bytes(Ready(broker, request))) == Ready(broker, request)
    assert read_next(b"%d" % broker) == broker


@pytest.mark.parametrize(
    ("read", "data"),
    [
        (read_next, b""),
        (read_next, b"x"),
        (read_next, b"-2"),
        (read_next, b"2147483648"),
        (read_next, b"9" * 5_000),
        (read_ready, b""),
        (read_ready, b"\xff"),
        (read_ready, b"[1]"),
        (read_ready, b"99999999999"),
        (read_ready, b'{"version":2,"brokerid":1,"request":1}'),
        (read_ready, b'{"version":1,"brokerid":true,"request":1}'),
        (read_ready, b'{"version":1,"brokerid":1}'),
        (read_ready, b"[" * 100_000),
    ],
)
def test_anything_else_is_refused(read: Callable[[bytes], object], data: bytes) -> None:
    with pytest.raises(ZnodeError, match=r"/admin/.* holds .*, expected"):
        read(data)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for read in READERS:
        try:
            read(data)
        except ZnodeError as error:
            assert str(error).startswith("/admin/")


@pytest.mark.parametrize(("host", "endpoint"), [("127.0.0.1", "127.0.0.1:9092"), ("::1", "[::1]:9092")])
def test_a_registration_is_read_as_it_was_written(host: str, endpoint: str) -> None:
    written = registration_bytes(host, 9092)
    assert json.loads(written)["endpoints"] == [f"PLAINTEXT://{endpoint}"]
    assert read_registration(id_path(1), written) == (host, 9092)
