"""States that a model must be able to reach; where it cannot, its properties hold vacuously."""

from __future__ import annotations

from checker.lang import witness
from spec.group.design import Design
from spec.group.messages import Registered
from spec.group.properties.rebalances import attempt_of
from spec.group.state import Cluster, is_coordinator, is_fetching
from spec.group.types import Broker, Consumer, ConsumerState, Group, Handler, Partition, Phase, Topic, topic_of


@witness
def everything_is_fetched(s: Cluster) -> bool:
    """Every consumer fetches."""
    return all(len(s.consumers[c].fetched) > 0 for c in Consumer)


def some_phase(s: Cluster, phase: Phase) -> bool:
    return any(s.brokers[b].handlers[h].phase == phase for b in Broker for h in Handler)


@witness
def committing(s: Cluster) -> bool:
    """A rebalance is at 4.3."""
    return some_phase(s, Phase.COMMITTING)


@witness
def writing(s: Cluster) -> bool:
    """A rebalance is at 4.6."""
    return some_phase(s, Phase.WRITING)


@witness
def backing_off(s: Cluster) -> bool:
    """A rebalance is at 5."""
    return some_phase(s, Phase.BACKOFF)


@witness
def stop_is_late(s: Cluster) -> bool:
    """A rebalance is at 5, and nobody has ever owned anything: the responses of 4.2 did not come in time."""
    return some_phase(s, Phase.BACKOFF) and all(
        s.zookeeper.groups[g].owners[p] is None for g in Group for p in Partition
    )


@witness
def start_is_late(s: Cluster) -> bool:
    """A rebalance is at 5, and a member of its group has started: not all the responses of 4.5 came in time."""
    return any(
        s.brokers[b].handlers[h].phase == Phase.BACKOFF
        and s.brokers[b].handlers[h].group == g
        and len(s.brokers[b].registries[g].started) > 0
        for b in Broker
        for h in Handler
        for g in Group
    )


@witness
def retrying(s: Cluster) -> bool:
    """A rebalance is in its second attempt."""
    return any(
        s.brokers[b].handlers[h].retries > 0 and s.brokers[b].handlers[h].phase == Phase.STARTING
        for b in Broker
        for h in Handler
    )


@witness
def gave_up(s: Cluster) -> bool:
    """A rebalance is out of retries."""
    return any(s.brokers[b].registries[g].gave_up for b in Broker for g in Group)


@witness
def late_response(s: Cluster) -> bool:
    """A response to a former attempt is read next, while its consumer's watcher of a later one is set."""
    return any(is_late(s, b, h, c) for b in Broker for h in Handler for c in Consumer)


def is_late(s: Cluster, broker: Broker, handler: Handler, consumer: Consumer) -> bool:
    current, channel = s.brokers[broker].handlers[handler], s.channels[consumer]
    return (
        consumer in current.waits_for
        and channel.server == broker
        and any(attempt_of(response) != current.attempt for response in channel.responses[:1])
    )


@witness
def two_coordinators(s: Cluster) -> bool:
    """A broker believes to be the coordinator while another is, and both have a member."""
    return all(
        s.brokers[b].epoch is not None and len(s.brokers[b].registries[g].members) > 0 for b in Broker for g in Group
    )


@witness
def zombie_consumer(s: Cluster) -> bool:
    """A consumer has yet to notice that its session is over, and another one has registered since."""
    return any(
        s.consumers[c].lapsed
        and len(s.consumers[c].fetched) > 0
        and any(other != c and s.consumers[other].state == ConsumerState.JOINED for other in Consumer)
        for c in Consumer
    )


@witness
def group_without_members(s: Cluster) -> bool:
    """The coordinator knows a group whose last member is gone: somebody owns its partitions still."""
    return any(
        is_coordinator(s, b)
        and len(s.brokers[b].registries[g].members) == 0
        and any(s.zookeeper.groups[g].owners[p] is not None for p in Partition)
        for b in Broker
        for g in Group
    )


@witness
def back_from_the_dead(s: Cluster) -> bool:
    """Nobody may die any more, and every consumer fetches: who died has started again."""
    return (
        Design.max_crashes > 0
        and s.faults.crashes == Design.max_crashes
        and all(len(s.consumers[c].fetched) > 0 for c in Consumer)
    )


@witness
def skips(s: Cluster) -> bool:
    """A rebalance is asked for, and every member fetches its share of what would be computed (3.5)."""
    return any(
        is_coordinator(s, b)
        and g in s.brokers[b].handlers[h].queue
        and len(s.brokers[b].registries[g].members) > 0
        and s.brokers[b].registries[g].members <= s.brokers[b].registries[g].started
        and all(any(is_fetching(s, c, p) for c in Consumer) for p in Partition)
        for b in Broker
        for h in Handler
        for g in Group
    )


@witness
def ping_failed(s: Cluster) -> bool:
    """A ping has failed, and the consumer may not miss another one."""
    return any(s.brokers[b].registries[g].failed[c] > 0 for b in Broker for g in Group for c in Consumer)


@witness
def left_in_order(s: Cluster) -> bool:
    """A consumer has left, with a record consumed, and the other one fetches everything."""
    return (
        any(s.consumers[c].state == ConsumerState.LEFT for c in Consumer)
        and any(s.zookeeper.groups[g].offsets[p] > 0 for g in Group for p in Partition)
        and any(all(is_fetching(s, c, p) for p in Partition) for c in Consumer)
    )


@witness
def wildcard_gains_a_topic(s: Cluster) -> bool:
    """A group fetches a partition of a topic that was not there at the start."""
    return Design.topics > 1 and any(
        topic_of(p.partition) != Topic(0) for c in Consumer for p in s.consumers[c].fetched
    )


@witness
def group_waits(s: Cluster) -> bool:
    """A group waits for the handler, which is in the rebalance of another."""
    return any(
        len(s.brokers[b].handlers[h].queue) > 0 and s.brokers[b].handlers[h].phase != Phase.IDLE
        for b in Broker
        for h in Handler
    )


@witness
def late_rejoins(s: Cluster) -> bool:
    """A consumer that was removed for being late has joined again."""
    return s.faults.time_outs > 0 and any(
        s.consumers[c].state == ConsumerState.JOINED and s.brokers[b].registries[g].members == frozenset(Consumer)
        for c in Consumer
        for b in Broker
        for g in Group
    )


@witness
def refused(s: Cluster) -> bool:
    """A consumer is told that its id is in use, perhaps by its own former connection."""
    return any(isinstance(r, Registered) and not r.accepted for c in Consumer for r in s.channels[c].requests)
