"""The configuration of a broker and of a consumer: properties files with 0.7's names, the document's, else ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from impl.group.design import REPAIRED, SETTINGS, Design
from impl.group.topic_count import Subscription, TopicCountError, is_topic, read_topic_count
from impl.group.znodes import is_group
from impl.runtime.properties import (
    MOST_INT32,
    ConfigError,
    Values,
    address,
    boolean,
    broker_id,
    integer,
    listener,
    port,
    read_properties,
    timeout_ms,
)

_MOST_PARTITIONS = 10_000


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """The configuration of a broker.

    listener: host and port that requests are taken at; port 0: any that is free. advertised: where
    others are to connect to, if not to the listener. topics: by name, the partitions that
    this broker has. log_dir: None keeps records in memory. max_failed_pings: of a consumer in a row, before it is dead.
    max_idle_ms: a connection on which nothing is read for so long is closed.
    """

    broker_id: int
    zookeeper_connect: str
    listener: tuple[str, int] = ("127.0.0.1", 0)
    advertised: tuple[str, int] | None = None
    session_timeout_ms: int = 6_000
    rebalance_threads: int = 4
    min_consumer_session_ms: int = 6_000
    max_consumer_session_ms: int = 30_000
    max_failed_pings: int = 3
    commit_interval_ms: int = 10_000
    max_retries: int = 4
    backoff_ms: int = 2_000
    topics: tuple[tuple[str, int], ...] = ()
    log_dir: Path | None = None
    metrics_port: int | None = None
    max_idle_ms: int = 600_000
    design: Design = REPAIRED

    def limit_ms(self, session_timeout_ms: int) -> int:
        """For how long a consumer that is not heard of may live: S and R times S/3 (8)."""
        return session_timeout_ms + self.max_failed_pings * (session_timeout_ms // 3)

    @property
    def longest_session_ms(self) -> int:
        """For how long anybody may fetch that a former coordinator has registered."""
        longest = self.max_consumer_session_ms
        return self.limit_ms(longest) if self.design.lease_from_answers else longest


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """The configuration of a consumer. subscription: topic_count, as it is sent."""

    bootstrap: tuple[tuple[str, int], ...]
    group: str
    consumer: str
    topic_count: str
    session_timeout_ms: int = 6_000
    auto_commit: bool = True
    auto_offset_reset: str = "smallest"
    retry_ms: int = 500
    design: Design = REPAIRED

    @property
    def subscription(self) -> Subscription:
        return read_topic_count(self.topic_count)


def load_broker(path: Path) -> BrokerSettings:
    """The configuration in a properties file. Raises ConfigError."""
    return parse_broker(read_properties(path))


def load_consumer(path: Path) -> ConsumerSettings:
    """The configuration in a properties file. Raises ConfigError."""
    return parse_consumer(read_properties(path))


def parse_broker(values: Mapping[str, str]) -> BrokerSettings:
    """The configuration that the values say. Raises ConfigError, also where they contradict each other."""
    read = Values(values, _BROKER_KEYS, ("brokerid", "zk.connect")).read
    settings = BrokerSettings(
        broker_id=broker_id("brokerid", values["brokerid"]),
        zookeeper_connect=values["zk.connect"],
        listener=read("listeners", listener, ("127.0.0.1", 0)),
        advertised=read("advertised.listeners", listener, None),
        session_timeout_ms=read("zk.sessiontimeout.ms", timeout_ms, 6_000),
        rebalance_threads=read("consumer.rebalance.threads", _positive, 4),
        min_consumer_session_ms=read("consumer.min.session.timeout.ms", timeout_ms, 6_000),
        max_consumer_session_ms=read("consumer.max.session.timeout.ms", timeout_ms, 30_000),
        max_failed_pings=read("consumer.max.failed.pings", _count, 3),
        commit_interval_ms=read("consumer.offset.commit.interval.ms", timeout_ms, 10_000),
        max_retries=read("rebalance.retries.max", _count, 4),
        backoff_ms=read("rebalance.backoff.ms", timeout_ms, 2_000),
        topics=read("topic.partition.count.map", _topics, ()),
        log_dir=read("log.dir", _folder, None),
        metrics_port=read("metrics.port", port, None),
        max_idle_ms=read("connections.max.idle.ms", timeout_ms, 600_000),
        design=read("group.setting", _setting, REPAIRED),
    )
    least, most = settings.min_consumer_session_ms, settings.max_consumer_session_ms
    if least > most:
        raise ConfigError(
            f"consumer.min.session.timeout.ms={least}: at most consumer.max.session.timeout.ms, {most}, is expected"
        )
    if settings.limit_ms(most) > MOST_INT32:
        raise ConfigError(
            f"consumer.max.failed.pings={settings.max_failed_pings}: fewer are expected with sessions of {most} ms, "
            "as S + R S/3 is sent as an INT32"
        )
    if settings.max_idle_ms <= settings.longest_session_ms:
        raise ConfigError(
            f"connections.max.idle.ms={settings.max_idle_ms}: more is expected than the "
            f"{settings.longest_session_ms} ms for which a consumer may not be heard of"
        )
    return settings


def parse_consumer(values: Mapping[str, str]) -> ConsumerSettings:
    """The configuration that the values say. Raises ConfigError."""
    read = Values(values, _CONSUMER_KEYS, ("bootstrap.brokers", "groupid", "consumerid", "topic.count")).read
    return ConsumerSettings(
        bootstrap=read("bootstrap.brokers", addresses, ()),
        group=read("groupid", _group, ""),
        consumer=read("consumerid", _consumer, ""),
        topic_count=read("topic.count", _topic_count, ""),
        session_timeout_ms=read("session.timeout.ms", timeout_ms, 6_000),
        auto_commit=read("autocommit.enable", boolean, True),
        auto_offset_reset=read("autooffset.reset", _reset, "smallest"),
        retry_ms=read("retry.backoff.ms", timeout_ms, 500),
        design=read("group.setting", _setting, REPAIRED),
    )


_BROKER_KEYS = (
    "brokerid",
    "listeners",
    "advertised.listeners",
    "zk.connect",
    "zk.sessiontimeout.ms",
    "consumer.rebalance.threads",
    "consumer.min.session.timeout.ms",
    "consumer.max.session.timeout.ms",
    "consumer.max.failed.pings",
    "consumer.offset.commit.interval.ms",
    "rebalance.retries.max",
    "rebalance.backoff.ms",
    "topic.partition.count.map",
    "log.dir",
    "metrics.port",
    "connections.max.idle.ms",
    "group.setting",
)
_CONSUMER_KEYS = (
    "bootstrap.brokers",
    "groupid",
    "consumerid",
    "topic.count",
    "session.timeout.ms",
    "autocommit.enable",
    "autooffset.reset",
    "retry.backoff.ms",
    "group.setting",
)


def addresses(key: str, value: str) -> tuple[tuple[str, int], ...]:
    """HOST:PORT, with commas."""
    return tuple(address(key, one.strip()) for one in value.split(","))


def _setting(key: str, value: str) -> Design:
    """Settings other than `repaired` are for experiments: no cluster is to run them."""
    if value not in SETTINGS:
        raise ConfigError(f"{key}={value}: one of {', '.join(SETTINGS)} is expected")
    return SETTINGS[value]


def _topics(key: str, value: str) -> tuple[tuple[str, int], ...]:
    """TOPIC:PARTITIONS, with commas, as 0.7 has it."""
    found = dict[str, int]()
    for one in filter(None, value.split(",")):
        topic, _, count = one.strip().partition(":")
        if not is_topic(topic) or not count:
            raise ConfigError(f"{key}={value}: TOPIC:PARTITIONS, with commas between, is expected")
        found[topic] = _partitions(key, count)
    return tuple(sorted(found.items()))


def _folder(key: str, value: str) -> Path:
    if not value:
        raise ConfigError(f"{key}: a folder is expected")
    return Path(value)


def _group(key: str, value: str) -> str:
    if not is_group(value):
        raise ConfigError(f"{key}={value}: letters, digits, '.', '_' and '-' are expected, and not 'coordinator'")
    return value


def _consumer(key: str, value: str) -> str:
    if not is_topic(value):
        raise ConfigError(f"{key}={value}: letters, digits, '.', '_' and '-' are expected")
    return value


def _topic_count(key: str, value: str) -> str:
    try:
        read_topic_count(value)
    except TopicCountError as error:
        raise ConfigError(f"{key}: {error}") from None
    return value


def _reset(key: str, value: str) -> str:
    if value not in ("smallest", "largest"):
        raise ConfigError(f"{key}={value}: smallest or largest is expected")
    return value


def _count(key: str, value: str) -> int:
    return integer(key, value, 0, MOST_INT32)


def _positive(key: str, value: str) -> int:
    return integer(key, value, 1, MOST_INT32)


def _partitions(key: str, value: str) -> int:
    return integer(key, value, 1, _MOST_PARTITIONS)
