"""The configuration of a node: names and defaults of Kafka 4.3, and those of the draft (KIP-631, Configurations)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING as DATACLASS_MISSING
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any

from impl.kraft.config import security, values
from impl.kraft.config.findings import Entry, Finding, Findings, entries
from impl.kraft.config.rules import problems_of, warnings_of
from impl.kraft.config.security import Given, ListenerSecurity
from impl.kraft.config.values import BROKER, CONTROLLER, SECURITY_PROTOCOLS, Listener, Voter
from impl.runtime.properties import MOST_INT32, ConfigError, boolean, broker_id, integer, port, read_text

_MIB = 1 << 20
_DAY_MS = 24 * 3600 * 1000
MOST_INT64 = (1 << 63) - 1
DEFAULT_PROTOCOLS: Mapping[str, str] = MappingProxyType({name: name for name in SECURITY_PROTOCOLS})


@dataclass(frozen=True, slots=True)
class Configuration:
    """A configuration without a problem. Fields are named as their settings, with the unit at the end.

    metadata_log_dir: one of log_dirs, or beside them. quorum_retry_backoff_max_ms: the draft's, no setting of Kafka.
    metrics_port: of Prometheus, no setting of Kafka; None: none are served.
    security: of all listeners, and of the controllers', by name.
    internal_*: for tests; internal_metadata_log_segment_bytes is used in place of the other, and may be smaller, as in
    Kafka, where internal_metadata_clean_interval_ms is a constant (KafkaRaftClient).
    """

    process_roles: frozenset[str]
    node_id: int
    controller_quorum_voters: tuple[Voter, ...]
    controller_listener_names: tuple[str, ...]
    listeners: tuple[Listener, ...]
    log_dirs: tuple[str, ...]
    metadata_log_dir: str
    listener_security_protocol_map: Mapping[str, str]
    advertised_listeners: tuple[Listener, ...] = ()
    inter_broker_listener_name: str | None = None
    sasl_mechanism_controller_protocol: str = "GSSAPI"
    sasl_mechanism_inter_broker_protocol: str = "GSSAPI"
    initial_broker_registration_timeout_ms: int = 60_000
    broker_heartbeat_interval_ms: int = 2_000
    broker_session_timeout_ms: int = 9_000
    controller_quorum_election_timeout_ms: int = 1_000
    controller_quorum_fetch_timeout_ms: int = 2_000
    controller_quorum_election_backoff_max_ms: int = 1_000
    controller_quorum_request_timeout_ms: int = 2_000
    controller_quorum_retry_backoff_ms: int = 20
    controller_quorum_retry_backoff_max_ms: int = 1_000
    controller_quorum_append_linger_ms: int = 25
    controller_quorum_fetch_max_bytes: int = _MIB
    controller_quorum_fetch_snapshot_max_bytes: int = _MIB
    metadata_log_segment_bytes: int = 1 << 30
    metadata_log_segment_ms: int = 7 * _DAY_MS
    metadata_max_retention_bytes: int = 100 * _MIB
    metadata_max_retention_ms: int = 7 * _DAY_MS
    metadata_log_max_record_bytes_between_snapshots: int = 20 * _MIB
    metadata_log_max_snapshot_interval_ms: int = 3600 * 1000
    metadata_max_idle_interval_ms: int = 500
    min_insync_replicas: int = 1
    replica_lag_time_max_ms: int = 30_000
    socket_request_max_bytes: int = 100 * _MIB
    internal_metadata_log_segment_bytes: int | None = None
    internal_metadata_clean_interval_ms: int = 60_000
    super_users: tuple[str, ...] = ()
    allow_everyone_if_no_acl_found: bool = False
    authorizer_class_name: str = ""
    metrics_port: int | None = None
    trace_file: str | None = None
    auto_leader_rebalance_enable: bool = True
    leader_imbalance_check_interval_seconds: int = 300
    unclean_leader_election_enable: bool = False
    unclean_leader_election_interval_ms: int = 300_000
    connections_max_idle_ms: int = 600_000
    connection_failed_authentication_delay_ms: int = 100
    sasl_server_max_receive_size: int = 512 << 10
    security: Mapping[str, ListenerSecurity] = field(default_factory=dict)

    @property
    def is_broker(self) -> bool:
        return BROKER in self.process_roles

    @property
    def is_controller(self) -> bool:
        return CONTROLLER in self.process_roles

    @property
    def controller_listeners(self) -> tuple[Listener, ...]:
        return tuple(one for one in self.listeners if one.name in self.controller_listener_names)

    @property
    def broker_listeners(self) -> tuple[Listener, ...]:
        return tuple(one for one in self.listeners if one.name not in self.controller_listener_names)

    @property
    def inter_broker_listener(self) -> str:
        """At which a broker is found by other ones. Not to be asked of a node that is none."""
        names = [one.name for one in self.listeners]
        found = security.inter_broker_listener(self.inter_broker_listener_name, names, self.controller_listener_names)
        assert found is not None, "the rules ask for it"
        return found

    @property
    def all_directories(self) -> tuple[str, ...]:
        """Those that are formatted: with the metadata directory, sorted."""
        return tuple(sorted({*self.log_dirs, self.metadata_log_dir}))


def _number(least: int, most: int) -> Callable[[str, str], int]:
    return lambda key, value: integer(key, value, least, most)


_POSITIVE, _COUNT = _number(1, MOST_INT32), _number(0, MOST_INT32)
_LONG, _POSITIVE_LONG, _BOUND = _number(0, MOST_INT64), _number(1, MOST_INT64), _number(-1, MOST_INT64)

READINGS: Mapping[str, Callable[[str, str], Any]] = {
    "process.roles": values.roles,
    "node.id": broker_id,
    "controller.quorum.voters": values.voters,
    "controller.listener.names": values.names,
    "listeners": values.listeners,
    "log.dirs": values.directories,
    "metadata.log.dir": values.directory,
    "listener.security.protocol.map": values.protocols,
    "advertised.listeners": values.listeners,
    "inter.broker.listener.name": values.name,
    "sasl.mechanism.controller.protocol": values.mechanism,
    "sasl.mechanism.inter.broker.protocol": values.mechanism,
    "initial.broker.registration.timeout.ms": _POSITIVE,
    "broker.heartbeat.interval.ms": _POSITIVE,
    "broker.session.timeout.ms": _POSITIVE,
    "controller.quorum.election.timeout.ms": _POSITIVE,
    "controller.quorum.fetch.timeout.ms": _POSITIVE,
    "controller.quorum.election.backoff.max.ms": _COUNT,
    "controller.quorum.request.timeout.ms": _POSITIVE,
    "controller.quorum.retry.backoff.ms": _COUNT,
    "controller.quorum.retry.backoff.max.ms": _COUNT,
    "controller.quorum.append.linger.ms": _COUNT,
    "controller.quorum.fetch.max.bytes": _POSITIVE,
    "controller.quorum.fetch.snapshot.max.bytes": _POSITIVE,
    "metadata.log.segment.bytes": _number(8 * _MIB, MOST_INT32),
    "metadata.log.segment.ms": _LONG,
    "metadata.max.retention.bytes": _BOUND,
    "metadata.max.retention.ms": _BOUND,
    "metadata.log.max.record.bytes.between.snapshots": _POSITIVE_LONG,
    "metadata.log.max.snapshot.interval.ms": _LONG,
    "metadata.max.idle.interval.ms": _COUNT,
    "min.insync.replicas": _POSITIVE,
    "replica.lag.time.max.ms": _POSITIVE_LONG,
    "socket.request.max.bytes": _POSITIVE,
    "internal.metadata.log.segment.bytes": _POSITIVE,
    "internal.metadata.clean.interval.ms": _POSITIVE,
    "super.users": values.principals,
    "allow.everyone.if.no.acl.found": boolean,
    "authorizer.class.name": values.authorizer,
    "metrics.port": port,
    "trace.file": values.file,
    "auto.leader.rebalance.enable": boolean,
    "leader.imbalance.check.interval.seconds": _POSITIVE,
    "unclean.leader.election.enable": boolean,
    "unclean.leader.election.interval.ms": _POSITIVE_LONG,
    "connections.max.idle.ms": _BOUND,
    "connection.failed.authentication.delay.ms": _COUNT,
    "sasl.server.max.receive.size": _POSITIVE,
}
MISSING: Mapping[str, str] = {
    "process.roles": "process.roles is missing: that is legacy mode, with ZooKeeper, which this is not. "
    "Say process.roles=broker, controller, or broker,controller",
    "node.id": "node.id is missing: no id is given automatically. Say node.id=NUMBER",
    "controller.quorum.voters": "controller.quorum.voters is missing: say ID@HOST:PORT,... of all controllers",
    "controller.listener.names": "controller.listener.names is missing: say the listener that controllers have",
    "listeners": "listeners is missing: say NAME://HOST:PORT,... for each listener",
    "log.dirs": "log.dirs is missing: say the directories, with commas between them",
}
"""What is required, and what is said without it."""

REPLACED: Mapping[str, str] = {
    "control.plane.listener.name": "controllers send nothing to brokers; they have controller.listener.names",
    "broker.id.generation.enable": "ids are not generated; say node.id",
    "broker.id": "node.id replaces it",
    "quorum.voters": "controller.quorum.voters replaces it",
}
"""Deprecated by KIP-631; beside these, all of zookeeper."""

_ZOOKEEPER, _QUORUM = "zookeeper.", "quorum."


def read(text: str) -> tuple[Mapping[str, Any], Mapping[str, Entry], Findings]:
    """What each setting of a file is read as, by its field's name; those without a problem. Security is by its keys."""
    findings = Findings()
    found = entries(text, findings)
    of_security: dict[str, Any] = {}
    read_as: dict[str, Any] = {"security": of_security}
    for key, entry in found.items():
        into, name = (read_as, field_of(key)) if key in READINGS else (of_security, key)
        reading = READINGS.get(key) or security.reading_of(key)
        if reading is not None:
            try:
                into[name] = reading(key, entry.value)
            except ConfigError as error:
                findings.problems.append(Finding(entry.line, str(error)))
        elif (replacement := _replacement(key)) is not None:
            findings.problems.append(Finding(entry.line, f"{key}: {replacement}"))
        else:
            findings.warnings.append(Finding(entry.line, _unknown(key)))
    findings.problems.extend(Finding(None, says) for key, says in MISSING.items() if key not in found)
    return read_as, found, findings


