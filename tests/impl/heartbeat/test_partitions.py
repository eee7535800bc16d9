"""The states that a controller wants of partitions, of which a state names the members by incarnations."""

from __future__ import annotations

from impl.heartbeat.control_requests import NO_LEADER, TopicPartition
from impl.heartbeat.design import Design
from impl.heartbeat.messages import BrokerState
from impl.heartbeat.partitions import Partition, Partitions
from impl.heartbeat.registry import Known, Registry
from impl.heartbeat.scripts import Context
from impl.heartbeat.znodes import LeaderAndIsr

OF = TopicPartition("t", 0)


def partitions(state: LeaderAndIsr, brokers: dict[int, int], inactive: int | None = None) -> Partitions:
    """Partitions of a controller that goes by these incarnations, all but one ACTIVE."""
    context = Context()
    registry = Registry(context, 9_000)
    for broker, incarnation in brokers.items():
        is_in = broker != inactive
        registry.brokers[broker] = Known(incarnation, BrokerState.ACTIVE if is_in else BrokerState.INACTIVE)
    found = Partitions(context, Design(), registry)
    found.known[OF] = Partition((0, 1), state, 3)
    return found


def test_a_state_that_names_everybody_is_wanted_as_it_is() -> None:
    assert partitions(LeaderAndIsr(0, 5, (0, 1), 2, (70, 71)), {0: 70, 1: 71}).wanted(OF) is None


def test_a_member_that_is_named_by_a_former_incarnation_leaves_the_isr() -> None:
    """The controller goes by the incarnation that another partition names: this one's has failed since."""
    found = partitions(LeaderAndIsr(0, 5, (0, 1), 2, (70, 60)), {0: 70, 1: 71})
    found.former[OF] = {1}
    assert found.wanted(OF) == LeaderAndIsr(0, 6, (0,), 0, (70,))


def test_a_last_member_that_has_bounced_leads_anew() -> None:
    found = partitions(LeaderAndIsr(0, 5, (0,), 2, (60,)), {0: 70, 1: 71})
    found.former[OF] = {0}
    assert found.wanted(OF) == LeaderAndIsr(0, 6, (0,), 0, (70,))


def test_a_last_member_that_is_out_is_not_named() -> None:
    found = partitions(LeaderAndIsr(NO_LEADER, 5, (0,), 2, (70,)), {0: 70, 1: 71}, inactive=0)
    assert found.wanted(OF) == LeaderAndIsr(NO_LEADER, 6, (0,))


def test_a_leader_that_a_legacy_write_does_not_name_leads_anew() -> None:
    found = partitions(LeaderAndIsr(0, 5, (0, 1)), {0: 70, 1: 71})
    assert found.wanted(OF) == LeaderAndIsr(0, 6, (0, 1), 0, (70, 71))
