"""The security of a client, as the configuration of one of Kafka's says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from impl.kraft.config import jaas
from impl.kraft.config.security import KERBEROS, NO_KERBEROS, READINGS, TlsSettings, login_of
from impl.kraft.config.values import SECURITY_PROTOCOLS
from impl.kraft.security.principals import DEFAULT_RULE
from impl.runtime.properties import ConfigError

_PROTOCOL, _MECHANISM, _JAAS = "security.protocol", "sasl.mechanism", "sasl.jaas.config"


@dataclass(frozen=True, slots=True)
class ClientSecurity:
    """tls: None without it. mechanism, login: user and password; None where nobody logs in."""

    tls: TlsSettings | None = None
    mechanism: str | None = None
    login: tuple[str, str] | None = field(default=None, repr=False)


def client_security(values: Mapping[str, str]) -> ClientSecurity:
    """values: of the configuration, by key. Raises ConfigError, which repeats no password."""
    protocol = values.get(_PROTOCOL, "PLAINTEXT")
    if protocol not in SECURITY_PROTOCOLS:
        raise ConfigError(f"{_PROTOCOL}={protocol}: {', '.join(SECURITY_PROTOCOLS)} are known")
    tls = _tls(values) if protocol.endswith("SSL") else None
    if not protocol.startswith("SASL"):
        return ClientSecurity(tls)
    mechanism = values.get(_MECHANISM, KERBEROS)
    if mechanism == KERBEROS:
        raise ConfigError(f"{_MECHANISM}={KERBEROS}: {NO_KERBEROS}")
    if mechanism not in jaas.MODULES:
        raise ConfigError(f"{_MECHANISM}={mechanism}: {', '.join(jaas.MODULES)} are known")
    login = login_of(jaas.options_of(mechanism, _JAAS, values.get(_JAAS, "")))
    if login is None:
        raise ConfigError(f"{_JAAS}: it needs username and password")
    return ClientSecurity(tls, mechanism, login)


def _tls(values: Mapping[str, str]) -> TlsSettings:
    found = {key: READINGS[key](key, value) for key, value in values.items() if key in READINGS}
    return TlsSettings(
        found.get("ssl.keystore.location"), found.get("ssl.key.password"), found.get("ssl.truststore.location"),
        "none", bool(found.get("ssl.endpoint.identification.algorithm", "https")), (DEFAULT_RULE,),
    )  # fmt: skip
