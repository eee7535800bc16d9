"""Unclean elections, which operators ask for (KIP-460), and the recovery of the leaders that they make (KIP-704)."""

from __future__ import annotations

from impl.kraft.errors import ErrorCode
from impl.kraft.image import PartitionKey
from impl.kraft.messages import ElectUncleanLeaderRequest
from impl.kraft.records import NO_LEADER, RECOVERED, RECOVERING, PartitionChangeRecord
from tests.impl.controller_runtime import ControllerRuntime

UNCLEAN = ElectUncleanLeaderRequest("orders", 0)


def without_leader() -> tuple[ControllerRuntime, PartitionKey]:
    """Broker 1 was the last in the ISR; all brokers are fenced."""
    runtime = ControllerRuntime()
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
