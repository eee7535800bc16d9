"""Names, epochs and enumerations of the KIP-631 spec.

Epochs and incarnations are ordinals: they are compared and freshly issued, nothing else, so that restarts and
elections need no bound. A broker epoch is the offset of the broker's registration record; how far a metadata
image reaches is therefore measured in broker epochs too. Other offsets are kept (`MetadataOffset`)
where somebody compares them. Leaves out: offsets of all other metadata records.
"""

from __future__ import annotations

from enum import Enum

from checker.lang import Identity, Ordinal
from spec.kraft.design import Design


def snapshot_end_counts() -> bool:
    """Brokers are unfenced by whether they have applied all that is in a snapshot."""
    return Design.snapshots > 0 and not Design.snapshot_keeps_offsets


class Voter(Identity, size=lambda: Design.controllers, label="controller"):
    """A controller of the metadata quorum."""


class Broker(Identity, size=lambda: Design.brokers):
    """A broker id, as configured by node.id."""


def name_of_process(index: int) -> str:
    """The broker that a process runs as; 0b is the second process of broker 0."""
    return f"broker{index}" if index < Design.brokers else "broker0b"


class Process(Identity, size=lambda: Design.brokers + Design.second_processes, label=name_of_process):
    """A place where a broker process runs, with a disk of its own. `node_id` says as which broker."""


class TopicPartition(Identity, size=lambda: Design.partitions, label="partition"):
    """A partition of the topic."""


class Incarnation(Ordinal):
    """The UUID that a process draws when it starts. Only equality matters."""


class BrokerEpoch(Ordinal):
    """The offset of a registration record in the metadata log."""


class MetadataOffset(Ordinal):
    """An offset in the metadata log at which leaderships moved for a controlled shutdown, or at which it grew."""


class TopicId(Ordinal, fixed=lambda: Design.max_topics == 0):
    """The UUID of a topic, which distinguishes topics that had one name. Only equality matters."""


class LeaderEpoch(Ordinal):
    """Rises with each change of a partition's leader."""


class PartitionEpoch(Ordinal):
    """Rises with each change of a partition."""


class ControllerEpoch(Ordinal):
    """Rises with each election of a controller."""


class Role(Enum):
    """The role of a controller in its epoch. An elected one becomes active once it has replayed its log."""

    STANDBY = "STANDBY"
    ELECTED = "ELECTED"
    ACTIVE = "ACTIVE"


class BrokerState(Enum):
    """The broker state machine."""

    NOT_RUNNING = "NOT_RUNNING"
    STARTING = "STARTING"
    RECOVERY = "RECOVERY"
    RUNNING = "RUNNING"
    PENDING_CONTROLLED_SHUTDOWN = "PENDING_CONTROLLED_SHUTDOWN"
    SHUTTING_DOWN = "SHUTTING_DOWN"


class Error(Enum):
    """Error codes of replies."""

    NONE = "NONE"
    DUPLICATE_BROKER_REGISTRATION = "DUPLICATE_BROKER_REGISTRATION"
    STALE_BROKER_EPOCH = "STALE_BROKER_EPOCH"
    NOT_CONTROLLER = "NOT_CONTROLLER"
    FENCED_LEADER_EPOCH = "FENCED_LEADER_EPOCH"
    INVALID_REQUEST = "INVALID_REQUEST"
    INVALID_UPDATE_VERSION = "INVALID_UPDATE_VERSION"
    INELIGIBLE_REPLICA = "INELIGIBLE_REPLICA"
    NEW_LEADER_ELECTED = "NEW_LEADER_ELECTED"
    UNKNOWN_TOPIC_ID = "UNKNOWN_TOPIC_ID"


class RecordStatus(Enum):
    """The fate of the one record that is ever produced to a partition."""

    UNWRITTEN = "UNWRITTEN"
    WRITTEN = "WRITTEN"
    ACKNOWLEDGED = "ACKNOWLEDGED"
    FORFEITED = "FORFEITED"


def node_id(process: Process) -> Broker:
    """The id that a process is configured with: its own number, and broker 0 again for a process beyond these."""
    if Design.brokers > 1 and process == Process(1):
        return Broker(1)
    if Design.brokers > 2 and process == Process(2):
        return Broker(2)
    if Design.brokers > 3 and process == Process(3):
        return Broker(3)
    if Design.brokers > 4 and process == Process(4):
        return Broker(4)
    return Broker(0)
