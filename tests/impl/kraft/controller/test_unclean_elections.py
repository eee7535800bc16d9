"""Unclean elections that operators ask for (KIP-460) or a config allows; leaders recover from them (KIP-704)."""

from __future__ import annotations

import pytest

from impl.kraft.controller import ControllerSettings
from impl.kraft.controller.balancing import elected_uncleanly
from impl.kraft.errors import ErrorCode
from impl.kraft.image import ALL_BROKERS, UNCLEAN_ELECTION, PartitionKey
from impl.kraft.messages import AlterConfigsRequest, ElectUncleanLeaderRequest
from impl.kraft.records import (
    BROKER_RESOURCE,
    NO_LEADER,
    RECOVERED,
    RECOVERING,
    TOPIC_RESOURCE,
    PartitionChangeRecord,
)
from tests.impl.controller_runtime import CLUSTER, ControllerRuntime

UNCLEAN = ElectUncleanLeaderRequest("orders", 0)


INTERVAL_MS = 300_000


def without_leader(settings: ControllerSettings | None = None) -> tuple[ControllerRuntime, PartitionKey]:
    """Broker 1 was the last in the ISR; all brokers are fenced."""
    runtime = ControllerRuntime(settings)
    runtime.activate(1, 2)
    key = runtime.create((1, 2))
    runtime.heartbeat(2, want_fence=True)
    runtime.heartbeat(1, want_fence=True)
    assert (runtime.partition(key).leader, runtime.partition(key).isr) == (NO_LEADER, (1,))
    return runtime, key


def recovering() -> tuple[ControllerRuntime, PartitionKey]:
    """Broker 2 leads, of which nobody knows what it has."""
    runtime, key = without_leader()
    runtime.heartbeat(2)
    assert runtime.ask(UNCLEAN).error is ErrorCode.NONE
    return runtime, key


def test_any_replica_that_is_alive_becomes_the_whole_isr_and_recovers() -> None:
    runtime, key = recovering()
    assert runtime.records() == [PartitionChangeRecord(0, key[0], isr=(2,), leader=2, leader_recovery_state=RECOVERING)]
    assert runtime.partition(key).leader_recovery_state == RECOVERING
    assert runtime.ask(UNCLEAN).error is ErrorCode.ELECTION_NOT_NEEDED


def test_while_nobody_is_alive_nobody_is_elected() -> None:
    runtime, _ = without_leader()
    assert runtime.ask(UNCLEAN).error is ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    assert runtime.records() == []
    missing = runtime.ask(ElectUncleanLeaderRequest("orders", 1))
    assert missing.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_one_of_the_isr_comes_first() -> None:
    """No heartbeat brings it to that, as who is unfenced leads at once; so the image is made so."""
    runtime, key = without_leader()
    runtime.heartbeat(2)
    registration = runtime.image.registrations[1]
    runtime.image.registrations[1] = type(registration)(
        **{name: getattr(registration, name) for name in registration.__slots__ if name != "fenced"}, fenced=False
    )
    assert runtime.ask(UNCLEAN).error is ErrorCode.NONE
    assert runtime.records() == [PartitionChangeRecord(0, key[0], leader=1)]


def test_the_leader_says_that_it_has_recovered_and_then_others_join() -> None:
    runtime, key = recovering()
    runtime.heartbeat(1)
    early = runtime.alter_isr(key, 1, 2, leader_recovery_state=RECOVERING)
    assert early.error is ErrorCode.INVALID_REQUEST
    still = runtime.alter_isr(key, 2, leader_recovery_state=RECOVERING)
    assert (still.error, still.leader_recovery_state) == (ErrorCode.NONE, RECOVERING) and runtime.records() == []
    done = runtime.alter_isr(key, 1, 2)
    assert (done.error, done.leader_recovery_state) == (ErrorCode.NONE, RECOVERED)
    assert runtime.records() == [PartitionChangeRecord(0, key[0], isr=(1, 2), leader_recovery_state=RECOVERED)]
    again = runtime.alter_isr(key, 2, leader_recovery_state=RECOVERING)
    assert again.error is ErrorCode.INVALID_REQUEST


