"""The states that models start from.

Nothing registered; a cluster that runs, or one without a topic, or without a leader among the controllers, too; a
change of an ISR that is asked for.
"""

from __future__ import annotations

from checker.lang import Bag, Map, Option, Set, init, replace
from spec.kraft.design import Design
from spec.kraft.messages import AlterIsr, Heartbeat, Register
from spec.kraft.metadata import Metadata, Partition, Registration, Stable
from spec.kraft.processes import IsrChange, Leadership, Replica, at_once, caught_up_among, running, stopped, unassigned
from spec.kraft.state import Cluster, Controller, Faults, FirstEpochs, Service, committed
from spec.kraft.types import (
    Broker,
    BrokerEpoch,
    ControllerEpoch,
    Incarnation,
    LeaderEpoch,
    PartitionEpoch,
    Process,
    RecordStatus,
    Role,
    TopicId,
    TopicPartition,
    Voter,
    node_id,
)

NO_FAULTS = dict.fromkeys(
    (
        "crashes",
        "disk_losses",
        "lags",
        "early_expiries",
        "duplicates",
        "second_starts",
        "shutdowns",
        "failovers",
        "reassignments",
        "topics",
        "unregistrations",
    ),
    0,
)


def every(isr: Set[Broker], leader: Option[Broker]) -> Map[TopicPartition, Option[Partition]]:
    """Every partition, unchanged since it was created with every broker but the spare ones as a replica."""
    first = Partition(not_spare(), isr, leader, LeaderEpoch(0), PartitionEpoch(0), adding=(), removing=())
    return Map(dict.fromkeys(TopicPartition, first))


def not_spare() -> tuple[Broker, ...]:
    return tuple(Broker)[: len(Broker) - Design.spare_brokers]


def no_logs() -> Map[TopicPartition, Replica]:
    return Map(dict.fromkeys(TopicPartition, unassigned(TopicId(0), has_record=False)))


def all_have(image: Metadata) -> Map[Voter, Controller]:
    """Controllers that have the same log, all of it committed, and know of no lease that ran out; 0 is active."""
    return Map({voter: in_role(Role.ACTIVE if voter == Voter(0) else Role.STANDBY, image) for voter in Voter})


def in_role(role: Role, image: Metadata) -> Controller:
    """A controller that remembers nothing of the brokers, and looks for leases that run out."""
    checks_leases = role == Role.ACTIVE or Design.lease_check_by_timer
    no_shutdowns = Map(dict.fromkeys(Broker))
    return Controller(
        image,
        frozenset(),
        checks_leases,
        no_shutdowns,
        role,
        ControllerEpoch(0),
        lags_since=None,
        log=(),
        goes_back_to=(),
    )


@init
def nothing_registered() -> Cluster:
    """No process runs, no broker is registered; the partition has broker 0 as the last member of its ISR."""
    last = frozenset({Broker(0)})
    image = Metadata(Map(dict.fromkeys(Broker)), TopicId(0), every(last, None), None)
    return Cluster(
        controllers=all_have(image),
        stable=(Stable(image, ControllerEpoch(0)),) if Design.controllers > 1 else (),
        previous=(),
        snapshots=(),
        processes=Map(dict.fromkeys(Process, stopped(no_logs()))),
        lifecycle=Bag(),
        alterations=Bag(),
        produced=Map(dict.fromkeys(TopicPartition, RecordStatus.UNWRITTEN)),
        last_service=Map(dict.fromkeys(TopicPartition)),
        start=(FirstEpochs(LeaderEpoch(0), PartitionEpoch(0)),) * min(Design.max_topics, 1),
        last_target=Map(dict.fromkeys(TopicPartition, ())),
        answer=(),
        last_removal=(),
        last_listing=(),
        faults=Faults(**NO_FAULTS),
    )


