"""The configuration of a controller."""

from __future__ import annotations

from dataclasses import dataclass

from impl.kraft.records import SupportedFeature


@dataclass(frozen=True, slots=True)
class ControllerSettings:
    """Defaults are Kafka's; KIP-631 has broker leases of 18 s.

    min_insync_replicas: of topics that do not set min.insync.replicas themselves.
    supported_features: the levels that this software supports.
    max_idle_interval_ms: metadata.max.idle.interval.ms (KIP-835).
    """

    cluster_id: str
    session_timeout_ms: int = 9000
    max_idle_interval_ms: int = 500
    min_insync_replicas: int = 1
    supported_features: tuple[SupportedFeature, ...] = ()
