"""Listeners with logins and TLS, without a controller behind them: who gets in, and what becomes of the others."""

from __future__ import annotations

import asyncio
import logging
import ssl
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impl.kraft.config.configuration import Configuration, parse
from impl.kraft.image import Image
from impl.kraft.metadata.core_records import to_core
from impl.kraft.records import FeatureLevelRecord
from impl.kraft.server.access import Credentials, Doors, access_of
from impl.kraft.server.connections import Caller
from impl.kraft.server.login import LoginError, log_in
from impl.kraft.server.tls import client_context
from impl.kraft.tools.bootstrap import scram_record
from impl.runtime.client import connected
from impl.runtime.ports import free_ports
from impl.runtime.properties import ConfigError
from impl.runtime.wire import RequestHeader, frame, request_bytes
from tests.cluster.certificates import Authority
from tests.cluster.kafka import until
from tests.impl.kraft.server.secured import Refused, Wire, plain_module, tls_settings

ASK = 99
SCRAM = "SCRAM-SHA-256"
USERS = {"ann": "a-secret", "voter": "v-secret"}


def credential(user: str, password: str, mechanism: str = SCRAM) -> Any:
    return to_core(scram_record(f"{mechanism}=[name={user},password={password}]"))


BOB, BOBS_FIRST = credential("bob", "b-secret"), credential("bob", "first")


def configuration(port: int, protocol: str, **more: object) -> Configuration:
    lines = {
        "process.roles": "controller", "node.id": 1, "controller.listener.names": "C",
        "controller.quorum.voters": f"1@127.0.0.1:{port}", "listeners": f"C://127.0.0.1:{port}", "log.dirs": "/none",
        "listener.security.protocol.map": f"C:{protocol}", "sasl.enabled.mechanisms": f"PLAIN,{SCRAM}",
        "sasl.mechanism.controller.protocol": "PLAIN", "connection.failed.authentication.delay.ms": 1,
        "listener.name.c.plain.sasl.jaas.config": plain_module(("voter", "v-secret"), USERS),
        **{name.replace("_", "."): value for name, value in more.items()},
    }  # fmt: skip
    found, findings = parse("".join(f"{name}={value}\n" for name, value in lines.items()))
    assert found is not None, findings.problems
    return found


LARGE, LARGE_BYTES = 98, 1 << 20
answered = list[int]()
"""The keys of all that was asked."""


async def echo(header: RequestHeader, body: bytes, caller: Caller) -> bytes:
    answered.append(header.api_key)
    if header.api_key == LARGE:
        return bytes(LARGE_BYTES)
    return f"{header.api_key} {caller.principal} {caller.host} {len(body)}".encode()


