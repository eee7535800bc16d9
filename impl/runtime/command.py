"""The command of a broker process: its arguments, its configuration, and the trace that it may record."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol, TypeVar

from impl.runtime.logs import log_to
from impl.runtime.loop import on_signals
from impl.runtime.properties import ConfigError
from impl.runtime.recorder import Recorder

_USAGE = 2


class BrokerSettings(Protocol):
    """The configuration of a broker."""

    @property
    def broker_id(self) -> int: ...


class BrokerProcess(Protocol):
    """One broker, from its start to its stop."""

    def stop(self) -> None: ...

    async def run(self) -> None: ...


S = TypeVar("S", bound=BrokerSettings)


def run_broker(
    design: str,
    description: str,
    load: Callable[[Path], S],
    made: Callable[[S, Recorder | None], BrokerProcess],
    arguments: Sequence[str] | None = None,
) -> int:
    """Run a broker of `impl.<design>` until it is told to stop. Returns the exit code."""
    parser = argparse.ArgumentParser(prog=f"impl.{design}.process", description=description)
    parser.add_argument("properties", type=Path, help="its configuration")
    parser.add_argument("--trace", type=Path, metavar="FILE", help="record the steps that it takes")
    options = parser.parse_args(arguments)
    try:
        settings = load(options.properties)
    except ConfigError as error:
        print(f"{options.properties}: {error}", file=sys.stderr)
        return _USAGE
    log_to(broker=settings.broker_id)
    try:
        with ExitStack() as open_until_end:
            recorder = None
            if options.trace is not None:
                name = f"broker{settings.broker_id}"
                recorder = open_until_end.enter_context(Recorder(options.trace, design, name))
            asyncio.run(_until_told(made(settings, recorder)))
    except OSError as error:
        print(f"{options.properties}: {error}", file=sys.stderr)
        return _USAGE
    return 0


async def _until_told(process: BrokerProcess) -> None:
    on_signals(process.stop)
    await process.run()
