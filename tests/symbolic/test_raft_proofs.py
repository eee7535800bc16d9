"""The quorum below KIP-631: that logs match (R3), proved for five voters. docs/findings/kip-595.md has three."""

from __future__ import annotations

import pytest

from checker.lang.loader import load
from checker.symbolic.induction import ProofOptions, prove
from checker.symbolic.results import PROVED, REFUTED

LOGS_MATCH, ONE_VOTE = "logs_of_voters_match", "one_vote_in_an_epoch"  # R3, and R7, on which it rests


def verdicts(*properties: str) -> dict[str, str]:
    model = load("kraft/raft_crash", {"controllers": "5"})
    asked = [p for p in model.model.properties if p.name in properties]
    proof = prove(model.with_properties(asked), ProofOptions(jobs=2, timeout_s=900))
    return {found.claim.name: found.verdict for found in proof.findings}


@pytest.mark.large("164 s of CPU")
def test_logs_of_five_voters_match() -> None:
    assert set(verdicts(LOGS_MATCH, ONE_VOTE).values()) == {PROVED}


@pytest.mark.large("two minutes of CPU")
def test_logs_do_not_match_where_a_voter_may_vote_twice() -> None:
    assert verdicts(LOGS_MATCH)[LOGS_MATCH] == REFUTED
