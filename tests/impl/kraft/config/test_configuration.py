"""The configuration of a node: defaults as Kafka's, every rule with a file that breaks it, all problems at once."""

from __future__ import annotations

from dataclasses import MISSING as NONE
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.kraft.config import security
from impl.kraft.config.configuration import MISSING, READINGS, REPLACED, Configuration, field_of, load, parse
from impl.kraft.config.values import Listener, Voter
from impl.runtime.properties import ConfigError
from tests.impl.kraft.released import java, released

CONTROLLER = {
    "process.roles": "controller",
    "node.id": "1",
    "controller.quorum.voters": "1@one:9093,2@two:9093,3@three:9093",
    "controller.listener.names": "CONTROLLER",
    "listeners": "CONTROLLER://:9093",
    "log.dirs": "/data/a,/data/b",
}
BROKER = {
    **CONTROLLER,
    "process.roles": "broker",
    "node.id": "4",
    "listeners": "PLAINTEXT://here:9092",
    "advertised.listeners": "PLAINTEXT://here:9092",
}
BOTH = {**CONTROLLER, "process.roles": "broker,controller", "listeners": "PLAINTEXT://here:9092,CONTROLLER://:9093"}


PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b" user_a="b";'


def text(base: dict[str, str], **changes: str | None) -> str:
    """A file; a change of None leaves a name out. Names are given with underscores."""
    named = {name.replace("_", "."): value for name, value in changes.items()}
    return "".join(f"{name}={value}\n" for name, value in {**base, **named}.items() if value is not None)


def problems(file: str) -> list[tuple[int | None, str]]:
    configuration, findings = parse(file)
    assert (configuration is None) == bool(findings.problems)
    return [(one.line, one.text) for one in findings.problems]


@pytest.mark.parametrize("base", [CONTROLLER, BROKER, BOTH])
def test_the_least_that_starts(base: dict[str, str]) -> None:
    configuration, findings = parse(text(base))
    assert configuration is not None and findings.warnings == []
    assert configuration.controller_quorum_voters[0] == Voter(1, "one", 9093)
    assert (configuration.metadata_log_dir, configuration.all_directories) == ("/data/a", ("/data/a", "/data/b"))
    assert configuration.listener_security_protocol_map["CONTROLLER"] == "PLAINTEXT"
    assert (configuration.is_broker, configuration.is_controller) == (base is not CONTROLLER, base is not BROKER)


def test_every_setting_is_read() -> None:
    """Each field has a name in files, and each name a field."""
    assert [*map(field_of, READINGS), "security"] == [one.name for one in fields(Configuration)]


def test_values_are_read() -> None:
    changes = {
        "metadata.log.dir": "/data/c",
        "listener.security.protocol.map": "CONTROLLER:SASL_PLAINTEXT,plaintext:PLAINTEXT",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.controller.plain.sasl.jaas.config": PLAIN,
        "super.users": "User:admin;User:CN=a,O=b",
        "allow.everyone.if.no.acl.found": "true",
        "inter.broker.listener.name": "plaintext",
        "metadata.log.segment.bytes": "8388608",
    }
    configuration, findings = parse("# a comment\n\n" + text(BOTH, **changes))
    assert configuration is not None and not findings.warnings
    assert configuration.all_directories == ("/data/a", "/data/b", "/data/c")
    assert configuration.listeners == (Listener("PLAINTEXT", "here", 9092), Listener("CONTROLLER", "", 9093))
    assert configuration.super_users == ("User:admin", "User:CN=a,O=b")
    assert (configuration.inter_broker_listener_name, configuration.metadata_log_segment_bytes) == (
        "PLAINTEXT",
        8 << 20,
    )


