"""Pings: the scheduler sends them, consumers answer, some fail (5, 8, 11)."""

from __future__ import annotations

from checker.lang import action, require
from spec.group.actions.failure import is_member
from spec.group.actions.fetching import can_answer, is_answered, reported_by, takes_requests
from spec.group.actions.offsets import committed_offset
from spec.group.decisions.assignment import is_owner
from spec.group.decisions.channels import closed_by_consumer, is_open, removed_from, started_anew
from spec.group.decisions.registry import after_removal
from spec.group.design import Design
from spec.group.messages import UNDER_WAY, Ping, PingAnswer
from spec.group.state import Cluster
from spec.group.types import Broker, Consumer, ConsumerState, Partition, group_of


@action(
    who="coordinator {broker}",
    source="Consumer Coordinator, 5 (scheduler.run 1-3), 8 (1)",
    deviates="a third ping waits until one of two was answered: the answer to an earlier one has to arrive first",
)
def send_ping(s: Cluster, broker: Broker, consumer: Consumer) -> None:
    """The scheduler pings a member, whether or not it has answered the last ping."""
    group = group_of(consumer)
    require(is_member(s, broker, consumer) and is_open(s, broker, consumer))
    sent = s.brokers[broker].registries[group].unanswered[consumer]
    require(sent < UNDER_WAY and len(s.channels[consumer].requests) < Design.queue)
    known = not has_uncommitted_of(s, broker, consumer) and (Design.counts_answers or sent == 0)
    s.brokers[broker].registries[group].unanswered[consumer] = sent + 1
    s.channels[consumer].requests = s.channels[consumer].requests + (Ping(sent if known else UNDER_WAY),)


def has_uncommitted_of(s: Cluster, broker: Broker, consumer: Consumer) -> bool:
    """A commit would change an offset of a partition that the consumer owns."""
    group = group_of(consumer)
    return any(
        is_owner(s.zookeeper.groups[group].owners, consumer, p)
        and committed_offset(s, broker, group, p) != s.zookeeper.groups[group].offsets[p]
        for p in Partition
    )


@action(who="consumer {consumer}", source="Consumer Coordinator, 11 (handlePingRequest 1.1, 1.2, 3.1, 3.2)")
def take_ping(s: Cluster, consumer: Consumer) -> None:
    """A consumer answers a ping with the offsets consumed; one that shuts down leaves after it, if that is the time."""
    process, channel = s.consumers[consumer], s.channels[consumer]
    require(takes_requests(process, channel) and can_answer(channel))
    request = channel.requests[0]
    require(isinstance(request, Ping))
    assert isinstance(request, Ping)
    behind = request.behind if Design.shutdown_commits else 0
    leaves = process.state == ConsumerState.SHUTTING_DOWN and (process.answered > behind or not Design.auto_commit)
    channel.requests = channel.requests[1:]
    if is_answered(channel):
        channel.responses = channel.responses + (PingAnswer(reported_by(process)),)
    if leaves:
        process.state = ConsumerState.LEFT
        process.fetched = frozenset()
        channel.peer = None
        channel.broken = False
        channel.requests = ()
    process.answered = min(process.answered + 1, UNDER_WAY) if process.state == ConsumerState.SHUTTING_DOWN else 0


@action(who="consumer {consumer}", source="Consumer Coordinator, 11 (handlePingRequest 2)")
def find_out_of_range(s: Cluster, consumer: Consumer) -> None:
    """A consumer whose fetchers have stopped, as an offset was out of range, closes at a ping, and starts anew."""
    process, channel = s.consumers[consumer], s.channels[consumer]
    require(takes_requests(process, channel) and process.state == ConsumerState.JOINED and len(process.fetched) > 0)
    require(isinstance(channel.requests[0], Ping) and s.faults.out_of_range < Design.max_out_of_range)
    s.faults.out_of_range += 1
    s.consumers[consumer] = started_anew(process)
    s.channels[consumer] = closed_by_consumer(channel)


@action(
    who="coordinator {broker}",
    source="Consumer Coordinator, 8 (3, 4)",
    deviates="of a consumer that lives, no more pings fail in a row than are retried",
)
def fail_ping(s: Cluster, broker: Broker, consumer: Consumer) -> None:
    """The answer of a live consumer is late, and its ping has failed. Beyond the retries it is declared dead."""
    group = group_of(consumer)
    require(is_member(s, broker, consumer) and is_open(s, broker, consumer))
    registry = s.brokers[broker].registries[group]
    missed = registry.in_a_row[consumer]
    require(registry.unanswered[consumer] > missed and missed < Design.ping_retries)
    if registry.failed[consumer] < Design.ping_retries:
        s.brokers[broker].registries[group].failed[consumer] += 1
        s.brokers[broker].registries[group].in_a_row[consumer] += 1
    else:
        s.brokers[broker] = after_removal(s.brokers[broker], group, consumer)
        s.channels = removed_from(s, broker, frozenset({consumer}))
        if Design.lease_from_answers:
            s.consumers[consumer].lapsed = True
