"""The listeners of a node, with their security, and how it gets into those of the others."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from ssl import SSLContext

from impl.kraft.config.configuration import Configuration
from impl.kraft.config.security import ListenerSecurity
from impl.kraft.config.values import Listener as Endpoint
from impl.kraft.image import Image
from impl.kraft.records import BootstrapRecord, UserScramCredentialRecord
from impl.kraft.security.authorizer import Authorizer
from impl.kraft.security.sasl import PLAIN, Exchange, PlainServer
from impl.kraft.security.scram import MECHANISMS, Credential, Mechanism, ScramServer, decoy
from impl.kraft.security.stored import scram_credential
from impl.kraft.server.connections import Connection, Limits, Serve
from impl.kraft.server.login import Identity
from impl.kraft.server.peers import OPEN, Access
from impl.kraft.server.tls import client_context, server_context
from impl.runtime.listener import SessionListener

_NONCE_BYTES, _SECRET_BYTES = 24, 32


class Credentials:
    """Those of SCRAM. committed: the image that counts; before there is any, what the directory was formatted with."""

    def __init__(self, committed: Callable[[], Image], bootstrap: Iterable[BootstrapRecord]) -> None:
        self._committed = committed
        self._formatted = {
            (one.name, one.mechanism): one for one in bootstrap if isinstance(one, UserScramCredentialRecord)
        }
        self._secret = secrets.token_bytes(_SECRET_BYTES)

    def of(self, mechanism: Mechanism, user: str) -> Credential:
        """A decoy where nobody has this name."""
        image = self._committed()
        record = (image.credentials if image.features else self._formatted).get((user, mechanism.number))
        return decoy(mechanism, self._secret, user) if record is None else scram_credential(record)

    def exchanges(self, security: ListenerSecurity) -> Mapping[str, Callable[[], Exchange]]:
        """Of the mechanisms that a listener offers, each with what begins one."""
        if security.sasl is None:
            return {}
        found: dict[str, Callable[[], Exchange]] = {}
        for name in security.sasl.mechanisms:
            if name == PLAIN:
                found[name] = partial(PlainServer, security.sasl.passwords)
            else:
                found[name] = partial(self._scram, MECHANISMS[name])
        return found

    def _scram(self, mechanism: Mechanism) -> Exchange:
        return ScramServer(mechanism, partial(self.of, mechanism), secrets.token_urlsafe(_NONCE_BYTES))


class Doors:
    """The listeners of a controller, or of a broker. Raises ConfigError where a file of TLS is none."""

    def __init__(
        self, configuration: Configuration, endpoints: Sequence[Endpoint], credentials: Credentials, serve: Serve,
        frame_bytes: int, log: logging.Logger,
    ) -> None:  # fmt: skip
        limits = Limits(
            frame_bytes, configuration.sasl_server_max_receive_size,
            configuration.connection_failed_authentication_delay_ms,
        )  # fmt: skip
        idle_ms = configuration.connections_max_idle_ms
        self._listeners: list[tuple[Endpoint, SessionListener, SSLContext | None]] = []
        for endpoint in endpoints:
            security = configuration.security[endpoint.name]
            begin = partial(Connection, endpoint.name, security, credentials.exchanges(security), limits, serve)
            listener = SessionListener(begin, log, None if idle_ms < 0 else idle_ms / 1000)
            tls = None if security.tls is None else server_context(security.tls)
            self._listeners.append((endpoint, listener, tls))

    async def open(self) -> None:
        """Raises OSError where an address is taken."""
        for endpoint, listener, tls in self._listeners:
            await listener.start(endpoint.host or "0.0.0.0", endpoint.port, tls)

    async def close(self) -> None:
        for _, listener, _ in self._listeners:
            await listener.stop()


def access_of(configuration: Configuration) -> Access:
    """How a node gets into the controllers' listener. Raises ConfigError."""
    mechanism = configuration.sasl_mechanism_controller_protocol
    return _access(configuration.security[configuration.controller_listener_names[0]], mechanism)


def access_to_brokers(configuration: Configuration) -> Access:
    """How a broker gets into those of the others at which brokers find each other. Raises ConfigError."""
    mechanism = configuration.sasl_mechanism_inter_broker_protocol
    return _access(configuration.security[configuration.inter_broker_listener], mechanism)


def _access(security: ListenerSecurity, mechanism: str) -> Access:
    tls = None if security.tls is None else client_context(security.tls)
    if security.sasl is None:
        return OPEN if tls is None else Access(tls)
    return Access(tls, Identity(mechanism, *security.sasl.logins[mechanism]))


def authorizer_of(configuration: Configuration) -> Authorizer | None:
    if not configuration.authorizer_class_name:
        return None
    return Authorizer(configuration.super_users, allows_without_acls=configuration.allow_everyone_if_no_acl_found)
