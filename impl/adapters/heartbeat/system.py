"""The system under test as `fencepost conform` drives it: which step of the spec is which of the implementation."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

from checker.conform.system import Receiver, Refusal
from impl.adapters.heartbeat.cluster import PARTITION, UPGRADED, Cluster, ProcessHost, do_item, heard
from impl.adapters.heartbeat.operations import OPERATIONS
from impl.adapters.heartbeat.state_rules import key
from impl.adapters.heartbeat.steps import (
    STEPS,
    elected,
    handle_heartbeat,
    new_controller,
    register,
    send_heartbeat,
    start,
    take_control_request,
    take_incarnation,
    take_reply,
)
from impl.adapters.heartbeat.views import ClusterView, expect, observe
from impl.heartbeat.design import Design
from impl.heartbeat.items import Settle
from impl.heartbeat.znodes import PERSISTENT, partition_znodes
from impl.zookeeper.model import ZooKeeper

Arguments = Mapping[str, Any]
_STEPS = {**STEPS, **OPERATIONS}


class Named:
    """A name of the spec, by its number."""

    def __init__(self, index: int) -> None:
        self.index = index


class HeartbeatUnderTest:
    """The cores as `checker.conform.system.System` asks for it."""

    def __init__(self) -> None:
        self._design = Design()

    def lacks(self, constants: Mapping[str, Any], actions: Collection[str]) -> str:
        self._design = Design(**{switch.name: constants[switch.name] for switch in fields(Design)})
        if constants["views"] and not constants["supersedes_after_lease"]:
            return (
                "a view holds what its controller has written, which that of the spec need not: supersedes_after_lease"
            )
        missing = [action for action in actions if action not in _STEPS]
        return f"no step is that of {', '.join(missing)}" if missing else ""

    def begin(self, constants: Mapping[str, Any], state: Any) -> Cluster:
        brokers, spare = constants["brokers"], constants["spare_processes"]
        replicas = {PARTITION.partition: tuple(range(brokers))}
        new = 0 if constants["rolls"] else UPGRADED
        legacy = constants["legacy_brokers"]
        processes = tuple(
            ProcessHost(n if n < brokers else 0, 0 if n < legacy or legacy == brokers else UPGRADED)
            for n in range(brokers + spare)
        )
        znodes = [*PERSISTENT, *partition_znodes(PARTITION.topic, replicas, {})]
        controllers = tuple(new_controller(self._design, n, new) for n in range(constants["controllers"]))
        zookeeper = ZooKeeper.begin(len(processes) + len(controllers), znodes, lagging=constants["views"] > 0)
        cluster = Cluster(self._design, zookeeper, processes, controllers, constants["min_insync_replicas"])
        for process in range(brokers):
            for step in (start, register, take_incarnation):
                cluster = _done(step(cluster, {"process": Named(process)}))
        cluster = replace(cluster, zookeeper=cluster.zookeeper.open_session(cluster.client_of(0)))
        return _all_active(elected(cluster, 0), brokers)

    def step(self, system: Cluster, action: str, arguments: Arguments, before: Any) -> Cluster | Refusal:
        return _STEPS[action](system, arguments)

    def attempts(self, actions: Collection[str]) -> Collection[str]:
        return ("acknowledge",)

    def attempt(self, system: Cluster, action: str, arguments: Arguments, before: Any) -> Cluster | Refusal | None:
        """Acknowledgements: a leader that has a request in hand, and may not answer it yet, does not."""
        if action != "acknowledge" or system.processes[arguments["process"].index].core is None:
            return None
        return self.step(system, action, arguments, before)

    def receivers(
        self, system: Cluster, before: Any, classes: Mapping[str, type], actions: Collection[str]
    ) -> Iterable[Receiver]:
        return ()

    def observe(self, system: Cluster) -> ClusterView:
        return observe(system)

    def expect(self, state: Any) -> ClusterView:
        return expect(state, self._design)

    def key(self, system: Cluster) -> Hashable:
        return key(system)


def _done(after: Cluster | Refusal) -> Cluster:
    assert not isinstance(after, Refusal), after
    return after


HEARTBEAT = (send_heartbeat, handle_heartbeat, take_reply)


def _all_active(cluster: Cluster, brokers: int) -> Cluster:
    """Everybody heartbeats, the partition gets its state, and everybody learns of it."""
    both = {"controller": Named(0)}
    for _ in range(2):
        for process in range(brokers) if cluster.design.heartbeats else ():
            arguments = {**both, "process": Named(process)}
            core = cluster.controllers[0].core
            is_new = not core.registry.brokers[process].is_counted
            if is_new and any(tell.to.broker == process for tell in cluster.controllers[0].tells):
                cluster = _done(take_control_request(cluster, arguments))
            for step in HEARTBEAT if is_new else ():
                cluster = _done(step(cluster, arguments))
    if Settle() in cluster.controllers[0].core.scripts.queue:
        cluster = heard(do_item(cluster, 0, Settle())[0])
    for process in range(brokers):
        arguments = {**both, "process": Named(process)}
        if any(tell.to.broker == process for tell in cluster.controllers[0].tells):
            cluster = _done(take_control_request(cluster, arguments))
        sends = cluster.design.heartbeats and cluster.processes[process].software == UPGRADED
        for step in HEARTBEAT if sends else ():
            cluster = _done(step(cluster, arguments))
    return cluster


SYSTEM = HeartbeatUnderTest()
