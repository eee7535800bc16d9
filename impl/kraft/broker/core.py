"""A broker: it follows the metadata log, and its replicas do what the log says.

A runtime feeds it with responses, committed batches, fetches and timers, and carries out the effects. Each step is one
call: what is to follow from it is a timer that is due (see `timers`).
Leaves out, for now: produce and fetch requests of clients (but for what a leader decides of them), log directories,
transactions, groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import cast
from uuid import UUID

from impl.kraft.broker.fetch import FetchRequest, FetchResponse, PartitionFollower
from impl.kraft.broker.leader import PartitionLeader
from impl.kraft.broker.lifecycle import Lifecycle
from impl.kraft.broker.replica_log import InMemoryReplicaLogs, ReplicaLog, ReplicaLogs
from impl.kraft.broker.settings import BrokerSettings
from impl.kraft.broker.states import BrokerState
from impl.kraft.broker.timers import Due, Timer, due, due_for
from impl.kraft.continuity import check_batches
from impl.kraft.effects import Effects, Send, SetTimer
from impl.kraft.errors import ErrorCode
from impl.kraft.fields import Int32, Int64, check, check_as, refusal_of
from impl.kraft.image import Image, Partition, PartitionKey, Registration, ReplayError
from impl.kraft.messages import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from impl.kraft.records import (
    NO_LEADER,
    Batch,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
)
from impl.kraft.snapshot import Snapshot, load_snapshot

BrokerRequest = BrokerRegistrationRequest | BrokerHeartbeatRequest | AlterPartitionRequest
BrokerResponse = BrokerRegistrationResponse | BrokerHeartbeatResponse | AlterPartitionResponse


RESPONSES: dict[type, type] = {
    BrokerRegistrationRequest: BrokerRegistrationResponse,
    BrokerHeartbeatRequest: BrokerHeartbeatResponse,
    AlterPartitionRequest: AlterPartitionResponse,
}


def is_uuid(number: int) -> bool:
    return 0 <= number < 1 << 128


def check_grant(request: BrokerRequest, response: BrokerResponse) -> None:
    """Raise InvalidFieldError for a success that no controller gives."""
    if response.error != ErrorCode.NONE:
        return
    if isinstance(response, BrokerRegistrationResponse) and response.broker_epoch < 0:
        raise refusal_of("BrokerRegistrationResponse.broker_epoch", "an offset", response.broker_epoch)
    if isinstance(response, AlterPartitionResponse) and isinstance(request, AlterPartitionRequest):
        if response.leader_epoch == request.leader_epoch and request.broker_id not in response.isr:
            raise refusal_of("AlterPartitionResponse.isr", "an ISR with its leader in it", response.isr)
        if response.partition_epoch < request.partition_epoch:
            wanted = f"no lower than that of the request, {request.partition_epoch}"
            raise refusal_of("AlterPartitionResponse.partition_epoch", wanted, response.partition_epoch)


class Broker:
    """A broker process. One that has stopped does not start again: the next process is another incarnation.

    logs: by partition, what a crash leaves. applied_offset: up to which the broker has applied the metadata; -1 until
    that reaches its own registration.
    """

    def __init__(
        self,
        settings: BrokerSettings,
        incarnation_id: UUID,
        disk: Mapping[PartitionKey, ReplicaLog] | None = None,
        room: ReplicaLogs | None = None,
    ) -> None:
        """disk: the logs that are there. room: where further ones are made; in memory, if it is not said."""
        check("settings", settings, BrokerSettings)
        check_as("incarnation_id", UUID, incarnation_id)
        self.settings = settings
        self.lifecycle = Lifecycle(settings, incarnation_id)
        self.image = Image()
        self.applied_offset = -1
        self.logs: dict[PartitionKey, ReplicaLog] = dict(disk or {})
        self._room = room or InMemoryReplicaLogs()
        self.leaders: dict[PartitionKey, PartitionLeader] = {}
        self.followers: dict[PartitionKey, PartitionFollower] = {}

    def copy(self) -> Broker:
        """A broker that runs on independently of the original."""
        other = type(self).__new__(type(self))
        other.settings, other.lifecycle = self.settings, replace(self.lifecycle)
        other.image, other.applied_offset = self.image.copy(), self.applied_offset
        other.logs = {key: log.copy() for key, log in self.logs.items()}
        other._room = self._room
        other.leaders = {key: leader.copy(other.logs[key]) for key, leader in self.leaders.items()}
        other.followers = dict(self.followers)
        return other

    @property
    def state(self) -> BrokerState:
        return self.lifecycle.state

    @property
    def broker_id(self) -> int:
        return self.settings.broker_id

    @property
    def broker_epoch(self) -> int | None:
        """None until it is registered."""
        return self.lifecycle.broker_epoch

    # The life of the process.

    def start(self, now_ms: int) -> Effects:
        """The process starts, and asks for a broker epoch."""
        check_as("now_ms", Int64, now_ms)
        effects = self.lifecycle.start(now_ms)
        return [*effects, self._isr_expiration_due(now_ms)]

    def recovered(self, now_ms: int) -> Effects:
        """The logs are recovered: from now on the broker asks to be unfenced."""
        check_as("now_ms", Int64, now_ms)
        return self.lifecycle.recovered(now_ms)

    def shut_down(self, now_ms: int) -> Effects:
        """SIGTERM. A broker that runs asks the controller first; any other closes its logs at once."""
        check_as("now_ms", Int64, now_ms)
        return self.lifecycle.shut_down(now_ms)

    def stopped(self) -> None:
        """The logs are closed: this is the end of the process."""
        self.lifecycle.stopped()
        self._resign()

    def on_timer(self, timer: Timer, now_ms: int) -> Effects:
        """Do what is due. Timers are never cancelled: what is no longer called for changes nothing."""
        check_as("now_ms", Int64, now_ms)
        if not self.lifecycle.is_alive:
            return []
        match timer:
            case (Due.PUBLICATION,):
                return self._publish((), now_ms)
            case (Due.ISR_EXPIRATION,):
                return [*self.expire_isr(now_ms), self._isr_expiration_due(now_ms)]
            case (Due.ALTER_PARTITION, int(topic), int(partition_id)) if is_uuid(topic):
                return self.alter_partition((UUID(int=topic), partition_id))
            case (Due.HIGH_WATERMARK, int(topic), int(partition_id)) if is_uuid(topic):
                self.advance_high_watermark((UUID(int=topic), partition_id))
                return []
        return self.lifecycle.on_timer(timer, self.applied_offset)

    def on_response(self, request: BrokerRequest, response: BrokerResponse | None, now_ms: int) -> Effects:
        """Handle the controller's response to a request of this broker; None: the request was given up.

        Raises InvalidFieldError for a response of another kind, or a success that grants what nobody asked for.
        """
        check("request", request, *RESPONSES)
        check_as("now_ms", Int64, now_ms)
        if response is not None:
            check("response", response, RESPONSES[type(request)])
            check_grant(request, response)
        if not self.lifecycle.is_alive:
            return []
        if isinstance(request, AlterPartitionRequest):
            return self._altered(request, cast(AlterPartitionResponse | None, response), now_ms)
        response = cast(BrokerRegistrationResponse | BrokerHeartbeatResponse | None, response)
        was_registered = self.broker_epoch is not None
        effects = self.lifecycle.on_response(request, response, now_ms)
        if self.broker_epoch is not None and not was_registered:
            effects.append(due(Due.PUBLICATION, now_ms))
        return effects

    # Metadata.

    def replay(self, batches: Iterable[Batch], high_watermark: int, now_ms: int) -> Effects:
        """Take over the next committed batches, none of them perhaps, and act on them.

        high_watermark: of the metadata log, exclusive, as last heard of. STARTING ends once the image reaches it.
        """
        if not self.lifecycle.is_alive:
            return []
        check_as("high_watermark", Int64, high_watermark)
        check_as("now_ms", Int64, now_ms)
        if not isinstance(batches, Iterable):
            raise refusal_of("batches", "batches", batches)
        batches = list(batches)
        check_batches(self.image, batches)
        changed: set[PartitionKey] = set()
        for batch in batches:
            changed.update(self._partitions_in(batch))
            self.image.replay(batch)
        return self._replayed(changed, high_watermark, now_ms)

    def load(self, snapshot: Snapshot, high_watermark: int, now_ms: int) -> Effects:
        """Take over a snapshot in place of the log, where that no longer has what comes next, and act on it."""
        if not self.lifecycle.is_alive:
            return []
        check("snapshot", snapshot, Snapshot)
        check_as("high_watermark", Int64, high_watermark)
        check_as("now_ms", Int64, now_ms)
        if snapshot.offset < self.image.offset:
            raise ReplayError(f"a snapshot up to offset {snapshot.offset} is older than the image, {self.image.offset}")
        self.image = load_snapshot(snapshot)
        return self._replayed(self._placed_here(), high_watermark, now_ms)

    def _replayed(self, changed: Iterable[PartitionKey], high_watermark: int, now_ms: int) -> Effects:
        if self.image.offset + 1 >= high_watermark:
            self.lifecycle.caught_up()
        return self._publish(changed, now_ms)

    def _partitions_in(self, batch: Batch) -> Iterable[PartitionKey]:
        """The partitions that a batch is about, or a transaction that it may end, before its replay."""
        for record in (*(self.image.transaction or ()), *batch.records):
            if isinstance(record, PartitionRecord | PartitionChangeRecord):
                yield record.topic_id, record.partition_id
            elif isinstance(record, RemoveTopicRecord):
                yield from ((record.topic_id, i) for i in range(self.image.partition_counts.get(record.topic_id, 0)))

    def _publish(self, changed: Iterable[PartitionKey], now_ms: int) -> Effects:
        """Make the replicas what the image says, as far as it changed.

        While the broker is STARTING, nothing is made of an image that may still lack what there is.
        """
        return [] if self.state == BrokerState.STARTING else self._act_on_image(changed, now_ms)

    def _act_on_image(self, changed: Iterable[PartitionKey], now_ms: int) -> Effects:
        """Act on an image that has the broker at its own broker epoch.

        If it has another or none, the image is too old, or this process is superseded: it neither leads nor follows.
        One that is superseded has applied the image all the same, as in Kafka.
        """
        registration, applied_offset = self.image.registrations.get(self.broker_id), self.applied_offset
        is_reached = self.broker_epoch is not None and self.image.offset >= self.broker_epoch
        self.applied_offset = self.image.offset if is_reached else -1
        if registration is None or registration.broker_epoch != self.broker_epoch:
            self._resign()
            return []
        if applied_offset < 0:
            changed = self._placed_here()
        return [effect for key in changed for effect in self._assign(key, now_ms)]

    def _placed_here(self) -> set[PartitionKey]:
        """Every partition that the image places here or that has a log here."""
        placed = (key for key, partition in self.image.partitions.items() if self.broker_id in partition.replicas)
        return {*self.logs, *placed}

    def _resign(self) -> None:
        self.leaders.clear()
        self.followers.clear()

    def _assign(self, key: PartitionKey, now_ms: int) -> Effects:
        """Lead, follow or do neither. What the image does not place here is deleted (KAFKA-14616)."""
        partition = self.image.partitions.get(key)
        if partition is None or self.broker_id not in partition.replicas:
            for of_partition in (self.leaders, self.followers):
                of_partition.pop(key, None)
            if self.logs.pop(key, None) is not None:
                self._room.delete(key)
            return []
        if key not in self.logs:
            self.logs[key] = self._room.create(key, self.image.topics[key[0]])
        if partition.leader == self.broker_id:
            self.followers.pop(key, None)
            return self._lead(key, partition, now_ms)
        self.leaders.pop(key, None)
        if partition.leader == NO_LEADER:
            self.followers.pop(key, None)
        else:
            self.followers[key] = PartitionFollower(partition.leader, partition.leader_epoch)
        return []

    def _lead(self, key: PartitionKey, partition: Partition, now_ms: int) -> Effects:
        leader = self.leaders.get(key)
        if leader is None or leader.leader_epoch != partition.leader_epoch:
            assert self.broker_epoch is not None
            leader = PartitionLeader.of(key, partition, self.broker_epoch, self.logs[key], now_ms)
            self.leaders[key] = leader
        else:
            leader.update(partition)
        return self._high_watermark_due(leader, now_ms)

    def alive_brokers(self) -> list[Registration]:
        """The brokers to name in a metadata response, by id: those that are not fenced, as far as the image goes."""
        registrations = (self.image.registrations[broker_id] for broker_id in sorted(self.image.registrations))
        return [registration for registration in registrations if not registration.fenced]

    def min_insync_replicas(self, topic_id: UUID) -> int:
        """min.insync.replicas of a topic."""
        check_as("topic_id", UUID, topic_id)
        return self.image.min_insync_replicas(topic_id, self.settings.min_insync_replicas)

    # As a leader.

    def append(self, key: PartitionKey, *values: bytes, acks_of_all: bool = True) -> tuple[ErrorCode, int]:
        """Append records that a producer sends. Returns also where they end (see `acknowledgement`).

        acks_of_all: the producer waits for the ISR, and is refused where that is too small.
        """
        check_as("key", PartitionKey, key)
        check_as("values", tuple[bytes, ...], values)
        leader = self.leaders.get(key)
        if leader is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER, -1
        error = leader.append(values, self.min_insync_replicas(key[0]) if acks_of_all else 0)
        if error != ErrorCode.NONE:
            return error, -1
        leader.advance_high_watermark()
        return error, leader.log.end_offset

    def acknowledgement(self, key: PartitionKey, end_offset: int) -> ErrorCode | None:
        """The answer to the producer whose records end at this offset; None: it has to wait."""
        check_as("key", PartitionKey, key)
        check_as("end_offset", Int64, end_offset)
        leader = self.leaders.get(key)
        if leader is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return leader.acknowledgement(end_offset, self.min_insync_replicas(key[0]))

    def on_fetch(self, request: FetchRequest, now_ms: int) -> tuple[FetchResponse, Effects]:
        """Serve a follower: note how far it is, commit what is replicated by now, and let it join the ISR if it may."""
        check_as("now_ms", Int64, now_ms)
        error = self.fetch_error(request)
        if error != ErrorCode.NONE:
            return FetchResponse(error), []
        leader = self.leaders[request.key]
        leader.note_fetch(request, now_ms)
        leader.advance_high_watermark()
        effects = self.expand_isr(request.key, request.replica_id, now_ms)
        return leader.read(request, self.settings.replica_fetch_max_bytes), effects

    def fetch_error(self, request: FetchRequest) -> ErrorCode:
        """The first check of a follower's fetch that fails.

        The follower need not be a replica in this image yet, which may be older than its own. But no process is served
        that the image knows to be superseded (KIP-903), nor one of which the image knows nothing at all.
        """
        check("request", request, FetchRequest)
        if request.topic_id not in self.image.topics:
            return ErrorCode.UNKNOWN_TOPIC_ID
        leader = self.leaders.get(request.key)
        if leader is None or request.replica_id == self.broker_id:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if request.current_leader_epoch != leader.leader_epoch:
            is_behind = request.current_leader_epoch < leader.leader_epoch
            return ErrorCode.FENCED_LEADER_EPOCH if is_behind else ErrorCode.UNKNOWN_LEADER_EPOCH
        registration = self.image.registrations.get(request.replica_id)
        if registration is None and request.replica_id not in leader.replicas:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if registration is not None and self._is_superseded(request.replica_epoch, registration):
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.NONE if request.fetch_offset >= 0 else ErrorCode.OFFSET_OUT_OF_RANGE

    def _is_superseded(self, replica_epoch: int, registration: Registration) -> bool:
        """A fetch is of an older incarnation. Below metadata.version 3.5 it does not say of which it is."""
        is_unknown = replica_epoch == -1 and not self.image.knows_member_epochs
        return not is_unknown and replica_epoch < registration.broker_epoch

    def expand_isr(self, key: PartitionKey, follower: int, now_ms: int) -> Effects:
        """Ask for a follower to be added to the ISR, if it may join."""
        check_as("key", PartitionKey, key)
        check_as("follower", Int32, follower)
        check_as("now_ms", Int64, now_ms)
        leader = self.leaders.get(key)
        if leader is None or not leader.may_join(follower, self.image):
            return []
        leader.ask_to_add(follower)
        return [due_for(Due.ALTER_PARTITION, key, now_ms)]

    def expire_isr(self, now_ms: int) -> Effects:
        """Ask for the members of ISRs to be removed that have not been caught up for too long."""
        check_as("now_ms", Int64, now_ms)
        effects: Effects = []
        for key, leader in self.leaders.items():
            late = leader.out_of_sync(now_ms, self.settings.replica_lag_time_max_ms)
            if late and leader.pending_change is None:
                leader.ask_to_remove(late)
                effects.append(due_for(Due.ALTER_PARTITION, key, now_ms))
        return effects

    def _isr_expiration_due(self, now_ms: int) -> SetTimer:
        """Twice in the time that a follower may lag, so that none lags for much longer."""
        return due(Due.ISR_EXPIRATION, now_ms + self.settings.replica_lag_time_max_ms // 2)

    def alter_partition(self, key: PartitionKey) -> Effects:
        """Send the change of the ISR that the leader asks for, unless a request about the partition is in flight."""
        check_as("key", PartitionKey, key)
        leader = self.leaders.get(key)
        request = None if leader is None else leader.next_request()
        return [] if request is None else [Send(request)]

    def _altered(self, request: AlterPartitionRequest, response: AlterPartitionResponse | None, now_ms: int) -> Effects:
        """A change that is still asked for is sent again; one that was asked for meanwhile is sent at once."""
        key = (request.topic_id, request.partition_id)
        leader = self.leaders.get(key)
        if leader is None or leader.in_flight != request:
            return []
        leader.answered(response)
        effects = self._high_watermark_due(leader, now_ms)
        if leader.pending_change is not None:
            delay_ms = self.settings.alter_partition_retry_ms if leader.pending_change == request else 0
            effects.append(due_for(Due.ALTER_PARTITION, key, now_ms + delay_ms))
        return effects

    def _high_watermark_due(self, leader: PartitionLeader, now_ms: int) -> Effects:
        if leader.replicated_offset <= leader.log.high_watermark:
            return []
        return [due_for(Due.HIGH_WATERMARK, leader.key, now_ms)]

    def advance_high_watermark(self, key: PartitionKey) -> bool:
        """Commit what the whole maximal ISR has. Returns whether that was more than before."""
        check_as("key", PartitionKey, key)
        leader = self.leaders.get(key)
        return leader is not None and leader.advance_high_watermark()

    # As a follower.

    def fetch_request(self, key: PartitionKey) -> FetchRequest | None:
        """The next fetch from the leader of the partition; None where this broker does not follow."""
        check_as("key", PartitionKey, key)
        follower = self.followers.get(key)
        if follower is None or self.broker_epoch is None:
            return None
        return follower.fetch_request(key, self.broker_id, self.broker_epoch, self.logs[key])

    def on_fetch_response(self, request: FetchRequest, response: FetchResponse) -> None:
        """Take over what the leader sent. Raises InvalidFieldError for entries that no leader has."""
        check("request", request, FetchRequest)
        check("response", response, FetchResponse)
        follower = self.followers.get(request.key)
        if follower is not None:
            follower.fetched(self.logs[request.key], request, response)
