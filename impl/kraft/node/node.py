"""The core of a node: what the quorum does reaches the controller, and what the controller decides reaches the log."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from impl.kraft.controller import Controller
from impl.kraft.controller import Timer as ControllerTimer
from impl.kraft.controller.controller import check_request
from impl.kraft.effects import Append, Effects, Reply, SetTimer
from impl.kraft.messages import Request
from impl.kraft.node.codec import RecordCodec, batch_of, snapshot_of
from impl.kraft.node.effects import Applied, Asked, NodeEffects, note
from impl.kraft.node.housekeeping import CLEAN_TIMER, Housekeeping, SnapshotSettings
from impl.kraft.node.tail import Tail, TailBatch
from impl.kraft.raft import Raft
from impl.kraft.raft import effects as raft_effects
from impl.kraft.raft.effects import Claim, Committed, Renounce
from impl.kraft.raft.errors import NotLeadingError
from impl.kraft.raft.messages import Request as QuorumRequest
from impl.kraft.raft.messages import Response as QuorumResponse
from impl.kraft.records import Batch, Record
from impl.kraft.snapshot import Snapshot
from impl.kraft.storage.batches import Record as StoredRecord
from impl.kraft.storage.batches import RecordBatch, decode, size_of
from impl.kraft.storage.effects import AppendToLog
from impl.kraft.storage.sizes import SnapshotId, StoredSizes

APPLY_TIMER = ("apply",)
RECORDS_A_STEP = 2_000
"""So many a standby reads or replays, or the whole of a larger batch, before others have their turn: a voter that is
silent for as long as it takes to replay a log is taken for dead."""


class OffsetError(Exception):
    """The controller has numbered what it decided otherwise than the log: the process must end."""


class Node:
    """A voter of the quorum and its controller, in step.

    Every input returns effects, to be carried out in order before the next input is handed in; times are as for
    `Raft`. What is committed is answered at once, or replayed, in a few steps where it is much; the controller claims
    an epoch once the LeaderChange of it is replayed, and renounces with the voter, whatever made that step down.

    raft, controller: to be read only. tells_applied: an `Applied` says what is committed.
    """

    tells_applied = False

    def __init__(
        self,
        raft: Raft,
        controller: Controller,
        codec: RecordCodec,
        log: bytes = b"",
        snapshots: SnapshotSettings | None = None,
    ) -> None:
        """log: what the log has behind that which the controller has loaded, committed or not. Raises BatchError."""
        self.raft = raft
        self.controller = controller
        self._codec = codec
        self._tail = Tail()
        self._last_stored: tuple[Sequence[Record], tuple[StoredRecord, ...]] = (), ()
        self._tail.append(log)
        self._housekeeping = Housekeeping(snapshots or SnapshotSettings())
        self._committed_end = 0
        self._to_claim: int | None = None
        """The epoch that is claimed once all that is committed is replayed."""
        controller.batch_bytes = self._batch_bytes

    @property
    def applied_end(self) -> int:
        """All before this offset is in the committed image of the controller."""
        return self.controller.committed.offset + 1

    @property
    def applied_ms(self) -> int:
        """The timestamp of the last record that was applied; 0 where there is none."""
        return self._housekeeping.last_contained_ms

    # Inputs.

    def start(self, now_ms: int) -> NodeEffects:
        """Take up the role that was found on disk; the first input."""
        begun = [*self.raft.start(now_ms), self._housekeeping.start(now_ms)]
        if self.raft.voter.log.end_offset - self.applied_end > RECORDS_A_STEP:
            begun.append(SetTimer(APPLY_TIMER, now_ms))  # there is time until a leader says what is committed
        return self._done(begun, now_ms)

    def handle(self, call: int, request: Request, now_ms: int) -> NodeEffects:
        """Decide about a request of a broker or a client, as `Controller.handle`; a `Reply` answers it."""
        return self._done(self._written(self.controller.handle(call, request, now_ms), now_ms), now_ms)

    def handle_all(self, requests: Sequence[tuple[int, Request]], now_ms: int) -> NodeEffects:
        """As `handle` of one after the other, of which each has its batch; the log has them all at once.

        Raises InvalidFieldError before it decides about any.
        """
        for _, request in requests:
            check_request(request)
        asked: list[Asked] = []
        for call, request in requests:
            asked += self._written(self.controller.handle(call, request, now_ms), now_ms)
        return appended_at_once(self._done(asked, now_ms))

    def handle_quorum(self, call: int, request: QuorumRequest, now_ms: int) -> NodeEffects:
        """A request of another voter, or of an observer, has come; an `Answer` or `AnswerFetch` answers it."""
        return self._done(self.raft.handle(call, request, now_ms), now_ms)

    def on_response(self, to: int, request: QuorumRequest, response: QuorumResponse | None, now_ms: int) -> NodeEffects:
        """The response to a request that was sent to a voter; None: it was given up, or its connection lost."""
        return self._done(self.raft.on_response(to, request, response, now_ms), now_ms)

    def on_timer(
        self, timer: raft_effects.Timer | ControllerTimer, now_ms: int, peer: int | None = None
    ) -> NodeEffects:
        """A timer of either kind is due."""
        if isinstance(timer, raft_effects.Timer):
            return self._done(self.raft.on_timer(timer, now_ms, peer), now_ms)
        if timer == CLEAN_TIMER:
            return [*self._housekeeping.on_clean_timer(now_ms)]
        if timer == APPLY_TIMER:
            return self._done(self._replayed(now_ms) if self._is_behind else self._read_ahead(now_ms), now_ms)
        return self._done(self._written(self.controller.on_timer(timer, now_ms), now_ms), now_ms)

    def on_flushed(self, end_offset: int, now_ms: int) -> NodeEffects:
        """A flush has ended: all before this offset is on disk."""
        return self._done(self.raft.on_flushed(end_offset, now_ms), now_ms)

    def on_frozen(self, snapshot_id: SnapshotId, is_whole: bool, now_ms: int) -> NodeEffects:
        """A `FreezeSnapshot` has ended: the snapshot is on disk; or its bytes are none."""
        return self._done(self.raft.on_frozen(snapshot_id, is_whole, now_ms), now_ms)

    def load(self, snapshot_id: SnapshotId, stored: Iterable[RecordBatch], now_ms: int) -> NodeEffects:
        """A `LoadSnapshot` is carried out: its batches of data. Raises ValueError for what is damaged."""
        assert not self.controller.is_active, "who leads has all that is committed"
        loaded = self._loaded(snapshot_of(snapshot_id, stored, self._codec))
        loaded.batch_bytes = self._batch_bytes
        self.controller = loaded
        self._housekeeping.begin_anew(now_ms)
        return []

    def _loaded(self, snapshot: Snapshot) -> Controller:
        return Controller.load(self.controller.settings, snapshot)

    def on_snapshot(self, snapshot_id: SnapshotId, now_ms: int) -> NodeEffects:
        """A `WriteSnapshot` has ended: the snapshot is on disk."""
        self._housekeeping.on_snapshot()
        return self._done(self.raft.on_snapshot(snapshot_id, now_ms), now_ms)

    def on_measured(self, sizes: StoredSizes, now_ms: int) -> NodeEffects:
        """A `MeasureStorage` is carried out: what is old goes, with the part of the log that a newer snapshot has."""
        oldest = self._housekeeping.oldest_to_keep(sizes, now_ms)
        return [] if oldest is None else self._done(self.raft.delete_before(oldest, now_ms), now_ms)

    def resign(self, now_ms: int) -> NodeEffects:
        """Give up the active role, as the process shuts down or its disk is full (KAFKA-13104)."""
        return self._done(self.raft.resign(self.raft.voter.epoch, now_ms), now_ms)

    # Between the two cores.

    def _done(self, asked: Sequence[Asked], now_ms: int) -> NodeEffects:
        """What is left for the runtime, in order. What a step leads to comes behind all that the step asked for."""
        found: NodeEffects = []
        due = deque(asked)
        while due:
            match due.popleft():
                case Committed(end_offset=end_offset):
                    self._committed_end = end_offset
                    due += self._answered(now_ms) if self.controller.is_active else self._replayed(now_ms)
                case Claim(epoch=epoch):
                    self._to_claim = epoch
                    due += self._claimed(now_ms)
                case Renounce():
                    self._to_claim = None
                    due += self._written(self.controller.renounce(now_ms), now_ms)
                case effect:
                    note(self._tail, effect)
                    found.append(effect)
        return found

    def _answered(self, now_ms: int) -> Sequence[Asked]:
        """An active controller has replayed what is committed, and answers."""
        taken = tuple(self._taken())
        replies = self.controller.on_commit(self._committed_end, now_ms)
        return [*self._written(replies, now_ms), *self._applied(taken, self._committed_end, now_ms)]

    def _replayed(self, now_ms: int) -> Sequence[Asked]:
        """A standby replays what is committed, or as much of it as a step may."""
        taken: list[TailBatch] = []
        begun = self.applied_end
        for batch in self._taken():
            self.controller.replay(batch.content or self._read(batch.data))
            taken.append(batch)
            if self.applied_end - begun >= RECORDS_A_STEP:
                break
        if self._is_behind:
            applied = self._applied(taken, self.applied_end, now_ms)
            return [*applied, SetTimer(APPLY_TIMER, now_ms)]
        return [*self._applied(taken, self._committed_end, now_ms), *self._claimed(now_ms)]

    def _taken(self) -> Iterator[TailBatch]:
        for batch in self._tail.take(self._committed_end):
            self._housekeeping.note_applied(len(batch.data), batch.timestamp_ms)
            yield batch

    def _read_ahead(self, now_ms: int) -> Sequence[Asked]:
        return [SetTimer(APPLY_TIMER, now_ms)] if self._tail.read_ahead(self._read, RECORDS_A_STEP) else []

    def _read(self, data: bytes) -> Batch:
        """Raises ValueError."""
        return batch_of(decode(data), self._codec)

    @property
    def _is_behind(self) -> bool:
        """Something that is committed is to be replayed yet."""
        return self._tail.begins_before(self._committed_end)

    def _claimed(self, now_ms: int) -> Sequence[Asked]:
        epoch = self._to_claim
        if epoch is None or self._is_behind:
            return []
        self._to_claim = None
        return self._written(self.controller.claim(epoch, now_ms), now_ms)

    def _applied(self, taken: Sequence[TailBatch], end_offset: int, now_ms: int) -> Sequence[Asked]:
        told = [Applied(tuple(batch.data for batch in taken), end_offset)] if self.tells_applied else []
        return [*self._housekeeping.written(self.controller.committed, now_ms), *told]

    def _written(self, asked: Effects, now_ms: int) -> Sequence[Asked]:
        """What the controller asks for, its batches appended by the quorum. If that does not lead, it renounces."""
        found: list[Asked] = []
        for effect in asked:
            match effect:
                case Append(batch=batch):
                    try:
                        found += self._appended(batch, now_ms)
                    except NotLeadingError:
                        return [*found, *self._written(self.controller.renounce(now_ms), now_ms)]
                case Reply() | SetTimer():
                    found.append(effect)
        return found

    def _appended(self, batch: Batch, now_ms: int) -> raft_effects.Effects:
        """Raises NotLeadingError, and OffsetError unless the batch stands where the log ends."""
        effects = self.raft.append(batch.epoch, self._stored(batch.records), now_ms)
        end = self.raft.voter.log.end_offset
        if end != batch.last_offset + 1:
            raise OffsetError(f"a decision ends at {batch.last_offset + 1}, and the log with it at {end}")
        return effects

    def _stored(self, records: Sequence[Record]) -> tuple[StoredRecord, ...]:
        """Encoded once: a decision is measured before it is appended."""
        if self._last_stored[0] is not records:
            self._last_stored = records, tuple(StoredRecord(self._codec.encode(record)) for record in records)
        return self._last_stored[1]

    def _batch_bytes(self, records: Sequence[Record]) -> int:
        return size_of(self._stored(records))


def appended_at_once(effects: NodeEffects) -> NodeEffects:
    """A leader's effects, with one write of all that it appends, which is flushed and fetched at once."""
    appended = [effect for effect in effects if isinstance(effect, AppendToLog)]
    if len(appended) < 2:
        return effects
    first = effects.index(appended[0])
    whole = AppendToLog(b"".join(effect.data for effect in appended), appended[0].epoch)
    others = [effect for effect in effects[first:] if not isinstance(effect, AppendToLog)]
    return [*effects[:first], whole, *others]
