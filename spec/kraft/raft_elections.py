"""Elections of the metadata quorum: who stands, who votes for whom, what a voter takes itself for after a crash."""

from __future__ import annotations

from checker.lang import Map, action, replace, require
from spec.kraft.design import Design
from spec.kraft.quorum_log import Entry, Offset, is_as_good, is_majority, no_ends
from spec.kraft.raft import Quorum, RaftRole, VoterState, batches_in, may_crash, new_voter
from spec.kraft.raft_timeouts import follows, has_most, may_stand, reaches
from spec.kraft.types import Voter


def unattached(voter: VoterState, epoch: int) -> VoterState:
    """A voter that takes up a newer epoch; it remembers nothing of the one before."""
    return replace(
        voter,
        epoch=epoch,
        voted_for=None,
        leader=None,
        role=RaftRole.UNATTACHED,
        granted=frozenset(),
        ends=no_ends(),
        reply=None,
        has_fetched=False,
    )


@action(
    who="controller {candidate}",
    source="KIP-595, Leader Election and Failure Recovery",
    kafka="KafkaRaftClient.transitionToCandidate",
    deviates="where no voter is cut off, a voter may stand at any time: timeouts are not modelled",
    api="Vote v2",
)
def time_out(s: Quorum, candidate: Voter) -> None:
    """A voter that hears of no leader stands in the next epoch, and votes for itself.

    Its log is on disk before it asks for votes: after a crash it still stands, with the votes that were given to it.
    """
    voter = s.voters[candidate]
    require(voter.role not in {RaftRole.LEADER, RaftRole.RESIGNED})
    require(voter.epoch < Design.max_epoch and may_stand(s, candidate))
    epoch = voter.epoch + 1
    s.voters[candidate] = replace(
        unattached(voter, epoch),
        role=RaftRole.CANDIDATE,
        voted_for=candidate,
        granted=frozenset({candidate}),
        flushed=len(voter.log) if Design.candidate_flushes else voter.flushed,
    )
    s.granted_in[candidate][candidate] = epoch


def may_grant(voter: VoterState, candidate: VoterState, name: Voter) -> bool:
    """A voter votes once in an epoch, for a candidate whose log is as good as its own."""
    if Design.vote_compares_logs and not is_as_good(candidate.log, voter.log):
        return False
    if voter.epoch < candidate.epoch:
        return True
    return voter.epoch == candidate.epoch and voter.role == RaftRole.UNATTACHED and voter.voted_for in {None, name}


@action(
    who="controller {voter}",
    source="KIP-595, Vote",
    kafka="KafkaRaftClient.handleVoteRequest",
    deviates="the request is that of a candidate that still stands",
    api="Vote v2",
)
def vote(s: Quorum, voter: Voter, candidate: Voter) -> None:
    """A voter grants its vote, which is on disk before it tells so. It takes up the candidate's epoch."""
    asked, asking = s.voters[voter], s.voters[candidate]
    require(asking.role == RaftRole.CANDIDATE and voter != candidate and reaches(s, candidate, voter))
    require(may_grant(asked, asking, candidate) and s.granted_in[candidate][voter] != asking.epoch)
    adopted = unattached(asked, asking.epoch) if asked.epoch < asking.epoch else replace(asked)
    s.granted_in[candidate][voter] = asking.epoch
    s.voters[voter] = replace(adopted, voted_for=candidate)


@action(
    who="controller {voter}",
    source="KIP-595, BeginQuorumEpoch; Vote; Fetch",
    kafka="KafkaRaftClient.maybeTransition, QuorumState.transitionToUnattached, QuorumState.transitionToFollower",
    deviates="whatever message or reply brings it; the other is still in the epoch",
    api="BeginQuorumEpoch v1",
)
def adopt_epoch(s: Quorum, voter: Voter, other: Voter) -> None:
    """A voter learns of a newer epoch, or of the leader of its own, and follows the leader if it knows one."""
    hearing, known = s.voters[voter], s.voters[other]
    leader = known.leader
    learns_leader = hearing.epoch == known.epoch and hearing.leader is None and leader is not None
    require(hearing.epoch < known.epoch or learns_leader)
    require(leader != voter and reaches(s, voter, other))
    adopted = unattached(hearing, known.epoch) if hearing.epoch < known.epoch else replace(hearing)
    role = RaftRole.UNATTACHED if leader is None else RaftRole.FOLLOWER
    s.voters[voter] = replace(adopted, leader=leader, role=role, granted=frozenset(), reply=None)


