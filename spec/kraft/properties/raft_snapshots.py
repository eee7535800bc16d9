"""Properties of the quorum's snapshots (R9, RL3), and states that it must be able to reach."""

from __future__ import annotations

from checker.lang import invariant, leads_to, witness
from spec.kraft.properties.raft_cuts import leads_the_others
from spec.kraft.properties.raft_voters import below_watermark, leads
from spec.kraft.raft import Quorum, TakeSnapshot, VoterState, batches_in
from spec.kraft.raft_log import end_of_batches
from spec.kraft.types import Voter


@invariant(source="KIP-630, Validation of Snapshot and Log (R9)")
def snapshot_is_committed(s: Quorum) -> bool:
    """A snapshot stands for what its voter has, and knows to be committed."""
    return all(batches_in(s.voters[voter].snapshot_end) <= len(below_watermark(s.voters[voter])) for voter in Voter)


@invariant(source="KIP-630; KAFKA-14618, KAFKA-14619 (R9)")
def snapshot_ends_with_a_batch(s: Quorum) -> bool:
    """A snapshot ends where a batch does: batches are appended whole."""
    return all(s.voters[voter].snapshot_end % 2 == 0 for voter in Voter)


@invariant(source="KIP-630, Validation of Snapshot and Log; KAFKA-14238, KAFKA-14240 (R9)")
def snapshot_has_what_is_deleted(s: Quorum) -> bool:
    """A log begins no later than where its snapshot ends."""
    return all(s.voters[voter].log_start <= s.voters[voter].snapshot_end for voter in Voter)


@leads_to(source="KIP-630, FetchSnapshot (RL3)")
def catches_up_by_a_snapshot(s: Quorum, leader: Voter, voter: Voter) -> tuple[bool, bool]:
    """A voter that lacks what its leader has deleted gets all that the leader knows to be committed, while it leads."""
    serving, end = s.voters[leader], end_of_batches(s.voters[voter])
    lacks = leads_the_others(s, leader) and 2 * end < serving.log_start
    return lacks, not leads_the_others(s, leader) or serving.high_watermark <= end


# Witnesses.


@witness
def follower_lacks_what_is_deleted(s: Quorum) -> bool:
    """A follower that has a batch is told to take a snapshot, for its leader has deleted the next one."""
    return any(
        isinstance(s.voters[voter].reply, TakeSnapshot)
        and len(s.voters[voter].log) > 0
        and 2 * len(s.voters[voter].log) < s.voters[leader].log_start
        for voter in Voter
        for leader in Voter
    )


@witness
def log_of_an_older_epoch_is_replaced(s: Quorum) -> bool:
    """A follower is told to take a snapshot though its leader has what comes next: no epoch there is as old."""
    return any(
        isinstance(s.voters[voter].reply, TakeSnapshot)
        and s.voters[voter].leader == leader
        and len(s.voters[voter].log) > 0
        and s.voters[leader].log_start <= 2 * len(s.voters[voter].log)
        for voter in Voter
        for leader in Voter
    )


@witness
def snapshot_is_gone(s: Quorum) -> bool:
    """A follower is told to take a snapshot that its leader has deleted since."""
    return any(misses_its_snapshot(s, s.voters[voter]) for voter in Voter)


def misses_its_snapshot(s: Quorum, follower: VoterState) -> bool:
    reply = follower.reply
    return isinstance(reply, TakeSnapshot) and any(
        follower.leader == leader and reply.end < s.voters[leader].log_start for leader in Voter
    )


@witness
def led_by_one_that_took_a_snapshot(s: Quorum) -> bool:
    """A voter leads whose log was replaced by the snapshot of another."""
    writers = frozenset(one for one in Voter if s.voters[one].snapshot_end > 0 and s.voters[one].log_start == 0)
    return len(writers) == s.snapshots and any(
        leads(s.voters[voter]) and voter not in writers and s.voters[voter].snapshot_end > 0 for voter in Voter
    )


@witness
def snapshot_outlives_the_log(s: Quorum) -> bool:
    """A voter has crashed that had on disk a snapshot, and nothing of the log for which it stands."""
    return s.crashes > 0 and any(s.voters[voter].log_start > 0 for voter in Voter)
