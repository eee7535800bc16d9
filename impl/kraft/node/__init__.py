"""Nodes of a cluster: `impl.kraft.raft` below, a controller or a broker above."""

from impl.kraft.node.broker_node import BrokerNode
from impl.kraft.node.codec import RecordCodec, snapshot_batches, snapshot_of
from impl.kraft.node.effects import Applied, BrokerEffect, BrokerEffects, NodeEffect, NodeEffects
from impl.kraft.node.hosted_broker import HostedBroker
from impl.kraft.node.housekeeping import SnapshotSettings, WriteSnapshot
from impl.kraft.node.node import Node

__all__ = [
    "Applied",
    "BrokerEffect",
    "BrokerEffects",
    "BrokerNode",
    "HostedBroker",
    "Node",
    "NodeEffect",
    "NodeEffects",
    "RecordCodec",
    "SnapshotSettings",
    "WriteSnapshot",
    "snapshot_batches",
    "snapshot_of",
]
