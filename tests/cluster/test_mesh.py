"""A node can be cut off from all others, in one way or both, and nobody else with it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from tests.cluster.mesh import BOTH_WAYS, CLIENTS, Mesh, Way

_LATE_S = 0.3


class Echo:
    """Answers what it is sent with the same."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._socket.getsockname()[1])
        self.heard = b""
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            connection, _ = self._socket.accept()
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        while data := connection.recv(100):
            self.heard += data
            connection.sendall(data)


@pytest.fixture
def mesh() -> Iterator[Mesh]:
    made = Mesh()
    yield made
    made.stop()


def is_answered(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port), timeout=_LATE_S) as connection:
        connection.sendall(b"x")
        try:
            return connection.recv(1) == b"x"
        except TimeoutError:
            return False


def test_a_node_reaches_itself_without_a_link(mesh: Mesh) -> None:
    assert mesh.port(1, 1, 1234) == 1234
    assert mesh.port(2, 1, 1234) not in (1234, mesh.port(3, 1, 1234))


def test_who_is_cut_off_is_so_from_all(mesh: Mesh) -> None:
    echo = Echo()
    links = {ends: mesh.port(*ends, echo.port) for ends in ((1, 2), (2, 1), (CLIENTS, 1), (2, 3))}
    mesh.cut(1, *BOTH_WAYS)
    assert {ends for ends, port in links.items() if is_answered(port)} == {(2, 3)}
    mesh.heal(1)
    assert all(is_answered(port) for port in links.values())


@pytest.mark.parametrize(("way", "source", "target"), [(Way.OUT, 1, 2), (Way.IN, 2, 1)])
def test_one_way_keeps_requests_from_passing(mesh: Mesh, way: Way, source: int, target: int) -> None:
    echo = Echo()
    port = mesh.port(source, target, echo.port)
    mesh.cut(1, way)
    assert not is_answered(port) and echo.heard == b""


@pytest.mark.parametrize(("way", "source", "target"), [(Way.IN, 1, 2), (Way.OUT, 2, 1)])
def test_and_the_other_the_answers(mesh: Mesh, way: Way, source: int, target: int) -> None:
    echo = Echo()
    port = mesh.port(source, target, echo.port)
    mesh.cut(1, way)
    assert not is_answered(port) and echo.heard == b"x"
