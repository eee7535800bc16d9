"""Connections: whose they are, what is in them, and in which order it is taken."""

from __future__ import annotations

from checker.lang import invariant, transition_invariant
from spec.group.design import Design
from spec.group.messages import PingAnswer, Position, Registered, Request, Started, StartFetcher, StopFetcher, Stopped
from spec.group.state import Channel, Cluster, ConsumerProcess, is_connected
from spec.group.types import Broker, Consumer, ConsumerState, group_of


def is_away(process: ConsumerProcess) -> bool:
    return process.state in {ConsumerState.STARTING, ConsumerState.LEFT, ConsumerState.DOWN}


@invariant(source="Consumer Coordinator, 7 (RegisterConsumerRequest), 8 (handleConsumerFailure 2, 3)")
def who_is_connected_is_a_member(s: Cluster) -> bool:
    """A broker's end of a connection is open for members only, and only there is something to be read."""
    return all(
        (len(s.channels[c].responses) == 0 or s.channels[c].server is not None)
        and all(
            s.channels[c].server != b
            or (s.brokers[b].epoch is not None and c in s.brokers[b].registries[group_of(c)].members)
            for b in Broker
        )
        for c in Consumer
    )


@invariant(source="Consumer Coordinator, 7 (consumerStartup 1-5), 8 (5), 10")
def who_is_away_has_nothing(s: Cluster) -> bool:
    """A consumer that looks for the coordinator, or is gone, has no connection, and fetches nothing."""
    return all(has_what_it_may(s.consumers[c], s.channels[c]) for c in Consumer)


def has_what_it_may(process: ConsumerProcess, channel: Channel) -> bool:
    away = is_away(process)
    if away != (channel.peer is None) or (away and (channel.broken or len(channel.requests) > 0)):
        return False
    joined = process.state == ConsumerState.JOINED or process.state == ConsumerState.SHUTTING_DOWN
    fresh = process.state == ConsumerState.STARTING or process.state == ConsumerState.DOWN
    return (
        (joined or len(process.fetched) == 0)
        and not (fresh and process.lapsed)
        and (process.answered == 0 or process.state == ConsumerState.SHUTTING_DOWN)
    )


@invariant(source="design switch response_first; Consumer Coordinator, 7 (RegisterConsumerResponse)")
def answer_comes_first(s: Cluster) -> bool:
    """The answer to a registration is the first message on its connection, and the only one of its kind."""
    return not Design.response_first or all(
        all(isinstance(r, Registered) for r in s.channels[c].requests[:1])
        and not any(isinstance(r, Registered) for r in s.channels[c].requests[1:])
        if s.consumers[c].state == ConsumerState.REGISTERING
        else not any(isinstance(r, Registered) for r in s.channels[c].requests)
        for c in Consumer
    )


@transition_invariant(source="Consumer Coordinator, 7, 9 (4.1, 4.4), 11")
def requests_are_taken_in_order(before: Cluster, after: Cluster) -> bool:
    """One message at most is sent at a time, into a connection that is open, or the first is taken by who looks at its
    session; else the connection is closed."""
    return all(is_in_order(before, after, c) for c in Consumer)


def is_in_order(before: Cluster, after: Cluster, consumer: Consumer) -> bool:
    old, new = before.channels[consumer], after.channels[consumer]
    process = before.consumers[consumer]
    if new.requests == old.requests:
        return True
    if len(new.requests) > len(old.requests):
        first = new.requests[: len(old.requests)] == old.requests
        is_open = old.peer is not None and not old.broken and new.peer == old.peer and not new.broken
        return is_open and len(new.requests) == len(old.requests) + 1 and (first or not Design.response_first)
    if new.peer is None:
        return len(new.requests) == 0
    looks = not process.lapsed or not Design.timer_before_requests
    return looks and new.peer == old.peer and new.requests == old.requests[1:]


@transition_invariant(source="Consumer Coordinator, 11; 7 (consumerStartup 5)")
def request_is_carried_out(before: Cluster, after: Cluster) -> bool:
    """Who takes a request does as it says, and answers it, if the other end is open."""
    return all(
        after.channels[c].peer is None
        or len(after.channels[c].requests) >= len(before.channels[c].requests)
        or is_carried_out(before, after, c, before.channels[c].requests[0])
        for c in Consumer
    )


def is_carried_out(before: Cluster, after: Cluster, consumer: Consumer, request: Request) -> bool:
    old, new = before.consumers[consumer], after.consumers[consumer]
    if isinstance(request, Registered):
        joins = old.state == ConsumerState.REGISTERING and new.state == ConsumerState.JOINED
        return joins and request.accepted and new.heard == request.epoch and new.fetched == request.share
    if new.state != old.state or not is_answered(before, after, consumer, request):
        return False
    if isinstance(request, StopFetcher):
        return len(new.fetched) == 0
    if isinstance(request, StartFetcher):
        return new.fetched == request.share
    return new.fetched == old.fetched


def is_answered(before: Cluster, after: Cluster, consumer: Consumer, request: Request) -> bool:
    """A response of the same attempt, with what was fetched, is the last one; none, where the other end is gone."""
    old, new = before.channels[consumer].responses, after.channels[consumer].responses
    if before.channels[consumer].broken or before.channels[consumer].server is None:
        return new == old
    if len(new) != len(old) + 1 or new[: len(old)] != old:
        return False
    fetched = before.consumers[consumer].fetched if Design.auto_commit else frozenset()
    answer = new[len(old)]
    if isinstance(request, StopFetcher):
        return answer == Stopped(request.attempt, fetched)
    if isinstance(request, StartFetcher):
        return answer == Started(request.attempt)
    return answer == PingAnswer(fetched)


@transition_invariant(source="Consumer Coordinator, 7 (handleAddedConsumer), 8 (handleConsumerFailure 2)")
def member_keeps_its_connection(before: Cluster, after: Cluster) -> bool:
    """Who becomes a member is connected, and stays so until it closes, or is removed; section 2 closes all sockets."""
    return all(
        before.brokers[b].epoch != after.brokers[b].epoch
        or c not in after.brokers[b].registries[group_of(c)].members
        or is_connected(after, b, c)
        or (
            c in before.brokers[b].registries[group_of(c)].members
            and (not is_connected(before, b, c) or after.channels[c].peer is None or Design.by_sockets)
        )
        for b in Broker
        for c in Consumer
    )


@transition_invariant(source="Consumer Coordinator, 2 (Consumer 3), 11")
def position_moves_by_a_record(before: Cluster, after: Cluster) -> bool:
    """Who goes on fetching a partition, and takes no request, has consumed at most the next record of it."""
    return all(
        len(after.channels[c].requests) < len(before.channels[c].requests)
        or len(after.consumers[c].fetched) == 0
        or all(has_moved(before.consumers[c], p) for p in after.consumers[c].fetched)
        for c in Consumer
    )


def has_moved(process: ConsumerProcess, position: Position) -> bool:
    """A position is as it was, or one further, by a consumer that looks at its session."""
    looks = process.state == ConsumerState.JOINED and not (process.lapsed and Design.timer_before_requests)
    return position in process.fetched or (
        looks and any(p.partition == position.partition and p.offset + 1 == position.offset for p in process.fetched)
    )
