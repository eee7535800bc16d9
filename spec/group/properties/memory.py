"""What a coordinator remembers: nothing but what it was told in its term, and nothing that contradicts itself."""

from __future__ import annotations

from checker.lang import Set, invariant, transition_invariant
from spec.group.decisions.assignment import is_interested, topics_of, unowned
from spec.group.decisions.registry import cleared, empty_registry, idle, no_topic
from spec.group.design import Design
from spec.group.messages import Ping, PingAnswer
from spec.group.state import BrokerProcess, Cluster, Rebalance, Registry, is_connected, is_coordinator
from spec.group.types import Broker, Consumer, Group, Handler, Partition, Phase, group_of, topic_of


@invariant(source="Consumer Coordinator, 10 (handleNewSession 1)")
def former_has_forgotten(s: Cluster) -> bool:
    """Who does not believe to be the coordinator knows nothing of groups and topics."""
    return all(
        s.brokers[b].epoch is not None or s.brokers[b] == cleared(s.brokers[b], None, no_topic()) for b in Broker
    )


@transition_invariant(source="Consumer Coordinator, 5 (coordinatorStartup 1-5), 2 (Co-ordinator 2)")
def new_coordinator_knows_no_group(before: Cluster, after: Cluster) -> bool:
    """Who is elected is up, has no other term, and knows nobody; under section 2 it waits for whoever is stored."""
    return all(
        after.brokers[b].epoch is None
        or after.brokers[b].epoch == before.brokers[b].epoch
        or (
            before.brokers[b].is_up
            and not before.brokers[b].expired
            and before.brokers[b].epoch is None
            and before.zookeeper.coordinator is None
            and after.brokers[b].waits_out == Design.waits_out_sessions
            and all(is_as_stored(after, after.brokers[b], g) for g in Group)
        )
        for b in Broker
    )


def is_as_stored(s: Cluster, process: BrokerProcess, group: Group) -> bool:
    """A new coordinator knows of a group what is stored, and has queued it if that is somebody."""
    registry, stored = process.registries[group], s.zookeeper.groups[group].members
    queued = any(group in process.handlers[h].queue for h in Handler)
    if not Design.by_sockets or len(stored) == 0:
        return registry == empty_registry() and not queued
    return registry.members == stored and registry.bit and queued


@invariant(source="Consumer Coordinator, 5 (coordinatorStartup 2, 3.1, 3.2), 6")
def topics_are_watched(s: Cluster) -> bool:
    """A coordinator that has started watches the topics it knows, and an event waits where there are others."""
    return all(s.brokers[b].epoch is None or has_watches(s, s.brokers[b]) for b in Broker)


def has_watches(s: Cluster, process: BrokerProcess) -> bool:
    there = topics_of(s)
    sees_all = process.topics == there
    if not process.topics <= there or not process.new_partitions <= process.watched:
        return False
    if process.starts_up and Design.watch_then_read:
        return process.watches_topics and len(process.watched) == 0 and len(process.topics) == 0
    if process.starts_up:
        return not process.watches_topics and len(process.watched) == 0
    is_told = process.new_topics == (not sees_all)
    return process.watches_topics and process.watched == process.topics and (is_told or not Design.watch_then_read)


@invariant(source="Consumer Coordinator, 9 (1.1-1.3), 6 (TopicChangeListener.handleChildChange 2.2) (G5)")
def assigned_partition_is_known(s: Cluster) -> bool:
    """What is assigned is there, and its topic known to match."""
    return all(
        s.brokers[b].handlers[h].assignment[p] is None
        or (p in s.zookeeper.partitions and is_interested(s.brokers[b], topic_of(p)))
        for b in Broker
        for h in Handler
        for p in Partition
    )


@invariant(source="Consumer Coordinator, 9 (1-5)")
def phase_has_its_marks(s: Cluster) -> bool:
    """A handler in no rebalance remembers none; one that backs off, or writes, waits for nobody."""
    return all(
        is_in_order(s.brokers[b].handlers[h]) and is_of_members(s.brokers[b], s.brokers[b].handlers[h])
        for b in Broker
        for h in Handler
    )


def is_in_order(handler: Rebalance) -> bool:
    """What a handler remembers is what its phase has. Section 2 waits for registrations before it computes."""
    waits = len(handler.waits_for) > 0
    if handler.phase == Phase.IDLE:
        return handler == idle(handler.queue)
    if handler.group is None:
        return False
    if handler.phase == Phase.BACKOFF:
        return handler.attempt is None and handler.retries > 0 and not waits and handler.assignment == unowned()
    if Design.by_sockets:
        return (handler.attempt is None) == (handler.phase == Phase.STOPPING) and (
            not waits or handler.phase == Phase.STOPPING
        )
    waiting = handler.phase == Phase.STOPPING or handler.phase == Phase.STARTING
    return handler.attempt is not None and waits == waiting


def is_of_members(process: BrokerProcess, handler: Rebalance) -> bool:
    """Who is waited for, or has started, is a member."""
    return all(
        (handler.group != g or handler.waits_for <= process.registries[g].members)
        and process.registries[g].started <= process.registries[g].members
        for g in Group
    )


