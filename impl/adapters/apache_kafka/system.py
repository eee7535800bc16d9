"""The cluster under test of `impl.adapters.kraft` with a released controller, and brokers of `impl.kraft`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, ClassVar, cast
from uuid import UUID

from checker.conform.graph import Elsewhere, Graph, LeftOut, Rules, plain
from checker.conform.system import Ordinal, Receiver, Structure
from impl.adapters.kraft.cluster import LIKENESS, SESSION_TIMEOUT_MS, Cluster, ControllerHost
from impl.adapters.kraft.core import ControllerCore, PythonCore, registered_in
from impl.adapters.kraft.epoch_history import EpochHistory
from impl.adapters.kraft.observed import controller_epoch
from impl.adapters.kraft.probes import receivers
from impl.adapters.kraft.state_rules import HEARTBEAT_RESPONSE, IMAGE, Context
from impl.adapters.kraft.system import KraftUnderTest
from impl.adapters.kraft.times import by_host, image_beside
from impl.adapters.kraft.values import Lacking
from impl.apache.controller import NS_PER_MS, ApacheController
from impl.apache.jvm import Number, State
from impl.apache.lifecycle import BrokerOfKafkas, KeptLifecycle
from impl.apache.release import classes
from impl.apache.wire import topic_of
from impl.kraft.broker import Broker, BrokerSettings, ReplicaLog
from impl.kraft.controller import ControllerSettings
from impl.kraft.image import Image, PartitionKey
from impl.kraft.messages import BrokerHeartbeatResponse
from impl.kraft.snapshot import Snapshot

SHUTDOWN_OFFSET = "shutdown offset"
"""The kind of a number, as `java/fencepost/Structure.java` has it: what a controlled shutdown waits for."""
REPLAYED = Elsewhere("the host's image, which is the replay of what the controller wrote")


def meaning(
    number: Number, host: ControllerHost, history: EpochHistory, stopping: Collection[int], lacking: Lacking
) -> Structure:
    """What a number of a state decides.

    history: of all epochs that the controller knows of. stopping: the offsets that brokers have to reach for those in a
    controlled shutdown. lacking: as `Cluster.lacking`.
    """
    kind, value, about = number
    if kind == "contact":
        return has_lapsed(number, host)
    if kind == "offset":  # -1, where the broker has said nothing, is behind all that one waits for, too
        return history.last_of(stopping, value)
    if value < 0:
        return value
    if kind == "registration offset":
        return registered_at(value, int(about), cast(ApacheController, host.core), history, lacking)
    if kind == "broker epoch":
        return history.broker_epoch(value)
    if kind == SHUTDOWN_OFFSET:
        return history.offset(value)
    if kind == "controller epoch":
        return controller_epoch(value)
    if kind == "incarnation":
        return Ordinal("Incarnation", value)
    if host.is_lost:
        return None  # what it takes a partition for is heard of by nobody
    topic, _, partition = about.partition("/")
    key = topic_of(topic), int(partition)
    return history.leader_epoch(key, value) if kind == "leader epoch" else history.partition_epoch(key, value)


def registered_at(
    offset: int, broker_id: int, core: ApacheController, history: EpochHistory, lacking: Lacking
) -> Structure:
    """What the place of a registration in the log decides: who has to have applied it.

    A snapshot's end is another place than its own only for who may yet report less than that.
    """
    if core.loaded is not None and offset == core.loaded.offset:
        if (broker_id, offset) in lacking:
            return "where the snapshot ends"
        return history.broker_epoch(
            next(one.broker_epoch for one in registered_in(core.loaded) if one.broker_id == broker_id)
        )
    if offset in core.amended.values():
        return history.offset(offset)
    return history.broker_epoch(core.issued_at.get(offset, offset))


def has_lapsed(contact: Number, host: ControllerHost) -> bool:
    return host.now_ms >= contact.value // NS_PER_MS + SESSION_TIMEOUT_MS


def in_jvm(state: State, _: Any, graph: Graph) -> Structure:
    """All that the objects in the JVM hold: see `java/fencepost/Structure.java`.

    One that is lost still says at once whom it refuses, where brokers register while the cluster runs.
    """
    host = graph.owner(ControllerHost)
    context: Context = graph.context
    if host.is_out_of_sight and not (host.is_lost and context.registers_anew):
        return None
    history = context.history.beyond(host.log)
    found = known(state)
    offsets = (one.value for _, numbers in found for one in numbers if one.kind == SHUTDOWN_OFFSET)
    stopping = {offset for offset in offsets if offset >= 0}
    return tuple(
        (digest, tuple(meaning(number, host, history, stopping, context.lacking) for number in numbers))
        for digest, numbers in found
    )


def known(state: State) -> list[tuple[str, tuple[Number, ...]]]:
    """Digest and numbers of a state, and those of what would be left of it without the active role."""
    return [(state.digest, state.numbers), *([state.reverted] if state.reverted is not None else [])]


def distinguished(state: State, _: Any, graph: Graph) -> Structure:
    """All that the objects in the JVM hold, but for times: those by what they decide."""

    def told(one: Number) -> Structure:
        return has_lapsed(one, graph.owner(ControllerHost)) if one.kind == "contact" else one

    return tuple((digest, tuple(map(told, numbers))) for digest, numbers in known(state))


def of_lifecycle(state: State | None, _: Any, graph: Graph) -> Structure:
    """All that the objects of a broker's lifecycle hold, where the one number is its broker epoch."""
    if state is None:
        return None
    epochs = [one.value for one in state.numbers]
    return state.digest, tuple(one if one < 0 else graph.context.history.broker_epoch(one) for one in epochs)


