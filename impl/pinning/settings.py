"""The configuration of a broker: a properties file with Kafka's names, and ours where Kafka has none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from impl.pinning.design import DRAFT, REPAIRED, Design
from impl.zookeeper.znodes import MOST_INT32 as MAX_ID

T = TypeVar("T")
ABSTAIN_SESSIONS = 3
_MAX_TIMEOUT_MS = (1 << 31) - 1


class ConfigError(ValueError):
    """A configuration that no broker starts with. The message names the key and what it takes."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The configuration of a broker.

    listener: host and port that requests are taken at; port 0: any that is free. abstain_timeout_ms: how long a broker
    does not run for controller for the sake of the one that is ready. alter_clients, describe_clients: the client ids
    that may ALTER and DESCRIBE the cluster; empty: all. write_interval_ms: how often a controller writes; 0: never.
    is_legacy: it knows of /controller only, as before pinning.
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
    is_legacy: bool = False
    design: Design = field(default_factory=Design)


def load(path: Path) -> Settings:
    """The configuration in a properties file. Raises ConfigError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {getattr(error, 'strerror', None) or 'not UTF-8'}") from None
    return parse(properties(text))


def properties(text: str) -> dict[str, str]:
    """The keys and values of a properties file. Raises ConfigError."""
    found = dict[str, str]()
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line[0] in "#!":
            continue
        key, separator, value = line.partition("=")
        if not separator:
            raise ConfigError(f"line {number}: {line[:60]!r} is not key=value")
        found[key.strip()] = value.strip()
    return found


def parse(values: Mapping[str, str]) -> Settings:
    """The configuration that the values say. Raises ConfigError, also at a key that is unknown."""
    unknown = sorted(set(values) - set(_KEYS))
    if unknown:
        raise ConfigError(f"{unknown[0]} is unknown; known are {', '.join(_KEYS)}")
    for key in ("broker.id", "zookeeper.connect"):
        if not values.get(key):
            raise ConfigError(f"{key} is missing")

    def read(key: str, reading: Callable[[str, str], T], default: T) -> T:
        return reading(key, values[key]) if key in values else default

    session_ms = read("zookeeper.session.timeout.ms", _timeout_ms, 6_000)
    design = replace(
        read("controller.pinning.setting", _setting, REPAIRED),
        pinning=read("controller.pinning.enable", _boolean, True),
        takeover=read("controller.pinning.takeover", _boolean, False),
    )
    return Settings(
        broker_id=_broker_id("broker.id", values["broker.id"]),
        zookeeper_connect=values["zookeeper.connect"],
        listener=read("listeners", _listener, ("127.0.0.1", 0)),
        session_timeout_ms=session_ms,
        abstain_timeout_ms=read("controller.pinning.abstain.timeout.ms", _timeout_ms, ABSTAIN_SESSIONS * session_ms),
        alter_clients=read("controller.pinning.alter.clients", _names, frozenset()),
        describe_clients=read("controller.pinning.describe.clients", _names, frozenset()),
        write_interval_ms=read("controller.write.interval.ms", _interval_ms, 0),
        metrics_port=read("metrics.port", _port, None),
        is_legacy=not design.pinning,
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


def _integer(key: str, value: str, least: int, most: int) -> int:
    if not value.isascii() or not value.removeprefix("-").isdigit() or not least <= int(value) <= most:
        raise ConfigError(f"{key}={value}: a whole number from {least} to {most} is expected")
    return int(value)


def _broker_id(key: str, value: str) -> int:
    return _integer(key, value, 0, MAX_ID)


def _timeout_ms(key: str, value: str) -> int:
    return _integer(key, value, 1, _MAX_TIMEOUT_MS)


def _interval_ms(key: str, value: str) -> int:
    return _integer(key, value, 0, _MAX_TIMEOUT_MS)


def _port(key: str, value: str) -> int | None:
    return _integer(key, value, 0, 65_535)


def _boolean(key: str, value: str) -> bool:
    if value not in ("true", "false"):
        raise ConfigError(f"{key}={value}: true or false is expected")
    return value == "true"


def _setting(key: str, value: str) -> Design:
    """The document as written is for experiments: no cluster is to run it."""
    if value not in ("repaired", "draft"):
        raise ConfigError(f"{key}={value}: repaired or draft is expected")
    return DRAFT if value == "draft" else REPAIRED


def _names(key: str, value: str) -> frozenset[str]:
    return frozenset(name.strip() for name in value.split(",") if name.strip())


def _listener(key: str, value: str) -> tuple[str, int]:
    return address(key, value.removeprefix("PLAINTEXT://"))


def address(key: str, value: str) -> tuple[str, int]:
    """HOST:PORT, or [HOST]:PORT. Raises ConfigError."""
    host, separator, port = value.rpartition(":")
    if not separator or not host:
        raise ConfigError(f"{key}={value}: HOST:PORT is expected")
    return host.removeprefix("[").removesuffix("]"), _integer(key, port, 0, 65_535)
