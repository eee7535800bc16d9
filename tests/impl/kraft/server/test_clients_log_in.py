"""Clients that users have log in at a controller, over TLS with SCRAM and with PLAIN; none with a wrong password."""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import aiokafka.errors
import pytest
from aiokafka.conn import create_conn
from confluent_kafka import KafkaError
from confluent_kafka.admin import AdminClient

from tests.cluster.certificates import Authority
from tests.cluster.kafka import until
from tests.impl.kraft.server.running_controller import running
from tests.impl.kraft.server.secured import Wire, plain_module, tls_settings

SCRAM = "SCRAM-SHA-512"
LIMIT_S = 30.0


class Place(NamedTuple):
    port: int
    truststore: Path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("controller")
    authority = Authority(folder / "authority")
    more = {
        "sasl.enabled.mechanisms": f"PLAIN,{SCRAM}",
        "listener.name.outside.plain.sasl.jaas.config": plain_module(("ann", "secret"), {"ann": "secret"}),
        **tls_settings(authority.keystore("node"), authority.truststore),
    }
    credentials = (f"{SCRAM}=[name=ann,password=secret]",)
    with running(folder, more, {"OUTSIDE": "SASL_SSL"}, credentials) as ports:
        yield Place(ports["OUTSIDE"], authority.truststore)


def by_aiokafka(place: Place, mechanism: str, password: str) -> bool:
    """Whether it is let in."""
    context = ssl.create_default_context(cafile=place.truststore)

    async def connect() -> None:
        connection = await create_conn(
            "127.0.0.1", place.port, ssl_context=context, security_protocol="SASL_SSL", sasl_mechanism=mechanism,
            sasl_plain_username="ann", sasl_plain_password=password,
        )  # fmt: skip
        connection.close()

    try:
        asyncio.run(connect())
    except aiokafka.errors.SaslAuthenticationFailed:
        return False
    return True


def by_confluent(place: Place, mechanism: str, password: str) -> bool:
    """A connection is UP once its login is complete."""
    errors, states = list[KafkaError](), set[str]()

    def note(statistics: str) -> None:
        states.update(broker["state"] for broker in json.loads(statistics)["brokers"].values())

    options: dict[str, Any] = {
        "bootstrap.servers": f"127.0.0.1:{place.port}", "security.protocol": "SASL_SSL", "sasl.mechanism": mechanism,
        "ssl.ca.location": str(place.truststore), "sasl.username": "ann", "sasl.password": password,
        "error_cb": errors.append, "stats_cb": note, "statistics.interval.ms": 100, "log_level": 0,
    }  # fmt: skip
    client = AdminClient(options)
    end = time.monotonic() + LIMIT_S
    while not errors and "UP" not in states and time.monotonic() < end:
        client.poll(0.1)
    assert [one.code() for one in errors[:1]] == ([] if "UP" in states else [KafkaError._AUTHENTICATION]), states
    return "UP" in states


CLIENTS = [by_aiokafka, by_confluent]


@pytest.mark.long("clients that wait")
@pytest.mark.parametrize("mechanism", ["PLAIN", SCRAM])
@pytest.mark.parametrize("client", CLIENTS)
def test_clients_log_in(place: Place, client: Callable[[Place, str, str], bool], mechanism: str) -> None:
    with Wire(place.port, ssl.create_default_context(cafile=place.truststore)) as wire:
        until(lambda: wire.log_in(mechanism, "ann", "secret") is wire, "it knows its users")
    assert client(place, mechanism, "secret")
    assert not client(place, mechanism, "wrong")
