"""Free ports: different ones that one can listen at, and that no connection is given meanwhile."""

from __future__ import annotations

import socket

from impl.runtime.ports import free_ports


def test_ports_are_different_free_and_below_those_of_connections() -> None:
    ports = free_ports(50)
    assert len(set(ports)) == 50 and max(ports) < 32_768
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", ports[0]))
        listener.listen()
        assert ports[0] not in free_ports(50)


def test_ports_that_were_given_and_are_not_used_yet_are_not_given_again() -> None:
    given = [port for _ in range(30) for port in free_ports(100)]
    assert len(set(given)) == len(given)
