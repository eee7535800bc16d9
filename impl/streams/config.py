"""The configuration of a Streams process, by Kafka's names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from impl.runtime.properties import ConfigError, Values, address, integer
from impl.streams.versions import RELEASES, STANDS_FOR, Release

_KEYS = ("application.id", "application.server", "num.standby.replicas", "num.stream.threads", "upgrade.from")
_RELEASE = "release"
_MOST_STANDBYS, _MOST_THREADS = 1 << 10, 1 << 10


class ConfigException(ConfigError):
    """A configuration that no process starts with."""


@dataclass(frozen=True, slots=True)
class StreamsConfig:
    """What a process is started with. server: HOST:PORT for interactive queries, or ""."""

    application_id: str
    release: Release
    upgrade_from: str | None = None
    server: str = ""
    standby_replicas: int = 0
    threads: int = 1

    @property
    def held_version(self) -> int | None:
        """The version that upgrade.from stands for, where it has an effect on versions."""
        return None if self.upgrade_from is None else STANDS_FOR.get(self.upgrade_from)

    @property
    def first_used(self) -> int:
        """The version that its threads use when they start."""
        held = self.held_version
        return self.release.latest if held is None else min(held, self.release.latest)


def read_config(values: Mapping[str, str]) -> StreamsConfig:
    """The configuration in these values; `release` names what the process behaves as. Raises ConfigException."""
    try:
        found = Values(values, (*_KEYS, _RELEASE), ("application.id",))
        return StreamsConfig(
            application_id=found.read("application.id", lambda _, value: value, ""),
            release=(release := found.read(_RELEASE, _release, RELEASES["repaired"])),
            upgrade_from=found.read("upgrade.from", lambda key, value: _upgrade_from(key, value, release), None),
            server=found.read("application.server", _server, ""),
            standby_replicas=found.read("num.standby.replicas", lambda k, v: integer(k, v, 0, _MOST_STANDBYS), 0),
            threads=found.read("num.stream.threads", lambda k, v: integer(k, v, 1, _MOST_THREADS), 1),
        )
    except ConfigException:
        raise
    except ConfigError as error:
        raise ConfigException(str(error)) from None


def _release(key: str, value: str) -> Release:
    if value not in RELEASES:
        raise ConfigException(f"{key}={value}: known are {', '.join(RELEASES)}")
    return RELEASES[value]


def _upgrade_from(key: str, value: str, release: Release) -> str | None:
    """`null`, in any case and as an empty value, is none."""
    if value.lower() in ("", "null"):
        return None
    if value in release.upgrade_from:
        return value
    accepted = ", ".join(("null", *release.upgrade_from))
    raise ConfigException(f"{key}={value}: {release.name} takes {accepted}")


def _server(key: str, value: str) -> str:
    if value:
        _, port = address(key, value)
        if port == 0:
            raise ConfigException(f"{key}={value}: HOST:PORT is expected, with a port from 1 to 65535")
    return value
