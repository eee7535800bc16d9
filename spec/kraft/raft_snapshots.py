"""Snapshots of the metadata quorum's log (KIP-630): what a voter knows to be committed, in place of the log before.

A snapshot is known by its end, for what is committed before an offset is the same everywhere; so the log of a voter is
kept whole here, and where it begins is a number. Ends are counted in records, of which a batch has two.
Leaves out: the pieces that a snapshot is fetched in; snapshots that are older than the newest; when one is due.
"""

from __future__ import annotations

from checker.lang import action, replace, require
from spec.kraft.design import Design
from spec.kraft.raft import Quorum, RaftRole, TakeSnapshot, VoterState, batches_in
from spec.kraft.raft_timeouts import cuts_are_modelled, reaches
from spec.kraft.types import Voter


def end_of_snapshot(voter: VoterState) -> int:
    """Where a snapshot of all that is committed ends."""
    end = 2 * voter.high_watermark
    return end if Design.snapshot_ends_batch else end - 1


@action(
    who="controller {voter}",
    source="KIP-630, When to Snapshot",
    kafka="SnapshotGenerator.maybeScheduleEmit, KafkaRaftClient.createSnapshot",
)
def freeze_snapshot(s: Quorum, voter: Voter) -> None:
    """A voter writes a snapshot of what it knows to be committed, to disk."""
    end = end_of_snapshot(s.voters[voter])
    require(s.snapshots < Design.max_snapshots and s.voters[voter].snapshot_end < end)
    s.voters[voter].snapshot_end = end
    s.snapshots += 1


def deletable(voter: VoterState) -> int:
    """The batches that a voter may delete."""
    return voter.snapshot_end // 2 if Design.deletes_behind_snapshot else voter.high_watermark


@action(
    who="controller {voter}",
    source="KIP-630, When to Increase the LogStartOffset",
    kafka="KafkaMetadataLog.maybeClean, KafkaMetadataLog.deleteBeforeSnapshot",
)
def delete_batches(s: Quorum, voter: Voter) -> None:
    """A voter deletes the batches for which its snapshot stands."""
    end = 2 * deletable(s.voters[voter])
    require(s.voters[voter].log_start < end)
    s.voters[voter].log_start = end


def restarted_at(voter: VoterState, leader: VoterState, end: int) -> VoterState:
    """A follower whose log begins, and ends, where a snapshot of its leader does."""
    batches = batches_in(end)
    return replace(
        voter,
        log=leader.log[:batches],
        log_start=end,
        snapshot_end=end,
        flushed=batches,
        high_watermark=batches,
        reply=None,
        has_fetched=cuts_are_modelled(),
    )


@action(
    who="controller {follower}",
    source="KIP-630, FetchSnapshot",
    kafka="KafkaRaftClient.handleFetchSnapshotRequest, KafkaRaftClient.handleFetchSnapshotResponse",
    deviates="all pieces in one step",
    api="FetchSnapshot v1",
)
def fetch_snapshot(s: Quorum, leader: Voter, follower: Voter) -> None:
    """A follower fetches its leader's snapshot, which takes the place of its log. One that is gone it asks for anew."""
    serving, fetching = s.voters[leader], s.voters[follower]
    require(serving.role == RaftRole.LEADER and fetching.leader == leader and fetching.epoch == serving.epoch)
    require(reaches(s, leader, follower))
    match fetching.reply:
        case TakeSnapshot(end=end):
            if serving.log_start <= end:
                s.voters[follower] = restarted_at(fetching, serving, end)
            else:
                fetching.reply = None
        case _:
            require(False)