BESIDE = by_host(ControllerHost, image_beside)

LIKENESS.know(
    {
        ApacheController: {"committed": BESIDE, "speculative": BESIDE, "state": distinguished},
        KeptLifecycle: {"in_jvm": lambda state, _, graph: None if state is None else distinguished(state, _, graph)},
    }
)


class ApacheCore:
    """Released controllers, and brokers of `impl.kraft`."""

    rules: ClassVar[Rules] = {
        ApacheController: {
            "settings": plain,
            "fenced_have_leases": LeftOut("the same of all controllers of a release"),
            "committed": REPLAYED,
            "speculative": REPLAYED,
            "epoch": Elsewhere("the state in the JVM"),
            "waiting": Elsewhere("the key of the cluster, with the senders that wait"),
            "loaded": Elsewhere("what is observed of processes, and of heartbeats under way"),
            "_calls": LeftOut("empty once a call is answered"),
            "_committed_offsets": LeftOut("offsets of the log, by which it reads what brokers report"),
            "_offsets": LeftOut("the same of all that it has written"),
            "_pending": Elsewhere("the end of the log, which is seen"),
            "state": in_jvm,
        },
        Image: {**IMAGE, "epoch": LeftOut("by the epoch of a batch Kafka's controller names snapshots, and no more")},
    }

    def __init__(self, version: str) -> None:
        classes(version)
        self._version = version

    def controller(
        self, settings: ControllerSettings, snapshot: Snapshot | None = None, voter: int = 0
    ) -> ControllerCore:
        controller = ApacheController(self._version, settings)
        if snapshot is not None:
            controller.load(snapshot)
        return controller

    def broker(
        self, settings: BrokerSettings, incarnation_id: UUID, disk: Mapping[PartitionKey, ReplicaLog] | None = None
    ) -> Broker:
        return Broker(settings, incarnation_id, disk)


class WithLifecycles(ApacheCore):
    """Released controllers, and brokers of ours whose dealings with them are those of released ones."""

    rules: ClassVar[Rules] = {
        **ApacheCore.rules,
        KeptLifecycle: {
            "in_jvm": of_lifecycle,
            "number": LeftOut("of the one request in flight"),
            "version": plain,
        },
        BrokerHeartbeatResponse: {**HEARTBEAT_RESPONSE, "is_caught_up": plain},
    }

    def broker(
        self, settings: BrokerSettings, incarnation_id: UUID, disk: Mapping[PartitionKey, ReplicaLog] | None = None
    ) -> Broker:
        return BrokerOfKafkas(self._version, settings, incarnation_id, disk)


class MixedCore(ApacheCore):
    """Every second controller is a released one, the others are of `impl.kraft`, as the brokers are."""

    rules: ClassVar[Rules] = {**ApacheCore.rules, Image: IMAGE}

    def controller(
        self, settings: ControllerSettings, snapshot: Snapshot | None = None, voter: int = 0
    ) -> ControllerCore:
        if voter % 2 == 1:
            return super().controller(settings, snapshot)
        return PythonCore().controller(settings, snapshot)


class ApacheUnderTest(KraftUnderTest):
    """A released controller as `checker.conform.system.System` asks for it.

    One that is deposed may forget a committed record (OffsetControlManager.endLoadSnapshot): what it knows is no
    replay of the log any more, as which it is read here.
    """

    def lacks(self, constants: Mapping[str, Any], actions: Collection[str]) -> str:
        has_snapshots = constants.get("snapshots", 0) > 0 and "load_snapshot" in actions
        if has_snapshots and constants.get("max_failovers", 0) > 1:
            return "a controller that is deposed may forget the record behind its snapshot: --set max_failovers=1"
        if has_snapshots and "handle_heartbeat" in actions and isinstance(self._core, MixedCore):
            return "behind a snapshot, Kafka's controllers and ours unfence brokers at other offsets: --set snapshots=0"
        return super().lacks(constants, actions)

    def receivers(
        self, system: Cluster, before: Any, classes: Mapping[str, type], actions: Collection[str]
    ) -> Iterable[Receiver]:
        """Without what the spec leaves out, where Kafka goes by other rules than the document."""
        return receivers(system, before, classes, actions, asks_the_rest=False)


def system_of(version: str) -> ApacheUnderTest:
    """The system with controllers of a release, or of the build whose jars are in a folder. Raises ApacheError."""
    return ApacheUnderTest(ApacheCore(version))
