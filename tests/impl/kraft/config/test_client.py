"""What the configuration of a client says of security, and what is wrong with it, without a password."""

from __future__ import annotations

import pytest

from impl.kraft.config.client import ClientSecurity, client_security
from impl.runtime.properties import ConfigError

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
LOGIN = 'required username="ann" password="secret";'


def test_without_a_word_there_is_none() -> None:
    assert client_security({}) == client_security({"security.protocol": "PLAINTEXT"}) == ClientSecurity()


def test_tls_has_files_and_checks_the_host() -> None:
    files = {"ssl.truststore.location": "ca.pem", "ssl.keystore.location": "own.pem", "ssl.key.password": "k"}
    found = client_security({"security.protocol": "SSL", "ssl.keystore.type": "PEM", **files})
    assert found.tls is not None and found.login is None
    assert (found.tls.truststore, found.tls.keystore, found.tls.key_password) == ("ca.pem", "own.pem", "k")
    assert found.tls.checks_host
    unchecked = client_security({"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": ""})
    assert unchecked.tls is not None and not unchecked.tls.checks_host


@pytest.mark.parametrize(
    ("mechanism", "module"), [("PLAIN", PLAIN), ("SCRAM-SHA-256", SCRAM), ("SCRAM-SHA-512", SCRAM)]
)
def test_a_login_has_a_mechanism_and_its_module(mechanism: str, module: str) -> None:
    said = {"sasl.mechanism": mechanism, "sasl.jaas.config": f"{module} {LOGIN}"}
    found = client_security({"security.protocol": "SASL_PLAINTEXT", **said})
    assert (found.tls, found.mechanism, found.login) == (None, mechanism, ("ann", "secret"))
    assert client_security({"security.protocol": "SASL_SSL", **said}).tls is not None
    assert "secret" not in repr(found)


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ({"security.protocol": "ssl"}, "security.protocol=ssl: PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL are known"),
        ({"security.protocol": "SASL_SSL"}, "sasl.mechanism=GSSAPI: there is no Kerberos here"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}, "sasl.mechanism=OAUTHBEARER: PLAIN, "),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, f"sasl.jaas.config: {PLAIN} required"),
        (
            {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": f"{SCRAM} {LOGIN}"},
            f"sasl.jaas.config: {PLAIN} required",
        ),
        (
            {
                "security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN",
                "sasl.jaas.config": f'{PLAIN} required password="secret";',
            },
            "sasl.jaas.config: it needs username and password",
        ),
        ({"security.protocol": "SSL", "ssl.keystore.type": "JKS"}, "ssl.keystore.type=JKS: PEM is expected"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_without_a_password(said: dict[str, str], wrong: str) -> None:
    with pytest.raises(ConfigError) as refused:
        client_security(said)
    assert wrong in str(refused.value) and "secret" not in str(refused.value)