@invariant(
    source="design switch bit_cleared_first; Consumer Coordinator, 6 (TopicChangeListener.handleChildChange 2.3)"
)
def who_is_asked_for_waits(s: Cluster) -> bool:
    """A group whose rebalance bit is set waits for a handler."""
    return not Design.bit_cleared_first or all(
        not s.brokers[b].registries[g].bit or any(g in s.brokers[b].handlers[h].queue for h in Handler)
        for b in Broker
        for g in Group
    )


@transition_invariant(source="Consumer Coordinator, 9 (ConsumerRebalanceFailedException)")
def failure_is_of_the_last_retry(before: Cluster, after: Cluster) -> bool:
    """A rebalance is given up after its last retry, and its handler is free; that is over once another is asked for."""
    return all(
        before.brokers[b].registries[g].gave_up == after.brokers[b].registries[g].gave_up
        or before.brokers[b].epoch != after.brokers[b].epoch
        or (
            any(was_last(before.brokers[b].handlers[h], after.brokers[b].handlers[h], g) for h in Handler)
            if after.brokers[b].registries[g].gave_up
            else after.brokers[b].registries[g].bit and not before.brokers[b].registries[g].bit
        )
        for b in Broker
        for g in Group
    )


def was_last(before: Rebalance, after: Rebalance, group: Group) -> bool:
    return before.group == group and before.retries == Design.max_retries and after.phase == Phase.IDLE


@transition_invariant(source="Consumer Coordinator, 11 (Handling PingResponse 1; Handling StopFetcherRequest 3)")
def reports_stay(before: Cluster, after: Cluster) -> bool:
    """One offset is remembered of a partition, and while its coordinator is in its term it is not forgotten."""
    return all(
        sum(1 for p in after.brokers[b].registries[g].reported if p.partition == of) <= 1
        and (
            before.brokers[b].epoch != after.brokers[b].epoch
            or of not in reported(before.brokers[b].registries[g])
            or of in reported(after.brokers[b].registries[g])
        )
        for b in Broker
        for g in Group
        for of in Partition
    )


def reported(registry: Registry) -> Set[Partition]:
    return frozenset(p.partition for p in registry.reported)


@invariant(source="Consumer Coordinator, 5 (scheduler.run 1-3), 8 (3, 4)")
def unanswered_pings_are_under_way(s: Cluster) -> bool:
    """Unanswered pings of a connected member are under way, or their answers are; who is no member has none."""
    return all(
        counts_pings(s, s.brokers[b].registries[group_of(c)], c, is_connected(s, b, c))
        for b in Broker
        for c in Consumer
    )


def counts_pings(s: Cluster, registry: Registry, consumer: Consumer, connected: bool) -> bool:
    unanswered, failed = registry.unanswered[consumer], registry.failed[consumer]
    in_a_row = registry.in_a_row[consumer]
    if consumer not in registry.members:
        return unanswered == 0 and failed == 0 and in_a_row == 0
    pings = sum(1 for r in s.channels[consumer].requests if isinstance(r, Ping))
    answers = sum(1 for r in s.channels[consumer].responses if isinstance(r, PingAnswer))
    return (
        (not connected or unanswered == pings + answers)
        and in_a_row <= min(unanswered, failed)
        and (failed == in_a_row or not Design.failures_in_a_row)
    )


@transition_invariant(source="Consumer Coordinator, 8 (3, 4)")
def ping_fails_on_a_connection(before: Cluster, after: Cluster) -> bool:
    """A ping fails of a member whose connection is open at both ends: else the consumer is found dead at once."""
    return all(
        after.brokers[b].registries[group_of(c)].in_a_row[c] <= before.brokers[b].registries[group_of(c)].in_a_row[c]
        or is_connected(before, b, c)
        for b in Broker
        for c in Consumer
    )


@invariant(source="Consumer Coordinator, 2 (Co-ordinator 1-3)")
def members_are_stored(s: Cluster) -> bool:
    """Under section 2 a coordinator knows as members who is stored."""
    return not Design.fenced_writes or all(
        not is_coordinator(s, b) or s.brokers[b].registries[g].members == s.zookeeper.groups[g].members
        for b in Broker
        for g in Group
    )


@invariant(source="Consumer Coordinator, 2 (Co-ordinator 2, 5)")
def who_is_waited_for_has_no_socket(s: Cluster) -> bool:
    """Under section 2 whoever is waited for has yet to register on a new connection."""
    return not any(
        c in s.brokers[b].handlers[h].waits_for and s.channels[c].server == b
        for b in Broker
        for h in Handler
        for c in Consumer
    )


@transition_invariant(source="Consumer Coordinator, 2 (Co-ordinator 2, 5)")
def assignment_waits_for_all(before: Cluster, after: Cluster) -> bool:
    """Under section 2 partitions are assigned once nobody is waited for, each to somebody."""
    return all(
        after.brokers[b].handlers[h].attempt is None
        or after.brokers[b].handlers[h].attempt == before.brokers[b].handlers[h].attempt
        or (
            before.brokers[b].handlers[h].phase == Phase.STOPPING
            and len(before.brokers[b].handlers[h].waits_for) == 0
            and all(after.brokers[b].handlers[h].assignment[p] is not None for p in Partition)
        )
        for b in Broker
        for h in Handler
    )
