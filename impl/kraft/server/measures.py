"""A controller's metrics: Kafka's, those of KIP-631 (New Metrics), and the disk's. Each has its full name in its help.

What happens is counted as it does. What is so, of an image, is looked at when somebody asks: on the thread of the
asker, in a copy of the image, which costs the controller nothing that grows with it.
"""

from __future__ import annotations

from collections import Counter as Count
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from impl.kraft.image import Image, Registration

_MS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)
_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_BYTES = (1 << 8, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 23)
NOBODY = -1
FENCED, CONTROLLED_SHUTDOWN, ACTIVE = 10, 20, 30
"""BrokerRegistrationState of Kafka."""
_CONTROLLER = "kafka.controller:type=KafkaController,name="
_QUEUE = "kafka.controller:type=ControllerEventManager,name="
_RAFT = "kafka.server:type=raft-metrics, "


class Seen(NamedTuple):
    """A controller at one time; nobody changes what is in it.

    role: the name of its part in the quorum. leader, voted_for: -1 for nobody. contact_ms: by broker, when it was heard
    of; empty where the controller is not active. snapshot_end: the end of the last snapshot; 0: there is none.
    applied_ms: the timestamp of the last record that was applied; 0: there is none.
    """

    now_ms: int
    image: Image
    contact_ms: Mapping[int, int]
    is_active: bool
    role: str
    leader: int
    voted_for: int
    epoch: int
    high_watermark: int
    end_offset: int
    end_epoch: int
    voters: int
    observers: int
    silent_voters: int
    parked: int
    snapshot_end: int
    applied_ms: int


class Measures(Collector):
    """seen: what is asked for by `collect`, on another thread. Times are those of one clock."""

    def __init__(self, registry: CollectorRegistry, seen: Callable[[], Seen]) -> None:
        self._seen = seen
        registry.register(self)

        def histogram(name: str, text: str, buckets: tuple[float, ...]) -> Histogram:
            return Histogram(name, text, registry=registry, buckets=buckets)

        def counter(name: str, text: str) -> Counter:
            return Counter(name, text, registry=registry)

        self._commit = histogram(
            "kafka_controller_MetadataCommitLatencyMs",
            f"{_CONTROLLER}MetadataCommitLatencyMs; {_RAFT}commit-latency-avg", _MS,
        )  # fmt: skip
        self._committed = counter(
            "kafka_controller_MetadataCommit", f"Records; its rate: {_CONTROLLER}MetadataCommitRatePerSec"
        )
        self._active = counter("kafka_controller_NewActiveControllersCount", f"{_CONTROLLER}NewActiveControllersCount")
        self._operations = counter(
            "kafka_controller_EventQueueOperationsStartedCount", f"{_CONTROLLER}EventQueueOperationsStartedCount"
        )
        self._expired = counter(
            "kafka_controller_TimedOutBrokerHeartbeatCount", f"{_CONTROLLER}TimedOutBrokerHeartbeatCount"
        )
        self._waited = histogram("kafka_controller_EventQueueTimeMs", f"{_QUEUE}EventQueueTimeMs", _MS)
        self._took = histogram(
            "kafka_controller_EventQueueProcessingTimeMs", f"{_QUEUE}EventQueueProcessingTimeMs", _MS
        )
        self._election = histogram("kafka_raft_election_latency_ms", f"{_RAFT}election-latency-avg", _MS)
        self._appended = counter("kafka_raft_append_records", f"Its rate: {_RAFT}append-records-rate")
        self._fetched = counter("kafka_raft_fetch_records", f"Its rate: {_RAFT}fetch-records-rate")
        self._fsync = histogram("fencepost_fsync_seconds", "Of the log", _SECONDS)
        self._batch = histogram("fencepost_append_bytes", "What is appended to the log at once", _BYTES)
        self._uncommitted: deque[tuple[int, int]] = deque()
        self._leader: int | None = None
        self._seeks_since_ms: int | None = None
        self._high_watermark = 0

    # What happens.

    def operation(self) -> None:
        """A request, of whomever, is handed to the node."""
        self._operations.inc()

    def processed(self, waited_ms: int, took_ms: int) -> None:
        """A request has been looked at, after it had waited. What it led to is not committed yet."""
        self._waited.observe(waited_ms)
        self._took.observe(took_ms)

    def lease_expired(self) -> None:
        """A broker was fenced because it was not heard of."""
        self._expired.inc()

    def flushed(self, seconds: float) -> None:
        self._fsync.observe(seconds)

    def appended(self, size_bytes: int, start: int, end: int, now_ms: int, *, leads: bool) -> None:
        """The log has grown. leads: by what this node has written."""
        self._batch.observe(size_bytes)
        (self._appended if leads else self._fetched).inc(end - start)
        if leads:
            self._uncommitted.append((end, now_ms))

    def quorum(self, leader: int | None, own_id: int, high_watermark: int, now_ms: int) -> None:
        """What this node knows of the quorum, now."""
        if leader is None and self._seeks_since_ms is None:
            self._seeks_since_ms = now_ms
        elif leader is not None and self._seeks_since_ms is not None:
            self._election.observe(now_ms - self._seeks_since_ms)
            self._seeks_since_ms = None
        if leader != self._leader and leader == own_id:
            self._active.inc()
        if leader != own_id:
            self._uncommitted.clear()
        self._leader = leader
        while self._uncommitted and self._uncommitted[0][0] <= high_watermark:
            self._commit.observe(now_ms - self._uncommitted.popleft()[1])
        if high_watermark > self._high_watermark:
            self._committed.inc(high_watermark - self._high_watermark)
            self._high_watermark = high_watermark

    # What is so.

    def collect(self) -> Iterator[GaugeMetricFamily]:
        seen = self._seen()
        for name, value in {**of_log(seen), **of_image(seen.image)}.items():
            yield GaugeMetricFamily(f"kafka_controller_{name}", f"{_CONTROLLER}{name}", value)
        states = {str(id_): state_of(one) for id_, one in sorted(seen.image.registrations.items())}
        yield by_broker("BrokerRegistrationState", f"{FENCED} fenced, {CONTROLLED_SHUTDOWN}, {ACTIVE} active", states)
        silences = {str(id_): seen.now_ms - at_ms for id_, at_ms in sorted(seen.contact_ms.items())}
        yield by_broker("TimeSinceLastHeartbeatReceivedMs", "on the active controller", silences)
        role = GaugeMetricFamily("kafka_raft_current_state", f"{_RAFT}current-state", labels=["state"])
        role.add_metric([seen.role], 1)
        yield role
        for name, value in of_quorum(seen).items():
            yield GaugeMetricFamily(f"kafka_raft_{name.replace('-', '_')}", f"{_RAFT}{name}", value)
        yield GaugeMetricFamily("fencepost_parked_requests", "Fetches that wait for the log to grow", seen.parked)


