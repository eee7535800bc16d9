"""What settings must not say together. Each rule is asked where what it is about was read; it names a key, and what
follows the key in a message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from impl.kraft.config import security
from impl.kraft.config.values import BROKER, CONTROLLER

Settings = Mapping[str, Any]
Said = Iterator[tuple[str, str]]

_VOTERS, _NAMES, _LISTENERS = "controller.quorum.voters", "controller.listener.names", "listeners"
_UNREACHABLE = ("", "0.0.0.0", "::")


def problems_of(settings: Settings) -> Said:
    """What keeps a node from starting."""
    for rule in (
        _membership,
        _listeners,
        _security,
        _advertised,
        _inter_broker,
        _mechanism,
        security.problems_of,
        _backoff,
    ):
        yield from rule(settings)


def warnings_of(settings: Settings) -> Said:
    """What a node starts with, and should not."""
    interval_ms, session_ms = settings["broker_heartbeat_interval_ms"], settings["broker_session_timeout_ms"]
    if 2 * interval_ms > session_ms:
        yield (
            "broker.session.timeout.ms",
            f"={session_ms}: one lost heartbeat fences a broker; say at least {2 * interval_ms}, twice "
            "broker.heartbeat.interval.ms",
        )


def _membership(settings: Settings) -> Said:
    roles, node_id, voters = (settings.get(name) for name in ("process_roles", "node_id", "controller_quorum_voters"))
    if roles is None or node_id is None or voters is None:
        return
    is_voter = node_id in {voter.node_id for voter in voters}
    if CONTROLLER in roles and not is_voter:
        yield "node.id", f"={node_id}: a controller must be in {_VOTERS}; add {node_id}@HOST:PORT there"
    if CONTROLLER not in roles and is_voter:
        yield "node.id", f"={node_id}: a broker that is no controller must not be in {_VOTERS}; choose another id"


def _listeners(settings: Settings) -> Said:
    roles, own, controllers = (
        settings.get(name) for name in ("process_roles", "listeners", "controller_listener_names")
    )
    if roles is None or own is None or controllers is None:
        return
    names = {listener.name for listener in own}
    for name in controllers:
        if CONTROLLER in roles and name not in names:
            yield (
                _NAMES,
                f": {name} is not among the listeners of this controller; add {name}://HOST:PORT to {_LISTENERS}",
            )
        if CONTROLLER not in roles and name in names:
            yield _LISTENERS, f": {name} is in {_NAMES}, and this node is no controller; remove it"
    others = sorted(names - set(controllers))
    if BROKER not in roles and others:
        yield _LISTENERS, f": {', '.join(others)} is for a broker, and this node is none; have those in {_NAMES} alone"
    if BROKER in roles and not others:
        yield _LISTENERS, f": a broker needs a listener that is not in {_NAMES}; add one"


def _security(settings: Settings) -> Said:
    own, controllers = settings.get("listeners"), settings.get("controller_listener_names")
    if own is None or controllers is None:
        return
    for name in sorted({listener.name for listener in own} | set(controllers)):
        if name not in settings["listener_security_protocol_map"]:
            yield "listener.security.protocol.map", f": it says nothing of {name}; add {name}:PROTOCOL"


def _advertised(settings: Settings) -> Said:
    own, given = settings.get("listeners"), settings["advertised_listeners"]
    if own is None:
        return
    names = {listener.name for listener in own}
    for listener in given:
        if listener.name not in names:
            yield "advertised.listeners", f": {listener.name} is not in {_LISTENERS}; add it there or remove it here"
    controllers = settings.get("controller_listener_names", ())
    for listener in given or [one for one in own if one.name not in controllers]:
        if listener.host in _UNREACHABLE and (given or listener.host):
            key = "advertised.listeners" if given else _LISTENERS
            yield key, f": others cannot connect to {listener.host or 'no host'}; advertise the address of this machine"


def _inter_broker(settings: Settings) -> Said:
    name, own = settings["inter_broker_listener_name"], settings.get("listeners")
    if own is None:
        return
    key = "inter.broker.listener.name"
    if name is None:
        controllers = settings.get("controller_listener_names", ())
        others = [one.name for one in own if one.name not in controllers]
        found = security.inter_broker_listener(name, others, controllers)
        if BROKER in settings.get("process_roles", ()) and others and found is None:
            yield key, f" is missing: say at which of {', '.join(others)} brokers find each other"
        return
    if name in settings.get("controller_listener_names", ()):
        yield key, f"={name}: brokers do not talk to each other at a controller's listener; name another"
    elif BROKER in settings.get("process_roles", ()) and name not in {listener.name for listener in own}:
        yield key, f"={name}: it is not in {_LISTENERS}; name one that is"


def _mechanism(settings: Settings) -> Said:
    for says_how, name in security.entered(settings):
        protocol = settings["listener_security_protocol_map"].get(name, "")
        if protocol.startswith("SASL") and settings[says_how] == security.KERBEROS:
            yield says_how.replace("_", "."), f"={security.KERBEROS}, its default: {security.NO_KERBEROS}"


def _backoff(settings: Settings) -> Said:
    first, most = (settings[f"controller_quorum_retry_backoff_{of}ms"] for of in ("", "max_"))
    if most < first:
        yield "controller.quorum.retry.backoff.max.ms", f"={most}: at least {first} is expected, the first backoff"
