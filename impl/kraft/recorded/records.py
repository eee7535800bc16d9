"""Metadata records as Kafka's own, of brokers that are numbered from 0."""

from __future__ import annotations

from collections.abc import Mapping

from impl.kraft.metadata.encoding import MetadataRecord
from impl.kraft.recorded.image import SAME_LEADER

_CHANGE = "BROKER_REGISTRATION_CHANGE_RECORD"
_FENCED = {"FENCE_BROKER_RECORD": 1, "UNFENCE_BROKER_RECORD": -1}
_BROKERS = ("replicas", "isr", "addingReplicas", "removingReplicas")


def numbered(record: MetadataRecord, numbers: Mapping[int, int]) -> MetadataRecord:
    """With the number of each broker for its id, and the draft's records of fencing as Kafka's."""
    fields = dict(record.fields)
    if record.type in _FENCED:
        fenced = {"brokerId": numbers[fields["id"]], "brokerEpoch": fields["epoch"], "fenced": _FENCED[record.type]}
        return MetadataRecord(_CHANGE, 0, fenced)
    for name in _BROKERS:
        if fields.get(name) is not None:
            fields[name] = tuple(numbers[broker] for broker in fields[name])
    for name in ("brokerId", "leader"):
        if fields.get(name, SAME_LEADER) >= 0:
            fields[name] = numbers[fields[name]]
    return MetadataRecord(record.type, record.version, fields)


def is_of_directories(record: MetadataRecord) -> bool:
    """A broker has said where a replica is, which changes nothing that a trace has but for a partition epoch."""
    named = record.fields.keys() - {"partitionId", "topicId"}
    return record.type == "PARTITION_CHANGE_RECORD" and named == {"directories"}
