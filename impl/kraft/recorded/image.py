"""The image of brokers and partitions that a replay of metadata records gives, as `kraft/recorded` names its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from impl.kraft.metadata.encoding import MetadataRecord

NO_LEADER, SAME_LEADER = -1, -2
_UNFENCED, _FENCED = -1, 1

Place = tuple[UUID, int]
"""A partition: the id of its topic, and its number."""


@dataclass(frozen=True)
class Registration:
    """A broker's registration. fenced, stopping: as of now."""

    incarnation: UUID
    epoch: int
    fenced: bool
    stopping: bool


@dataclass(frozen=True)
class Partition:
    """A partition, as PartitionRegistration of Kafka has it."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    adding: tuple[int, ...]
    removing: tuple[int, ...]

    @property
    def is_moving(self) -> bool:
        return bool(self.adding or self.removing)

    @property
    def original(self) -> tuple[int, ...]:
        """The replicas that a reassignment under way started from."""
        return tuple(replica for replica in self.replicas if replica not in self.adding)


@dataclass
class Image:
    """Registrations by broker, partitions by place, names of topics by id."""

    registrations: dict[int, Registration] = field(default_factory=dict)
    partitions: dict[Place, Partition] = field(default_factory=dict)
    topics: dict[UUID, str] = field(default_factory=dict)

    def replay(self, record: MetadataRecord) -> None:
        fields = record.fields
        match record.type:
            case "REGISTER_BROKER_RECORD":
                self.registrations[fields["brokerId"]] = Registration(
                    fields["incarnationId"], fields["brokerEpoch"], fields["fenced"],
                    fields.get("inControlledShutdown", False),
                )  # fmt: skip
            case "BROKER_REGISTRATION_CHANGE_RECORD":
                self._change_registration(fields)
            case "UNREGISTER_BROKER_RECORD":
                del self.registrations[fields["brokerId"]]
            case "TOPIC_RECORD":
                self.topics[fields["topicId"]] = fields["name"]
            case "REMOVE_TOPIC_RECORD":
                del self.topics[fields["topicId"]]
                self.partitions = {at: one for at, one in self.partitions.items() if at[0] != fields["topicId"]}
            case "PARTITION_RECORD":
                self.partitions[place(record)] = Partition(
                    fields["replicas"], fields["isr"], fields["leader"], fields["leaderEpoch"],
                    fields["partitionEpoch"], fields["addingReplicas"], fields["removingReplicas"],
                )  # fmt: skip
            case "PARTITION_CHANGE_RECORD":
                self.partitions[place(record)] = changed(self.partitions[place(record)], fields)

    def _change_registration(self, fields: Mapping[str, Any]) -> None:
        before = self.registrations[fields["brokerId"]]
        fenced, stops = fields.get("fenced", 0), fields.get("inControlledShutdown", 0)
        self.registrations[fields["brokerId"]] = replace(
            before, fenced=fenced == _FENCED if fenced else before.fenced, stopping=before.stopping or stops == 1
        )


def place(record: MetadataRecord) -> Place:
    return record.fields["topicId"], record.fields["partitionId"]


def is_fenced_by(record: MetadataRecord) -> bool:
    return bool(record.fields.get("fenced", 0) == _FENCED)


def is_unfenced_by(record: MetadataRecord) -> bool:
    return bool(record.fields.get("fenced", 0) == _UNFENCED)


def is_stopped_by(record: MetadataRecord) -> bool:
    return bool(record.fields.get("inControlledShutdown", 0) == 1)


def changed(before: Partition, fields: Mapping[str, Any]) -> Partition:
    """The partition once a PartitionChangeRecord is replayed: a field that it lacks stays as it was."""
    leader = fields.get("leader", SAME_LEADER)

    def given(name: str, otherwise: tuple[int, ...]) -> tuple[int, ...]:
        value = fields.get(name)
        return otherwise if value is None else tuple(value)

    return Partition(
        replicas=given("replicas", before.replicas),
        isr=given("isr", before.isr),
        leader=before.leader if leader == SAME_LEADER else leader,
        leader_epoch=before.leader_epoch + (leader != SAME_LEADER),
        partition_epoch=before.partition_epoch + 1,
        adding=given("addingReplicas", before.adding),
        removing=given("removingReplicas", before.removing),
    )


# As the spec has it.


def name(broker: int) -> str:
    return f"broker{broker}"


def names(brokers: Sequence[int]) -> list[str]:
    return [name(broker) for broker in brokers]


def partition_state(partition: Partition | None) -> dict[str, Any] | None:
    """What is added is in the order of the replicas: Kafka sorts it, and reads it as a set."""
    if partition is None:
        return None
    return {
        "replicas": names(partition.replicas),
        "isr": names(sorted(partition.isr)),
        "leader": None if partition.leader == NO_LEADER else name(partition.leader),
        "leader_epoch": partition.leader_epoch,
        "partition_epoch": partition.partition_epoch,
        "adding": names([one for one in partition.replicas if one in partition.adding]),
        "removing": names([one for one in partition.replicas if one in partition.removing]),
    }


def registration_state(registration: Registration | None, incarnation: int) -> dict[str, Any] | None:
    """incarnation: its number, in the order of the processes' starts."""
    if registration is None:
        return None
    return {
        "incarnation": incarnation,
        "broker_epoch": registration.epoch,
        "fenced": registration.fenced,
        "in_controlled_shutdown": registration.stopping,
    }
