"""The assignor of impl/streams inside another client, kafka-python: nothing of it leans on our own member."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any
from uuid import UUID

from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from impl.streams.assignor import Outcome, Said, Sources, assign, on_assignment, subscription
from impl.streams.consumer_protocol import PROTOCOL_NAME, ConsumerAssignment
from impl.streams.metadata import TopicPartition
from impl.streams.versions import Release


class StreamsAssignor(AbstractPartitionAssignor):  # type: ignore[misc]  # kafka-python has no types
    """One topic group of one topic. outcome: what it made of its last assignment."""

    name = PROTOCOL_NAME

    def __init__(self, release: Release, process_id: UUID, topic: str) -> None:
        self.release, self.process_id, self.topic = release, process_id, topic
        self.outcome: Outcome | None = None
        self.has_led = False

    def metadata(self, topics: Any) -> Any:
        had = self.outcome.info.active if self.outcome is not None else ()
        data = subscription(self.release, Said(self.release.latest, self.process_id, had))
        return ConsumerProtocolSubscription(0, sorted(topics), data)

    def assign(self, cluster: Any, members: Sequence[Any]) -> dict[str, Any]:
        self.has_led = True
        counts = {self.topic: len(cluster.partitions_for_topic(self.topic) or ())}  # it may not know of it yet
        data = {member.member_id: bytes(member.metadata.user_data) for member in members}
        made = assign(self.release, Sources({0: (self.topic,)}, counts), data)
        return {member: ConsumerProtocolAssignment(0, _by_topic(one), one.user_data) for member, one in made.items()}

    def on_assignment(self, assignment: Any, generation: int) -> None:
        partitions = tuple(TopicPartition(topic, number) for topic, number in sorted(assignment.partitions()))
        made = ConsumerAssignment(partitions, bytes(assignment.user_data))
        self.outcome = on_assignment(self.release, self.release.latest, self.has_led, made)


def _by_topic(one: ConsumerAssignment) -> list[tuple[str, list[int]]]:
    return [(topic, [of.partition for of in found]) for topic, found in groupby(one.partitions, lambda of: of.topic)]
