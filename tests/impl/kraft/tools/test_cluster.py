"""kafka-cluster: what it asks, what it says to each answer, help beside the document's, and a real Kafka."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import ndiff
from pathlib import Path

import pytest

from impl.kraft.tools.cluster import main
from impl.runtime.ports import free_ports
from impl.runtime.wire import Frames, Reader, frame, int16, int32, read_request_header, response_bytes
from tests.cluster.kafka import CONTROLLER, broker_config, controller_config, missing, nodes, until
from tests.impl.kraft.tools.running import Tool

run = Tool(main)
DRAFT = Path(__file__).parent / "draft"
CLUSTER_ID = "3Db5QLSqSZieL3rJBUUegA"
DESCRIBED = int32(0) + int16(0) + b"\0" + bytes([23]) + CLUSTER_ID.encode() + int32(1) + b"\1" + int32(0) + b"\0"


@contextmanager
def broker(fields: bytes) -> Iterator[tuple[str, list[tuple[int, int, bytes]]]]:
    """One that answers a request with these fields: its address, and the requests, as api key, version and the rest."""
    asked: list[tuple[int, int, bytes]] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                (content,) = Frames().feed(connection.recv(1 << 16))
                reader = Reader(content)
                header = read_request_header(reader)
                asked.append((header.api_key, header.api_version, reader.rest()))
                connection.sendall(frame(response_bytes(header.correlation_id, b"\0" + fields)))

        thread = threading.Thread(target=answer)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}", asked
        thread.join()


def closed_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


def test_the_id_of_a_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    """From the second broker, where the first is not there."""
    with broker(DESCRIBED) as (address, asked):
        assert run(capsys, "cluster-id", "-b", f"{closed_port()},{address}") == (0, [f"Cluster ID: {CLUSTER_ID}"], "")
    assert asked == [(60, 0, b"\0\0\0")]


def test_a_broker_is_unregistered(capsys: pytest.CaptureFixture[str]) -> None:
    with broker(int32(0) + int16(0) + b"\0\0") as (address, asked):
        command = ("unregister", "--bootstrap-server", address, "--id", "77")
        assert run(capsys, *command) == (0, ["Broker 77 is no longer registered."], "")
    assert asked == [(64, 0, b"\0" + int32(77) + b"\0")]


@pytest.mark.parametrize(
    ("command", "fields", "says"),
    [
        (("cluster-id",), int32(0) + int16(0) + b"\0\0", "No cluster ID found. The Kafka version is probably too old."),
        (("cluster-id",), int32(0) + int16(41) + b"\0\0\0", "The cluster did not tell its id: NOT_CONTROLLER"),
        (("cluster-id",), DESCRIBED[:20], "ends within a field"),
        (("cluster-id",), b"", "ends within a field"),
        (("unregister", "-i", "7"), int32(0) + int16(35) + b"\0\0", "does not support the broker unregistration API."),
        (
            ("unregister", "-i", "7"),
            int32(0) + int16(102) + b"\4who\0",
            "The cluster did not unregister broker 7: BROKER_ID_NOT_REGISTERED, who",
        ),
        (("unregister", "-i", "7"), int32(0) + int16(32) + b"\0\0", "unregister broker 7: error 32"),
        (("unregister", "-i", "7"), int32(0) + int16(0) + b"\4", "ends within a field"),
    ],
)
def test_each_answer_that_is_none(
    command: tuple[str, ...], fields: bytes, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with broker(fields) as (address, _):
        code, lines, error = run(capsys, *command, "-b", address)
    assert (code, lines) == (1, []) and says in error


def test_nobody_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines, error = run(capsys, "cluster-id", "-b", closed_port())
    assert (code, lines) == (1, []) and "Connection refused" in error


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "arguments are required: command"),
        (("cluster-id",), "--bootstrap-server"),
        (("unregister", "-b", "a:1"), "--id"),
        (("unregister", "-b", "a:1", "-i", "x"), "--id=x: a whole number"),
        (("cluster-id", "-b", "a"), "HOST:PORT is expected"),
        (("cluster-id", "-b", ","), "HOST:PORT,HOST:PORT is expected"),
    ],
)
def test_a_wrong_usage(arguments: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines, error = run(capsys, *arguments)
    assert (code, lines) == (2, []) and says in error


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("security.protocol=TLS", "security.protocol=TLS: PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL are known"),
        ("security.protocol=SSL\nssl.truststore.location=none.pem", "ssl.truststore.location=none.pem: there is no"),
        ("request.timeout.ms=0", "request.timeout.ms=0: a whole number from 1"),
        ("nonsense", "is not key=value"),
    ],
)
def test_a_wrong_configuration(text: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "admin.properties").write_text(text)
    code, _, error = run(capsys, "cluster-id", "-b", "a:1", "-c", str(tmp_path / "admin.properties"))
    assert code == 2 and says in error


@pytest.mark.parametrize("command", ["", "cluster-id", "unregister"])
def test_the_help_is_that_of_the_document(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """But for a usage line that says `id` where its commands are {cluster-id,unregister}, and for the exit codes."""
    code, lines, _ = run(capsys, *filter(None, [command]), "-h")
    drafts = (DRAFT / f"kafka-cluster{command and '-'}{command}.txt").read_text().splitlines()
    differs = [line for line in ndiff(drafts, lines) if line[0] in "+-"]
    others = [
        "- usage: kafka-cluster [-h] {id,unregister} ...",
        "+ usage: kafka-cluster [-h] {cluster-id,unregister} ...",
        "+ ",
        "+ Exit codes: 0 done, 1 refused or no answer, 2 usage or configuration.",
    ]
    assert code == 0 and differs == ([] if command else others)


@pytest.mark.long("a cluster of two JVMs")
@pytest.mark.skipif(bool(missing()), reason=missing() or "there is an Apache Kafka")
def test_a_real_kafka(capsys: pytest.CaptureFixture[str]) -> None:
    port, controller = free_ports(2)
    configs = {CONTROLLER: controller_config(controller), 1: broker_config(port, port, controller, {})}
    bootstrap = f"127.0.0.1:{port}"
    with nodes(configs) as made:
        for node in made.values():
            node.start()
        until(made[1].has_started, "the broker starts")
        assert run(capsys, "cluster-id", "-b", bootstrap) == (0, ["Cluster ID: ZmVuY2Vwb3N0LXRlc3Q0Mg"], "")
        code, _, error = run(capsys, "unregister", "-b", bootstrap, "-i", "77")
        assert code == 1 and "BROKER_ID_NOT_REGISTERED" in error
        unregistered = run(capsys, "unregister", "-b", bootstrap, "-i", "1")
        assert unregistered == (0, ["Broker 1 is no longer registered."], "")
