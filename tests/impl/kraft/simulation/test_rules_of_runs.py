"""Rules of a run beside R1 to R10: each is broken by a core without what it asks for, within a few seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from impl.kraft.errors import ErrorCode
from impl.kraft.raft import Raft, RaftSettings, elections, leader
from impl.kraft.raft.effects import Answer, Claim, Committed
from impl.kraft.raft.log_ends import LogEnds
from impl.kraft.raft.messages import FetchResponse
from impl.kraft.raft.roles import Candidate, Leader, Resigned
from impl.kraft.raft.voter import Voter
from impl.kraft.simulation.shrinking import failure
from impl.kraft.simulation.swarm import Plan, cluster_plan_of, plan_of
from impl.kraft.storage.election import ElectionState
from impl.kraft.storage.sizes import SnapshotId

Patch = Callable[[pytest.MonkeyPatch], None]


def nothing_is_news(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(leader, "is_news", lambda voter, request: False)


def fetches_do_not_wait(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(leader, "answer_or_park", leader.answer)


def nobody_is_asked(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(elections, "ask_for_vote", lambda voter, other: None)


def nobody_waits(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Voter, "await_leader", lambda voter: None)


def everybody_is_heard(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Voter, "refusal", lambda voter, request, sender, voter_id: ErrorCode.NONE)


def whoever_is_named_leads(patch: pytest.MonkeyPatch) -> None:
    def hear_of(voter: Voter, epoch: int, named: int | None) -> None:
        if epoch > voter.epoch:
            voter.enter_epoch(epoch, named if named in voter.settings.others else None)
        elif epoch == voter.epoch and named not in (None, voter.node_id) and voter.election.leader is None:
            voter.learn_leader(named)

    patch.setattr(Voter, "hear_of", hear_of)


def a_resignation_is_not_heard(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(elections, "handle_end", lambda voter, request: voter.response(request))
    patch.setattr(leader, "resign", resign_silently)


def resign_silently(voter: Voter) -> None:
    voter.leave_office()
    voter.role = Resigned()
    voter.await_leader()


def all_must_have_it(patch: pytest.MonkeyPatch) -> None:
    def advance(voter: Voter) -> None:
        role = voter.role
        assert isinstance(role, Leader)
        end = min([voter.log.flushed_end, *role.ends.values()])
        if end > max(voter.high_watermark, role.epoch_start):
            is_first = voter.high_watermark <= role.epoch_start
            voter.high_watermark = end
            voter.ask_for(Committed(end), *([Claim(voter.epoch)] if is_first else []))
            leader.answer_parked(voter)

    patch.setattr(leader, "advance", advance)


def the_voters_are_not_told(patch: pytest.MonkeyPatch) -> None:
    persist = Voter.persist
    patch.setattr(Voter, "persist", lambda voter, state: persist(voter, without_voters(state)))


def without_voters(state: ElectionState) -> ElectionState:
    return replace(state, voters=())


def an_epoch_is_left_out(patch: pytest.MonkeyPatch) -> None:
    def stand(voter: Voter) -> None:
        voter.persist(ElectionState(voter.epoch + 2, None, voter.node_id, voter.settings.voters))
        voter.role = Candidate(frozenset({voter.node_id}))
        voter.await_leader()
        elections.ask(voter)

    patch.setattr(elections, "stand", stand)


def a_start_uses_an_epoch_up(patch: pytest.MonkeyPatch) -> None:
    begin = Raft.__init__

    def used_up(raft: Raft, settings: RaftSettings, stored: ElectionState | None, log: LogEnds) -> None:
        begin(raft, settings, stored, log)
        if stored is not None and stored.epoch == log.last_epoch:
            raft.voter.enter_epoch(stored.epoch + 1, None)

    patch.setattr(Raft, "__init__", used_up)


def an_append_of_another_epoch(patch: pytest.MonkeyPatch) -> None:
    append = Raft.append
    patch.setattr(Raft, "append", lambda raft, epoch, records, now_ms: append(raft, raft.voter.epoch, records, now_ms))


def fetches_are_refused_otherwise(patch: pytest.MonkeyPatch) -> None:
    leave = Voter.leave_office

    def leave_saying_something_else(voter: Voter) -> None:
        leave(voter)
        voter.effects = [
            replace(one, response=replace(one.response, error=ErrorCode.INVALID_TOPIC_EXCEPTION))
            if isinstance(one, Answer) and isinstance(one.response, FetchResponse)
            else one
            for one in voter.effects
        ]

    patch.setattr(Voter, "leave_office", leave_saying_something_else)


BROKEN: dict[str, tuple[Patch, str]] = {
    "nothing is news": (nothing_is_news, "fetches are answered"),
    "fetches do not wait": (fetches_do_not_wait, "fetches wait"),
    "nobody is asked": (nobody_is_asked, "asking"),
    "nobody waits": (nobody_waits, "timers"),
    "everybody is heard": (everybody_is_heard, "strangers"),
    "whoever is named leads": (whoever_is_named_leads, "strangers"),
    "a resignation is not heard": (a_resignation_is_not_heard, "nobody takes over"),
    "all must have it": (all_must_have_it, "a majority elects nobody"),
    "the voters are not told": (the_voters_are_not_told, "NotKafkaError"),
    "an epoch is left out": (an_epoch_is_left_out, "R10"),
    "a start uses an epoch up": (a_start_uses_an_epoch_up, "R10"),
    "an append of another epoch": (an_append_of_another_epoch, "appends"),
    "fetches are refused as they may not be": (fetches_are_refused_otherwise, "fetches are refused"),
}


@pytest.mark.sample(4)
@pytest.mark.parametrize(("patch", "says"), BROKEN.values(), ids=BROKEN)
def test_each_rule_can_be_broken(patch: Patch, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    patch(monkeypatch)
    require_broken((plan_of(seed) for seed in range(60)), says)


def require_broken(plans: Iterable[Plan], says: str) -> None:
    """One of the runs breaks a rule, and says so."""
    found: list[Any] = []
    for plan in plans:
        found.append(failure(plan))
        if found[-1] and says in found[-1]:
            return
    raise AssertionError(found)


def test_an_observer_that_hears_voters_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = Voter.refusal

    def heard(voter: Voter, request: Any, sender: int, voter_id: int | None) -> ErrorCode:
        return ErrorCode.NONE if voter.settings.is_observer else refusal(voter, request, sender, voter_id)

    monkeypatch.setattr(Voter, "refusal", heard)
    assert "strangers" in (failure(cluster_plan_of(1)) or "")


def no_snapshot_for_anybody(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LogEnds, "snapshot_for", lambda log, end_offset, last_epoch: None)


def older_snapshots_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    def note(log: LogEnds, snapshot_id: SnapshotId) -> None:
        log.snapshots = (snapshot_id,)

    patch.setattr(LogEnds, "note_snapshot", note)


@pytest.mark.parametrize(
    ("patch", "says"),
    [(no_snapshot_for_anybody, "fetches begin with a snapshot"), (older_snapshots_are_forgotten, "KIP-630")],
)
def test_rules_of_snapshots_can_be_broken(patch: Patch, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    patch(monkeypatch)
    require_broken((cluster_plan_of(seed) for seed in range(10)), says)
