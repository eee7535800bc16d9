"""The assignor of impl/streams inside another client, kafka-python: nothing of it leans on our own member."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any
from uuid import UUID

from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from impl.streams.assignor import Outcome, Said, Sources, assign, on_assignment, subscription
from impl.streams.config import StreamsConfig
from impl.streams.consumer_protocol import (
    PROTOCOL_NAME,
    PROTOCOL_TYPE,
    ConsumerAssignment,
    assignment_bytes,
    subscription_bytes,
)
from impl.streams.member import Member, State
from impl.streams.messages import ErrorCode, JoinedGroup, JoinGroup, SyncedGroup, SyncGroup
from impl.streams.metadata import TopicPartition
from impl.streams.recording import MemberWatch


class StreamsAssignor(AbstractPartitionAssignor):  # type: ignore[misc]  # kafka-python has no types
    """One topic group of one topic. outcome: what it made of its last assignment.

    The client shows its assignor what it joins with, and what it is assigned: `watch` sees no more of it.
    """

    name = PROTOCOL_NAME

    def __init__(self, config: StreamsConfig, process_id: UUID, topic: str, watch: MemberWatch) -> None:
        self.release, self.process_id, self.topic = config.release, process_id, topic
        self.outcome: Outcome | None = None
        self.has_led = self._leads = False
        self._watch = watch
        self._seen = Member(config, "kafka-python", process_id, Sources())
        self._join = JoinGroup("", "", 0, 0, PROTOCOL_TYPE, ())

    def metadata(self, topics: Any) -> Any:
        had = self.outcome.info.active if self.outcome is not None else ()
        data = subscription(self.release, Said(self.release.latest, self.process_id, had))
        self._join = self._join._replace(protocols=((PROTOCOL_NAME, subscription_bytes([self.topic], data)),))
        self._leads = False
        self._watch.sent(self._join)
        return ConsumerProtocolSubscription(0, sorted(topics), data)

    def assign(self, cluster: Any, members: Sequence[Any]) -> dict[str, Any]:
        self.has_led = self._leads = True
        counts = {self.topic: len(cluster.partitions_for_topic(self.topic) or ())}  # it may not know of it yet
        data = {member.member_id: bytes(member.metadata.user_data) for member in members}
        made = assign(self.release, Sources({0: (self.topic,)}, counts), data)
        return {member: ConsumerProtocolAssignment(0, _by_topic(one), one.user_data) for member, one in made.items()}

    def on_assignment(self, assignment: Any, generation: int) -> None:
        partitions = tuple(TopicPartition(topic, number) for topic, number in sorted(assignment.partitions()))
        made = ConsumerAssignment(partitions, bytes(assignment.user_data))
        self.outcome = on_assignment(self.release, self.release.latest, self.has_led, made)
        self._show(generation, assignment_bytes(*made))

    def _show(self, generation: int, assignment: bytes) -> None:
        assert self.outcome is not None
        core, leader = self._seen, "it" if self._leads else "another"
        core.state = State.JOINED
        joined = JoinedGroup(ErrorCode.NONE, "it", generation, leader=leader)
        self._watch.answered(self._join, joined, State.JOINING, core)
        core.state, core.used, core.wants_to_rejoin = State.RUNNING, self.outcome.used, self.outcome.rejoins
        core.tasks = tuple(sorted(set(self.outcome.info.active)))
        sync = SyncGroup("it", generation, (("it", assignment),) if self._leads else ())
        self._watch.answered(sync, SyncedGroup(ErrorCode.NONE, assignment), State.SYNCING, core)


def _by_topic(one: ConsumerAssignment) -> list[tuple[str, list[int]]]:
    return [(topic, [of.partition for of in found]) for topic, found in groupby(one.partitions, lambda of: of.topic)]