def elected(voter: VoterState, name: Voter, crashes: int) -> VoterState:
    """A candidate that leads from here on. The first batch of its epoch is a LeaderChange."""
    log = voter.log + (Entry(epoch=voter.epoch, crashes=crashes),)
    return replace(
        voter,
        role=RaftRole.LEADER,
        leader=name,
        log=log,
        flushed=voter.flushed if may_crash() else len(log),
        granted=frozenset(),
        ends=no_ends(),
    )


@action(
    who="controller {candidate}",
    source="KIP-595, Vote; LeaderChangeMessage",
    kafka="KafkaRaftClient.handleVoteResponse, KafkaRaftClient.onBecomeLeader",
    deviates="a leader's high watermark is what it knew before; Kafka's is unknown until it moves",
    api="Vote v2",
)
def receive_vote(s: Quorum, candidate: Voter, voter: Voter) -> None:
    """A candidate counts a vote. With those of a majority it leads, however late they come."""
    standing = s.voters[candidate]
    require(standing.role == RaftRole.CANDIDATE and voter not in standing.granted)
    require(s.granted_in[candidate][voter] == standing.epoch)
    granted = standing.granted | {voter}
    if is_majority(granted):
        s.written[standing.epoch] = standing.log + (Entry(epoch=standing.epoch, crashes=s.crashes),)
        s.voters[candidate] = elected(standing, candidate, s.crashes)
    else:
        standing.granted = granted


def without_lead(leader: VoterState) -> VoterState:
    """A leader that has resigned, and forgets how far the others are."""
    return replace(leader, role=RaftRole.RESIGNED, ends=no_ends())


@action(
    who="controller {leader}",
    source="KIP-595, EndQuorumEpoch; KAFKA-15489",
    kafka="KafkaRaftClient.resign, LeaderState.timeUntilCheckQuorumExpires",
    deviates="at any time: on a shutdown, on its controller's wish, or because no majority fetches",
    api="EndQuorumEpoch v1",
)
def resign(s: Quorum, leader: Voter) -> None:
    """A leader resigns. It votes for nobody in its epoch."""
    require(s.voters[leader].role == RaftRole.LEADER)
    s.voters[leader] = without_lead(s.voters[leader])


def told_of_resignation(s: Quorum, name: Voter, leader: Voter, is_first: bool) -> VoterState:
    """A voter once its leader, if it reaches it, has told it that it resigns."""
    voter = s.voters[name]
    is_told = follows(voter, s.voters[leader], leader) and reaches(s, leader, name)
    would_vote = is_told and (is_first or Design.prevote_after_resignation)
    return replace(voter, has_fetched=voter.has_fetched and not would_vote)


@action(
    who="controller {leader}",
    source="KIP-595, EndQuorumEpoch; KAFKA-20895",
    kafka="KafkaRaftClient.resign, KafkaRaftClient.handleEndQuorumEpochRequest, FollowerState.canGrantVote",
    deviates="where voters may be cut off; the news reaches at once whom it reaches, and `miss_leader` is a later turn",
    api="EndQuorumEpoch v1",
)
def hand_over(s: Quorum, leader: Voter, first: Voter) -> None:
    """A leader resigns, and tells its followers, who stand in turn: the first at once, the others in their time."""
    resigning = s.voters[leader]
    require(resigning.role == RaftRole.LEADER and has_most(resigning, leader, first))
    s.voters = Map(
        {
            voter: without_lead(resigning) if voter == leader else told_of_resignation(s, voter, leader, voter == first)
            for voter in Voter
        }
    )