def parse(text: str) -> tuple[Configuration | None, Findings]:
    """The configuration of a file; None where it has problems, all of which are found."""
    read_as, found, findings = read(text)
    defaults = {one.name: one.default for one in fields(Configuration) if one.default is not DATACLASS_MISSING}
    settings = {**defaults, **read_as, "listener_security_protocol_map": _protocols(read_as)}
    for rules, into in ((problems_of, findings.problems), (warnings_of, findings.warnings)):
        for key, says in rules(settings):
            into.append(Finding(found[key].line if key in found else None, f"{key}{says}"))
    if findings.problems:
        return None, findings
    settings.setdefault("metadata_log_dir", settings["log_dirs"][0])
    protocols, given = settings["listener_security_protocol_map"], Given(settings["security"])
    names = (*(one.name for one in settings["listeners"]), *settings["controller_listener_names"])
    settings["security"] = {name: given.security(name, protocols[name]) for name in names}
    return Configuration(**settings), findings


def _protocols(read_as: Mapping[str, Any]) -> Mapping[str, str]:
    """Listeners by their security; as in Kafka, those of controllers are PLAINTEXT unless a file has a map."""
    given = read_as.get("listener_security_protocol_map")
    if given is not None:
        return MappingProxyType(dict(given))
    named = {name: "PLAINTEXT" for name in read_as.get("controller_listener_names", ())}
    return MappingProxyType({**named, **DEFAULT_PROTOCOLS})


def load(path: Path) -> tuple[Configuration | None, Findings]:
    """As `parse`. Raises ConfigError where the file cannot be read."""
    return parse(read_text(path))


def field_of(key: str) -> str:
    return key.replace(".", "_")


def _replacement(key: str) -> str | None:
    if key.startswith(_ZOOKEEPER):
        return "there is no ZooKeeper: remove it; controller.quorum.voters says where metadata is"
    if key.startswith(_QUORUM) and f"controller.{key}" in READINGS:
        return f"controller.{key} replaces it"
    return REPLACED.get(key)


def _unknown(key: str) -> str:
    near = get_close_matches(key, [*READINGS, *security.READINGS], 1)
    return f"{key} is unknown, and ignored{f': is {near[0]} meant?' if near else ''}"
