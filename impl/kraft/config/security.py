"""The security of listeners: TLS from PEM files, and SASL; of all of them, or of one by `listener.name.NAME.`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from impl.kraft.config import jaas
from impl.kraft.config.values import BROKER, MECHANISMS
from impl.kraft.security import principals
from impl.kraft.security.principals import DEFAULT_RULE, Rule
from impl.runtime.properties import ConfigError, listed

KERBEROS = "GSSAPI"
_DEFAULT_LISTENER = "PLAINTEXT"
"""Of brokers among themselves, as in Kafka without security.inter.broker.protocol, which is not read here."""
NO_KERBEROS = "there is no Kerberos here; say PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512"
_OF_LISTENER = re.compile(r"listener\.name\.([a-z0-9_.-]+?)\.((?:ssl|sasl)\..+|[a-z0-9-]+\.sasl\.jaas\.config)")
_JAAS = re.compile(r"(plain|scram-sha-256|scram-sha-512)\.sasl\.jaas\.config")
_KEYSTORE, _TRUSTSTORE, _MECHANISMS = "ssl.keystore", "ssl.truststore", "sasl.enabled.mechanisms"
_USER = "user_"

Said = Iterator[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """keystore: a PEM file with a key and its certificates; truststore: with those of authorities, None: the system's.

    client_auth: none, requested or required.
    """

    keystore: str | None
    key_password: str | None = field(repr=False)
    truststore: str | None
    client_auth: str
    checks_host: bool
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class SaslSettings:
    """mechanisms: that are offered. passwords: of the users of PLAIN. logins: this node's own, by mechanism."""

    mechanisms: tuple[str, ...]
    passwords: Mapping[str, str] = field(repr=False)
    logins: Mapping[str, tuple[str, str]] = field(repr=False)


@dataclass(frozen=True, slots=True)
class ListenerSecurity:
    """Of one listener. tls, sasl: None where its protocol has none."""

    protocol: str
    tls: TlsSettings | None = None
    sasl: SaslSettings | None = None


def reading_of(key: str) -> Callable[[str, str], Any] | None:
    """How the value of a setting is read that is about security; None: it is not."""
    match = _OF_LISTENER.fullmatch(key)
    if match is not None and _JAAS.fullmatch(match[2]):
        return jaas.options
    return READINGS.get(key if match is None else match[2])


class Given:
    """What a file says of security. values: as it was read, by its name there."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def key(self, listener: str, key: str) -> str:
        """The name of a setting of a listener: its own, where it has one."""
        own = f"listener.name.{listener.lower()}.{key}"
        return own if own in self._values or key not in READINGS else key

    def of(self, listener: str, key: str, default: Any = None) -> Any:
        return self._values.get(self.key(listener, key), default)

    def jaas(self, listener: str, mechanism: str) -> Mapping[str, str]:
        found: Mapping[str, str] = self.of(listener, _jaas_key(mechanism), {})
        return found

    def security(self, listener: str, protocol: str) -> ListenerSecurity:
        tls = sasl = None
        if protocol.endswith("SSL"):
            tls = TlsSettings(
                self.of(listener, "ssl.keystore.location"), self.of(listener, "ssl.key.password"),
                self.of(listener, "ssl.truststore.location"), self.of(listener, "ssl.client.auth", "none"),
                bool(self.of(listener, "ssl.endpoint.identification.algorithm", "https")),
                self.of(listener, "ssl.principal.mapping.rules", (DEFAULT_RULE,)),
            )  # fmt: skip
        if protocol.startswith("SASL"):
            sasl = SaslSettings(
                self.of(listener, _MECHANISMS, (KERBEROS,)), passwords(self.jaas(listener, "PLAIN")),
                {one: login for one in jaas.MODULES if (login := login_of(self.jaas(listener, one))) is not None},
            )  # fmt: skip
        return ListenerSecurity(protocol, tls, sasl)


def passwords(options: Mapping[str, str]) -> Mapping[str, str]:
    """Of the users that PLAIN knows."""
    return {name.removeprefix(_USER): password for name, password in options.items() if name.startswith(_USER)}


def login_of(options: Mapping[str, str]) -> tuple[str, str] | None:
    """User and password; None where one is missing."""
    user, password = options.get("username"), options.get("password")
    return (user, password) if user and password else None


def _jaas_key(mechanism: str) -> str:
    return f"{mechanism.lower()}.sasl.jaas.config"


def problems_of(settings: Mapping[str, Any]) -> Said:
    """What keeps the listeners of a node from being served, and it from connecting to controllers."""
    own, controllers = settings.get("listeners"), settings.get("controller_listener_names")
    if own is None or controllers is None:
        return
    given, protocols = Given(settings["security"]), settings["listener_security_protocol_map"]
    served = [listener.name for listener in own]
    for name in dict.fromkeys((*served, controllers[0])):
        protocol = protocols.get(name, "")
        if protocol.endswith("SSL"):
            yield from _tls(given, name, is_served=name in served)
        if protocol.startswith("SASL") and name in served:
            yield from _offered(given, name)

    for says_how, name in entered(settings):
        if protocols.get(name, "").startswith("SASL"):
            yield from _ownlogin_of(given, name, says_how, settings[says_how], name in served)


def entered(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The listeners of others that a node logs in at, each after the field that says with which mechanism."""
    controllers = settings.get("controller_listener_names")
    if controllers:
        yield "sasl_mechanism_controller_protocol", controllers[0]
    own, roles = settings.get("listeners"), settings.get("process_roles") or ()
    if own is None or controllers is None or BROKER not in roles:
        return
    name = inter_broker_listener(settings["inter_broker_listener_name"], [one.name for one in own], controllers)
    if name is not None:
        yield "sasl_mechanism_inter_broker_protocol", name


