"""The system under test as `fencepost conform` drives it: which step of the spec is which of the implementation."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import fields
from typing import Any

from checker.conform.system import Receiver, Refusal
from impl.adapters.pinning.cluster import Cluster, Host, UnsettledError, run, settled
from impl.adapters.pinning.core import Core, PythonCore
from impl.adapters.pinning.state_rules import key
from impl.adapters.pinning.steps import ATTEMPTED, STEPS, started
from impl.adapters.pinning.views import ClusterView, expect, observe
from impl.pinning.broker import Path, Write
from impl.pinning.design import Design
from impl.pinning.effects import Timer
from impl.pinning.znodes import PERSISTENT
from impl.zookeeper.model import ZooKeeper
from impl.zookeeper.office import CONTROLLER

Arguments = Mapping[str, Any]
ALWAYS_ON = (
    "epoch_is_own", "watches_after_expiry", "loser_watches", "session_retried", "fallback", "unpin_keeps_version",
    "settling_renews_epoch",
)  # fmt: skip
"""Guards that the implementation has without a switch: most of them, every Kafka of the time had."""


class PinningUnderTest:
    """A core of the design as `checker.conform.system.System` asks for it."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._shows_request = True

    def lacks(self, constants: Mapping[str, Any], actions: Collection[str]) -> str:
        self._shows_request = constants["request_checked"]  # who drives a system asks this first
        if constants.get("preferred"):
            return "there are no preferred controllers in it"
        if constants.get("max_lost_replies") and not constants["office_reads_ready"]:
            return "who loses a reply reads everything anew, `ready` in office too: office_reads_ready has to be on"
        if constants.get("max_late_removals"):
            return "a broker's script runs to its end within a step here, so nothing is removed late"
        off = [name for name in ALWAYS_ON if not constants.get(name, True)]
        if off:
            return f"it has no switch for {', '.join(off)}"
        of_preferred = {"hear_preferred", "resign_for_member", "end_dead_session_of_member"}
        missing = [action for action in actions if action not in STEPS and action not in of_preferred]
        return f"no step is that of {', '.join(missing)}" if missing else ""

    def begin(self, constants: Mapping[str, Any], state: Any) -> Cluster:
        brokers = constants["brokers"]
        design = Design(**{switch.name: constants[switch.name] for switch in fields(Design)})
        first_legacy = brokers - constants.get("legacy_brokers", 0)
        zookeeper = ZooKeeper.begin(brokers + 1, PERSISTENT).open_session(brokers)
        _, zookeeper = zookeeper.deliver(brokers)
        cluster = settled(
            Cluster(
                core=self._core,
                design=design,
                zookeeper=zookeeper,
                hosts=tuple(Host(is_legacy=broker >= first_legacy) for broker in range(brokers)),
                answers=bool(constants.get("answers")),
                writes=bool(constants.get("writes")),
            )
        )
        return _first_writes(_others(_in_office(cluster)))

    def step(self, system: Cluster, action: str, arguments: Arguments, before: Any) -> Cluster | Refusal:
        try:
            return STEPS[action](system, arguments)
        except UnsettledError as error:
            return Refusal(str(error))

    def attempts(self, actions: Collection[str]) -> Collection[str]:
        return ATTEMPTED

    def attempt(self, system: Cluster, action: str, arguments: Arguments, before: Any) -> Cluster | Refusal | None:
        is_disturbed = any(arguments.get(name, False) for name in ("missed", "removed"))
        if is_disturbed or action not in ATTEMPTED or not arguments.get("answered", True):
            return None
        return self.step(system, action, arguments, before)

    def receivers(
        self, system: Cluster, before: Any, classes: Mapping[str, type], actions: Collection[str]
    ) -> Iterable[Receiver]:
        return ()

    def observe(self, system: Cluster) -> ClusterView:
        return observe(system)

    def expect(self, state: Any) -> ClusterView:
        return expect(state, shows_request=self._shows_request)

    def key(self, system: Cluster) -> Hashable:
        return key(system)


def _in_office(cluster: Cluster) -> Cluster:
    """Broker 0 starts by itself, and so is elected."""
    cluster = started(cluster, 0)
    for item in (Path(CONTROLLER), Timer.DECIDE, Timer.BEGIN):
        cluster, _ = run(cluster, 0, item)
    return cluster


def _others(cluster: Cluster) -> Cluster:
    for broker in range(1, len(cluster.hosts)):
        cluster = started(cluster, broker)
    return cluster


def _first_writes(cluster: Cluster) -> Cluster:
    """The controller has written, and everybody has taken a request of it."""
    core = cluster.hosts[0].core
    assert core is not None and core.member.term is not None
    if cluster.writes:
        core.office.decide()
        cluster, _ = run(cluster, 0, Write())
        for host in cluster.hosts:
            assert host.core is not None
            host.core.office.take_request(core.member.term.epoch)
    return cluster


SYSTEM = PinningUnderTest(PythonCore())
