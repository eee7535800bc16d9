"""Controllers as processes: they elect a leader, lose it, and keep one log, which Kafka's own tool reads."""

from __future__ import annotations

import socket
import struct
from pathlib import Path

import pytest

from impl.kraft.tools.dump_log import main as dump_log
from impl.runtime.client import ask
from impl.runtime.wire import Reader, WireError
from tests.cluster.kafka import tool, until
from tests.impl.kraft.released import VERSION, released
from tests.impl.kraft.server.controllers import PROGRAM, VOTERS, controllers

pytestmark = pytest.mark.long("three processes")
on_each_loop = pytest.mark.parametrize("program", [PROGRAM, (*PROGRAM, "--uvloop")], ids=["asyncio", "uvloop"])


@on_each_loop
def test_a_leader_that_is_killed_is_followed_by_another(tmp_path: Path, program: tuple[str, ...]) -> None:
    with controllers(tmp_path, program=program) as cluster:
        first = cluster.await_leader()
        epoch = cluster.quorum_of(first)["epoch"]
        cluster.processes[first].kill()
        left = tuple(node for node in VOTERS if node != first)
        second = cluster.await_leader(left)
        assert cluster.quorum_of(second)["epoch"] > epoch
        cluster.start(first)
        assert cluster.await_leader() == second
        for node in VOTERS:
            cluster.await_growth(node)
        for process in cluster.processes.values():
            process.pause()
        logs = sorted((cluster.data(node) for node in VOTERS), key=len)
        assert logs[0] and all(log.startswith(logs[0]) for log in logs)


@on_each_loop
def test_a_leader_that_is_told_to_stop_resigns(tmp_path: Path, program: tuple[str, ...]) -> None:
    """It goes once another one leads, which has heard of it, and has not waited until its fetches time out."""
    with controllers(tmp_path, program=program) as cluster:
        first = cluster.await_leader()
        assert cluster.processes[first].terminate() == 0
        cluster.await_leader(tuple(node for node in VOTERS if node != first))
        *_, heard, last = cluster.log_of(first)
        assert last["event"] == "stopped" and heard["leader"] not in (None, first)


def test_one_that_was_paused_catches_up(tmp_path: Path) -> None:
    with controllers(tmp_path) as cluster:
        leader = cluster.await_leader()
        paused = next(node for node in VOTERS if node != leader)
        cluster.processes[paused].pause()
        cluster.await_growth(leader)
        cluster.processes[paused].resume()
        cluster.await_growth(paused)
        assert cluster.await_leader() == leader  # a pre-vote is refused while there is a leader


def test_what_cannot_be_read_costs_the_connection_alone(tmp_path: Path) -> None:
    with controllers(tmp_path) as cluster:
        leader = cluster.await_leader()
        address = ("127.0.0.1", cluster.ports[leader])
        endless = struct.pack(">ihhih", 16, 19, 7, 1, -1) + b"\x00\xff\xff\xff\xff\x0f"  # topics to create: 2^32 - 2
        for frame in (
            endless,
            b"\xff" * 64,
            struct.pack(">ihhih", 10, 52, 2, 1, -1),
            struct.pack(">ihhih", 10, 3, 12, 1, -1),
        ):
            with socket.create_connection(address) as connection:
                connection.sendall(frame)
                connection.settimeout(10)
                assert connection.recv(1) == b""
        fields = Reader(ask(address, 18, 9, "test", b"\x00"))
        assert fields.int16("error_code") == 35 and fields.int32("api_keys") > 0
        for version in range(3):
            fields = Reader(ask(address, 18, version, "test", b""))
            assert fields.int16("error_code") == 0 and fields.int32("api_keys") > 0
        with pytest.raises((WireError, ConnectionError)):
            ask(address, 52, 9, "test", b"")
        cluster.await_growth(leader)


def test_a_directory_in_use_is_one_message(tmp_path: Path) -> None:
    with controllers(tmp_path) as cluster:
        cluster.await_leader()
        cluster.start(1)
        until(lambda: cluster.processes[1].exit_code is not None, "the second one ends")
        assert cluster.processes[1].exit_code == 1 and "in use" in cluster.processes[1].output()
        assert "Traceback" not in cluster.processes[1].output()


@released
def test_kafkas_own_tool_reads_the_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with controllers(tmp_path) as cluster:
        leader = cluster.await_leader()
        cluster.await_growth(leader)
    options = ("--cluster-metadata-decoder", "--files", str(cluster.directory(leader) / f"{0:020}.log"))
    capsys.readouterr()
    dump_log(options)
    ours = capsys.readouterr().out
    assert ours.splitlines() == tool(VERSION, "org.apache.kafka.tools.DumpLogSegments", *options).splitlines()
    assert "NO_OP_RECORD" in ours and "LeaderChange" in ours
