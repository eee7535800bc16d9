"""A controller that is a quorum by itself, ours or Kafka's: one directory, on which the one goes on after the other."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from impl.kraft.tools.dump_log import main as dump_log
from impl.kraft.tools.storage import main as storage
from impl.runtime.client import ask
from impl.runtime.entities import entity_bytes, read_entity
from impl.runtime.ports import free_ports
from tests.cluster.kafka import java
from tests.cluster.processes import ManagedProcess
from tests.impl.kraft.released import VERSION
from tests.impl.kraft.server.controllers import CLUSTER

KAFKA = [*java(VERSION), "kafka.Kafka"]
OURS = [sys.executable, "-m", "impl.kraft.server"]


class Alone:
    """Formatted, and started by `start`. process: the last one."""

    process: ManagedProcess

    def __init__(self, folder: Path, more: Mapping[str, object] | None = None, options: Sequence[str] = ()) -> None:
        """more: settings. options: of `kafka-storage format`."""
        (self.port,) = free_ports(1)
        self._folder, self._properties = folder, folder / "server.properties"
        self.directory = folder / "data" / "__cluster_metadata-0"
        folder.mkdir()
        settings = {
            "process.roles": "controller", "node.id": 1, "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": f"1@127.0.0.1:{self.port}", "listeners": f"CONTROLLER://127.0.0.1:{self.port}",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT", "log.dirs": folder / "data", **(more or {}),
        }  # fmt: skip
        self.configure(settings)
        assert storage(["format", "-c", str(self._properties), "-t", CLUSTER, *options]) == 0

    def configure(self, more: Mapping[str, object]) -> None:
        """Further settings, from the next start on."""
        with self._properties.open("a") as text:
            text.writelines(f"{name}={value}\n" for name, value in more.items())

    @property
    def address(self) -> tuple[str, int]:
        return "127.0.0.1", self.port

    def start(self, command: Sequence[str]) -> None:
        self.process = ManagedProcess([*command, str(self._properties)], self._folder / "log")

    def asked(self, request: Any, response: Any) -> Any:
        """What it answers to a flexible request of kio's. response: the type."""
        body = b"\0" + entity_bytes(request)
        answer = ask(self.address, int(request.__api_key__), int(request.__version__), "test", body)
        return read_entity(response, answer[1:])

    def printed(self) -> str:
        """What is in its log, as our tool prints it."""
        out = io.StringIO()
        with redirect_stdout(out):
            for segment in sorted(self.directory.glob("*.log")):
                dump_log(["--cluster-metadata-decoder", "--files", str(segment)])
        return out.getvalue()
