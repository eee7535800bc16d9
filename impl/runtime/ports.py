"""Ports for processes of this machine that are told in advance where they and others listen."""

from __future__ import annotations

import random
import socket
from contextlib import suppress

_PORTS = range(15_000, 32_000)
"""Below what Linux gives to connections, and to who listens at port 0, from 32,768 on."""


def free_ports(count: int) -> list[int]:
    """Ports of the loopback interface that nobody listens at just now; different ones.

    They are not of those that the system gives to connections: a server that is down for a while keeps its own.
    """
    found = list[int]()
    while len(found) < count:
        port = random.SystemRandom().choice(_PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            if port not in found:
                found.append(port)
    return found
