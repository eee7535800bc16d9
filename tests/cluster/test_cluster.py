"""The parts of a test cluster: links cut and delayed, processes paused and killed, nothing left behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from impl.runtime.ports import free_ports
from impl.zookeeper.transaction_log import Logged
from tests.cluster import zookeeper
from tests.cluster.processes import ManagedProcess
from tests.cluster.proxy import Direction, proxy
from tests.cluster.zookeeper import Ensemble, Server, remove_folders_of_killed_runs

LIMIT_S = 30.0


def until(happens: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT_S
    while not happens():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@contextmanager
def echo() -> Iterator[tuple[str, list[bytes]]]:
    """A server that sends back what it gets. Yields its address, and what it got."""
    got: list[bytes] = []
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                threading.Thread(target=answer, args=(connection,), daemon=True).start()

    def answer(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            while data := connection.recv(1000):
                got.append(data)
                connection.sendall(data)

    threading.Thread(target=serve, daemon=True).start()
    with listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}", got


def connected(address: str) -> socket.socket:
    host, port = address.split(":")
    return socket.create_connection((host, int(port)), timeout=LIMIT_S)


def is_listening(address: str) -> bool:
    try:
        connected(address).close()
    except OSError:
        return False
    return True


def received(connection: socket.socket, limit_s: float) -> bytes | None:
    """What arrives within a time; None where nothing does."""
    connection.settimeout(limit_s)
    try:
        return connection.recv(1000)
    except TimeoutError:
        return None


def test_a_link_lets_through_holds_and_delays() -> None:
    with echo() as (server, got), proxy(server) as link, connected(link.address) as client:
        client.sendall(b"1")
        assert received(client, LIMIT_S) == b"1"
        link.cut(Direction.TO_CLIENT)
        client.sendall(b"2")
        until(lambda: got[-1] == b"2")
        assert received(client, 0.05) is None
        link.heal()
        assert received(client, LIMIT_S) == b"2"
        link.cut(Direction.TO_SERVER)
        client.sendall(b"3")
        assert received(client, 0.05) is None and got[-1] == b"2"
        link.heal()
        assert received(client, LIMIT_S) == b"3"
        link.delay(100)
        started = time.monotonic()
        client.sendall(b"4")
        assert received(client, LIMIT_S) == b"4" and time.monotonic() - started >= 0.2, "100 ms each way"
        link.reset()
        with suppress(ConnectionResetError):
            assert received(client, LIMIT_S) == b""
    with pytest.raises(OSError):
        connected(link.address)


def test_a_link_loses_the_reply_to_one_request() -> None:
    with echo() as (server, got), proxy(server) as link, connected(link.address) as client:
        met = threading.Event()
        link.lose_reply(lambda data: data == b"2", met.set)
        client.sendall(b"1")
        assert received(client, LIMIT_S) == b"1" and not met.is_set()
        client.sendall(b"2")
        until(lambda: got[-1] == b"2" and met.is_set())
        assert received(client, 0.05) is None
        link.reset()
        link.heal()
        with connected(link.address) as again:
            again.sendall(b"2")
            assert received(again, LIMIT_S) == b"2", "the next one is answered"


def test_a_link_to_a_server_that_is_down_closes_connections() -> None:
    nobody = f"127.0.0.1:{free_ports(1)[0]}"
    with proxy(nobody) as link, connected(link.address) as client, suppress(ConnectionResetError):
        assert received(client, LIMIT_S) == b""


COUNTING = """
import pathlib, sys, time
count = 0
while True:
    count += 1
    pathlib.Path(sys.argv[1]).write_text(str(count))
    time.sleep(0.005)
"""


def test_a_paused_process_does_nothing_until_it_is_resumed(tmp_path: Path) -> None:
    file = tmp_path / "count"
    process = ManagedProcess([sys.executable, "-c", COUNTING, str(file)], tmp_path / "log")
    until(file.exists)
    process.pause()
    until(lambda: "T" in Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0])
    count = file.read_text()
    time.sleep(0.05)
    assert file.read_text() == count
    process.resume()
    until(lambda: file.read_text() not in ("", count))
    process.pause()
    process.kill()
    assert process.exit_code == -signal.SIGKILL
    process.kill()  # it is gone


# Short sleeps: where the signal comes just before a sleep begins, Python runs the handler only once the sleep is over.
ENDS_WITH_7 = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
print(1, flush=True)
while True:
    time.sleep(0.05)
"""


def test_sigterm_ends_a_paused_process_too(tmp_path: Path) -> None:
    process = ManagedProcess([sys.executable, "-c", ENDS_WITH_7], tmp_path / "log")
    until(lambda: "1" in process.output())
    process.pause()
    assert process.terminate() == 7


STARTS_ZOOKEEPER = """
import pathlib, signal, sys, time
signal.signal(signal.SIGTERM, signal.default_int_handler)
signal.signal(signal.SIGINT, signal.default_int_handler)
from tests.cluster.zookeeper import zookeeper
with zookeeper() as ensemble:
    print(ensemble.servers[0].process.pid, ensemble.hosts, flush=True)
    while True:
        time.sleep(0.05)
"""


@pytest.mark.xdist_group("zookeeper")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_run_leaves_nothing_behind(number: signal.Signals, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STARTS_ZOOKEEPER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as run:  # fmt: skip
        assert run.stdout is not None
        pid, hosts = run.stdout.readline().split()
        assert is_running(int(pid)) and list(tmp_path.iterdir())
        run.send_signal(number)
    until(lambda: not is_running(int(pid)) and not is_listening(hosts))
    if number == signal.SIGKILL:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tempfile, "tempdir", str(tmp_path))
            remove_folders_of_killed_runs()
    assert not list(tmp_path.glob("fencepost-zookeeper-*"))


@pytest.mark.parametrize(
    ("logs", "committed"),
    [
        ([[0x1_0001, 0x1_0002]], [0x1_0001, 0x1_0002]),
        ([[0x1_0001, 0x1_0002, 0x2_0001], [0x1_0001, 0x2_0001], [0x1_0001, 0x2_0001]], [0x1_0001, 0x2_0001]),
        ([[0x1_0001, 0x2_0001], [0x1_0001, 0x1_0002, 0x2_0001], [0x1_0002]], [0x1_0001, 0x1_0002, 0x2_0001]),
        ([[0x1_0001, 0x3_0001], [0x1_0001, 0x3_0001], [0x1_0001, 0x2_0001]], [0x1_0001, 0x3_0001]),
        ([[0x1_0001, 0x1_0002], [0x1_0001], [0x1_0001]], [0x1_0001, 0x1_0002]),
    ],
    ids=["alone", "a leader died before", "synced by a snapshot", "a whole epoch", "under way"],
)
def test_what_no_majority_has_logged_before_its_leader_died_was_not_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, logs: list[list[int]], committed: list[int]
) -> None:
    def zxid(short: int) -> int:
        return (short >> 16 << 32) | (short & 0xFFFF)

    servers = [Server(number, tmp_path / str(number), 0, "", ()) for number in range(len(logs))]
    of = {one.log_folder: [Logged(zxid(n), 0, 0, ()) for n in log] for one, log in zip(servers, logs, strict=True)}
    monkeypatch.setattr(zookeeper, "read_logs", of.__getitem__)
    assert [one.zxid for one in Ensemble(servers, {}).transactions()] == [zxid(n) for n in committed]
