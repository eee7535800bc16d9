"""The purpose of a quorum's log on one page: votes and whole logs, without messages, time or disks.

Home of election safety, leader completeness and log matching. Every step of `raft` is, seen through `as_quorum_log`, a
step of this page or none at all. A vote is a step of its own here, too, for a candidate may learn of its majority late;
and what each leader wrote is remembered, for a batch may be copied that its leader has lost since.
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import (
    AtMost,
    History,
    Map,
    Model,
    Nat,
    Option,
    Range,
    Seq,
    Set,
    action,
    init,
    invariant,
    message,
    record,
    replace,
    require,
    state,
    transition_invariant,
    witness,
)
from spec.kraft.design import Design
from spec.kraft.types import Voter

SOURCE = "KIP-595; Ongaro and Ousterhout, In Search of an Understandable Consensus Algorithm"

Epoch = Annotated[int, Nat(lambda: Design.max_epoch)]
"""0: before the first election."""
AnyEpoch = Annotated[int, Range(0, lambda: Design.max_epoch)]
Offset = Annotated[int, Nat(lambda: Design.pending_batches)]
Crashes = Annotated[int, Nat(lambda: Design.max_crashes)]
Unregistrations = Annotated[int, Nat(lambda: Design.max_unregistrations)]


@message
class Entry:
    """A batch: the epoch of the leader that wrote it, and how many crashes there had been.

    A leader that leads on over a crash may write two batches at one offset and epoch; these differ in the second.
    """

    epoch: Epoch
    crashes: Crashes


Entries = Annotated[Seq[Entry], AtMost(lambda: Design.pending_batches)]


@record
class Member:
    """A voter, as far as safety rests on it."""

    epoch: Epoch  # it takes part in no older one
    voted_for: Option[Voter]
    supporters: Set[Voter]  # while it stands in its epoch: those that have voted for it
    leads: bool
    is_active: bool  # its controller has taken office, and decides
    log: Entries
    kept: Offset  # it never loses its log up to here
    ends: Map[Voter, Offset]  # while it leads: up to where it counts on the log of each other voter


@message
class Request:
    """What an operator asked a controller to remove, in an epoch, and whether the reply is there."""

    voter: Voter
    epoch: Epoch
    is_confirmed: bool


Requests = Annotated[Seq[Request], AtMost(lambda: Design.removals)]


@state
class QuorumLog:
    """The voters, what is committed, what each epoch's leader wrote, and what was asked for last."""

    members: Map[Voter, Member]
    committed: Entries
    committed_in: Annotated[Epoch, History]  # the newest epoch whose leader has committed
    written: Map[AnyEpoch, Entries]
    request: Requests
    unregistrations: Unregistrations


def no_ends() -> Map[Voter, Offset]:
    return Map({voter: 0 for voter in Voter})


def none_written() -> Map[AnyEpoch, Entries]:
    return Map({epoch: () for epoch in range(Design.max_epoch + 1)})


@init
def nobody_stood() -> QuorumLog:
    """Every log is empty."""
    member = Member(
        epoch=0,
        voted_for=None,
        supporters=frozenset(),
        leads=False,
        is_active=False,
        log=(),
        kept=0,
        ends=no_ends(),
    )
    return QuorumLog(
        members=Map(dict.fromkeys(Voter, member)),
        committed=(),
        committed_in=0,
        written=none_written(),
        request=(),
        unregistrations=0,
    )


# Logs.


def epoch_at_end(log: Entries) -> int:
    return 0 if len(log) == 0 else log[-1].epoch


def is_as_good(log: Entries, other: Entries) -> bool:
    """True when a log ends in a newer epoch than another, or in the same and is not shorter."""
    if epoch_at_end(log) != epoch_at_end(other):
        return epoch_at_end(other) < epoch_at_end(log)
    return len(other) <= len(log)


def is_majority(voters: Set[Voter]) -> bool:
    return 2 * len(voters) > Design.controllers


def shared(log: Entries, other: Entries) -> int:
    """The number of batches that two logs have in common, from the first on."""
    return sum(1 for i in range(Design.pending_batches) if log[: i + 1] == other[: i + 1] and i < len(log))


# Votes.


def in_epoch(member: Member, epoch: int) -> Member:
    """A voter that takes part in a newer epoch, and in no older one."""
    newer = replace(member, epoch=epoch, voted_for=None, supporters=frozenset())
    return not_leading(newer)


def not_leading(member: Member) -> Member:
    """A voter that does not lead. If it did, it forgets how far the others are, and its controller renounces."""
    return replace(member, leads=False, is_active=False, ends=no_ends())


@action(who="controller {voter}", source=SOURCE)
def promise(q: QuorumLog, voter: Voter, epoch: Epoch) -> None:
    """A voter takes part in no epoch older than this."""
    require(q.members[voter].epoch < epoch)
    q.members[voter] = in_epoch(q.members[voter], epoch)


