"""The cluster under test: the cores, each with the host that runs it, and the network between them.

All of it is immutable: a step makes new hosts of those that it touches, with copies of their cores, and shares the
rest. Every host has a clock of its own, which moves when a timer of it is to fire.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar
from uuid import UUID

from checker.conform.graph import Graph
from checker.conform.system import Structure
from impl.adapters.kraft import times
from impl.adapters.kraft.core import BrokerCore, ControllerCore, Core, is_kafkas, loaded, registered_in
from impl.adapters.kraft.epoch_history import Entry, EpochHistory
from impl.adapters.kraft.values import FIRST, Comparable, Lacking, Remembering, digest, recalled, remembered, replace
from impl.adapters.kraft.views import ProcessView
from impl.kraft.broker import BrokerSettings
from impl.kraft.broker.replica_log import InMemoryReplicaLog
from impl.kraft.controller import ControllerSettings
from impl.kraft.image import Image, PartitionKey
from impl.kraft.messages import (
    AlterPartitionRequest,
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    Response,
)
from impl.kraft.records import Batch, Endpoint, SupportedFeature
from impl.kraft.snapshot import Snapshot

CLUSTER_ID = "cluster under test"
TOPIC = "topic"
SESSION_TIMEOUT_MS = 9_000
FOR_EVER_MS = 1 << 60  # time limits that are never reached

LifecycleRequest = BrokerRegistrationRequest | BrokerHeartbeatRequest
Timer = tuple[str | int, ...]
Timers = dict[Timer, int]
Disk = dict[PartitionKey, InMemoryReplicaLog]
T = TypeVar("T")
ONE_HISTORY = EpochHistory()
FEATURES = (SupportedFeature("metadata.version", 1, 20), SupportedFeature("feature", 0, 6))
"""Of every broker."""
CONTROLLER_FEATURES = (SupportedFeature("metadata.version", 1, 20), SupportedFeature("feature", 0, 5))


def listeners(broker_id: int) -> tuple[Endpoint, ...]:
    return (Endpoint("PLAINTEXT", f"host-{broker_id}", 9092 + broker_id, 0),)


def rack(broker_id: int) -> str:
    """Every other broker is in the same one."""
    return f"rack-{broker_id % 2}"


def is_described(broker_id: int, request: BrokerRegistrationRequest) -> bool:
    """A registration says of its broker what that was configured with."""
    return request == registration_request(broker_id, request.incarnation_id)


def registration_request(broker_id: int, incarnation: UUID) -> BrokerRegistrationRequest:
    """The registration that a broker of this cluster sends."""
    return BrokerRegistrationRequest(
        broker_id, CLUSTER_ID, incarnation, listeners(broker_id), FEATURES, rack(broker_id)
    )


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """The size of the cluster, and the configuration of every core.

    node_ids: of each place for a process. limits: the constants of the model, by name.
    """

    brokers: int
    partitions: int
    node_ids: tuple[int, ...]
    min_insync_replicas: int
    limits: Mapping[str, Any]
    core: Core

    def __post_init__(self) -> None:
        FIRST.clear()  # a cluster begins: no host of another one, whose cores may do otherwise, stands for its own

    @property
    def rivals(self) -> frozenset[int]:
        """The broker ids of which two processes may run at a time."""
        return frozenset(id_ for id_ in self.node_ids if self.node_ids.count(id_) > 1)

    @property
    def registers_anew(self) -> bool:
        """A registration may end while the cluster runs, and another one take its place."""
        return any(self.limits.get(name, 0) > 0 for name in ENDS_REGISTRATIONS)

    @property
    def snapshot_end_counts(self) -> bool:
        """Controllers take the end of a snapshot that they have loaded for where its registrations are."""
        return self.limits.get("snapshots", 0) > 0 and not self.limits.get("snapshot_keeps_offsets", True)

    def controller_settings(self) -> ControllerSettings:
        return ControllerSettings(
            cluster_id=CLUSTER_ID,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            min_insync_replicas=self.min_insync_replicas,
            supported_features=CONTROLLER_FEATURES,
        )

    def broker_settings(self, process: int) -> BrokerSettings:
        broker_id = self.node_ids[process]
        return BrokerSettings(
            broker_id=broker_id,
            cluster_id=CLUSTER_ID,
            listeners=listeners(broker_id),
            features=FEATURES,
            rack=rack(broker_id),
            initial_registration_timeout_ms=FOR_EVER_MS,
            controlled_shutdown_timeout_ms=FOR_EVER_MS,
            min_insync_replicas=self.min_insync_replicas,
        )

    def controller(self, snapshot: Snapshot | None = None, voter: int = 0) -> ControllerCore:
        """A standby, which has what the snapshot stands for."""
        return self.core.controller(self.controller_settings(), snapshot, voter)

    def broker(self, process: int, incarnation: int, disk: Disk | None = None) -> BrokerCore:
        """A process that has yet to start. incarnation: as `incarnation_id` counts them."""
        return self.core.broker(self.broker_settings(process), incarnation_id(incarnation), disk)


class Host(Comparable):
    """A part of the cluster, of which one is as good as another that is equal in all but times."""

    @property
    def likeness(self) -> Structure:
        return type(getattr(self, "core", None)), digest(LIKENESS.read(self))


@dataclass(frozen=True, eq=False)
class Envelope(Host):
    """A request under way. incarnation: of the process that sent it; late: its sender has given its connection up.

    added: whom an AlterPartitionRequest adds to the ISR that its leader knows. lacks: as `HeartbeatView` has it, from
    when it was sent.
    """

    sender: int
    incarnation: UUID
    to: int
    request: LifecycleRequest | AlterPartitionRequest
    late: bool = False
    added: int | None = None
    lacks: int = 0

    @property
    def about(self) -> PartitionKey | None:
        """The partition that it is about, if it is about one."""
        request = self.request
        return (request.topic_id, request.partition_id) if isinstance(request, AlterPartitionRequest) else None


@dataclass(frozen=True)
class Answer:
    """A reply under way to a process, and what it answers."""

    request: LifecycleRequest | AlterPartitionRequest
    response: Response


ENDS_REGISTRATIONS = "max_crashes", "max_shutdowns", "max_unregistrations", "max_second_starts"
BEGUN_MS = 1_000_000
"""The clock of a host at first: a time that was kept from before it, or is 0, is long over."""


@dataclass(frozen=True, eq=False)
class ControllerHost(Host):
    """A controller and the host that runs it.

    image: a replay of what it has emitted on top of what was committed before; of a standby, of what is committed.
    is_elected: it leads the quorum in `epoch`. lags_since: where it lacks something committed, the epoch of its last
    batch. high_watermark: the last offset that it knows to be committed. log: what it has beyond; what a standby
    has that lacks something committed is left out.
    waiting: the requests of brokers that it has yet to answer, by call; operators: calls of operators; made: how many
    calls there were.
    """

    core: ControllerCore
    image: Image
    timers: Timers
    now_ms: int = BEGUN_MS
    epoch: int = 0
    is_elected: bool = True
    lags_since: int | None = None
    high_watermark: int = -1
    log: tuple[Entry, ...] = ()
    waiting: Mapping[int, Envelope] = field(default_factory=dict)
    operators: frozenset[int] = frozenset()
    made: int = 0

    @property
    def is_lost(self) -> bool:
        """It was deposed, and what it has in its log can never commit: nobody will hear of what it writes.

        Epochs that it sees were issued again by others, so that it may decide otherwise than the spec.
        """
        return self.is_elected and self.lags_since is not None and len(self.log) > 0

    @property
    def is_unheard(self) -> bool:
        """It is lost, and what it refuses by an error is not heard of either. Kafka sends that at once."""
        return self.is_lost and not is_kafkas(self.core)

    @property
    def is_out_of_sight(self) -> bool:
        """True when it decides nothing: it is lost, or a standby that has yet to catch up."""
        return self.is_lost or (self.lags_since is not None and not self.is_elected)


@dataclass(frozen=True, eq=False)
class ProcessHost(Host):
    """A place where a broker process runs. core: None where none does; disk: what the last one left there.

    isr_answers: of each partition, the answer to its leader. stand_in: what is shown, but for replies, by a process
    that only waits for one. reaches: of a broker that asks at will, what the oldest image with its registration has.
    """

    core: BrokerCore | None = None
    disk: Disk = field(default_factory=dict)
    controller: int = 0
    answer: Answer | None = None
    isr_answers: Mapping[PartitionKey, Answer] = field(default_factory=dict)
    timers: Timers = field(default_factory=dict)
    now_ms: int = BEGUN_MS
    stand_in: ProcessView | None = None
    reaches: int = -1

    @property
    def broker(self) -> BrokerCore:
        """The process, which must be alive."""
        assert self.core is not None
        return self.core


LIKENESS = Graph(times.likeness(ControllerHost, ProcessHost, Remembering), named=False)


@dataclass(frozen=True, eq=False)
class Log:
    """Batches that are committed, from the first one on."""

    batches: tuple[Batch, ...] = ()

    def followed_by(self, batches: tuple[Batch, ...]) -> Log:
        return longer(self, batches)

    @property
    def end_offset(self) -> int:
        """Exclusive."""
        return self.batches[-1].last_offset + 1 if self.batches else 0


@recalled
def longer(log: Log, batches: tuple[Batch, ...]) -> Log:
    return Log((*log.batches, *batches))


NO_LOG = Log()


@dataclass(frozen=True, eq=False)
class Stable(Remembering):
    """The committed part of several controllers' logs: its replay, and when its epochs were issued."""

    image: Image
    history: EpochHistory


