"""What may come between two operations of one script: all of it, in models that are small enough."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.conform.faults.patched import patched, put_back
from tests.impl.pinning import interleavings

MOST_STATES = 40_000
ONE_REQUEST = {"brokers": "2", "max_requests": "1"}
NO_REQUEST = {"brokers": "2", "max_requests": "0"}
LOST_REPLY = {"max_requests": "1"}


@pytest.mark.long("some thousand steps")
@pytest.mark.parametrize(
    ("model", "changes", "states", "ends"),
    [
        ("takeover", {**ONE_REQUEST, "max_crashes": "0", "max_unpins": "0"}, 210, 3),
        ("pin", {"brokers": "2", "max_crashes": "0"}, 1_925, 4),
    ],
)
def test_nothing_that_comes_between_does_harm(model: str, changes: dict[str, str], states: int, ends: int) -> None:
    found = interleavings.explored(model, changes)
    assert found.explore(MOST_STATES) == ("", [])
    assert (found.states, found.ends) == (states, ends)


@pytest.mark.long("some thousand steps")
@pytest.mark.parametrize(
    ("model", "changes", "states", "ends"),
    [
        ("pin", NO_REQUEST, 824, 8),
        ("lost_reply", LOST_REPLY, 7_206, 7),
        ("takeover", {**ONE_REQUEST, "max_unpins": "0"}, 20_799, 23),
    ],
)
def test_no_fault_within_a_script_does_harm(model: str, changes: dict[str, str], states: int, ends: int) -> None:
    """A crash, or a reply that is lost, at each operation of each script."""
    found = interleavings.explored(model, changes, preemptions=0)
    assert found.explore(MOST_STATES) == ("", [])
    assert (found.states, found.ends) == (states, ends)


@contextmanager
def explored_with(function: str, old: str, new: str) -> Iterator[Any]:
    """The explorer of an implementation with a fault in it."""
    with patched(function, old, new, "pinning"):
        kept = sys.modules.pop(interleavings.__name__)
        try:
            yield importlib.import_module(interleavings.__name__).explored
        finally:
            put_back({interleavings.__name__: kept})


FAULTS = [
    ("Office.resign", "znode is not None", "False", "repin", ONE_REQUEST, "P2"),
    ("Target.take_over", "member.seen.next_version", "-1", "takeover", {**ONE_REQUEST, "max_crashes": "0"}, "P2"),
]
"""Writes that do not check what was read before: a product that runs each script at once does not see these."""


@pytest.mark.long("some thousand steps each")
@pytest.mark.parametrize(("function", "old", "new", "model", "changes", "property_"), FAULTS)
def test_what_comes_between_is_found(
    function: str, old: str, new: str, model: str, changes: dict[str, str], property_: str
) -> None:
    with explored_with(function, old, new) as explored:
        wrong, way = explored(model, changes).explore(MOST_STATES)
    assert wrong.startswith(property_)
    assert any("take the request back" in step for step in way)


WITHIN = [
    ("Broker._reread", "is_idle and holder is None", "False", "lost_reply", LOST_REPLY, "the model never"),
    ("Broker._register", "member.set_timer(Timer.REGISTER, member.session_timeout_ms // 4)", "", "pin", NO_REQUEST,
     "broker"),
]  # fmt: skip
"""Faults that show only where a connection is lost, or a broker died, in the middle of a script."""


@pytest.mark.long("some thousand steps each")
@pytest.mark.parametrize(("function", "old", "new", "model", "changes", "what"), WITHIN)
def test_what_a_fault_within_a_script_leaves_undone_is_found(
    function: str, old: str, new: str, model: str, changes: dict[str, str], what: str
) -> None:
    with explored_with(function, old, new) as explored:
        wrong, way = explored(model, changes, preemptions=0).explore(MOST_STATES)
    assert wrong.startswith(what)
    assert any("loses its connection" in step or "dies" in step for step in way)
