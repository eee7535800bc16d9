"""Requests that a consumer takes, what it consumes, and what the coordinator makes of its responses (11)."""

from __future__ import annotations

from checker.lang import Option, Set, action, choose, require
from spec.group.actions.failure import is_member
from spec.group.decisions.registry import idle
from spec.group.design import Design
from spec.group.messages import PingAnswer, Position, Started, StartFetcher, StopFetcher, Stopped
from spec.group.state import Channel, Cluster, ConsumerProcess
from spec.group.types import Attempt, Broker, Consumer, ConsumerState, Group, Handler, Phase, group_of


def takes_requests(process: ConsumerProcess, channel: Channel) -> bool:
    """It has joined, its session is not over as far as it looks, and its answer goes out."""
    stops = process.lapsed and Design.timer_before_requests
    runs = process.state in {ConsumerState.JOINED, ConsumerState.SHUTTING_DOWN}
    return runs and not stops and len(channel.requests) > 0


def can_answer(channel: Channel) -> bool:
    return channel.broken or channel.server is None or len(channel.responses) < Design.queue


def is_answered(channel: Channel) -> bool:
    """A response arrives, as far as the other end is open."""
    return not channel.broken and channel.server is not None


def reported_by(process: ConsumerProcess) -> Set[Position]:
    """The offsets that a consumer adds to an answer."""
    return process.fetched if Design.auto_commit else frozenset()


@action(who="consumer {consumer}", source="Consumer Coordinator, 11 (Handling StopFetcherRequest 1, 2)")
def take_stop(s: Cluster, consumer: Consumer) -> None:
    """A consumer stops its fetchers, and answers with the offsets consumed."""
    process, channel = s.consumers[consumer], s.channels[consumer]
    require(takes_requests(process, channel) and can_answer(channel))
    request = channel.requests[0]
    require(isinstance(request, StopFetcher))
    assert isinstance(request, StopFetcher)
    channel.requests = channel.requests[1:]
    if is_answered(channel):
        channel.responses = channel.responses + (Stopped(request.attempt, reported_by(process)),)
    process.fetched = frozenset()


@action(who="consumer {consumer}", source="Consumer Coordinator, 11 (handleStartFetcherRequest 2-5)")
def take_start(s: Cluster, consumer: Consumer) -> None:
    """A consumer starts to fetch what it is assigned, and answers."""
    process, channel = s.consumers[consumer], s.channels[consumer]
    require(takes_requests(process, channel) and can_answer(channel))
    request = channel.requests[0]
    require(isinstance(request, StartFetcher))
    assert isinstance(request, StartFetcher)
    channel.requests = channel.requests[1:]
    if is_answered(channel):
        channel.responses = channel.responses + (Started(request.attempt),)
    process.fetched = request.share


def recorded(s: Cluster, broker: Broker, group: Group, positions: Set[Position]) -> Set[Position]:
    """The offsets of a group once some were reported."""
    told = frozenset(p.partition for p in positions)
    kept = frozenset(p for p in s.brokers[broker].registries[group].reported if p.partition not in told)
    return kept | positions if Design.records > 0 else kept


@action(
    who="broker {broker}",
    source="Consumer Coordinator, 11 (Handling PingResponse 1, 2; Handling StopFetcherRequest 3, handleStartRequest 1)",
    deviates="the response of a consumer that is no member is dropped",
)
def take_response(s: Cluster, broker: Broker, consumer: Consumer) -> None:
    """The coordinator records offsets, clears the consumer's watcher, and wakes the handler when none is left."""
    channel, group = s.channels[consumer], group_of(consumer)
    require(channel.server == broker and len(channel.responses) > 0)
    response = channel.responses[0]
    channel.responses = channel.responses[1:]
    if is_member(s, broker, consumer):
        if isinstance(response, PingAnswer):
            s.brokers[broker].registries[group].reported = recorded(s, broker, group, response.positions)
            s.brokers[broker].registries[group].unanswered[consumer] -= 1
            s.brokers[broker].registries[group].in_a_row[consumer] = 0
            if Design.failures_in_a_row:
                s.brokers[broker].registries[group].failed[consumer] = 0
        elif isinstance(response, Stopped):
            s.brokers[broker].registries[group].reported = recorded(s, broker, group, response.positions)
            waiting = handler_in(s, broker, consumer, Phase.STOPPING, response.attempt)
            if waiting is not None:
                s.brokers[broker].handlers[waiting].waits_for -= {consumer}
                if len(s.brokers[broker].handlers[waiting].waits_for) == 0:
                    s.brokers[broker].handlers[waiting].phase = Phase.COMMITTING
        elif isinstance(response, Started):
            waiting = handler_in(s, broker, consumer, Phase.STARTING, response.attempt)
            if waiting is not None:
                s.brokers[broker].registries[group].started |= {consumer}
                s.brokers[broker].handlers[waiting].waits_for -= {consumer}
                if len(s.brokers[broker].handlers[waiting].waits_for) == 0:
                    if Design.owners_first:
                        s.brokers[broker].handlers[waiting] = idle(s.brokers[broker].handlers[waiting].queue)
                    else:
                        s.brokers[broker].handlers[waiting].phase = Phase.WRITING


def handler_in(s: Cluster, broker: Broker, consumer: Consumer, phase: Phase, attempt: Attempt) -> Option[Handler]:
    """The handler whose watcher a response of this attempt clears."""
    handlers = s.brokers[broker].handlers
    waiting = frozenset(
        h
        for h in Handler
        if handlers[h].phase == phase
        and consumer in handlers[h].waits_for
        and (handlers[h].attempt == attempt or not Design.attempt_ids)
    )
    return choose(h for h in waiting) if len(waiting) > 0 else None
