"""Messages that could land although nobody has sent them: each field as it should be, stale, or ahead of everything.

A probe leaves all out but the controller, the message and a stand-in for its sender that waits for the reply, in the
state of the spec and in the cluster alike. Values come in pairs: the spec's, and the implementation's for the same.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any, NamedTuple

from impl.kraft.image import Image
from impl.kraft.messages import (
    AlterPartitionRequest,
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    IsrMember,
)
from impl.kraft.under_test import expected, hidden, observed
from impl.kraft.under_test.cluster import (
    CLUSTER_ID,
    Cluster,
    Envelope,
    LifecycleRequest,
    ProcessHost,
    incarnation_id,
    topic_id,
    topic_number,
)
from impl.kraft.under_test.views import (
    LeadershipView,
    Ordinal,
    ProcessView,
    ReplicaView,
    leader_epoch,
    partition_epoch,
)

AHEAD = 1 << 20


class Probe(NamedTuple):
    name: str
    state: Any
    system: Cluster
    action: str
    arguments: Mapping[str, Any]


class Receiver(NamedTuple):
    key: Hashable
    probes: Callable[[], Iterable[Probe]]


class Pair(NamedTuple):
    """A value of the spec, and what stands for it in the implementation."""

    spec: Any
    own: int


def receivers(cluster: Cluster, before: Any, classes: Mapping[str, type], actions: frozenset[str]) -> Iterator[Receiver]:
    """The controller, where a request of each kind that the model knows can land."""
    host = cluster.controllers[0]
    shown = observed.controller(cluster, host), hidden.controller(cluster, host), cluster.records
    yield Receiver(shown, lambda: Probing(cluster, before, classes).probes(actions))


@dataclass(frozen=True, slots=True)
class Probing:
    """Makes the probes of one controller."""

    cluster: Cluster
    before: Any
    classes: Mapping[str, type]

    @property
    def image(self) -> Image:
        return self.cluster.controllers[0].image

    @property
    def spec_image(self) -> Any:
        return next(iter(self.before.controllers.values())).image

    def probes(self, actions: frozenset[str]) -> Iterator[Probe]:
        if "handle_registration" in actions:
            yield from self.registrations()
        if "handle_heartbeat" in actions:
            yield from self.heartbeats()
        if "handle_alter_isr" in actions:
            yield from self.alterations()

    # Pairs of values.

    def place(self, number: int) -> Any:
        return next(place for place in self.before.processes if place.index == number)

    def voter(self) -> Any:
        return next(iter(self.before.controllers))

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
        if self.spec_image.offset is not None and self.cluster.marks:
            found[self.cluster.marks[-1]] = self.spec_image.offset
        for broker, begun in next(iter(self.before.controllers.values())).shutdowns.items():
            own = self.cluster.controllers[0].core.sessions.shutdown_offset(broker.index)
            if begun is not None and own is not None:
                found[own] = begun.offset
        return found

    # What a probe is made of.

    def stand_in(self, number: int, view: ProcessView, **fields: Any) -> tuple[Any, ProcessHost]:
        """A sender that waits, in the spec and here."""
        one = self.before.processes[self.place(number)]
        states = self.classes["BrokerState"]
        made = type(one)(**{
            "state": states["RECOVERY"],
            "incarnation": None,
            "broker_epoch": None,
            "controller": self.voter(),
            "reply": None,
            "deferral": self.at_once(one),
            "wants_fence": True,
            "caught_up": False,
            "applied": None,
            "listing": (),
            "replicas": type(one.replicas)({p: self.unassigned(held) for p, held in one.replicas.items()}),
            **fields,
        })  # fmt: skip
        return made, ProcessHost(stand_in=view, isr_answers=(None,) * self.cluster.shape.partitions)

    def at_once(self, one: Any) -> Any:
        return type(one.deferral)({voter: 0 for voter in one.deferral})

    def unassigned(self, held: Any, **fields: Any) -> Any:
        return type(held)(**{
            "topic": held.topic,
            "leader_epoch": None,
            "leadership": None,
            "deferral": self.at_once(held),
            "image_leader": None,
            "high_watermark": False,
            "has_record": False,
            **fields,
        })  # fmt: skip

    def stopped(self, number: int) -> Any:
        one = self.before.processes[self.place(number)]
        made, _ = self.stand_in(number, shown())
        changes = {"state": self.classes["BrokerState"]["NOT_RUNNING"], "wants_fence": False}
        return type(one)(**{name: changes.get(name, getattr(made, name)) for name in one.__dataclass_fields__})

    def probe(self, name: str, action: str, number: int, message: Any, request: Any, sender: Any, host: Any) -> Probe:
        """The message under way, and nobody there but its sender."""
        before = self.before
        stopped = {place: self.stopped(place.index) for place in before.processes}
        alters = isinstance(request, AlterPartitionRequest)
        nothing = type(before.lifecycle)()
        under_way = nothing.add(message)
        changes = {
            "processes": type(before.processes)({**stopped, self.place(number): sender}),
            "lifecycle": nothing if alters else under_way,
            "alterations": under_way if alters else nothing,
        }
        state = type(before)(**{
            field: changes.get(field, getattr(before, field)) for field in before.__dataclass_fields__
        })  # fmt: skip
        envelope = Envelope(number, incarnation_id(0), 0, request)
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
            request = BrokerRegistrationRequest(number, CLUSTER_ID, incarnation_id(incarnation.own - 1))
            view = shown(incarnation=Ordinal("Incarnation", incarnation.own))
            sender, host = self.stand_in(number, view, incarnation=incarnation.spec)
            name = f"{request}"
            yield self.probe(name, "handle_registration", number, message, request, sender, host)

    def heartbeats(self) -> Iterator[Probe]:
        wishes = (False, False), (True, False), (False, True), (True, True)
        for broker, epoch, (fence, stop) in product(self.brokers(), self.broker_epochs(), wishes):
            for reached in self.reaches(epoch):
                yield self.heartbeat(broker.index, epoch, fence, stop, reached)

    def reaches(self, epoch: Pair) -> list[int]:
        """Offsets to report: the last one that is too low for what somebody waits for, the first that is not."""
        waited_for = {epoch.own, *self.offsets()}
        return sorted({offset - 1 for offset in waited_for} | waited_for | {self.image.offset})

    def heartbeat(self, number: int, epoch: Pair, fence: bool, stop: bool, reached: int) -> Probe:
        marks = [offset for offset in sorted(self.offsets()) if offset <= reached]
        message = self.classes["Heartbeat"](
            sender=self.place(number),
            broker_epoch=epoch.spec,
            want_fence=fence,
            want_shut_down=stop,
            caught_up=reached >= epoch.own,
            applied=self.offsets()[marks[-1]] if marks else None,
            late=False,
            to=self.voter(),
        )
        request = BrokerHeartbeatRequest(number, epoch.own, reached, want_fence=fence, want_shut_down=stop)
        sender, host = self.stand_in(number, shown(broker_epoch=observed.broker_epoch(epoch.own)),
                                     broker_epoch=epoch.spec)  # fmt: skip
        return self.probe(f"{request}", "handle_heartbeat", number, message, request, sender, host)

    # AlterPartition.

    def alterations(self) -> Iterator[Probe]:
        """One or two fields of a request that is right are changed."""
        for p, partition in self.spec_image.partitions.items():
            if partition is None:
                continue
            own = self.image.partitions[topic_id(self.spec_image.topic.value), p.index]
            spec_epochs = self.around(partition.leader_epoch), self.around(partition.partition_epoch)
            leader_epochs = [Pair(spec, own.leader_epoch + by) for by, spec in spec_epochs[0]]
            partition_epochs = [Pair(spec, own.partition_epoch + by) for by, spec in spec_epochs[1]]
            right = leader_epochs[0], partition_epochs[0]
            epochs = [right, *((one, right[1]) for one in leader_epochs[1:]), *((right[0], one) for one in partition_epochs[1:])]
            epochs.append((leader_epochs[1], partition_epochs[2]))
            for broker, isr in product(self.brokers(), self.isrs(own.isr)):
                chosen = epochs if isr == self.isrs(own.isr)[0] else epochs[:1]
                for epoch, added_epoch in product(self.broker_epochs(), self.broker_epochs()):
                    if epoch != self.own_epoch(broker.index) and added_epoch != self.broker_epochs()[0]:
                        continue
                    for at_leader_epoch, at_partition_epoch in chosen:
                        yield self.alteration(
                            broker.index, epoch, p, at_leader_epoch, at_partition_epoch, isr, own.isr, added_epoch
                        )

    def own_epoch(self, number: int) -> Pair | None:
        registration = self.image.registrations.get(number)
        return next((p for p in self.broker_epochs() if registration and p.own == registration.broker_epoch), None)

    @staticmethod
    def around(value: Any) -> list[tuple[int, Any]]:
        """The value, one that is behind it, and one that is ahead."""
        return [(by, type(value)(value.value + by)) for by in (0, -1, 1)]

    def isrs(self, isr: tuple[int, ...]) -> list[tuple[int, ...]]:
        """ISRs to ask for: of those with at most one more member than there are, and nobody."""
        numbers = [broker.index for broker in self.brokers()]
        every = [chosen for size in range(1, len(numbers) + 1) for chosen in combinations(numbers, size)]
        return [chosen for chosen in every if len(set(chosen) - set(isr)) <= 1]

    def alteration(
        self,
        number: int,
        epoch: Pair,
        p: Any,
        at_leader_epoch: Pair,
        at_partition_epoch: Pair,
        isr: tuple[int, ...],
        before: tuple[int, ...],
        added_epoch: Pair,
    ) -> Probe:
        brokers = {broker.index: broker for broker in self.brokers()}
        added = next((member for member in isr if member not in before), None)
        topic = self.spec_image.topic
        message = self.classes["AlterIsr"](
            sender=self.place(number),
            broker_epoch=epoch.spec,
            topic=topic,
            partition=p,
            leader_epoch=at_leader_epoch.spec,
            partition_epoch=at_partition_epoch.spec,
            isr=frozenset(brokers[member] for member in isr),
            added_epoch=None if added is None else added_epoch.spec,
            late=False,
            to=self.voter(),
        )
        request = AlterPartitionRequest(
            broker_id=number,
            broker_epoch=epoch.own,
            topic_id=topic_id(topic.value),
            partition_id=p.index,
            leader_epoch=at_leader_epoch.own,
            partition_epoch=at_partition_epoch.own,
            new_isr=tuple(IsrMember(member, added_epoch.own if member == added else -1) for member in isr),
        )
        sender, host = self.asking(number, message, request)
        return self.probe(f"{request}", "handle_alter_isr", number, message, request, sender, host)

    def asking(self, number: int, message: Any, request: AlterPartitionRequest) -> tuple[Any, ProcessHost]:
        """A leader that has asked for the ISR of the request: as if one that is in it were added."""
        one = self.before.processes[self.place(number)]
        leads = self.classes["Leadership"](
            partition_epoch=message.partition_epoch,
            isr=message.isr,
            asked=self.classes["IsrChange"](min(message.isr, key=lambda broker: broker.index), message.broker_epoch),
            reply=None,
            holders=frozenset(),
            starts_with_record=False,
            applied=None,
            candidates=frozenset(),
        )
        held = {
            p: self.unassigned(replica, topic=message.topic, leader_epoch=message.leader_epoch, leadership=leads)
            if p == message.partition
            else self.unassigned(replica)
            for p, replica in one.replicas.items()
        }
        view = shown(
            broker_epoch=observed.broker_epoch(request.broker_epoch),
            replicas=tuple(
                replica_that_asks(request) if p.index == request.partition_id else NO_REPLICA for p in one.replicas
            ),
        )
        return self.stand_in(
            number, view, broker_epoch=message.broker_epoch, replicas=type(one.replicas)(held)
        )


NO_REPLICA = ReplicaView(None, None, None, None, False, False)


def replica_that_asks(request: AlterPartitionRequest) -> ReplicaView:
    topic, p = topic_number(request.topic_id), request.partition_id
    isr = tuple(sorted(member.broker_id for member in request.new_isr))
    leads = LeadershipView(
        partition_epoch=partition_epoch(topic, p, request.partition_epoch),
        isr=isr,
        asked=isr,
        added_epoch=observed.broker_epoch(request.broker_epoch),
        holders=(),
        starts_with_record=False,
    )
    epoch = leader_epoch(topic, p, request.leader_epoch)
    return ReplicaView(Ordinal("TopicId", topic), epoch, leads, None, False, False)


def shown(**fields: Any) -> ProcessView:
    """What a stand-in shows."""
    view = ProcessView(
        state="RECOVERY",
        incarnation=None,
        broker_epoch=None,
        controller=0,
        reply=None,
        wants_fence=True,
        caught_up=False,
        applied=None,
        replicas=(NO_REPLICA,),
    )
    return view._replace(**fields)


LIFECYCLE = LifecycleRequest
EXPECTED = expected
