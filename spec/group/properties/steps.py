"""Steps and their reasons: who is rebalanced, whose session ends, who writes, and what a fault does."""

from __future__ import annotations

from checker.lang import Option, Set, transition_invariant
from spec.group.actions.coordinator import began_later, is_served, outlasts
from spec.group.actions.failure import is_member
from spec.group.actions.offsets import has_uncommitted
from spec.group.decisions.assignment import is_owner
from spec.group.design import Design
from spec.group.messages import Ping, Position, Registered, Request, StartFetcher
from spec.group.state import BrokerProcess, Cluster, Owners, Rebalance, is_connected, is_coordinator
from spec.group.types import Broker, Consumer, ConsumerState, Group, Handler, Partition, Phase, group_of


def same_term(before: Cluster, after: Cluster, broker: Broker) -> bool:
    """The broker believes to be the coordinator, as it did before."""
    return after.brokers[broker].epoch is not None and before.brokers[broker].epoch == after.brokers[broker].epoch


@transition_invariant(source="Consumer Coordinator, 6 (2.3), 7 (handleAddedConsumer 4), 8 (handleConsumerFailure 5)")
def rebalance_is_asked_for_with_reason(before: Cluster, after: Cluster) -> bool:
    """A rebalance is asked for where members, topics or partitions have changed, or the last one was given up; nobody
    asks for that of a group without members."""
    return all(
        not same_term(before, after, b)
        or before.brokers[b].registries[g].bit
        or not after.brokers[b].registries[g].bit
        or (
            len(after.brokers[b].registries[g].members) > 0
            and (
                after.brokers[b].registries[g].members != before.brokers[b].registries[g].members
                or before.brokers[b].registries[g].gave_up
                or after.brokers[b].topics != before.brokers[b].topics
                or after.brokers[b].new_partitions != before.brokers[b].new_partitions
            )
        )
        for b in Broker
        for g in Group
    )


@transition_invariant(source="Consumer Coordinator, 9 (1, 5), 6")
def rebalance_begins_where_it_is_asked_for(before: Cluster, after: Cluster) -> bool:
    """A free handler takes a group out of its queue, or tries again; a new coordinator that waits, or reads, takes
    none."""
    return all(
        not same_term(before, after, b)
        or is_begun_rightly(before.brokers[b], before.brokers[b].handlers[h], after.brokers[b].handlers[h])
        for b in Broker
        for h in Handler
    )


def is_begun_rightly(process: BrokerProcess, before: Rebalance, after: Rebalance) -> bool:
    if before.phase != Phase.IDLE and before.phase != Phase.BACKOFF:
        return before.queue <= after.queue
    if after.group is None or after.phase == before.phase:
        return True
    return not process.waits_out and not process.starts_up and was_asked_for(before, after.group)


def was_asked_for(handler: Rebalance, group: Option[Group]) -> bool:
    if handler.phase == Phase.BACKOFF:
        return handler.group == group
    return any(group == g for g in handler.queue)


@transition_invariant(source="Consumer Coordinator, 9 (4.4); 11 (StartFetcherRequest); 2 (Co-ordinator 5)")
def start_brings_the_share(before: Cluster, after: Cluster) -> bool:
    """What starts a consumer, a request or the answer of section 2, brings what is assigned to its threads."""
    return all(
        len(after.channels[c].requests) <= len(before.channels[c].requests)
        or all(is_share(after, c, r) for r in after.channels[c].requests[len(before.channels[c].requests) :])
        for c in Consumer
    )


def is_share(s: Cluster, consumer: Consumer, request: Request) -> bool:
    if isinstance(request, StartFetcher):
        return any(
            s.brokers[b].handlers[h].attempt == request.attempt
            and brings(request.share, s.brokers[b].handlers[h].assignment, consumer)
            for b in Broker
            for h in Handler
        )
    if isinstance(request, Registered) and request.accepted and Design.by_sockets and Design.owners_first:
        return brings(request.share, s.zookeeper.groups[group_of(consumer)].owners, consumer)
    return True


def brings(share: Set[Position], owners: Owners, consumer: Consumer) -> bool:
    return all(any(x.partition == p for x in share) == is_owner(owners, consumer, p) for p in Partition)