@init
def running_cluster() -> Cluster:
    """Every broker is registered, unfenced, up to date and, unless it is spare, in the ISR; broker 0 leads.

    Second processes do not run.
    """
    everyone = frozenset(not_spare())
    seen = Broker(0) if Design.max_shutdowns > 0 else None
    last = BrokerEpoch(len(Broker) - 1)
    leadership = Leadership(
        partition_epoch=PartitionEpoch(0),
        isr=everyone,
        pending_change=None,
        reply=None,
        awaits_metadata=False,
        is_ahead=False,
        replicas_with_record=frozenset(),
        caught_up=caught_up_among(everyone),
        starts_with_record=False,
        applied=last,
        candidates=everyone,
    )
    processes = dict.fromkeys(Process, stopped(no_logs()))
    registrations = {}
    for process, id_ in zip(Process, Broker, strict=False):
        epoch, incarnation = BrokerEpoch(id_.index), Incarnation(id_.index)
        registrations[id_] = Registration(incarnation, epoch, fenced=False, in_controlled_shutdown=False, amended=())
        leads = leadership if id_ == Broker(0) else None
        follows = LeaderEpoch(0) if id_ in everyone else None
        replica = Replica(TopicId(0), follows, leads, at_once(), seen, False, False)
        processes[process] = running(epoch, Map(dict.fromkeys(TopicPartition, replica)))
    image = Metadata(Map(registrations), TopicId(0), every(everyone, Broker(0)), None)
    return Cluster(
        controllers=all_have(image),
        stable=(Stable(image, ControllerEpoch(0)),) if Design.controllers > 1 else (),
        previous=(),
        snapshots=(),
        processes=Map(processes),
        lifecycle=Bag(),
        alterations=Bag(),
        produced=Map(dict.fromkeys(TopicPartition, RecordStatus.UNWRITTEN)),
        last_service=Map(dict.fromkeys(TopicPartition, Service(LeaderEpoch(0), BrokerEpoch(0)))),
        start=(FirstEpochs(LeaderEpoch(0), PartitionEpoch(0)),) * min(Design.max_topics, 1),
        last_target=Map(dict.fromkeys(TopicPartition, ())),
        answer=(),
        last_removal=(),
        last_listing=(),
        faults=Faults(**NO_FAULTS),
    )


@init
def registered_cluster() -> Cluster:
    """As in `running_cluster`, and no process runs: brokers are what the controller knows of them."""
    s: Cluster = running_cluster()
    s.processes = Map(dict.fromkeys(Process, stopped(no_logs())))
    s.last_service = Map(dict.fromkeys(TopicPartition))
    return s


@init
def no_topic() -> Cluster:
    """Every broker is registered, unfenced and up to date, and nobody has created the topic yet."""
    s: Cluster = running_cluster()
    image = replace(committed(s), topic=None, partitions=Map(dict.fromkeys(TopicPartition)))
    s.controllers = all_have(image)
    s.stable = (Stable(image, ControllerEpoch(0)),) if Design.controllers > 1 else ()
    for process in Process:
        s.processes[process].replicas = no_logs()
    s.last_service = Map(dict.fromkeys(TopicPartition))
    return s


@init
def no_leader() -> Cluster:
    """As in `no_topic`, and no controller was elected since all of them went down."""
    s: Cluster = no_topic()
    for voter in Voter:
        s.controllers[voter].role = Role.STANDBY
    return s


@init
def addition_pending() -> Cluster:
    """The leader, broker 0, is alone in the ISR and has asked twice to add broker 1, which is unfenced."""
    s: Cluster = running_cluster()
    alone = frozenset({Broker(0)})
    image = replace(committed(s), partitions=every(alone, Broker(0)))
    s.controllers = all_have(image)
    s.stable = (Stable(image, ControllerEpoch(0)),) if Design.controllers > 1 else ()
    for p in TopicPartition:
        leadership = s.processes[Process(0)].replicas[p].leadership
        assert leadership is not None
        leadership.isr = alone
        leadership.pending_change = IsrChange(Broker(1), BrokerEpoch(1))
        request = AlterIsr(
            sender=Process(0),
            broker_epoch=BrokerEpoch(0),
            topic=TopicId(0),
            partition=p,
            leader_epoch=LeaderEpoch(0),
            partition_epoch=PartitionEpoch(0),
            isr=frozenset(Broker),
            added_epoch=BrokerEpoch(1),
            late=False,
            to=Voter(0),
        )
        s.alterations = s.alterations.add(request).add(replace(request, late=True))
    s.faults.duplicates = 1
    return s


@init
def late_requests(sender: Process) -> Cluster:
    """As in `nothing_registered`, and requests of one broker are under way: one of each kind, all late."""
    s: Cluster = nothing_registered()
    to = Voter(0)
    register = Register(sender, Incarnation(0), late=True, to=to)
    heartbeat = Heartbeat(
        sender=sender,
        broker_epoch=BrokerEpoch(0),
        want_fence=False,
        want_shut_down=False,
        caught_up=False,
        applied=None,
        late=True,
        to=to,
        lacks=0,
    )
    change = AlterIsr(
        sender=sender,
        broker_epoch=BrokerEpoch(0),
        topic=TopicId(0),
        partition=TopicPartition(0),
        leader_epoch=LeaderEpoch(0),
        partition_epoch=PartitionEpoch(0),
        isr=frozenset({node_id(sender)}),
        added_epoch=None,
        late=True,
        to=to,
    )
    s.lifecycle = s.lifecycle.add(register).add(heartbeat)
    s.alterations = s.alterations.add(change)
    return s
