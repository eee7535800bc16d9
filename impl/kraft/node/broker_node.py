"""The core of a broker's process: what is committed reaches the broker, which observes the quorum for it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import cast

from impl.kraft.broker import Broker, FetchRequest, FetchResponse
from impl.kraft.broker import Timer as BrokerTimer
from impl.kraft.broker.core import BrokerRequest, BrokerResponse
from impl.kraft.effects import Append, Effects, Reply
from impl.kraft.messages import Request, Response
from impl.kraft.node.codec import RecordCodec, batch_of, snapshot_of
from impl.kraft.node.effects import AskedByBroker, BrokerEffect, BrokerEffects, note
from impl.kraft.node.housekeeping import CLEAN_TIMER, Housekeeping, SnapshotSettings
from impl.kraft.node.tail import Tail
from impl.kraft.raft import Raft
from impl.kraft.raft import effects as raft_effects
from impl.kraft.raft.effects import Claim, Committed, Renounce
from impl.kraft.raft.messages import Request as QuorumRequest
from impl.kraft.raft.messages import Response as QuorumResponse
from impl.kraft.records import Batch
from impl.kraft.storage.batches import RecordBatch, decode
from impl.kraft.storage.sizes import SnapshotId, StoredSizes


class BrokerNode:
    """An observer of the quorum and its broker, in step.

    Inputs, effects and times are as those of `Node`; an `effects.Send` is for the active controller, which is `leader`.

    raft, broker: to be read only.
    """

    def __init__(
        self,
        raft: Raft,
        broker: Broker,
        codec: RecordCodec,
        log: bytes = b"",
        snapshots: SnapshotSettings | None = None,
    ) -> None:
        """log: what the log has behind that which the broker has loaded, committed or not. Raises BatchError."""
        self.raft = raft
        self.broker = broker
        self._codec = codec
        self._tail = Tail()
        self._tail.append(log)
        self._housekeeping = Housekeeping(snapshots or SnapshotSettings())

    @property
    def leader(self) -> int | None:
        """The active controller, as far as this node has heard."""
        return self.raft.voter.election.leader

    @property
    def applied_end(self) -> int:
        """All before this offset is in the image of the broker."""
        return self.broker.image.offset + 1

    # Inputs.

    def start(self, now_ms: int) -> BrokerEffects:
        """The process starts; the first input."""
        begun = self._housekeeping.start(now_ms)
        return self._done([*self.raft.start(now_ms), *of_broker(self.broker.start(now_ms)), begun], now_ms)

    def recovered(self, now_ms: int) -> BrokerEffects:
        """The logs of its partitions are recovered. Raises BrokerStateError."""
        return self._done(of_broker(self.broker.recovered(now_ms)), now_ms)

    def shut_down(self, now_ms: int) -> BrokerEffects:
        """SIGTERM."""
        return self._done(of_broker(self.broker.shut_down(now_ms)), now_ms)

    def handle_quorum(self, call: int, request: QuorumRequest, now_ms: int) -> BrokerEffects:
        """A request between nodes of the quorum has come to the wrong one; an `Answer` refuses it."""
        return self._done(self.raft.handle(call, request, now_ms), now_ms)

    def on_response(
        self, to: int, request: QuorumRequest, response: QuorumResponse | None, now_ms: int
    ) -> BrokerEffects:
        """The response of a voter to a `raft.effects.Send`; None: it was given up, or its connection lost."""
        return self._done(self.raft.on_response(to, request, response, now_ms), now_ms)

    def on_controller_response(self, request: Request, response: Response | None, now_ms: int) -> BrokerEffects:
        """The active controller's response to an `effects.Send`; None: it was given up, or there was nobody to ask.

        Raises InvalidFieldError for what no broker asks for, or no controller answers it with.
        """
        asked, answer = cast(BrokerRequest, request), cast(BrokerResponse | None, response)
        return self._done(of_broker(self.broker.on_response(asked, answer, now_ms)), now_ms)

    def on_timer(self, timer: raft_effects.Timer | BrokerTimer, now_ms: int, peer: int | None = None) -> BrokerEffects:
        """A timer of either kind is due."""
        if isinstance(timer, raft_effects.Timer):
            return self._done(self.raft.on_timer(timer, now_ms, peer), now_ms)
        if timer == CLEAN_TIMER:
            return [*self._housekeeping.on_clean_timer(now_ms)]
        return self._done(of_broker(self.broker.on_timer(timer, now_ms)), now_ms)

    def on_flushed(self, end_offset: int, now_ms: int) -> BrokerEffects:
        """A flush of the metadata log has ended: all before this offset is on disk."""
        return self._done(self.raft.on_flushed(end_offset, now_ms), now_ms)

    def on_frozen(self, snapshot_id: SnapshotId, is_whole: bool, now_ms: int) -> BrokerEffects:
        """As that of a `Node`; so are the next three."""
        return self._done(self.raft.on_frozen(snapshot_id, is_whole, now_ms), now_ms)

    def load(self, snapshot_id: SnapshotId, stored: Iterable[RecordBatch], now_ms: int) -> BrokerEffects:
        snapshot = snapshot_of(snapshot_id, stored, self._codec)
        self._housekeeping.begin_anew(now_ms)
        return self._done(of_broker(self.broker.load(snapshot, snapshot_id[0], now_ms)), now_ms)

    def on_snapshot(self, snapshot_id: SnapshotId, now_ms: int) -> BrokerEffects:
        self._housekeeping.on_snapshot()
        return self._done(self.raft.on_snapshot(snapshot_id, now_ms), now_ms)

    def on_measured(self, sizes: StoredSizes, now_ms: int) -> BrokerEffects:
        oldest = self._housekeeping.oldest_to_keep(sizes, now_ms)
        return [] if oldest is None else self._done(self.raft.delete_before(oldest, now_ms), now_ms)

    def on_fetch(self, request: FetchRequest, now_ms: int) -> tuple[FetchResponse, BrokerEffects]:
        """Another broker fetches from a partition that this one leads."""
        response, effects = self.broker.on_fetch(request, now_ms)
        return response, self._done(of_broker(effects), now_ms)

    # Between the two cores.

    def _done(self, asked: Sequence[AskedByBroker], now_ms: int) -> BrokerEffects:
        """What is left for the runtime, in order. What a step leads to comes behind all that the step asked for."""
        found: BrokerEffects = []
        due = deque(asked)
        while due:
            match due.popleft():
                case Committed(end_offset=end_offset):
                    due += self._committed(end_offset, now_ms)
                case Claim() | Renounce():
                    raise AssertionError("an observer does not lead")
                case effect:
                    note(self._tail, effect)
                    found.append(effect)
        return found

    def _committed(self, end_offset: int, now_ms: int) -> Sequence[AskedByBroker]:
        """What is committed is replayed, unless the broker is about to end, and looks at nothing any more."""
        batches = list[Batch]()
        for batch in self._tail.take(end_offset):
            self._housekeeping.note_applied(len(batch.data), batch.timestamp_ms)
            batches.append(batch_of(decode(batch.data), self._codec))
        asked: list[AskedByBroker] = [*of_broker(self.broker.replay(batches, end_offset, now_ms))]
        if self.applied_end == end_offset:
            asked += self._housekeeping.written(self.broker.image, now_ms)
        return asked


def of_broker(effects: Effects) -> list[BrokerEffect]:
    """Those that a broker asks for: it has no log to append to, and nobody's call to answer."""
    return [effect for effect in effects if not isinstance(effect, Append | Reply)]
