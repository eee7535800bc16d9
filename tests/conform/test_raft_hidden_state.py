"""Every field of the quorum under test is in its key, or seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from impl.adapters.raft import SYSTEM
from impl.adapters.raft.cluster import Quorum
from impl.adapters.raft.system import RaftUnderTest
from impl.kraft.raft import Raft
from tests.conform.perturbed import unnoticed
from tests.conform.test_raft_conforms import PINS


@pytest.mark.long("every field is changed in every state, until that is noticed")
def test_every_field_is_noticed() -> None:
    assert unnoticed(SYSTEM, (pin.load("kraft") for pin in PINS), ()) == set()


class Blind(RaftUnderTest):
    """It does not look at votes that were granted."""

    def key(self, system: Quorum) -> Any:
        return super().key(replace(system, votes={}))


@pytest.mark.long("as above")
def test_a_field_that_nobody_looks_at_is_named() -> None:
    assert "VoteResponse.vote_granted" in unnoticed(Blind(Raft), (pin.load("kraft") for pin in PINS), ())
