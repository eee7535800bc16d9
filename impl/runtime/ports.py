"""Ports for processes of this machine that are told in advance where they and others listen."""

from __future__ import annotations

import random
import socket
from collections import deque
from contextlib import suppress
from threading import Lock

_PORTS = range(15_000, 32_000)
"""Below what Linux gives to connections, and to who listens at port 0, from 32,768 on."""
_given: deque[int] = deque(maxlen=4_000)
_lock = Lock()


def free_ports(count: int) -> list[int]:
    """Ports of the loopback interface that nobody listens at just now; different ones.

    They are not of those that the system gives to connections: a server that is down for a while keeps its own. Nor
    are they the last 4,000 that this process was given: several clusters of it are not in each other's way.
    """
    with _lock:
        return [_free_port() for _ in range(count)]


def _free_port() -> int:
    while True:
        port = random.SystemRandom().choice(_PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            if port not in _given:
                _given.append(port)
                return port
