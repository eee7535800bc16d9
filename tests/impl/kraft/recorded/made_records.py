"""Metadata records made by hand: of brokers, and of one partition of one topic."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from impl.kraft.metadata.encoding import MetadataRecord

TOPIC = UUID(int=1)


def registered(broker: int, epoch: int, incarnation: UUID) -> MetadataRecord:
    fields = {
        "brokerId": broker, "incarnationId": incarnation, "brokerEpoch": epoch, "endPoints": (), "features": (),
        "rack": None, "fenced": True,
    }  # fmt: skip
    return MetadataRecord("REGISTER_BROKER_RECORD", 0, fields)


def unfenced(broker: int, epoch: int) -> MetadataRecord:
    return MetadataRecord("UNFENCE_BROKER_RECORD", 0, {"id": broker, "epoch": epoch})


def fenced(broker: int, epoch: int) -> MetadataRecord:
    return MetadataRecord("FENCE_BROKER_RECORD", 0, {"id": broker, "epoch": epoch})


def stopping(broker: int, epoch: int) -> MetadataRecord:
    fields = {"brokerId": broker, "brokerEpoch": epoch, "inControlledShutdown": 1}
    return MetadataRecord("BROKER_REGISTRATION_CHANGE_RECORD", 1, fields)


def topic(*replicas: int) -> list[MetadataRecord]:
    fields = {
        "partitionId": 0, "topicId": TOPIC, "replicas": replicas, "isr": replicas, "removingReplicas": (),
        "addingReplicas": (), "leader": replicas[0], "leaderEpoch": 0, "partitionEpoch": 0,
    }  # fmt: skip
    return [
        MetadataRecord("TOPIC_RECORD", 0, {"name": "orders", "topicId": TOPIC}),
        MetadataRecord("PARTITION_RECORD", 0, fields),
    ]


def change(**fields: Any) -> MetadataRecord:
    return MetadataRecord("PARTITION_CHANGE_RECORD", 0, {"partitionId": 0, "topicId": TOPIC, **fields})
