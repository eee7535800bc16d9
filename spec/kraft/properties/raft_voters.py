"""Properties of the quorum by messages and disks (R1-R10), its refinement, and states that it must be able to reach."""

from __future__ import annotations

from checker.lang import Map, invariant, refines, transition_invariant, witness
from spec.kraft.design import Design
from spec.kraft.quorum_log import QUORUM_LOG, Entries, Member, QuorumLog, agree_up_to, is_majority, no_ends
from spec.kraft.raft import Diverging, Quorum, RaftRole, VoterState, batches_in
from spec.kraft.raft_log import kept_end
from spec.kraft.types import Voter


def leads(voter: VoterState) -> bool:
    return voter.role == RaftRole.LEADER


@invariant(source="KIP-595, Leader Election (R1)")
def one_leader_in_an_epoch(s: Quorum) -> bool:
    """No two voters lead, or have resigned, in one epoch."""
    return all(
        one == other or s.voters[one].epoch != s.voters[other].epoch or not both_led(s.voters[one], s.voters[other])
        for one in Voter
        for other in Voter
    )


def both_led(one: VoterState, other: VoterState) -> bool:
    return has_led(one) and has_led(other)


def has_led(voter: VoterState) -> bool:
    return voter.role in {RaftRole.LEADER, RaftRole.RESIGNED}


@invariant(source="KIP-595, Leader Completeness (R2)")
def leader_has_what_is_committed(s: Quorum) -> bool:
    """A leader has all that was ever committed by leaders of its epoch and older ones."""
    return all(
        not leads(s.voters[voter])
        or s.voters[voter].epoch < s.committed_in
        or s.voters[voter].log[: len(s.committed)] == s.committed
        for voter in Voter
    )


@invariant(source="KIP-595, Log Matching (R3)")
def logs_of_voters_match(s: Quorum) -> bool:
    """Where two logs have a batch of the same epoch at the same offset, it is the same, and so is all before it."""
    return all(agree_up_to(s.voters[one].log, s.voters[other].log) for one in Voter for other in Voter)


@invariant(source="KIP-595, High watermark (R4)")
def applied_is_committed(s: Quorum) -> bool:
    """What is below a voter's high watermark is committed, and is the same at every voter."""
    return all(is_prefix(below_watermark(s.voters[voter]), s.committed) for voter in Voter)


def below_watermark(voter: VoterState) -> Entries:
    return voter.log[: voter.high_watermark]


def is_prefix(log: Entries, other: Entries) -> bool:
    return log == other[: len(log)]


@transition_invariant(source="KIP-595, High watermark (R5)")
def high_watermark_never_goes_back(before: Quorum, after: Quorum) -> bool:
    """At no voter while it runs, nor at the quorum over elections."""
    return is_prefix(before.committed, after.committed) and (
        before.crashes < after.crashes
        or all(before.voters[voter].high_watermark <= after.voters[voter].high_watermark for voter in Voter)
    )


@transition_invariant(source="KAFKA-12460 (R6)")
def applied_is_never_cut(before: Quorum, after: Quorum) -> bool:
    """No voter cuts off what it knows to be committed, unless it loses its disk."""
    return before.disk_losses < after.disk_losses or all(
        is_prefix(below_watermark(before.voters[voter]), after.voters[voter].log) for voter in Voter
    )


@invariant(source="KIP-595, High watermark (R6)")
def committed_is_on_disks_of_a_majority(s: Quorum) -> bool:
    """Most voters have on disk what is committed."""
    return 2 * sum(1 for voter in Voter if has_on_disk(s.voters[voter], s.committed)) > Design.controllers


def end_on_disk(voter: VoterState) -> int:
    """All before is on disk: as batches, or as what a snapshot stands for."""
    return max(voter.flushed, batches_in(voter.snapshot_end))


def has_on_disk(voter: VoterState, committed: Entries) -> bool:
    return len(committed) <= end_on_disk(voter) and voter.log[: len(committed)] == committed


@invariant(source="KIP-595, Vote (R7)")
def one_vote_in_an_epoch(s: Quorum) -> bool:
    """No voter has voted for two candidates in one epoch, over crashes."""
    return all(
        one == other or s.granted_in[one][voter] == 0 or s.granted_in[one][voter] != s.granted_in[other][voter]
        for voter in Voter
        for one in Voter
        for other in Voter
    )


@invariant(source="KIP-595, Fetch; KAFKA-10533 (R8)")
def acknowledged_is_on_disk(s: Quorum) -> bool:
    """A leader counts on nothing of a voter that takes part in its epoch that a crash of that voter can take away."""
    return all(
        not leads(s.voters[leader])
        or s.voters[voter].epoch != s.voters[leader].epoch
        or s.voters[leader].ends[voter] <= s.voters[voter].flushed
        for leader in Voter
        for voter in Voter
    )


@transition_invariant(source="KIP-595, Quorum State (R10)")
def epochs_of_voters_rise(before: Quorum, after: Quorum) -> bool:
    """A voter's epoch, which is on disk, never goes back, and in it a leader neither follows nor stands again."""
    return all(
        before.voters[voter].epoch <= after.voters[voter].epoch
        and (
            before.voters[voter].epoch < after.voters[voter].epoch
            or after.voters[voter].role not in {RaftRole.FOLLOWER, RaftRole.CANDIDATE}
            or not leads(before.voters[voter])
        )
        for voter in Voter
    )


