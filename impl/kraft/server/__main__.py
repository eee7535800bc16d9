"""A controller or broker of a KIP-631 cluster, or both, until told to stop.

usage: python -m impl.kraft.server [--uvloop] PROPERTIES

`--uvloop` has it run on uvloop, which `pip install 'fencepost[fast]'` installs, and not on asyncio's own loop.
Exit codes: 0 stopped, 1 its disk failed or its log is damaged, or a broker is not registered, 2 usage or configuration.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence

from impl.kraft.config.configuration import Configuration
from impl.kraft.server.broker_server import BrokerEndedError, BrokerServer
from impl.kraft.server.combined import CombinedServer
from impl.kraft.server.server import ControllerServer
from impl.kraft.storage.errors import StorageError
from impl.kraft.storage.real_disk import RealDisk
from impl.kraft.tools.parsing import USAGE, configuration_at
from impl.runtime.garbage import looked_at_seldom
from impl.runtime.logs import log_to
from impl.runtime.loop import on_signals
from impl.runtime.properties import ConfigError

FAILED = 1
Server = ControllerServer | BrokerServer | CombinedServer


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a node, and return the exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    *options, path = given or ["-h"]
    if path.startswith("-") or options not in ([], ["--uvloop"]):
        print("usage: python -m impl.kraft.server [--uvloop] PROPERTIES", file=sys.stderr)
        return 0 if given in (["-h"], ["--help"]) else USAGE
    configuration = configuration_at(path)
    if configuration is None:
        return USAGE
    log_to(node=configuration.node_id)
    try:
        with asyncio.Runner(loop_factory=_loops(options)) as runner:
            runner.run(_until_told(configuration))
    except ConfigError as error:
        print(f"{path}: {error}", file=sys.stderr)
        return USAGE
    except (StorageError, BrokerEndedError, OSError) as error:
        print(f"{path}: {error}", file=sys.stderr)
        return FAILED
    return 0


def _loops(options: Sequence[str]) -> Callable[[], asyncio.AbstractEventLoop] | None:
    """What makes an event loop; None: asyncio's own. Raises ConfigError."""
    if not options:
        return None
    try:
        import uvloop
    except ImportError:
        raise ConfigError("--uvloop: uvloop is not installed; pip install 'fencepost[fast]' installs it") from None
    return uvloop.new_event_loop


def _server(configuration: Configuration) -> Server:
    """Raises ConfigError, StorageError."""
    if configuration.is_broker and configuration.is_controller:
        return CombinedServer(configuration, RealDisk())
    return (BrokerServer if configuration.is_broker else ControllerServer)(configuration, RealDisk())


async def _until_told(configuration: Configuration) -> None:
    """Raises ConfigError, StorageError, BrokerEndedError, OSError."""
    async with looked_at_seldom() as freeze:
        server = _server(configuration)
        freeze()
        on_signals(server.stop)
        await server.run()


if __name__ == "__main__":
    sys.exit(main())
