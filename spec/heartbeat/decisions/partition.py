"""The partition state that a controller writes, from the states of the brokers.

A controller handles one event after another: where brokers' states ask for a change of the partition, it writes that
before anything else (`is_settled`). Each change raises leader epoch and version.
"""

from __future__ import annotations

from checker.lang import Map, Option, Set, choose, replace
from spec.heartbeat.design import Design
from spec.heartbeat.state import Cluster, ControllerProcess, PartitionState, is_counted
from spec.heartbeat.types import Broker, BrokerState, Controller, Incarnation


def remaining_isr(controller: ControllerProcess) -> Set[Broker]:
    """The ISR without the members that are out; the last ones stay."""
    isr = controller.partition.isr
    kept = frozenset(b for b in isr if is_counted(controller.states[b]))
    return kept if len(kept) > 0 else isr


def next_leader(controller: ControllerProcess) -> Option[Broker]:
    """The leader stays while it is in; else an active member of the ISR, in replica order, or nobody.

    Where there is none, some broker may lead on until it has acknowledged that.
    """
    leader = controller.partition.leader
    if leader is not None and is_counted(controller.states[leader]) and leader in controller.partition.isr:
        return leader
    if leader is None and Design.handover_acknowledged and len(counted(controller.states) & controller.owed) > 0:
        return None
    return first_active(controller, frozenset())


def first_active(controller: ControllerProcess, besides: Set[Broker]) -> Option[Broker]:
    """The first active member of the ISR in replica order, besides some."""
    able = frozenset(
        b for b in controller.partition.isr if controller.states[b] == BrokerState.ACTIVE and b not in besides
    )
    return choose(b for b in able) if len(able) > 0 else None


def is_settled(controller: ControllerProcess) -> bool:
    """The partition is as the brokers' states ask for; it names its leader, and nobody who is out."""
    return (
        next_leader(controller) == controller.partition.leader
        and remaining_isr(controller) == controller.partition.isr
        and all(names_as_it_should(controller, b) for b in Broker)
    )


def names_as_it_should(controller: ControllerProcess, broker: Broker) -> bool:
    """A broker that is named is in. A leader that a legacy leader's write does not name is to lead anew."""
    if controller.partition.incarnations[broker] is not None:
        return is_counted(controller.states[broker])
    return controller.partition.leader != broker or not Design.leader_incarnation


def can_write(s: Cluster, controller: Controller) -> bool:
    """A controller's conditional write succeeds: its copy is current and, with zk_writes_fenced, its epoch is."""
    own = s.controllers[controller]
    return own.partition.version == s.partition.version and (
        not Design.zk_writes_fenced or own.epoch == s.controller_epoch
    )


def is_named(controller: ControllerProcess, leader: Option[Broker], isr: Set[Broker], broker: Broker) -> bool:
    """The partition state names the incarnation of a broker: of the leader, and of each member that is in.

    A last member that is out is not named: its next incarnation is to be gone by, across failovers, too.
    """
    if leader == broker:
        return Design.leader_incarnation
    return Design.follower_incarnations and broker in isr and is_counted(controller.states[broker])


def named(controller: ControllerProcess, leader: Option[Broker], isr: Set[Broker]) -> Map[Broker, Option[Incarnation]]:
    """The incarnations that the partition state names with a leader and an ISR."""
    return Map({b: controller.known[b] if is_named(controller, leader, isr, b) else None for b in Broker})


def counted(states: Map[Broker, BrokerState]) -> Set[Broker]:
    """The brokers of the metadata."""
    return frozenset(b for b in Broker if is_counted(states[b]))


def with_leader(controller: ControllerProcess, leader: Option[Broker], isr: Set[Broker]) -> PartitionState:
    """The partition state with a leader of the controller's choice; leader epoch and version are yet to be raised."""
    return replace(controller.partition, leader=leader, isr=isr, incarnations=named(controller, leader, isr))
