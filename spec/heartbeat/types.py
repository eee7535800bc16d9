"""Names, ordinals and enumerations of the KIP-343 spec."""

from __future__ import annotations

from enum import Enum

from checker.lang import Identity, OrderedEnum, Ordinal
from spec.heartbeat.design import Design


class Broker(Identity, size=lambda: Design.brokers):
    """A broker, by its id."""


class Process(Identity, size=lambda: Design.brokers + Design.spare_processes):
    """A broker process. Process n is configured with id n; one beyond these, with id 0."""


class Controller(Identity, size=lambda: Design.controllers):
    """A process that may be the controller."""


class Incarnation(Ordinal):
    """The incarnation id: the czxid of `/brokers/ids/<id>`."""


class LeaderEpoch(Ordinal):
    """The leader epoch of the partition."""


class Version(Ordinal):
    """The version of the znode with the partition state."""


class ControllerEpoch(Ordinal):
    """The data of `/controller_epoch`. Each write raises it, and its version with it: one stands for the other."""


class BrokerState(OrderedEnum):
    """BrokerState of the document: the states below ACTIVE are those of a broker that is out of the metadata."""

    INITIAL = "INITIAL"  # the controller has not heard of it in its term
    INACTIVE = "INACTIVE"
    ACTIVE = "ACTIVE"
    STOPPING = "STOPPING"


class Software(Enum):
    """The code of a process and its inter.broker.protocol.version."""

    LEGACY = "LEGACY"  # Kafka 2.0
    NEW_CODE = "NEW_CODE"  # after the first roll: it behaves as before, but as the controller it handles heartbeats
    HEARTBEATS = "HEARTBEATS"  # after the second


class Error(Enum):
    """Error codes of replies."""

    NONE = "NONE"
    NOT_CONTROLLER = "NOT_CONTROLLER"
    INVALID_INCARNATION_ID = "INVALID_INCARNATION_ID"
    NOT_LEADER_FOR_PARTITION = "NOT_LEADER_FOR_PARTITION"
    INVALID_UPDATE_VERSION = "INVALID_UPDATE_VERSION"
    INELIGIBLE_REPLICA = "INELIGIBLE_REPLICA"


class RecordStatus(Enum):
    """The fate of the one record that is ever produced."""

    UNWRITTEN = "UNWRITTEN"
    WRITTEN = "WRITTEN"
    ACKNOWLEDGED = "ACKNOWLEDGED"
    FORFEITED = "FORFEITED"


def broker_id(process: Process) -> Broker:
    """The id that a process is configured with."""
    if process == Process(1):
        return Broker(1)
    if Design.brokers > 2 and process == Process(2):
        return Broker(2)
    return Broker(0)
