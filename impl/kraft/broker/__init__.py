"""The broker of KIP-631: lifecycle, metadata, and the replicas that lead and follow."""

from impl.kraft.broker.core import ISR_EXPIRATION, PUBLICATION, Broker
from impl.kraft.broker.fetch import FetchRequest, FetchResponse, PartitionFollower
from impl.kraft.broker.leader import FollowerState, PartitionLeader
from impl.kraft.broker.lifecycle import (
    COMMUNICATION,
    CONTROLLED_SHUTDOWN,
    INITIAL_REGISTRATION,
    BrokerStateError,
    Lifecycle,
    Timer,
)
from impl.kraft.broker.replica_log import NO_EPOCH, EpochEnd, InMemoryReplicaLog, LogEntry, ReplicaLog
from impl.kraft.broker.settings import BrokerSettings
from impl.kraft.broker.states import NEXT_STATE, BrokerState, Event, next_state

__all__ = [
    "COMMUNICATION",
    "CONTROLLED_SHUTDOWN",
    "INITIAL_REGISTRATION",
    "ISR_EXPIRATION",
    "NEXT_STATE",
    "NO_EPOCH",
    "PUBLICATION",
    "Broker",
    "BrokerSettings",
    "BrokerState",
    "BrokerStateError",
    "EpochEnd",
    "Event",
    "FetchRequest",
    "FetchResponse",
    "FollowerState",
    "InMemoryReplicaLog",
    "Lifecycle",
    "LogEntry",
    "PartitionFollower",
    "PartitionLeader",
    "ReplicaLog",
    "Timer",
    "next_state",
]
