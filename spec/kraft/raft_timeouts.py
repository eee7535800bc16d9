"""Who reaches whom in the metadata quorum, and what voters do that hear nothing from the others.

A voter may be cut off from all others. Where that is modelled, a fetch timeout runs out only where no leader answers,
and a leader resigns only where it has no majority; elsewhere (`Design.max_cuts` 0) a voter may stand, and a leader
resign, at any time. A pre-vote is one step: whoever is reached answers at once.
"""

from __future__ import annotations

from checker.lang import action, require
from spec.kraft.design import Design
from spec.kraft.quorum_log import is_as_good, is_majority
from spec.kraft.raft import Quorum, RaftRole, VoterState
from spec.kraft.types import Voter


def cuts_are_modelled() -> bool:
    """Without cuts, nothing tells who hears whom."""
    return Design.max_cuts > 0


def reaches(s: Quorum, one: Voter, other: Voter) -> bool:
    return one == other or s.cut not in {one, other}


def hears_its_leader(s: Quorum, name: Voter) -> bool:
    """True while the leader that a voter knows still leads the epoch, and reaches it."""
    voter = s.voters[name]
    return any(
        voter.leader == leader
        and s.voters[leader].role == RaftRole.LEADER
        and s.voters[leader].epoch == voter.epoch
        and reaches(s, leader, name)
        for leader in Voter
    )


def grants_prevote(voter: VoterState, candidate: VoterState) -> bool:
    """A voter tells whether it would vote for a log; it would not while it leads, or once its leader has served it."""
    return voter.role != RaftRole.LEADER and not voter.has_fetched and is_as_good(candidate.log, voter.log)


def has_prevotes(s: Quorum, candidate: Voter) -> bool:
    return is_majority(
        frozenset(
            voter
            for voter in Voter
            if voter == candidate
            or (reaches(s, candidate, voter) and grants_prevote(s.voters[voter], s.voters[candidate]))
        )
    )


def may_stand(s: Quorum, candidate: Voter) -> bool:
    """A voter stands that hears of no leader, with the pre-votes of a majority."""
    if not cuts_are_modelled():
        return True
    voter = s.voters[candidate]
    return (
        not voter.has_fetched
        and not hears_its_leader(s, candidate)
        and (not Design.prevote or has_prevotes(s, candidate))
    )


def has_most(leader: VoterState, name: Voter, first: Voter) -> bool:
    """No other voter has fetched more of a leader's log."""
    return first != name and all(leader.ends[other] <= leader.ends[first] for other in Voter)


def follows(voter: VoterState, leader: VoterState, name: Voter) -> bool:
    return voter.role == RaftRole.FOLLOWER and voter.leader == name and voter.epoch == leader.epoch


@action(who="network", source="KIP-996, Motivation")
def isolate(s: Quorum, voter: Voter) -> None:
    """A voter is cut off from all others."""
    require(s.cut is None and s.cuts < Design.max_cuts)
    s.cut = voter
    s.cuts += 1


@action(who="network", source="KIP-996, Motivation")
def heal(s: Quorum) -> None:
    """The voter that was cut off reaches the others again."""
    require(s.cut is not None)
    s.cut = None


@action(
    who="controller {voter}",
    source="KIP-595, Leader Election and Failure Recovery; KIP-996",
    kafka="KafkaRaftClient.pollFollowerAsVoter, QuorumState.transitionToProspective",
    deviates="Kafka's voter is prospective from here on, and follows again where it loses",
)
def miss_leader(s: Quorum, voter: Voter) -> None:
    """The fetch timeout of a follower runs out: it would vote for another, and may stand."""
    require(s.voters[voter].has_fetched and not hears_its_leader(s, voter))
    s.voters[voter].has_fetched = False
