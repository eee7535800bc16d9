"""A cluster for trying out: controllers as processes of this machine, below one folder."""

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
    """A controller's folder."""

    node_id: int
    folder: Path

    @property
    def properties(self) -> Path:
        return self.folder / "controller.properties"

    @property
    def log(self) -> Path:
        return self.folder / "controller.log"

    def configuration(self) -> Configuration:
        """Raises ConfigError."""
        configuration, findings = load(self.properties)
        if configuration is None:
            raise ConfigError("\n".join(problem.within(str(self.properties)) for problem in findings.problems))
        return configuration


def up(folder: Path, controllers: int, port: int, say: Say) -> int:
    """Start controllers, and tell of them until Ctrl-C. Returns the exit code: 1 where all have ended by themselves.

    A folder that is there goes on with what is in it. Raises ConfigError, StorageError, OSError.
    """
    places = prepared(folder, controllers, port)
    processes: dict[Place, subprocess.Popen[bytes]] = {}
    try:
        for place in places:
            processes[place] = _started(place)
            voter = place.configuration().controller_quorum_voters[place.node_id - 1]
            say(f"controller {place.node_id} at {voter.host}:{voter.port}, log in {place.log}")
        return _told(processes, say)
    except KeyboardInterrupt:
        return 0
    finally:
        _stop(processes)
        say("stopped")


def prepared(folder: Path, controllers: int, port: int) -> list[Place]:
    """The folders of the controllers, configured and formatted. port: of the first; the others follow on."""
    places = [Place(number, folder / f"controller{number}") for number in range(1, controllers + 1)]
    there = sorted(folder.glob("controller*/controller.properties"))
    if there and there != sorted(place.properties for place in places):
        raise ConfigError(f"{folder} has {len(there)} controllers: start as many, or choose another folder")
    cluster_id = random_uuid()
    for place in places:
        if not place.properties.exists():
            place.folder.mkdir(parents=True, exist_ok=True)
            place.properties.write_text(_properties(place, controllers, port))
    _format([place.configuration() for place in places], cluster_id)
    return places


def _properties(place: Place, controllers: int, port: int) -> str:
    voters = ",".join(f"{number}@127.0.0.1:{port + number - 1}" for number in range(1, controllers + 1))
    return (
        "process.roles=controller\n"
        f"node.id={place.node_id}\n"
        f"controller.quorum.voters={voters}\n"
        "controller.listener.names=CONTROLLER\n"
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT\n"
        f"listeners=CONTROLLER://127.0.0.1:{port + place.node_id - 1}\n"
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
    """Tell who leads, and who has ended, until all have."""
    running, leading = dict(processes), (0, 0)
    lines = {place: _new_lines(place.log) for place in processes}
    while running:
        for place in processes:
            for line in next(lines[place]):
                found = (line.get("epoch", 0), place.node_id)
                if line.get("event") == "quorum" and line.get("is_active") and found > leading:
                    leading = found
                    say(f"epoch {found[0]}: controller {found[1]} is active")
        for place, process in tuple(running.items()):
            if (code := process.poll()) is not None:
                del running[place]
                say(f"controller {place.node_id} has ended with exit code {code}: see {place.log}")
        time.sleep(_POLL_S)
    return 1


def _new_lines(path: Path) -> Iterator[list[dict[str, Any]]]:
    """What a log has more each time, from its present end on."""
    with path.open() as log:
        log.seek(0, 2)
        rest = ""
        while True:
            *whole, rest = (rest + log.read()).split("\n")
            yield [json.loads(line) for line in whole if line.startswith("{")]


def _stop(processes: dict[Place, subprocess.Popen[bytes]]) -> None:
    for process in processes.values():
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
    for process in processes.values():
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
