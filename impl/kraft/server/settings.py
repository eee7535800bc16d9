"""What a configuration says to the cores of a node."""

from __future__ import annotations

from collections.abc import Iterable

from impl.kraft.config.configuration import Configuration
from impl.kraft.config.values import Listener
from impl.kraft.controller import ControllerSettings
from impl.kraft.levels import SUPPORTED
from impl.kraft.node import SnapshotSettings
from impl.kraft.raft import RaftSettings
from impl.kraft.records import BootstrapRecord, Endpoint
from impl.kraft.storage.log import LogSettings
from impl.kraft.storage.storage import StorageSettings
from impl.runtime.client import Address

_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
"""Each at its number in a registration."""


def registered(configuration: Configuration, listeners: Iterable[Listener]) -> tuple[Endpoint, ...]:
    """Listeners as a node registers with them."""
    protocols = configuration.listener_security_protocol_map
    return tuple(Endpoint(one.name, one.host, one.port, _PROTOCOLS.index(protocols[one.name])) for one in listeners)


def addresses_of(configuration: Configuration) -> dict[int, Address]:
    """Of all controllers."""
    return {one.node_id: (one.host, one.port) for one in configuration.controller_quorum_voters}


def controller_settings(
    configuration: Configuration, cluster_id: str, bootstrap: tuple[BootstrapRecord, ...]
) -> ControllerSettings:
    interval_ms = 1_000 * configuration.leader_imbalance_check_interval_seconds
    return ControllerSettings(
        cluster_id, configuration.broker_session_timeout_ms, configuration.metadata_max_idle_interval_ms,
        configuration.min_insync_replicas,
        leader_imbalance_check_interval_ms=interval_ms if configuration.auto_leader_rebalance_enable else 0,
        unclean_election=configuration.unclean_leader_election_enable,
        unclean_election_check_interval_ms=configuration.unclean_leader_election_interval_ms,
        supported_features=SUPPORTED, bootstrap=bootstrap,
    )  # fmt: skip


def raft_settings(configuration: Configuration, cluster_id: str) -> RaftSettings:
    return RaftSettings(
        configuration.node_id,
        tuple(voter.node_id for voter in configuration.controller_quorum_voters),
        cluster_id,
        is_observer=not configuration.is_controller,
        election_timeout_ms=configuration.controller_quorum_election_timeout_ms,
        election_backoff_max_ms=configuration.controller_quorum_election_backoff_max_ms,
        fetch_timeout_ms=configuration.controller_quorum_fetch_timeout_ms,
        retry_backoff_ms=configuration.controller_quorum_retry_backoff_ms,
        fetch_max_bytes=configuration.controller_quorum_fetch_max_bytes,
        fetch_snapshot_max_bytes=configuration.controller_quorum_fetch_snapshot_max_bytes,
    )


def storage_settings(configuration: Configuration) -> StorageSettings:
    internal_bytes = configuration.internal_metadata_log_segment_bytes
    segment_bytes = configuration.metadata_log_segment_bytes if internal_bytes is None else internal_bytes
    return StorageSettings(LogSettings(segment_bytes, configuration.metadata_log_segment_ms))


def snapshot_settings(configuration: Configuration) -> SnapshotSettings:
    return SnapshotSettings(
        configuration.metadata_log_max_record_bytes_between_snapshots,
        configuration.metadata_log_max_snapshot_interval_ms,
        configuration.metadata_max_retention_bytes,
        configuration.metadata_max_retention_ms,
        configuration.internal_metadata_clean_interval_ms,
    )
