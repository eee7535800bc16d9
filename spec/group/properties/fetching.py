"""Fetching: who fetches what (G1, G4), from where (G6), and what is committed (G2)."""

from __future__ import annotations

from checker.lang import Set, invariant, transition_invariant
from spec.group.decisions.assignment import is_owner
from spec.group.design import Design
from spec.group.messages import Position, StartFetcher
from spec.group.state import Cluster, is_connected, is_fetching
from spec.group.types import Broker, Consumer, ConsumerState, Group, Partition, group_of


@invariant(source="Consumer Coordinator, 2 (a mutually exclusive set of partitions) (G1)")
def one_consumer_fetches(s: Cluster) -> bool:
    """No two consumers of a group fetch one partition."""
    return all(
        not is_fetching(s, c, p)
        or all(other == c or group_of(other) != group_of(c) or not is_fetching(s, other, p) for other in Consumer)
        for c in Consumer
        for p in Partition
    )


@invariant(source="Consumer Coordinator, 9 (4.6); KAFKA-2017 (G4)")
def who_fetches_is_the_owner(s: Cluster) -> bool:
    """Who fetches a partition is its owner in ZooKeeper."""
    return all(
        not is_fetching(s, c, p) or is_owner(s.zookeeper.groups[group_of(c)].owners, c, p)
        for c in Consumer
        for p in Partition
    )


@transition_invariant(source="Consumer Coordinator, 9 (4.3) (G2)")
def committed_offset_never_goes_back(before: Cluster, after: Cluster) -> bool:
    """No commit lowers an offset."""
    return all(
        after.zookeeper.groups[g].offsets[p] >= before.zookeeper.groups[g].offsets[p] for g in Group for p in Partition
    )


@invariant(source="Consumer Coordinator, 9 (4.3) (G2)")
def committed_was_consumed(s: Cluster) -> bool:
    """No offset beyond what was consumed is committed."""
    return all(s.zookeeper.groups[g].offsets[p] <= s.consumed[g].ends[p] for g in Group for p in Partition)


@invariant(source="Consumer Coordinator, 9 (4.4), 11 (StartFetcherRequest) (G6)")
def no_record_is_skipped(s: Cluster) -> bool:
    """No consumer's position is beyond what its group has consumed."""
    return all(p.offset <= s.consumed[group_of(c)].ends[p.partition] for c in Consumer for p in s.consumers[c].fetched)


@transition_invariant(source="Consumer Coordinator, 9 (4.4), 11 (StartFetcherRequest) (G6)")
def starts_where_committed(before: Cluster, after: Cluster) -> bool:
    """A StartFetcherRequest starts at the offset that is committed by then: where the last owner stopped."""
    return all(
        position.offset == after.zookeeper.groups[group_of(c)].offsets[position.partition]
        for c in Consumer
        for position in newly_sent(before, after, c)
    )


def newly_sent(before: Cluster, after: Cluster, consumer: Consumer) -> Set[Position]:
    """What is in a StartFetcherRequest that this step has sent to a consumer."""
    old, new = before.channels[consumer].requests, after.channels[consumer].requests
    if len(new) <= len(old):
        return frozenset()
    request = new[len(old)]
    return request.share if isinstance(request, StartFetcher) else frozenset()


@transition_invariant(source="Consumer Coordinator, 11 (handlePingRequest 1.1, 1.2) (G8)")
def last_position_is_committed(before: Cluster, after: Cluster) -> bool:
    """Who leaves in order, and commits at all, has its last position committed."""
    return not Design.auto_commit or all(
        before.consumers[c].state == ConsumerState.LEFT
        or after.consumers[c].state != ConsumerState.LEFT
        or all(
            p.offset <= after.zookeeper.groups[group_of(c)].offsets[p.partition] for p in before.consumers[c].fetched
        )
        for c in Consumer
    )


@transition_invariant(source="Consumer Coordinator, 8 (4: more than the maximum number of ping retries) (L3)")
def who_answers_lives(before: Cluster, after: Cluster) -> bool:
    """No consumer is declared dead for pings that did not fail in a row."""
    return all(
        c not in before.brokers[b].registries[group_of(c)].members
        or c in after.brokers[b].registries[group_of(c)].members
        or not is_connected(before, b, c)
        or before.brokers[b].epoch != after.brokers[b].epoch
        for b in Broker
        for c in Consumer
    )
