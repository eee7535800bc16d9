"""The configuration of a broker."""

from __future__ import annotations

from dataclasses import dataclass

from impl.kraft.records import Endpoint, SupportedFeature


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """The configuration of a broker, with Kafka's defaults and, where it has them, Kafka's names.

    retry_backoff_ms: before a registration or heartbeat that failed is sent again; doubled with each failure in a row,
    up to retry_backoff_max_ms, which is half of the lease (KAFKA-14392).
    stops_when_stale: a broker that is told STALE_BROKER_EPOCH ends. Kafka's goes on asking, as by default here.
    """

    broker_id: int
    cluster_id: str
    listeners: tuple[Endpoint, ...] = ()
    features: tuple[SupportedFeature, ...] = ()
    rack: str | None = None
    heartbeat_interval_ms: int = 2_000
    initial_registration_timeout_ms: int = 60_000
    controlled_shutdown_timeout_ms: int = 300_000
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 4_500
    alter_partition_retry_ms: int = 50
    replica_lag_time_max_ms: int = 30_000
    replica_fetch_max_bytes: int = 1 << 20
    min_insync_replicas: int = 1
    stops_when_stale: bool = False
