"""Rebalances: who may change what (G3), assignments (G5), watchers (G7), one at a time (G9)."""

from __future__ import annotations

from checker.lang import Option, invariant, transition_invariant
from spec.group.design import Design
from spec.group.messages import Response, Started, Stopped
from spec.group.state import Cluster, Rebalance
from spec.group.types import (
    Attempt,
    Broker,
    Consumer,
    Group,
    Handler,
    Partition,
    Phase,
    Thread,
    Topic,
    consumer_of,
    number,
    topic_of,
)


@invariant(source="Consumer Coordinator, 10 (handleNewSession) (G3)")
def only_the_newest_coordinator_writes(s: Cluster) -> bool:
    """No former coordinator has changed owners or offsets."""
    return not s.former_wrote


@transition_invariant(source="Consumer Coordinator, 10 (handleNewSession) (G3)")
def former_coordinator_is_not_obeyed(before: Cluster, after: Cluster) -> bool:
    """No consumer registers with a coordinator that is older than one that it has registered with."""
    return all(not is_older(before, after, c) for c in Consumer)


def is_older(before: Cluster, after: Cluster, consumer: Consumer) -> bool:
    known, heard = before.consumers[consumer].heard, after.consumers[consumer].heard
    return known is not None and heard is not None and heard < known


@invariant(source="Consumer Coordinator, 2, 9 (1.3) (G5)")
def each_partition_is_assigned(s: Cluster) -> bool:
    """An assignment gives each partition that it has to a thread of a member, and has every one of a topic or none."""
    return all(
        s.brokers[b].handlers[h].attempt is None
        or all(is_well_assigned(s, b, s.brokers[b].handlers[h], p) for p in Partition)
        for b in Broker
        for h in Handler
    )


def is_well_assigned(s: Cluster, broker: Broker, handler: Rebalance, partition: Partition) -> bool:
    """Its owner is a thread of a member; without one, none was there: it is new, or its topic is."""
    group, owner = handler.group, handler.assignment[partition]
    if group is None:
        return False
    if owner is None:
        return number(partition) >= Design.partitions - Design.new_partitions
    return consumer_of(owner) in s.brokers[broker].registries[group].members


@transition_invariant(source="Consumer Coordinator, 9 (1.3) (0.7's ranges) (G5)")
def threads_get_their_turn(before: Cluster, after: Cluster) -> bool:
    """What is newly assigned: no thread of a member has two partitions of a topic fewer than another thread."""
    return all(
        after.brokers[b].handlers[h].attempt is None
        or after.brokers[b].handlers[h].attempt == before.brokers[b].handlers[h].attempt
        or all(
            owned(after.brokers[b].handlers[h], more, t) <= owned(after.brokers[b].handlers[h], less, t) + 1
            for less in Thread
            if is_assigned_to(after, b, after.brokers[b].handlers[h].group, less)
            for more in Thread
            for t in Topic
        )
        for b in Broker
        for h in Handler
    )


def is_assigned_to(s: Cluster, broker: Broker, group: Option[Group], thread: Thread) -> bool:
    return group is not None and consumer_of(thread) in s.brokers[broker].registries[group].members


def owned(handler: Rebalance, thread: Thread, topic: Topic) -> int:
    return sum(1 for p in Partition if topic_of(p) == topic and handler.assignment[p] == thread)


@transition_invariant(source="Consumer Coordinator, 11 (Handling StopFetcherRequest 3); KAFKA-9823 (G7)")
def response_clears_its_own_watcher(before: Cluster, after: Cluster) -> bool:
    """A watcher is cleared by the response to the attempt that it was set in."""
    return all(
        not is_cleared(before.brokers[b].handlers[h], after.brokers[b].handlers[h], c)
        or is_of(before, c, before.brokers[b].handlers[h].attempt)
        for b in Broker
        for h in Handler
        for c in Consumer
    )


def is_cleared(before: Rebalance, after: Rebalance, consumer: Consumer) -> bool:
    """A watcher of the consumer is gone, and its attempt goes on."""
    waited = before.phase == Phase.STOPPING or before.phase == Phase.STARTING
    gone = consumer in before.waits_for and consumer not in after.waits_for
    return waited and gone and after.attempt == before.attempt and before.phase == after.phase


def is_of(s: Cluster, consumer: Consumer, attempt: Option[Attempt]) -> bool:
    """The next response of a consumer is of this attempt."""
    responses = s.channels[consumer].responses
    return len(responses) > 0 and attempt_of(responses[0]) == attempt


def attempt_of(response: Response) -> Option[Attempt]:
    if isinstance(response, Stopped):
        return response.attempt
    if isinstance(response, Started):
        return response.attempt
    return None


@invariant(source="Consumer Coordinator, 6 (to avoid concurrent rebalancing of the same group) (G9)")
def one_rebalance_at_a_time(s: Cluster) -> bool:
    """No two handlers of a coordinator are in a rebalance of one group."""
    return all(
        s.brokers[b].handlers[h].group is None
        or all(other == h or s.brokers[b].handlers[other].group != s.brokers[b].handlers[h].group for other in Handler)
        for b in Broker
        for h in Handler
    )


@invariant(source="Consumer Coordinator, 6 (TopicChangeListener.handleChildChange 2.3)")
def waiting_group_has_its_bit_set(s: Cluster) -> bool:
    """A group that waits for a handler has its rebalance bit set: nobody queues it again."""
    return all(
        group not in s.brokers[b].handlers[h].queue or s.brokers[b].registries[group].bit
        for b in Broker
        for h in Handler
        for group in Group
    )


@transition_invariant(source="Consumer Coordinator, 6 (TopicChangeListener.handleChildChange 2.3), 9 (5)")
def who_is_asked_for_is_not_given_up(before: Cluster, after: Cluster) -> bool:
    """Where the rebalance bit of a group is set, its last failure is over: no timer asks once more."""
    return all(
        before.brokers[b].registries[g].bit
        or not after.brokers[b].registries[g].bit
        or not after.brokers[b].registries[g].gave_up
        for b in Broker
        for g in Group
    )


@transition_invariant(source="Consumer Coordinator, 9 (3.1-3.5)")
def nobody_is_stopped_for_nothing(before: Cluster, after: Cluster) -> bool:
    """A rebalance that has members stopped changes an owner, or has somebody start who was not started."""
    return all(
        after.brokers[b].handlers[h].phase != Phase.STOPPING
        or before.brokers[b].handlers[h].phase == Phase.STOPPING
        or changes_something(before, b, after.brokers[b].handlers[h])
        for b in Broker
        for h in Handler
    )


def changes_something(before: Cluster, broker: Broker, handler: Rebalance) -> bool:
    return any(
        handler.group == g
        and (
            any(before.zookeeper.groups[g].owners[p] != handler.assignment[p] for p in Partition)
            or not before.brokers[broker].registries[g].members <= before.brokers[broker].registries[g].started
        )
        for g in Group
    )
