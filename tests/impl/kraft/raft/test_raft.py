"""The core of the quorum where the models do not reach: times, pre-votes, observers, five voters, errors."""

from __future__ import annotations

from typing import TypeVar

import pytest

from impl.kraft.errors import ErrorCode
from impl.kraft.raft import Raft, RaftSettings
from impl.kraft.raft.effects import (
    Answer,
    AnswerFetch,
    AppendToLog,
    Claim,
    Committed,
    Effect,
    Effects,
    Flush,
    Persist,
    Renounce,
    Send,
    SetTimer,
    Timer,
    TruncateLog,
)
from impl.kraft.raft.errors import CommittedTruncationError, NotLeadingError
from impl.kraft.raft.log_ends import LogEnds
from impl.kraft.raft.messages import (
    UNKNOWN,
    UNTOLD,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    VoteRequest,
    VoteResponse,
)
from impl.kraft.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Unattached
from impl.kraft.storage.batches import Record, RecordBatch, encode
from impl.kraft.storage.election import ElectionState

THREE = (0, 1, 2)
DECIDED = (Record(b"decided"),)
Wanted = TypeVar("Wanted", bound=Effect)


def voter(
    stored: ElectionState | None = None,
    log: LogEnds | None = None,
    voters: tuple[int, ...] = THREE,
    *,
    uses_prevote: bool = True,
) -> Raft:
    raft = Raft(RaftSettings(0, voters, uses_prevote=uses_prevote), stored, log or LogEnds())
    raft.start(0)
    return raft


def of(kind: type[Wanted], effects: Effects) -> list[Wanted]:
    return [effect for effect in effects if isinstance(effect, kind)]


def granted(raft: Raft, by: int, *, pre_vote: bool = False, yes: bool = True, now_ms: int = 0) -> Effects:
    voter = raft.voter
    request = VoteRequest("", by, 0, voter.epoch, voter.log.last_epoch, voter.log.end_offset, pre_vote)
    return raft.on_response(by, request, VoteResponse(ErrorCode.NONE, None, voter.epoch, yes), now_ms)


def is_voted_for(effects: Effects) -> bool:
    """By the answer to a request for a vote."""
    [answer] = of(Answer, effects)
    assert isinstance(answer.response, VoteResponse)
    return answer.response.vote_granted


