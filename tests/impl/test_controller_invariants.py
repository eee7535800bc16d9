"""Whatever is asked of a controller of five brokers and several topics, what the documents promise holds of its log."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from impl.kraft.controller import Controller
from impl.kraft.effects import Effects, Reply
from impl.kraft.errors import ErrorCode
from impl.kraft.image import Image, PartitionKey
from impl.kraft.messages import (
    AlterConfigsRequest,
    AlterPartitionReassignmentRequest,
    AlterPartitionRequest,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    CreateTopicRequest,
    DeleteTopicRequest,
    ElectPreferredLeaderRequest,
    Request,
    UnregisterBrokerRequest,
)
from impl.kraft.records import Batch, FenceBrokerRecord
from impl.kraft.simulation.metadata_rules import check_image, check_step
from tests.impl.controller_runtime import CLUSTER, TIMEOUT_MS, ControllerRuntime, incarnation
from tests.impl.test_controller_log import contents

BROKERS = range(5)
TOPICS = ("orders", "payments", "returns")
brokers = st.sampled_from(BROKERS)
topics = st.sampled_from(TOPICS)
partition_ids = st.integers(0, 2)
replicas = st.lists(brokers, min_size=1, max_size=5, unique=True).map(tuple)


class WatchedOffice(ControllerRuntime):
    """Looks at each batch as it is appended, and at each reply as it leaves."""

    def __init__(self) -> None:
        self.requests: dict[int, Request] = {}
        self.ends: dict[int, int] = {}
        super().__init__(commits=False)
        self.replayed = Image()
        for batch in self.log.batches:
            self.replayed.replay(batch)

    def call(self, request: Request) -> int:
        before = self.log.end_offset
        self.requests[self.calls + 1] = request
        call = super().call(request)
        assert len(self.appended) <= 1, "a decision is one batch"
        self.ends[call] = self.log.end_offset
        assert call not in self.replies or before == self.log.high_watermark == self.log.end_offset
        return call

    def perform(self, effects: Effects) -> None:
        for effect in effects:
            if isinstance(effect, Reply) and effect.response.error is not ErrorCode.NOT_CONTROLLER:
                self.check_reply(effect)
        end = self.log.end_offset
        super().perform(effects)
        for batch in self.log.batches:
            if hasattr(self, "replayed") and batch.base_offset >= end:
                self.look_at(batch)

    def check_reply(self, reply: Reply) -> None:
        assert self.ends.get(reply.call, self.log.end_offset) <= self.log.high_watermark, "replied too early"
        request, response = self.requests[reply.call], reply.response
        if isinstance(request, BrokerHeartbeatRequest) and isinstance(response, BrokerHeartbeatResponse):
            committed = self.controller.committed
            if response.should_shut_down:
                assert all(partition.leader != request.broker_id for partition in committed.partitions.values())

    def look_at(self, batch: Batch) -> None:
        before = self.replayed.copy()
        self.replayed.replay(batch)
        check_image(self.replayed)
        check_indexes(self.replayed)
        check_step(before, self.replayed)
        for record in batch.records:
            if isinstance(record, FenceBrokerRecord):
                assert not before.registrations[record.broker_id].fenced, "a broker is fenced once"

    def fail_over(self, kept_end_offset: int | None = None) -> None:
        kept = self.log.end_offset if kept_end_offset is None else kept_end_offset
        self.replayed = Image()
        for batch in self.log.batches:
            if batch.base_offset < kept:
                self.replayed.replay(batch)
        super().fail_over(kept_end_offset)


def check_indexes(image: Image) -> None:
    """Assert that the indexes of an image are those of its partitions."""
    fresh = Image()
    for key, partition in image.partitions.items():
        fresh.put_partition(key, partition)
    for index in ("in_isr", "reassigning", "leaderless"):
        assert contents(fresh)[index] == contents(image)[index], index


class ControllerMachine(RuleBasedStateMachine):
    """Requests at random, some of them out of order, of dead processes, or from a leader long gone."""

    def __init__(self) -> None:
        super().__init__()
        self.runtime = WatchedOffice()
        self.lives = dict.fromkeys(BROKERS, 1)
        self.created = 0
        self.kept: list[AlterPartitionRequest] = []

    def ask(self, request: Request) -> None:
        self.runtime.call(request)

    def key(self, topic: str, partition_id: int) -> PartitionKey | None:
        image = self.runtime.image
        key = (image.topic_ids.get(topic, UUID(int=0)), partition_id)
        return key if key in image.partitions else None

    @initialize(racks=st.lists(st.sampled_from(["a", "b", None]), min_size=5, max_size=5))
    def start(self, racks: list[str | None]) -> None:
        self.racks = racks
        for broker_id in BROKERS:
            self.register(broker_id, False)
            self.heartbeat(broker_id, False, False, False, 0)
        self.create("orders", 2, 3)

    @rule(broker_id=brokers, again=st.booleans())
    def register(self, broker_id: int, again: bool) -> None:
        self.lives[broker_id] += again
        id_ = incarnation(broker_id, self.lives[broker_id])
        self.ask(BrokerRegistrationRequest(broker_id, CLUSTER, id_, rack=self.racks[broker_id]))

    @rule(
        broker_id=brokers, want_fence=st.booleans(), want_shut_down=st.booleans(), stale=st.booleans(),
        lag=st.sampled_from([0, 0, 0, 1, 5, 1000]),
    )  # fmt: skip
    def heartbeat(self, broker_id: int, want_fence: bool, want_shut_down: bool, stale: bool, lag: int) -> None:
        registration = self.runtime.image.registrations.get(broker_id)
        epoch = -1 if registration is None else registration.broker_epoch - stale
        offset = self.runtime.image.offset - lag
        self.ask(BrokerHeartbeatRequest(broker_id, epoch, offset, want_fence, want_shut_down))

    @rule()
    def all_beat(self) -> None:
        for broker_id in BROKERS:
            self.heartbeat(broker_id, False, False, False, 0)

    @rule(ms=st.sampled_from([1, TIMEOUT_MS // 2, TIMEOUT_MS]))
    def pass_time(self, ms: int) -> None:
        self.runtime.pass_time(ms)

    @rule(topic=topics, partition_id=partition_ids, isr=replicas, changes=st.fixed_dictionaries(
        {}, optional={"leader_epoch": st.integers(0, 9), "partition_epoch": st.integers(0, 9), "broker_id": brokers}
    ))  # fmt: skip
    def alter_isr(self, topic: str, partition_id: int, isr: tuple[int, ...], changes: dict[str, Any]) -> None:
        if (key := self.key(topic, partition_id)) is not None:
            request = self.runtime.alter_isr_request(key, *isr, **changes)
            self.kept = [*self.kept[-20:], request]
            self.ask(request)

    @rule(topic=topics, partition_id=partition_ids)
    def everyone_joins(self, topic: str, partition_id: int) -> None:
        """Request an ISR of all active replicas, as a healthy leader does."""
        if (key := self.key(topic, partition_id)) is not None:
            partition = self.runtime.partition(key)
            active = [broker for broker in partition.replicas if self.runtime.image.is_active(broker)]
            self.ask(self.runtime.alter_isr_request(key, *active))

    @precondition(lambda self: self.kept)
    @rule(data=st.data())
    def alter_isr_late(self, data: st.DataObject) -> None:
        self.ask(data.draw(st.sampled_from(self.kept)))

    @rule(topic=topics, partition_id=partition_ids, wanted=st.none() | replicas)
    def reassign(self, topic: str, partition_id: int, wanted: tuple[int, ...] | None) -> None:
        self.ask(AlterPartitionReassignmentRequest(topic, partition_id, wanted))

    @rule(topic=topics, partition_id=partition_ids)
    def elect(self, topic: str, partition_id: int) -> None:
        self.ask(ElectPreferredLeaderRequest(topic, partition_id))

    @rule(topic=topics, num_partitions=st.integers(1, 3), replication_factor=st.integers(1, 5))
    def create(self, topic: str, num_partitions: int, replication_factor: int) -> None:
        self.created += 1
        self.ask(CreateTopicRequest(topic, UUID(int=self.created), num_partitions, replication_factor))

    @rule(topic=topics)
    def delete(self, topic: str) -> None:
        self.ask(DeleteTopicRequest(name=topic))

    @rule(topic=topics, value=st.sampled_from(["1", "2", None]))
    def configure(self, topic: str, value: str | None) -> None:
        self.ask(AlterConfigsRequest.of_one(2, topic, "min.insync.replicas", value))

    @rule(topic=topics, value=st.sampled_from(["true", "false", None]))
    def allow_unclean_elections(self, topic: str, value: str | None) -> None:
        self.ask(AlterConfigsRequest.of_one(2, topic, "unclean.leader.election.enable", value))

    @rule(broker_id=brokers)
    def unregister(self, broker_id: int) -> None:
        self.ask(UnregisterBrokerRequest(broker_id))

    @rule(share=st.floats(0, 1))
    def commit(self, share: float) -> None:
        log = self.runtime.log
        self.runtime.commit(log.high_watermark + round(share * (log.end_offset - log.high_watermark)))

    @rule(data=st.data())
    def fail_over(self, data: st.DataObject) -> None:
        log = self.runtime.log
        ends = [batch.base_offset for batch in log.batches if batch.base_offset >= log.high_watermark]
        self.runtime.fail_over(data.draw(st.sampled_from([*ends, log.end_offset])))

    @invariant()
    def speculative_is_the_replay_of_the_log(self) -> None:
        runtime = self.runtime
        assert contents(runtime.image) == contents(runtime.replayed)
        committed = Image()
        for batch in runtime.log.batches:
            if batch.last_offset < runtime.log.high_watermark:
                committed.replay(batch)
        assert contents(runtime.controller.committed) == contents(committed)

    @invariant()
    def a_snapshot_stands_for_what_is_committed(self) -> None:
        controller = self.runtime.controller
        loaded = Controller.load(controller.settings, controller.snapshot())
        assert contents(loaded.committed) == contents(controller.committed)

    @invariant()
    def only_unfenced_brokers_have_leases_and_their_timers_are_armed(self) -> None:
        runtime = self.runtime
        for broker_id, registration in runtime.image.registrations.items():
            if not registration.fenced:
                at_ms = runtime.timers[("lease", broker_id)]
                assert at_ms <= runtime.controller.sessions.end_ms(broker_id)


TestController = ControllerMachine.TestCase
TestController.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