@invariant(source="KAFKA-18379 (RL1)")
def nobody_follows_itself(s: Quorum) -> bool:
    """A voter follows another: one that followed itself would hear from no leader, and stand for no election by it."""
    return all(s.voters[v].role != RaftRole.FOLLOWER or s.voters[v].leader not in {None, v} for v in Voter)


# Refinement.


def as_member(s: Quorum, name: Voter) -> Member:
    """A voter without messages and disk: a vote counts from when it was given."""
    voter = s.voters[name]
    stands = voter.role == RaftRole.CANDIDATE
    return Member(
        epoch=voter.epoch,
        voted_for=voter.voted_for,
        supporters=frozenset(one for one in Voter if stands and s.granted_in[name][one] == voter.epoch),
        leads=leads(voter),
        is_active=False,
        log=voter.log,
        kept=end_on_disk(voter),
        ends=voter.ends if leads(voter) else no_ends(),
    )


@refines(QUORUM_LOG, source="KIP-595")
def as_quorum_log(s: Quorum) -> QuorumLog:
    """The quorum as its page has it."""
    return QuorumLog(
        members=Map({voter: as_member(s, voter) for voter in Voter}),
        committed=s.committed,
        committed_in=s.committed_in,
        written=s.written,
        request=(),
        unregistrations=0,
    )


# Witnesses.


@witness
def split_vote(s: Quorum) -> bool:
    """Two stand in one epoch, and neither can get a majority."""
    return any(
        one != other and stand_in_one_epoch(s.voters[one], s.voters[other]) and all_voted(s, s.voters[one].epoch)
        for one in Voter
        for other in Voter
    )


def stand_in_one_epoch(one: VoterState, other: VoterState) -> bool:
    return one.role == RaftRole.CANDIDATE and other.role == RaftRole.CANDIDATE and one.epoch == other.epoch


def all_voted(s: Quorum, epoch: int) -> bool:
    return all(s.voters[voter].epoch == epoch and s.voters[voter].voted_for is not None for voter in Voter)


@witness
def elected_late(s: Quorum) -> bool:
    """A voter has begun to lead although a newer epoch has a leader already."""
    return any(
        leads(s.voters[late]) and leads(s.voters[newer]) and s.voters[late].epoch < s.voters[newer].epoch
        for late in Voter
        for newer in Voter
    )


@witness
def truncation(s: Quorum) -> bool:
    """A follower is about to cut off what its leader does not have."""
    return any(isinstance(s.voters[voter].reply, Diverging) for voter in Voter)


@witness
def older_batch_is_committed(s: Quorum) -> bool:
    """A batch of an older epoch was committed with one of a newer leader."""
    return len(s.committed) > 1 and s.committed[0].epoch < s.committed_in


@witness
def three_epochs_in_one_log(s: Quorum) -> bool:
    """A voter's log has batches of three leaders."""
    return any(len(frozenset(batch.epoch for batch in s.voters[voter].log)) > 2 for voter in Voter)


@witness
def a_crash_took_a_tail(s: Quorum) -> bool:
    """A leader has crashed, and lost the end of what it wrote, which was not on disk."""
    return any(
        s.voters[voter].role == RaftRole.RESIGNED and len(s.voters[voter].log) < len(s.written[s.voters[voter].epoch])
        for voter in Voter
    )


@witness
def a_leader_has_resigned(s: Quorum) -> bool:
    """A leader has resigned, and its epoch goes on without."""
    return any(s.voters[voter].role == RaftRole.RESIGNED for voter in Voter)


@witness
def a_voter_refuses_to_truncate(s: Quorum) -> bool:
    """A follower is asked to cut off what it knows to be committed."""
    return any(is_asked_too_much(s.voters[voter]) for voter in Voter)


def is_asked_too_much(voter: VoterState) -> bool:
    reply = voter.reply
    return isinstance(reply, Diverging) and kept_end(voter.log, reply) < voter.high_watermark


# Lemmas for proofs of R1 and R7.


@invariant(source="KIP-595, Vote; Quorum State")
def votes_are_remembered(s: Quorum) -> bool:
    """A voter remembers the vote that it has given in its epoch, and has given none in a newer one."""
    return all(
        s.granted_in[candidate][voter] <= s.voters[voter].epoch
        and (s.voters[voter].voted_for == candidate)
        == (s.granted_in[candidate][voter] == s.voters[voter].epoch and s.voters[voter].epoch > 0)
        for candidate in Voter
        for voter in Voter
    )


@invariant(source="KIP-595, Vote")
def votes_are_for_those_that_stand(s: Quorum) -> bool:
    """Who leads or has resigned was given the votes of a majority in its epoch; who stands counts what it was given."""
    return all(has_its_votes(s, voter) for voter in Voter)


def has_its_votes(s: Quorum, name: Voter) -> bool:
    voter = s.voters[name]
    given = frozenset(one for one in Voter if s.granted_in[name][one] == voter.epoch)
    return (
        all(s.granted_in[name][one] <= voter.epoch for one in Voter)
        and (voter.role != RaftRole.CANDIDATE or voter.granted <= given)
        and (voter.leader == name) == has_led(voter)
        and (not has_led(voter) or is_majority(given))
        and (voter.role in {RaftRole.UNATTACHED, RaftRole.FOLLOWER} or voter.epoch > 0)
    )


VOTES = (votes_are_remembered, votes_are_for_those_that_stand)
