"""Elections: who stands, who votes for whom, and how voters hear of it (KIP-595, Leader Election; KIP-996)."""

from __future__ import annotations

from dataclasses import replace

from impl.kraft.errors import ErrorCode
from impl.kraft.raft import follower, leader
from impl.kraft.raft.effects import Timer
from impl.kraft.raft.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    Response,
    VoteRequest,
    VoteResponse,
)
from impl.kraft.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Unattached
from impl.kraft.raft.voter import Voter
from impl.kraft.storage.election import ElectionState

# Standing.


def on_election_timeout(voter: Voter) -> None:
    """It has heard of no leader for long enough."""
    if voter.settings.is_observer:
        follower.look_for_leader(voter)
        return
    match voter.role:
        case Resigned():
            voter.enter_epoch(voter.epoch + 1, None)  # in which it may vote (KAFKA-18379)
        case Prospective():
            lose(voter)
        case Unattached() | Follower() | Candidate():
            run(voter)
        case Leader():
            pass


def run(voter: Voter) -> None:
    """Stand, or ask first whether that would do any good."""
    if not voter.settings.uses_prevote:
        stand(voter)
        return
    voter.role = Prospective(frozenset({voter.node_id}))
    voter.await_leader()
    ask(voter)


def stand(voter: Voter) -> None:
    """Stand in the next epoch, with its own vote, which is on disk before it asks for others; so is its log."""
    state = ElectionState(voter.epoch + 1, None, voter.node_id, voter.settings.voters)
    voter.persist(state)
    voter.role = Candidate(frozenset({voter.node_id}))
    voter.await_leader()
    ask(voter)


def ask(voter: Voter) -> None:
    """Ask for all votes; those of a candidate once its log is on disk: a crash must not take away what is voted for."""
    role = voter.role
    assert isinstance(role, Prospective | Candidate)
    if isinstance(role, Candidate) and not voter.log.is_flushed:
        return
    for other in voter.settings.others:
        if other not in role.granted | role.refused:
            ask_for_vote(voter, other)
    count(voter)


def ask_for_vote(voter: Voter, other: int) -> None:
    log, is_prevote = voter.log, isinstance(voter.role, Prospective)
    request = VoteRequest(
        voter.settings.cluster_id, other, voter.node_id, voter.epoch, log.last_epoch, log.end_offset, is_prevote
    )
    voter.send(other, request)


def on_vote_response(voter: Voter, other: int, request: VoteRequest, response: VoteResponse) -> None:
    """Count the vote of another, if it is for what this voter still stands for, or asks."""
    role = voter.role
    is_current = isinstance(role, Prospective if request.pre_vote else Candidate) and request.epoch == voter.epoch
    if not is_current or response.error is not ErrorCode.NONE:
        return
    assert isinstance(role, Prospective | Candidate)
    if response.vote_granted:
        voter.role = replace(role, granted=role.granted | {other})
    else:
        voter.role = replace(role, refused=role.refused | {other})
    count(voter)


def count(voter: Voter) -> None:
    """A majority has voted for it, or so many have not that none can."""
    role, settings = voter.role, voter.settings
    assert isinstance(role, Prospective | Candidate)
    if settings.is_majority(len(role.granted)):
        if isinstance(role, Prospective):
            stand(voter)
        else:
            leader.lead(voter, role)
    elif not settings.is_majority(len(settings.voters) - len(role.refused)):
        lose(voter)


def lose(voter: Voter) -> None:
    """It cannot win: who only asked is what it was before; who stood does so again after a time that is drawn."""
    if isinstance(voter.role, Prospective):
        voter.attach()
    else:
        voter.set_timer(Timer.ELECTION, 0, voter.settings.election_backoff_max_ms)


# Voting.


def handle_vote(voter: Voter, request: VoteRequest) -> Response:
    """Grant a vote, which is on disk before the response leaves, or refuse it."""
    error = voter.refusal(request, request.candidate_id, request.voter_id)
    if error is ErrorCode.NONE and request.last_epoch >= request.epoch + request.pre_vote:
        error = ErrorCode.INVALID_REQUEST
    if error is not ErrorCode.NONE:
        return voter.response(request, error)
    voter.hear_of(request.epoch, None)
    is_granted = would_grant(voter, request) if request.pre_vote else grant(voter, request)
    if request.pre_vote and not is_granted:
        ask_again(voter, request.candidate_id)
    return VoteResponse(ErrorCode.NONE, voter.election.leader, voter.epoch, is_granted)


def grant(voter: Voter, request: VoteRequest) -> bool:
    """Vote once in an epoch, without a leader of it, for one whose log is as good as its own."""
    election = voter.election
    if election.leader is not None or election.voted_for not in (None, request.candidate_id):
        return False
    if election.voted_for == request.candidate_id:
        return True
    if not voter.log.is_as_good(request.last_epoch, request.last_offset):
        return False
    voter.persist(replace(election, voted_for=request.candidate_id))
    voter.attach()
    return True


def would_grant(voter: Voter, request: VoteRequest) -> bool:
    """Who leads, or has fetched from its leader, would not: so who comes back deposes nobody that has a majority."""
    is_led = isinstance(voter.role, Leader) or (isinstance(voter.role, Follower) and voter.role.has_fetched)
    return not is_led and voter.log.is_as_good(request.last_epoch, request.last_offset)


def ask_again(voter: Voter, other: int) -> None:
    """Another one asks, and has too short a log: it has lost its leader since it refused, and would not refuse now."""
    role = voter.role
    if isinstance(role, Prospective) and other in role.refused:
        voter.role = replace(role, refused=role.refused - {other})
        ask_for_vote(voter, other)


# Leaders that come and go.


def handle_begin(voter: Voter, request: BeginQuorumEpochRequest) -> Response:
    """Follow the leader of an epoch."""
    error = voter.refusal(request, request.leader_id, request.voter_id)
    if error is ErrorCode.NONE:
        voter.hear_of(request.epoch, request.leader_id)
        if voter.election.leader != request.leader_id:
            error = ErrorCode.INVALID_REQUEST
        elif isinstance(voter.role, Prospective):
            voter.attach()
    return voter.response(request, error)


def handle_end(voter: Voter, request: EndQuorumEpochRequest) -> Response:
    """The leader has resigned: stand at once, or in turn, by how much of its log this voter has (KAFKA-20895)."""
    error = voter.refusal(request, request.leader_id, None)
    if error is ErrorCode.NONE:
        voter.hear_of(request.epoch, request.leader_id)
        if isinstance(voter.role, Follower) and voter.election.leader == request.leader_id:
            follower.miss(voter, voter.role, backoff_ms(voter, request.preferred_successors))
    return voter.response(request, error)


def backoff_ms(voter: Voter, successors: tuple[int, ...]) -> int:
    """0 for the first of them, and the longer the later a voter's place."""
    place = successors.index(voter.node_id) if voter.node_id in successors else len(successors)
    return voter.settings.election_backoff_max_ms * place // max(1, len(successors))


def retry(voter: Voter, other: int) -> None:
    """A request to another voter was given up: send what is to be sent to it now."""
    match voter.role:
        case Candidate() if not voter.log.is_flushed:
            pass  # all are asked once its log is on disk
        case Prospective() | Candidate() as role if other not in role.granted | role.refused:
            ask_for_vote(voter, other)
        case Leader():
            leader.begin(voter, other)
        case Follower() as role:
            voter.role = replace(role, backs_off=False)
