"""The metrics of a controller: what they say of a state, what they count, their names in Kafka's jars."""

from __future__ import annotations

import re
from pathlib import Path
from zipfile import ZipFile

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric

from impl.apache.release import jars
from impl.kraft.controller import Controller, ControllerSettings
from impl.kraft.image import Image
from impl.kraft.records import Batch, NoOpRecord
from impl.kraft.server.measures import ACTIVE, CONTROLLED_SHUTDOWN, FENCED, NOBODY, Measures, Seen
from impl.runtime.ports import free_ports
from tests.cluster.kafka import until
from tests.impl.controller_runtime import ControllerRuntime
from tests.impl.kraft.released import VERSION, released
from tests.impl.kraft.server.alone import OURS, Alone
from tests.impl.kraft.server.scraping import scraped

OWN, OTHER = 1, 2
DRAFT = {"MetadataLag", "MetadataCommitLatencyMs", "MetadataCommitRatePerSec", "MetadataSnapshotOffsetLag"}


def seen_with(image: Image, contact_ms: dict[int, int] | None = None) -> Seen:
    return Seen(
        now_ms=5_000, image=image, contact_ms=contact_ms or {}, is_active=True, role="leader", leader=OWN,
        voted_for=NOBODY, epoch=4, high_watermark=30, end_offset=33, end_epoch=4, voters=3, observers=2,
        silent_voters=1, parked=5, snapshot_end=10, applied_ms=4_900,
    )  # fmt: skip


def cluster() -> Image:
    """Brokers 0 to 3, of which 1 is fenced and 2 shuts down; a topic that nobody leads, and another one."""
    runtime = ControllerRuntime()
    runtime.activate(0, 1, 2, 3)
    runtime.create((1,), name="alone")
    runtime.create((0, 2), (2, 0))
    runtime.heartbeat(1, want_fence=True)
    runtime.heartbeat(2, want_shut_down=True)
    return runtime.image


