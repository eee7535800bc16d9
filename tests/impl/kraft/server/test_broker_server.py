"""A broker's process: what it does not serve it says before it starts, and why it ends when nobody told it to."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from impl.kraft.config.configuration import Configuration, load
from impl.kraft.records import Endpoint
from impl.kraft.server.broker_server import BrokerEndedError, BrokerServer, endpoints_of, require_served
from impl.kraft.storage.real_disk import RealDisk
from impl.kraft.tools.storage import main as storage
from impl.runtime.ports import free_ports
from impl.runtime.properties import ConfigError
from tests.impl.kraft.server.controllers import CLUSTER


def configuration(folder: Path, **changed: str) -> Configuration:
    """Of a broker whose controller is not there. changed: settings, with `_` for `.`."""
    port, controller = free_ports(2)
    settings = {
        "process.roles": "broker", "node.id": "7", "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}", "listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,TLS:SSL",
        "ssl.keystore.location": "keys.pem", "ssl.keystore.type": "PEM", "log.dirs": f"{folder}/data",
        **{key.replace("_", "."): value for key, value in changed.items()},
    }  # fmt: skip
    path = folder / "broker.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    found, findings = load(path)
    assert found is not None, findings.problems
    return found


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"listeners": "PLAINTEXT://127.0.0.1:0"}, "PLAINTEXT needs a port"),
        ({"listeners": "PLAINTEXT://127.0.0.1:1,TLS://127.0.0.1:0"}, "TLS needs a port"),
    ],
)
def test_what_is_not_served_is_said(tmp_path: Path, changed: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        require_served(configuration(tmp_path, **changed))


def test_a_broker_registers_each_listener_as_it_is_advertised(tmp_path: Path) -> None:
    found = configuration(
        tmp_path, listeners="PLAINTEXT://127.0.0.1:1,TLS://127.0.0.1:2", advertised_listeners="TLS://127.0.0.2:3"
    )
    assert endpoints_of(found) == (Endpoint("PLAINTEXT", "127.0.0.1", 1, 0), Endpoint("TLS", "127.0.0.2", 3, 1))


def formatted(found: Configuration, folder: Path) -> BrokerServer:
    assert storage(["format", "-c", str(folder / "broker.properties"), "-t", CLUSTER]) == 0
    return BrokerServer(found, RealDisk())


def test_a_broker_that_nobody_registers_in_time_ends_and_says_so(tmp_path: Path) -> None:
    server = formatted(configuration(tmp_path, initial_broker_registration_timeout_ms="1"), tmp_path)
    with pytest.raises(BrokerEndedError, match="no controller has registered this broker in 1 ms"):
        asyncio.run(server.run())


def test_a_broker_that_is_told_to_stop_before_it_is_registered_does(tmp_path: Path) -> None:
    server = formatted(configuration(tmp_path), tmp_path)

    async def run() -> None:
        asyncio.get_running_loop().call_later(0.05, server.stop)
        await server.run()

    asyncio.run(run())
    formatted_again = BrokerServer(configuration(tmp_path), RealDisk())  # its directory is not in use any more
    formatted_again.stop()
    asyncio.run(formatted_again.run())  # nor does one run on that is told before its first step