@action(who="controller {candidate}", source=SOURCE)
def stand(q: QuorumLog, candidate: Voter) -> None:
    """A voter stands in its next epoch, votes for itself, and keeps the log that others will vote for."""
    member = q.members[candidate]
    require(member.epoch < Design.max_epoch)
    standing = in_epoch(member, member.epoch + 1)
    q.members[candidate] = replace(
        standing, voted_for=candidate, supporters=frozenset({candidate}), kept=len(member.log)
    )


@action(who="controller {voter}", source=SOURCE)
def grant(q: QuorumLog, voter: Voter, candidate: Voter) -> None:
    """A voter votes, once in an epoch, for one that stands and whose log is as good as its own."""
    member, standing = q.members[voter], q.members[candidate]
    require(voter != candidate and candidate in standing.supporters and voter not in standing.supporters)
    require(is_as_good(standing.log, member.log))
    unused = member.epoch == standing.epoch and not member.leads and member.voted_for in {None, candidate}
    require(member.epoch < standing.epoch or unused)
    supporters = standing.supporters | {voter}
    granting = in_epoch(member, standing.epoch) if member.epoch < standing.epoch else replace(member)
    q.members[voter] = replace(granting, voted_for=candidate)
    q.members[candidate].supporters = supporters


@action(who="controller {candidate}", source=SOURCE)
def withdraw(q: QuorumLog, candidate: Voter) -> None:
    """One that stands follows another leader of its epoch, or is elected no more."""
    require(len(q.members[candidate].supporters) > 0)
    q.members[candidate].supporters = frozenset()


@action(who="controller {candidate}", source=SOURCE)
def lead_epoch(q: QuorumLog, candidate: Voter, first: Entry, kept: Offset) -> None:
    """One that a majority has voted for leads its epoch, and begins with a batch of it."""
    standing = q.members[candidate]
    require(is_majority(standing.supporters) and first.epoch == standing.epoch)
    log = standing.log + (first,)
    require(standing.kept <= kept and kept <= len(log))
    q.members[candidate] = replace(standing, leads=True, supporters=frozenset(), log=log, kept=kept)
    q.written[first.epoch] = log


@action(who="controller {leader}", source=SOURCE)
def step_down(q: QuorumLog, leader: Voter) -> None:
    """A leader leads no more, and its epoch has none."""
    require(q.members[leader].leads)
    q.members[leader] = not_leading(q.members[leader])


# Logs that grow, and are cut.


@action(who="controller {leader}", source=SOURCE)
def append_batch(q: QuorumLog, leader: Voter, batch: Entry, kept: Offset) -> None:
    """A leader adds a batch to its log."""
    member = q.members[leader]
    require(member.leads and batch.epoch == member.epoch and member.kept <= kept and kept <= len(member.log) + 1)
    member.log = member.log + (batch,)
    member.kept = kept
    q.written[member.epoch] = member.log


@action(who="controller {voter}", source=SOURCE)
def copy_batch(q: QuorumLog, voter: Voter, kept: Offset) -> None:
    """A voter copies the next batch that the leader of its epoch wrote, if it has all that is before."""
    member = q.members[voter]
    written = q.written[member.epoch]
    require(not member.leads and len(member.log) < len(written) and written[: len(member.log)] == member.log)
    require(member.kept <= kept and kept <= len(member.log) + 1)
    member.log = written[: len(member.log) + 1]
    member.kept = kept


@action(who="controller {voter}", source=SOURCE)
def cut(q: QuorumLog, voter: Voter, end: Offset) -> None:
    """A voter cuts off batches, among them all that the leader of its epoch does not have, and none that it has."""
    member = q.members[voter]
    written = q.written[member.epoch]
    require(not member.leads and epoch_at_end(written) == member.epoch)
    require(shared(member.log, written) <= end and end < len(member.log))
    member.log = member.log[:end]
    member.kept = min(member.kept, end)


@action(who="controller {voter}", source=SOURCE)
def replace_log(q: QuorumLog, voter: Voter, end: Offset) -> None:
    """A voter takes what the leader of its epoch wrote, up to an offset, in place of its log, and keeps it."""
    member = q.members[voter]
    written = q.written[member.epoch]
    require(not member.leads and end <= len(written) and shared(member.log, written) < end)
    member.log = written[:end]
    member.kept = end


@action(who="controller {voter}", source=SOURCE)
def lose_tail(q: QuorumLog, voter: Voter, end: Offset) -> None:
    """A voter loses its memory, and of its log what it had not promised to keep. It does not lead any more."""
    member = q.members[voter]
    require(member.kept <= end and end <= len(member.log))
    q.members[voter] = replace(not_leading(member), log=member.log[:end], kept=end)


# What is committed.


def committed_end(member: Member, name: Voter) -> int:
    """The largest end that a leader counts a majority on, if the batch before it is of the leader's epoch. 0: none."""
    return max(
        (
            end
            for end in range(Design.pending_batches + 1)
            if end > 0
            and end <= len(member.log)
            and member.log[end - 1].epoch == member.epoch
            and 2 * counted_up_to(member, name, end) > Design.controllers
        ),
        default=0,
    )


