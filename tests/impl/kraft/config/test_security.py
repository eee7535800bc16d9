"""The security of listeners: what a file says of it, of all or of one, and each thing that is missing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.kraft.config import jaas, security
from impl.kraft.config.configuration import parse
from impl.kraft.security.principals import DEFAULT_RULE
from impl.runtime.properties import ConfigError
from tests.impl.kraft.config.test_configuration import BROKER, CONTROLLER, PLAIN, problems, text

OF_CONTROLLER = "listener.name.controller."
PLAIN_KEY = f"{OF_CONTROLLER}plain.sasl.jaas.config"
SCRAM = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="a" password="b";'
TLS = {"ssl.keystore.type": "PEM", "ssl.keystore.location": "/k.pem"}
SASL = {
    "sasl.mechanism.controller.protocol": "PLAIN",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
    PLAIN_KEY: PLAIN,
}


def served(protocol: str, **changes: str) -> security.ListenerSecurity:
    file = text(CONTROLLER, **{"listener.security.protocol.map": f"CONTROLLER:{protocol}", **TLS, **SASL, **changes})
    configuration, findings = parse(file)
    assert configuration is not None, findings.problems
    assert not findings.warnings
    return configuration.security["CONTROLLER"]


def test_a_listener_has_what_its_protocol_has() -> None:
    assert served("PLAINTEXT") == security.ListenerSecurity("PLAINTEXT")
    both = served("SASL_SSL")
    assert both.tls == security.TlsSettings("/k.pem", None, None, "none", True, (DEFAULT_RULE,))
    assert both.sasl == security.SaslSettings(("PLAIN", "SCRAM-SHA-512"), {"a": "b"}, {"PLAIN": ("a", "b")})
    assert served("SSL").sasl is None and served("SASL_PLAINTEXT").tls is None


def test_a_listener_may_differ_from_the_others() -> None:
    changes = {
        "ssl.client.auth": "required", "ssl.truststore.location": "/t.pem", "ssl.truststore.type": "PEM",
        f"{OF_CONTROLLER}ssl.client.auth": "requested", f"{OF_CONTROLLER}ssl.key.password": "secret",
        f"{OF_CONTROLLER}ssl.endpoint.identification.algorithm": "",
        f"{OF_CONTROLLER}sasl.enabled.mechanisms": "PLAIN",
    }  # fmt: skip
    found = served("SASL_SSL", **changes)
    assert found.tls == security.TlsSettings("/k.pem", "secret", "/t.pem", "requested", False, (DEFAULT_RULE,))
    assert found.sasl is not None and found.sasl.mechanisms == ("PLAIN",)
    assert "secret" not in repr(found) and "'b'" not in repr(found)


@pytest.mark.parametrize(
    ("protocol", "changes", "says"),
    [
        ("SSL", {"ssl.keystore.location": None}, "ssl.keystore.location is missing: CONTROLLER is served with TLS"),
        ("SSL", {"ssl.keystore.type": None}, "ssl.keystore.type=JKS, its default, is not read for CONTROLLER"),
        ("SSL", {"ssl.truststore.location": "/t"}, "ssl.truststore.type=JKS, its default"),
        ("SSL", {"ssl.keystore.type": "PKCS12"}, "PEM is expected"),
        ("SSL", {"ssl.client.auth": "maybe"}, "none, requested or required"),
        ("SSL", {"ssl.endpoint.identification.algorithm": "ldaps"}, "https is expected"),
        ("SSL", {"ssl.principal.mapping.rules": "RULE:("}, "is neither DEFAULT nor RULE"),
        ("SASL_SSL", {"sasl.enabled.mechanisms": "PLAIN,GSSAPI"}, "there is no Kerberos here"),
        ("SASL_SSL", {"sasl.enabled.mechanisms": "OAUTHBEARER"}, "of GSSAPI, PLAIN"),
        ("SASL_SSL", {"sasl.enabled.mechanisms": "SCRAM-SHA-256"}, "the controllers log in with PLAIN"),
        ("SASL_SSL", {"sasl.mechanism.controller.protocol": "SCRAM-SHA-512"}, "this node logs in at the controllers"),
        ("SASL_SSL", {PLAIN_KEY: PLAIN.replace("user_a", "x")}, "offers PLAIN, and knows nobody"),
        ("SASL_SSL", {PLAIN_KEY: PLAIN.replace("username", "x")}, "this node logs in at the controllers with PLAIN"),
        ("SASL_SSL", {f"{OF_CONTROLLER}scram-sha-512.sasl.jaas.config": "x"}, "ScramLoginModule required"),
    ],
)
def test_each_thing_that_is_missing(protocol: str, changes: dict[str, str | None], says: str) -> None:
    given = {"listener.security.protocol.map": f"CONTROLLER:{protocol}", **TLS, **SASL, **changes}
    found = [one for _, one in problems(text(CONTROLLER, **given))]
    assert any(says in one for one in found), found


BROKERS = "listener.name.inside.plain.sasl.jaas.config"
OF_BROKER = {
    "listeners": "INSIDE://127.0.0.1:1,OUTSIDE://127.0.0.1:2", "advertised.listeners": None,
    "inter.broker.listener.name": "INSIDE",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,INSIDE:SASL_PLAINTEXT,OUTSIDE:PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN", "sasl.mechanism.inter.broker.protocol": "PLAIN", BROKERS: PLAIN,
}  # fmt: skip


def test_a_broker_logs_in_at_the_others() -> None:
    configuration, findings = parse(text(BROKER, **OF_BROKER))
    assert configuration is not None, findings.problems
    assert configuration.inter_broker_listener == "INSIDE"
    sasl = configuration.security["INSIDE"].sasl
    assert sasl is not None and sasl.logins == {"PLAIN": ("a", "b")}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"inter.broker.listener.name": None}, "say at which of INSIDE, OUTSIDE brokers find each other"),
        ({"sasl.mechanism.inter.broker.protocol": None}, "sasl.mechanism.inter.broker.protocol=GSSAPI, its default"),
        ({"sasl.enabled.mechanisms": "SCRAM-SHA-256"}, "the brokers log in with PLAIN, by sasl.mechanism.inter.broker"),
        ({BROKERS: PLAIN.replace("username", "x")}, "this node logs in at the brokers with PLAIN"),
    ],
)
def test_what_a_broker_lacks_to_log_in_at_the_others(changes: dict[str, str | None], says: str) -> None:
    found = [one for _, one in problems(text(BROKER, **{**OF_BROKER, **changes}))]
    assert any(says in one for one in found), found


@pytest.mark.parametrize(
    ("given", "listeners", "expected"),
    [
        ("INSIDE", ["INSIDE", "OUTSIDE"], "INSIDE"),
        (None, ["CONTROLLER", "OUTSIDE"], "OUTSIDE"),
        (None, ["OUTSIDE", "PLAINTEXT"], "PLAINTEXT"),
        (None, ["OUTSIDE", "INSIDE"], None),
    ],
)
def test_where_brokers_find_each_other(given: str | None, listeners: list[str], expected: str | None) -> None:
    assert security.inter_broker_listener(given, listeners, ["CONTROLLER"]) == expected


def test_all_of_them_are_said_at_once() -> None:
    found = problems(text(CONTROLLER, **{"listener.security.protocol.map": "CONTROLLER:SASL_SSL"}))
    assert [one.partition(":")[0].partition("=")[0].partition(" ")[0] for _, one in found] == [
        "sasl.mechanism.controller.protocol", "ssl.keystore.location", "sasl.enabled.mechanisms"
    ]  # fmt: skip


def test_a_module_has_options() -> None:
    assert jaas.options(PLAIN_KEY, PLAIN) == {"username": "a", "password": "b", "user_a": "b"}
    odd = PLAIN.replace('"b" ', '"b\\"; = \\\\" ')
    assert jaas.options(PLAIN_KEY, odd)["password"] == 'b"; = \\'
    assert jaas.options(f"{OF_CONTROLLER}scram-sha-512.sasl.jaas.config", SCRAM)["username"] == "a"


@pytest.mark.parametrize(
    "value",
    [
        "",
        ";",
        PLAIN[:-1],
        SCRAM,
        PLAIN.replace("required", "needed"),
        PLAIN.replace("=", ""),
        PLAIN.replace('"', "", 1),
    ],
)
def test_a_module_that_is_none_is_refused_without_its_secrets(value: str) -> None:
    with pytest.raises(ConfigError) as refused:
        jaas.options(PLAIN_KEY, value.replace('"b"', '"s3cret"'))
    assert "s3cret" not in str(refused.value)


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(value: str) -> None:
    for key in (*security.READINGS, PLAIN_KEY):
        problems(f"{key}={value}\n")
