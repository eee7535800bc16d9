"""Figures of impl/pinning on a real ZooKeeper: hand-overs, pins in a row, and many brokers that hear of a move."""

from __future__ import annotations

import asyncio
import logging
import socket
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from kazoo.client import KazooClient

from impl.pinning.messages import PIN_CONTROLLER, ErrorCode, PinControllerRequest, read_pin_response
from impl.pinning.process import Process
from impl.pinning.settings import parse
from impl.pinning.tool import ask
from impl.pinning.znodes import PERSISTENT
from impl.zookeeper.transaction_log import read_logs
from tests.benchmarks.printing import line
from tests.cluster.brokers import address_of
from tests.cluster.recordings import below
from tests.cluster.zookeeper import Ensemble, zookeeper
from tests.impl.pinning.cluster import BROKERS, Cluster
from tests.impl.pinning.figures import Figures
from tests.impl.pinning.history import History

HAND_OVERS = 50
PINS = 1_000
WATCHING = 200
TIMEOUT_MS = 20_000
LIMIT_S = 120.0


def pinning() -> None:
    """Hand-overs of a healthy cluster, with and without takeover in one run; 1,000 pins; 200 brokers."""
    with zookeeper() as ensemble, tempfile.TemporaryDirectory() as folder:
        for takeover, target in ((False, "300"), (True, "50")):
            name = "takeover" if takeover else "hand-over"
            spent_ms, served, figures = pins(ensemble, Path(folder) / name, name, HAND_OVERS, takeover=takeover)
            line(f"{name}, request to served, median", f"{median(spent_ms):.0f} ms", f"{target} ms")
            line(f"{name}, request to served, longest of {len(spent_ms)}", f"{max(spent_ms):.0f} ms")
            line(f"{name}, longest time without a controller", f"{figures.longest_vacancy_ms} ms")
        spent_ms, served, figures = pins(ensemble, Path(folder) / "row", "row", PINS, takeover=False)
        line(f"pins in a row that were served, of {PINS:,}", f"{served:,}", f"{PINS:,}")
        line("pins a second", f"{1000 * len(spent_ms) / sum(spent_ms):.0f}")
        line("moves without a cause, foreign deletions", f"{figures.moves_without_cause}, {figures.foreign_deletions}")
        asyncio.run(watching(ensemble))


def pins(
    ensemble: Ensemble, folder: Path, name: str, count: int, *, takeover: bool
) -> tuple[list[float], int, Figures]:
    """(ms from each request to its answer, how many were served, figures of the log) of pins in turn."""
    cluster = Cluster(ensemble, f"/{name}", folder, takeover=takeover)
    try:
        cluster.begin()
        first = cluster.current[0]
        address = None if first is None else address_of(first.log)
        assert address is not None, "broker 0 listens"
        spent_ms, served = list[float](), 0
        for number in range(1, count + 1):
            started = time.perf_counter()
            answer = ask(*address, PIN_CONTROLLER, PinControllerRequest(number % BROKERS, TIMEOUT_MS), TIMEOUT_MS)
            spent_ms.append(1000 * (time.perf_counter() - started))
            served += read_pin_response(answer).error_code == ErrorCode.NONE
        cluster.admin.get("/")
        last_zxid = cluster.admin.last_zxid
    finally:
        cluster.stop()
    lives = cluster.lives()
    log = read_logs(ensemble.servers[0].log_folder)
    transactions = [one for one in below(log, cluster.root) if one.zxid <= last_zxid]
    return spent_ms, served, History(transactions, lives, BROKERS).figures()


async def watching(ensemble: Ensemble) -> None:
    """Many brokers in this process: how long until all know of a move, and what ZooKeeper is asked meanwhile."""
    logging.disable(logging.WARNING)
    admin = KazooClient(ensemble.hosts)
    admin.start()
    for path, data in PERSISTENT:
        admin.create(f"/many{path}", data, makepath=True)
    connect = f"{ensemble.servers[0].address}/many"
    processes = [
        Process(parse({"broker.id": str(n), "zookeeper.connect": connect, "zookeeper.session.timeout.ms": "20000"}))
        for n in range(WATCHING)
    ]
    running = []
    for process in processes:
        running.append(asyncio.create_task(process.run()))
        await asyncio.sleep(0.02)
    await until_all_know(processes, None)
    await asyncio.sleep(2)
    before = packets(ensemble)
    in_office = processes[0].broker.member.controller
    target = (in_office or 0) + 1
    started = time.perf_counter()
    admin.create("/many/admin/next_controller", str(target).encode())
    await until_all_know(processes, target)
    line(f"{WATCHING} brokers know of a move", f"{time.perf_counter() - started:.2f} s", "2 s")
    await asyncio.sleep(1)
    line("requests that ZooKeeper got for it, a broker", f"{(packets(ensemble) - before) / WATCHING:.1f}")
    for process in processes:
        process.stop()
    await asyncio.gather(*running)
    admin.stop()
    logging.disable(logging.NOTSET)


async def until_all_know(processes: Sequence[Process], controller: int | None) -> None:
    """Until all know this one in office, or any."""
    end = time.monotonic() + LIMIT_S
    while True:
        known = {process.broker.member.controller for process in processes}
        if len(known) == 1 and None not in known and controller in (None, *known):
            return
        assert time.monotonic() < end, f"they know {known}"
        await asyncio.sleep(0.005)


def packets(ensemble: Ensemble) -> int:
    """The packets that a server has received."""
    host, _, port = ensemble.servers[0].address.rpartition(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(b"srvr")
        answer = b"".join(iter(lambda: connection.recv(4096), b"")).decode()
    return int(next(one for one in answer.splitlines() if one.startswith("Received")).split()[-1])
