"""What a stranger sends to a voter, or a node gone mad: it is refused with its error, and nothing changes."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from impl.kraft.errors import ErrorCode
from impl.kraft.raft.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    Request,
    VoteRequest,
)
from impl.kraft.raft.voter import Voter

NOBODY = 99


class Word(NamedTuple):
    """error: with which it must be answered."""

    request: Request
    error: ErrorCode


def word_to(voter: Voter, rng: Random) -> Word:
    """Something that is refused, or that changes nothing: a resignation that tells of no successors."""
    cluster_id, epoch, me = voter.settings.cluster_id, voter.epoch, voter.node_id
    other = rng.choice(voter.settings.others)
    pre_vote, end = bool(rng.randrange(2)), 1 << 40
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