def by_broker(name: str, text: str, values: Mapping[str, int]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"kafka_controller_{name}", f"{_CONTROLLER}{name},broker=ID: {text}", labels=["broker"])
    for broker_id, value in values.items():
        family.add_metric([broker_id], value)
    return family


def of_log(seen: Seen) -> dict[str, int]:
    last_committed, applied = seen.high_watermark - 1, seen.image.offset
    return {
        "ActiveControllerCount": int(seen.is_active),
        "LastAppliedRecordOffset": applied,
        "LastAppliedRecordTimestamp": seen.applied_ms,
        "LastAppliedRecordLagMs": 0 if seen.is_active or not seen.applied_ms else max(0, seen.now_ms - seen.applied_ms),
        "LastCommittedRecordOffset": last_committed,
        "MetadataLag": max(0, last_committed - applied),
        "MetadataSnapshotOffsetLag": max(0, seen.high_watermark - seen.snapshot_end),
    }


def of_image(image: Image) -> dict[str, int]:
    states = Count(map(state_of, image.registrations.values()))
    partitions = image.partitions.values()
    return {
        "FencedBrokerCount": states[FENCED],
        "ControlledShutdownBrokerCount": states[CONTROLLED_SHUTDOWN],
        "ActiveBrokerCount": states[ACTIVE],
        "GlobalTopicCount": len(image.topics),
        "GlobalPartitionCount": len(image.partitions),
        "OfflinePartitionsCount": len(image.leaderless),
        "PreferredReplicaImbalanceCount": sum(one.leader != one.replicas[0] for one in partitions),
    }


def state_of(registration: Registration) -> int:
    if registration.fenced:
        return FENCED
    return CONTROLLED_SHUTDOWN if registration.in_controlled_shutdown else ACTIVE


def of_quorum(seen: Seen) -> dict[str, int]:
    return {
        "current-leader": seen.leader,
        "current-vote": seen.voted_for,
        "current-epoch": seen.epoch,
        "high-watermark": seen.high_watermark,
        "log-end-offset": seen.end_offset,
        "log-end-epoch": seen.end_epoch,
        "number-of-voters": seen.voters,
        "number-of-observers": seen.observers,
        "number-unknown-voter-connections": seen.silent_voters,
    }