class Shown:
    """What a scrape would give."""

    def __init__(self, seen: Seen) -> None:
        self.registry = CollectorRegistry()
        self.measures = Measures(self.registry, lambda: seen)

    def __call__(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(name, labels)


def test_brokers_topics_and_partitions_are_counted() -> None:
    shown = Shown(seen_with(cluster(), {0: 3_000, 1: 4_000}))
    counts = {"FencedBrokerCount": 1, "ActiveBrokerCount": 2, "ControlledShutdownBrokerCount": 1, "GlobalTopicCount": 2,
              "GlobalPartitionCount": 3, "OfflinePartitionsCount": 1, "PreferredReplicaImbalanceCount": 2}  # fmt: skip
    assert {name: shown(f"kafka_controller_{name}") for name in counts} == counts
    states = [shown("kafka_controller_BrokerRegistrationState", broker=str(id_)) for id_ in range(5)]
    assert states == [ACTIVE, FENCED, CONTROLLED_SHUTDOWN, ACTIVE, None]
    silences = [shown("kafka_controller_TimeSinceLastHeartbeatReceivedMs", broker=str(id_)) for id_ in range(3)]
    assert silences == [2_000, 1_000, None]


def test_where_the_log_and_the_quorum_are() -> None:
    image = Image()
    image.replay(Batch(0, 4, (NoOpRecord(),) * 20))
    shown = Shown(seen_with(image))
    of_log = {"ActiveControllerCount": 1, "LastAppliedRecordOffset": 19, "LastCommittedRecordOffset": 29,
              "MetadataLag": 10, "MetadataSnapshotOffsetLag": 20, "LastAppliedRecordTimestamp": 4_900,
              "LastAppliedRecordLagMs": 0}  # fmt: skip
    assert {name: shown(f"kafka_controller_{name}") for name in of_log} == of_log
    of_quorum = {"current_leader": OWN, "current_vote": -1, "current_epoch": 4, "high_watermark": 30,
                 "log_end_offset": 33, "log_end_epoch": 4, "number_of_voters": 3, "number_of_observers": 2,
                 "number_unknown_voter_connections": 1}  # fmt: skip
    assert {name: shown(f"kafka_raft_{name}") for name in of_quorum} == of_quorum
    assert shown("kafka_raft_current_state", state="leader") == 1 and shown("fencepost_parked_requests") == 5


def test_a_standby_says_how_old_the_last_is_that_it_has() -> None:
    standby = seen_with(Image())._replace(is_active=False)
    assert Shown(standby)("kafka_controller_LastAppliedRecordLagMs") == 100
    assert Shown(standby._replace(applied_ms=0))("kafka_controller_LastAppliedRecordLagMs") == 0


def test_commits_elections_and_appends_are_counted() -> None:
    shown = Shown(seen_with(Image()))
    measures = shown.measures
    measures.quorum(None, OWN, 0, 1_000)
    measures.quorum(None, OWN, 0, 1_200)
    measures.quorum(OWN, OWN, 0, 1_500)
    assert shown("kafka_raft_election_latency_ms_sum") == 500
    assert shown("kafka_controller_NewActiveControllersCount_total") == 1
    measures.appended(100, 0, 3, 1_500, leads=True)
    measures.appended(100, 3, 4, 1_520, leads=True)
    measures.quorum(OWN, OWN, 3, 1_530)
    assert shown("kafka_controller_MetadataCommitLatencyMs_sum") == 30
    measures.quorum(OWN, OWN, 4, 1_540)
    assert shown("kafka_controller_MetadataCommitLatencyMs_sum") == 50
    assert shown("kafka_controller_MetadataCommit_total") == 4 and shown("kafka_raft_append_records_total") == 4
    measures.appended(100, 4, 9, 1_600, leads=True)
    measures.quorum(OTHER, OWN, 4, 1_610)
    measures.appended(100, 4, 6, 1_620, leads=False)
    measures.quorum(OTHER, OWN, 9, 1_700)
    assert shown("kafka_controller_MetadataCommitLatencyMs_count") == 2, "of what another leads nothing is said"
    assert shown("kafka_raft_fetch_records_total") == 2 and shown("fencepost_append_bytes_count") == 4
    measures.operation()
    measures.flushed(0.25)
    measures.processed(7, 3)
    measures.lease_expired()
    assert shown("kafka_controller_EventQueueTimeMs_sum") == 7
    assert shown("kafka_controller_EventQueueProcessingTimeMs_sum") == 3
    assert shown("kafka_controller_TimedOutBrokerHeartbeatCount_total") == 1
    assert shown("kafka_controller_EventQueueOperationsStartedCount_total") == 1
    assert shown("fencepost_fsync_seconds_sum") == 0.25


def test_a_controller_goes_on_while_its_image_is_looked_at() -> None:
    """What is seen is a copy."""
    controller = Controller(ControllerSettings("c"))
    shown = Shown(seen_with(controller.committed.copy()))
    controller.replay(Batch(0, 1, (NoOpRecord(),)))
    assert shown("kafka_controller_LastAppliedRecordOffset") == -1 and controller.committed.offset == 0


def named() -> tuple[set[str], set[str]]:
    """The names in the helps, of a controller and its queue, and of raft-metrics."""
    metrics: list[Metric] = list(Shown(seen_with(cluster())).registry.collect())
    text = " ".join(metric.documentation for metric in metrics)
    return set(re.findall(r"type=(?:KafkaController|ControllerEventManager),name=(\w+)", text)), set(
        re.findall(r"raft-metrics, ([\w-]+)", text)
    )


def constants(jar: str, *classes: str) -> bytes:
    """Where the strings of these classes of Kafka are."""
    with ZipFile(jars(VERSION) / f"{jar}-{VERSION}.jar") as archive:
        return b"".join(archive.read(f"org/apache/kafka/{one}.class") for one in classes)


@released
def test_the_names_are_kafkas_or_the_drafts() -> None:
    of_controller, of_raft = named()
    assert len(of_controller) >= 22 and len(of_raft) >= 12 and of_controller >= DRAFT
    controller = "QuorumControllerMetrics", "ControllerMetadataMetrics"
    of_classes = constants("kafka-metadata", *(f"controller/metrics/{one}" for one in controller))
    assert [name for name in sorted(of_controller - DRAFT) if name.encode() not in of_classes] == []
    of_classes = constants("kafka-raft", "raft/internals/KafkaRaftMetrics")
    assert [name for name in sorted(of_raft) if name.encode() not in of_classes] == []


@pytest.mark.long("a process")
def test_a_controller_serves_them(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    controller = Alone(tmp_path / "one", {"metrics.port": port})
    controller.start(OURS)

    try:
        until(lambda: "kafka_controller_ActiveControllerCount 1.0" in scraped(port), "it is active", 60)
        until(lambda: re.search(r"MetadataCommitLatencyMs_count [1-9]", scraped(port)) is not None, "it commits", 60)
        text = scraped(port)
        assert 'kafka_raft_current_state{state="leader"} 1.0' in text and "fencepost_fsync_seconds_count" in text
        assert controller.process.terminate() == 0
    finally:
        controller.process.kill()