@transition_invariant(
    source="Consumer Coordinator, 8 (3-5), 10; design switches lease_from_answers, waits_out_sessions"
)
def session_ends_with_reason(before: Cluster, after: Cluster) -> bool:
    """A session is over where its consumer was removed, or where the longest one has passed since an election."""
    return all(
        after.consumers[c].lapsed
        if any(is_over_for(before, after, b, c) for b in Broker)
        else before.consumers[c].lapsed or not after.consumers[c].lapsed
        for c in Consumer
    )


def is_over_for(before: Cluster, after: Cluster, broker: Broker, consumer: Consumer) -> bool:
    if not same_term(before, after, broker):
        return False
    removed = is_member(before, broker, consumer) and not is_member(after, broker, consumer)
    if removed and is_connected(before, broker, consumer) and Design.lease_from_answers:
        return True
    waited = before.brokers[broker].waits_out and not after.brokers[broker].waits_out
    state = before.consumers[consumer].state
    runs = state != ConsumerState.STARTING and state != ConsumerState.LEFT and state != ConsumerState.DOWN
    renewed = not Design.stops_before_expiry and is_served(before, consumer)
    goes_on = renewed or outlasts(consumer) or began_later(before, broker, consumer)
    return waited and runs and not is_connected(before, broker, consumer) and not goes_on


@transition_invariant(source="Consumer Coordinator, 9 (4.3, 4.6), 10; design switch fenced_writes (G3)")
def write_needs_the_office(before: Cluster, after: Cluster) -> bool:
    """With writes that are fenced, nobody but the coordinator gets past 4.3 or 4.6, or changes owners or offsets."""
    return not Design.fenced_writes or (
        all(
            is_coordinator(before, b) or not gets_on(before.brokers[b].handlers[h], after.brokers[b].handlers[h])
            for b in Broker
            for h in Handler
        )
        and (
            any(is_coordinator(before, b) for b in Broker)
            or all(
                before.zookeeper.groups[g].owners == after.zookeeper.groups[g].owners
                and before.zookeeper.groups[g].offsets == after.zookeeper.groups[g].offsets
                for g in Group
            )
        )
    )


def gets_on(before: Rebalance, after: Rebalance) -> bool:
    committed = before.phase == Phase.COMMITTING and after.phase in {Phase.WRITING, Phase.STARTING}
    return committed or (before.phase == Phase.WRITING and after.phase == Phase.STARTING)


@transition_invariant(source="Consumer Coordinator, 10 (handleNewSession 1-3); design switch fenced_writes")
def office_is_left_with_reason(before: Cluster, after: Cluster) -> bool:
    """A coordinator ends its term where it dies, hears that its session has ended, or may not write what it has to."""
    return all(
        not before.brokers[b].expired or after.brokers[b].expired or after.brokers[b].epoch is None for b in Broker
    ) and all(
        before.brokers[b].epoch is None
        or after.brokers[b].epoch is not None
        or not after.brokers[b].is_up
        or (before.brokers[b].expired and not after.brokers[b].expired)
        or (Design.fenced_writes and not is_coordinator(before, b) and has_to_write(before, b))
        for b in Broker
    )


def has_to_write(s: Cluster, broker: Broker) -> bool:
    return any(has_uncommitted(s, broker, g) for g in Group) or any(
        s.brokers[broker].handlers[h].phase in {Phase.COMMITTING, Phase.WRITING} for h in Handler
    )


@transition_invariant(source="Consumer Coordinator, 6")
def event_is_of_a_change(before: Cluster, after: Cluster) -> bool:
    """A watch fires where a partition was created."""
    return before.zookeeper.partitions != after.zookeeper.partitions or all(
        after.brokers[b].new_partitions <= before.brokers[b].new_partitions
        and (before.brokers[b].new_topics or not after.brokers[b].new_topics)
        for b in Broker
    )


@transition_invariant(source="Consumer Coordinator, 7 (consumerStartup 1-5), 8 (5), 10, 11 (handlePingRequest 1)")
def states_follow(before: Cluster, after: Cluster) -> bool:
    """A consumer starts, registers and joins; it starts anew unless it shuts down, and leaves only then."""
    return all(
        before.consumers[c].state == after.consumers[c].state
        or before.faults.crashes != after.faults.crashes
        or may_follow(before.consumers[c].state, after.consumers[c].state)
        for c in Consumer
    )


