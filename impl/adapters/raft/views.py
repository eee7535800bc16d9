"""The structures that spec and implementation are compared by, and how each of the two is seen as one.

A batch is known by its epoch, and an offset by how many batches are before it. What a voter remembers of its epoch is
looked for on its disk; its high watermark is what it has told its controller.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from impl.adapters.raft.cluster import Host, Quorum, batches_before, batches_of_newest, epoch_of, header
from impl.kraft.raft.roles import Candidate, Leader

_MOST_HOSTS = 1 << 14
RECORDS = 2
"""In a batch of the spec."""


class VoterView(NamedTuple):
    """deleted, snapshot: where its log begins and its newest snapshot ends, in batches. claims: its controller may
    decide. ends: of the other voters, as a leader knows them."""

    epoch: int
    voted_for: int | None
    leader: int | None
    role: str
    log: tuple[int, ...]
    deleted: int
    snapshot: int
    flushed: int
    high_watermark: int
    claims: bool
    granted: frozenset[int]
    ends: tuple[int, ...]
    reply: tuple[str, int | None, int] | None


class QuorumView(NamedTuple):
    """granted_in: by candidate and voter. committed: the epochs of its batches."""

    voters: tuple[VoterView, ...]
    granted_in: tuple[tuple[int, ...], ...]
    committed: tuple[int, ...]
    committed_in: int


# The implementation.


def observe(quorum: Quorum) -> QuorumView:
    nodes = range(len(quorum.hosts))
    return QuorumView(
        voters=tuple(map(_observed, quorum.hosts)),
        granted_in=tuple(tuple(_granted_in(quorum, candidate, voter) for voter in nodes) for candidate in nodes),
        committed=quorum.committed,
        committed_in=quorum.committed_in,
    )


@lru_cache(maxsize=_MOST_HOSTS)
def _observed(host: Host) -> VoterView:
    role, stored = host.core.voter.role, host.stored
    return VoterView(
        epoch=epoch_of(stored),
        voted_for=None if stored is None else stored.voted_for,
        leader=None if stored is None else stored.leader,
        role=type(role).__name__.upper(),
        log=tuple(header(batch).epoch for batch in host.log),
        deleted=host.deleted,
        snapshot=batches_of_newest(host.log, host.snapshots),
        flushed=host.flushed,
        high_watermark=host.applied,
        claims=host.claimed is not None,
        granted=role.granted if isinstance(role, Candidate) else frozenset(),
        ends=tuple(_end(host, other) for other in range(len(host.core.voter.settings.voters))),
        reply=_reply(host),
    )


def _end(host: Host, other: int) -> int:
    role = host.core.voter.role
    return batches_before(host.log, role.ends.get(other, 0)) if isinstance(role, Leader) else 0


def _reply(host: Host) -> tuple[str, int | None, int] | None:
    reply = host.reply
    if reply is None:
        return None
    if reply.snapshot is not None:
        return ("snapshot", None, reply.snapshot)
    if reply.diverging is not None:
        return ("diverging", *reply.diverging)
    return ("records", reply.batch, max(reply.watermark, host.applied))  # of a lower one nothing is made


def _granted_in(quorum: Quorum, candidate: int, voter: int) -> int:
    if candidate == voter:
        return quorum.stood[candidate]
    granted = quorum.votes.get((candidate, voter))
    return 0 if granted is None else granted[0].epoch


# The spec.


def expect(state: Any) -> QuorumView:
    return QuorumView(
        voters=tuple(_expected(voter) for voter in state.voters.values()),
        granted_in=tuple(tuple(granted.values()) for granted in state.granted_in.values()),
        committed=tuple(entry.epoch for entry in state.committed),
        committed_in=state.committed_in,
    )


def _expected(voter: Any) -> VoterView:
    watermark = voter.high_watermark
    return VoterView(
        epoch=voter.epoch,
        voted_for=None if voter.voted_for is None else voter.voted_for.index,
        leader=None if voter.leader is None else voter.leader.index,
        role=voter.role.name,
        log=tuple(entry.epoch for entry in voter.log),
        deleted=voter.log_start // RECORDS,
        snapshot=voter.snapshot_end // RECORDS,
        flushed=voter.flushed,
        high_watermark=watermark,
        claims=voter.role.name == "LEADER" and watermark > 0 and voter.log[watermark - 1].epoch == voter.epoch,
        granted=frozenset(one.index for one in voter.granted),
        ends=tuple(voter.ends.values()),
        reply=None if voter.reply is None else _expected_reply(voter.reply, watermark),
    )


def _expected_reply(reply: Any, known: int) -> tuple[str, int | None, int]:
    if type(reply).__name__ == "Diverging":
        return ("diverging", reply.epoch, reply.end)
    if type(reply).__name__ == "TakeSnapshot":
        return ("snapshot", None, reply.end // RECORDS)
    return ("records", None if reply.batch is None else reply.batch.epoch, max(reply.high_watermark, known))
