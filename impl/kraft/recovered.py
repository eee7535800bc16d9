"""What the cores of a node begin with, by what its disk has."""

from __future__ import annotations

from impl.kraft.broker import Broker
from impl.kraft.controller import Controller, ControllerSettings
from impl.kraft.node import BrokerNode, Node, RecordCodec, SnapshotSettings, snapshot_of
from impl.kraft.raft import Raft
from impl.kraft.raft.log_ends import LogEnds
from impl.kraft.storage.storage import QuorumStorage


def recovered_ends(storage: QuorumStorage) -> LogEnds:
    log = storage.log
    return LogEnds.recovered(log.end_offset, log.epochs.starts, log.start_offset, storage.snapshots.ids)


def recovered_node(
    raft: Raft,
    settings: ControllerSettings,
    storage: QuorumStorage,
    codec: RecordCodec,
    snapshots: SnapshotSettings | None = None,
) -> Node:
    """A controller's: the newest snapshot is loaded, what follows it is there to be applied. Raises ValueError."""
    latest = storage.snapshots.latest
    if latest is None:
        return Node(raft, Controller(settings), codec, storage.log.read(0), snapshots)
    controller = Controller.load(settings, snapshot_of(latest, storage.snapshots.read(latest), codec))
    return Node(raft, controller, codec, storage.log.read(latest[0]), snapshots)


def recovered_broker_node(
    raft: Raft, broker: Broker, storage: QuorumStorage, codec: RecordCodec, snapshots: SnapshotSettings | None = None
) -> BrokerNode:
    """A broker's: what follows the newest snapshot is there to be applied, once the node has started and loaded it."""
    latest = storage.snapshots.latest
    log = storage.log.read(0 if latest is None else latest[0])
    return BrokerNode(raft, broker, codec, log, snapshots)
