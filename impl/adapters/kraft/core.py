"""The core that the adapter drives: an implementation of the design, as the hosts of a cluster use it.

`impl.kraft` is one. Another one (a port behind a bridge, a mix of several) stands in its place by giving the same: it
takes and returns the requests, effects, records, images and snapshots of `impl.kraft`, and shows its soft state in the
same shapes. A core is a value that can be pickled; so are the controllers and brokers that it makes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Protocol
from uuid import UUID

from checker.conform.graph import Rules
from impl.kraft.broker import (
    Broker,
    BrokerSettings,
    BrokerState,
    FetchRequest,
    FetchResponse,
    Lifecycle,
    PartitionFollower,
    PartitionLeader,
    ReplicaLog,
)
from impl.kraft.broker.core import BrokerRequest, BrokerResponse
from impl.kraft.controller import Controller, ControllerSettings, Session, Timer
from impl.kraft.controller.controller import Waiting
from impl.kraft.effects import Effects
from impl.kraft.errors import ErrorCode
from impl.kraft.image import Image, PartitionKey, Registration
from impl.kraft.messages import Request
from impl.kraft.records import Batch, RegisterBrokerRecord
from impl.kraft.snapshot import Snapshot


class SessionsView(Protocol):
    """The sessions of a controller, as `impl.kraft.controller.sessions.Sessions` documents them."""

    @property
    def of_broker(self) -> Mapping[int, Session]: ...

    def shutdown_offset(self, broker_id: int) -> int | None: ...
    def all_reach(self, offset: int, broker_ids: Iterable[int]) -> bool: ...


class ControllerCore(Protocol):
    """A controller, as `impl.kraft.controller.Controller` documents it."""

    @property
    def committed(self) -> Image: ...
    @property
    def speculative(self) -> Image: ...
    @property
    def epoch(self) -> int | None: ...
    @property
    def is_active(self) -> bool: ...
    @property
    def sessions(self) -> SessionsView: ...
    @property
    def waiting(self) -> Sequence[Waiting]: ...

    def copy(self) -> ControllerCore: ...
    def snapshot(self) -> Snapshot: ...
    def has_valid_session(self, broker_id: int, now_ms: int) -> bool: ...
    def handle(self, call: int, request: Request, now_ms: int) -> Effects: ...
    def on_timer(self, timer: Timer, now_ms: int) -> Effects: ...
    def on_commit(self, offset: int, now_ms: int) -> Effects: ...
    def replay(self, batch: Batch) -> None: ...
    def claim(self, epoch: int, now_ms: int) -> Effects: ...
    def renounce(self, now_ms: int) -> Effects: ...


def is_kafkas(core: ControllerCore) -> bool:
    """The controller is Kafka's own: its records are as Kafka writes them.

    Its method `heard_of(broker_id, now_ms)` renews a lease and does nothing else, for its registrations do not.
    """
    return getattr(core, "IS_KAFKAS", False)


def fenced_have_leases(core: ControllerCore) -> bool:
    """The lease of a broker counts, also while it is fenced."""
    return getattr(core, "fenced_have_leases", False)


def loaded(core: ControllerCore) -> Snapshot | None:
    """The snapshot that a controller has begun with, if it takes its end for where the registrations in it are."""
    return getattr(core, "loaded", None)


def amended(core: ControllerCore) -> Mapping[int, int]:
    """By the id of a broker that has to apply an amended registration, the offset of that."""
    return getattr(core, "amended", {})


def applied_from(core: ControllerCore, broker_id: int, broker_epoch: int) -> int:
    """The offset from which on a broker has applied the registration with this epoch."""
    held = core.speculative.registrations.get(broker_id)
    if held is None or held.broker_epoch != broker_epoch:
        return broker_epoch  # another one has its place by now
    return max(amended(core).get(broker_id, broker_epoch), end_of_snapshot_with(core, broker_id, held.incarnation_id))


def end_of_snapshot_with(core: ControllerCore, broker_id: int, incarnation: UUID) -> int:
    """The last offset of the snapshot that a controller has this registration from; -1 where it has it from none."""
    snapshot = loaded(core)
    if snapshot is None:
        return -1
    is_in_it = any((one.broker_id, one.incarnation_id) == (broker_id, incarnation) for one in registered_in(snapshot))
    return snapshot.offset if is_in_it else -1


def registered_in(snapshot: Snapshot) -> list[RegisterBrokerRecord]:
    """The registrations in a snapshot."""
    return [one for one in snapshot.records if isinstance(one, RegisterBrokerRecord)]


def starts_by_reply(core: BrokerCore) -> bool:
    """The broker leaves STARTING when the reply to a heartbeat says that it has caught up."""
    return getattr(core.lifecycle, "STARTS_BY_REPLY", False)


class BrokerCore(Protocol):
    """A broker process, as `impl.kraft.broker.Broker` documents it."""

    @property
    def settings(self) -> BrokerSettings: ...
    @property
    def lifecycle(self) -> Lifecycle: ...
    @property
    def image(self) -> Image: ...
    @property
    def applied_offset(self) -> int: ...
    @property
    def logs(self) -> Mapping[PartitionKey, ReplicaLog]: ...
    @property
    def leaders(self) -> Mapping[PartitionKey, PartitionLeader]: ...
    @property
    def followers(self) -> Mapping[PartitionKey, PartitionFollower]: ...
    @property
    def state(self) -> BrokerState: ...
    @property
    def broker_id(self) -> int: ...
    @property
    def broker_epoch(self) -> int | None: ...

    def copy(self) -> BrokerCore: ...
    def start(self, now_ms: int) -> Effects: ...
    def recovered(self, now_ms: int) -> Effects: ...
    def shut_down(self, now_ms: int) -> Effects: ...
    def stopped(self) -> None: ...
    def on_timer(self, timer: Timer, now_ms: int) -> Effects: ...
    def on_response(self, request: BrokerRequest, response: BrokerResponse | None, now_ms: int) -> Effects: ...
    def replay(self, batches: Iterable[Batch], high_watermark: int, now_ms: int) -> Effects: ...
    def alive_brokers(self) -> list[Registration]: ...
    def min_insync_replicas(self, topic_id: UUID) -> int: ...
    def acknowledgement(self, key: PartitionKey, end_offset: int) -> ErrorCode | None: ...
    def fetch_request(self, key: PartitionKey) -> FetchRequest | None: ...
    def fetch_error(self, request: FetchRequest) -> ErrorCode: ...
    def on_fetch_response(self, request: FetchRequest, response: FetchResponse) -> None: ...
    def expand_isr(self, key: PartitionKey, follower: int, now_ms: int) -> Effects: ...
    def expire_isr(self, now_ms: int) -> Effects: ...
    def advance_high_watermark(self, key: PartitionKey) -> bool: ...


class Core(Protocol):
    """Makes the controllers and brokers of a cluster.

    rules: of what its classes have for state, besides those of `impl.kraft`; see `checker.conform.graph`.
    """

    rules: ClassVar[Rules]

    def controller(
        self, settings: ControllerSettings, snapshot: Snapshot | None = None, voter: int = 0
    ) -> ControllerCore:
        """A standby, which has what the snapshot stands for. voter: its number."""

    def broker(
        self, settings: BrokerSettings, incarnation_id: UUID, disk: Mapping[PartitionKey, ReplicaLog] | None = None
    ) -> BrokerCore:
        """A process that has yet to start. disk: what the last one left."""


class PythonCore:
    """`impl.kraft` as a core."""

    rules: ClassVar[Rules] = {}

    def controller(self, settings: ControllerSettings, snapshot: Snapshot | None = None, voter: int = 0) -> Controller:
        return Controller(settings) if snapshot is None else Controller.load(settings, snapshot)

    def broker(
        self, settings: BrokerSettings, incarnation_id: UUID, disk: Mapping[PartitionKey, ReplicaLog] | None = None
    ) -> Broker:
        return Broker(settings, incarnation_id, disk)
