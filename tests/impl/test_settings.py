"""Default settings of a controller and a broker."""

from __future__ import annotations

from dataclasses import asdict

from impl.kraft.broker import BrokerSettings
from impl.kraft.controller import ControllerSettings


def test_the_defaults_are_kafkas() -> None:
    assert asdict(ControllerSettings("c")) == {
        "cluster_id": "c",
        "session_timeout_ms": 9_000,
        "max_idle_interval_ms": 500,
        "min_insync_replicas": 1,
        "leader_imbalance_check_interval_ms": 0,
        "unclean_election": False,
        "unclean_election_check_interval_ms": 0,
        "supported_features": (),
        "bootstrap": (),
    }
    assert asdict(BrokerSettings(1, "c")) == {
        "broker_id": 1,
        "cluster_id": "c",
        "listeners": (),
        "features": (),
        "rack": None,
        "log_dirs": (),
        "heartbeat_interval_ms": 2_000,
        "initial_registration_timeout_ms": 60_000,
        "controlled_shutdown_timeout_ms": 300_000,
        "retry_backoff_ms": 100,
        "retry_backoff_max_ms": 4_500,
        "alter_partition_retry_ms": 50,
        "replica_lag_time_max_ms": 30_000,
        "replica_fetch_max_bytes": 1_048_576,
        "min_insync_replicas": 1,
        "stops_when_stale": False,
    }
