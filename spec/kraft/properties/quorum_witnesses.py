"""States of the quorum that its models must be able to reach; where they cannot, its properties hold vacuously.

Leaves out: the reply to a leader that waits (that of a registration or heartbeat stands for it).
"""

from __future__ import annotations

from checker.lang import Option, witness
from spec.kraft.actions.quorum import is_current_controller, leads, same_batches
from spec.kraft.decisions.log import no_records, removes_something, replay
from spec.kraft.decisions.partition import is_reassigned
from spec.kraft.properties.topics import leads_current
from spec.kraft.state import (
    Cluster,
    Deferral,
    Log,
    Metadata,
    Partition,
    active_brokers,
    committed,
    is_deferred,
)
from spec.kraft.types import Broker, Process, Role, TopicPartition, Voter


@witness
def two_controllers_active(s: Cluster) -> bool:
    """A controller was deposed and has not heard of it, while its successor is active."""
    return sum(1 for voter in Voter if s.controllers[voter].role == Role.ACTIVE) > 1


@witness
def reply_waits_for_commit(s: Cluster) -> bool:
    """A broker is answered, and the reply waits for what its controller has yet to commit."""
    return any(is_deferred(s.processes[process].deferral) for process in Process)


@witness
def reply_waits_in_deposed_controller(s: Cluster) -> bool:
    """A deposed controller has answered a broker, and the reply waits for what it can never commit."""
    return any(waits_in_deposed(s, s.processes[process].deferral) for process in Process)


def waits_in_deposed(s: Cluster, deferral: Deferral) -> bool:
    return any(deferral[voter] > 0 and s.controllers[voter].behind is not None for voter in Voter)


@witness
def decision_survives_failover(s: Cluster) -> bool:
    """The log of a newly elected controller has a decision of an older epoch that is not committed."""
    return any(s.controllers[voter].role == Role.ELECTED and has_older_decision(s, voter) for voter in Voter)


def has_older_decision(s: Cluster, voter: Voter) -> bool:
    controller = s.controllers[voter]
    return any(batch.epoch < controller.epoch and batch.delta != no_records() for batch in controller.log)


@witness
def creation_survives_failover(s: Cluster) -> bool:
    """The log of a newly elected controller has a topic that its predecessor created, not committed yet."""
    return any(s.controllers[voter].role == Role.ELECTED and has_topic(s.controllers[voter].log) for voter in Voter)


def has_topic(log: Log) -> bool:
    return any(batch.delta.topic is not None for batch in log)


@witness
def removal_survives_failover(s: Cluster) -> bool:
    """The log of a newly elected controller has a removal that its predecessor decided, not committed yet."""
    return any(s.controllers[voter].role == Role.ELECTED and has_removal(s.controllers[voter].log) for voter in Voter)


def has_removal(log: Log) -> bool:
    return any(removes_something(batch.delta) for batch in log)


@witness
def decision_is_truncated(s: Cluster) -> bool:
    """A standby is about to cut a decision off that its leader does not have."""
    return any(
        batch.delta != no_records() for voter in Voter for leader in Voter for batch in cut_off(s, voter, leader)
    )


@witness
def creation_is_truncated(s: Cluster) -> bool:
    """A standby is about to cut off the topic that a deposed controller created."""
    return any(has_topic(cut_off(s, voter, leader)) for voter in Voter for leader in Voter)


@witness
def removal_is_truncated(s: Cluster) -> bool:
    """A standby is about to cut off a removal that a deposed controller decided."""
    return any(has_removal(cut_off(s, voter, leader)) for voter in Voter for leader in Voter)


def cut_off(s: Cluster, voter: Voter, leader: Voter) -> Log:
    """The batches that a standby has in its log, and its leader does not."""
    controller, source = s.controllers[voter], s.controllers[leader]
    if not leads(source) or leads(controller) or controller.epoch != source.epoch:
        return ()
    if controller.behind is not None or source.behind is not None:
        return ()
    return controller.log[same_batches(controller.log, source.log) :]


@witness
def controller_lacks_committed(s: Cluster) -> bool:
    """A standby lacks something that is committed."""
    return any(s.controllers[v].role == Role.STANDBY and s.controllers[v].behind is not None for v in Voter)


@witness
def active_after_failover(s: Cluster) -> bool:
    """The controller of the newest epoch was elected in this behaviour, and is active."""
    return s.faults.failovers > 0 and any(is_current_controller(s, voter) for voter in Voter)


@witness
def removal_confirmed_after_failover(s: Cluster) -> bool:
    """A removal is confirmed to an operator by a controller that was elected in this behaviour."""
    return (
        any(
            removal.is_confirmed
            and removal.epoch == s.controllers[removal.voter].epoch
            and is_current_controller(s, removal.voter)
            for removal in s.last_removal
        )
        and s.faults.failovers > 0
    )


@witness
def reassignment_survives_failover(s: Cluster) -> bool:
    """A controller is active that was elected after a failover, and continues a reassignment."""
    return s.faults.failovers > 0 and any(
        is_current_controller(s, voter) and moves(s.controllers[voter].image) and moves(committed(s)) for voter in Voter
    )


def moves(image: Metadata) -> bool:
    return any(is_moved(image.partitions[p]) for p in TopicPartition)


def is_moved(partition: Option[Partition]) -> bool:
    return partition is not None and is_reassigned(partition)


@witness
def end_of_reassignment_is_truncated(s: Cluster) -> bool:
    """A standby is about to cut off what ended a reassignment, which is then under way again."""
    return moves(committed(s)) and any(
        not moves(replay(committed(s), cut_off(s, voter, leader))) for voter in Voter for leader in Voter
    )


@witness
def listed_reassignment_is_over(s: Cluster) -> bool:
    """An operator was shown a reassignment that has ended since."""
    return any(listing.under_way for listing in s.last_listing) and not moves(committed(s))


@witness
def next_topic_is_led(s: Cluster) -> bool:
    """An operator was told that the topic is deleted; there is another of its name, and somebody leads in it."""
    return any(removal.is_confirmed and removal.topic is not None for removal in s.last_removal) and any(
        leads_current(s, s.processes[process].replicas[p]) for process in Process for p in TopicPartition
    )


@witness
def unregistered_broker_is_back(s: Cluster) -> bool:
    """An operator was told that a broker is unregistered; it has registered again since, and is unfenced."""
    return any(removal.is_confirmed and removal.registration is not None for removal in s.last_removal) and (
        len(active_brokers(committed(s))) == len(Broker)
    )
