"""Clients of a real ZooKeeper, driven from a test as the model is: step by step, each step awaited."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable

from kazoo.client import KazooClient

from impl.zookeeper import Connected, Event, Operation, Result, Submit
from impl.zookeeper.client import Client
from tests.cluster.sessions import expire

LIMIT_S = 60.0  # after the death of its leader, an ensemble on a busy machine takes its time
_numbers = itertools.count()


class RealClient:
    """A client in a loop that runs only while a test waits; its core handles each event as it comes."""

    def __init__(self, loop: asyncio.AbstractEventLoop, hosts: str, timeout_ms: int = 4000) -> None:
        self.loop = loop
        self.events: list[Event] = []
        self.client = Client(hosts, timeout_ms, self._deliver)
        self._ids = itertools.count(1)
        self._run(lambda: self.client.start())

    def _deliver(self, event: Event) -> None:
        self.client.handling(event)
        self.events.append(event)

    def _run(self, call: Callable[[], None]) -> None:
        async def run() -> None:
            call()

        self.loop.run_until_complete(run())

    def submit(self, operation: Operation) -> int:
        """Submit; returns the id."""
        id = next(self._ids)
        self._run(lambda: self.client.submit(Submit(id, operation)))
        return id

    def until(self, wanted: Callable[[list[Event]], bool]) -> None:
        """Let the loop run until the events that arrived are as wanted."""
        end = time.monotonic() + LIMIT_S
        while not wanted(self.events):
            assert time.monotonic() < end, f"still waiting after {self.events}"
            self.loop.run_until_complete(asyncio.sleep(0.001))

    def until_result(self, id: int) -> Result:
        self.until(lambda events: any(isinstance(event, Result) and event.id == id for event in events))
        return next(event for event in self.events if isinstance(event, Result) and event.id == id)

    def until_connected(self) -> Connected:
        self.until(lambda events: any(isinstance(event, Connected) for event in events))
        return next(event for event in self.events if isinstance(event, Connected))

    def do(self, operation: Operation) -> Result:
        return self.until_result(self.submit(operation))

    def taken(self) -> list[Event]:
        """The events that arrived since they were taken last."""
        events, self.events = self.events, []
        return events

    def expire(self, hosts: str) -> None:
        session = self.client.session
        assert session is not None, "it is connected"
        expire(hosts, session)

    def stop(self) -> None:
        self.loop.run_until_complete(self.client.stop())


def chroot(hosts: str) -> str:
    """zookeeper.connect with a chroot that exists, is empty, and was not used before."""
    path = f"/test-{next(_numbers)}-{time.time_ns()}"
    maker = KazooClient(hosts)
    maker.start()
    maker.create(path)
    maker.stop()
    maker.close()
    return hosts + path
