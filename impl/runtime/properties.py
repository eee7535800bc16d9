"""Properties files with Kafka's names: keys and values, and readings of a value that say what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

T = TypeVar("T")
MOST_INT32 = (1 << 31) - 1
MOST_PORT = 65_535
_MOST_DIGITS = 20  # of any number that is read, its sign among them: no more are turned into one
_MOST_SHOWN = 60


class ConfigError(ValueError):
    """A configuration that nothing starts with. The message names the key and what it takes."""


class Values:
    """The values of a configuration by key. Raises ConfigError at a key that is unknown, or required and missing."""

    def __init__(self, values: Mapping[str, str], known: Collection[str], required: Collection[str]) -> None:
        unknown = sorted(set(values) - set(known))
        if unknown:
            raise ConfigError(f"{unknown[0]} is unknown; known are {', '.join(known)}")
        for key in required:
            if not values.get(key):
                raise ConfigError(f"{key} is missing")
        self._values = values

    def read(self, key: str, reading: Callable[[str, str], T], default: T) -> T:
        """What the reading makes of the key's value; the default where the key is absent. Raises ConfigError."""
        return reading(key, self._values[key]) if key in self._values else default


class Line(NamedTuple):
    """A line of a properties file that says something, by its number from 1. value: None where it has no `=`."""

    number: int
    text: str
    key: str
    value: str | None


def read_properties(path: Path) -> dict[str, str]:
    """The keys and values in a file. Raises ConfigError."""
    return properties(read_text(path))


def read_text(path: Path) -> str:
    """Raises ConfigError where the file cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {getattr(error, 'strerror', None) or 'not UTF-8'}") from None


def properties(text: str) -> dict[str, str]:
    """The keys and values of a properties file. Raises ConfigError."""
    found = dict[str, str]()
    for line in lines(text):
        if line.value is None:
            raise ConfigError(f"line {line.number}: {line.text[:60]!r} is not key=value")
        found[line.key] = line.value
    return found


def lines(text: str) -> Iterator[Line]:
    """Those that are neither empty nor comments."""
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if line and line[0] not in "#!":
            key, separator, value = line.partition("=")
            yield Line(number, line, key.strip(), value.strip() if separator else None)


# Readings: each is given the key and its value.


def integer(key: str, value: str, least: int, most: int) -> int:
    is_decimal = value.isascii() and value.removeprefix("-").isdigit() and len(value) <= _MOST_DIGITS
    if not is_decimal or not least <= int(value) <= most:
        raise ConfigError(f"{key}={value[:_MOST_SHOWN]}: a whole number from {least} to {most} is expected")
    return int(value)


def broker_id(key: str, value: str) -> int:
    return integer(key, value, 0, MOST_INT32)


def timeout_ms(key: str, value: str) -> int:
    return integer(key, value, 1, MOST_INT32)


def interval_ms(key: str, value: str) -> int:
    """0: never."""
    return integer(key, value, 0, MOST_INT32)


def port(key: str, value: str) -> int | None:
    return integer(key, value, 0, MOST_PORT)


def boolean(key: str, value: str) -> bool:
    if value not in ("true", "false"):
        raise ConfigError(f"{key}={value}: true or false is expected")
    return value == "true"


def listed(value: str) -> tuple[str, ...]:
    """A list with commas, in its order."""
    return tuple(name.strip() for name in value.split(",") if name.strip())


def names(key: str, value: str) -> frozenset[str]:
    """A list with commas."""
    return frozenset(listed(value))


def listener(key: str, value: str) -> tuple[str, int]:
    """PLAINTEXT://HOST:PORT, or the same without the protocol."""
    return address(key, value.removeprefix("PLAINTEXT://"))


def address(key: str, value: str) -> tuple[str, int]:
    """HOST:PORT, or [HOST]:PORT."""
    host, separator, number = value.rpartition(":")
    if not separator or not host:
        raise ConfigError(f"{key}={value}: HOST:PORT is expected")
    return host.removeprefix("[").removesuffix("]"), integer(key, number, 0, MOST_PORT)


def zookeeper_connect(key: str, value: str) -> str:
    """HOST:PORT,HOST:PORT/CHROOT, where ports and the chroot may be left out; as it is."""
    hosts, _, chroot = value.partition("/")
    for host in map(str.strip, hosts.split(",")):
        has_port = ":" in host.rpartition("]")[2]
        name = address(key, host)[0] if has_port else host
        if not name or (":" in name and not host.startswith("[")):
            raise ConfigError(f"{key}={value}: HOST:PORT,HOST:PORT/CHROOT is expected")
    if not {".", ".."}.isdisjoint(chroot.split("/")):
        raise ConfigError(f"{key}={value}: a chroot without . and .. is expected")
    return value
