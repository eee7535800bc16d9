"""A server that stops closes its log once nothing is under way with it, and says which listeners it does not serve."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from impl.kraft.config.configuration import Configuration, load
from impl.kraft.server.server import ControllerServer, endpoint_of
from impl.kraft.storage.log import PendingFlush
from impl.kraft.storage.real_disk import RealDisk
from impl.kraft.storage.storage import QuorumStorage
from impl.kraft.tools.storage import main as storage
from impl.runtime.properties import ConfigError
from tests.cluster.processes import free_ports
from tests.impl.kraft.server.controllers import CLUSTER


def configuration(folder: Path, *others: str) -> Configuration:
    """Of a controller that is a quorum by itself. others: further listeners."""
    (port,) = free_ports(1)
    names = ("CONTROLLER", *others)
    listeners = ",".join(f"{name}://127.0.0.1:{port + number}" for number, name in enumerate(names))
    path = folder / "controller.properties"
    path.write_text(
        f"process.roles=controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:{port}\n"
        f"controller.listener.names={','.join(names)}\nlisteners={listeners}\nlog.dirs={folder}/data\n"
        f"listener.security.protocol.map={','.join(f'{name}:PLAINTEXT' for name in names)}\n"
    )
    found, findings = load(path)
    assert found is not None, findings.problems
    return found


def test_a_flush_ends_before_the_log_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order, flushing, may_end = list[str](), threading.Event(), threading.Event()
    flush, close = PendingFlush.run, QuorumStorage.close

    def slow(pending: PendingFlush) -> None:
        flushing.set()
        may_end.wait()
        flush(pending)
        order.append("flushed")

    def closing(of: QuorumStorage) -> None:
        order.append("closed")
        close(of)

    monkeypatch.setattr(PendingFlush, "run", slow)
    monkeypatch.setattr(QuorumStorage, "close", closing)
    found = configuration(tmp_path)
    assert storage(["format", "-c", str(tmp_path / "controller.properties"), "-t", CLUSTER]) == 0

    async def stopped_meanwhile() -> None:
        server = ControllerServer(found, RealDisk())
        running = asyncio.create_task(server.run())
        while not flushing.is_set():
            await asyncio.sleep(0.01)
        server.stop()
        asyncio.get_running_loop().call_later(0.2, may_end.set)
        await running

    asyncio.run(stopped_meanwhile())
    assert order == ["flushed", "closed"]


def test_listeners_that_are_not_served_are_named(tmp_path: Path) -> None:
    assert endpoint_of(configuration(tmp_path)).name == "CONTROLLER"
    with pytest.raises(ConfigError, match="OTHER"):
        endpoint_of(configuration(tmp_path, "OTHER"))
