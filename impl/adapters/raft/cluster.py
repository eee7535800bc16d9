"""The quorum under test: a core for each voter, its disk, and the messages that the spec has under way.

All of it is immutable: a step copies the core that it touches. Effects are carried out in order, and what must be on
disk before a message leaves is looked for when it does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

from impl.kraft.raft import Raft, RaftSettings
from impl.kraft.raft.effects import (
    Answer,
    AnswerFetch,
    AnswerSnapshot,
    AppendToLog,
    Claim,
    Committed,
    DeleteBefore,
    Effect,
    Effects,
    Flush,
    FreezeSnapshot,
    InstallSnapshot,
    LoadSnapshot,
    Persist,
    ReceiveSnapshot,
    Renounce,
    Send,
    SetTimer,
    Timer,
    TruncateLog,
)
from impl.kraft.raft.log_ends import LogEnds
from impl.kraft.raft.messages import (
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    Request,
    Response,
    VoteRequest,
    VoteResponse,
)
from impl.kraft.raft.roles import Candidate, Follower, Leader
from impl.kraft.storage.batches import Header, header_at, headers
from impl.kraft.storage.election import ElectionState
from impl.kraft.storage.sizes import SnapshotId

NOW_MS = 0
FAR_MS = 1_000_000
CALL = 1
PIECE_BYTES = 64
Log = tuple[bytes, ...]
MakeCore = Callable[[RaftSettings, ElectionState | None, LogEnds], Raft]


class BrokenPromiseError(AssertionError):
    """A core has done something that must not be, whatever the state: a message before what it rests on is on disk."""


class Reply(NamedTuple):
    """A response to a fetch on its way. The others: what it says, in batches instead of offsets.

    snapshot: how many batches the snapshot stands for that is to be fetched first.
    """

    request: FetchRequest
    response: FetchResponse
    batch: int | None = None
    watermark: int = 0
    diverging: tuple[int, int] | None = None
    snapshot: int | None = None


@dataclass(frozen=True, eq=False)
class Host:
    """A voter's core and disk. log: all batches of which its state is made; of the first `deleted` there is but a
    snapshot. flushed: batches that are on disk. applied: those that it was told are committed.

    asks: the requests for votes of a candidate. fetch: that of a follower, and reply the answer that is on its way.
    received: of a snapshot that is being fetched. freezing: the one that is to be made durable.
    """

    core: Raft
    stored: ElectionState | None = None
    log: Log = ()
    deleted: int = 0
    snapshots: tuple[SnapshotId, ...] = ()
    flushed: int = 0
    is_flushing: bool = False
    applied: int = 0
    claimed: int | None = None
    timers: frozenset[tuple[Timer, int | None]] = frozenset()
    asks: Mapping[int, VoteRequest] = field(default_factory=dict)
    fetch: FetchRequest | FetchSnapshotRequest | None = None
    reply: Reply | None = None
    received: bytes = b""
    freezing: SnapshotId | None = None


@dataclass(frozen=True, eq=False)
class Quorum:
    """The whole system under test. votes: by candidate and voter, the last that was granted, with its request.

    committed: the epochs of the longest log below a leader's high watermark, and committed_in the newest epoch of one.
    stood: by voter, the last epoch in which it voted for itself.
    """

    make: MakeCore
    hosts: tuple[Host, ...]
    loses_unflushed: bool
    votes: Mapping[tuple[int, int], tuple[VoteRequest, VoteResponse]] = field(default_factory=dict)
    stood: tuple[int, ...] = ()
    committed: tuple[int, ...] = ()
    committed_in: int = 0

    def with_host(self, node: int, host: Host) -> Quorum:
        return replace(self, hosts=(*self.hosts[:node], host, *self.hosts[node + 1 :]))


@lru_cache(maxsize=4096)
def header(batch: bytes) -> Header:
    return header_at(batch)


def end_of(log: Log) -> int:
    """The end offset of a log."""
    return header(log[-1]).end_offset if log else 0


def batches_before(log: Log, offset: int) -> int:
    """How many batches of a log end at an offset or before it. Negative where a batch is cut by it."""
    if offset == 0:
        return 0
    ends = [header(batch).end_offset for batch in log]
    return ends.index(offset) + 1 if offset in ends else -1 - offset


def opened(log: Log, deleted: int, snapshots: tuple[SnapshotId, ...]) -> LogEnds:
    """A log as a process finds it on disk."""
    starts: list[tuple[int, int]] = []
    for batch in map(header, log[deleted:]):
        if not starts or starts[-1][0] < batch.epoch:
            starts.append((batch.epoch, batch.base_offset))
    return LogEnds.recovered(end_of(log), starts, end_of(log[:deleted]), snapshots)


def batches_of_newest(log: Log, snapshots: tuple[SnapshotId, ...]) -> int:
    """How many batches of a log the newest snapshot stands for."""
    return batches_before(log, snapshots[-1][0]) if snapshots else 0


def begun(make: MakeCore, stored: tuple[ElectionState | None, ...], logs: tuple[Log, ...], *, crashes: bool) -> Quorum:
    """A quorum whose voters start with this on their disks. crashes: what is not flushed may be lost."""
    quorum = Quorum(make, (), crashes, stood=(0,) * len(logs))
    for node, (state, log) in enumerate(zip(stored, logs, strict=True)):
        quorum = replace(quorum, hosts=(*quorum.hosts, started(quorum, node, len(logs), state, log)))
    return quorum


def started(
    quorum: Quorum,
    node: int,
    voters: int,
    stored: ElectionState | None,
    log: Log,
    deleted: int = 0,
    snapshots: tuple[SnapshotId, ...] = (),
) -> Host:
    """A process that starts, without memory. What its newest snapshot stands for is applied."""
    settings = RaftSettings(
        node, tuple(range(voters)), fetch_max_bytes=1, fetch_snapshot_max_bytes=PIECE_BYTES, uses_prevote=False
    )
    core = quorum.make(settings, stored, opened(log, deleted, snapshots))
    host = Host(core, stored, log, deleted, snapshots, len(log), applied=batches_of_newest(log, snapshots))
    return _settled(_Run(quorum, node, host).carry_out(host.core.start(NOW_MS)).host)


def run(quorum: Quorum, node: int, handed: Callable[[Raft], Effects], *, flushes: bool = False) -> Quorum:
    """Hand an input to a copy of a core, and carry out its effects. Nothing may be answered in it.

    flushes: what it asks to flush is on disk before the step ends.
    """
    after, answers = asked(quorum, node, handed, flushes=flushes)
    if answers:
        raise BrokenPromiseError("a request is answered that is not under way")
    return after


def asked(
    quorum: Quorum, node: int, handed: Callable[[Raft], Effects], *, flushes: bool = False
) -> tuple[Quorum, list[Response]]:
    """As `run`; with what was answered."""
    host = quorum.hosts[node]
    core = host.core.copy()
    carried = _Run(quorum, node, replace(host, core=core)).carry_out(handed(core))
    if carried.host.freezing is not None:
        carried.freeze(carried.host.freezing)
    while carried.host.is_flushing and (flushes or not quorum.loses_unflushed):
        carried.flush()
    after = replace(carried.quorum, stood=carried.stood)
    return after.with_host(node, _settled(carried.host)), carried.answers


class _Run:
    """The effects of one input, as they are carried out."""

    def __init__(self, quorum: Quorum, node: int, host: Host) -> None:
        self.quorum, self.node, self.host = quorum, node, host
        self.stood = quorum.stood
        self.answers: list[Response] = []

    def carry_out(self, effects: Effects) -> _Run:
        for effect in effects:
            self._carry_out(effect)
        return self

    def flush(self) -> None:
        """All of the log is on disk."""
        host = self.host = replace(self.host, is_flushing=False, flushed=len(self.host.log))
        promised(end_of(host.log) == host.core.voter.log.end_offset, "its log is not what it has asked for")
        self.carry_out(host.core.on_flushed(end_of(host.log), NOW_MS))

    def freeze(self, snapshot_id: SnapshotId) -> None:
        """The snapshot that was received is on disk."""
        host = self.host = replace(
            self.host, freezing=None, snapshots=tuple(sorted({*self.host.snapshots, snapshot_id}))
        )
        self.carry_out(host.core.on_frozen(snapshot_id, True, NOW_MS))

    def _carry_out(self, effect: Effect) -> None:
        host = self.host
        match effect:
            case Persist(state=state):
                self.host = replace(host, stored=state)
                if state.voted_for == self.node:
                    self.stood = (*self.stood[: self.node], state.epoch, *self.stood[self.node + 1 :])
            case AppendToLog(data=data):
                self.host = replace(host, log=(*host.log, data))
            case Flush():
                self.host = replace(host, is_flushing=True)
            case TruncateLog(end_offset=end):
                kept = batches_before(host.log, end)
                promised(kept >= host.applied, "it truncates what is committed, or within a batch")
                self.host = replace(host, log=host.log[:kept], flushed=min(host.flushed, kept))
            case ReceiveSnapshot() | FreezeSnapshot() | InstallSnapshot() | DeleteBefore() | LoadSnapshot():
                self.host = with_snapshot(host, effect)
            case Send(to=to, request=request):
                self._send(to, request)
            case Answer(response=response):
                self._answer(response)
            case AnswerFetch():
                promised(effect.offset >= end_of(host.log[: host.deleted]), "it answers with what it has deleted")
                self._answer(replace(effect.response, records=batch_at(host.log, effect.offset)))
            case AnswerSnapshot():
                self._answer(effect.with_data(*piece_of(host, effect)))
            case SetTimer():
                self.host = replace(host, timers=host.timers | {(effect.timer, effect.peer)})
            case Committed(end_offset=end):
                self._commit(batches_before(host.log, end))
            case Claim(epoch=epoch):
                promised(epoch == epoch_of(host.stored), "it claims another epoch than its own")
                self.host = replace(host, claimed=epoch)
            case Renounce():
                self.host = replace(host, claimed=None)

    def _send(self, to: int, request: Request) -> None:
        host = self.host
        promised(to != self.node, "it sends to itself")
        promised(epoch_of(host.stored) == request.epoch, "a request is of an epoch that is not on disk")
        match request:
            case VoteRequest(pre_vote=False):
                promised(is_flushed(host), "it asks for votes, and its log is not on disk")
                promised(host.stored is not None and host.stored.voted_for == self.node, "its own vote is not on disk")
                self.host = replace(host, asks={**host.asks, to: request})
            case FetchRequest() | FetchSnapshotRequest():
                promised(is_flushed(host), "it fetches, and what is before is not on disk")
                self.host = replace(host, fetch=request)

    def _answer(self, response: Response) -> None:
        promised(epoch_of(self.host.stored) == response.leader_epoch, "a response is of an epoch that is not on disk")
        self.answers.append(response)

    def _commit(self, batches: int) -> None:
        promised(batches > self.host.applied, "what is committed does not grow, or ends within a batch")
        self.host = replace(self.host, applied=batches)


def piece_of(host: Host, asked: AnswerSnapshot) -> tuple[int | None, bytes]:
    """The size of a snapshot, which has the batches that it stands for, and the next bytes. None: there is none."""
    if asked.snapshot_id not in host.snapshots:
        return None, b""
    data = b"".join(host.log[: batches_before(host.log, asked.snapshot_id[0])])
    position = asked.response.position
    return len(data), data[position : position + asked.max_bytes]


def with_snapshot(
    host: Host, effect: ReceiveSnapshot | FreezeSnapshot | InstallSnapshot | DeleteBefore | LoadSnapshot
) -> Host:
    """A disk whose log begins with a snapshot, or is about to."""
    end = effect.snapshot_id[0]
    match effect:
        case ReceiveSnapshot():
            promised(effect.position in (0, len(host.received)), "a piece of a snapshot is not the next one")
            return replace(host, received=host.received[: effect.position] + effect.data)
        case FreezeSnapshot():
            return replace(host, freezing=effect.snapshot_id)
        case InstallSnapshot():
            promised(effect.snapshot_id in host.snapshots, "the log is deleted for a snapshot that is not on disk")
            log = tuple(host.received[at : at + found.size_bytes] for at, found in headers(host.received))
            promised(bool(log) and (end_of(log), header(log[-1]).epoch) == effect.snapshot_id, "it is not all there")
            return replace(host, log=log, deleted=len(log), flushed=len(log), received=b"")
        case DeleteBefore():
            promised(effect.snapshot_id in host.snapshots, "no snapshot stands for what it deletes")
            kept = tuple(one for one in host.snapshots if one >= effect.snapshot_id)
            return replace(host, deleted=batches_before(host.log, end), snapshots=kept)
        case LoadSnapshot():
            loaded = batches_before(host.log, end)
            promised(loaded > host.applied, "a snapshot takes back what is applied, or ends within a batch")
            return replace(host, applied=loaded)


def promised(kept: bool, what: str) -> None:
    if not kept:
        raise BrokenPromiseError(what)


def epoch_of(stored: ElectionState | None) -> int:
    return 0 if stored is None else stored.epoch


def is_flushed(host: Host) -> bool:
    return host.flushed == len(host.log)


def batch_at(log: Log, offset: int) -> bytes:
    at = batches_before(log, offset)
    promised(at >= 0, "it answers a fetch within a batch")
    return log[at] if at < len(log) else b""


def has_meaning(host: Host, timer: Timer, peer: int | None) -> bool:
    """May this timer, in the role that the voter has, do anything once it is due?"""
    role = host.core.voter.role
    if isinstance(role, Leader):
        return timer in (Timer.BEGIN, Timer.CHECK_QUORUM) or (timer is Timer.PARKED and peer in role.parked)
    if timer is Timer.RETRY:
        return isinstance(role, Follower) and role.backs_off
    return timer is Timer.ELECTION


def _settled(host: Host) -> Host:
    """A host without the messages and timers that have lost their meaning: should they come late, nothing changes."""
    role = host.core.voter.role
    asks = host.asks if isinstance(role, Candidate) else {}
    current = {to: ask for to, ask in asks.items() if ask.epoch == host.core.voter.epoch}
    timers = frozenset(timer for timer in host.timers if has_meaning(host, *timer))
    for timer, peer in host.timers - timers:
        late = host.core.copy()
        promised(not late.on_timer(timer, NOW_MS, peer) and late.voter == host.core.voter, f"{timer} is out of place")
    fetching = role.fetching if isinstance(role, Follower) else None
    reply = host.reply
    if reply is not None and reply.request != fetching:
        late = host.core.copy()
        effects = late.on_response(reply.response.leader_id or 0, reply.request, reply.response, NOW_MS)
        promised(not effects and late.voter == host.core.voter, "a response that comes late changes something")
        reply = None
    return replace(host, timers=timers, asks=current, fetch=host.fetch if host.fetch == fetching else None, reply=reply)
