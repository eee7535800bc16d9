"""The log of the metadata quorum: batches that a leader appends, and others fetch or cut; what is committed."""

from __future__ import annotations

from checker.lang import Map, action, replace, require, require_some
from spec.kraft.design import Design
from spec.kraft.quorum_log import Entries, Entry, Offset, epoch_at_end
from spec.kraft.raft import Diverging, Quorum, RaftRole, Records, TakeSnapshot, VoterState, batches_in, may_crash
from spec.kraft.raft_timeouts import cuts_are_modelled, reaches
from spec.kraft.types import Voter


def entries_up_to(log: Entries, epoch: int) -> int:
    """The end offset of an epoch in a log: the number of batches of this epoch and older ones."""
    return sum(1 for i in range(Design.pending_batches) if i < len(log) and log[i].epoch <= epoch)


@action(who="controller {leader}", source="KIP-595", kafka="KafkaRaftClient.appendBatch")
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
    who="controller {voter}",
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


def starts_in_a_batch(voter: VoterState) -> bool:
    """True when the last batch of a log, of which a snapshot had some records, is not whole."""
    return voter.log_start % 2 == 1


def end_of_batches(voter: VoterState) -> int:
    """The end of the last whole batch."""
    return len(voter.log) - 1 if starts_in_a_batch(voter) else len(voter.log)


def oldest_epoch(voter: VoterState) -> int:
    """The oldest epoch of which a leader's log knows the end: that of the batch before its start, or of its first."""
    return voter.log[max(0, batches_in(voter.log_start) - 1)].epoch


def needs_snapshot(leader: VoterState, end: int, epoch: int) -> bool:
    """A follower whose log ends here is to fetch the leader's snapshot first: the leader has not what comes next, or
    knows no epoch as old, as where the log is empty, and the snapshot the shorter way."""
    return leader.snapshot_end > 0 and (2 * end < leader.log_start or epoch < oldest_epoch(leader))


@action(
    who="controller {leader}",
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
    require(reaches(s, leader, follower))
    require(not Design.flush_before_fetch or fetching.flushed == len(fetching.log))
    end, epoch = end_of_batches(fetching), epoch_at_end(fetching.log)
    refused = needs_snapshot(serving, end, epoch)
    require(refused or serving.log_start <= 2 * end)
    valid = not refused and is_valid(serving.log, end, epoch)
    ends: Map[Voter, Offset] = Map({v: end if v == follower and valid else serving.ends[v] for v in Voter})
    watermark = high_watermark(replace(serving, ends=ends), leader)
    require(
        not valid or end < len(serving.log) or ends != serving.ends or fetching.high_watermark < min(watermark, end)
    )
    serving.ends = ends
    serving.high_watermark = watermark
    if refused:
        fetching.reply = TakeSnapshot(end=serving.snapshot_end)
    elif not valid:
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


def kept_end(log: Entries, reply: Diverging) -> int:
    """Up to where a follower's log may be that of its leader.

    Of an epoch that its own log has not it makes nothing of the leader's end, which may be within one of its batches.
    """
    end = entries_up_to(log, reply.epoch)
    return min(reply.end, end) if known_epoch(log, reply.epoch) == reply.epoch else end


def truncated(voter: VoterState, end: int) -> VoterState:
    """A follower that has cut off, durably, what its leader's log cannot have."""
    return replace(
        voter,
        log=voter.log[:end],
        flushed=min(voter.flushed, end),
        reply=None,
    )


@action(
    who="controller {follower}",
    source="KIP-595, Fetch; Truncation",
    kafka="KafkaRaftClient.handleFetchResponse",
    api="Fetch v17 (__cluster_metadata)",
)
def receive_fetch(s: Quorum, follower: Voter) -> None:
    """A follower appends the batch that it has fetched, or cuts off what its leader does not have.

    It stops where that is committed (KAFKA-12460), and appends no batch that begins before its log ends.
    """
    voter = s.voters[follower]
    reply = require_some(voter.reply)
    match reply:
        case Records():
            require(not starts_in_a_batch(voter))
            s.voters[follower] = extended(voter, reply)
        case Diverging():
            end = kept_end(voter.log, reply)
            require(not Design.keeps_committed or voter.high_watermark <= end)
            s.voters[follower] = truncated(voter, end)
        case TakeSnapshot():
            require(False)
    s.voters[follower].has_fetched = cuts_are_modelled()


@action(who="controller {follower}", source="KIP-595, Fetch", kafka="KafkaRaftClient.handleResponse")
def lose_reply(s: Quorum, follower: Voter) -> None:
    """The reply to a fetch is lost, and the follower fetches again."""
    require(s.voters[follower].reply is not None)
    s.voters[follower].reply = None
