"""The configuration of a broker: a properties file with Kafka's names, and ours where Kafka has none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from impl.pinning.design import DRAFT, REPAIRED, Design
from impl.runtime.properties import (
    ConfigError,
    Values,
    boolean,
    broker_id,
    interval_ms,
    listener,
    names,
    port,
    read_properties,
    timeout_ms,
    zookeeper_connect,
)

ABSTAIN_SESSIONS = 3


@dataclass(frozen=True, slots=True)
class Settings:
    """The configuration of a broker.

    listener: host and port that requests are taken at; port 0: any that is free. abstain_timeout_ms: how long a broker
    does not run for controller for the sake of the one that is ready. alter_clients, describe_clients: the client ids
    that may ALTER and DESCRIBE the cluster; empty: all. write_interval_ms: how often a controller writes; 0: never.
    """

    broker_id: int
    zookeeper_connect: str
    listener: tuple[str, int] = ("127.0.0.1", 0)
    session_timeout_ms: int = 6_000
    abstain_timeout_ms: int = ABSTAIN_SESSIONS * 6_000
    alter_clients: frozenset[str] = frozenset()
    describe_clients: frozenset[str] = frozenset()
    write_interval_ms: int = 0
    metrics_port: int | None = None
    design: Design = field(default_factory=Design)


def load(path: Path) -> Settings:
    """The configuration in a properties file. Raises ConfigError."""
    return parse(read_properties(path))


def parse(values: Mapping[str, str]) -> Settings:
    """The configuration that the values say. Raises ConfigError, also at a key that is unknown."""
    read = Values(values, _KEYS, ("broker.id", "zookeeper.connect")).read
    session_ms = read("zookeeper.session.timeout.ms", timeout_ms, 6_000)
    design = replace(
        read("controller.pinning.setting", _setting, REPAIRED),
        pinning=read("controller.pinning.enable", boolean, True),
        takeover=read("controller.pinning.takeover", boolean, False),
    )
    if design.takeover and not design.request_consumed:
        raise ConfigError("controller.pinning.takeover=true: controller.pinning.setting=repaired is expected with it")
    return Settings(
        broker_id=broker_id("broker.id", values["broker.id"]),
        zookeeper_connect=zookeeper_connect("zookeeper.connect", values["zookeeper.connect"]),
        listener=read("listeners", listener, ("127.0.0.1", 0)),
        session_timeout_ms=session_ms,
        abstain_timeout_ms=read("controller.pinning.abstain.timeout.ms", timeout_ms, ABSTAIN_SESSIONS * session_ms),
        alter_clients=read("controller.pinning.alter.clients", names, frozenset()),
        describe_clients=read("controller.pinning.describe.clients", names, frozenset()),
        write_interval_ms=read("controller.write.interval.ms", interval_ms, 0),
        metrics_port=read("metrics.port", port, None),
        design=design,
    )


_KEYS = (
    "broker.id",
    "listeners",
    "zookeeper.connect",
    "zookeeper.session.timeout.ms",
    "controller.pinning.enable",
    "controller.pinning.takeover",
    "controller.pinning.setting",
    "controller.pinning.abstain.timeout.ms",
    "controller.pinning.alter.clients",
    "controller.pinning.describe.clients",
    "controller.write.interval.ms",
    "metrics.port",
)


def _setting(key: str, value: str) -> Design:
    """The document as written is for experiments: no cluster is to run it."""
    if value not in ("repaired", "draft"):
        raise ConfigError(f"{key}={value}: repaired or draft is expected")
    return DRAFT if value == "draft" else REPAIRED
