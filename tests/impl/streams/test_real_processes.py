"""Members as processes of their own, `fencepost-streams member`, on a real Apache Kafka, by what they say there."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from checker.validate.validator import ACCEPTED, REJECTED
from impl.streams.config import StreamsConfig, read_config
from tests.cluster.kafka import missing
from tests.cluster.processes import ManagedProcess

WHY = missing() or ("" if importlib.util.find_spec("kio") else "there is no kio (pip install fencepost[streams])")
pytestmark = [
    pytest.mark.long("a Kafka of two JVMs, and sessions that end"),
    pytest.mark.skipif(bool(WHY), reason=WHY or "there is an Apache Kafka"),
    pytest.mark.xdist_group("streams_broker"),
]
if not WHY:
    from tests.impl.streams.lies import OF_MESSAGES, told
    from tests.impl.streams.real_group import PARTITIONS, TOPIC, Broker, broker
    from tests.impl.streams.recorded import RecordedRun

LIMIT_S = 180.0
_POLL_S = 0.1


@pytest.fixture(scope="module")
def kafka() -> Iterator[Broker]:
    with broker() as found:
        yield found


class Process:
    """A process of one thread, at a wire of its own."""

    def __init__(self, number: int, kafka: Broker, run: RecordedRun, folder: Path) -> None:
        self._number, self._run, self._folder = number, run, folder
        self._wire = kafka.wires[number]
        self._process: ManagedProcess | None = None

    def start(self, release: str) -> None:
        config = self._config(release)
        (thread,) = self._run.starts(self._number, config)
        self._wire.shows(thread)
        file = self._folder / f"{self._number}.properties"
        file.write_text(f"application.id={config.application_id}\nrelease={release}\n")
        command: list[str | Path] = [sys.executable, "-m", "impl.streams.tool", "member", file, "--topics", TOPIC]
        log = self._folder / f"{self._number}-{release}.log"
        self._process = ManagedProcess([*command, "--bootstrap-servers", self._wire.address], log)

    async def stop(self, then: str = "", *, by_signal: bool = False) -> None:
        """SIGTERM, or kill -9: in neither case it leaves the group."""
        if self._process is None:
            return
        if by_signal:
            assert await asyncio.to_thread(self._process.terminate, LIMIT_S) == 0
        else:
            self._process.kill()
        self._process = None
        await self._wire.ends()
        self._run.stops(self._number, self._config(then) if then else None)

    @staticmethod
    def _config(release: str) -> StreamsConfig:
        return read_config({"application.id": "processes", "release": release})

    def assigned(self) -> dict[str, Any]:
        """What it logged last of its assignments: tasks, used version, generation."""
        assert self._process is not None, "it runs"
        lines = list[dict[str, Any]]()
        for line in self._process.output().splitlines():
            with suppress(ValueError):  # it is being written
                lines.append(json.loads(line))
        found = [line for line in lines if line.get("event") in ("assigned", "revoked")]
        return found[-1] if found and found[-1]["event"] == "assigned" else {}


async def settled(version: int, *processes: Process) -> None:
    """Wait until they share the tasks in one generation, and use this version. Raises TimeoutError."""
    last = list[dict[str, Any]]()
    for _ in range(int(LIMIT_S / _POLL_S)):
        last = [one.assigned() for one in processes]
        if all(last) and len({one["generation"] for one in last}) == 1:
            tasks = [task for one in last for task in one["tasks"]]
            if len(tasks) == len(set(tasks)) == PARTITIONS and {one["used"] for one in last} == {version}:
                return
        await asyncio.sleep(_POLL_S)
    raise TimeoutError(f"they do not share the tasks in version {version}: {last}")


def test_processes_are_upgraded_by_probing(kafka: Broker, tmp_path: Path) -> None:
    """2.4 to 2.5: version 5 to 6; one is stopped by SIGTERM, the other is killed.

    Tasks are left out of the trace: the order of processes, which decides of fair shares, is that of random ids.
    """
    (tmp_path / "traces").mkdir()
    run = RecordedRun(tmp_path / "traces", 2, [("2.4", False), ("2.5", False)])

    async def upgrade() -> None:
        first, second = (Process(number, kafka, run, tmp_path) for number in range(2))
        try:
            for one in (first, second):
                one.start("2.4")
            await settled(5, first, second)
            await first.stop("2.5", by_signal=True)
            first.start("2.5")
            await settled(5, first, second)
            await second.stop("2.5")
            second.start("2.5")
            await settled(6, first, second)
        finally:
            for one in (first, second):
                await one.stop()

    asyncio.run(upgrade())
    trace = run.trace()
    found = run.judged(trace, *told(trace, OF_MESSAGES))
    assert found.counts[ACCEPTED] == 1, found.verdicts[0]
    assert found.counts[REJECTED] == len(OF_MESSAGES)
