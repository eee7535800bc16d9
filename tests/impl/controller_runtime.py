"""A controller with its log and a clock, for tests. What it appends commits at once unless `commits` is false."""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID

from impl.kraft.controller import Controller, ControllerSettings, Timer
from impl.kraft.effects import Append, Effects, Reply, SetTimer
from impl.kraft.errors import ErrorCode
from impl.kraft.image import Image, Partition, PartitionKey
from impl.kraft.log import InMemoryLog
from impl.kraft.messages import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    CreateTopicRequest,
    IsrMember,
    Request,
    Response,
)
from impl.kraft.records import Batch, Record, SupportedFeature

CLUSTER = "cluster"
TIMEOUT_MS = 9000


class ControllerRuntime:
    """The runtime of one controller."""

    def __init__(self, settings: ControllerSettings | None = None, *, commits: bool = True) -> None:
        self.controller = Controller(settings or ControllerSettings(CLUSTER))
        self.log = InMemoryLog()
        self.commits = commits
        self.now_ms = 0
        self.calls = 0
        self.replies: dict[int, Response] = {}
        self.timers: dict[Timer, int] = {}
        self.appended: list[Batch] = []
        self.epoch = 1
        self.perform(self.controller.claim(self.epoch, self.now_ms))

    @property
    def image(self) -> Image:
        return self.controller.speculative

    def perform(self, effects: Effects) -> None:
        for effect in effects:
            match effect:
                case Append(batch):
                    self.log.append(batch)
                    self.appended.append(batch)
                case Reply(call, response):
                    assert call not in self.replies, "a call is answered once"
                    self.replies[call] = response
                case SetTimer(timer, at_ms):
                    self.timers[timer] = at_ms
                case _:
                    raise AssertionError(f"a controller sends nothing: {effect}")
        if self.commits and self.log.high_watermark < self.log.end_offset:
            self.commit()

    def commit(self, end_offset: int | None = None) -> None:
        self.log.commit(self.log.end_offset if end_offset is None else end_offset)
        self.perform(self.controller.on_commit(self.log.high_watermark, self.now_ms))

    def call(self, request: Request) -> int:
        """Hand in a request; the number of the call."""
        self.calls += 1
        self.appended = []
        self.perform(self.controller.handle(self.calls, request, self.now_ms))
        return self.calls

    def ask(self, request: Request) -> Response:
        """The response to a request that has nothing to wait for."""
        return self.replies[self.call(request)]

    def records(self) -> list[Record]:
        """Records appended by the last request or passing of time."""
        return [record for batch in self.appended for record in batch.records]

    def pass_time(self, ms: int) -> None:
        """Timers go off in the order of their times."""
        self.appended = []
        until_ms = self.now_ms + ms
        while due := sorted((at_ms, timer) for timer, at_ms in self.timers.items() if at_ms <= until_ms):
            self.now_ms, timer = due[0]
            del self.timers[timer]
            self.perform(self.controller.on_timer(timer, self.now_ms))
        self.now_ms = until_ms

    def fail_over(self, kept_end_offset: int | None = None) -> None:
        """The controller is deposed, what it had not committed is lost from an offset on, and it is elected again."""
        self.perform(self.controller.renounce(self.now_ms))
        self.timers = {}
        if kept_end_offset is not None:
            self.log.truncate(kept_end_offset)
        self.log.commit(self.log.end_offset)
        for batch in list(self.log.read(self.controller.committed.offset + 1)):
            self.controller.replay(batch)
        self.epoch += 1
        self.perform(self.controller.claim(self.epoch, self.now_ms))

    # Brokers.

    def register(
        self,
        broker_id: int,
        life: int = 1,
        rack: str | None = None,
        features: tuple[SupportedFeature, ...] = (),
        cluster_id: str = CLUSTER,
    ) -> BrokerRegistrationResponse:
        """life: which incarnation of the broker asks."""
        request = BrokerRegistrationRequest(
            broker_id, cluster_id, incarnation(broker_id, life), features=features, rack=rack
        )
        return cast(BrokerRegistrationResponse, self.ask(request))

    def heartbeat(
        self,
        broker_id: int,
        *,
        offset: int | None = None,
        want_fence: bool = False,
        want_shut_down: bool = False,
        epoch: int | None = None,
    ) -> BrokerHeartbeatResponse:
        """offset: that its image reaches, None for all there is. epoch: None for the one that is registered."""
        offset = self.image.offset if offset is None else offset
        epoch = self.image.registrations[broker_id].broker_epoch if epoch is None else epoch
        request = BrokerHeartbeatRequest(broker_id, epoch, offset, want_fence, want_shut_down)
        return cast(BrokerHeartbeatResponse, self.ask(request))

    def activate(self, *broker_ids: int, racks: dict[int, str] | None = None) -> None:
        """Register and unfence brokers."""
        for broker_id in broker_ids:
            assert self.register(broker_id, rack=(racks or {}).get(broker_id)).error is ErrorCode.NONE
            assert not self.heartbeat(broker_id).is_fenced

    # Partitions.

    def create(self, *assignments: tuple[int, ...], name: str = "orders") -> PartitionKey:
        """The key of partition 0."""
        topic_id = UUID(int=len(self.image.topics) + 1)
        response = self.ask(CreateTopicRequest(name, topic_id, assignments=assignments))
        assert response.error is ErrorCode.NONE, response
        return topic_id, 0

    def partition(self, key: PartitionKey) -> Partition:
        return self.image.partitions[key]

    def alter_isr(self, key: PartitionKey, *isr: int, **changes: object) -> AlterPartitionResponse:
        """The leader of a partition asks for an ISR; changes: of the request, which is in order otherwise."""
        return cast(AlterPartitionResponse, self.ask(self.alter_isr_request(key, *isr, **changes)))

    def alter_isr_request(self, key: PartitionKey, *isr: int, **changes: Any) -> AlterPartitionRequest:
        partition, registrations = self.partition(key), self.image.registrations
        fields: dict[str, Any] = {
            "broker_id": partition.leader,
            "broker_epoch": registrations[partition.leader].broker_epoch if partition.leader in registrations else -1,
            "topic_id": key[0],
            "partition_id": key[1],
            "leader_epoch": partition.leader_epoch,
            "partition_epoch": partition.partition_epoch,
            "new_isr": tuple(IsrMember(b, registrations[b].broker_epoch) for b in isr if b in registrations),
        }
        return AlterPartitionRequest(**{**fields, **changes})


def incarnation(broker_id: int, life: int) -> UUID:
    return UUID(int=1000 * broker_id + life)