def may_follow(before: ConsumerState, after: ConsumerState) -> bool:
    if before == ConsumerState.STARTING:
        return after == ConsumerState.REGISTERING
    if before == ConsumerState.REGISTERING:
        return after == ConsumerState.JOINED or after == ConsumerState.STARTING
    if before == ConsumerState.JOINED:
        return after == ConsumerState.SHUTTING_DOWN or after == ConsumerState.STARTING
    if before == ConsumerState.SHUTTING_DOWN:
        return after == ConsumerState.LEFT or after == ConsumerState.DOWN
    return before == ConsumerState.DOWN and after == ConsumerState.STARTING


@transition_invariant(source="Consumer Coordinator, 8, 10, 11 (what may go wrong)")
def fault_hits_whom_it_may(before: Cluster, after: Cluster) -> bool:
    """A fault is what its budget counts: it hits somebody whom it may hit, and does to it what it is."""
    return (
        (
            before.faults.crashes == after.faults.crashes
            or any(becomes(before, after, c, ConsumerState.DOWN) for c in Consumer)
        )
        and (
            before.faults.shutdowns < after.faults.shutdowns
            or not any(becomes(before, after, c, ConsumerState.SHUTTING_DOWN) for c in Consumer)
        )
        and (
            before.faults.early_suspicions == after.faults.early_suspicions
            or any(gives_up_joined(before, after, c) for c in Consumer)
        )
        and (
            before.faults.out_of_range == after.faults.out_of_range
            or any(gives_up_joined(before, after, c) and has_fetched_at_ping(before, c) for c in Consumer)
        )
        and (
            before.faults.false_deaths == after.faults.false_deaths
            or any(is_buried(before, after, b, c) for b in Broker for c in Consumer)
        )
        and (before.faults.expiries != after.faults.expiries) == any(has_expired(before, after, b) for b in Broker)
        and (
            before.faults.time_outs == after.faults.time_outs
            or any(
                has_timed_out(before.brokers[b].handlers[h], after.brokers[b].handlers[h])
                for b in Broker
                for h in Handler
            )
        )
    )


def becomes(before: Cluster, after: Cluster, consumer: Consumer, state: ConsumerState) -> bool:
    return before.consumers[consumer].state != state and after.consumers[consumer].state == state


def gives_up_joined(before: Cluster, after: Cluster, consumer: Consumer) -> bool:
    """A consumer that had joined, and had no other reason to, starts anew."""
    process = before.consumers[consumer]
    serene = process.state == ConsumerState.JOINED and not before.channels[consumer].broken
    looks = not process.lapsed or not Design.timer_before_requests
    return serene and looks and becomes(before, after, consumer, ConsumerState.STARTING)


def has_fetched_at_ping(before: Cluster, consumer: Consumer) -> bool:
    first = before.channels[consumer].requests[:1]
    return len(before.consumers[consumer].fetched) > 0 and any(isinstance(r, Ping) for r in first)


def is_buried(before: Cluster, after: Cluster, broker: Broker, consumer: Consumer) -> bool:
    member = is_member(before, broker, consumer) and is_connected(before, broker, consumer)
    return member and not is_member(after, broker, consumer)


def has_expired(before: Cluster, after: Cluster, broker: Broker) -> bool:
    held = before.zookeeper.coordinator == broker and after.zookeeper.coordinator is None
    return held and after.brokers[broker].expired


def has_timed_out(before: Rebalance, after: Rebalance) -> bool:
    """Somebody was late: the rebalance is to be tried again, or is over; at a barrier the others go on."""
    waited = before.phase in {Phase.STOPPING, Phase.STARTING} and len(before.waits_for) > 0
    is_barrier = before.phase == Phase.STOPPING and Design.join_barrier
    then = after.phase == (Phase.COMMITTING if is_barrier else Phase.BACKOFF) or after.phase == Phase.IDLE
    return waited and then and len(after.waits_for) == 0
