"""Shared by the tests of the broker: broker 1 of cluster "c", and a metadata log to feed it with."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from impl.kraft.broker import Broker, BrokerSettings, Due, FetchRequest, InMemoryReplicaLog, LogEntry, ReplicaLog
from impl.kraft.effects import Effects, Send, SetTimer
from impl.kraft.errors import ErrorCode
from impl.kraft.image import PartitionKey
from impl.kraft.messages import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from impl.kraft.records import (
    Batch,
    PartitionChangeRecord,
    PartitionRecord,
    Record,
    RegisterBrokerRecord,
    TopicRecord,
    UnfenceBrokerRecord,
)

TOPIC = UUID(int=7)
KEY: PartitionKey = (TOPIC, 0)
SETTINGS = BrokerSettings(broker_id=1, cluster_id="c")


def incarnation(broker_id: int) -> UUID:
    return UUID(int=1000 + broker_id)


def log_of(*epochs: int) -> InMemoryReplicaLog:
    """A log with an entry of each of these leader epochs."""
    return InMemoryReplicaLog([LogEntry(epoch, b"x") for epoch in epochs])


def the_send(effects: Effects) -> Send:
    """The one effect, which is a request."""
    (effect,) = effects
    assert isinstance(effect, Send)
    return effect


def delay_ms(effects: Effects, what: Due, now_ms: int) -> int:
    """In how many ms something is due."""
    (at_ms,) = [effect.at_ms for effect in effects if isinstance(effect, SetTimer) and effect.timer[0] == what]
    return at_ms - now_ms


class World:
    """A broker, and the committed metadata log that it replays. The clock stands still unless a test moves it."""

    def __init__(self, disk: Mapping[PartitionKey, ReplicaLog] | None = None, settings: BrokerSettings = SETTINGS):
        self.broker = Broker(settings, incarnation(settings.broker_id), disk)
        self.end_offset = 0
        self.now_ms = 0

    def batch(self, *records: Record) -> Batch:
        batch = Batch(self.end_offset, 1, records)
        self.end_offset += len(records)
        return batch

    def replay(self, *records: Record) -> Effects:
        batches = [self.batch(*records)] if records else []
        return self.broker.replay(batches, self.end_offset, self.now_ms)

    def due(self, what: Due, key: PartitionKey | None = None) -> Effects:
        about = () if key is None else (key[0].int, key[1])
        return self.broker.on_timer((what, *about), self.now_ms)

    def communicate(self) -> BrokerRegistrationRequest | BrokerHeartbeatRequest:
        """The request about itself that the broker sends next."""
        request = the_send(self.due(Due.COMMUNICATION)).request
        assert isinstance(request, BrokerRegistrationRequest | BrokerHeartbeatRequest)
        return request

    def registered(self, broker_epoch: int = 0) -> World:
        """The broker has started, and has its broker epoch."""
        self.broker.start(self.now_ms)
        request = self.communicate()
        self.broker.on_response(request, BrokerRegistrationResponse(ErrorCode.NONE, broker_epoch), self.now_ms)
        return self

    def heartbeat(self, *, fenced: bool = False, should_shut_down: bool = False) -> Effects:
        """A heartbeat is sent and answered."""
        request = self.communicate()
        response = BrokerHeartbeatResponse(ErrorCode.NONE, True, fenced, should_shut_down)
        return self.broker.on_response(request, response, self.now_ms)

    def running(self) -> World:
        """The broker runs; brokers 1, 2 and 3 are active at broker epochs 0, 1 and 2."""
        self.registered()
        registrations = [RegisterBrokerRecord(id_, incarnation(id_), id_ - 1, fenced=False) for id_ in (1, 2, 3)]
        self.replay(*registrations)
        self.broker.recovered(self.now_ms)
        self.heartbeat()
        return self

    def with_partition(self, isr: tuple[int, ...] = (1,), leader: int = 1, leader_epoch: int = 0) -> World:
        """There is a topic with one partition on brokers 1, 2 and 3."""
        partition = PartitionRecord(0, TOPIC, (1, 2, 3), isr, leader=leader, leader_epoch=leader_epoch)
        self.replay(TopicRecord("t", TOPIC), partition)
        return self

    def change(self, isr: tuple[int, ...] | None = None, leader: int = -2) -> Effects:
        """The controller changes the partition."""
        return self.replay(PartitionChangeRecord(0, TOPIC, isr=isr, leader=leader))

    def registered_anew(self, broker_id: int) -> int:
        """Another incarnation of a broker is registered and unfenced. Returns its broker epoch."""
        epoch = self.end_offset
        self.replay(
            RegisterBrokerRecord(broker_id, UUID(int=2000 + broker_id), epoch), UnfenceBrokerRecord(broker_id, epoch)
        )
        return epoch

    def fetch(self, broker_id: int, offset: int, broker_epoch: int | None = None, last_epoch: int = 0) -> Effects:
        """Another broker fetches. Returns what follows from that."""
        epoch = broker_id - 1 if broker_epoch is None else broker_epoch
        last_fetched_epoch = last_epoch if offset else -1
        leader_epoch = self.broker.leaders[KEY].leader_epoch
        request = FetchRequest(broker_id, epoch, TOPIC, 0, leader_epoch, offset, last_fetched_epoch)
        response, effects = self.broker.on_fetch(request, self.now_ms)
        assert response.error == ErrorCode.NONE
        return effects

    def ask(self) -> AlterPartitionRequest:
        """The change of the ISR that the broker sends."""
        request = the_send(self.due(Due.ALTER_PARTITION, KEY)).request
        assert isinstance(request, AlterPartitionRequest)
        return request

    def answer(self, request: AlterPartitionRequest, error: ErrorCode, isr: tuple[int, ...] = ()) -> Effects:
        """The controller answers it: a success is the change of an ISR and nothing else."""
        response = AlterPartitionResponse(error)
        if error == ErrorCode.NONE:
            epochs = (request.leader_epoch, isr, request.partition_epoch + 1)
            response = AlterPartitionResponse(error, request.broker_id, *epochs)
        return self.broker.on_response(request, response, self.now_ms)
