"""Startup of a consumer: it finds the coordinator, connects and registers (7)."""

from __future__ import annotations

from checker.lang import action, replace, require, require_some
from spec.group.decisions.channels import closed_by_consumer, started_anew, unconnected
from spec.group.decisions.registry import asked_to_rebalance
from spec.group.design import Design
from spec.group.messages import Registered
from spec.group.state import Cluster
from spec.group.types import Broker, Consumer, ConsumerState, group_of


@action(
    who="consumer {consumer}",
    source="Consumer Coordinator, 7 (consumerStartup 1-4)",
    deviates="a broker that does not believe to be the coordinator answers what ZooKeeper has; an answer that is "
    "out of date comes from a former coordinator only",
)
def connect(s: Cluster, consumer: Consumer, asked: Broker) -> None:
    """A consumer asks a broker who the coordinator is, connects to that one, and sends its registration."""
    require(s.consumers[consumer].state == ConsumerState.STARTING and s.brokers[asked].is_up)
    told = asked if s.brokers[asked].epoch is not None else s.zookeeper.coordinator
    found = require_some(told)
    s.consumers[consumer].state = ConsumerState.REGISTERING
    s.channels[consumer] = replace(unconnected(), peer=found)


def has_registration(s: Cluster, broker: Broker, consumer: Consumer) -> bool:
    """A registration waits in the connection to be handled."""
    channel = s.channels[consumer]
    asks = s.consumers[consumer].state == ConsumerState.REGISTERING and channel.server is None
    return asks and channel.peer == broker and not channel.broken and len(channel.requests) == 0


@action(
    who="broker {broker}",
    source="Consumer Coordinator, 7 (RegisterConsumerRequest 1, 2; handleNewGroup 1; handleAddedConsumer 1-4)",
)
def register(s: Cluster, broker: Broker, consumer: Consumer) -> None:
    """The coordinator accepts a consumer whose id is free, and tries to rebalance its group; or it refuses it."""
    epoch = require_some(s.brokers[broker].epoch)
    require(has_registration(s, broker, consumer))
    group = group_of(consumer)
    accepted = consumer not in s.brokers[broker].registries[group].members
    if accepted:
        s.brokers[broker].registries[group].members |= {consumer}
        s.brokers[broker] = asked_to_rebalance(s.brokers[broker], group)
        s.channels[consumer].server = broker
    s.channels[consumer].requests = (Registered(accepted, epoch, frozenset()),)


@action(
    who="consumer {consumer}",
    source="Consumer Coordinator, 7 (consumerStartup 5)",
    deviates="what comes before the answer is taken for the answer: both begin with an INT16 (response_first)",
)
def take_answer(s: Cluster, consumer: Consumer) -> None:
    """A consumer takes the answer to its registration: it has joined, or closes the connection and starts anew."""
    process, channel = s.consumers[consumer], s.channels[consumer]
    require(process.state == ConsumerState.REGISTERING and len(channel.requests) > 0)
    require(not (process.lapsed and Design.timer_before_requests))
    answer = channel.requests[0]
    if isinstance(answer, Registered):
        known = process.heard
        is_former = Design.coordinator_epoch and known is not None and answer.epoch < known
        if answer.accepted and not is_former:
            process.state = ConsumerState.JOINED
            process.heard = answer.epoch
            process.fetched = answer.share
            channel.requests = channel.requests[1:]
        else:
            s.consumers[consumer] = started_anew(process)
            s.channels[consumer] = closed_by_consumer(channel)
    else:
        s.consumers[consumer] = started_anew(process)
        s.channels[consumer] = closed_by_consumer(channel)