@dataclass(frozen=True, eq=False)
class Taken(Remembering):
    """The newest snapshot."""

    snapshot: Snapshot


@dataclass(frozen=True)
class Removal:
    """A removal that an operator asked of one of several controllers. call: its number; None: nobody answers."""

    voter: int
    call: int | None
    is_answered: bool = False
    is_confirmed: bool = False


class Lens:
    """A way to read hosts: by these marks, history and snapshots, and by who lacks something of a snapshot.

    view, hidden: keys of what was read so. lacking: as `Cluster.lacking`.
    """

    def __init__(self, lacking: Lacking) -> None:
        self.view, self.hidden, self.lacking = object(), object(), lacking


@recalled
def lens(history: EpochHistory, marks: tuple[int, ...], ends: tuple[int, ...], lacking: Lacking) -> Lens:
    return Lens(lacking)


HOSTS = "controllers", "processes", "lifecycle", "alterations"


@dataclass(frozen=True, eq=False)
class Cluster(Remembering):
    """The whole system under test.

    log: what is committed. stable: its replay, where there are several controllers; written: how many batches they have
    written, committed or not. marks: offsets in the log that somebody waits for. incarnations, topics: how many were
    drawn. records: of each partition, what its producer knows of its one record. answer: to the last client that asked
    for metadata; removal, listing: the last that an operator asked of several controllers.
    """

    shape: Shape
    controllers: tuple[ControllerHost, ...]
    processes: tuple[ProcessHost, ...]
    log: Log = NO_LOG
    stable: Stable | None = None
    written: int = 0
    snapshot: Taken | None = None
    lifecycle: tuple[Envelope, ...] = ()
    alterations: tuple[Envelope, ...] = ()
    marks: tuple[int, ...] = ()
    incarnations: int = 0
    topics: int = 1
    records: tuple[str, ...] = ()
    answer: tuple[int, tuple[int, ...]] | None = None
    removal: Removal | None = None
    listing: tuple[int, bool] | None = None
    is_asked_the_rest: bool = False

    @property
    def _parts(self) -> tuple[object, ...]:
        """What it is made of. Hosts, and what is under way, are the same where they are one object."""
        parts: tuple[object, ...] = PARTS(self)
        return (*parts, in_any_order(self.lifecycle), in_any_order(self.alterations))

    def __hash__(self) -> int:
        return hash(self._parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cluster) and self._parts == other._parts

    def __setstate__(self, parts: dict[str, Any]) -> None:
        hosts = {name: tuple(host.alike() for host in parts[name]) for name in HOSTS}
        vars(self).update(parts, **hosts)

    @property
    def lens(self) -> Lens:
        """The way to read the hosts of this cluster."""
        return remembered(self.memory, Lens, lambda: lens(self.history, self.marks, self.ends, self.lacking))

    @property
    def ends(self) -> tuple[int, ...]:
        """The last offsets of the newest snapshot and of those that controllers have loaded, where they count."""
        if not self.shape.snapshot_end_counts:
            return ()
        newest = None if self.snapshot is None else self.snapshot.snapshot
        held = newest, *[loaded(host.core) for host in self.controllers]
        return tuple([-1 if snapshot is None else snapshot.offset for snapshot in held])

    @property
    def lacking(self) -> Lacking:
        """(broker, end of a snapshot that a controller has loaded): registered in it, it may yet report less than that.

        By a spec in which that counts for nothing, a state does not show it: each may.
        """
        held = {one.offset: one for host in self.controllers if (one := loaded(host.core)) is not None}
        return frozenset(
            [
                (one.broker_id, offset)
                for offset, snapshot in held.items()
                for one in registered_in(snapshot)
                if not self.shape.snapshot_end_counts or self._reports_less(one.broker_id, one.incarnation_id, offset)
            ]
        )

    def _reports_less(self, broker_id: int, incarnation: UUID, offset: int) -> bool:
        """Its image does not reach the offset, or that of a heartbeat under way does not."""
        cores = [host.core for host in self.processes if host.core is not None]
        heartbeats = [one.request for one in self.lifecycle if isinstance(one.request, BrokerHeartbeatRequest)]
        return any(
            (core.broker_id, core.lifecycle.incarnation_id) == (broker_id, incarnation) and core.applied_offset < offset
            for core in cores
        ) or any(one.broker_id == broker_id and one.current_metadata_offset < offset for one in heartbeats)

    def with_controller(self, voter: int, host: ControllerHost) -> Cluster:
        return replace(self, controllers=put(self.controllers, voter, host.alike()))

    def with_process(self, process: int, host: ProcessHost) -> Cluster:
        return replace(self, processes=put(self.processes, process, host.alike()))

    @property
    def is_probed(self) -> bool:
        """It takes one step, for a probe, and nothing comes of it."""
        return self.is_asked_the_rest or any(host.stand_in is not None for host in self.processes)

    @property
    def committed(self) -> Image:
        """The replay of what is committed. What a controller alone decides is committed at once."""
        return self.controllers[0].image if self.stable is None else self.stable.image

    @property
    def history(self) -> EpochHistory:
        """The issue of the epochs in the committed part of the log."""
        return ONE_HISTORY if self.stable is None else self.stable.history

    @property
    def is_quorum(self) -> bool:
        """There are several controllers."""
        return self.stable is not None

    @property
    def topic(self) -> UUID | None:
        """The id of the one topic."""
        return self.committed.topic_ids.get(TOPIC)


PARTS = attrgetter(*(one.name for one in fields(Cluster) if one.name not in ("shape", "lifecycle", "alterations")))


def in_any_order(envelopes: tuple[Envelope, ...]) -> tuple[Envelope, ...]:
    """The same tuple for the same envelopes, some of which may be there twice."""
    return tuple(sorted(envelopes, key=id)) if len(envelopes) > 1 else envelopes


def put(values: tuple[T, ...], at: int, value: T) -> tuple[T, ...]:
    return (*values[:at], value, *values[at + 1 :])


def topic_id(number: int) -> UUID:
    """The id of the topic that is created as the `number`th, from 0 on."""
    return UUID(int=number + 1)


def incarnation_id(number: int) -> UUID:
    """The incarnation id of the process that starts as the `number`th, from 0 on."""
    return UUID(int=number + 1)
