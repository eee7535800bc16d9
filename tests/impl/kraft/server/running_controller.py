"""A controller that is a quorum by itself, in a thread of the test: it starts at once, and its port is real."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from impl.kraft.config.configuration import Configuration, parse
from impl.kraft.metadata.encoding import encode
from impl.kraft.server.server import ControllerServer
from impl.kraft.storage.batches import Record
from impl.kraft.storage.directories import format_directories
from impl.kraft.storage.real_disk import RealDisk
from impl.kraft.tools.bootstrap import bootstrap_records
from impl.runtime.ports import free_ports
from tests.cluster.kafka import until
from tests.impl.kraft.server.controllers import CLUSTER

SCRAM_LEVEL = 11


def configured(folder: Path, more: Mapping[str, object], listeners: Mapping[str, str]) -> Configuration:
    """listeners: the protocols of more listeners, by name; the first one, CONTROLLER, has PLAINTEXT."""
    ports = free_ports(1 + len(listeners))
    named = dict(zip(("CONTROLLER", *listeners), ports, strict=True))
    settings = {
        "process.roles": "controller", "node.id": 1, "controller.quorum.voters": f"1@127.0.0.1:{ports[0]}",
        "controller.listener.names": ",".join(named),
        "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in named.items()),
        "listener.security.protocol.map": ",".join(
            f"{name}:{protocol}" for name, protocol in {"CONTROLLER": "PLAINTEXT", **listeners}.items()
        ),
        "log.dirs": folder / "data", "controller.quorum.election.timeout.ms": 50, **more,
    }  # fmt: skip
    found, findings = parse("".join(f"{name}={value}\n" for name, value in settings.items()))
    assert found is not None, findings.problems
    return found


@contextmanager
def running(
    folder: Path, more: Mapping[str, object], listeners: Mapping[str, str], credentials: tuple[str, ...] = ()
) -> Iterator[dict[str, int]]:
    """The ports of its listeners, by name. credentials: as `kafka-storage format -S` takes them."""
    found = configured(folder, more, listeners)
    records = [Record(encode(one)) for one in bootstrap_records(SCRAM_LEVEL, credentials)]
    format_directories(RealDisk(), found.all_directories, CLUSTER, 1, records)
    loop, server = asyncio.new_event_loop(), ControllerServer(found, RealDisk())
    unhandled = list[object]()
    loop.set_exception_handler(lambda _, context: unhandled.append(context))
    thread = Thread(target=lambda: loop.run_until_complete(server.run()))
    thread.start()
    try:
        until(lambda: _listens(found.listeners[-1].port), "it listens")
        yield {one.name: one.port for one in found.listeners}
    finally:
        loop.call_soon_threadsafe(server.stop)
        thread.join()
        loop.close()
    assert not unhandled, unhandled


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True
