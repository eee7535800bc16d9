"""Messages that could land although nobody has sent them: each field as it should be, stale, or ahead of everything.

A probe leaves all out but the controller, the message and a stand-in for its sender that waits for the reply, in the
state of the spec and in the cluster alike. Values come in pairs: the spec's, and the implementation's for the same.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from functools import cached_property, partial
from itertools import combinations, product
from typing import Any, NamedTuple
from uuid import UUID

from checker.conform.system import Ordinal, Probe, Receiver
from impl.adapters.kraft import internal_state, observed, unmodelled
from impl.adapters.kraft.cluster import (
    Cluster,
    ControllerHost,
    Envelope,
    ProcessHost,
    Stable,
    incarnation_id,
    registration_request,
)
from impl.adapters.kraft.core import amended, loaded
from impl.adapters.kraft.epoch_history import EpochHistory, topic_number
from impl.adapters.kraft.values import remembered, replace
from impl.adapters.kraft.views import LeadershipView, ProcessView, ReplicaView
from impl.kraft.image import Image, Partition
from impl.kraft.messages import (
    AlterPartitionRequest,
    BrokerHeartbeatRequest,
    IsrMember,
)

AHEAD = 1 << 20
UNMODELLED = "unmodelled"


class Pair(NamedTuple):
    """A value of the spec, and what stands for it in the implementation."""

    spec: Any
    own: int


class Asked(NamedTuple):
    """The fields of an AlterPartition request."""

    p: Any
    leader_epoch: Pair
    partition_epoch: Pair
    isr: tuple[int, ...]
    sender: int = 0
    epoch: Pair = Pair(None, 0)
    added_epoch: Pair = Pair(None, 0)


def receivers(
    cluster: Cluster, before: Any, classes: Mapping[str, Any], actions: Collection[str], *, asks_the_rest: bool = True
) -> Iterator[Receiver]:
    """Every controller that may decide, where a request of each kind that the model knows can land.

    asks_the_rest: those about what the spec leaves out, too.
    """
    for voter, host in enumerate(cluster.controllers):
        if host.core.is_active and not host.is_lost:
            make = partial(probes, with_history(cluster, host), voter, before, classes, actions)
            yield Receiver(decisive(cluster, voter), make)
        if asks_the_rest and not host.is_lost:
            key = remembered(host.memory, UNMODELLED, partial(unmodelled.key, host))
            yield Receiver(key, partial(the_rest, cluster, voter, before, classes, actions))


def decisive(cluster: Cluster, voter: int) -> Hashable:
    """All that decides what a request does at a controller."""
    host, records = cluster.controllers[voter], cluster.records
    if cluster.is_quorum or host.core.waiting:
        shown = observed.controller(cluster, host), observed.stable(cluster), records, loaded(host.core) is not None
        return shown, internal_state.of_host(cluster, host), internal_state.awaited(cluster, voter)
    return remembered(
        host.memory, (cluster.lens.view, records),
        lambda: (observed.controller(cluster, host), records, internal_state.of_host(cluster, host)),
    )  # fmt: skip


def the_rest(
    cluster: Cluster, voter: int, before: Any, classes: Mapping[str, Any], actions: Collection[str]
) -> Iterator[Probe]:
    """The one probe for what the spec leaves out: to it, a request that a controller which is not active refuses."""
    at = next(one for one in before.controllers if one.index == voter)
    place = next(iter(before.processes))
    if "handle_registration" in actions:
        action = "handle_registration"
        message = classes["Register"](place, classes["Incarnation"](AHEAD), late=True, to=at)
    elif "handle_alter_isr" in actions:
        action, epochs = "handle_alter_isr", [classes[sort](AHEAD) for sort in ("LeaderEpoch", "PartitionEpoch")]
        message = classes["AlterIsr"](
            place, classes["BrokerEpoch"](AHEAD), classes["TopicId"](0), next(iter(before.produced)), *epochs,
            isr=frozenset(), added_epoch=None, late=True, to=at,
        )  # fmt: skip
    else:
        return
    standby = changed(before.controllers[at], role=classes["Role"]["STANDBY"])
    state = changed(before, controllers=type(before.controllers)({**dict(before.controllers.items()), at: standby}))
    system = replace(cluster, is_asked_the_rest=True)
    yield Probe("what the spec leaves out", state, system, action, {"voter": at, "request": message})


def probes(
    cluster: Cluster, voter: int, before: Any, classes: Mapping[str, Any], actions: Collection[str]
) -> Iterator[Probe]:
    """The probes of one controller. The least epoch of a partition is 1 in their states, so that 0 is behind all."""
    epochs = frozenset(classes[sort] for sort in ("LeaderEpoch", "PartitionEpoch") if sort in classes)
    return Probing(cluster, voter, raised(before, epochs), classes, actions).probes()


def with_history(cluster: Cluster, host: ControllerHost) -> Cluster:
    """The cluster with the history of all epochs that a controller knows of."""
    if not host.log:
        return cluster
    return replace(cluster, stable=Stable(cluster.committed, observed.log_of(cluster, host)[0]))


@dataclass(frozen=True)
class Probing:
    """Makes the probes of one controller."""

    cluster: Cluster
    number: int
    before: Any
    classes: Mapping[str, Any]
    actions: Collection[str]

    @property
    def host(self) -> ControllerHost:
        return self.cluster.controllers[self.number]

    @property
    def image(self) -> Image:
        return self.host.image

    @property
    def history(self) -> EpochHistory:
        return self.cluster.history

    @property
    def spec_image(self) -> Any:
        return self.before.controllers[self.voter()].image

    def probes(self) -> Iterator[Probe]:
        actions = self.actions
        if "handle_registration" in actions:
            yield from self.registrations()
        if "handle_heartbeat" in actions:
            yield from self.heartbeats()
        if "handle_alter_isr" in actions:
            yield from self.alterations()

    @property
    def topic(self) -> UUID:
        """The one topic, which there is."""
        return next(iter(self.image.topics))

    # Pairs of values.

    def place(self, number: int) -> Any:
        return next(place for place in self.before.processes if place.index == number)

    def voter(self) -> Any:
        return next(voter for voter in self.before.controllers if voter.index == self.number)

    def brokers(self) -> list[Any]:
        return list(self.spec_image.registrations)

    def broker_epochs(self) -> list[Pair]:
        """Every broker epoch that is registered, and one that is none."""
        held = [(broker.index, one) for broker, one in self.spec_image.registrations.items() if one is not None]
        found = [Pair(one.broker_epoch, self.image.registrations[number].broker_epoch) for number, one in held]
        return [*found, Pair(self.classes["BrokerEpoch"](AHEAD), AHEAD)]

    def incarnations(self) -> list[Pair]:
        """Every incarnation that is registered, and a new one."""
        held = [(broker.index, one) for broker, one in self.spec_image.registrations.items() if one is not None]
        found = [Pair(one.incarnation, self.image.registrations[number].incarnation_id.int) for number, one in held]
        return [*found, Pair(self.classes["Incarnation"](AHEAD), incarnation_id(AHEAD).int)]

    def offsets(self) -> dict[int, Any]:
        """The offsets that somebody waits for, with what the spec has for them."""
        found: dict[int, Any] = {}
        known = [at for at in self.history.offsets(self.cluster.marks) if at <= self.image.offset]
        if self.spec_image.offset is not None and known:
            found[known[-1]] = self.spec_image.offset
        for broker, begun in self.before.controllers[self.voter()].shutdowns.items():
            own = self.host.core.sessions.shutdown_offset(broker.index)
            if begun is not None and own is not None:
                found[own] = begun.offset
        for broker, one in self.spec_image.registrations.items():
            again = amended(self.host.core).get(broker.index)
            if one is not None and one.amended and again is not None:
                found[again] = one.amended[0]
        return found

    # What a probe is made of.

    def stand_in(self, number: int, view: ProcessView, **fields: Any) -> tuple[Any, ProcessHost]:
        """A sender that waits, in the spec and here."""
        stopped, recovery = self.stopped[self.place(number)], self.classes["BrokerState"]["RECOVERY"]
        made = changed(stopped, state=recovery, wants_fence=True, **fields)
        view = view if view.replicas else view._replace(replicas=(NO_REPLICA,) * self.cluster.shape.partitions)
        view = view._replace(lacks=(0,) * len(self.cluster.controllers))
        return made, ProcessHost(stand_in=view)

    @cached_property
    def stopped(self) -> dict[Any, Any]:
        """Of every place for one, a process of the spec that does not run, and has nothing on its disk."""
        return {place: self.without_process(one) for place, one in self.before.processes.items()}

    def without_process(self, one: Any) -> Any:
        return changed(
            one,
            state=self.classes["BrokerState"]["NOT_RUNNING"],
            incarnation=None,
            broker_epoch=None,
            controller=next(iter(self.before.controllers)),
            reply=None,
            deferral=at_once(one.deferral),
            wants_fence=False,
            caught_up=False,
            applied=None,
            reach=0,
            lacks=type(one.lacks)(dict.fromkeys(one.lacks, 0)),
            listing=(),
            replicas=type(one.replicas)({p: unassigned(held) for p, held in one.replicas.items()}),
        )

    def probe(self, name: str, action: str, number: int, message: Any, request: Any, sender: Any, host: Any) -> Probe:
        """The message under way, and nobody there but its sender."""
        before, alters = self.before, isinstance(request, AlterPartitionRequest)
        nothing = type(before.lifecycle)()
        under_way = nothing.add(message)
        state = changed(
            before,
            processes=type(before.processes)({**self.stopped, self.place(number): sender}),
            lifecycle=nothing if alters else under_way,
            alterations=under_way if alters else nothing,
        )
        envelope = Envelope(number, incarnation_id(0), self.number, request)
        nobody = [ProcessHost() for _ in self.cluster.processes]
        nobody[number] = host
        system = replace(
            self.cluster,
            processes=tuple(nobody),
            lifecycle=() if alters else (envelope,),
            alterations=(envelope,) if alters else (),
        )
        return Probe(name, state, system, action, {"voter": self.voter(), "request": message})

    # Registrations and heartbeats.

    def registrations(self) -> Iterator[Probe]:
        for broker, incarnation in product(self.brokers(), self.incarnations()):
            number = broker.index
            message = self.classes["Register"](self.place(number), incarnation.spec, late=False, to=self.voter())
            request = registration_request(number, incarnation_id(incarnation.own - 1))
            view = shown(incarnation=Ordinal("Incarnation", incarnation.own))
            sender, host = self.stand_in(number, view, incarnation=incarnation.spec)
            name = f"{request}"
            yield self.probe(name, "handle_registration", number, message, request, sender, host)

    def heartbeats(self) -> Iterator[Probe]:
        """At the right broker epoch all that can be said; at any other one, nothing helps."""
        wishes = (False, False), (True, False), (False, True), (True, True)
        for broker, epoch in product(self.brokers(), self.broker_epochs()):
            if epoch == self.own_epoch(broker.index):
                for (fence, stop), reached in product(wishes, self.reaches(epoch)):
                    yield self.heartbeat(broker.index, epoch, fence, stop, reached)
            else:
                yield self.heartbeat(broker.index, epoch, False, False, self.image.offset)

    def reaches(self, epoch: Pair) -> list[int]:
        """Offsets to report: the last one that is too low for what somebody waits for, the first that is not."""
        snapshot = loaded(self.host.core)
        waited_for = {epoch.own, *self.offsets(), *([] if snapshot is None else [snapshot.offset])}
        return sorted({offset - 1 for offset in waited_for} | waited_for | {self.image.offset})

    def lack(self, number: int, epoch: Pair, reached: int) -> int:
        held = self.image.registrations.get(number)
        if held is None or held.broker_epoch != epoch.own:
            return 0
        return observed.lack(self.cluster, self.number, number, held.incarnation_id, reached)

    def heartbeat(self, number: int, epoch: Pair, fence: bool, stop: bool, reached: int) -> Probe:
        marks = [offset for offset in sorted(self.offsets()) if offset <= reached]
        message = self.classes["Heartbeat"](
            sender=self.place(number),
            broker_epoch=epoch.spec,
            want_fence=fence,
            want_shut_down=stop,
            caught_up=reached >= epoch.own,
            applied=self.offsets()[marks[-1]] if marks else None,
            lacks=self.lack(number, epoch, reached),
            late=False,
            to=self.voter(),
        )
        request = BrokerHeartbeatRequest(number, epoch.own, reached, want_fence=fence, want_shut_down=stop)
        sender, host = self.stand_in(number, shown(broker_epoch=self.history.broker_epoch(epoch.own)),
                                     broker_epoch=epoch.spec)  # fmt: skip
        return self.probe(f"{request}", "handle_heartbeat", number, message, request, sender, host)

    # AlterPartition.

    def alterations(self) -> Iterator[Probe]:
        """Requests of each broker for each ISR, and the leader's for everybody, with each field gone wrong."""
        for p, partition in self.spec_image.partitions.items():
            if partition is None:
                continue
            own = self.image.partitions[self.topic, p.index]
            asked = Asked(p, self.pairs(partition.leader_epoch, own.leader_epoch)[0],
                          self.pairs(partition.partition_epoch, own.partition_epoch)[0], own.isr)  # fmt: skip
            for broker, isr in product(self.brokers(), self.isrs(own.isr)):
                right = self.own_epoch(broker.index)
                added = next((self.own_epoch(member) for member in isr if member not in own.isr), right)
                one = asked._replace(sender=broker.index, epoch=right or self.broker_epochs()[-1], isr=isr,
                                     added_epoch=added or self.broker_epochs()[-1])  # fmt: skip
                yield self.alteration(one)
                if broker.index == own.leader and len(isr) == len(self.brokers()):
                    yield from (self.alteration(wrong) for wrong in self.gone_wrong(one, partition, own))

    def gone_wrong(self, one: Asked, partition: Any, own: Partition) -> Iterator[Asked]:
        """The request with one field that is stale or ahead, and with two that are."""
        leader_epochs = self.pairs(partition.leader_epoch, own.leader_epoch)
        partition_epochs = self.pairs(partition.partition_epoch, own.partition_epoch)
        for leader, change in product(leader_epochs, partition_epochs):
            if (leader, change) != (one.leader_epoch, one.partition_epoch):
                yield one._replace(leader_epoch=leader, partition_epoch=change)
        for epoch in self.broker_epochs():
            if epoch != one.epoch:
                yield one._replace(epoch=epoch)
            if epoch != one.added_epoch and set(one.isr) - set(own.isr):
                yield one._replace(added_epoch=epoch)

    def own_epoch(self, number: int) -> Pair | None:
        registration = self.image.registrations.get(number)
        return next((p for p in self.broker_epochs() if registration and p.own == registration.broker_epoch), None)

    def pairs(self, spec: Any, own: int) -> list[Pair]:
        """The epoch as it is, one that is behind it, and one that is ahead: of all, where others issue epochs, too."""
        step = AHEAD if self.cluster.is_quorum else 1
        behind = Pair(type(spec)(max(spec.value - step, 0)), own - step)
        return [Pair(spec, own), behind, Pair(type(spec)(spec.value + step), own + step)]

    def isrs(self, isr: tuple[int, ...]) -> list[tuple[int, ...]]:
        """ISRs to ask for: those with at most one more member than there are, and everybody."""
        numbers = [broker.index for broker in self.brokers()]
        every = [chosen for size in range(1, len(numbers) + 1) for chosen in combinations(numbers, size)]
        return [chosen for chosen in every if len(set(chosen) - set(isr)) <= 1 or len(chosen) == len(numbers)]

    def alteration(self, asked: Asked) -> Probe:
        brokers = {broker.index: broker for broker in self.brokers()}
        before = self.image.partitions[self.topic, asked.p.index].isr
        added = next((member for member in asked.isr if member not in before), None)
        topic, number = self.spec_image.topic, asked.sender
        message = self.classes["AlterIsr"](
            sender=self.place(number),
            broker_epoch=asked.epoch.spec,
            topic=topic,
            partition=asked.p,
            leader_epoch=asked.leader_epoch.spec,
            partition_epoch=asked.partition_epoch.spec,
            isr=frozenset(brokers[member] for member in asked.isr),
            added_epoch=None if added is None else asked.added_epoch.spec,
            late=False,
            to=self.voter(),
        )
        request = AlterPartitionRequest(
            broker_id=number,
            broker_epoch=asked.epoch.own,
            topic_id=self.topic,
            partition_id=asked.p.index,
            leader_epoch=asked.leader_epoch.own,
            partition_epoch=asked.partition_epoch.own,
            new_isr=tuple(IsrMember(member, -1 if member in before else asked.added_epoch.own) for member in asked.isr),
        )
        sender, host = self.asking(number, message, request)
        return self.probe(f"{request}", "handle_alter_isr", number, message, request, sender, host)

    def asking(self, number: int, message: Any, request: AlterPartitionRequest) -> tuple[Any, ProcessHost]:
        """A leader that has asked for the ISR of the request: as if one that is in it were added."""
        one = self.before.processes[self.place(number)]
        leads = self.classes["Leadership"](
            partition_epoch=message.partition_epoch,
            isr=message.isr,
            pending_change=self.classes["IsrChange"](
                min(message.isr, key=lambda broker: broker.index), message.broker_epoch
            ),
            reply=None,
            awaits_metadata=False,
            is_ahead=False,
            replicas_with_record=frozenset(),
            caught_up=(),
            starts_with_record=False,
            applied=None,
            candidates=frozenset(),
        )
        held = {
            p: unassigned(replica, topic=message.topic, leader_epoch=message.leader_epoch, leadership=leads)
            if p == message.partition
            else unassigned(replica)
            for p, replica in one.replicas.items()
        }
        view = shown(
            broker_epoch=self.history.broker_epoch(request.broker_epoch),
            replicas=tuple(
                replica_that_asks(self.history, request) if p.index == request.partition_id else NO_REPLICA
                for p in one.replicas
            ),
        )
        return self.stand_in(number, view, broker_epoch=message.broker_epoch, replicas=type(one.replicas)(held))


