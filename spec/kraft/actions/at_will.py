"""Brokers that ask for whatever brokers may ask for, whenever they like: the most general clients of a controller.

Request and decision are one step, and nobody waits for the reply. Of a broker nothing is modelled but whether its
image reaches its own registration, and what else it reaches. So a state is one of the controller, and there it can be
asked for all that brokers ask for, even ones that crash, are there twice, or miss what is sent to them.
Leaves out: requests that are refused. They change nothing.
"""

from __future__ import annotations

from checker.lang import Option, Set, action, fresh, message, require, require_some
from spec.kraft.actions.controller import after_alter_isr, after_heartbeat, after_registration
from spec.kraft.decisions.log import can_decide
from spec.kraft.design import Design
from spec.kraft.messages import AlterIsr, Heartbeat, Register
from spec.kraft.metadata import broker_epoch_of, is_active, is_fenced, is_unfenced
from spec.kraft.state import Cluster, committed
from spec.kraft.types import Broker, Incarnation, Process, TopicPartition, Voter, node_id


def is_free(s: Cluster, voter: Voter) -> bool:
    """The controller may decide, and has decided on the requests that were under way at first."""
    return can_decide(s.controllers[voter]) and len(s.lifecycle) + len(s.alterations) == 0


@action(
    who="broker {process}",
    source="KIP-631, Broker Registration",
    deviates="request and decision in one step; a broker starts at any time, as often as it likes",
    api="BrokerRegistration v0",
)
def register_at_will(s: Cluster, voter: Voter, process: Process, again: bool) -> None:
    """A broker asks to register: the incarnation that is registered `again`, or a new one."""
    controller = s.controllers[voter]
    registration = controller.image.registrations[node_id(process)]
    require(is_free(s, voter) and (not again or registration is not None))
    incarnation = registration.incarnation if again and registration is not None else fresh(s, Incarnation)
    after = after_registration(s, controller, Register(process, incarnation, late=True, to=voter))
    if broker_epoch_of(controller.image, node_id(process)) != broker_epoch_of(after.image, node_id(process)):
        s.processes[process].caught_up = False
        s.processes[process].applied = None
    s.controllers[voter] = after


@action(
    who="broker {process}",
    source="KIP-500, metadata fetch",
    deviates="fetch and application in one step",
    api="Fetch v15 (__cluster_metadata)",
)
def apply_at_will(s: Cluster, process: Process) -> None:
    """The image of a broker comes to reach all that is committed, its registration with it."""
    broker = s.processes[process]
    image = committed(s)
    require(image.registrations[node_id(process)] is not None)
    require(not broker.caught_up or broker.applied != image.offset)
    broker.caught_up = True
    broker.applied = image.offset


@action(
    who="broker {process}",
    source="KIP-631, Broker Leases; Controlled Shutdown",
    deviates="request and decision in one step",
    api="BrokerHeartbeat v0",
)
def heartbeat_at_will(s: Cluster, voter: Voter, process: Process, want_fence: bool, want_shut_down: bool) -> None:
    """A registered broker sends a heartbeat, with whatever wishes."""
    broker = s.processes[process]
    controller = s.controllers[voter]
    registration = require_some(controller.image.registrations[node_id(process)])
    require(is_free(s, voter) and (not want_shut_down or Design.max_shutdowns > 0))
    request = Heartbeat(
        process,
        registration.broker_epoch,
        want_fence,
        want_shut_down,
        broker.caught_up,
        broker.applied,
        late=True,
        to=voter,
        lacks=0,
    )
    s.controllers[voter] = after_heartbeat(s, controller, request)


@action(
    who="broker {leader}",
    source="KIP-497; KIP-903",
    deviates="request and decision in one step",
    api="AlterPartition v3",
)
def alter_isr_at_will(s: Cluster, voter: Voter, leader: Process, p: TopicPartition, member: Broker) -> None:
    """A leader asks for a broker to join the ISR, or to leave it."""
    controller = s.controllers[voter]
    image = controller.image
    partition = require_some(image.partitions[p])
    registration = require_some(image.registrations[node_id(leader)])
    joins = require_some(image.registrations[member])
    require(is_free(s, voter))
    require(partition.leader == node_id(leader) and member != node_id(leader))
    one = frozenset({member})
    removes = member in partition.isr
    request = AlterIsr(
        sender=leader,
        broker_epoch=registration.broker_epoch,
        topic=require_some(image.topic),
        partition=p,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        isr=partition.isr - one if removes else partition.isr | one,
        added_epoch=None if removes else joins.broker_epoch,
        late=True,
        to=voter,
    )
    s.controllers[voter] = after_alter_isr(s, controller, request)


# What can be seen of the controller.


@message
class Decided:
    """What a controller has decided of brokers, and of the first partition. lapsed: brokers whose lease has run out."""

    registered: Set[Broker]
    fenced: Set[Broker]
    stopping: Set[Broker]
    lapsed: Set[Broker]
    isr: Set[Broker]
    leader: Option[Broker]


def decided(s: Cluster) -> Decided:
    controller = s.controllers[Voter(0)]
    image = controller.image
    partition = image.partitions[TopicPartition(0)]
    return Decided(
        registered=frozenset(b for b in Broker if image.registrations[b] is not None),
        fenced=frozenset(b for b in Broker if is_fenced(image, b)),
        stopping=frozenset(b for b in Broker if is_unfenced(image, b) and not is_active(image, b)),
        lapsed=controller.expired_leases,
        isr=frozenset() if partition is None else partition.isr,
        leader=None if partition is None else partition.leader,
    )
