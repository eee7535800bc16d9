"""Properties of the quorum where voters are cut off (RL1, RL2, RL4, RL5), and states that it must be able to reach."""

from __future__ import annotations

from checker.lang import leads_to, transition_invariant, witness
from spec.kraft.design import Design
from spec.kraft.properties.raft_voters import leads
from spec.kraft.quorum_log import is_majority
from spec.kraft.raft import Quorum, RaftRole
from spec.kraft.raft_timeouts import may_stand, reaches
from spec.kraft.types import Voter


def newest_epoch(s: Quorum) -> int:
    """The newest epoch among voters that reach each other."""
    return max(s.voters[voter].epoch for voter in Voter if voter != s.cut)


def leads_the_others(s: Quorum, leader: Voter) -> bool:
    return leads(s.voters[leader]) and s.voters[leader].epoch == newest_epoch(s) and s.cut != leader


def has_leader(s: Quorum) -> bool:
    return any(leads_the_others(s, voter) for voter in Voter)


@leads_to(source="KIP-595, Leader Election and Failure Recovery (RL1)")
def some_voter_leads(s: Quorum) -> tuple[bool, bool]:
    """Voters that reach each other, a majority, have a leader or get one, if the model has an epoch left for it."""
    return not has_leader(s), has_leader(s) or any(s.voters[voter].epoch == Design.max_epoch for voter in Voter)


@leads_to(source="KIP-595, High watermark (RL2)")
def appended_batch_commits(s: Quorum, leader: Voter) -> tuple[bool, bool]:
    """What a leader has appended commits, unless it leads no more, is cut off, or a newer epoch began."""
    voter = s.voters[leader]
    lacks = leads_the_others(s, leader) and voter.high_watermark < len(voter.log)
    return lacks, not lacks


@leads_to(source="KAFKA-15489 (RL4)")
def leader_without_majority_resigns(s: Quorum, leader: Voter) -> tuple[bool, bool]:
    """A leader that is cut off leads no more, or is cut off no more."""
    stays = leads(s.voters[leader]) and s.cut == leader
    return stays, not stays


def is_served(s: Quorum, voter: Voter, leader: Voter) -> bool:
    """A voter takes part in a leader's epoch, and has heard from it."""
    if voter == leader:
        return True
    following = s.voters[voter]
    return (
        following.epoch == s.voters[leader].epoch
        and following.leader == leader
        and following.has_fetched
        and reaches(s, leader, voter)
    )


def serves_a_majority(s: Quorum, leader: Voter) -> bool:
    return leads(s.voters[leader]) and is_majority(frozenset(voter for voter in Voter if is_served(s, voter, leader)))


@transition_invariant(source="KIP-996, Motivation (RL5)")
def nobody_stands_against_a_majority(before: Quorum, after: Quorum) -> bool:
    """While a leader serves a majority, no voter stands in an epoch that is new to it."""
    return not any(serves_a_majority(before, leader) for leader in Voter) or not any(
        after.voters[voter].role == RaftRole.CANDIDATE and before.voters[voter].epoch < after.voters[voter].epoch
        for voter in Voter
    )


def may_be_elected(s: Quorum, candidate: Voter) -> bool:
    """A voter may stand, for it would not wait for a leader, and a majority would vote for it."""
    return s.voters[candidate].role not in {RaftRole.LEADER, RaftRole.RESIGNED} and may_stand(s, candidate)


def leads_all(s: Quorum, leader: Voter) -> bool:
    return leads(s.voters[leader]) and all(is_served(s, voter, leader) for voter in Voter)


@transition_invariant(source="KAFKA-20895")
def resignation_costs_no_round(before: Quorum, after: Quorum) -> bool:
    """Once a leader that has served all resigns and tells so, some voter has the pre-votes of a majority at once."""
    return not any(
        leads_all(before, leader) and after.voters[leader].role == RaftRole.RESIGNED for leader in Voter
    ) or any(may_be_elected(after, voter) for voter in Voter)


@witness
def a_successor_leads(s: Quorum) -> bool:
    """A leader has resigned, and another leads the next epoch."""
    return any(
        s.voters[one].role == RaftRole.RESIGNED
        and leads(s.voters[other])
        and s.voters[one].epoch < s.voters[other].epoch
        for one in Voter
        for other in Voter
    )


@witness
def two_lead_over_a_cut(s: Quorum) -> bool:
    """A leader is cut off and has not noticed, and the others have elected another."""
    return any(
        leads(s.voters[one]) and leads(s.voters[other]) and s.cut == one and s.voters[one].epoch < s.voters[other].epoch
        for one in Voter
        for other in Voter
    )


@witness
def follows_after_a_cut(s: Quorum) -> bool:
    """Nobody is cut off any more, an epoch after the first has begun, and a leader has served somebody."""
    return s.cuts > 0 and s.cut is None and any(s.voters[voter].has_fetched for voter in Voter) and newest_epoch(s) > 1
