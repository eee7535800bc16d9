"""The system under test as `fencepost conform` drives it: which step of the spec is which of the implementation."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Any

from checker.conform.system import Receiver, Refusal
from impl.adapters.streams.cluster import Application, Cluster, Host, Procedure, completed, polled
from impl.adapters.streams.state_rules import key
from impl.adapters.streams.steps import STEPS, Arguments, attempt
from impl.adapters.streams.views import ClusterView, expect, observe
from impl.streams.coordinator import Coordinator

_ATTEMPTED = frozenset({"complete_join", "join", "sync_too_late"})


class StreamsUnderTest:
    """The cores as `checker.conform.system.System` asks for it."""

    def __init__(self) -> None:
        self._is_unique = True

    def lacks(self, constants: Mapping[str, Any], actions: Collection[str]) -> str:
        self._is_unique = constants["unique_field"]  # who drives a system asks this first
        missing = [action for action in actions if action not in STEPS]
        return f"no step is that of {', '.join(missing)}" if missing else ""

    def begin(self, constants: Mapping[str, Any], state: Any) -> Cluster:
        procedure = Procedure.of(constants)
        threads = range(procedure.processes * procedure.threads)
        cluster = Cluster(
            procedure,
            Coordinator(),
            tuple(Application(False, 0) for _ in range(procedure.processes)),
            tuple(Host() for _ in threads),
        )
        for process in range(procedure.processes):
            cluster = cluster.with_process(process, Application(True, 0))
        for thread in threads:
            cluster = polled(cluster, thread)
        cluster = completed(cluster, 0)
        for thread in reversed(threads):
            cluster = polled(cluster, thread)
        for thread in threads:
            taken = STEPS["take_assignment"](cluster, {"thread": Named(thread)})
            assert isinstance(taken, Cluster), taken
            cluster = taken
        return cluster

    def step(self, system: Cluster, action: str, arguments: Arguments, before: Any) -> Cluster | Refusal:
        return STEPS[action](system, arguments)

    def attempts(self, actions: Collection[str]) -> Collection[str]:
        return _ATTEMPTED

    def attempt(self, system: Cluster, action: str, arguments: Arguments, before: Any) -> Cluster | Refusal | None:
        return attempt(system, action, arguments)

    def receivers(
        self, system: Cluster, before: Any, classes: Mapping[str, type], actions: Collection[str]
    ) -> Iterable[Receiver]:
        return ()

    def observe(self, system: Cluster) -> ClusterView:
        return observe(system)

    def expect(self, state: Any) -> ClusterView:
        return expect(state, is_unique=self._is_unique)

    def key(self, system: Cluster) -> Hashable:
        return key(system)


class Named:
    """A name of the spec, by its number."""

    def __init__(self, index: int) -> None:
        self.index = index


SYSTEM = StreamsUnderTest()