def leading(voters: tuple[int, ...] = THREE) -> Raft:
    """Voter 0, which leads epoch 1, with its LeaderChange on disk."""
    raft = voter(voters=voters, uses_prevote=False)
    raft.on_timer(Timer.ELECTION, 0)
    for other in voters[1 : len(voters) // 2 + 1]:
        granted(raft, other)
    raft.on_flushed(1, 0)
    return raft


def fetch(replica: int, offset: int, last_epoch: int = 1, *, epoch: int = 1, watermark: int = 0) -> FetchRequest:
    return FetchRequest("", replica, epoch, offset, last_epoch, watermark, 500, 1 << 20)


def batch(offset: int, epoch: int, records: int = 1) -> bytes:
    return encode(RecordBatch(offset, epoch, 0, DECIDED * records))


def following(end: int = 0) -> Raft:
    """Voter 0, which follows voter 1 in epoch 1 and has fetched a batch of so many records."""
    raft = voter(ElectionState(1, 1, None, THREE))
    if end:
        received(raft, FetchResponse(ErrorCode.NONE, 1, 1, 0, records=batch(0, 1, end)))
        raft.on_flushed(end, 0)
    return raft


def received(raft: Raft, response: FetchResponse | None, now_ms: int = 0) -> Effects:
    role = raft.voter.role
    assert isinstance(role, Follower) and role.fetching is not None
    return raft.on_response(1, role.fetching, response, now_ms)


# Elections.


def test_a_voter_asks_for_prevotes_before_it_raises_its_epoch() -> None:
    raft = voter()
    asked = of(Send, raft.on_timer(Timer.ELECTION, 1_000))
    assert [one.request for one in asked] == [VoteRequest("", other, 0, 0, 0, 0, pre_vote=True) for other in (1, 2)]
    assert isinstance(raft.voter.role, Prospective) and raft.voter.epoch == 0
    effects = granted(raft, 1, pre_vote=True)
    assert isinstance(raft.voter.role, Candidate)
    assert [type(effect) for effect in effects] == [Persist, SetTimer, Send, Send]


def test_who_would_not_be_voted_for_is_what_it_was_before() -> None:
    raft = following()
    raft.on_timer(Timer.ELECTION, 2_000)
    granted(raft, 1, pre_vote=True, yes=False)
    assert isinstance(raft.voter.role, Prospective)
    assert of(Send, granted(raft, 2, pre_vote=True, yes=False))[0].to == 1, "it fetches from its leader again"
    assert isinstance(raft.voter.role, Follower) and raft.voter.epoch == 1


def test_who_has_fetched_from_its_leader_would_vote_for_nobody_until_that_resigns() -> None:
    raft = following(end=1)
    question = VoteRequest("", 0, 2, 1, 1, 1, pre_vote=True)
    assert not is_voted_for(raft.handle(1, question, 0))
    [timer] = of(SetTimer, raft.handle(2, EndQuorumEpochRequest("", 1, 1, (2, 0)), 0))
    assert (timer.timer, timer.at_ms) == (Timer.ELECTION, 500), "the second of two successors"
    assert is_voted_for(raft.handle(3, question, 0))
    assert raft.voter.epoch == 1 and raft.voter.election.voted_for is None


def test_who_is_told_that_its_leader_leads_no_more_stands_soon_and_once() -> None:
    """As when all start again: who led has resigned by that."""
    raft = following()
    refused = FetchResponse(ErrorCode.NOT_LEADER_OR_FOLLOWER, 1, 1)
    assert SetTimer(Timer.ELECTION, 10, 1_000) in received(raft, refused, 10)
    raft.on_timer(Timer.RETRY, 30, 1)
    assert of(SetTimer, received(raft, refused, 30)) == [SetTimer(Timer.RETRY, 50, peer=1)]
    question = VoteRequest("", 0, 2, 1, 0, 0, pre_vote=True)
    assert is_voted_for(raft.handle(3, question, 40))


def test_who_refused_before_it_missed_its_leader_too_is_asked_again() -> None:
    """Of two followers of a leader that has died the first that asks is refused, and the second has the shorter log."""
    raft = following(end=1)
    raft.on_timer(Timer.ELECTION, 2_000)
    granted(raft, 2, pre_vote=True, yes=False)
    effects = raft.handle(3, VoteRequest("", 0, 2, 1, 0, 0, pre_vote=True), 2_010)
    assert of(Answer, effects) == [Answer(3, VoteResponse(ErrorCode.NONE, 1, 1, False))]
    assert of(Send, effects) == [Send(2, VoteRequest("", 2, 0, 1, 1, 1, pre_vote=True))]
    granted(raft, 2, pre_vote=True)
    assert isinstance(raft.voter.role, Candidate)


def test_what_a_leader_has_answered_before_it_resigned_puts_nobody_off() -> None:
    """It comes after the news, over another connection."""
    raft = following(end=1)
    raft.handle(1, EndQuorumEpochRequest("", 1, 1, (0, 2)), 0)
    late = received(raft, FetchResponse(ErrorCode.NONE, 1, 1, 1, records=batch(1, 1)))
    assert [type(effect) for effect in late] == [AppendToLog, Flush, Committed], "and its timer stays as it is"
    question = VoteRequest("", 0, 2, 1, 1, 2, pre_vote=True)
    assert is_voted_for(raft.handle(2, question, 0))


def test_followers_draw_when_they_stand_and_a_leader_that_resigns_tells_its_successor_last() -> None:
    """Who hears of it at once is refused by those that have not."""
    assert of(SetTimer, received(following(), FetchResponse(ErrorCode.NONE, 1, 1, 0))) == [
        SetTimer(Timer.ELECTION, 2_000, 500)
    ]
    raft = leading()
    raft.handle(1, fetch(2, 1, watermark=1), 10)
    news = EndQuorumEpochRequest("", 0, 1, (2, 1))
    assert of(Send, raft.resign(1, 20)) == [Send(1, news), Send(2, news)]


def test_a_refusal_is_no_vote_and_who_cannot_win_stands_again_soon() -> None:
    raft = voter(uses_prevote=False)
    raft.on_timer(Timer.ELECTION, 1_000)
    assert not granted(raft, 1, yes=False)
    assert granted(raft, 2, yes=False, now_ms=1_010) == [SetTimer(Timer.ELECTION, 1_010, 1_000)]
    assert isinstance(raft.voter.role, Candidate)


def test_a_candidate_asks_nobody_again_before_its_log_is_on_disk() -> None:
    raft = following()
    received(raft, FetchResponse(ErrorCode.NONE, 1, 1, 0, records=batch(0, 1)))
    raft.on_timer(Timer.ELECTION, 2_000)
    raft.on_response(2, VoteRequest("", 2, 0, 1, 1, 1, pre_vote=True), None, 2_000)
    granted(raft, 1, pre_vote=True, now_ms=2_000)
    assert isinstance(raft.voter.role, Candidate)
    assert not raft.on_timer(Timer.RETRY, 2_020, 2)
    assert [one.to for one in of(Send, raft.on_flushed(1, 2_030))] == [1, 2]


@pytest.mark.parametrize(("last", "is_granted"), [((1, 2), False), ((1, 3), True), ((0, 9), False), ((2, 1), True)])
def test_a_vote_is_for_a_log_that_is_as_good(last: tuple[int, int], is_granted: bool) -> None:
    raft = voter(ElectionState(1, None, None, THREE), LogEnds.recovered(3, [(1, 0)]))
    effects = raft.handle(1, VoteRequest("", 0, 2, 3, *last), 0)
    assert of(Answer, effects)[0].response == VoteResponse(ErrorCode.NONE, None, 3, is_granted)
    assert of(Persist, effects)[-1].state == ElectionState(3, None, 2 if is_granted else None, THREE)


def test_with_five_voters_who_knows_a_leader_does_not_vote_in_its_epoch() -> None:
    raft = voter(ElectionState(1, 1, None, (0, 1, 2, 3, 4)), voters=(0, 1, 2, 3, 4))
    [answer] = of(Answer, raft.handle(1, VoteRequest("", 0, 2, 1, 0, 0), 0))
    assert answer.response == VoteResponse(ErrorCode.NONE, 1, 1)


def test_a_single_voter_leads_by_its_own_vote_and_never_resigns_for_want_of_others() -> None:
    raft = voter(voters=(0,))
    effects = raft.on_timer(Timer.ELECTION, 0)
    assert isinstance(raft.voter.role, Leader) and not of(Send, effects)
    assert Timer.CHECK_QUORUM not in [timer.timer for timer in of(SetTimer, effects)]
    assert raft.on_flushed(1, 0) == [Committed(1), Claim(1)]


@pytest.mark.parametrize(
    ("stored", "log", "role", "epoch"),
    [
        (None, LogEnds(), Unattached, 0),
        (ElectionState(2, 0, 0, THREE), LogEnds(), Resigned, 2),
        (ElectionState(2, 1, None, THREE), LogEnds(), Follower, 2),
        (ElectionState(2, None, 0, THREE), LogEnds(), Candidate, 2),
        (ElectionState(2, None, 1, THREE), LogEnds(), Unattached, 2),
        (None, LogEnds.recovered(3, [(4, 0)]), Unattached, 5),
    ],
)
def test_a_voter_starts_in_the_role_of_its_file(
    stored: ElectionState | None, log: LogEnds, role: type, epoch: int
) -> None:
    """A file that is behind its log was lost, and with it the votes of the epochs up to there."""
    raft = Raft(RaftSettings(0, THREE), stored, log)
    effects = raft.start(0)
    assert isinstance(raft.voter.role, role) and raft.voter.epoch == epoch
    assert Timer.ELECTION in [timer.timer for timer in of(SetTimer, effects)]
    assert of(Persist, effects) == ([Persist(ElectionState(5, voters=THREE))] if epoch == 5 else [])


# A leader.


def test_a_leader_of_five_commits_what_three_have_on_disk() -> None:
    raft = leading(voters=(0, 1, 2, 3, 4))
    assert not of(Committed, raft.handle(1, fetch(1, 1), 0))
    assert of(Committed, raft.handle(2, fetch(2, 1), 0)) == [Committed(1)]


def test_a_leader_counts_itself_once_it_has_flushed() -> None:
    raft = leading()
    assert raft.append(1, DECIDED, 5) == [AppendToLog(encode(RecordBatch(1, 1, 5, DECIDED)), 1), Flush()]
    assert [type(effect) for effect in raft.append(1, DECIDED, 5)] == [AppendToLog], "one flush at a time"
    raft.handle(1, fetch(1, 3), 6)
    assert raft.voter.high_watermark == 1
    assert raft.on_flushed(2, 7) == [Flush(), Committed(2)]


def test_an_observer_is_served_and_counts_for_nothing() -> None:
    raft = leading()
    [served] = of(AnswerFetch, raft.handle(1, fetch(9, 0, 0), 0))
    assert (served.offset, served.response.high_watermark) == (0, 0)
    raft.handle(2, fetch(9, 1), 0)
    assert raft.voter.high_watermark == 0


def test_a_fetch_waits_for_a_batch_for_the_watermark_or_for_its_time() -> None:
    raft = leading()
    assert of(SetTimer, raft.handle(1, fetch(1, 1, watermark=1), 10)) == [SetTimer(Timer.PARKED, 510, peer=1)]
    assert [served.call for served in of(AnswerFetch, raft.append(1, DECIDED, 20))] == [1]
    raft.handle(2, fetch(1, 2, watermark=1), 30)
    assert [served.call for served in of(AnswerFetch, raft.on_flushed(2, 40))] == [2]
    raft.handle(3, fetch(1, 2, watermark=2), 50)
    assert [served.call for served in of(AnswerFetch, raft.on_timer(Timer.PARKED, 550, 1))] == [3]


def test_nobody_is_told_of_a_lower_watermark_than_it_knows_or_may_know() -> None:
    """A voter or broker of Kafka that was would end (FollowerState.updateHighWatermark)."""

    def told(raft: Raft, watermark: int) -> int:
        [served] = of(AnswerFetch, raft.handle(1, fetch(9, 0, 0, watermark=watermark), 0))
        return served.response.high_watermark

    raft = leading()
    assert (told(raft, -1), told(raft, 0), told(raft, 1), told(raft, UNTOLD)) == (0, 0, UNKNOWN, UNKNOWN)
    raft.handle(2, fetch(1, 1), 0)
    assert (told(raft, -1), told(raft, 1), told(raft, 2), told(raft, UNTOLD)) == (1, 1, UNKNOWN, 1)


def test_a_fetch_that_does_not_say_what_it_knows_waits() -> None:
    raft = leading()
    raft.handle(1, fetch(1, 1), 0)
    assert of(SetTimer, raft.handle(2, fetch(2, 1, watermark=UNTOLD), 10)) == [SetTimer(Timer.PARKED, 510, peer=2)]


def test_fetches_that_wait_are_refused_when_the_leader_resigns() -> None:
    """KAFKA-10677."""
    raft = leading()
    raft.handle(7, fetch(1, 1, watermark=1), 10)
    effects = raft.resign(1, 20)
    assert of(Answer, effects) == [Answer(7, FetchResponse(ErrorCode.NOT_LEADER_OR_FOLLOWER, 0, 1))]
    assert of(Renounce, effects) == [Renounce(1)]
    assert of(Send, effects)[0].request == EndQuorumEpochRequest("", 0, 1, (1, 2)), "the first has most of the log"
    with pytest.raises(NotLeadingError):
        raft.append(1, DECIDED, 30)


def test_a_leader_from_which_no_majority_fetches_resigns_and_a_fetch_that_diverges_is_a_sign_of_life() -> None:
    raft = leading()
    raft.handle(1, fetch(2, 5, 1), 2_500)
    assert raft.on_timer(Timer.CHECK_QUORUM, 3_000) == [SetTimer(Timer.CHECK_QUORUM, 5_500)]
    raft.on_timer(Timer.CHECK_QUORUM, 5_500)
    assert isinstance(raft.voter.role, Resigned)


def test_a_fetch_behind_the_end_of_its_epoch_diverges() -> None:
    raft = leading()
    [answer] = of(Answer, raft.handle(1, fetch(1, 4, 1), 0))
    assert answer.response == FetchResponse(ErrorCode.NONE, 0, 1, diverging=(1, 1))


# A follower.


def test_a_follower_fetches_on_once_it_has_flushed() -> None:
    raft = following()
    effects = received(raft, FetchResponse(ErrorCode.NONE, 1, 1, 5, records=batch(0, 1, 2)), now_ms=100)
    kinds = [type(effect) for effect in effects]
    assert kinds == [AppendToLog, Flush, Committed, SetTimer], "no fetch yet"
    assert of(Committed, effects) == [Committed(2)], "of its own log"
    [sent] = of(Send, raft.on_flushed(2, 110))
    assert isinstance(sent.request, FetchRequest) and sent.request.fetch_offset == 2


@pytest.mark.parametrize("records", [b"garbage", batch(3, 1), batch(0, 2)], ids=["garbage", "a gap", "a later epoch"])
def test_what_no_leader_can_have_sent_is_refused_and_fetched_again(records: bytes) -> None:
    raft = following()
    effects = received(raft, FetchResponse(ErrorCode.NONE, 1, 1, 1, records=records), now_ms=10)
    assert effects == [SetTimer(Timer.RETRY, 30, peer=1)] and raft.voter.log.end_offset == 0
    assert [one.to for one in of(Send, raft.on_timer(Timer.RETRY, 30, 1))] == [1]


@pytest.mark.parametrize(("diverging", "end"), [((1, 2), 2), ((1, 9), 3), ((0, 0), 0)])
def test_a_follower_truncates_to_the_smaller_end(diverging: tuple[int, int], end: int) -> None:
    raft = voter(ElectionState(2, 1, None, THREE), LogEnds.recovered(5, [(1, 0), (2, 3)]))
    effects = received(raft, FetchResponse(ErrorCode.NONE, 1, 2, diverging=diverging))
    assert [type(effect) for effect in effects] == [TruncateLog, SetTimer, Send]
    assert of(TruncateLog, effects) == [TruncateLog(end)] and raft.voter.log.end_offset == end


def test_a_follower_cuts_no_batch_in_two() -> None:
    """Epoch 2 of its leader ends at 4; this log has no such epoch, and offset 4 is within a batch of its epoch 1."""
    raft = voter(ElectionState(4, 1, None, THREE), LogEnds.recovered(9, [(1, 0), (3, 6)]))
    effects = received(raft, FetchResponse(ErrorCode.NONE, 1, 4, diverging=(2, 4)))
    assert of(TruncateLog, effects) == [TruncateLog(6)]
    [sent] = of(Send, effects)
    assert isinstance(sent.request, FetchRequest) and (sent.request.fetch_offset, sent.request.last_fetched_epoch) == (
        6,
        1,
    )


def test_a_follower_does_not_truncate_what_is_committed() -> None:
    """KAFKA-12460."""
    raft = following(end=1)
    received(raft, FetchResponse(ErrorCode.NONE, 1, 1, 1))
    with pytest.raises(CommittedTruncationError, match="below what is committed, 1"):
        received(raft, FetchResponse(ErrorCode.NONE, 1, 1, diverging=(0, 0)))


def test_a_response_that_comes_late_is_no_longer_heeded() -> None:
    raft = following()
    role = raft.voter.role
    assert isinstance(role, Follower) and role.fetching is not None
    raft.handle(1, BeginQuorumEpochRequest("", 0, 2, 2), 0)
    late = FetchResponse(ErrorCode.NONE, 1, 1, 1, records=batch(0, 1))
    assert not raft.on_response(1, role.fetching, late, 0)


# Errors, in the order in which they are looked for.


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (VoteRequest("another", 0, 1, 0, 0, 0), ErrorCode.INCONSISTENT_CLUSTER_ID),
        (VoteRequest("", 0, 9, 0, 0, 0), ErrorCode.FENCED_LEADER_EPOCH),
        (VoteRequest("", 0, 9, 3, 0, 0), ErrorCode.INCONSISTENT_VOTER_SET),
        (VoteRequest("", 2, 1, 3, 0, 0), ErrorCode.INVALID_VOTER_KEY),
        (VoteRequest("", 0, 1, 3, 3, 1), ErrorCode.INVALID_REQUEST),
        (BeginQuorumEpochRequest("", 0, 2, 1), ErrorCode.INVALID_REQUEST),
        (EndQuorumEpochRequest("", 9, 3, ()), ErrorCode.INCONSISTENT_VOTER_SET),
        (fetch(2, -1), ErrorCode.INVALID_REQUEST),
        (fetch(2, 0, epoch=2), ErrorCode.UNKNOWN_LEADER_EPOCH),
        (fetch(2, 0), ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ],
    ids=str,
)
def test_a_request_is_refused_and_changes_nothing(request_: VoteRequest, error: ErrorCode) -> None:
    raft = following()
    before = raft.voter.copy()
    [answer] = raft.handle(1, request_, 0)
    assert isinstance(answer, Answer)
    assert (answer.response.error, answer.response.leader_id, answer.response.leader_epoch) == (error, 1, 1)
    assert raft.voter == before


