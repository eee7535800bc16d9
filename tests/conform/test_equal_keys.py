"""Keys hold all that decides: implementations with equal ones, each driven in the spec states of the others.

The exploration goes on with one of them, in all of these spec states. So a step has to lead all of them to equal keys,
and what the spec refuses, all of them have to refuse.
"""

from __future__ import annotations

from typing import Any

import pytest

from checker.conform.loading import load_system
from checker.conform.system import Refusal
from checker.lang.loader import load
from impl.adapters.kraft import KraftUnderTest
from impl.adapters.kraft.cluster import Cluster
from impl.adapters.kraft.core import PythonCore
from impl.adapters.kraft.processes import apply_metadata
from impl.adapters.kraft.system import STEPS
from tests.conform.alike import Alike


class SetsNothingApart(KraftUnderTest):
    """An adapter that says nothing of a registration which a broker has replayed before it hears of it."""

    def apart(self, system: Cluster) -> None:
        return None


def refuses_what_is_known(cluster: Cluster, arguments: Any, _: Any) -> Cluster | Refusal:
    """A broker that lacks nothing applies no metadata, whether or not another with its key does."""
    after = apply_metadata(cluster, arguments, _)
    return Refusal("it lacks nothing") if after == cluster else after


MODELS = [
    ("kraft/unfencing_ends", {"brokers": "1"}),
    ("kraft/lifecycle", {"max_crashes": "1", "max_failovers": "1"}),
    ("kraft/elections_end", {"max_failovers": "2"}),
    ("pinning/pin", {"max_crashes": "0"}),
    ("heartbeat/twins", {"records": "0", "max_expiries": "0", "max_silences": "0"}),
    ("group/join", {}),
    ("streams/probing", {"processes": "2"}),
    ("kraft/raft_torn", {"max_epoch": "3"}),
    ("kraft/raft_snapshot_torn", {"max_epoch": "3", "max_snapshots": "1"}),
]


@pytest.mark.long("every implementation of a key is driven, and in the spec states of the others")
@pytest.mark.sample(0, verify=4)
@pytest.mark.parametrize(("name", "changes"), MODELS, ids=[name for name, _ in MODELS])
def test_implementations_with_equal_keys_do_the_same(name: str, changes: dict[str, str]) -> None:
    system = load_system("raft" if name.startswith("kraft/raft") else name.partition("/")[0])
    assert Alike(load(name, changes), system).departures() == []


@pytest.mark.long("a whole product")
def test_a_key_that_lacks_what_decides_is_noticed() -> None:
    found = Alike(load(*MODELS[0]), SetsNothingApart(PythonCore())).departures()
    assert {call.split()[0] for call in found} == {"receive_registration_reply"}


@pytest.mark.long("a whole product")
def test_a_step_that_goes_by_more_than_the_key_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STEPS, "apply_metadata", refuses_what_is_known)
    found = Alike(load(*MODELS[0]), KraftUnderTest(PythonCore())).departures()
    assert {call.split()[0] for call in found} == {"apply_metadata"}
