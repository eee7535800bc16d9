"""The configuration of a broker."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from impl.kraft.fields import Int32, Int64, check_settings
from impl.kraft.records import Endpoint, SupportedFeature


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """The configuration of a broker, with Kafka's defaults and, where it has them, Kafka's names.

    Raises InvalidFieldError for what is of another type, and for a negative number.

    retry_backoff_ms: before a registration or heartbeat that failed is sent again; doubled with each failure in a row,
    up to retry_backoff_max_ms, which is half of the lease (KAFKA-14392).
    log_dirs: the ids of its log directories.
    stops_when_stale: a broker that is told STALE_BROKER_EPOCH ends. Kafka's goes on asking, as by default here.
    """

    broker_id: Int32
    cluster_id: str
    listeners: tuple[Endpoint, ...] = ()
    features: tuple[SupportedFeature, ...] = ()
    rack: str | None = None
    log_dirs: tuple[UUID, ...] = ()
    heartbeat_interval_ms: Int64 = 2_000
    initial_registration_timeout_ms: Int64 = 60_000
    controlled_shutdown_timeout_ms: Int64 = 300_000
    retry_backoff_ms: Int64 = 100
    retry_backoff_max_ms: Int64 = 4_500
    alter_partition_retry_ms: Int64 = 50
    replica_lag_time_max_ms: Int64 = 30_000
    replica_fetch_max_bytes: Int64 = 1 << 20
    min_insync_replicas: Int32 = 1
    stops_when_stale: bool = False

    def __post_init__(self) -> None:
        check_settings(self)
