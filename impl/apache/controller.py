"""A released controller as a core: what `impl.kraft.controller.Controller` offers, done by Kafka's own classes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple
from uuid import UUID

from impl.apache.jvm import State, jvm
from impl.apache.release import numbers
from impl.apache.wire import KINDS, batch_json, batch_of, command_of
from impl.kraft.controller import NO_OP_TIMER, ControllerSettings, Timer, lease_timer
from impl.kraft.controller import Session as SessionView
from impl.kraft.controller.controller import Waiting
from impl.kraft.effects import Append, Effects, Reply, SetTimer
from impl.kraft.errors import ErrorCode
from impl.kraft.image import Image
from impl.kraft.messages import (
    AlterPartitionRequest,
    BrokerHeartbeatRequest,
    DeleteTopicRequest,
    DeleteTopicResponse,
    IsrMember,
    Request,
)
from impl.kraft.records import Batch, NoOpRecord, RegisterBrokerRecord, UnregisterBrokerRecord
from impl.kraft.snapshot import Snapshot, load_snapshot, write_snapshot

METADATA_VERSION = 20
"""3.8-IV0: the newest that the brokers of a cluster under test know."""
NODE_ID = 0
NS_PER_MS = 1_000_000


class Sessions:
    """What a released controller remembers of brokers, in the shape of `impl.kraft.controller.sessions.Sessions`."""

    def __init__(self, state: State) -> None:
        self._state = state

    @property
    def of_broker(self) -> Mapping[int, SessionView]:
        return {
            id_: SessionView(one.contact_ns // NS_PER_MS, one.metadata_offset, self.shutdown_offset(id_))
            for id_, one in self._state.sessions.items()
        }

    def shutdown_offset(self, broker_id: int) -> int | None:
        session = self._state.sessions.get(broker_id)
        return None if session is None or session.shutdown_offset < 0 else session.shutdown_offset

    def all_reach(self, offset: int, broker_ids: Iterable[int]) -> bool:
        known = self._state.sessions
        return all(id_ in known and known[id_].metadata_offset >= offset for id_ in broker_ids)


class Offsets(NamedTuple):
    """Where registrations are in the log.

    amended: by the id of a broker that has registered again as the same incarnation, the offset of the last record of
    that. registered_at: the offset of a registration by its broker epoch, where it is another one.
    """

    amended: Mapping[int, int] = {}
    registered_at: Mapping[int, int] = {}

    def after(self, before: Image, batch: Batch) -> Offsets:
        """before: the image that the batch follows on."""
        amended, registered_at = dict(self.amended), dict(self.registered_at)
        for offset, record in enumerate(batch.records, batch.base_offset):
            match record:
                case RegisterBrokerRecord(id_) if is_held(before, id_, record.incarnation_id):
                    amended[id_] = offset
                case RegisterBrokerRecord(id_) | UnregisterBrokerRecord(id_):
                    amended.pop(id_, None)
                    if isinstance(record, RegisterBrokerRecord) and offset != record.broker_epoch:
                        registered_at[record.broker_epoch] = offset
        return Offsets(amended, registered_at)


def is_held(image: Image, broker_id: int, incarnation: UUID) -> bool:
    """The id is held by this incarnation."""
    held = image.registrations.get(broker_id)
    return held is not None and held.incarnation_id == incarnation


class ApacheController:
    """A controller of a release: a standby, until it claims the active role.

    Kafka has one timer for all leases, which is due at any time; here each lease has one that is.

    committed, speculative: replays of the log, of what is committed and of all of it. state: in the JVM.
    fenced_have_leases: before 4.0, who is fenced has none. loaded: the snapshot that it has begun with, whose last
    offset it takes for that of all registrations in it (ClusterControlManager.replay).
    """

    IS_KAFKAS = True

    def __init__(self, version: str, settings: ControllerSettings) -> None:
        self.settings = settings
        self.fenced_have_leases = numbers(version) >= (4, 0)
        self.committed = Image()
        self.speculative = self.committed
        self.epoch: int | None = None
        self.waiting: deque[Waiting] = deque()
        self._calls: dict[int, tuple[int, type[Request]]] = {}  # those that wait, by a number that no other has
        self._pending: deque[Batch] = deque()
        self._committed_offsets = self._offsets = Offsets()
        self.loaded: Snapshot | None = None
        self.state = jvm(version).first(
            {
                "kind": "create",
                "node": NODE_ID,
                "cluster": settings.cluster_id,
                "sessionTimeoutMs": settings.session_timeout_ms,
                "metadataVersion": METADATA_VERSION,
                "minInsyncReplicas": settings.min_insync_replicas,
            }
        )

    def copy(self) -> ApacheController:
        other = type(self).__new__(type(self))
        vars(other).update(vars(self))
        other.committed = self.committed.copy()
        other.speculative = self.speculative.copy() if self.is_active else other.committed
        other.waiting, other._calls, other._pending = self.waiting.copy(), dict(self._calls), self._pending.copy()
        return other

    @property
    def is_active(self) -> bool:
        return self.epoch is not None

    @property
    def sessions(self) -> Sessions:
        return Sessions(self.state)

    def snapshot(self) -> Snapshot:
        """The snapshot of what is committed: brokers write it, as controllers do, from their images."""
        return write_snapshot(self.committed)

    def has_valid_session(self, broker_id: int, now_ms: int) -> bool:
        """The broker is registered, has a lease, and was heard of in time."""
        session = self.state.sessions.get(broker_id)
        if broker_id not in self.speculative.registrations or session is None or session.contact_ns < 0:
            return False
        return now_ms < session.contact_ns // NS_PER_MS + self.settings.session_timeout_ms

    @property
    def amended(self) -> Mapping[int, int]:
        """By the id of a broker that has registered again as the same incarnation, the offset of that."""
        return self._offsets.amended

    @property
    def issued_at(self) -> Mapping[int, int]:
        """By the offset of a registration that is not its broker epoch, that: who has the one has the other."""
        return {offset: epoch for epoch, offset in self._offsets.registered_at.items()}

    # Decisions.

    def handle(self, call: int, request: Request, now_ms: int) -> Effects:
        match request:
            case BrokerHeartbeatRequest():  # who has the first record of a batch has it whole
                offset = request.current_metadata_offset
                request = replace(request, current_metadata_offset=self._offsets.registered_at.get(offset, offset))
            case AlterPartitionRequest():
                request = replace(request, new_isr=self._in_order(request))
            case DeleteTopicRequest(None, name):  # what Kafka's server does first
                topic_id = self.committed.topic_ids.get(name or "")
                if topic_id is None:
                    return [Reply(call, DeleteTopicResponse(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))]
                request = DeleteTopicRequest(topic_id)
        number = max(self._calls, default=0) + 1
        self._calls[number] = call, type(request)
        return self._step(command_of(number, request), now_ms)

    def _in_order(self, request: AlterPartitionRequest) -> tuple[IsrMember, ...]:
        """The ISR that a leader asks for, in the order that the controller has: who joins comes last.

        To Kafka's controller the same members in another order are another ISR (PartitionChangeBuilder).
        """
        partition = self.speculative.partitions.get((request.topic_id, request.partition_id))
        members = partition.isr if partition is not None else ()
        place = {member: i for i, member in enumerate(members)}
        return tuple(sorted(request.new_isr, key=lambda one: place.get(one.broker_id, len(place))))

    def heard_of(self, broker_id: int, now_ms: int) -> Effects:
        """A broker is heard of, and nothing else happens: its lease is renewed."""
        epoch = self.speculative.registrations[broker_id].broker_epoch
        return self._step({"kind": "contact", "brokerId": broker_id, "brokerEpoch": epoch}, now_ms)

    def on_timer(self, timer: Timer, now_ms: int) -> Effects:
        """Of Kafka's timers, which are not those of single brokers, the one that does this."""
        match timer:
            case ("lease", int(broker_id)):
                return [*self._step({"kind": "checkLease", "brokerId": broker_id}, now_ms), SetTimer(timer, now_ms)]
            case ("no-op",):
                return [*self._step({"kind": "fire", "tag": "writeNoOpRecord"}, now_ms), self._no_op_timer(now_ms)]
        raise ValueError(f"a controller sets no timer {timer}")

    def _no_op_timer(self, now_ms: int) -> SetTimer:
        return SetTimer(NO_OP_TIMER, now_ms + self.settings.max_idle_interval_ms)

    # The log.

    def on_commit(self, offset: int, now_ms: int) -> Effects:
        if not self._pending or self._pending[0].last_offset >= offset:
            return []
        while self._pending and self._pending[0].last_offset < offset:
            self._commit(self._pending.popleft())
        return self._step({"kind": "commit", "offset": offset}, now_ms)

    def replay(self, batch: Batch) -> None:
        begins = batch.epoch > self.committed.epoch and batch.records == (NoOpRecord(),)
        self._commit(batch)
        self._offsets = self._committed_offsets
        self.state = self.state.after(
            {"kind": "replay", "nowMs": 0, "batches": [batch_json(batch, begins_epoch=begins)]}
        )

    def _commit(self, batch: Batch) -> None:
        self._committed_offsets = self._committed_offsets.after(self.committed, batch)
        self.committed.replay(batch)

    def load(self, snapshot: Snapshot) -> None:
        """A standby with an empty log takes over a snapshot."""
        self.loaded = snapshot
        self.committed = self.speculative = load_snapshot(snapshot)
        records = batch_json(Batch(0, snapshot.epoch, snapshot.records), begins_epoch=False)
        load = {"kind": "load", "nowMs": 0, "offset": snapshot.offset, "batch": records}
        self.state = self.state.after(load)

    # The active role.

    def claim(self, epoch: int, now_ms: int) -> Effects:
        begins = self.committed.epoch < epoch
        self.epoch, self.speculative = epoch, self.committed.copy()
        effects = self._step({"kind": "lead", "epoch": epoch, "begins": begins}, now_ms)
        return [*effects, self._no_op_timer(now_ms)]

    def renounce(self, now_ms: int) -> Effects:
        effects = self._step({"kind": "resign"}, now_ms)
        self.epoch, self.speculative, self._offsets = None, self.committed, self._committed_offsets
        self._pending.clear()
        return effects

    def _step(self, command: Mapping[str, Any], now_ms: int) -> Effects:
        did_check = self.state.answer["checksLeases"]
        self.state = self.state.after({**command, "nowMs": now_ms})
        effects: Effects = []
        if self.state.answer["checksLeases"] and not did_check:
            effects += [SetTimer(lease_timer(id_), now_ms) for id_ in sorted(self.speculative.registrations)]
        for json in self.state.answer["appended"]:
            batch = batch_of(json)
            self._offsets = self._offsets.after(self.speculative, batch)
            self.speculative.replay(batch)
            self._pending.append(batch)
            effects.append(Append(batch))
            effects += [
                SetTimer(lease_timer(record.broker_id), now_ms)
                for record in batch.records
                if isinstance(record, RegisterBrokerRecord)
            ]
        self.waiting = deque(self._waits(*one) for one in self.state.answer["waiting"])
        for number, json in self.state.answer["replies"].items():
            call, kind = self._calls.pop(int(number))
            effects.append(Reply(call, KINDS[kind][2](json)))
        return effects

    def _waits(self, number: int, offset: int, json: Any) -> Waiting:
        call, kind = self._calls[number]
        return Waiting(offset, call, KINDS[kind][2](json))
