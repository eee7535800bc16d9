"""What a stranger sends to a voter, or a node gone mad: it is refused with its error, and nothing changes."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from impl.kraft.errors import ErrorCode
from impl.kraft.raft import Raft
from impl.kraft.raft.errors import NotLeadingError
from impl.kraft.raft.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    Request,
    VoteRequest,
    VoteResponse,
)
from impl.kraft.raft.roles import Leader, Prospective
from impl.kraft.raft.voter import Voter
from impl.kraft.storage.batches import Record

if TYPE_CHECKING:
    from impl.kraft.simulation.simulation import Simulation

NOBODY = 99


def lie_to(voter: Voter, rng: Random) -> tuple[int, VoteRequest, VoteResponse]:
    """Whose answer to which request: a vote that is refused, by one who says that nobody leads the epoch; or one that
    is no vote, but an error."""
    other, settings = rng.choice(voter.settings.others), voter.settings
    if rng.randrange(2):
        asked = VoteRequest(
            settings.cluster_id, other, voter.node_id, voter.epoch, 0, 0, isinstance(voter.role, Prospective)
        )
        return other, asked, VoteResponse(ErrorCode.INVALID_REQUEST, None, voter.epoch, False)
    request = VoteRequest(settings.cluster_id, other, voter.node_id, voter.epoch - 1, 0, 0)
    return other, request, VoteResponse(ErrorCode.NONE, NOBODY, voter.epoch, False)


class Word(NamedTuple):
    """error: with which it must be answered."""

    request: Request
    error: ErrorCode


def word_to(voter: Voter, rng: Random) -> Word:
    """Something that is refused, or that changes nothing: a resignation that tells of no successors.

    An observer refuses whatever is for voters.
    """
    cluster_id, epoch, me = voter.settings.cluster_id, voter.epoch, voter.node_id
    other = rng.choice(voter.settings.others)
    pre_vote, end = bool(rng.randrange(2)), 1 << 40
    if voter.settings.is_observer:
        asked: list[Request] = [
            VoteRequest(cluster_id, me, other, epoch + 1, 0, end, pre_vote),
            BeginQuorumEpochRequest(cluster_id, me, other, epoch + 1),
            EndQuorumEpochRequest(cluster_id, other, epoch + 1, (me,)),
        ]
        return Word(rng.choice(asked), ErrorCode.INCONSISTENT_VOTER_SET)
    words = [
        Word(VoteRequest(cluster_id, None, NOBODY, epoch + 1, 0, 0, pre_vote), ErrorCode.INCONSISTENT_VOTER_SET),
        Word(VoteRequest(cluster_id, me, me, epoch + 1, 0, 0, pre_vote), ErrorCode.INCONSISTENT_VOTER_SET),
        Word(VoteRequest(cluster_id, other, other, epoch + 1, 0, 0, pre_vote), ErrorCode.INVALID_VOTER_KEY),
        Word(VoteRequest(cluster_id, me, other, epoch, epoch + 1, end, pre_vote), ErrorCode.INVALID_REQUEST),
        Word(VoteRequest(cluster_id, me, NOBODY, epoch, epoch + 1, end, pre_vote), ErrorCode.INCONSISTENT_VOTER_SET),
        Word(VoteRequest("another", me, other, epoch + 9, 0, 0, pre_vote), ErrorCode.INCONSISTENT_CLUSTER_ID),
        Word(BeginQuorumEpochRequest(cluster_id, me, NOBODY, epoch + 5), ErrorCode.INCONSISTENT_VOTER_SET),
        Word(BeginQuorumEpochRequest(cluster_id, other, other, epoch + 5), ErrorCode.INVALID_VOTER_KEY),
        Word(EndQuorumEpochRequest(cluster_id, NOBODY, epoch + 5, ()), ErrorCode.INCONSISTENT_VOTER_SET),
        Word(FetchRequest(cluster_id, other, epoch, -1, 0, 0, 100, 1), ErrorCode.INVALID_REQUEST),
        Word(FetchRequest(cluster_id, other, epoch + 1, 0, 0, 0, 100, 1), ErrorCode.UNKNOWN_LEADER_EPOCH),
    ]
    if epoch > 0:
        words.append(Word(VoteRequest(cluster_id, me, other, epoch - 1, 0, 0), ErrorCode.FENCED_LEADER_EPOCH))
    leader = voter.election.leader
    if leader not in (None, other):
        words.append(Word(BeginQuorumEpochRequest(cluster_id, me, other, epoch), ErrorCode.INVALID_REQUEST))
    if leader in voter.settings.others:
        words.append(Word(EndQuorumEpochRequest(cluster_id, leader, epoch, ()), ErrorCode.NONE))
    return rng.choice(words)


def append_anyway(run: Simulation, number: int, raft: Raft) -> None:
    """Its controller decides something, of whatever epoch. Who does not lead has no place for it."""
    if isinstance(raft.voter.role, Leader):
        return
    try:
        raft.append(raft.voter.epoch, (Record(b"late"),), run.clock_ms(number))
    except NotLeadingError:
        return
    run.rules.hold(False, "strangers", f"node {number} does not lead, and appends")


def hear_stranger(run: Simulation, number: int, rng: Random) -> None:
    """It is refused with its error, and the election goes on as before."""
    raft = run.nodes[number].raft
    assert raft is not None
    before = raft.voter.election
    if isinstance(raft, Raft):
        append_anyway(run, number, raft)
    if rng.randrange(4) == 0:
        other, request, lie = lie_to(raft.voter, rng)
        run.note(number, "lie", lie)
        run.talk.response(number, raft.voter, other, request, lie)
        run.hand_in(number, lambda raft: raft.on_response(other, request, lie, run.clock_ms(number)))
        run.rules.hold(raft.voter.election == before, "strangers", f"{lie} has changed the election of {number}")
        return
    word = word_to(raft.voter, rng)
    run.note(number, "stranger", word)

    errors: list[ErrorCode] = []

    def answered(response: Any) -> None:
        errors.append(response.error)
        is_right = response.error is word.error
        run.rules.hold(is_right, "strangers", f"node {number} answers {word} with {response.error.name}")

    call = run.called(answered)
    run.talk.word(number, call, word.request)
    run.hand_in(number, lambda raft: raft.handle(call, word.request, run.clock_ms(number)))
    if run.nodes[number].raft is raft:
        run.rules.hold(raft.voter.election == before, "strangers", f"{word} has changed the election of {number}")
        run.rules.hold(bool(errors), "strangers", f"node {number} does not answer {word}")
