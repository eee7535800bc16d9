"""`sasl.jaas.config`: a login module and its options. No message repeats a value: it may be a password."""

from __future__ import annotations

import re
from collections.abc import Mapping

from impl.runtime.properties import ConfigError

MODULES: Mapping[str, str] = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
"""By mechanism."""
_FLAGS = ("required", "requisite", "sufficient", "optional")
_TOKEN = re.compile(r'\s*(?:"((?:\\.|[^"\\])*)"|([^\s"=;]+)|([=;]))')
_ESCAPE = re.compile(r"\\(.)")


def options(key: str, value: str) -> Mapping[str, str]:
    """Those of `MODULE required NAME="VALUE" ... ;`, of a key that begins with the mechanism. Raises ConfigError."""
    return options_of(key.split(".")[-4].upper(), key, value)


def options_of(mechanism: str, key: str, value: str) -> Mapping[str, str]:
    """As `options`. mechanism: of MODULES."""
    expected = f'{key}: {MODULES[mechanism]} required NAME="VALUE" ...; is expected'
    tokens = _tokens(value, expected)
    if len(tokens) < 3 or tokens[-1] != ";" or tokens[0] != MODULES[mechanism] or tokens[1].lower() not in _FLAGS:
        raise ConfigError(expected)
    given = tokens[2:-1]
    if len(given) % 3 or any(one != "=" for one in given[1::3]):
        raise ConfigError(expected)
    return dict(zip(given[0::3], given[2::3], strict=True))


def _tokens(value: str, expected: str) -> list[str]:
    found, at = list[str](), 0
    value = value.rstrip()
    while at < len(value):
        match = _TOKEN.match(value, at)
        if match is None:
            raise ConfigError(expected)
        quoted, bare, mark = match.groups()
        found.append(_ESCAPE.sub(r"\1", quoted) if quoted is not None else bare or mark)
        at = match.end()
    return found