def changed(one: Any, **fields: Any) -> Any:
    """A record of the spec with other values in some fields. They are not looked at again: they are of their types."""
    made = object.__new__(type(one))
    made.__dict__.update(one.__dict__)
    made.__dict__.update(fields)
    return made


def raised(value: Any, sorts: frozenset[type]) -> Any:
    """A value of the spec with the ordinals of some sorts greater by one, which keeps their order; bags as they are."""
    if type(value) in sorts:
        return type(value)(value.value + 1)
    if is_dataclass(value):
        return changed(value, **{name: raised(part, sorts) for name, part in vars(value).items()})
    if isinstance(value, tuple | frozenset):
        return type(value)(raised(part, sorts) for part in value)
    if hasattr(value, "items"):
        return type(value)({key: raised(part, sorts) for key, part in value.items()})
    return value


def at_once(deferral: Any) -> Any:
    return type(deferral)(dict.fromkeys(deferral, 0))


def unassigned(held: Any, **fields: Any) -> Any:
    """A replica of the spec that neither leads nor follows, unless `fields` say so, and has nothing on disk."""
    nothing = {"leader_epoch": None, "leadership": None, "deferral": at_once(held.deferral), "image_leader": None}
    return changed(held, **{**nothing, "high_watermark": False, "has_record": False, **fields})


NO_REPLICA = ReplicaView(None, None, None, None, False, False)


def replica_that_asks(history: EpochHistory, request: AlterPartitionRequest) -> ReplicaView:
    key = request.topic_id, request.partition_id
    isr = tuple(sorted(member.broker_id for member in request.new_isr))
    leads = LeadershipView(
        partition_epoch=history.partition_epoch(key, request.partition_epoch),
        isr=isr,
        pending_change=isr,
        added_epoch=history.broker_epoch(request.broker_epoch),
        replicas_with_record=(),
        starts_with_record=False,
    )
    epoch = history.leader_epoch(key, request.leader_epoch)
    return ReplicaView(Ordinal("TopicId", topic_number(key[0])), epoch, leads, None, False, False)


def shown(**fields: Any) -> ProcessView:
    """The view of a stand-in."""
    view = ProcessView(
        state="RECOVERY",
        incarnation=None,
        broker_epoch=None,
        controller=0,
        reply=None,
        wants_fence=True,
        caught_up=False,
        applied=None,
        reach=0,
        lacks=(),
        replicas=(),
    )
    return view._replace(**fields)
