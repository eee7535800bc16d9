"""Brokers that ask for whatever brokers may ask for, whenever they like: the most general clients of a controller.

Request and decision are one step, and nobody waits for the reply. Of a broker nothing is modelled but the oldest image
that has its registration, where a shutdown had begun by then: `applied` is the last one. So a state is one of the
controller, and there it can be asked for all that brokers ask for, even ones that crash, are there twice, or miss what
is sent to them. Those of `orderly_heartbeat` keep to the state machine, and there are fewer states of the controller.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated

from checker.lang import AtMost, Map, Nat, Option, Seq, Set, action, fresh, message, replace, require, require_some
from spec.kraft.actions.controller import after_alter_isr, after_heartbeat, after_registration
from spec.kraft.actions.shutdown import has_applied
from spec.kraft.decisions.log import can_decide
from spec.kraft.design import Design
from spec.kraft.messages import AlterIsr, Heartbeat, Register
from spec.kraft.metadata import Metadata, Replicas, broker_epoch_of, is_active, is_fenced
from spec.kraft.processes import BrokerProcess
from spec.kraft.state import Cluster, Controller
from spec.kraft.types import (
    Broker,
    BrokerEpoch,
    Incarnation,
    MetadataOffset,
    Process,
    TopicPartition,
    Voter,
    node_id,
)


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
        s.processes[process].applied = last_shutdown(after)
    s.controllers[voter] = after
    s.processes = oldest_images(s, after)


class Reach(Enum):
    """What an image reaches last of the offsets that a controller compares it with."""

    NOTHING = "NOTHING"  # but the registration itself, if it has that
    AMENDED = "AMENDED"  # the broker's registration, as it was written again
    SHUTDOWN = "SHUTDOWN"  # where the controlled shutdown of a broker began


@action(
    who="broker {process}",
    source="KIP-631, Broker Leases; Controlled Shutdown",
    deviates="request and decision in one step",
    api="BrokerHeartbeat v0",
)
def heartbeat_at_will(
    s: Cluster,
    voter: Voter,
    process: Process,
    want_fence: bool,
    want_shut_down: bool,
    caught_up: bool,
    reach: Reach,
    of: Broker,
) -> None:
    """A registered broker sends a heartbeat, with whatever wishes, and an image that reaches whatever it may reach."""
    controller = s.controllers[voter]
    epoch = require_some(broker_epoch_of(controller.image, node_id(process)))
    require(is_free(s, voter) and (not want_shut_down or Design.max_shutdowns > 0))
    require(may_reach(s, voter, process, caught_up, reach, of))
    applied = applied_at(s, voter, process, caught_up, reach, of)
    request = Heartbeat(process, epoch, want_fence, want_shut_down, caught_up, applied, late=True, to=voter, lacks=0)
    after = after_heartbeat(s, controller, request)
    s.controllers[voter] = after
    s.processes = oldest_images(s, after)


@action(
    who="broker {process}",
    source="KIP-631, The Broker State Machine; Controlled Shutdown",
    deviates="request and decision in one step",
    api="BrokerHeartbeat v0",
)
def orderly_heartbeat(
    s: Cluster,
    voter: Voter,
    process: Process,
    want_fence: bool,
    want_shut_down: bool,
    caught_up: bool,
    reach: Reach,
    of: Broker,
) -> None:
    """As `heartbeat_at_will`, of one that while it is active wants no fence, and asks to stop only after a SIGTERM."""
    controller = s.controllers[voter]
    epoch = require_some(broker_epoch_of(controller.image, node_id(process)))
    runs = is_active(controller.image, node_id(process))
    require(is_free(s, voter) and not (runs and want_fence))
    require(not (runs and want_shut_down) or s.faults.shutdowns < Design.max_shutdowns)
    require(may_reach(s, voter, process, caught_up, reach, of))
    applied = applied_at(s, voter, process, caught_up, reach, of)
    request = Heartbeat(process, epoch, want_fence, want_shut_down, caught_up, applied, late=True, to=voter, lacks=0)
    after = after_heartbeat(s, controller, request)
    if runs and want_shut_down:
        s.faults.shutdowns += 1
    s.controllers[voter] = after
    s.processes = oldest_images(s, after)


def may_reach(s: Cluster, voter: Voter, process: Process, caught_up: bool, reach: Reach, of: Broker) -> bool:
    """There is such an offset. An image that is `caught_up` reaches it though the oldest such does not, or the reverse.

    `of` counts for shutdowns only.
    """
    reached = reached_offset(s.controllers[voter], reach, of)
    is_there = (reached is None) == (reach == Reach.NOTHING) and (reach == Reach.SHUTDOWN or of == node_id(process))
    return is_there and (reached is None or caught_up != has_applied(s.processes[process].applied, reached))


def applied_at(
    s: Cluster, voter: Voter, process: Process, caught_up: bool, reach: Reach, of: Broker
) -> Option[MetadataOffset]:
    reached = reached_offset(s.controllers[voter], reach, of)
    return s.processes[process].applied if caught_up and reached is None else reached


def reached_offset(controller: Controller, reach: Reach, broker: Broker) -> Option[MetadataOffset]:
    if reach == Reach.AMENDED:
        return amended_at(controller.image, broker)
    return remembered_at(controller, broker) if reach == Reach.SHUTDOWN else None


def last_shutdown(controller: Controller) -> Option[MetadataOffset]:
    """Where the last controlled shutdown began of those that the controller remembers."""
    return max((shutdown.offset for shutdown in controller.shutdowns.values() if shutdown is not None), default=None)


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


class Refused(Enum):
    """A request with an epoch of before, and which one that is."""

    HEARTBEAT_OF_OLD_BROKER = "HEARTBEAT_OF_OLD_BROKER"
    CHANGE_OF_OLD_BROKER = "CHANGE_OF_OLD_BROKER"
    CHANGE_OF_OLD_LEADER = "CHANGE_OF_OLD_LEADER"
    CHANGE_OF_OLD_PARTITION = "CHANGE_OF_OLD_PARTITION"


@action(
    who="broker {process}",
    source="KIP-631, Broker Leases; KIP-497",
    deviates="request and decision in one step",
    api="BrokerHeartbeat v0, AlterPartition v3",
)
def ask_too_late(s: Cluster, voter: Voter, process: Process, request: Refused) -> None:
    """A broker asks for what is refused, and nothing changes: what it should leave unseen would be found later."""
    image = s.controllers[voter].image
    require(is_free(s, voter) and image.registrations[node_id(process)] is not None)
    require(request == Refused.HEARTBEAT_OF_OLD_BROKER or image.partitions[TopicPartition(0)] is not None)


def oldest_images(s: Cluster, after: Controller) -> Map[Process, BrokerProcess]:
    """The oldest images, without shutdowns that the controller remembers no more: nobody goes by these."""
    return Map({q: with_oldest_image(s.processes[q], after) for q in Process})


def with_oldest_image(process: BrokerProcess, after: Controller) -> BrokerProcess:
    begun = max(
        (x.offset for x in after.shutdowns.values() if x is not None and has_applied(process.applied, x.offset)),
        default=None,
    )
    return replace(process, caught_up=begun is not None, applied=begun)


# What can be seen of the controller.


# The place of an offset among those that the controller compares with others: 0 for none, 1 for the lowest.
Place = Annotated[int, Nat(lambda: 2 * Design.brokers)]


@message
class Standing:
    """A registered broker, as a controller has it."""

    broker: Broker
    fenced: bool
    stopping: bool  # in controlled shutdown
    older: Set[Broker]  # whose registrations are older
    amended: Place  # where its registration was written again
    remembered: Place  # the offset that its controlled shutdown waits for
    lagging: Set[Broker]  # who has not reported that one


@message
class Decided:
    """All that a controller goes by, of brokers and of the first partition; of epochs and offsets their order."""

    brokers: Annotated[Seq[Standing], AtMost(lambda: Design.brokers)]
    lapsed: Set[Broker]  # whose lease has run out
    checks_leases: bool
    replicas: Replicas  # none where there is no topic
    isr: Set[Broker]
    leader: Option[Broker]


def decided(s: Cluster) -> Decided:
    controller = s.controllers[Voter(0)]
    image = controller.image
    partition = image.partitions[TopicPartition(0)]
    return Decided(
        brokers=tuple(standing(controller, b) for b in Broker if image.registrations[b] is not None),
        lapsed=controller.expired_leases,
        checks_leases=controller.checks_leases,
        replicas=() if partition is None else partition.replicas,
        isr=frozenset() if partition is None else partition.isr,
        leader=None if partition is None else partition.leader,
    )


def standing(controller: Controller, broker: Broker) -> Standing:
    image, shutdown = controller.image, controller.shutdowns[broker]
    return Standing(
        broker=broker,
        fenced=is_fenced(image, broker),
        stopping=is_in_controlled_shutdown(image, broker),
        older=registered_before(image, broker),
        amended=place_among(controller, amended_at(image, broker)),
        remembered=place_among(controller, remembered_at(controller, broker)),
        lagging=frozenset() if shutdown is None else shutdown.lagging,
    )


def registered_before(image: Metadata, broker: Broker) -> Set[Broker]:
    """The brokers whose registrations are older than a broker's."""
    epoch = broker_epoch_of(image, broker)
    return frozenset(b for b in Broker if is_older(broker_epoch_of(image, b), epoch))


def is_older(epoch: Option[BrokerEpoch], other: Option[BrokerEpoch]) -> bool:
    return epoch is not None and other is not None and epoch < other


def is_in_controlled_shutdown(image: Metadata, broker: Broker) -> bool:
    registration = image.registrations[broker]
    return registration is not None and registration.in_controlled_shutdown


def amended_at(image: Metadata, broker: Broker) -> Option[MetadataOffset]:
    registration = image.registrations[broker]
    return None if registration is None or len(registration.amended) == 0 else registration.amended[0]


def remembered_at(controller: Controller, broker: Broker) -> Option[MetadataOffset]:
    shutdown = controller.shutdowns[broker]
    return None if shutdown is None else shutdown.offset


def place_among(controller: Controller, offset: Option[MetadataOffset]) -> Place:
    """The place of an offset among those of registrations that were written again and of shutdowns."""
    if offset is None:
        return 0
    amended = sum(1 for b in Broker if is_before(amended_at(controller.image, b), offset))
    return 1 + amended + sum(1 for b in Broker if is_before(remembered_at(controller, b), offset))


def is_before(offset: Option[MetadataOffset], other: MetadataOffset) -> bool:
    return offset is not None and offset < other
