"""Snapshots of the metadata log: a controller writes one of what is committed, and later starts from one.

The newest snapshot of the quorum is kept with what was committed since, so that loading it goes through the same
records as the log. A snapshot stands for the log up to its offset: its load must give what a replay of all gives.
Leaves out: snapshots of brokers; a snapshot older than the newest; a standby that has not read its log to the end.
"""

from __future__ import annotations

from checker.lang import action, require
from spec.kraft.actions.quorum import is_raft_leader
from spec.kraft.decisions.log import no_records, replayed
from spec.kraft.metadata import Metadata, Snapshot, may_go_back
from spec.kraft.state import Cluster, Controller, committed
from spec.kraft.types import Role, Voter


def stable_image(s: Cluster, controller: Controller) -> Metadata:
    """The image that a controller knows to be committed. An active one keeps that apart from what it decides from."""
    return committed(s) if controller.role == Role.ACTIVE else controller.image


@action(
    who="controller {voter}",
    source="KIP-630; KIP-631, Metadata Records",
    kafka="SnapshotGenerator.onMetadataUpdate, RecordsSnapshotWriter",
)
def write_snapshot(s: Cluster, voter: Voter) -> None:
    """A controller that has all that is committed writes a snapshot of it."""
    controller = s.controllers[voter]
    require(controller.lags_since is None)
    s.snapshots = (Snapshot(image=stable_image(s, controller), since=no_records(), offsets_behind=0),)


@action(
    who="controller {voter}",
    source="KIP-630; KIP-631, Controller Failover",
    kafka="QuorumController.handleLoadSnapshot, KafkaRaftClient.handleFetchSnapshotResponse",
    api="FetchSnapshot v0",
)
def load_snapshot(s: Cluster, voter: Voter) -> None:
    """A standby starts again, or lacks something committed: it loads the snapshot and replays what came after."""
    controller = s.controllers[voter]
    require(controller.role == Role.STANDBY and len(s.snapshots) > 0)
    require(controller.lags_since is None or has_source(s, controller))
    snapshot = s.snapshots[0]
    controller.image = replayed(snapshot.image, snapshot.since)
    controller.lags_since = None
    controller.goes_back_to = (snapshot.image,) if may_go_back() and snapshot.offsets_behind < 2 else ()


def has_source(s: Cluster, controller: Controller) -> bool:
    """A leader of the epoch that the controller knows has all that is committed."""
    return any(
        is_raft_leader(s.controllers[voter])
        and s.controllers[voter].epoch == controller.epoch
        and s.controllers[voter].lags_since is None
        for voter in Voter
    )
