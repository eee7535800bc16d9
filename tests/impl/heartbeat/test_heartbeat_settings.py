"""The configuration of a broker: defaults, and what no broker starts with."""

from __future__ import annotations

from pathlib import Path

import pytest

from impl.heartbeat.design import DRAFT, SHIPPED
from impl.heartbeat.settings import Settings, load, parse
from impl.runtime.properties import ConfigError

LEAST = {"broker.id": "1", "zookeeper.connect": "localhost:2181/kafka"}


def test_the_defaults() -> None:
    assert parse(LEAST) == Settings(1, "localhost:2181/kafka")
    assert parse(LEAST).sends_heartbeats


def test_the_document_lets_the_broker_outlive_its_lease() -> None:
    settings = parse({**LEAST, "heartbeat.setting": "draft"})
    assert (settings.design, settings.broker_timeout_ms, settings.controller_timeout_ms) == (DRAFT, 12_000, 9_000)


def test_nobody_heartbeats_before_the_second_roll_or_in_kafka() -> None:
    assert not parse({**LEAST, "inter.broker.protocol.version": "2.0"}).sends_heartbeats
    shipped = parse({**LEAST, "heartbeat.setting": "shipped"})
    assert shipped.design == SHIPPED and not shipped.sends_heartbeats


def test_every_key_is_read(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text(
        "broker.id=3\nlisteners=PLAINTEXT://[::1]:9092\nlog.dirs=/data\nzookeeper.connect=a:1,b:2\n"
        "advertised.listeners=PLAINTEXT://b3:9093\n"
        "zookeeper.session.timeout.ms=1000\ncontroller.heartbeat.timeout.ms=1500\nbroker.heartbeat.timeout.ms=900\n"
        "controller.heartbeat.interval.ms=300\ninter.broker.protocol.version=2.1-heartbeat\n"
        "replica.lag.time.max.ms=700\nmin.insync.replicas=2\ncontrolled.shutdown.enable=false\n"
        "heartbeat.cluster.clients=broker-1, broker-2\nmetrics.port=0\nheartbeat.setting=repaired\n"
    )
    assert load(file) == Settings(
        3, "a:1,b:2", ("::1", 9092), ("b3", 9093), Path("/data"), 1_000, 1_500, 900, 300, "2.1-heartbeat", 700, 2,
        False, frozenset({"broker-1", "broker-2"}), 0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"broker.id": "-1"}, "a whole number from 0"),
        ({"zookeeper.connect": ""}, r"zookeeper\.connect is missing"),
        ({"controller.heartbeat.timeout.ms": "soon"}, "a whole number from 1"),
        ({"inter.broker.protocol.version": "2.1"}, "2.0 or 2.1-heartbeat"),
        ({"heartbeat.setting": "kraft"}, "one of draft, shipped, repaired"),
        ({"log.dirs": "/a,/b"}, "one folder"),
        ({"min.insync.replicas": "0"}, "a whole number from 1"),
        ({"controller.heartbeat.timeout.ms": "7999"}, "at least 8000 is expected"),
        ({"broker.heartbeat.timeout.ms": "7001"}, "at least 9001 is expected"),
        ({"controller.heartbeat.interval.ms": "2001"}, "at least 6003 is expected"),
        ({"controller.heartbeat.timout.ms": "1"}, "is unknown; known are broker.id"),
    ],
)
def test_what_no_broker_starts_with(changes: dict[str, str], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        parse({**LEAST, **changes})


def test_the_edges_that_a_broker_starts_with() -> None:
    edges = {"controller.heartbeat.timeout.ms": "8000", "controller.heartbeat.interval.ms": "2000"}
    assert parse({**LEAST, **edges}).controller_timeout_ms == 8_000
