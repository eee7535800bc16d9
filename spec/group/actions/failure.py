"""Failures: consumers die, are declared dead, suspect the coordinator (8, 10)."""

from __future__ import annotations

from checker.lang import action, replace, require
from spec.group.decisions.channels import closed_by_consumer, removed_from, started_anew
from spec.group.decisions.registry import after_removal
from spec.group.design import Design
from spec.group.state import Cluster, is_connected
from spec.group.types import Broker, Consumer, ConsumerState, group_of


def is_member(s: Cluster, broker: Broker, consumer: Consumer) -> bool:
    return consumer in s.brokers[broker].registries[group_of(consumer)].members


@action(who="broker {broker}", source="Consumer Coordinator, 8 (1-4; handleConsumerFailure 1-5)")
def find_dead(s: Cluster, broker: Broker, consumer: Consumer) -> None:
    """The coordinator finds that a consumer is dead, or has closed its connection, and removes it."""
    require(is_member(s, broker, consumer) and not is_connected(s, broker, consumer))
    s.brokers[broker] = after_removal(s.brokers[broker], group_of(consumer), consumer)
    s.channels = removed_from(s, broker, frozenset({consumer}))


@action(who="broker {broker}", source="Consumer Coordinator, 8 (1-4; handleConsumerFailure 1-5)")
def declare_dead(s: Cluster, broker: Broker, consumer: Consumer) -> None:
    """A live consumer's pings have failed too often: it was slow, or its answers were lost. It is removed."""
    require(is_member(s, broker, consumer) and is_connected(s, broker, consumer))
    require(s.faults.false_deaths < Design.max_false_deaths)
    s.faults.false_deaths += 1
    s.brokers[broker] = after_removal(s.brokers[broker], group_of(consumer), consumer)
    s.channels = removed_from(s, broker, frozenset({consumer}))
    if Design.lease_from_answers:
        s.consumers[consumer].lapsed = True


@action(who="consumer {consumer}", source="Consumer Coordinator, 8 (5), 10")
def suspect(s: Cluster, consumer: Consumer) -> None:
    """A consumer notices that its session is over, or its connection closed: it stops fetching, and starts anew."""
    process, channel = s.consumers[consumer], s.channels[consumer]
    require(process.state in {ConsumerState.REGISTERING, ConsumerState.JOINED, ConsumerState.SHUTTING_DOWN})
    require(process.lapsed or channel.broken)
    s.consumers[consumer] = started_anew(process)
    s.channels[consumer] = closed_by_consumer(channel)


@action(who="consumer {consumer}", source="Consumer Coordinator, 10")
def suspect_early(s: Cluster, consumer: Consumer) -> None:
    """A consumer has heard nothing for too long from a coordinator that serves it."""
    process, channel = s.consumers[consumer], s.channels[consumer]
    require(process.state == ConsumerState.JOINED and not process.lapsed and not channel.broken)
    require(s.faults.early_suspicions < Design.max_early_suspicions)
    s.faults.early_suspicions += 1
    s.consumers[consumer] = started_anew(process)
    s.channels[consumer] = closed_by_consumer(channel)


@action(who="consumer {consumer}", source="Consumer Coordinator, 8")
def crash(s: Cluster, consumer: Consumer) -> None:
    """A consumer dies. What it has answered may still be read."""
    process = s.consumers[consumer]
    require(process.state != ConsumerState.DOWN and s.faults.crashes < Design.max_crashes)
    s.faults.crashes += 1
    s.consumers[consumer] = replace(started_anew(process), state=ConsumerState.DOWN, heard=None)
    s.channels[consumer] = closed_by_consumer(s.channels[consumer])


@action(who="consumer {consumer}", source="Consumer Coordinator, 7")
def restart(s: Cluster, consumer: Consumer) -> None:
    """A consumer starts again, with its id."""
    require(s.consumers[consumer].state == ConsumerState.DOWN)
    s.consumers[consumer].state = ConsumerState.STARTING
