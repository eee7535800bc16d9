"""What is between the nodes of a cluster: what passes, what is held, what comes twice, and what is kept of it."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
from kio.schema.broker_heartbeat.v0 import request as heartbeat_request
from kio.schema.broker_heartbeat.v0 import response as heartbeat_response
from kio.schema.broker_registration.v4 import response as registration_response
from kio.schema.errors import ErrorCode
from kio.schema.types import BrokerId
from kio.static.primitive import i64

from impl.apache.recording import bodies, requests
from impl.apache.recording.network import Network, Way
from impl.apache.recording.proxies import Request
from impl.kraft.server.entities import NO_TAGS, NO_TIME
from impl.runtime.entities import entity_bytes
from impl.runtime.ports import free_ports
from impl.runtime.wire import RequestHeader, frame, request_bytes

CONTROLLER, BROKER = 100, 0
REGISTRATION, FETCH = 62, 1
REFUSED = entity_bytes(
    registration_response.BrokerRegistrationResponse(
        throttle_time=NO_TIME, error_code=ErrorCode.duplicate_broker_registration, broker_epoch=i64(-1)
    )
)


class Server:
    """Stands for a controller: answers each frame with a refusal. heard: the requests, by their correlation id."""

    def __init__(self, port: int) -> None:
        self.heard: list[int] = []
        self._listening = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            while length := stream.read(4):
                content = stream.read(struct.unpack(">i", length)[0])
                self.heard.append(struct.unpack_from(">i", content, 4)[0])
                connection.sendall(frame(content[4:8] + NO_TAGS + REFUSED))

    def close(self) -> None:
        self._listening.close()


class Client:
    """A connection by way of the proxy before the controller."""

    def __init__(self, port: int, client_id: str) -> None:
        self._client_id = client_id
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self._stream = self._socket.makefile("rb")

    def send(self, correlation: int, api: int = REGISTRATION, body: bytes = b"") -> None:
        self._socket.sendall(frame(request_bytes(RequestHeader(api, 4, correlation, self._client_id), body)))

    def answered(self) -> int:
        content = self._stream.read(struct.unpack(">i", self._stream.read(4))[0])
        return int(struct.unpack_from(">i", content)[0])

    def hears_nothing(self) -> bool:
        self._socket.settimeout(0.1)
        try:
            return not self._socket.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            return True
        finally:
            self._socket.settimeout(10)

    def close(self) -> None:
        self._stream.close()
        self._socket.close()


class Cluster:
    """A controller, a broker that is down, and what is between them. down: where that broker is seen."""

    def __init__(self) -> None:
        port, self._port, other, self.down = free_ports(4)
        self.server, self.network = Server(port), Network()
        self.network.stand_before(CONTROLLER, self._port, port)
        self.network.stand_before(BROKER, self.down, other)
        self._clients: list[Client] = []

    def client(self, client_id: str, port: int | None = None) -> Client:
        """A connection to the controller, or to a port."""
        self._clients.append(Client(port or self._port, client_id))
        return self._clients[-1]

    def stop(self) -> None:
        for client in self._clients:
            client.close()
        self.network.close()
        self.server.close()


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster()
    yield made
    made.stop()


def test_what_a_broker_asks_a_controller_passes_and_is_kept(cluster: Cluster) -> None:
    broker, fetcher, tool = (cluster.client(name) for name in ("0", "raft-client-0", "admin-7"))
    for number, (client, api) in enumerate([(broker, REGISTRATION), (fetcher, FETCH), (tool, REGISTRATION)]):
        client.send(number, api)
        assert client.answered() == number
    [exchange] = cluster.network.exchanges
    assert (exchange.broker, exchange.controller, exchange.request.api) == (BROKER, CONTROLLER, REGISTRATION)
    assert 0 < exchange.request.sent_ms <= exchange.answered_ms
    assert exchange.response == NO_TAGS + REFUSED
    assert bodies.line(exchange) is None, "the request of this test has no body"


def test_a_request_that_is_copied_comes_twice_and_is_answered_once(cluster: Cluster) -> None:
    broker = cluster.client("0")
    cluster.network.copy(BROKER)
    broker.send(5)
    assert broker.answered() == 5
    broker.send(6, FETCH)
    assert broker.answered() == 6, "of no other kind of request"
    assert cluster.server.heard == [5, 5, 6]
    assert len(cluster.network.exchanges) == 2
    cluster.network.heal(BROKER)
    broker.send(7)
    assert broker.answered() == 7 and cluster.server.heard[3:] == [7]


@pytest.mark.parametrize(
    ("node", "way", "arrives"),
    [
        (BROKER, Way.BOTH, False), (BROKER, Way.OUT, False), (BROKER, Way.IN, True),
        (CONTROLLER, Way.BOTH, False), (CONTROLLER, Way.IN, False), (CONTROLLER, Way.OUT, True),
    ],
)  # fmt: skip
def test_what_is_cut_is_held_until_it_is_healed(cluster: Cluster, node: int, way: Way, arrives: bool) -> None:
    broker, tool = cluster.client("0"), cluster.client("admin")
    cluster.network.cut(node, way)
    broker.send(1)
    assert broker.hears_nothing()
    assert cluster.server.heard == [1] * arrives
    tool.send(2)
    assert tool.answered() == 2, "clients are not cut off"
    cluster.network.heal(node)
    assert broker.answered() == 1 and sorted(cluster.server.heard) == [1, 2]


def test_what_is_delayed_takes_at_least_that_long_each_way(cluster: Cluster) -> None:
    broker = cluster.client("broker-0-fetcher-0")
    cluster.network.delay(BROKER, 30)
    begun_s = time.monotonic()
    broker.send(1)
    assert broker.answered() == 1
    assert time.monotonic() - begun_s >= 0.06


def test_who_stops_listens_no_more() -> None:
    made = Cluster()
    client = made.client("0")
    made.stop()
    with pytest.raises(ConnectionError):
        Client(made.down, "0")
    client.close()


def test_a_connection_to_a_node_that_is_down_ends(cluster: Cluster) -> None:
    broker = cluster.client("100", cluster.down)
    with pytest.raises((ConnectionError, struct.error)):
        broker.send(1)
        broker.answered()


# What a file keeps of it.


def test_a_request_and_its_answer_are_a_line() -> None:
    body = entity_bytes(
        heartbeat_request.BrokerHeartbeatRequest(
            broker_id=BrokerId(1), broker_epoch=i64(7), current_metadata_offset=i64(9), want_fence=False,
            want_shut_down=True,
        )
    )  # fmt: skip
    answer = entity_bytes(
        heartbeat_response.BrokerHeartbeatResponse(
            throttle_time=NO_TIME, error_code=ErrorCode.none, is_caught_up=True, is_fenced=False, should_shut_down=True
        )
    )
    request = Request(63, 0, "1", NO_TAGS + body, sent_ms=5)
    exchange = requests.Exchange(request, NO_TAGS + answer, BROKER, CONTROLLER, 8)
    found = bodies.line(exchange)
    assert found is not None
    assert (found["sent_ms"], found["answered_ms"], found["api"]) == (5, 8, "BrokerHeartbeat")
    assert found["request"]["want_shut_down"] and found["request"]["broker_epoch"] == 7
    assert (found["response"]["error_code"], found["response"]["throttle_time"]) == ("none", 0)
    assert bodies.line(replace(exchange, request=replace(request, version=99))) is None, "of a release to come"


def line(api: str, **fields: object) -> dict[str, object]:
    return {"sent_ms": 5, "answered_ms": 7, "broker": 1, "controller": 100, "api": api, **fields}


def test_a_file_says_what_was_refused_and_what_leaders_asked_for(tmp_path: Path) -> None:
    topic, incarnation = UUID(int=3), UUID(int=4)
    members = [{"broker_id": 1, "broker_epoch": 9}, {"broker_id": 2, "broker_epoch": -1}]
    asked = {"partition_index": 0, "leader_epoch": 2, "partition_epoch": 6, "new_isr_with_epochs": members}
    answered = {"partition_index": 0, "partition_epoch": 7, "error_code": "none"}
    late = {"partition_index": 1, "leader_epoch": 1, "partition_epoch": 1, "new_isr_with_epochs": members}
    refused = {"partition_index": 1, "partition_epoch": 0, "error_code": "invalid_update_version"}
    lines = [
        line("BrokerHeartbeat", request={}, response={"error_code": "none"}),
        line("BrokerRegistration", request={"incarnation_id": str(incarnation)}, response={"error_code": "none"}),
        line(
            "BrokerRegistration", request={"incarnation_id": str(incarnation)},
            response={"error_code": "duplicate_broker_registration"},
        ),
        line(
            "AlterPartition", request={"topics": [{"topic_id": str(topic), "partitions": [asked, late]}]},
            response={"topics": [{"topic_id": str(topic), "partitions": [answered, refused]}]},
        ),
    ]  # fmt: skip
    path = tmp_path / "requests.ndjson"
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    found = requests.seen(requests.read(path))
    assert found.refused == [requests.Refused(5, 7, 1, 100, incarnation)]
    assert found.isr == [requests.AskedForIsr(1, (topic, 0), 2, 6, (1, 2), 7)]