def test_a_leader_that_recovers_goes_on_so_through_elections() -> None:
    runtime, key = recovering()
    runtime.heartbeat(2, want_fence=True)
    runtime.heartbeat(2)
    assert (runtime.partition(key).leader, runtime.partition(key).leader_recovery_state) == (2, RECOVERING)


# Where a config allows it.


def allow(runtime: ControllerRuntime, value: str | None, resource_type: int, name: str) -> ErrorCode:
    return runtime.ask(AlterConfigsRequest.of_one(resource_type, name, UNCLEAN_ELECTION, value)).error


@pytest.mark.parametrize(
    ("of_file", "of_brokers", "of_topic", "is_allowed"),
    [
        (False, None, None, False),
        (True, None, None, True),
        (True, "false", None, False),
        (False, "true", None, True),
        (False, "false", "TRUE", True),
        (True, "true", "false", False),
    ],
)
def test_the_topic_says_it_or_all_brokers_or_the_file(
    of_file: bool, of_brokers: str | None, of_topic: str | None, is_allowed: bool
) -> None:
    runtime, key = without_leader(ControllerSettings(CLUSTER, unclean_election=of_file))
    for value, resource in (of_brokers, (BROKER_RESOURCE, ALL_BROKERS)), (of_topic, (TOPIC_RESOURCE, "orders")):
        if value is not None:
            assert allow(runtime, value, *resource) is ErrorCode.NONE
    runtime.heartbeat(2)
    partition = runtime.partition(key)
    assert (partition.leader, partition.isr) == ((2, (2,)) if is_allowed else (NO_LEADER, (1,)))
    assert partition.leader_recovery_state == (RECOVERING if is_allowed else RECOVERED)


def test_a_value_that_is_neither_true_nor_false_is_refused() -> None:
    runtime, _ = without_leader()
    assert allow(runtime, "yes", TOPIC_RESOURCE, "orders") is ErrorCode.INVALID_CONFIG


def test_who_is_not_a_replica_is_not_elected() -> None:
    runtime, key = without_leader(ControllerSettings(CLUSTER, unclean_election=True))
    runtime.activate(3)
    assert runtime.partition(key).leader == NO_LEADER


def test_the_last_member_goes_and_another_replica_leads_at_once() -> None:
    runtime = ControllerRuntime(ControllerSettings(CLUSTER, unclean_election=True))
    runtime.activate(1, 2)
    key = runtime.create((1, 2))
    runtime.alter_isr(key, 1)
    runtime.heartbeat(1, want_fence=True)
    assert (runtime.partition(key).leader, runtime.partition(key).isr) == (2, (2,))


def test_topics_that_were_allowed_it_since_are_found_from_time_to_time() -> None:
    settings = ControllerSettings(CLUSTER, unclean_election_check_interval_ms=INTERVAL_MS, session_timeout_ms=1 << 40)
    runtime, key = without_leader(settings)
    runtime.heartbeat(2)
    runtime.pass_time(INTERVAL_MS)
    assert runtime.partition(key).leader == NO_LEADER
    allow(runtime, "true", TOPIC_RESOURCE, "orders")
    runtime.pass_time(INTERVAL_MS - 1)
    assert runtime.partition(key).leader == NO_LEADER
    runtime.pass_time(1)
    assert (runtime.partition(key).leader, runtime.partition(key).isr) == (2, (2,))


def test_one_decision_holds_so_many_unclean_elections() -> None:
    settings = ControllerSettings(CLUSTER, unclean_election=True)
    runtime, key = without_leader()
    runtime.heartbeat(2)
    found = elected_uncleanly(runtime.image, settings, most=0)
    assert (found.records, found.is_done) == ((), False)
    found = elected_uncleanly(runtime.image, settings, most=1)
    assert len(found.records) == 1 and found.is_done
    assert elected_uncleanly(runtime.image, ControllerSettings(CLUSTER)) == ((), True)
    assert key in runtime.image.leaderless
