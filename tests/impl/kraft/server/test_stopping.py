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
from impl.kraft.storage.snapshots import SnapshotWriter
from impl.kraft.storage.storage import QuorumStorage
from impl.kraft.tools.storage import main as storage
from impl.runtime.ports import free_ports
from tests.impl.kraft.server.controllers import CLUSTER


def configuration(folder: Path, *others: str, more: str = "") -> Configuration:
    """Of a controller that is a quorum by itself. others: further listeners. more: further settings."""
    (port,) = free_ports(1)
    names = ("CONTROLLER", *others)
    listeners = ",".join(f"{name}://127.0.0.1:{port + number}" for number, name in enumerate(names))
    path = folder / "controller.properties"
    path.write_text(
        f"process.roles=controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:{port}\n"
        f"controller.listener.names={','.join(names)}\nlisteners={listeners}\nlog.dirs={folder}/data\n"
        f"listener.security.protocol.map={','.join(f'{name}:PLAINTEXT' for name in names)}\n{more}"
    )
    found, findings = load(path)
    assert found is not None, findings.problems
    return found


def test_a_flush_ends_before_the_log_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = configuration(tmp_path)
    assert order_of_the_end(found, tmp_path, monkeypatch, PendingFlush, "run") == ["flushed", "closed"]


@pytest.mark.long("some seconds")
def test_so_does_that_of_a_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of which a part is left, that the next start deletes."""
    found = configuration(tmp_path, more="metadata.log.max.record.bytes.between.snapshots=1\n")
    assert order_of_the_end(found, tmp_path, monkeypatch, SnapshotWriter, "sync") == ["flushed", "closed"]
    directory = tmp_path / "data" / "__cluster_metadata-0"
    assert [path.suffix for path in directory.glob("*.checkpoint*")] == [".part"]
    QuorumStorage.open(RealDisk(), str(tmp_path / "data")).close()
    assert not [*directory.glob("*.checkpoint*")]


def order_of_the_end(
    found: Configuration, folder: Path, monkeypatch: pytest.MonkeyPatch, kind: type, name: str
) -> list[str]:
    """A server is told to stop while a method waits in its thread."""
    order, flushing, may_end = list[str](), threading.Event(), threading.Event()
    flush, close = getattr(kind, name), QuorumStorage.close

    def slow(of: object) -> None:
        flushing.set()
        may_end.wait()
        flush(of)
        order.append("flushed")

    def closing(of: QuorumStorage) -> None:
        order.append("closed")
        close(of)

    assert storage(["format", "-c", str(folder / "controller.properties"), "-t", CLUSTER]) == 0

    async def stopped_meanwhile() -> None:
        server = ControllerServer(found, RealDisk())
        running = asyncio.create_task(server.run())
        while not flushing.is_set():
            await asyncio.sleep(0.01)
        server.stop()
        asyncio.get_running_loop().call_later(0.2, may_end.set)
        await running

    with monkeypatch.context() as patch:
        patch.setattr(kind, name, slow)
        patch.setattr(QuorumStorage, "close", closing)
        asyncio.run(stopped_meanwhile())
    return order


def test_controllers_are_reached_at_the_first_of_their_listeners(tmp_path: Path) -> None:
    assert endpoint_of(configuration(tmp_path, "OTHER")).name == "CONTROLLER"
