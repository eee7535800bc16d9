"""The values of a configuration, and how each is read.

A reading is given the key and its value, and raises ConfigError.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from impl.runtime.properties import MOST_PORT, ConfigError, address, broker_id, integer, listed

BROKER, CONTROLLER = "broker", "controller"
SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("GSSAPI", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
_LISTENER = re.compile(r"([A-Za-z0-9_.-]+)://(.*)")
_VOTER = re.compile(r"(\d+)@(.+)")


class Listener(NamedTuple):
    """An endpoint by the name of its listener. host: "" for all interfaces."""

    name: str
    host: str
    port: int


class Voter(NamedTuple):
    """A controller of the quorum, and where it listens."""

    node_id: int
    host: str
    port: int


def roles(key: str, value: str) -> frozenset[str]:
    found = listed(value)
    if not found or not set(found) <= {BROKER, CONTROLLER} or len(set(found)) < len(found):
        raise ConfigError(f"{key}={value}: broker, controller or broker,controller is expected")
    return frozenset(found)


def names(key: str, value: str) -> tuple[str, ...]:
    """A list of listener names, which are kept in capitals."""
    found = tuple(map(str.upper, listed(value)))
    if not found or len(set(found)) < len(found):
        raise ConfigError(f"{key}={value}: at least one name, and each name once, is expected")
    return found


def name(key: str, value: str) -> str:
    return value.upper()


def voters(key: str, value: str) -> tuple[Voter, ...]:
    found = []
    for text in listed(value):
        match = _VOTER.fullmatch(text)
        if match is None:
            raise ConfigError(f"{key}={value}: ID@HOST:PORT,ID@HOST:PORT is expected, and {text!r} is not")
        found.append(Voter(broker_id(key, match[1]), *address(key, match[2])))
    if not found or len({voter.node_id for voter in found}) < len(found):
        raise ConfigError(f"{key}={value}: at least one voter, and each id once, is expected")
    return tuple(found)


def listeners(key: str, value: str) -> tuple[Listener, ...]:
    found = []
    for text in listed(value):
        match = _LISTENER.fullmatch(text)
        if match is None:
            raise ConfigError(f"{key}={value}: NAME://HOST:PORT,NAME://HOST:PORT is expected, and {text!r} is not")
        host, port = ("", integer(key, match[2][1:], 0, MOST_PORT)) if match[2][:1] == ":" else address(key, match[2])
        found.append(Listener(match[1].upper(), host, port))
    ports = [one.port for one in found if one.port]
    if len({one.name for one in found}) < len(found) or len(set(ports)) < len(ports):
        raise ConfigError(f"{key}={value}: each name and each port once is expected")
    return tuple(found)


def protocols(key: str, value: str) -> dict[str, str]:
    """NAME:PROTOCOL,NAME:PROTOCOL"""
    found: dict[str, str] = {}
    for text in listed(value):
        of, _, protocol = text.partition(":")
        if protocol not in SECURITY_PROTOCOLS:
            raise ConfigError(f"{key}={value}: in {text!r}, one of {', '.join(SECURITY_PROTOCOLS)} is expected")
        found[of.upper()] = protocol
    return found


def directories(key: str, value: str) -> tuple[str, ...]:
    """Absolute paths."""
    found = tuple(_absolute(key, path) for path in listed(value))
    if not found or len(set(found)) < len(found):
        raise ConfigError(f"{key}={value}: at least one directory, and each once, is expected")
    return found


def directory(key: str, value: str) -> str:
    if not value:
        raise ConfigError(f"{key}: a directory is expected")
    return _absolute(key, value)


def file(key: str, value: str) -> str:
    if not value:
        raise ConfigError(f"{key}: a file is expected")
    return _absolute(key, value, "a file")


def _absolute(key: str, path: str, kind: str = "a directory") -> str:
    try:
        return str(Path(path).resolve())
    except ValueError:
        raise ConfigError(f"{key}={path!r}: the name of {kind} is expected") from None


def mechanism(key: str, value: str) -> str:
    if value not in MECHANISMS:
        raise ConfigError(f"{key}={value}: one of {', '.join(MECHANISMS)} is expected")
    return value


def principals(key: str, value: str) -> tuple[str, ...]:
    """TYPE:NAME;TYPE:NAME"""
    found = tuple(one.strip() for one in value.split(";") if one.strip())
    for principal in found:
        if not principal.partition(":")[2]:
            raise ConfigError(f"{key}={value}: User:NAME;User:NAME is expected, and {principal!r} is not")
    return found


def authorizer(key: str, value: str) -> str:
    if value not in ("", AUTHORIZER):
        raise ConfigError(f"{key}={value}: {AUTHORIZER} is expected, the only one that there is")
    return value