@pytest.mark.parametrize(
    "response",
    [BeginQuorumEpochResponse(ErrorCode.INCONSISTENT_CLUSTER_ID, 1, 5), BeginQuorumEpochResponse(ErrorCode.NONE, 9, 1)],
    ids=["of another cluster", "names a leader that is no voter"],
)
def test_a_response_that_no_voter_of_the_quorum_gives_changes_nothing(response: BeginQuorumEpochResponse) -> None:
    raft = voter(ElectionState(1, None, None, THREE))
    assert not raft.on_response(1, BeginQuorumEpochRequest("", 0, 1, 1), response, 0)
    assert raft.voter.election == ElectionState(1, None, None, THREE)


def test_a_node_is_a_voter_or_an_observer() -> None:
    with pytest.raises(ValueError, match="node 7 is no observer, and must be one of the voters"):
        RaftSettings(7, THREE)
    with pytest.raises(ValueError, match="node 0 is an observer, and cannot be one of the voters"):
        RaftSettings(0, THREE, is_observer=True)
    with pytest.raises(ValueError, match="must be named once"):
        RaftSettings(0, (0, 0))


# Observers.


def observer() -> Raft:
    raft = Raft(RaftSettings(7, THREE, is_observer=True), None, LogEnds())
    raft.start(0)
    return raft