def counted_up_to(member: Member, name: Voter, end: int) -> int:
    """The number of voters that a leader counts on up to this offset, itself among them."""
    return sum(1 for one in Voter if (member.kept if one == name else member.ends[one]) >= end)


@action(who="controller {voter}", source=SOURCE)
def keep(q: QuorumLog, voter: Voter, end: Offset) -> None:
    """A voter promises to keep its log up to an offset. A leader counts on itself up to there."""
    member = q.members[voter]
    require(member.kept < end and end <= len(member.log))
    member.kept = end
    committed = committed_end(member, voter) if member.leads else 0
    if committed > len(q.committed):
        q.committed = member.log[:committed]
        q.committed_in = max(q.committed_in, member.epoch)


@action(who="controller {leader}", source=SOURCE)
def count_on(q: QuorumLog, leader: Voter, voter: Voter, end: Offset) -> None:
    """A leader counts on a voter that takes part in its epoch, has its log up to an offset, and keeps it.

    What it counts a majority on is committed, once that has a batch of its epoch.
    """
    member, asked = q.members[leader], q.members[voter]
    require(leader != voter and member.leads and asked.epoch == member.epoch and member.ends[voter] < end)
    require(end <= shared(member.log, asked.log) and end <= asked.kept)
    member.ends = Map({one: end if one == voter else member.ends[one] for one in Voter})
    committed = committed_end(member, leader)
    if committed > len(q.committed):
        q.committed = member.log[:committed]
        q.committed_in = max(q.committed_in, member.epoch)


# What is claimed.


@invariant(source=SOURCE + ": Election Safety")
def one_leads_an_epoch(q: QuorumLog) -> bool:
    """No epoch has two leaders."""
    return all(
        one == other
        or not q.members[one].leads
        or not q.members[other].leads
        or q.members[one].epoch != q.members[other].epoch
        for one in Voter
        for other in Voter
    )


@invariant(source=SOURCE + ": Leader Completeness")
def leaders_have_what_is_committed(q: QuorumLog) -> bool:
    """The leader of an epoch has all that was committed in it and in older ones."""
    return all(
        not q.members[voter].leads
        or q.members[voter].epoch < q.committed_in
        or q.members[voter].log[: len(q.committed)] == q.committed
        for voter in Voter
    )


@invariant(source=SOURCE + ": Log Matching")
def same_epoch_same_log(q: QuorumLog) -> bool:
    """Where two logs have a batch of the same epoch at the same place, they are the same up to there."""
    return all(agree_up_to(q.members[one].log, q.members[other].log) for one in Voter for other in Voter)


def agree_up_to(log: Entries, other: Entries) -> bool:
    return all(
        i >= len(log) or i >= len(other) or log[i].epoch != other[i].epoch or log[: i + 1] == other[: i + 1]
        for i in range(Design.pending_batches)
    )


@invariant(source=SOURCE)
def committed_is_with_a_majority(q: QuorumLog) -> bool:
    """Most voters have what is committed, and keep it."""
    return 2 * sum(1 for voter in Voter if keeps(q.members[voter], q.committed)) > Design.controllers


def keeps(member: Member, committed: Entries) -> bool:
    return len(committed) <= member.kept and member.log[: len(committed)] == committed


@transition_invariant(source=SOURCE + ": State Machine Safety")
def committed_grows(before: QuorumLog, after: QuorumLog) -> bool:
    """What is committed stays."""
    return after.committed[: len(before.committed)] == before.committed


@witness
def deposed_leader_and_its_successor(q: QuorumLog) -> bool:
    """Two lead, in different epochs."""
    return sum(1 for voter in Voter if q.members[voter].leads) > 1


@witness
def two_epochs_are_committed(q: QuorumLog) -> bool:
    """What is committed is of two leaders."""
    return len(q.committed) > 1 and q.committed[0].epoch != q.committed[1].epoch


ACTIONS = (
    promise,
    stand,
    grant,
    withdraw,
    lead_epoch,
    step_down,
    append_batch,
    copy_batch,
    cut,
    replace_log,
    lose_tail,
    keep,
    count_on,
)

QUORUM_LOG = Model(
    name="quorum_log",
    doc="The log of a quorum on one page: votes, whole logs, what leaders count on and commit; what raft implements.",
    init=nobody_stood,
    actions=ACTIONS,
    properties=(
        one_leads_an_epoch,
        leaders_have_what_is_committed,
        same_epoch_same_log,
        committed_is_with_a_majority,
        committed_grows,
        deposed_leader_and_its_successor,
        two_epochs_are_committed,
    ),
    constants={"controllers": 3, "pending_batches": 2, "max_epoch": 2},
    faults="any loss of memory, and of what no voter has promised to keep",
    not_modelled="messages, time, disks: the models of raft, which refine this one",
)
