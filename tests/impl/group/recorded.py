"""The model that traces of real runs are validated on: every step that processes take, and room for many faults."""

from __future__ import annotations

from checker.lang import Model, action, replace, require
from spec.group.actions import coordinator, failure, shutdown
from spec.group.decisions.channels import closed_by_consumer, started_anew
from spec.group.decisions.registry import asked_to_rebalance
from spec.group.initial import nobody_registered
from spec.group.models.rebalances import DEATH, FAILOVER, JOIN, REBALANCE, TIME_OUTS
from spec.group.state import Cluster
from spec.group.types import Broker, Consumer, ConsumerState, Group, group_of

_ROOM = 60
"""For faults: more than a schedule has."""


@action(who="coordinator {broker}", source="Consumer Coordinator, 7")
def register_late(s: Cluster, broker: Broker, consumer: Consumer) -> None:
    """A registration is handled whose connection the consumer has given up: nobody is at its other end."""
    group = group_of(consumer)
    require(s.brokers[broker].epoch is not None and consumer not in s.brokers[broker].registries[group].members)
    s.brokers[broker].registries[group].members |= {consumer}
    s.brokers[broker] = asked_to_rebalance(s.brokers[broker], group)


@action(who="coordinator {broker}", source="Consumer Coordinator, 9")
def ask(s: Cluster, broker: Broker, group: Group) -> None:
    """A rebalance is asked for by something that is not modelled: a lost connection, a broker that has moved."""
    require(len(s.brokers[broker].registries[group].members) > 0)
    s.brokers[broker] = asked_to_rebalance(s.brokers[broker], group)


@action(who="consumer {consumer}", source="Consumer Coordinator, 11 (handlePingRequest 1)")
def leave(s: Cluster, consumer: Consumer) -> None:
    """A consumer that was shut down is gone: after a ping, which is not modelled, or since its session is over."""
    process = s.consumers[consumer]
    require(process.state not in {ConsumerState.LEFT, ConsumerState.DOWN})
    s.consumers[consumer] = replace(started_anew(process), state=ConsumerState.LEFT)
    s.channels[consumer] = closed_by_consumer(s.channels[consumer])


MODELS = [
    Model(
        name="recorded",
        doc="Two brokers, three consumers of one group, any faults: for traces that were recorded.",
        init=nobody_registered,
        actions=(
            *JOIN,
            register_late,
            *REBALANCE,
            ask,
            *DEATH,
            failure.declare_dead,
            failure.suspect_early,
            failure.crash,
            failure.restart,
            *TIME_OUTS,
            *FAILOVER,
            coordinator.expire,
            coordinator.crash_broker,
            coordinator.restart_broker,
            shutdown.terminate,
            leave,
        ),
        properties=(),
        constants={
            "consumers": 3,
            "partitions": 3,
            "pings": 1,
            "queue": 8,
            "max_retries": 4,
            "max_crashes": _ROOM,
            "max_broker_crashes": _ROOM,
            "max_expiries": _ROOM,
            "max_time_outs": _ROOM,
            "max_false_deaths": _ROOM,
            "max_early_suspicions": _ROOM,
            "max_shutdowns": _ROOM,
        },
    )
]
