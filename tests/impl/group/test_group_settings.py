"""The configurations of brokers and consumers: defaults, and what nothing starts with."""

from __future__ import annotations

from pathlib import Path

import pytest

from impl.group.consumer_process import main as consumer
from impl.group.design import DRAFT
from impl.group.process import main as broker
from impl.group.settings import (
    BrokerSettings,
    ConsumerSettings,
    load_broker,
    load_consumer,
    parse_broker,
    parse_consumer,
)
from impl.runtime.properties import ConfigError

BROKER = {"brokerid": "1", "zk.connect": "localhost:2181"}
CONSUMER = {"bootstrap.brokers": "a:1, b:2", "groupid": "g", "consumerid": "c", "topic.count": '{"t": 1}'}


def test_the_defaults() -> None:
    assert parse_broker(BROKER) == BrokerSettings(1, "localhost:2181")
    assert parse_consumer(CONSUMER) == ConsumerSettings((("a", 1), ("b", 2)), "g", "c", '{"t": 1}')


def test_the_longest_session_counts_the_pings_that_may_fail() -> None:
    assert parse_broker(BROKER).longest_session_ms == 60_000
    assert parse_broker({**BROKER, "group.setting": "draft"}).longest_session_ms == 30_000


def test_every_key_is_read(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text(
        "brokerid=3\nlisteners=PLAINTEXT://[::1]:9092\nadvertised.listeners=b3:9093\nzk.connect=a:1,b:2\n"
        "zk.sessiontimeout.ms=1\nconsumer.rebalance.threads=2\nconsumer.min.session.timeout.ms=3\n"
        "consumer.max.session.timeout.ms=4\nconsumer.max.failed.pings=5\nconsumer.offset.commit.interval.ms=6\n"
        "rebalance.retries.max=7\nrebalance.backoff.ms=8\ntopic.partition.count.map=t:2,u:1\nlog.dir=/data\n"
        "metrics.port=0\nconnections.max.idle.ms=9\ngroup.setting=draft\n"
    )
    topics = (("t", 2), ("u", 1))
    assert load_broker(file) == BrokerSettings(
        3, "a:1,b:2", ("::1", 9092), ("b3", 9093), 1, 2, 3, 4, 5, 6, 7, 8, topics, Path("/data"), 0, 9, DRAFT
    )
    file.write_text(
        "bootstrap.brokers=a:1\ngroupid=g\nconsumerid=c\ntopic.count=*2*t.*\nsession.timeout.ms=1\n"
        "autocommit.enable=false\nautooffset.reset=largest\nretry.backoff.ms=2\ngroup.setting=draft\n"
    )
    assert load_consumer(file) == ConsumerSettings((("a", 1),), "g", "c", "*2*t.*", 1, False, "largest", 2, DRAFT)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"brokerid": "-1"}, "a whole number from 0"),
        ({"zk.connect": ""}, r"zk\.connect is missing"),
        ({"consumer.min.session.timeout.ms": "30001"}, "at most consumer.max.session.timeout.ms, 30000"),
        ({"consumer.max.failed.pings": "300000"}, "fewer are expected with sessions of 30000 ms"),
        ({"connections.max.idle.ms": "60000"}, "more is expected than the 60000 ms"),
        ({"topic.partition.count.map": "t"}, "TOPIC:PARTITIONS"),
        ({"topic.partition.count.map": "a/b:1"}, "TOPIC:PARTITIONS"),
        ({"topic.partition.count.map": "t:0"}, "a whole number from 1"),
        ({"log.dir": ""}, "a folder is expected"),
        ({"group.setting": "kafka"}, "one of draft, section2, shipped, repaired"),
        ({"consumer.max.failed.ping": "1"}, "is unknown; known are brokerid"),
    ],
)
def test_what_no_broker_starts_with(changes: dict[str, str], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        parse_broker({**BROKER, **changes})


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"groupid": "coordinator"}, "and not 'coordinator'"),
        ({"groupid": "a/b"}, "letters, digits"),
        ({"consumerid": ".."}, "letters, digits"),
        ({"topic.count": "*1*("}, "no regular expression"),
        ({"autooffset.reset": "first"}, "smallest or largest"),
        ({"bootstrap.brokers": "a"}, "HOST:PORT"),
    ],
)
def test_what_no_consumer_starts_with(changes: dict[str, str], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        parse_consumer({**CONSUMER, **changes})


def test_a_process_that_cannot_start_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.properties"
    file.write_text("brokerid=x\n")
    for main in (broker, consumer):
        assert main([str(file)]) == 2
        assert str(file) in capsys.readouterr().err
