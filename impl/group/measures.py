"""The metrics of a broker, by the names of the design: kept from the lines that its cores log, and their state."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from impl.group.coordinator import Coordinator
from impl.group.registry import Phase
from impl.runtime.effects import Did, Log
from impl.runtime.lag import Lag

_PING_BUCKETS_MS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000)
_PHASE_BUCKETS_MS = (1, 5, 10, 50, 100, 500, 1_000, 5_000, 10_000, 30_000)


class Measures:
    """What one broker shows of itself."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._is_coordinator = Gauge("IsCoordinator", "1 on the coordinator", registry=registry)
        self._groups = Gauge("Groups", "Groups of this coordinator", registry=registry)
        self._members = Gauge("Members", "Members of its groups", registry=registry)
        self._rebalances = Counter(
            "RebalancesPerSec", "Rebalances that have ended", ["cause", "outcome"], registry=registry
        )
        self._phases = Histogram(
            "RebalanceTimeMs", "Time in a phase", ["phase"], registry=registry, buckets=_PHASE_BUCKETS_MS
        )
        self._failed = Counter("FailedPings", "Pings that were not answered in time", registry=registry)
        self._pings = Histogram("PingTimeMs", "From a ping to its answer", registry=registry, buckets=_PING_BUCKETS_MS)
        self._dead = Counter("SuspectedDead", "Consumers that were removed, by cause", ["cause"], registry=registry)
        self._committed = Counter("CommittedOffsetsPerSec", "Offsets written to ZooKeeper", registry=registry)
        self._lag = Histogram(
            "LoopLagMs", "How late a timer of the loop is", registry=registry, buckets=_PING_BUCKETS_MS
        )
        self._waited = Counter("ProcessorWaitMs", "Time in which the loop had no processor", registry=registry)
        self._counted = 0
        self._shown = (False, 0, 0)

    def after(self, core: Coordinator) -> None:
        """A core has taken a step. It is called for every answer to a ping: what has not changed costs nothing."""
        shown = (core.term is not None and core.is_in_touch, len(core.groups), len(core.members))
        if shown != self._shown:
            self._shown = shown
            self._is_coordinator.set(shown[0])
            self._groups.set(shown[1])
            self._members.set(shown[2])
        if core.pings.failed_pings != self._counted:
            self._failed.inc(core.pings.failed_pings - self._counted)
            self._counted = core.pings.failed_pings
        if core.pings.times_ms:
            for time_ms in core.pings.times_ms:
                self._pings.observe(time_ms)
            core.pings.times_ms.clear()

    def lagged(self, lag: Lag) -> None:
        """The loop was looked at."""
        self._lag.observe(lag.late_ms)
        self._waited.inc(lag.waited_ms)

    def logged(self, log: Log) -> None:
        """A line of the log."""
        facts = log.facts
        if log.event in ("rebalance", "rebalance has ended") and facts["after"] != Phase.IDLE.name:
            after_ms = facts["after_ms"]
            assert isinstance(after_ms, int)
            self._phases.labels(facts["after"]).observe(after_ms)
        if log.event == "rebalance has ended":
            self._rebalances.labels(facts["cause"], facts["outcome"]).inc()
        elif log.event == "removed":
            self._dead.labels(facts["cause"]).inc()

    def did(self, did: Did) -> None:
        """A step of the design."""
        if did.action == "commit":
            offsets = did.facts["offsets"]
            assert isinstance(offsets, int)
            self._committed.inc(offsets)