@action(
    who="controller {leader}",
    source="KIP-595; KAFKA-15489",
    kafka="KafkaRaftClient.pollLeader, LeaderState.timeUntilCheckQuorumExpires",
    api="EndQuorumEpoch v1",
)
def lose_majority(s: Quorum, leader: Voter) -> None:
    """A leader from which no majority has fetched for one and a half fetch timeouts resigns."""
    require(Design.check_quorum and s.voters[leader].role == RaftRole.LEADER)
    require(not is_majority(frozenset(voter for voter in Voter if reaches(s, leader, voter))))
    s.voters[leader] = without_lead(s.voters[leader])


@action(
    who="controller {voter}",
    source="KIP-595, Leader Election and Failure Recovery; KAFKA-18379",
    kafka="KafkaRaftClient.pollResigned, QuorumState.transitionToUnattached",
)
def leave_resigned(s: Quorum, voter: Voter) -> None:
    """The election timeout of a resigned leader runs out: it takes up the next epoch, in which it may vote."""
    resigned = s.voters[voter]
    require(resigned.role == RaftRole.RESIGNED)
    if Design.resigned_raises_epoch:
        require(resigned.epoch < Design.max_epoch)
        s.voters[voter] = unattached(resigned, resigned.epoch + 1)
    else:
        s.voters[voter] = replace(resigned, role=RaftRole.FOLLOWER)


# Crashes.


def restarted_role(voter: VoterState, name: Voter) -> RaftRole:
    """The role that a voter finds in its file."""
    if voter.leader == name:
        if not Design.restart_keeps_vote:
            return RaftRole.UNATTACHED
        return RaftRole.RESIGNED if Design.restart_resigns else RaftRole.LEADER
    if voter.leader is not None:
        return RaftRole.FOLLOWER
    return RaftRole.CANDIDATE if voter.voted_for == name else RaftRole.UNATTACHED


def restarted(voter: VoterState, name: Voter, kept: int) -> VoterState:
    """A voter that has lost its memory, and of its log what was not flushed.

    A log that ends before the snapshot begins anew where that ends, and what the snapshot stands for is committed.
    """
    role = restarted_role(voter, name)
    known = batches_in(voter.snapshot_end)
    end = max(kept, known)
    forgets = role == RaftRole.UNATTACHED and not (Design.vote_is_durable and voter.leader != name)
    return replace(
        voter,
        role=role,
        voted_for=None if forgets else voter.voted_for,
        leader=None if role == RaftRole.UNATTACHED else voter.leader,
        log=voter.log[:end],
        log_start=voter.snapshot_end if 2 * kept < voter.snapshot_end else voter.log_start,
        flushed=end,
        high_watermark=known,
        granted=frozenset({name}) if role == RaftRole.CANDIDATE else frozenset(),
        ends=no_ends(),
        reply=None,
        has_fetched=False,
    )


@action(
    who="controller {voter}",
    source="KIP-595, Quorum State",
    kafka="QuorumState.initialize, KafkaRaftClient.initialize",
    deviates="crash and restart in one step",
)
def crash_voter(s: Quorum, voter: Voter, kept: Offset) -> None:
    """A voter crashes and restarts. Of what it had not flushed, some is left."""
    crashing = s.voters[voter]
    require(s.crashes < Design.max_crashes)
    require(crashing.flushed <= kept and kept <= len(crashing.log))
    s.voters[voter] = restarted(crashing, voter, kept)
    s.crashes += 1


@action(who="controller {voter}", source="KAFKA-12460")
def lose_disk(s: Quorum, voter: Voter) -> None:
    """A voter starts with an empty disk: it has forgotten its log, and its votes."""
    require(s.disk_losses < Design.max_disk_losses)
    s.voters[voter] = new_voter()
    s.disk_losses += 1