def test_all_problems_of_a_file_are_reported_at_once() -> None:
    file = "process.roles=brokers\nnode.id=-1\nnonsense\nzookeeper.connect=z:2181\nbroker.session.timeout.ms=0\n"
    found = problems(file + "node.idd=3\n")
    assert found[:4] == [
        (3, "'nonsense' is not name=value"),
        (1, "process.roles=brokers: broker, controller or broker,controller is expected"),
        (2, "node.id=-1: a whole number from 0 to 2147483647 is expected"),
        (4, "zookeeper.connect: there is no ZooKeeper: remove it; controller.quorum.voters says where metadata is"),
    ]
    missing_here = ("controller.quorum.voters", "controller.listener.names", "listeners", "log.dirs")
    assert found[4][0] == 5 and found[5:] == [(None, MISSING[key]) for key in missing_here]


@pytest.mark.parametrize("key", MISSING)
def test_what_is_required(key: str) -> None:
    assert problems(text({name: value for name, value in CONTROLLER.items() if name != key})) == [(None, MISSING[key])]


@pytest.mark.parametrize(
    ("base", "changes", "says"),
    [
        (CONTROLLER, {"node.id": "4"}, "node.id=4: a controller must be in controller.quorum.voters"),
        (BROKER, {"node.id": "2"}, "node.id=2: a broker that is no controller must not be in"),
        (BOTH, {"node.id": "4"}, "node.id=4: a controller must be in"),
        (BOTH, {"listeners": "PLAINTEXT://here:9092"}, "CONTROLLER is not among the listeners of this controller"),
        (BROKER, {"listeners": "PLAINTEXT://here:9092,CONTROLLER://:9093"}, "this node is no controller"),
        (CONTROLLER, {"listeners": "CONTROLLER://:9093,PLAINTEXT://:9092"}, "PLAINTEXT is for a broker"),
        (BOTH, {"listeners": "CONTROLLER://:9093"}, "a broker needs a listener"),
        (CONTROLLER, {"controller.listener.names": ""}, "at least one name"),
        (CONTROLLER, {"controller.listener.names": "CONTROLLER,controller"}, "each name once"),
        (CONTROLLER, {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT"}, "says nothing of CONTROLLER"),
        (CONTROLLER, {"listener.security.protocol.map": "CONTROLLER:TLS"}, "in 'CONTROLLER:TLS', one of"),
        (BROKER, {"advertised.listeners": "PLAINTEXT://0.0.0.0:9092"}, "others cannot connect to 0.0.0.0"),
        (BOTH, {"listeners": "PLAINTEXT://0.0.0.0:9092,CONTROLLER://:9093"}, "others cannot connect to 0.0.0.0"),
        (BROKER, {"advertised.listeners": "EXTERNAL://a:1"}, "EXTERNAL is not in listeners"),
        (BROKER, {"inter.broker.listener.name": "CONTROLLER"}, "do not talk to each other at a controller's"),
        (BROKER, {"inter.broker.listener.name": "SSL"}, "inter.broker.listener.name=SSL: it is not in listeners"),
        (
            CONTROLLER,
            {"listener.security.protocol.map": "CONTROLLER:SASL_PLAINTEXT", "sasl.enabled.mechanisms": "SCRAM-SHA-256"},
            "there is no Kerberos here",
        ),
        (CONTROLLER, {"sasl.mechanism.controller.protocol": "OAUTHBEARER"}, "one of GSSAPI, PLAIN"),
        (CONTROLLER, {"controller.quorum.voters": "1@one:9093,1@two:9093"}, "each id once"),
        (CONTROLLER, {"controller.quorum.voters": "one:9093"}, "'one:9093' is not"),
        (CONTROLLER, {"controller.quorum.retry.backoff.max.ms": "5"}, "at least 20 is expected"),
        (CONTROLLER, {"metadata.log.segment.bytes": "1048576"}, "a whole number from 8388608"),
        (CONTROLLER, {"authorizer.class.name": "other.Authorizer"}, "the only one that there is"),
        (CONTROLLER, {"super.users": "admin"}, "'admin' is not"),
        (CONTROLLER, {"log.dirs": "/a,/a"}, "each once, is expected"),
        (CONTROLLER, {"metadata.log.dir": ""}, "a directory is expected"),
        (CONTROLLER, {"listeners": "CONTROLLER:9093"}, "'CONTROLLER:9093' is not"),
        (BOTH, {"listeners": "PLAINTEXT://here:9093,CONTROLLER://:9093"}, "each port once"),
    ],
)  # fmt: skip
def test_each_rule_has_a_file_that_breaks_it_alone(base: dict[str, str], changes: dict[str, str], says: str) -> None:
    found = problems(text(base, **changes))
    assert len(found) == 1 and says in found[0][1]
    line, key = found[0][0], found[0][1].partition(":")[0].partition("=")[0]
    names = [one.partition("=")[0] for one in text(base, **changes).splitlines()]
    assert line == (names.index(key) + 1 if key in names else None)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        *[(f"{key}=x", f"{key}: {replacement}") for key, replacement in REPLACED.items()],
        ("quorum.fetch.timeout.ms=5", "quorum.fetch.timeout.ms: controller.quorum.fetch.timeout.ms replaces it"),
        ("zookeeper.session.timeout.ms=5", "zookeeper.session.timeout.ms: there is no ZooKeeper"),
    ],
)
def test_what_is_deprecated_is_refused_with_its_replacement(line: str, says: str) -> None:
    found = problems(f"{text(CONTROLLER)}{line}\n")
    assert [number for number, _ in found] == [len(CONTROLLER) + 1] and found[0][1].startswith(says)


