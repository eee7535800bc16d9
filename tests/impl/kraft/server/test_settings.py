"""What a configuration says of the quorum reaches its core."""

from __future__ import annotations

from impl.kraft.config.configuration import parse
from impl.kraft.node import SnapshotSettings
from impl.kraft.raft import RaftSettings
from impl.kraft.server.settings import controller_settings, raft_settings, snapshot_settings, storage_settings
from impl.kraft.storage.log import LogSettings

TEXT = """process.roles=controller
node.id=2
controller.quorum.voters=1@a:1,2@b:2,3@c:3
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT
listeners=CONTROLLER://b:2
log.dirs=/data
controller.quorum.election.timeout.ms=1001
controller.quorum.election.backoff.max.ms=1002
controller.quorum.fetch.timeout.ms=2003
controller.quorum.retry.backoff.ms=24
controller.quorum.fetch.max.bytes=5005
controller.quorum.fetch.snapshot.max.bytes=6006
metadata.log.segment.bytes=8388609
metadata.log.segment.ms=77
metadata.log.max.record.bytes.between.snapshots=101
metadata.log.max.snapshot.interval.ms=102
metadata.max.retention.bytes=103
metadata.max.retention.ms=104
internal.metadata.clean.interval.ms=105
"""


def test_every_setting_of_the_quorum_is_heeded() -> None:
    configuration, findings = parse(TEXT)
    assert configuration is not None, findings.problems
    assert raft_settings(configuration, "c") == RaftSettings(
        2, (1, 2, 3), "c", election_timeout_ms=1_001, election_backoff_max_ms=1_002, fetch_timeout_ms=2_003,
        retry_backoff_ms=24, fetch_max_bytes=5_005, fetch_snapshot_max_bytes=6_006,
    )  # fmt: skip


def test_every_setting_of_snapshots_and_segments_is_heeded() -> None:
    configuration, findings = parse(TEXT)
    assert configuration is not None, findings.problems
    assert snapshot_settings(configuration) == SnapshotSettings(101, 102, 103, 104, 105)
    assert storage_settings(configuration).log == LogSettings(8_388_609, 77)
    smaller, findings = parse(TEXT + "internal.metadata.log.segment.bytes=1000\n")
    assert smaller is not None and storage_settings(smaller).log == LogSettings(1_000, 77)
    defaults, findings = parse("\n".join(TEXT.splitlines()[:7]))
    assert defaults is not None and snapshot_settings(defaults) == SnapshotSettings()
    assert storage_settings(defaults).log == LogSettings()


def test_what_a_file_says_of_topics_reaches_controllers() -> None:
    more = "min.insync.replicas=2\nunclean.leader.election.enable=true\nunclean.leader.election.interval.ms=77\n"
    configuration, findings = parse(TEXT + more)
    assert configuration is not None, findings.problems
    settings = controller_settings(configuration, "c", ())
    assert settings.min_insync_replicas == 2
    assert (settings.unclean_election, settings.unclean_election_check_interval_ms) == (True, 77)
    configuration, findings = parse(TEXT)
    assert configuration is not None, findings.problems
    settings = controller_settings(configuration, "c", ())
    assert (settings.unclean_election, settings.unclean_election_check_interval_ms) == (False, 300_000)


def test_leads_go_back_by_themselves_unless_a_file_says_no() -> None:
    for more, interval_ms in (
        ("", 300_000),
        ("leader.imbalance.check.interval.seconds=7\n", 7_000),
        ("auto.leader.rebalance.enable=false\n", 0),
    ):
        configuration, findings = parse(TEXT + more)
        assert configuration is not None, findings.problems
        assert controller_settings(configuration, "c", ()).leader_imbalance_check_interval_ms == interval_ms
