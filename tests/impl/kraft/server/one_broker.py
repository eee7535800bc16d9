"""A broker of ours without sockets and controllers: metadata is handed in, and requests are bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast
from uuid import UUID

from impl.kraft.broker import Broker, BrokerSettings
from impl.kraft.errors import ErrorCode
from impl.kraft.messages import BrokerRegistrationRequest, BrokerRegistrationResponse
from impl.kraft.metadata.core_records import MetadataCodec
from impl.kraft.node import BrokerEffect, BrokerNode
from impl.kraft.raft import Raft, RaftSettings
from impl.kraft.raft.log_ends import LogEnds
from impl.kraft.records import (
    Batch,
    Endpoint,
    PartitionChangeRecord,
    PartitionRecord,
    Record,
    RegisterBrokerRecord,
    TopicRecord,
    UnfenceBrokerRecord,
)
from impl.kraft.security.authorizer import Authorizer
from impl.kraft.security.principals import ANONYMOUS, Principal
from impl.kraft.server.client_requests import ClientRequests
from impl.kraft.server.cluster_told import ClusterTold
from impl.kraft.server.connections import Caller
from impl.kraft.server.controller_channel import ControllerChannel
from impl.kraft.server.describe_configs import OwnConfigs
from impl.kraft.server.entities import NO_TAGS, without_tags
from impl.kraft.server.replica_logs import StoredReplicaLogs
from impl.kraft.server.replica_trace import ReplicaTrace
from impl.kraft.server.steps import Steps
from impl.kraft.server.versions import made, request_kind, response_kind
from impl.kraft.storage.real_disk import RealDisk
from impl.runtime.entities import entity_bytes, read_entity
from impl.runtime.loop import CoreLoop
from impl.runtime.wire import RequestHeader

ID, OTHER, TOPIC_ID, TOPIC = 7, 8, UUID(int=50), "orders"
EPOCHS = {ID: 0, OTHER: 1}
"""Their broker epochs."""


OWN = OwnConfigs(ID, {"min.insync.replicas": "2"}, {"min.insync.replicas": "1", "log.roll.ms": "7"})


class NoController(ControllerChannel):
    """Nobody is there, and who asks is told so."""

    def __init__(self) -> None:
        super().__init__({}, "test", 1_000, 1 << 20, lambda: None)


class OneBroker:
    """Registered and unfenced, with another broker beside it that is known from metadata alone."""

    def __init__(
        self, folder: Path, *, topic_first: bool = False, authorizer: Authorizer | None = None,
        trace: ReplicaTrace | None = None,
    ) -> None:  # fmt: skip
        """topic_first: the metadata has a topic, which this broker leads, before it has the brokers."""
        epochs = {one: epoch + 2 if topic_first else epoch for one, epoch in EPOCHS.items()}
        settings = BrokerSettings(ID, "cluster", heartbeat_interval_ms=60_000)
        room = StoredReplicaLogs(RealDisk(), (str(folder),), trace)
        self.broker = Broker(settings, UUID(int=ID), room.load(), room)
        raft = Raft(RaftSettings(ID, (1,), is_observer=True), None, LogEnds())
        node = BrokerNode(raft, self.broker, MetadataCodec())
        self.loop: CoreLoop[BrokerEffect] = CoreLoop(
            lambda timer, now_ms: node.on_timer(cast(Any, timer), now_ms), self._carry_out, before_each=self._look
        )
        self.steps = Steps(node, self.loop, trace)
        self.requests = ClientRequests(self.steps, NoController(), ClusterTold(self.steps, "cluster"), OWN, authorizer)
        self._offset = 0
        self._numbers = iter(range(1, 1 << 20))
        self.broker.start(0)
        registration = BrokerRegistrationRequest(ID, "cluster", UUID(int=ID))
        self.broker.lifecycle.in_flight = registration
        self.broker.on_response(registration, BrokerRegistrationResponse(ErrorCode.NONE, epochs[ID]), 0)
        if topic_first:
            self.create_topic()
        self.replay(*(_registered(one, epoch) for one, epoch in epochs.items()))
        self.replay(*(UnfenceBrokerRecord(broker_id=one, broker_epoch=epoch) for one, epoch in epochs.items()))

    def _look(self) -> None:
        self.steps.waiting.look()

    def _carry_out(self, effect: BrokerEffect) -> None:
        """Nothing is asked of anybody; timers of the core are moved on by hand."""

    def replay(self, *records: Record) -> None:
        batch = Batch(self._offset, 0, records)
        self._offset = batch.last_offset + 1
        self.broker.replay([batch], self._offset, 0)

    def create_topic(self, replicas: tuple[int, ...] = (ID,), partitions: int = 1) -> None:
        """Led by the first of the replicas."""
        self.replay(
            TopicRecord(name=TOPIC, topic_id=TOPIC_ID),
            *(
                PartitionRecord(
                    topic_id=TOPIC_ID, partition_id=number, replicas=replicas, isr=replicas, removing_replicas=(),
                    adding_replicas=(), leader=replicas[0], leader_epoch=0, partition_epoch=0,
                )
                for number in range(partitions)
            ),
        )  # fmt: skip

    def change(self, **fields: Any) -> None:
        """Partition 0 by a record of the metadata log."""
        self.replay(PartitionChangeRecord(topic_id=TOPIC_ID, partition_id=0, **fields))

    async def ask(self, key: int, version: int, given: dict[str, Any], of: Principal = ANONYMOUS) -> Any:
        """The response to a request, by the schemas of its version."""
        kind, answered = request_kind(key, version), response_kind(key, version)
        body = (NO_TAGS if kind.__flexible__ else b"") + entity_bytes(made(kind, given))
        header, caller = RequestHeader(key, version, next(self._numbers), "test"), Caller(of, "127.0.0.1", "PLAINTEXT")
        answer = await self.requests.handle(header, body, caller)
        if answer is None:
            return None
        return read_entity(answered, without_tags(answer) if answered.__flexible__ else answer)

    def run(self, what: Callable[[], Awaitable[None]]) -> None:
        """Something that asks, while the loop takes its steps."""

        async def both() -> None:
            running = asyncio.get_running_loop().create_task(self.loop.run())
            asking = asyncio.ensure_future(what())
            await asyncio.wait((running, asking), return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                self.loop.stop()
            await running  # with the error of a step, if that has ended it
            await asking

        asyncio.run(both())


def _registered(broker_id: int, broker_epoch: int) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=broker_id, incarnation_id=UUID(int=broker_id), broker_epoch=broker_epoch,
        endpoints=(Endpoint("PLAINTEXT", "localhost", 9000 + broker_id, 0),), features=(), rack=None,
    )  # fmt: skip
