"""The metadata quorum below KIP-631: votes and fetches as messages, what is on disk, crashes, each voter's watermark.

KIP-595 with static voters, on whole logs from the first batch on. A voter that asks for votes, or fetches, is asked at
its present state: a candidate's log does not change while it stands, nor a follower's while its fetch is under way.
Replies are kept: a vote may be counted at any later time, and a fetch is answered when the follower gets to it, by what
its leader had then. A step is what a node does between two messages, so what it must have on disk before
it speaks is written in the same step; a leader's own flush runs beside its work. `quorum_log` has no messages, no time
and no disk, and each step here is one of its steps, or none.
Leaves out: pre-vote; observers; snapshots (a log starts at its first batch); more than one batch in a fetch; requests
for votes and news of a leader that come late, from one that has moved on: they can but raise an epoch, or use a vote
up.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated

from checker.lang import (
    History,
    Map,
    Option,
    Set,
    action,
    init,
    message,
    record,
    replace,
    require,
    require_some,
    state,
)
from spec.kraft.design import Design
from spec.kraft.quorum_log import (
    AnyEpoch,
    Crashes,
    Entries,
    Entry,
    Epoch,
    Offset,
    epoch_at_end,
    is_as_good,
    is_majority,
    no_ends,
    none_written,
)
from spec.kraft.types import Voter


@message
class Records:
    """A fetch is answered with the next batch, if there is one, and the high watermark."""

    batch: Option[Entry]
    high_watermark: Offset


@message
class Diverging:
    """A fetch is refused: the newest epoch of the leader's log that is no newer than the follower's, and its end."""

    epoch: Epoch
    end: Offset


class RaftRole(Enum):
    """The role of a voter in its epoch."""

    UNATTACHED = "UNATTACHED"
    CANDIDATE = "CANDIDATE"
    LEADER = "LEADER"
    RESIGNED = "RESIGNED"
    FOLLOWER = "FOLLOWER"


@record
class VoterState:
    """A voter: its election state, which is on disk, its log, and what it remembers in its role."""

    epoch: Epoch
    voted_for: Option[Voter]  # in this epoch
    leader: Option[Voter]  # of this epoch, as far as it knows
    role: RaftRole
    log: Entries
    flushed: Offset  # its log up to here is on disk
    high_watermark: Offset  # all before is committed, as far as it knows
    granted: Set[Voter]  # a candidate: votes that it has counted
    ends: Map[Voter, Offset]  # a leader: of the others, from where they have fetched
    reply: Option[Records | Diverging]  # a follower: what its leader has answered, on its way


@state
class Quorum:
    """The voters, the votes that were given, and what history remembers."""

    voters: Map[Voter, VoterState]
    granted_in: Map[Voter, Map[Voter, Epoch]]  # the last epoch in which a candidate was granted the vote of a voter
    crashes: Crashes
    committed: Annotated[Entries, History]  # the longest log that was below any leader's high watermark
    committed_in: Annotated[Epoch, History]  # the newest epoch of these leaders
    written: Annotated[Map[AnyEpoch, Entries], History]  # the log of each epoch's leader, as it last appended to it


def new_voter() -> VoterState:
    return VoterState(
        epoch=0,
        voted_for=None,
        leader=None,
        role=RaftRole.UNATTACHED,
        log=(),
        flushed=0,
        high_watermark=0,
        granted=frozenset(),
        ends=no_ends(),
        reply=None,
    )


@init
def formatted() -> Quorum:
    """Every voter has an empty log, and nobody has stood yet."""
    return Quorum(
        voters=Map(dict.fromkeys(Voter, new_voter())),
        granted_in=Map({candidate: Map({voter: 0 for voter in Voter}) for candidate in Voter}),
        crashes=0,
        committed=(),
        committed_in=0,
        written=none_written(),
    )


def batch_of(epoch: int) -> Entry:
    return Entry(epoch=epoch, crashes=0)


def with_log(epoch: int, role: RaftRole, leader: Option[Voter], voted_for: Option[Voter], log: Entries) -> VoterState:
    """A voter with its log on disk."""
    return replace(new_voter(), epoch=epoch, role=role, leader=leader, voted_for=voted_for, log=log, flushed=len(log))


@init
def torn() -> Quorum:
    """Voter 0 led epoch 1, and voter 1 epoch 2; each has a batch that nobody else has. Nobody leads."""
    first, second = Voter(0), Voter(1)
    voters = {
        first: with_log(2, RaftRole.UNATTACHED, None, None, (batch_of(1),)),
        second: with_log(2, RaftRole.RESIGNED, second, second, (batch_of(2),)),
        Voter(2): with_log(2, RaftRole.UNATTACHED, None, second, ()),
    }
    granted = {
        first: Map({first: 1, second: 0, Voter(2): 1}),
        second: Map({first: 0, second: 2, Voter(2): 2}),
        Voter(2): no_ends(),
    }
    written = {epoch: (batch_of(epoch),) if epoch in {1, 2} else () for epoch in range(Design.max_epoch + 1)}
    return Quorum(Map(voters), Map(granted), crashes=0, committed=(), committed_in=0, written=Map(written))


@init
def leader_not_flushed() -> Quorum:
    """Voter 0 leads epoch 1. Its first batch is committed, for the others have it on disk; it has not, itself."""
    leader, log = Voter(0), (batch_of(1),)
    leading = with_log(1, RaftRole.LEADER, leader, leader, log)
    voters = {
        leader: replace(
            leading, flushed=0, high_watermark=1, ends=Map({voter: 0 if voter == leader else 1 for voter in Voter})
        ),
        Voter(1): with_log(1, RaftRole.FOLLOWER, leader, leader, log),
        Voter(2): with_log(1, RaftRole.FOLLOWER, leader, None, log),
    }
    granted = {
        leader: Map({leader: 1, Voter(1): 1, Voter(2): 0}),
        Voter(1): no_ends(),
        Voter(2): no_ends(),
    }
    written = {epoch: log if epoch == 1 else () for epoch in range(Design.max_epoch + 1)}
    return Quorum(Map(voters), Map(granted), crashes=0, committed=log, committed_in=1, written=Map(written))


# Logs.


def entries_up_to(log: Entries, epoch: int) -> int:
    """The end offset of an epoch in a log: the number of batches of this epoch and older ones."""
    return sum(1 for i in range(Design.pending_batches) if i < len(log) and log[i].epoch <= epoch)


def may_crash() -> bool:
    """Without crashes, nothing tells what is on disk from what is not."""
    return Design.max_crashes > 0


# Elections.


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
    )


@action(
    who="voter {candidate}",
    source="KIP-595, Leader Election and Failure Recovery",
    kafka="KafkaRaftClient.transitionToCandidate",
    deviates="a voter may stand at any time: timeouts are not modelled",
    api="Vote v2",
)
def time_out(s: Quorum, candidate: Voter) -> None:
    """A voter that hears of no leader stands in the next epoch, and votes for itself.

    Its log is on disk before it asks for votes: after a crash it still stands, with the votes that were given to it.
    """
    voter = s.voters[candidate]
    require(voter.role not in {RaftRole.LEADER, RaftRole.RESIGNED})
    require(voter.epoch < Design.max_epoch)
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
    who="voter {voter}",
    source="KIP-595, Vote",
    kafka="KafkaRaftClient.handleVoteRequest",
    deviates="the request is that of a candidate that still stands",
    api="Vote v2",
)
def vote(s: Quorum, voter: Voter, candidate: Voter) -> None:
    """A voter grants its vote, which is on disk before it tells so. It takes up the candidate's epoch."""
    asked, asking = s.voters[voter], s.voters[candidate]
    require(asking.role == RaftRole.CANDIDATE and voter != candidate)
    require(may_grant(asked, asking, candidate) and s.granted_in[candidate][voter] != asking.epoch)
    adopted = unattached(asked, asking.epoch) if asked.epoch < asking.epoch else replace(asked)
    s.granted_in[candidate][voter] = asking.epoch
    s.voters[voter] = replace(adopted, voted_for=candidate)


