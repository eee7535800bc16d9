"""Metadata responses to clients (S6).

A broker answers from its image, which is as old as its last fetch of metadata. Controllers are not brokers, and
are in no list: their ids are of another type.
Leaves out: topics and partitions in a response, and listeners.
"""

from __future__ import annotations

from checker.lang import Option, Set, action, require, transition_invariant, witness
from spec.kraft.metadata import Metadata, Registration, is_active
from spec.kraft.processes import Listing
from spec.kraft.state import Cluster, MetadataReply, committed
from spec.kraft.types import Broker, BrokerState, Process, node_id


@action(
    who="broker {process}",
    source="KIP-631, The Three Cluster Membership States",
    kafka="KafkaApis.handleTopicMetadataRequest, KRaftMetadataCache.getAliveBrokerNodes",
    api="Metadata v12",
)
def answer_metadata(s: Cluster, process: Process) -> None:
    """A broker that runs tells a client which brokers there are, as far as it knows."""
    broker = s.processes[process]
    require(broker.state == BrokerState.RUNNING and len(broker.listing) > 0)
    s.answer = (MetadataReply(process, listed(broker.listing[0])),)


def listed(listing: Listing) -> Set[Broker]:
    return listing.registered - listing.fenced


@transition_invariant(source="KIP-631, The Three Cluster Membership States (S6)")
def only_unfenced_brokers_are_listed(before: Cluster, after: Cluster) -> bool:
    """A metadata response is of a broker that runs, and lists those that were registered and unfenced at the offset
    that it has applied. One in controlled shutdown is among them until it is fenced: clients fetch from it still.
    """
    return before.answer == after.answer or all(
        reply.brokers == listing.unfenced and after.processes[reply.answerer].state == BrokerState.RUNNING
        for reply in after.answer
        for listing in after.processes[reply.answerer].listing
    )


@witness
def fenced_broker_listed(s: Cluster) -> bool:
    """A client hears of a broker that is fenced by now: the answerer's image is old."""
    return any(not is_active(committed(s), broker) for reply in s.answer for broker in reply.brokers)


@witness
def broker_shutting_down_listed(s: Cluster) -> bool:
    """A client hears of a broker that is in controlled shutdown, and is not fenced yet."""
    return any(is_stopping(committed(s).registrations[broker]) for reply in s.answer for broker in reply.brokers)


def is_stopping(registration: Option[Registration]) -> bool:
    return registration is not None and registration.in_controlled_shutdown and not registration.fenced


@witness
def restarted_broker_lists_itself(s: Cluster) -> bool:
    """A broker that was out of the ISR, because it crashed, has heard that it is unfenced again."""
    only_crashes = s.faults.early_expiries == 0 and s.faults.unregistrations == 0
    return only_crashes and any(
        node_id(process) in listing.unfenced and is_out_of_every_isr(committed(s), node_id(process))
        for process in Process
        if s.processes[process].caught_up
        for listing in s.processes[process].listing
    )


def is_out_of_every_isr(image: Metadata, broker: Broker) -> bool:
    return all(partition is None or broker not in partition.isr for partition in image.partitions.values())
