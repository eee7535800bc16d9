"""Snapshots of the metadata log: a controller writes one of what is committed, and later starts from one.

The newest snapshot of the quorum is kept with what was committed since, so that loading it goes through the same
records as the log. A snapshot stands for the log up to its offset: its load must give what a replay of all gives.
Leaves out: snapshots of brokers; a snapshot older than the newest; a standby that has not read its log to the end; of a
heartbeat under way, what it lacks of a snapshot that its controller loads before it lands.
"""

from __future__ import annotations

from checker.lang import Option, action, require
from spec.kraft.actions.quorum import is_raft_leader
from spec.kraft.decisions.log import no_records, replayed
from spec.kraft.messages import Lack
from spec.kraft.metadata import Metadata, Registration, Snapshot, may_go_back
from spec.kraft.processes import BrokerProcess
from spec.kraft.state import Cluster, Controller, committed
from spec.kraft.types import Process, Role, Voter, node_id, snapshot_end_counts


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
    if snapshot_end_counts():
        for process in Process:
            s.processes[process].reach = 2 if s.processes[process].reach == 2 else 0


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
    if snapshot_end_counts():
        for process in Process:
            s.processes[process].lacks[voter] = lack_of(
                s.processes[process], snapshot.image.registrations[node_id(process)]
            )


def lack_of(process: BrokerProcess, registration: Option[Registration]) -> Lack:
    """Whether a process has yet to apply all that is in the newest snapshot, which has this registration of its id."""
    is_own = registration is not None and (
        registration.broker_epoch == process.broker_epoch or registration.incarnation == process.incarnation
    )
    return 1 if is_own and process.reach == 0 else 0


def has_source(s: Cluster, controller: Controller) -> bool:
    """A leader of the epoch that the controller knows has all that is committed."""
    return any(
        is_raft_leader(s.controllers[voter])
        and s.controllers[voter].epoch == controller.epoch
        and s.controllers[voter].lags_since is None
        for voter in Voter
    )