@action(
    who="voter {voter}",
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
    require(leader != voter)
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
    who="voter {candidate}",
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


@action(
    who="voter {leader}",
    source="KIP-595, EndQuorumEpoch; KAFKA-15489",
    kafka="KafkaRaftClient.resign, LeaderState.timeUntilCheckQuorumExpires",
    deviates="at any time: on a shutdown, on its controller's wish, or because no majority fetches",
    api="EndQuorumEpoch v1",
)
def resign(s: Quorum, leader: Voter) -> None:
    """A leader resigns. It votes for nobody in its epoch."""
    voter = s.voters[leader]
    require(voter.role == RaftRole.LEADER)
    s.voters[leader] = replace(voter, role=RaftRole.RESIGNED, ends=no_ends())


@action(
    who="voter {voter}",
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


# The log.


@action(who="voter {leader}", source="KIP-595", kafka="KafkaRaftClient.appendBatch")
def append_as_leader(s: Quorum, leader: Voter) -> None:
    """A leader, perhaps one that was deposed and has not heard of it, appends a batch that its controller decided."""
    voter = s.voters[leader]
    require(voter.role == RaftRole.LEADER and len(voter.log) < Design.pending_batches)
    voter.log = voter.log + (Entry(epoch=voter.epoch, crashes=s.crashes),)
    if not may_crash():
        voter.flushed = len(voter.log)
    s.written[voter.epoch] = voter.log


def counted_end(voter: VoterState) -> int:
    """The end of its own log that a leader counts."""
    return voter.flushed if Design.counts_flushed_only else len(voter.log)


def has_up_to(leader: VoterState, name: Voter, end: int) -> int:
    """How many voters have all before this offset on disk, as far as the leader knows."""
    others = sum(1 for other in Voter if other != name and leader.ends[other] >= end)
    return others + (1 if counted_end(leader) >= end else 0)


def high_watermark(leader: VoterState, name: Voter) -> int:
    """The largest end that a majority has, if the batch before it is of the leader's epoch; else what it was."""
    return max(
        (
            end
            for end in range(Design.pending_batches + 1)
            if end > leader.high_watermark
            and end <= len(leader.log)
            and 2 * has_up_to(leader, name, end) > Design.controllers
            and (not Design.own_epoch_commits or leader.log[end - 1].epoch == leader.epoch)
        ),
        default=leader.high_watermark,
    )


@action(
    who="voter {voter}",
    source="KIP-595, Fetch; High watermark",
    kafka="KafkaRaftClient.updateLeaderEndOffsetAndTimestamp, LeaderState.updateLocalState",
    deviates="Kafka's leader counts its log before it is flushed",
)
def flush(s: Quorum, voter: Voter) -> None:
    """The log is on disk up to its end. A leader counts itself up to there."""
    flushing = s.voters[voter]
    require(flushing.flushed < len(flushing.log))
    flushing.flushed = len(flushing.log)
    if flushing.role == RaftRole.LEADER:
        end = high_watermark(flushing, voter)
        flushing.high_watermark = end
        if end > len(s.committed):
            s.committed = flushing.log[:end]
            s.committed_in = max(s.committed_in, flushing.epoch)


def known_epoch(log: Entries, asked: int) -> int:
    """The newest epoch of a log that is no newer than this. 0: there is none."""
    return max((entry.epoch for entry in log if entry.epoch <= asked), default=0)


def is_valid(log: Entries, end: int, epoch: int) -> bool:
    """True when a follower's log up to `end`, which ends in `epoch`, is a prefix of this, by what an epoch tells."""
    return end == 0 or (known_epoch(log, epoch) == epoch and end <= entries_up_to(log, epoch))


@action(
    who="voter {leader}",
    source="KIP-595, Fetch; Truncation",
    kafka="KafkaRaftClient.handleFetchRequest, LeaderState.updateReplicaState",
    deviates="one batch in a reply",
    api="Fetch v17 (__cluster_metadata)",
)
def fetch_from_leader(s: Quorum, leader: Voter, follower: Voter) -> None:
    """A leader answers a fetch. By it, the follower has all before its offset: the high watermark may move."""
    serving, fetching = s.voters[leader], s.voters[follower]
    require(serving.role == RaftRole.LEADER and fetching.role == RaftRole.FOLLOWER and follower != leader)
    require(fetching.leader == leader and fetching.epoch == serving.epoch and fetching.reply is None)
    require(not Design.flush_before_fetch or fetching.flushed == len(fetching.log))
    end, epoch = len(fetching.log), epoch_at_end(fetching.log)
    valid = is_valid(serving.log, end, epoch)
    ends: Map[Voter, Offset] = Map({v: end if v == follower and valid else serving.ends[v] for v in Voter})
    watermark = high_watermark(replace(serving, ends=ends), leader)
    require(
        not valid or end < len(serving.log) or ends != serving.ends or fetching.high_watermark < min(watermark, end)
    )
    serving.ends = ends
    serving.high_watermark = watermark
    if not valid:
        known = known_epoch(serving.log, epoch)
        fetching.reply = Diverging(epoch=known, end=entries_up_to(serving.log, known))
    else:
        fetching.reply = Records(batch=serving.log[end] if end < len(serving.log) else None, high_watermark=watermark)
    if watermark > len(s.committed):
        s.committed = serving.log[:watermark]
        s.committed_in = max(s.committed_in, serving.epoch)


def extended(voter: VoterState, reply: Records) -> VoterState:
    """A follower that has appended what it fetched, and flushed it, for it fetches on from there."""
    batch = reply.batch
    log = voter.log if batch is None else voter.log + (batch,)
    return replace(
        voter,
        log=log,
        flushed=len(log) if Design.flush_before_fetch else voter.flushed,
        high_watermark=max(voter.high_watermark, min(reply.high_watermark, len(log))),
        reply=None,
    )


def truncated(voter: VoterState, reply: Diverging) -> VoterState:
    """A follower that has cut off, durably, what its leader's log cannot have."""
    end = min(reply.end, entries_up_to(voter.log, reply.epoch))
    return replace(voter, log=voter.log[:end], flushed=min(voter.flushed, end), reply=None)


@action(
    who="voter {follower}",
    source="KIP-595, Fetch; Truncation",
    kafka="KafkaRaftClient.handleFetchResponse",
    api="Fetch v17 (__cluster_metadata)",
)
def receive_fetch(s: Quorum, follower: Voter) -> None:
    """A follower appends the batch that it has fetched, or cuts off what its leader does not have."""
    voter = s.voters[follower]
    reply = require_some(voter.reply)
    match reply:
        case Records():
            s.voters[follower] = extended(voter, reply)
        case Diverging():
            s.voters[follower] = truncated(voter, reply)


@action(who="voter {follower}", source="KIP-595, Fetch", kafka="KafkaRaftClient.handleResponse")
def lose_reply(s: Quorum, follower: Voter) -> None:
    """The reply to a fetch is lost, and the follower fetches again."""
    require(s.voters[follower].reply is not None)
    s.voters[follower].reply = None


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
    """A voter that has lost its memory, and of its log what was not flushed."""
    role = restarted_role(voter, name)
    forgets = role == RaftRole.UNATTACHED and not (Design.vote_is_durable and voter.leader != name)
    return replace(
        voter,
        role=role,
        voted_for=None if forgets else voter.voted_for,
        leader=None if role == RaftRole.UNATTACHED else voter.leader,
        log=voter.log[:kept],
        flushed=kept,
        high_watermark=0,
        granted=frozenset({name}) if role == RaftRole.CANDIDATE else frozenset(),
        ends=no_ends(),
        reply=None,
    )


@action(
    who="voter {voter}",
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