def test_what_is_warned_of() -> None:
    file = text(CONTROLLER, broker_heartbeat_interval_ms="5000") + "metadata.log.dirs=/x\nnum.io.threads=8\nnode.id=1\n"
    configuration, findings = parse(file)
    assert configuration is not None
    assert [one.within("f") for one in findings.warnings] == [
        "f:10: node.id is on line 2, too: this one counts, remove the other",
        "f:8: metadata.log.dirs is unknown, and ignored: is metadata.log.dir meant?",
        "f:9: num.io.threads is unknown, and ignored",
        "f: broker.session.timeout.ms=9000: one lost heartbeat fences a broker; say at least 10000, twice "
        "broker.heartbeat.interval.ms",
    ]


@given(st.lists(st.tuples(st.sampled_from(list(READINGS)), st.text(max_size=12)), max_size=8))
def test_any_values_are_read_or_refused(settings: list[tuple[str, str]]) -> None:
    problems("".join(f"{key}={value}\n" for key, value in settings))


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        load(tmp_path / "absent.properties")


@released
def test_names_and_defaults_are_kafkas() -> None:
    done = java(Path(__file__).parent / "Defaults.java")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    names = {line.removeprefix("name ") for line in lines if line.startswith("name ")}
    assert set(security.READINGS) <= names
    assert set(READINGS) - names == {
        "controller.quorum.retry.backoff.max.ms",  # the draft's alone
        "internal.metadata.clean.interval.ms",  # a constant of Kafka's
        "metrics.port",  # Kafka has JMX
        "trace.file",  # Kafka writes none
        *("super.users", "allow.everyone.if.no.acl.found"),  # of Kafka's authorizer, which reads them itself
    }
    kafkas = dict(line.split("=", 1) for line in lines if "=" in line)
    key_of = {field_of(key): key for key in READINGS}
    differs = {
        key_of[one.name]: (one.default, kafkas.get(key_of[one.name]))
        for one in fields(Configuration)
        if type(one.default) in (int, bool, str)
        and str(one.default).lower() != kafkas.get(key_of[one.name], "").lower()
    }
    unknown = {"controller.quorum.retry.backoff.max.ms", "internal.metadata.clean.interval.ms"}
    assert set(differs) == {*unknown, "allow.everyone.if.no.acl.found"}, differs
    assert sum(one.default is NONE for one in fields(Configuration)) == 9
