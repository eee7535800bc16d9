"""A cluster for trying out: controllers and brokers as processes of this machine, below one folder."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from impl.kraft.config.configuration import Configuration, load
from impl.kraft.config.values import BROKER, CONTROLLER
from impl.kraft.metadata.encoding import encode
from impl.kraft.storage.batches import Record
from impl.kraft.storage.directories import format_directories, read_identity
from impl.kraft.storage.errors import StorageError
from impl.kraft.storage.real_disk import RealDisk
from impl.kraft.tools.bootstrap import bootstrap_records, level_of
from impl.kraft.tools.storage import random_uuid
from impl.runtime.properties import ConfigError

_POLL_S = 0.1
_STOP_S = 10.0

Say = Callable[[str], None]
PROBLEMS = (ConfigError, StorageError, OSError)
"""What `up` raises where a user can mend it."""


@dataclass(frozen=True)
class Place:
    """The folder of a node. role: controller or broker."""

    role: str
    node_id: int
    folder: Path

    @property
    def name(self) -> str:
        return f"{self.role} {self.node_id}"

    @property
    def properties(self) -> Path:
        return self.folder / f"{self.role}.properties"

    @property
    def log(self) -> Path:
        return self.folder / f"{self.role}.log"

    def configuration(self) -> Configuration:
        """Raises ConfigError."""
        configuration, findings = load(self.properties)
        if configuration is None:
            raise ConfigError("\n".join(problem.within(str(self.properties)) for problem in findings.problems))
        return configuration


@dataclass(frozen=True)
class Size:
    """How many of each. port: of the first controller; the others follow on. broker_port: of the first broker."""

    controllers: int
    brokers: int
    port: int
    broker_port: int

    def places(self, folder: Path) -> list[Place]:
        controllers = range(1, self.controllers + 1)
        brokers = range(self.controllers + 1, self.controllers + self.brokers + 1)
        return [
            *(Place(CONTROLLER, number, folder / f"{CONTROLLER}{number}") for number in controllers),
            *(Place(BROKER, number, folder / f"{BROKER}{number}") for number in brokers),
        ]


def up(folder: Path, size: Size, say: Say) -> int:
    """Start a cluster, and tell of it until Ctrl-C. Returns the exit code: 1 where all have ended by themselves.

    A folder that is there goes on with what is in it. Raises ConfigError, StorageError, OSError.
    """
    places = prepared(folder, size)
    processes: dict[Place, subprocess.Popen[bytes]] = {}
    try:
        for place in places:
            processes[place] = _started(place)
            endpoint = place.configuration().listeners[0]
            say(f"{place.name} at {endpoint.host}:{endpoint.port}, log in {place.log}")
        return _told(processes, say)
    except KeyboardInterrupt:
        return 0
    finally:
        _stop(processes)
        say("stopped")


def prepared(folder: Path, size: Size) -> list[Place]:
    """The folders of the nodes, configured and formatted."""
    places = size.places(folder)
    there = {path for role in (CONTROLLER, BROKER) for path in folder.glob(f"{role}*/{role}.properties")}
    if there and there != {place.properties for place in places}:
        counts = [sum(path.stem == role for path in there) for role in (CONTROLLER, BROKER)]
        held = " and ".join(
            f"{count} {role}{'' if count == 1 else 's'}"
            for count, role in zip(counts, (CONTROLLER, BROKER), strict=True)
        )
        raise ConfigError(f"{folder} has {held}: start as many, or choose another folder")
    cluster_id = random_uuid()
    for place in places:
        if not place.properties.exists():
            place.folder.mkdir(parents=True, exist_ok=True)
            place.properties.write_text(_properties(place, size))
    _format([place.configuration() for place in places], cluster_id)
    return places


def _properties(place: Place, size: Size) -> str:
    voters = ",".join(f"{number}@127.0.0.1:{size.port + number - 1}" for number in range(1, size.controllers + 1))
    name, port = "CONTROLLER", size.port + place.node_id - 1
    if place.role == BROKER:
        name, port = "PLAINTEXT", size.broker_port + place.node_id - size.controllers - 1
    return (
        f"process.roles={place.role}\n"
        f"node.id={place.node_id}\n"
        f"controller.quorum.voters={voters}\n"
        "controller.listener.names=CONTROLLER\n"
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n"
        f"listeners={name}://127.0.0.1:{port}\n"
        f"log.dirs={(place.folder / 'data').resolve()}\n"
    )


def _format(configurations: list[Configuration], cluster_id: str) -> None:
    """Format what is not formatted yet, for the cluster that the others are of."""
    disk, fresh = RealDisk(), list[Configuration]()
    for configuration in configurations:
        try:
            cluster_id = read_identity(disk, configuration.metadata_log_dir).cluster_id
        except FileNotFoundError:
            fresh.append(configuration)
    records = [Record(encode(one)) for one in bootstrap_records(level_of(None, ()), ())]
    for configuration in fresh:
        format_directories(disk, configuration.all_directories, cluster_id, configuration.node_id, records)


def _started(place: Place) -> subprocess.Popen[bytes]:
    """In a process group of its own: Ctrl-C is this process's, which then stops it."""
    with place.log.open("ab") as output:
        command = [sys.executable, "-m", "impl.kraft.server", str(place.properties)]
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )


def _told(processes: dict[Place, subprocess.Popen[bytes]], say: Say) -> int:
    """Tell who leads, which brokers run, and who has ended, until all have."""
    running, heard = dict(processes), _Heard(say)
    lines = {place: _new_lines(place.log) for place in processes}
    while running:
        for place in processes:
            for line in next(lines[place]):
                heard.hear(place, line)
        heard.tell_ready([place for place in running if place.role == BROKER])
        for place, process in tuple(running.items()):
            if (code := process.poll()) is not None:
                del running[place]
                say(f"{place.name} has ended with exit code {code}: see {place.log}")
        time.sleep(_POLL_S)
    return 1


class _Heard:
    """What the nodes have said in their logs so far."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._leading = (0, 0)
        self._serving: set[Place] = set()
        self._is_ready = False

    def hear(self, place: Place, line: dict[str, Any]) -> None:
        found = (line.get("epoch", 0), place.node_id)
        if line.get("event") == "quorum" and line.get("is_active") and found > self._leading:
            self._leading = found
            self._say(f"epoch {found[0]}: controller {found[1]} is active")
        elif line.get("event") == "broker" and line.get("state") == "RUNNING":
            self._serving.add(place)

    def tell_ready(self, brokers: list[Place]) -> None:
        """Once, when all brokers serve: where clients connect."""
        if self._is_ready or not brokers or not self._serving.issuperset(brokers):
            return
        self._is_ready = True
        endpoints = [place.configuration().listeners[0] for place in brokers]
        addresses = ",".join(f"{endpoint.host}:{endpoint.port}" for endpoint in endpoints)
        self._say(f"ready: clients connect to {addresses} (bootstrap.servers); Ctrl-C stops all")


def _new_lines(path: Path) -> Iterator[list[dict[str, Any]]]:
    """What a log has more each time, from its present end on."""
    with path.open() as log:
        log.seek(0, 2)
        rest = ""
        while True:
            *whole, rest = (rest + log.read()).split("\n")
            yield [json.loads(line) for line in whole if line.startswith("{")]


def _stop(processes: dict[Place, subprocess.Popen[bytes]]) -> None:
    """Brokers first, whose controlled shutdown takes an active controller."""
    for role in (BROKER, CONTROLLER):
        ending = [process for place, process in processes.items() if place.role == role]
        for process in ending:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in ending:
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