def inter_broker_listener(given: str | None, listeners: Sequence[str], controllers: Sequence[str]) -> str | None:
    """Where brokers find each other: as it is named, else the only one that is no controller's, else PLAINTEXT."""
    others = [name for name in listeners if name not in controllers]
    if given is not None or len(others) == 1:
        return given or others[0]
    return _DEFAULT_LISTENER if _DEFAULT_LISTENER in others else None


def _tls(given: Given, name: str, *, is_served: bool) -> Said:
    if is_served and given.of(name, f"{_KEYSTORE}.location") is None:
        yield (
            given.key(name, f"{_KEYSTORE}.location"),
            f" is missing: {name} is served with TLS; say the PEM file with its key and certificates",
        )
    for store in (_KEYSTORE, _TRUSTSTORE):
        if given.of(name, f"{store}.location") is not None and given.of(name, f"{store}.type") is None:
            yield given.key(name, f"{store}.type"), f"=JKS, its default, is not read for {name}: say {store}.type=PEM"


def _offered(given: Given, name: str) -> Said:
    offered = given.of(name, _MECHANISMS, (KERBEROS,))
    if KERBEROS in offered:
        yield given.key(name, _MECHANISMS), f"={KERBEROS}, its default, for {name}: {NO_KERBEROS}"
    if "PLAIN" in offered and not passwords(given.jaas(name, "PLAIN")):
        yield (
            given.key(name, _jaas_key("PLAIN")),
            f": {name} offers PLAIN, and knows nobody; say {jaas.MODULES['PLAIN']} required "
            f'{_USER}NAME="PASSWORD" ...;',
        )


def _ownlogin_of(given: Given, name: str, says_how: str, mechanism: str, is_served: bool) -> Said:
    whom = "brokers" if says_how == "sasl_mechanism_inter_broker_protocol" else "controllers"
    if mechanism == KERBEROS:
        return  # which is said already
    if is_served and mechanism not in given.of(name, _MECHANISMS, (KERBEROS,)):
        yield (
            given.key(name, _MECHANISMS),
            f": the {whom} log in with {mechanism}, by {says_how.replace('_', '.')}; add it",
        )
    if login_of(given.jaas(name, mechanism)) is None:
        yield (
            given.key(name, _jaas_key(mechanism)),
            f": this node logs in at the {whom} with {mechanism}; say {jaas.MODULES[mechanism]} required "
            'username="..." password="...";',
        )


# Readings.


def _pem(key: str, value: str) -> str:
    if value.upper() != "PEM":
        raise ConfigError(f"{key}={value}: PEM is expected; keystores of Java are not read")
    return "PEM"


def _file(key: str, value: str) -> str:
    if not value or "\0" in value:
        raise ConfigError(f"{key}: a PEM file is expected")
    return value


def _secret(key: str, value: str) -> str:
    return value


def _client_auth(key: str, value: str) -> str:
    if value not in ("none", "requested", "required"):
        raise ConfigError(f"{key}={value}: none, requested or required is expected")
    return value


def _identification(key: str, value: str) -> str:
    if value.lower() not in ("", "https"):
        raise ConfigError(f"{key}={value}: https is expected, or nothing, which checks no name")
    return value.lower()


def _rules(key: str, value: str) -> tuple[Rule, ...]:
    try:
        return principals.rules(value) or (DEFAULT_RULE,)
    except ValueError as error:
        raise ConfigError(f"{key}: {error}") from None


def _mechanisms(key: str, value: str) -> tuple[str, ...]:
    found = listed(value)
    if not found or not set(found) <= set(MECHANISMS):
        raise ConfigError(f"{key}={value}: of {', '.join(MECHANISMS)}, at least one is expected")
    return tuple(dict.fromkeys(found))


READINGS: Mapping[str, Callable[[str, str], Any]] = {
    "ssl.keystore.type": _pem,
    "ssl.keystore.location": _file,
    "ssl.key.password": _secret,
    "ssl.truststore.type": _pem,
    "ssl.truststore.location": _file,
    "ssl.client.auth": _client_auth,
    "ssl.endpoint.identification.algorithm": _identification,
    "ssl.principal.mapping.rules": _rules,
    _MECHANISMS: _mechanisms,
}
"""Those that a listener may have of its own."""
