"""The metadata quorum below KIP-631: votes and fetches as messages, what is on disk, crashes, each voter's watermark.

KIP-595 with static voters, on whole logs from the first batch on. A voter that asks for votes, or fetches, is asked at
its present state: a candidate's log does not change while it stands, nor a follower's while its fetch is under way.
Replies are kept: a vote may be counted at any later time, and a fetch is answered when the follower gets to it, by what
its leader had then. A step is what a node does between two messages, so what it must have on disk before
it speaks is written in the same step; a leader's own flush runs beside its work. `quorum_log` has no messages, no time
and no disk, and each step here is one of its steps, or none. Here are its state, and where it begins; `raft_elections`
has votes, restarts and epochs, `raft_log` what grows, is fetched and is cut, `raft_snapshots` what takes the place of a
log's beginning, `raft_timeouts` who reaches whom.
Leaves out: observers; more than one batch in a fetch; requests for votes and news of a leader that come late, from one
that has moved on: they can but raise an epoch, or use a vote up.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated

from checker.lang import History, Map, Nat, Option, Set, init, message, record, replace, state
from spec.kraft.design import Design
from spec.kraft.quorum_log import AnyEpoch, Crashes, Entries, Entry, Epoch, Offset, no_ends, none_written
from spec.kraft.types import Voter

DiskLosses = Annotated[int, Nat(lambda: Design.max_disk_losses)]
Cuts = Annotated[int, Nat(lambda: Design.max_cuts)]
Snapshots = Annotated[int, Nat(lambda: Design.max_snapshots)]
RecordOffset = Annotated[int, Nat(lambda: 2 * Design.pending_batches if Design.max_snapshots > 0 else 0)]
"""An offset in records, of which a batch has two. An odd one is within a batch."""


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


@message
class TakeSnapshot:
    """A fetch is refused: the leader has a snapshot that ends here, to be fetched before the log."""

    end: RecordOffset


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
    log: Entries  # and before that what its snapshot stands for: of these batches, it has only what came of them
    log_start: RecordOffset  # the log begins here
    snapshot_end: RecordOffset  # its newest snapshot, which is on disk, stands for all before
    flushed: Offset  # its log up to here is on disk
    high_watermark: Offset  # all before is committed, as far as it knows
    granted: Set[Voter]  # a candidate: votes that it has counted
    ends: Map[Voter, Offset]  # a leader: of the others, from where they have fetched
    reply: Option[Records | Diverging | TakeSnapshot]  # a follower: what its leader has answered, on its way
    has_fetched: bool  # a follower: its leader has answered it, and not gone silent since; kept where there are cuts


@state
class Quorum:
    """The voters, the votes that were given, and what history remembers."""

    voters: Map[Voter, VoterState]
    granted_in: Map[Voter, Map[Voter, Epoch]]  # the last epoch in which a candidate was granted the vote of a voter
    crashes: Crashes
    disk_losses: DiskLosses
    cut: Option[Voter]  # it is cut off from all others
    cuts: Cuts
    snapshots: Snapshots
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
        log_start=0,
        snapshot_end=0,
        flushed=0,
        high_watermark=0,
        granted=frozenset(),
        ends=no_ends(),
        reply=None,
        has_fetched=False,
    )


def quorum_of(
    voters: Map[Voter, VoterState],
    granted_in: Map[Voter, Map[Voter, Epoch]],
    written: Map[AnyEpoch, Entries],
    committed: Entries = (),
    committed_in: int = 0,
) -> Quorum:
    """A quorum to which nothing has happened yet. committed: by the leader of epoch `committed_in`."""
    return Quorum(
        voters=voters,
        granted_in=granted_in,
        crashes=0,
        disk_losses=0,
        cut=None,
        cuts=0,
        snapshots=0,
        committed=committed,
        committed_in=committed_in,
        written=written,
    )


@init
def formatted() -> Quorum:
    """Every voter has an empty log, and nobody has stood yet."""
    voters = Map(dict.fromkeys(Voter, new_voter()))
    return quorum_of(voters, Map({candidate: no_ends() for candidate in Voter}), none_written())


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
    return quorum_of(Map(voters), Map(granted), Map(written))


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
    return quorum_of(Map(voters), Map(granted), Map(written), committed=log, committed_in=1)


@init
def served_by_leader() -> Quorum:
    """Voter 0 leads epoch 1, and has served all others, who have its first batch on disk."""
    leader, log = Voter(0), (batch_of(1),)
    following = replace(with_log(1, RaftRole.FOLLOWER, leader, None, log), high_watermark=1, has_fetched=True)
    ends: Map[Voter, Offset] = Map({voter: 0 if voter == leader else 1 for voter in Voter})
    leading = replace(with_log(1, RaftRole.LEADER, leader, leader, log), high_watermark=1, ends=ends)
    voters = Map({voter: leading if voter == leader else following for voter in Voter})
    for_leader: Map[Voter, Epoch] = Map({voter: 1 if voter == leader else 0 for voter in Voter})
    granted = Map({voter: for_leader if voter == leader else no_ends() for voter in Voter})
    written = {epoch: log if epoch == 1 else () for epoch in range(Design.max_epoch + 1)}
    return quorum_of(voters, granted, Map(written), committed=log, committed_in=1)


def may_crash() -> bool:
    """Without crashes, nothing tells what is on disk from what is not."""
    return Design.max_crashes > 0


def batches_in(end: RecordOffset) -> int:
    """The batches of which a snapshot with this end has something."""
    return (end + 1) // 2
