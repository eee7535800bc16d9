"""The configuration of a broker: a properties file with the names of the document and of Kafka, else ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from impl.heartbeat.design import REPAIRED, SETTINGS, Design
from impl.runtime.properties import (
    MOST_INT32,
    ConfigError,
    Values,
    boolean,
    broker_id,
    integer,
    listener,
    names,
    port,
    read_properties,
    timeout_ms,
    zookeeper_connect,
)

LEGACY_PROTOCOL, HEARTBEAT_PROTOCOL = "2.0", "2.1-heartbeat"
"""Values of inter.broker.protocol.version: before heartbeats, and with them."""
_INTERVALS_PER_TIMEOUT = 3
"""A broker that loses one heartbeat, or two, is not to fence itself."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The configuration of a broker.

    listener: host and port that requests are taken at; port 0: any that is free. advertised: where others find it;
    None: there. log_dir: None keeps records in memory.
    controller_timeout_ms, broker_timeout_ms, interval_ms: controller.heartbeat.timeout.ms, broker.heartbeat.timeout.ms
    and controller.heartbeat.interval.ms. cluster_clients: client ids that may send what brokers send; empty: all.
    """

    broker_id: int
    zookeeper_connect: str
    listener: tuple[str, int] = ("127.0.0.1", 0)
    advertised: tuple[str, int] | None = None
    log_dir: Path | None = None
    session_timeout_ms: int = 6_000
    controller_timeout_ms: int = 9_000
    broker_timeout_ms: int = 6_000
    interval_ms: int = 2_000
    protocol: str = HEARTBEAT_PROTOCOL
    replica_lag_ms: int = 10_000
    min_insync_replicas: int = 1
    controlled_shutdown: bool = True
    cluster_clients: frozenset[str] = frozenset()
    metrics_port: int | None = None
    design: Design = REPAIRED

    @property
    def sends_heartbeats(self) -> bool:
        return self.design.heartbeats and self.protocol == HEARTBEAT_PROTOCOL


def load(path: Path) -> Settings:
    """The configuration in a properties file. Raises ConfigError."""
    return parse(read_properties(path))


def parse(values: Mapping[str, str]) -> Settings:
    """The configuration that the values say. Raises ConfigError, also where they contradict each other."""
    read = Values(values, _KEYS, ("broker.id", "zookeeper.connect")).read
    design = read("heartbeat.setting", _setting, REPAIRED)
    settings = Settings(
        broker_id=broker_id("broker.id", values["broker.id"]),
        zookeeper_connect=zookeeper_connect("zookeeper.connect", values["zookeeper.connect"]),
        listener=read("listeners", listener, ("127.0.0.1", 0)),
        advertised=read("advertised.listeners", listener, None),
        log_dir=read("log.dirs", _folder, None),
        session_timeout_ms=read("zookeeper.session.timeout.ms", timeout_ms, 6_000),
        controller_timeout_ms=read("controller.heartbeat.timeout.ms", timeout_ms, 9_000),
        broker_timeout_ms=read(
            "broker.heartbeat.timeout.ms", timeout_ms, 6_000 if design.broker_fences_first else 12_000
        ),
        interval_ms=read("controller.heartbeat.interval.ms", timeout_ms, 2_000),
        protocol=read("inter.broker.protocol.version", _protocol, HEARTBEAT_PROTOCOL),
        replica_lag_ms=read("replica.lag.time.max.ms", timeout_ms, 10_000),
        min_insync_replicas=read("min.insync.replicas", _count, 1),
        controlled_shutdown=read("controlled.shutdown.enable", boolean, True),
        cluster_clients=read("heartbeat.cluster.clients", names, frozenset()),
        metrics_port=read("metrics.port", port, None),
        design=design,
    )
    _refuse_contradictions(settings)
    return settings


_KEYS = (
    "broker.id",
    "listeners",
    "advertised.listeners",
    "log.dirs",
    "zookeeper.connect",
    "zookeeper.session.timeout.ms",
    "controller.heartbeat.timeout.ms",
    "broker.heartbeat.timeout.ms",
    "controller.heartbeat.interval.ms",
    "inter.broker.protocol.version",
    "replica.lag.time.max.ms",
    "min.insync.replicas",
    "controlled.shutdown.enable",
    "heartbeat.cluster.clients",
    "heartbeat.setting",
    "metrics.port",
)


def _refuse_contradictions(settings: Settings) -> None:
    """The document as written is let through: its broker fences itself after the controller has given it up."""
    if not settings.design.broker_fences_first:
        return
    fenced_ms = settings.broker_timeout_ms + settings.interval_ms
    if fenced_ms > settings.controller_timeout_ms:
        raise ConfigError(
            f"controller.heartbeat.timeout.ms={settings.controller_timeout_ms}: at least {fenced_ms} is expected, "
            "broker.heartbeat.timeout.ms and an interval: else a successor leads while the broker still does"
        )
    least_ms = _INTERVALS_PER_TIMEOUT * settings.interval_ms
    if least_ms > settings.broker_timeout_ms:
        raise ConfigError(
            f"broker.heartbeat.timeout.ms={settings.broker_timeout_ms}: at least {least_ms} is expected, "
            f"{_INTERVALS_PER_TIMEOUT} times controller.heartbeat.interval.ms: else one lost heartbeat fences it"
        )


def _setting(key: str, value: str) -> Design:
    """Settings other than `repaired` are for experiments: no cluster is to run them."""
    if value not in SETTINGS:
        raise ConfigError(f"{key}={value}: one of {', '.join(SETTINGS)} is expected")
    return SETTINGS[value]


def _protocol(key: str, value: str) -> str:
    if value not in (LEGACY_PROTOCOL, HEARTBEAT_PROTOCOL):
        raise ConfigError(f"{key}={value}: {LEGACY_PROTOCOL} or {HEARTBEAT_PROTOCOL} is expected")
    return value


def _folder(key: str, value: str) -> Path | None:
    if not value or "," in value:
        raise ConfigError(f"{key}={value}: one folder is expected")
    return Path(value)


def _count(key: str, value: str) -> int:
    return integer(key, value, 1, MOST_INT32)
