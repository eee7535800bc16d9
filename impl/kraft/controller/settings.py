"""The configuration of a controller."""

from __future__ import annotations

from dataclasses import dataclass

from impl.kraft.fields import Int32, Int64, check_settings
from impl.kraft.records import BootstrapRecord, SupportedFeature


@dataclass(frozen=True, slots=True)
class ControllerSettings:
    """Defaults are Kafka's; KIP-631 has broker leases of 18 s.

    Raises InvalidFieldError for what is of another type, and for a negative number.

    min_insync_replicas: of topics that do not set min.insync.replicas themselves.
    supported_features: the levels that this software supports.
    max_idle_interval_ms: metadata.max.idle.interval.ms (KIP-835); 0: an idle log does not grow.
    leader_imbalance_check_interval_ms: how often leads go back to preferred leaders; 0: not by themselves.
    unclean_election: of topics that do not set unclean.leader.election.enable themselves.
    unclean_election_check_interval_ms: how often partitions without a leader are looked at for it; 0: only where
    something else changes them.
    bootstrap: what the first active controller of a cluster writes, where no feature has a level yet.
    """

    cluster_id: str
    session_timeout_ms: Int64 = 9000
    max_idle_interval_ms: Int64 = 500
    min_insync_replicas: Int32 = 1
    leader_imbalance_check_interval_ms: Int64 = 0
    unclean_election: bool = False
    unclean_election_check_interval_ms: Int64 = 0
    supported_features: tuple[SupportedFeature, ...] = ()
    bootstrap: tuple[BootstrapRecord, ...] = ()

    def __post_init__(self) -> None:
        check_settings(self)
