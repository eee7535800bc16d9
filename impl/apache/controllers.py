"""Simulated clusters whose controllers decide by Kafka's classes (`QuorumController`), above our quorum.

Raft, the log and its snapshots are ours, and so is the image of what is committed. A controller that is not active
replays what is committed, as Kafka's does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import Any, cast

from impl.apache.brokers import KafkaBrokers
from impl.apache.controller import METADATA_VERSION, ApacheController
from impl.apache.jvm import Jvm
from impl.apache.wire import KINDS
from impl.kraft.controller import Controller, ControllerSettings, Timer
from impl.kraft.effects import Effects, SetTimer
from impl.kraft.messages import (
    BrokerRegistrationRequest,
    CreateTopicRequest,
    ListPartitionReassignmentsRequest,
    Request,
)
from impl.kraft.metadata.core_records import MetadataCodec
from impl.kraft.node import Node, snapshot_of
from impl.kraft.raft import Raft
from impl.kraft.records import Batch, SupportedFeature
from impl.kraft.simulation.cluster import CONTROLLER, Cluster
from impl.kraft.simulation.swarm import ELECTION_MS, Plan
from impl.kraft.snapshot import Snapshot, write_snapshot
from impl.kraft.storage.storage import QuorumStorage

LEASE_CHECK_MS = ELECTION_MS // 2
_FEATURES = (SupportedFeature("metadata.version", 1, METADATA_VERSION),)


class KafkaController(ApacheController):
    """A released controller that lives on: what it was before is dropped, and it looks for leases now and then.

    Kafka takes the end of a snapshot, which is exclusive, for the last offset that it has (OffsetControlManager.
    endLoadSnapshot). When such a controller renounces, a record at that offset is taken back with what is not
    committed, and is missing until it loads anew; so is here the metadata version, which stands before the log. Here it
    loads anew at once.
    """

    def __init__(self, version: str, settings: ControllerSettings) -> None:
        super().__init__(version, settings)
        self.version = version
        self._stable_offset = self._data_offset = -1
        """What it goes back to when it renounces, at the least; and of the last record that is committed."""

    def handle(self, call: int, request: Request, now_ms: int) -> Effects:
        """Brokers say that they know the metadata version: ours have no features."""
        if isinstance(request, BrokerRegistrationRequest):
            request = replace(request, features=_FEATURES)
        return super().handle(call, request, now_ms)

    def on_timer(self, timer: Timer, now_ms: int) -> Effects:
        if not self.is_active:
            return []
        again = SetTimer(timer, now_ms + LEASE_CHECK_MS)
        return [again if effect == SetTimer(timer, now_ms) else effect for effect in super().on_timer(timer, now_ms)]

    def replay(self, batch: Batch) -> None:
        super().replay(batch)
        if batch.records:
            self._data_offset = batch.last_offset
        self.state.forget_past()

    def load(self, snapshot: Snapshot) -> None:
        super().load(snapshot)
        self._stable_offset = snapshot.offset + 1

    def on_commit(self, offset: int, now_ms: int) -> Effects:
        before = self.committed.offset
        effects = super().on_commit(offset, now_ms)
        if self.committed.offset > before:
            self._data_offset = self.committed.offset
        return effects

    def renounce(self, now_ms: int) -> Effects:
        effects = super().renounce(now_ms)
        if self._data_offset <= self._stable_offset:
            anew = KafkaController(self.version, self.settings)
            anew.load(write_snapshot(self.committed))
            self.state, self._stable_offset = anew.state, anew._stable_offset
        return effects

    def _step(self, command: Mapping[str, Any], now_ms: int) -> Effects:
        effects = super()._step(command, now_ms)
        self.state.forget_past()
        return effects


class KafkaNode(Node):
    """A node whose controller is Kafka's."""

    def _loaded(self, snapshot: Snapshot) -> Controller:
        before = cast(KafkaController, self.controller)
        loaded = KafkaController(before.version, before.settings)
        loaded.load(snapshot)
        return cast(Controller, loaded)


class KafkaControllers(Cluster):
    """A run of a plan with released controllers. version: of them. mixed: every second one is ours."""

    def __init__(
        self, version: str, plan: Plan, watch: Callable[[str], None] | None = None, *, mixed: bool = False
    ) -> None:
        self._version, self._mixed = version, mixed
        super().__init__(plan, watch)

    def node_of(self, raft: Raft, storage: QuorumStorage) -> Node:
        if self._mixed and raft.voter.node_id % 2:
            return super().node_of(raft, storage)
        latest, codec = storage.snapshots.latest, MetadataCodec()
        controller = KafkaController(self._version, CONTROLLER)
        if latest is not None:
            controller.load(snapshot_of(latest, storage.snapshots.read(latest), codec))
        log = storage.log.read(0 if latest is None else latest[0])
        return KafkaNode(raft, cast(Controller, controller), codec, log, self.snapshots)

    def drawn_request(self, rng: Random) -> Request:
        """One that Kafka's controller is driven with: no configs, and of a topic the replicas, which it would draw."""
        while self.metadata.image.registrations:
            request = super().drawn_request(rng)
            if isinstance(request, CreateTopicRequest) and request.assignments:
                return replace(request, configs=())
            if type(request) in KINDS and not isinstance(request, CreateTopicRequest):
                return request
        return ListPartitionReassignmentsRequest()

    def describe_reassignments(self, number: int) -> None:
        """What Kafka's tells may not be committed (docs/findings/kip-631.md)."""


class KafkaClusters(KafkaControllers, KafkaBrokers):
    """Controllers and brokers are released ones."""

    def __init__(
        self, jvm: Jvm, plan: Plan, watch: Callable[[str], None] | None = None, *, mixed: bool = False
    ) -> None:
        self._version = jvm.version
        KafkaBrokers.__init__(self, jvm, plan, watch, mixed=mixed)
