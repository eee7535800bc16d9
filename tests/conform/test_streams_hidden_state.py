"""Nothing that a core of Streams remembers can hide: each fault shows on one of several ways to the same state only."""

from __future__ import annotations

from typing import Any

import pytest

from checker.lang.loader import load
from impl.adapters.streams import SYSTEM, cluster, system
from impl.adapters.streams.state_rules import RULES
from impl.streams.coordinator import Answer, Coordinator, Effects
from impl.streams.member import Member
from impl.streams.messages import Done, ErrorCode, Heartbeat, SyncedGroup
from tests.conform.perturbed import unnoticed
from tests.conform.planted import is_found
from tests.conform.twins import left_out

OF_THE_LIBRARY = {"UUID.is_safe"}
"""Nothing compares it."""


class WearsOut(Coordinator):
    """After three heartbeats, it answers as if nothing were the matter."""

    heartbeats = 0

    def on_heartbeat(self, call: Any, request: Heartbeat, now_ms: int) -> Effects:
        self.heartbeats += 1
        effects = super().on_heartbeat(call, request, now_ms)
        return effects if self.heartbeats <= 3 else [Answer(call, Done(ErrorCode.NONE))]


class GivesUp(Member):
    """It takes four assignments, and no other."""

    taken = 0

    def on_synced(self, response: SyncedGroup, now_ms: int) -> Any:
        self.taken += 1
        return [] if self.taken > 4 else super().on_synced(response, now_ms)


@pytest.mark.long("a product for each")
@pytest.mark.parametrize("made", [WearsOut, GivesUp])
def test_is_found(made: type[Coordinator | Member], monkeypatch: pytest.MonkeyPatch) -> None:
    model = load("streams/probing", {"processes": "2"}, "repaired")
    assert is_found(made, (cluster, system), model, SYSTEM, monkeypatch)


@pytest.mark.long("every field is changed in every state, until that is noticed")
def test_every_field_that_is_not_left_out_is_noticed() -> None:
    model = load("streams/failover", {"processes": "2"}, "repaired")
    assert unnoticed(SYSTEM, [model], left_out(RULES) | OF_THE_LIBRARY) == set()
