"""The broker of KIP-631: lifecycle, metadata, and the replicas that lead and follow."""

from impl.kraft.broker.core import Broker
from impl.kraft.broker.fetch import FetchRequest, FetchResponse, PartitionFollower
from impl.kraft.broker.leader import FollowerState, PartitionLeader
from impl.kraft.broker.lifecycle import BrokerStateError, Lifecycle
from impl.kraft.broker.replica_log import NO_EPOCH, EpochEnd, InMemoryReplicaLog, LogEntry, ReplicaLog, ReplicaLogs
from impl.kraft.broker.settings import BrokerSettings
from impl.kraft.broker.states import NEXT_STATE, BrokerState, Event, next_state
from impl.kraft.broker.timers import Due, Timer

__all__ = [
    "NEXT_STATE",
    "NO_EPOCH",
    "Broker",
    "BrokerSettings",
    "BrokerState",
    "BrokerStateError",
    "Due",
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
    "ReplicaLogs",
    "Timer",
    "next_state",
]
