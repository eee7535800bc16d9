"""A group on a real Apache Kafka: one controller, one broker, and members of this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import NamedTuple
from uuid import UUID

from impl.runtime.client import Address
from impl.runtime.ports import free_ports
from impl.streams.config import StreamsConfig, read_config
from impl.streams.member import State, Timeouts
from impl.streams.metadata import TaskId
from impl.streams.process import MemberProcess
from impl.streams.recording import GroupWatch
from tests.cluster.kafka import CONTROLLER, VERSION, Node, broker_config, controller_config, nodes, tool, until
from tests.impl.streams.wire import Wire, wire

SESSION_MS = 5_000
"""Several times what a busy machine holds a process up for: a session ends where a test ends it."""
LONG_MS = 20_000
"""A session for whose end a group waits while other things happen."""
UNENDING_MS = 600_000
"""A session that outlasts all that a test waits for: only a coordinator that forgets a member ends its membership."""
TOPIC, PARTITIONS = "orders", 3
LIMIT_S = 120.0


WIRES = 2


class Broker(NamedTuple):
    """A broker that has a topic. wires: at each one program at a time is a member, and is seen."""

    address: Address
    node: Node
    wires: tuple[Wire, ...]


@contextmanager
def broker() -> Iterator[Broker]:
    port, controller, *seen = free_ports(2 + WIRES)
    with ExitStack() as stack:
        wires = tuple(stack.enter_context(wire(f"127.0.0.1:{one}")) for one in seen)
        yield stack.enter_context(_broker(port, controller, seen, wires))


@contextmanager
def _broker(port: int, controller: int, seen: Sequence[int], wires: tuple[Wire, ...]) -> Iterator[Broker]:
    names = [f"WIRE{number}" for number in range(WIRES)]
    at = [f"{name}://127.0.0.1:{one}" for name, one in zip(names, seen, strict=True)]
    told = [f"{name}://{one.address}" for name, one in zip(names, wires, strict=True)]
    own = f"PLAINTEXT://127.0.0.1:{port}"
    more = {
        "listeners": ",".join([own, *at]),
        "advertised.listeners": ",".join([own, *told]),
        "listener.security.protocol.map": ",".join(f"{one}:PLAINTEXT" for one in (*names, "CONTROLLER", "PLAINTEXT")),
        "offsets.topic.replication.factor": 1,
        "group.initial.rebalance.delay.ms": 0,
        "group.min.session.timeout.ms": 1_000,
    }
    configs = {CONTROLLER: controller_config(controller), 1: broker_config(port, port, controller, more)}
    with nodes(configs) as made:
        for node in made.values():
            node.start()
        until(made[1].has_started, "the broker starts")
        command = ("--create", "--topic", TOPIC, "--partitions", PARTITIONS, "--replication-factor", 1)
        server = f"127.0.0.1:{port}"
        tool(VERSION, "org.apache.kafka.tools.TopicCommand", "--bootstrap-server", server, *command)
        yield Broker(("127.0.0.1", port), made[1], wires)


class Group:
    """Members by the number of their process, which have one thread each."""

    def __init__(self, address: Address, name: str, run: GroupWatch) -> None:
        self._address, self._name, self._run = address, name, run
        self.members: dict[int, MemberProcess] = {}
        self._running: dict[int, asyncio.Task[None]] = {}

    def _config(self, release: str, upgrade_from: str) -> StreamsConfig:
        return read_config({"application.id": self._name, "release": release, "upgrade.from": upgrade_from})

    def start(self, process: int, release: str, upgrade_from: str = "null", session_ms: int = SESSION_MS) -> None:
        config = self._config(release, upgrade_from)
        timeouts = Timeouts(session_ms, heartbeat_ms=500, rebalance_ms=60_000)
        (watch,) = self._run.starts(process, config)
        member = MemberProcess(
            config, f"c{process}", UUID(int=process), [self._address], {0: (TOPIC,)}, timeouts, watch
        )
        self.members[process] = member
        self._running[process] = asyncio.create_task(member.run())

    async def stop(self, process: int, then: StreamsConfig | None = None) -> None:
        """As in Streams, without leaving the group."""
        self.members.pop(process).stop()
        await self._running.pop(process)
        self._run.stops(process, then)

    async def bounce(self, process: int, release: str, upgrade_from: str = "null") -> None:
        await self.stop(process, self._config(release, upgrade_from))
        self.start(process, release, upgrade_from)

    def owned(self) -> list[TaskId]:
        return sorted(task for one in self.members.values() for task in one.core.tasks)

    def used(self) -> list[int]:
        return [one.core.used for one in self.members.values()]

    def is_at_rest(self) -> bool:
        """All run, in one generation, and want nothing else."""
        cores = [one.core for one in self.members.values()]
        running = all(core.state is State.RUNNING and not core.wants_to_rejoin for core in cores)
        return running and len({core.generation for core in cores}) == 1

    def is_settled(self, versions: set[int]) -> bool:
        """They are at rest, in these versions, and own all tasks."""
        every = [TaskId(0, number) for number in range(PARTITIONS)]
        return self.is_at_rest() and set(self.used()) == versions and self.owned() == every

    async def settles(self, versions: set[int]) -> None:
        """Wait for `is_settled`. Raises TimeoutError."""
        await self.until(lambda: self.is_settled(versions), f"the group settles with used versions {versions}")

    async def until(self, holds: Callable[[], bool], what: str) -> None:
        """Raises TimeoutError, which says where each member stands."""
        for _ in range(int(LIMIT_S / 0.02)):
            if holds():
                return
            await asyncio.sleep(0.02)
        stand = {number: (one.core.state.name, one.core.used) for number, one in self.members.items()}
        raise TimeoutError(f"in {LIMIT_S:g} s this did not happen: {what}; {stand}")


@asynccontextmanager
async def group(address: Address, name: str, run: GroupWatch) -> AsyncIterator[Group]:
    """Members that are shown to `run`, and are stopped in the end."""
    made = Group(address, name, run)
    try:
        yield made
    finally:
        for process in tuple(made.members):
            await made.stop(process)