@contextmanager
def served(found: Configuration, image: Image | None = None) -> Iterator[int]:
    """The port of listeners that run in a thread, and answer who asks."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever)
    credentials = Credentials(lambda: image or Image(), (BOBS_FIRST,))
    doors = Doors(found, found.listeners, credentials, echo, 100_000, logging.getLogger("test"))
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(doors.open(), loop).result(10)
        yield found.listeners[0].port
    finally:
        asyncio.run_coroutine_threadsafe(doors.close(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def asked(wire: Wire, key: int = ASK, more: bytes = b"") -> bytes:
    """What the echo says; empty where the connection is closed."""
    wire.send(frame(request_bytes(RequestHeader(key, 0, 7, "t"), more)))
    return wire.answer()[4:]


def image_with(*records: Any) -> Image:
    image = Image()
    for record in (FeatureLevelRecord("metadata.version", 11, 11), *records):
        image.replay_record(record)
    return image


@pytest.fixture(scope="module")
def plain() -> Iterator[int]:
    with served(configuration(free_ports(1)[0], "SASL_PLAINTEXT"), image_with(BOB)) as port:
        yield port


@pytest.mark.parametrize(("mechanism", "user", "password"), [("PLAIN", "ann", "a-secret"), (SCRAM, "bob", "b-secret")])
def test_who_logs_in_is_who_asks(plain: int, mechanism: str, user: str, password: str) -> None:
    with Wire(plain) as wire:
        assert asked(wire.log_in(mechanism, user, password)) == f"{ASK} User:{user} 127.0.0.1 0".encode()


@pytest.mark.parametrize(
    ("mechanism", "user", "password", "code"),
    [
        ("PLAIN", "ann", "b-secret", 58), ("PLAIN", "bob", "b-secret", 58), (SCRAM, "bob", "first", 58),
        (SCRAM, "ann", "a-secret", 58), (SCRAM, "nobody", "", 58), ("SCRAM-SHA-512", "bob", "b-secret", 33),
        ("GSSAPI", "", "", 33),
    ],
)  # fmt: skip
def test_who_cannot_log_in_is_told_and_cut_off(plain: int, mechanism: str, user: str, password: str, code: int) -> None:
    with Wire(plain) as wire:
        with pytest.raises(Refused) as refused:
            wire.log_in(mechanism, user, password)
        assert refused.value.code == code
        assert asked(wire) == b""


def test_before_a_login_only_versions_are_told(plain: int) -> None:
    with Wire(plain) as wire:
        assert asked(wire, 18) == b"18 User:ANONYMOUS 127.0.0.1 0"
        assert asked(wire) == b""


def test_before_a_login_no_large_request_is_read() -> None:
    found = configuration(free_ports(1)[0], "SASL_PLAINTEXT", sasl_server_max_receive_size=1_000)
    with served(found) as port:
        with Wire(port) as wire:
            assert asked(wire, 18, bytes(2_000)) == b""
        with Wire(port) as wire:
            assert asked(wire.log_in("PLAIN", "ann", "a-secret"), more=bytes(2_000)).endswith(b" 2000")


def test_a_login_happens_once(plain: int) -> None:
    with Wire(plain) as wire:
        wire.log_in("PLAIN", "ann", "a-secret")
        assert int(wire.choose("PLAIN").error_code) == 34
        with pytest.raises(Refused, match="34"):
            wire.respond(b"\0ann\0a-secret")
        assert b"User:ann" in asked(wire)
    with Wire(plain) as wire:
        assert int(wire.choose("PLAIN").error_code) == 0
        with pytest.raises(ConnectionError):
            wire.choose("PLAIN")


def test_where_there_are_no_logins_nobody_logs_in() -> None:
    with served(configuration(free_ports(1)[0], "PLAINTEXT")) as port, Wire(port) as wire:
        chosen = wire.choose("PLAIN")
        assert (int(chosen.error_code), chosen.mechanisms) == (34, ())
        assert b"User:ANONYMOUS" in asked(wire)


def test_credentials_of_the_format_count_until_there_is_a_log() -> None:
    with served(configuration(free_ports(1)[0], "SASL_PLAINTEXT")) as port, Wire(port) as wire:
        assert b"User:bob" in asked(wire.log_in(SCRAM, "bob", "first"))
    with (
        served(configuration(free_ports(1)[0], "SASL_PLAINTEXT"), image_with()) as port,
        Wire(port) as wire,
        pytest.raises(Refused),
    ):
        wire.log_in(SCRAM, "bob", "first")


FRAMES = st.binary(max_size=40) | st.builds(
    lambda key, version, rest: request_bytes(RequestHeader(key, version, 1, "t"), rest),
    st.sampled_from((17, 18, 36, 58)), st.integers(0, 4), st.binary(max_size=20),
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(st.lists(FRAMES.map(frame) | st.binary(max_size=9), max_size=4))
def test_whatever_comes_others_are_served(plain: int, frames: list[bytes]) -> None:
    with Wire(plain) as wire:
        with suppress(OSError):  # it was cut off before its last byte
            wire.send(b"".join(frames))
        with Wire(plain) as other:
            assert b"User:ann" in asked(other.log_in("PLAIN", "ann", "a-secret"))


@pytest.mark.parametrize("size_bytes", [-1, 100_001, (1 << 31) - 1])
def test_a_frame_of_a_wrong_size_is_not_waited_for(plain: int, size_bytes: int) -> None:
    with Wire(plain) as wire:
        wire.log_in("PLAIN", "ann", "a-secret")
        wire.send(struct.pack(">i", size_bytes))
        assert wire.answer() == b""


def test_idle_connections_are_closed() -> None:
    found = configuration(free_ports(1)[0], "SASL_PLAINTEXT", connections_max_idle_ms=50)
    with served(found) as port, Wire(port) as wire:
        assert wire.answer() == b""


def test_who_reads_nothing_is_answered_no_more(plain: int) -> None:
    """What waits for a slow reader is what the kernel holds, and one answer."""
    request, most = frame(request_bytes(RequestHeader(LARGE, 0, 7, "t"), b"")), 1_000
    with Wire(plain) as slow, Wire(plain) as other:
        slow.log_in("PLAIN", "ann", "a-secret").send(request * most)
        other.log_in("PLAIN", "ann", "a-secret")
        until(lambda: b"User:ann" in asked(other) and LARGE in answered, "both are served")
        for _ in range(100):
            assert b"User:ann" in asked(other)
        assert answered.count(LARGE) < most // 10


# TLS.


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ours"))


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("theirs"))


def context(authority: Authority, keystore: Path | None = None) -> ssl.SSLContext:
    found = ssl.create_default_context(cafile=authority.truststore)
    if keystore is not None:
        found.load_cert_chain(keystore)
    return found


def with_tls(authority: Authority, protocol: str = "SSL", **more: object) -> Configuration:
    of_tls = tls_settings(authority.keystore("node"), authority.truststore)
    return configuration(free_ports(1)[0], protocol, **{**of_tls, **more})


RULES = "RULE:.*CN=([^,]*).*/$1/"


@pytest.mark.parametrize(
    ("auth", "keystore", "principal"),
    [("none", "client", "ANONYMOUS"), ("requested", None, "ANONYMOUS"), ("requested", "client", "client"),
     ("required", "client", "client")],
)  # fmt: skip
def test_a_certificate_says_who_asks(ours: Authority, auth: str, keystore: str | None, principal: str) -> None:
    found = with_tls(ours, ssl_client_auth=auth, ssl_principal_mapping_rules=RULES)
    own = None if keystore is None else ours.keystore(keystore)
    with served(found) as port, Wire(port, context(ours, own)) as wire:
        assert f" User:{principal} ".encode() in asked(wire)


def is_let_in(port: int, tls: ssl.SSLContext | None) -> bool:
    try:
        with Wire(port, tls) as wire:
            return asked(wire, 18) != b""
    except (OSError, ssl.SSLError):
        return False


def test_other_certificates_and_none_are_refused(ours: Authority, theirs: Authority) -> None:
    found = with_tls(ours, ssl_client_auth="required", ssl_principal_mapping_rules="RULE:.*CN=(client).*/$1/")
    with served(found) as port:
        assert is_let_in(port, context(ours, ours.keystore("client")))
        for tls in (
            None, context(ours), context(ours, theirs.keystore("client")), context(ours, ours.keystore("stranger")),
            context(theirs, ours.keystore("client")),
        ):  # fmt: skip
            assert not is_let_in(port, tls)
        assert is_let_in(port, context(ours, ours.keystore("client")))


def test_a_login_over_tls(ours: Authority) -> None:
    with served(with_tls(ours, "SASL_SSL"), image_with(BOB)) as port, Wire(port, context(ours)) as wire:
        assert b"User:bob" in asked(wire.log_in(SCRAM, "bob", "b-secret"))


@pytest.mark.parametrize(
    ("key", "content", "says"),
    [
        ("ssl.keystore.location", None, "there is no such file"), ("ssl.keystore.location", "x", "a PEM file with a"),
        ("ssl.truststore.location", "x", "a PEM file with certificates is expected"),
    ],
)  # fmt: skip
def test_a_file_that_is_none(ours: Authority, tmp_path: Path, key: str, content: str | None, says: str) -> None:
    path = tmp_path / "x.pem"
    if content is not None:
        path.write_text(content)
    found = with_tls(ours, "SSL", **{key: path, "ssl.client.auth": "required"})
    with pytest.raises(ConfigError, match=says) as refused:
        Doors(found, found.listeners, Credentials(Image, ()), echo, 1_000, logging.getLogger("test"))
    assert key in str(refused.value)


# The way out.


def own_login(found: Configuration, at: int) -> Callable[[], None]:
    access = access_of(found)

    async def run() -> None:
        reader, writer = await connected(("127.0.0.1", at), access.tls)
        try:
            if access.identity is not None:
                await log_in(reader, writer, "test", access.identity)
        finally:
            writer.close()

    return lambda: asyncio.run(run())


def scram_login(user: str, password: str) -> dict[str, object]:
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    return {
        "sasl.mechanism.controller.protocol": SCRAM,
        "listener.name.c.scram-sha-256.sasl.jaas.config": f'{module} required username="{user}" password="{password}";',
    }


def test_a_node_gets_in_where_it_is_known(ours: Authority, theirs: Authority) -> None:
    found = with_tls(ours, "SASL_SSL", **scram_login("bob", "b-secret"))
    with served(found, image_with(BOB)) as port:
        own_login(found, port)()
        own_login(with_tls(ours, "SASL_SSL"), port)()  # by PLAIN
        with pytest.raises(LoginError, match="the user or the password is not right"):
            own_login(with_tls(ours, "SASL_SSL", **scram_login("bob", "other")), port)()
        with pytest.raises(ssl.SSLError):
            own_login(with_tls(theirs, "SASL_SSL"), port)()
    assert "secret" not in repr(access_of(found).identity)


def test_a_mechanism_that_is_not_offered_is_named(ours: Authority) -> None:
    found = configuration(free_ports(1)[0], "SASL_PLAINTEXT", **{"sasl.enabled.mechanisms": "PLAIN"})
    with served(found) as port:
        other = configuration(free_ports(1)[0], "SASL_PLAINTEXT", **scram_login("bob", "b-secret"))
        with pytest.raises(LoginError, match="SCRAM-SHA-256 is not offered, but PLAIN"):
            own_login(other, port)()


def test_a_host_of_another_name_is_not_trusted(ours: Authority) -> None:
    elsewhere = tls_settings(ours.keystore("elsewhere", "elsewhere.example.org"), ours.truststore)
    found = configuration(free_ports(1)[0], "SSL", **elsewhere)
    with served(found) as port:
        with pytest.raises(ssl.SSLError):
            own_login(found, port)()
        lax = configuration(port, "SSL", **{**elsewhere, "ssl.endpoint.identification.algorithm": ""})
        own_login(lax, port)()
    assert found.security["C"].tls is not None and client_context(found.security["C"].tls).check_hostname
