"""Lemmas for a proof by induction that the logs of a quorum match (R3): every log is what leaders wrote.

They rest on those of the votes (`raft_voters.VOTES`), and on one vote in an epoch (R7).
"""

from __future__ import annotations

from checker.lang import invariant
from spec.kraft.design import Design
from spec.kraft.properties.raft_voters import has_led, is_prefix, leads
from spec.kraft.quorum_log import Entries, epoch_at_end
from spec.kraft.raft import Quorum, RaftRole, Records
from spec.kraft.types import Voter


def is_as_written(s: Quorum, log: Entries) -> bool:
    """The log up to each of its batches is what the leader of the epoch of that batch wrote, and epochs do not fall."""
    return all(
        i >= len(log)
        or (
            log[i].epoch > 0
            and log[: i + 1] == s.written[log[i].epoch][: i + 1]
            and (i == 0 or log[i - 1].epoch <= log[i].epoch)
        )
        for i in range(Design.pending_batches)
    )


@invariant(source="KIP-595, Log Matching")
def logs_are_as_written(s: Quorum) -> bool:
    """Each voter's log is, up to each batch, that of the leader that wrote it, and has no epoch above the voter's."""
    return all(
        is_as_written(s, s.voters[voter].log) and epoch_at_end(s.voters[voter].log) <= s.voters[voter].epoch
        for voter in Voter
    )


@invariant(source="KIP-595, Log Matching")
def leaders_wrote_on_what_was_written(s: Quorum) -> bool:
    """What the leader of an epoch wrote ends in the epoch, and begins as what leaders before it had written."""
    return all(
        len(s.written[epoch]) == 0 or (epoch_at_end(s.written[epoch]) == epoch and is_as_written(s, s.written[epoch]))
        for epoch in range(Design.max_epoch + 1)
    )


@invariant(source="KIP-595, LeaderChangeMessage")
def a_leader_has_what_it_wrote(s: Quorum) -> bool:
    """A leader's log is what its epoch's leader wrote; one that has resigned wrote something."""
    return all(
        (not leads(s.voters[voter]) or s.voters[voter].log == s.written[s.voters[voter].epoch])
        and (not has_led(s.voters[voter]) or len(s.written[s.voters[voter].epoch]) > 0)
        for voter in Voter
    )


@invariant(source="KIP-595, Vote")
def an_epoch_is_led_once(s: Quorum) -> bool:
    """In an epoch in which somebody wrote, nobody else has the votes of a majority, nor can get them."""
    return all(
        len(s.written[epoch]) == 0
        or s.voters[voter].epoch > epoch
        or (s.voters[voter].epoch == epoch and has_led(s.voters[voter]))
        or 2 * possible_votes(s, voter, epoch) <= Design.controllers
        for epoch in range(Design.max_epoch + 1)
        for voter in Voter
    )


def possible_votes(s: Quorum, candidate: Voter, epoch: int) -> int:
    """The number of voters that have voted for a candidate in an epoch, or have not voted in it, nor passed it by."""
    return sum(
        1
        for one in Voter
        if s.granted_in[candidate][one] == epoch
        or s.voters[one].epoch < epoch
        or (s.voters[one].epoch == epoch and s.voters[one].voted_for is None)
    )


@invariant(source="KIP-595, Fetch")
def replies_are_as_written(s: Quorum) -> bool:
    """Only followers are answered. A batch on its way to one is the next that the leader of its epoch wrote behind what
    the follower has.
    """
    return all(
        s.voters[voter].reply is None
        or (s.voters[voter].role == RaftRole.FOLLOWER and fetches_what_was_written(s, voter))
        for voter in Voter
    )


def fetches_what_was_written(s: Quorum, name: Voter) -> bool:
    voter = s.voters[name]
    reply = voter.reply
    return (
        not isinstance(reply, Records)
        or reply.batch is None
        or is_prefix(voter.log + (reply.batch,), s.written[voter.epoch])
    )


LOGS = (
    logs_are_as_written,
    leaders_wrote_on_what_was_written,
    a_leader_has_what_it_wrote,
    an_epoch_is_led_once,
    replies_are_as_written,
)