def test_an_observer_asks_all_voters_who_leads_and_follows_that_one() -> None:
    raft = observer()
    asked = raft.on_timer(Timer.ELECTION, 1_000)
    assert [sent.to for sent in of(Send, asked)] == [0, 1, 2] and of(SetTimer, asked), "it asks again"
    [request] = {sent.request for sent in of(Send, asked)}
    assert isinstance(request, FetchRequest) and request.max_wait_ms == 0
    refusal = FetchResponse(ErrorCode.FENCED_LEADER_EPOCH, 1, 3)
    [fetches] = of(Send, raft.on_response(0, request, refusal, 1_001))
    assert fetches.to == 1 and isinstance(fetches.request, FetchRequest) and fetches.request.epoch == 3
    assert raft.voter.election == ElectionState(3, 1, None, THREE)


def test_an_observer_whose_leader_is_silent_asks_all_again_and_never_stands() -> None:
    raft = observer()
    raft.on_response(0, fetch(7, 0, epoch=0), FetchResponse(ErrorCode.FENCED_LEADER_EPOCH, 1, 3), 0)
    asked = raft.on_timer(Timer.ELECTION, 9_000)
    assert not of(Persist, asked) and {type(sent.request) for sent in of(Send, asked)} == {FetchRequest}
    assert raft.voter.election.leader == 1


@pytest.mark.parametrize(
    "request_", [VoteRequest("", 7, 0, 5, 0, 0), BeginQuorumEpochRequest("", 7, 0, 5)], ids=["vote", "begin"]
)
def test_an_observer_votes_for_nobody(request_: VoteRequest | BeginQuorumEpochRequest) -> None:
    raft = observer()
    [answer] = of(Answer, raft.handle(1, request_, 0))
    assert answer.response.error is ErrorCode.INCONSISTENT_VOTER_SET and raft.voter.epoch == 0


def test_an_observer_serves_no_fetch() -> None:
    [answer] = of(Answer, observer().handle(1, fetch(8, 0, epoch=0), 0))
    assert answer.response.error is ErrorCode.NOT_LEADER_OR_FOLLOWER
