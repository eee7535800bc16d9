"""The steps of `spec/kraft/raft`, each by the inputs of the cores that are concerned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from checker.conform.system import Refusal
from impl.adapters.raft.cluster import (
    CALL,
    FAR_MS,
    NOW_MS,
    BrokenPromiseError,
    Quorum,
    Reply,
    asked,
    batches_before,
    batches_of_newest,
    end_of,
    header,
    promised,
    run,
    started,
)
from impl.kraft.errors import ErrorCode
from impl.kraft.raft.effects import Send, Timer
from impl.kraft.raft.errors import NotLeadingError
from impl.kraft.raft.messages import (
    BeginQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    VoteRequest,
    VoteResponse,
)
from impl.kraft.raft.roles import Leader, Resigned
from impl.kraft.storage.batches import Record

Arguments = Mapping[str, Any]
Step = Callable[[Quorum, Arguments], Quorum | Refusal]
MOST_PIECES = 64
DECIDED = (Record(b"decided"), Record(b"with it"))
"""A decision of the controller is one batch, of more than one record."""


def fire(quorum: Quorum, node: int, timer: Timer, peer: int | None = None) -> Quorum:
    """A timer that is set is due. What a candidate has to flush is on disk before it asks."""
    promised((timer, peer) in quorum.hosts[node].timers, f"its timer {timer} is not set")
    due = without_timer(quorum, node, (timer, peer))
    return run(due, node, lambda core: core.on_timer(timer, NOW_MS, peer), flushes=True)


def without_timer(quorum: Quorum, node: int, timer: tuple[Timer, int | None]) -> Quorum:
    host = quorum.hosts[node]
    return quorum.with_host(node, replace(host, timers=host.timers - {timer}))


# Elections.


def time_out(quorum: Quorum, arguments: Arguments) -> Quorum | Refusal:
    candidate = arguments["candidate"].index
    if isinstance(quorum.hosts[candidate].core.voter.role, Leader | Resigned):
        after = run(quorum, candidate, lambda core: core.on_timer(Timer.ELECTION, NOW_MS))
        return after if isinstance(quorum.hosts[candidate].core.voter.role, Leader) else Refusal("it has resigned")
    return fire(quorum, candidate, Timer.ELECTION)


def vote(quorum: Quorum, arguments: Arguments) -> Quorum | Refusal:
    voter, candidate = arguments["voter"].index, arguments["candidate"].index
    request = quorum.hosts[candidate].asks.get(voter)
    if request is None:
        return Refusal("the candidate does not ask")
    after, response = voted(quorum, voter, request)
    if not response.vote_granted:
        return Refusal("the vote is refused")
    stored = after.hosts[voter].stored
    promised(stored is not None and stored.voted_for == candidate, "the vote is not on disk")
    return replace(after, votes={**after.votes, (candidate, voter): (request, response)})


def voted(quorum: Quorum, voter: int, request: VoteRequest) -> tuple[Quorum, VoteResponse]:
    after, answers = asked(quorum, voter, lambda core: core.handle(CALL, request, NOW_MS))
    [response] = answers
    assert isinstance(response, VoteResponse)
    return after, response


def receive_vote(quorum: Quorum, arguments: Arguments) -> Quorum | Refusal:
    candidate, voter = arguments["candidate"].index, arguments["voter"].index
    granted = quorum.votes.get((candidate, voter))
    if granted is None:
        return Refusal("there is no such vote")
    request, response = granted
    return run(quorum, candidate, lambda core: core.on_response(voter, request, response, NOW_MS))


def adopt_epoch(quorum: Quorum, arguments: Arguments) -> Quorum | Refusal:
    """By what the other sends: it begins its epoch, is refused a vote, or answers whatever the voter asks it."""
    voter, other = arguments["voter"].index, arguments["other"].index
    asking = quorum.hosts[other]
    if isinstance(asking.core.voter.role, Leader):
        begin = begin_of(quorum, other, voter)
        after, [answer] = asked(quorum, voter, lambda core: core.handle(CALL, begin, NOW_MS))
        return after if answer.error is ErrorCode.NONE else Refusal(f"it answers {answer.error.name}")
    request = asking.asks.get(voter)
    if request is not None:
        after, response = voted(quorum, voter, request)
        if not response.vote_granted and response.error is ErrorCode.NONE:
            return after
    mine = quorum.hosts[voter].core.voter
    question = VoteRequest(
        "", other, voter, mine.epoch, min(mine.log.last_epoch, mine.epoch), mine.log.end_offset, pre_vote=True
    )
    _, heard = voted(quorum, other, question)
    return run(quorum, voter, lambda core: core.on_response(other, question, heard, NOW_MS))


def begin_of(quorum: Quorum, leader: int, voter: int) -> BeginQuorumEpochRequest:
    """The request by which a leader makes itself known, again and again."""
    promised((Timer.BEGIN, None) in quorum.hosts[leader].timers, "it does not make itself known again")
    sent = quorum.hosts[leader].core.copy().on_timer(Timer.BEGIN, NOW_MS)
    [begin] = [effect.request for effect in sent if isinstance(effect, Send) and effect.to == voter]
    assert isinstance(begin, BeginQuorumEpochRequest)
    return begin


def resign(quorum: Quorum, arguments: Arguments) -> Quorum | Refusal:
    """As the controller wishes; a leader from which nobody fetches must do the same."""
    leader = arguments["leader"].index
    host = quorum.hosts[leader]
    after = run(quorum, leader, lambda core: core.resign(core.voter.epoch, NOW_MS))
    if isinstance(host.core.voter.role, Leader):
        promised((Timer.CHECK_QUORUM, None) in host.timers, "it does not look whether it has a majority")
        alone = host.core.copy()
        alone.on_timer(Timer.CHECK_QUORUM, FAR_MS)
        promised(alone.voter.role == after.hosts[leader].core.voter.role, "it stays although nobody fetches")
    return after


def leave_resigned(quorum: Quorum, arguments: Arguments) -> Quorum | Refusal:
    voter = arguments["voter"].index
    if not isinstance(quorum.hosts[voter].core.voter.role, Resigned):
        return Refusal("it has not resigned")
    return fire(quorum, voter, Timer.ELECTION)


# The log.


def append_as_leader(quorum: Quorum, arguments: Arguments) -> Quorum | Refusal:
    leader = arguments["leader"].index
    try:
        return run(quorum, leader, lambda core: core.append(core.voter.epoch, DECIDED, NOW_MS))
    except NotLeadingError as error:
        return Refusal(str(error))


def flush(quorum: Quorum, arguments: Arguments) -> Quorum | Refusal:
    voter = arguments["voter"].index
    if not quorum.hosts[voter].is_flushing:
        return Refusal("it has not asked for it")
    return committed(run(quorum, voter, lambda core: [], flushes=True), voter)


def committed(quorum: Quorum, leader: int) -> Quorum:
    """What a leader has committed is what was committed before, and more."""
    host = quorum.hosts[leader]
    if not isinstance(host.core.voter.role, Leader) or host.applied <= len(quorum.committed):
        return quorum
    epochs = tuple(header(batch).epoch for batch in host.log[: host.applied])
    return replace(quorum, committed=epochs, committed_in=max(quorum.committed_in, host.core.voter.epoch))


def fetch_from_leader(quorum: Quorum, arguments: Arguments) -> Quorum | Refusal:
    """The fetch that is under way lands. Where there is nothing new, its time runs out at the leader."""
    leader, follower = arguments["leader"].index, arguments["follower"].index
    fetching = quorum.hosts[follower]
    request = fetching.fetch
    if (
        not isinstance(request, FetchRequest)
        or fetching.reply is not None
        or fetching.core.voter.election.leader != leader
    ):
        return Refusal("it does not fetch")
    after, answers = asked(quorum, leader, lambda core: core.handle(CALL, request, NOW_MS))
    if is_parked := not answers:
        promised((Timer.PARKED, follower) in after.hosts[leader].timers, "a fetch is never answered")
        after, answers = asked(after, leader, lambda core: core.on_timer(Timer.PARKED, NOW_MS, follower))
    [response] = answers
    assert isinstance(response, FetchResponse)
    if response.error is not ErrorCode.NONE:
        return Refusal(f"it answers {response.error.name}")
    log = after.hosts[leader].log
    reply = read(log, request, response)
    if is_parked:
        promised(reply.batch is None and request.high_watermark >= min(response.high_watermark, request.fetch_offset),
                 "a fetch waits, and there is something new")  # fmt: skip
    return committed(after.with_host(follower, replace(after.hosts[follower], reply=reply)), leader)


def read(log: tuple[bytes, ...], request: FetchRequest, response: FetchResponse) -> Reply:
    """A response in batches, as its leader has them."""
    if response.diverging is not None:
        epoch, end = response.diverging
        return Reply(request, response, diverging=(epoch, batches_before(log, end)))
    if response.snapshot_id is not None:
        return Reply(request, response, snapshot=batches_before(log, response.snapshot_id[0]))
    batch = header(response.records).epoch if response.records else None
    return Reply(request, response, batch, batches_before(log, response.high_watermark))


def receive_fetch(quorum: Quorum, arguments: Arguments) -> Quorum | Refusal:
    follower = arguments["follower"].index
    host = quorum.hosts[follower]
    reply, leader = host.reply, host.core.voter.election.leader
    if reply is None or leader is None or reply.snapshot is not None:
        return Refusal("there is no reply")
    given = quorum.with_host(follower, replace(host, reply=None, fetch=None))
    return run(
        given, follower, lambda core: core.on_response(leader, reply.request, reply.response, NOW_MS), flushes=True
    )


def lose_reply(quorum: Quorum, arguments: Arguments) -> Quorum | Refusal:
    """The connection is lost, the fetch given up, and after a while sent again."""
    follower = arguments["follower"].index
    host = quorum.hosts[follower]
    reply, leader = host.reply, host.core.voter.election.leader
    if reply is None or leader is None:
        return Refusal("there is no reply")
    given_up = run(
        quorum.with_host(follower, replace(host, reply=None, fetch=None)),
        follower,
        lambda core: core.on_response(leader, reply.request, None, NOW_MS),
    )
    promised(given_up.hosts[follower].fetch is None, "it fetches again at once")
    return fire(given_up, follower, Timer.RETRY, leader)


# Snapshots.


def freeze_snapshot(quorum: Quorum, arguments: Arguments) -> Quorum | Refusal:
    """The node writes what it has applied, and tells its core once it is on disk."""
    voter = arguments["voter"].index
    host = quorum.hosts[voter]
    applied = host.log[: host.applied]
    if host.applied <= batches_of_newest(host.log, host.snapshots):
        return Refusal("there is nothing new")
    snapshot_id = end_of(applied), header(applied[-1]).epoch
    written = quorum.with_host(voter, replace(host, snapshots=(*host.snapshots, snapshot_id)))
    return run(written, voter, lambda core: core.on_snapshot(snapshot_id, NOW_MS))


def delete_batches(quorum: Quorum, arguments: Arguments) -> Quorum | Refusal:
    voter = arguments["voter"].index
    snapshots = quorum.hosts[voter].snapshots
    if not snapshots:
        return Refusal("there is no snapshot")
    return run(quorum, voter, lambda core: core.delete_before(snapshots[-1], NOW_MS))


def fetch_snapshot(quorum: Quorum, arguments: Arguments) -> Quorum | Refusal:
    """The follower hears of the snapshot, and fetches it piece by piece, or hears that it is gone."""
    leader, follower = arguments["leader"].index, arguments["follower"].index
    host = quorum.hosts[follower]
    reply = host.reply
    if reply is None or reply.snapshot is None:
        return Refusal("it is not told to take a snapshot")
    heard = quorum.with_host(follower, replace(host, reply=None, fetch=None))
    after = run(heard, follower, lambda core: core.on_response(leader, reply.request, reply.response, NOW_MS))
    for _ in range(MOST_PIECES):
        request = after.hosts[follower].fetch
        if not isinstance(request, FetchSnapshotRequest):
            break
        after = with_piece(after, leader, follower, request)
    else:
        raise BrokenPromiseError("a snapshot is fetched without end")
    is_answered = after.hosts[follower].fetch is not None
    return after if is_answered else fire(after, follower, Timer.RETRY, leader)


def with_piece(quorum: Quorum, leader: int, follower: int, request: FetchSnapshotRequest) -> Quorum:
    after, [response] = asked(quorum, leader, lambda core: core.handle(CALL, request, NOW_MS))
    given = after.with_host(follower, replace(after.hosts[follower], fetch=None))
    return run(given, follower, lambda core: core.on_response(leader, request, response, NOW_MS))


# Crashes.


def crash_voter(quorum: Quorum, arguments: Arguments) -> Quorum | Refusal:
    """A log that is found to end before the newest snapshot begins anew where that ends."""
    voter, kept = arguments["voter"].index, arguments["kept"]
    host = quorum.hosts[voter]
    known = batches_of_newest(host.log, host.snapshots)
    log, deleted = host.log[: max(kept, known)], known if kept < known else host.deleted
    again = started(quorum, voter, len(quorum.hosts), host.stored, log, deleted, host.snapshots)
    return quorum.with_host(voter, again)


STEPS: dict[str, Step] = {
    step.__name__: step
    for step in (
        time_out, vote, adopt_epoch, receive_vote, leave_resigned, resign, append_as_leader, fetch_from_leader,
        receive_fetch, lose_reply, flush, crash_voter, freeze_snapshot, delete_batches, fetch_snapshot,
    )
}  # fmt: skip
