"""Reassignment (KIP-455: alter, cancel, list) and the election of preferred leaders."""

from __future__ import annotations

import pytest

from impl.kraft.errors import ErrorCode
from impl.kraft.image import PartitionKey
from impl.kraft.messages import (
    AlterConfigsRequest,
    AlterPartitionReassignmentRequest,
    AlterPartitionReassignmentResponse,
    DeleteTopicRequest,
    ElectPreferredLeaderRequest,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingReassignment,
)
from impl.kraft.records import PartitionChangeRecord
from tests.impl.controller_runtime import ControllerRuntime


@pytest.fixture
def runtime() -> ControllerRuntime:
    """Brokers 1 to 5, all active; a partition on 1, 2 and 3, all in its ISR."""
    runtime = ControllerRuntime()
    runtime.activate(1, 2, 3, 4, 5)
    runtime.create((1, 2, 3))
    return runtime


@pytest.fixture
def key(runtime: ControllerRuntime) -> PartitionKey:
    [key] = runtime.image.partitions
    return key


def reassign(runtime: ControllerRuntime, *replicas: int) -> AlterPartitionReassignmentResponse:
    response = runtime.ask(AlterPartitionReassignmentRequest("orders", 0, replicas))
    assert isinstance(response, AlterPartitionReassignmentResponse)
    return response


def cancel(runtime: ControllerRuntime) -> AlterPartitionReassignmentResponse:
    response = runtime.ask(AlterPartitionReassignmentRequest("orders", 0, None))
    assert isinstance(response, AlterPartitionReassignmentResponse)
    return response


def listed(runtime: ControllerRuntime, *partitions: tuple[str, int]) -> tuple[OngoingReassignment, ...]:
    response = runtime.ask(ListPartitionReassignmentsRequest(partitions or None))
    assert isinstance(response, ListPartitionReassignmentsResponse) and response.error is ErrorCode.NONE
    return response.reassignments


def test_the_example_of_the_document(runtime: ControllerRuntime, key: PartitionKey) -> None:
    """From [1, 2, 3] to [3, 4, 5]; the document's text leaves removingReplicas out."""
    assert reassign(runtime, 3, 4, 5).error is ErrorCode.NONE
    partition = runtime.partition(key)
    assert partition.replicas == (3, 4, 5, 1, 2)
    assert (partition.adding_replicas, partition.removing_replicas) == ((4, 5), (1, 2))
    assert partition.isr == (1, 2, 3) and partition.leader == 1
    runtime.alter_isr(key, 1, 2, 3, 4)
    assert runtime.partition(key).is_reassigning
    runtime.alter_isr(key, 1, 2, 3, 4, 5)
    done = runtime.partition(key)
    assert (done.replicas, done.isr, done.leader) == ((3, 4, 5), (3, 4, 5), 3)
    assert not done.is_reassigning and not runtime.image.reassigning


def test_a_subset_that_is_in_sync_completes_at_once(runtime: ControllerRuntime, key: PartitionKey) -> None:
    reassign(runtime, 2, 3)
    assert runtime.records() == [PartitionChangeRecord(0, key[0], isr=(2, 3), leader=2, replicas=(2, 3))]
    assert runtime.partition(key).leader_epoch == 1


def test_more_replicas_wait_for_those_that_are_added(runtime: ControllerRuntime, key: PartitionKey) -> None:
    reassign(runtime, 1, 2, 3, 4)
    partition = runtime.partition(key)
    assert (partition.adding_replicas, partition.removing_replicas) == ((4,), ()) and partition.is_reassigning
    assert list(runtime.image.reassigning) == [key]
    runtime.alter_isr(key, 1, 2, 3, 4)
    partition = runtime.partition(key)
    assert not partition.is_reassigning and partition.leader_epoch == 0, "nothing went"


def test_fewer_replicas_wait_for_every_one_of_them(runtime: ControllerRuntime, key: PartitionKey) -> None:
    """KAFKA-15665."""
    runtime.alter_isr(key, 1, 2)
    reassign(runtime, 2, 3)
    assert runtime.partition(key).is_reassigning
    runtime.alter_isr(key, 1, 2, 3)
    assert runtime.partition(key).replicas == (2, 3)


def test_as_many_replicas_do_not_wait_for_one_that_stays_and_is_dead(
    runtime: ControllerRuntime, key: PartitionKey
) -> None:
    """KAFKA-19975."""
    runtime.heartbeat(3, want_fence=True)
    reassign(runtime, 2, 3, 4)
    runtime.alter_isr(key, 1, 2, 4)
    partition = runtime.partition(key)
    assert (partition.replicas, partition.isr) == ((2, 3, 4), (2, 4))


def test_it_does_not_end_where_the_isr_would_fall_below_its_minimum(
    runtime: ControllerRuntime, key: PartitionKey
) -> None:
    runtime.ask(AlterConfigsRequest.of_one(2, "orders", "min.insync.replicas", "2"))
    reassign(runtime, 2, 4)
    runtime.alter_isr(key, 1, 4)
    reassign(runtime, 2, 3, 4)
    partition = runtime.partition(key)
    assert partition.is_reassigning and partition.isr == (1, 4), "2 and 3 are dead, and 4 alone is too few"
    runtime.alter_isr(key, 1, 4, 3)
    assert (runtime.partition(key).replicas, runtime.partition(key).isr) == ((2, 3, 4), (4, 3))


def test_an_isr_below_its_minimum_does_not_hold_a_reassignment_up(
    runtime: ControllerRuntime, key: PartitionKey
) -> None:
    runtime.ask(AlterConfigsRequest.of_one(2, "orders", "min.insync.replicas", "2"))
    runtime.alter_isr(key, 1)
    reassign(runtime, 2, 3, 4)
    runtime.alter_isr(key, 1, 4)
    assert (runtime.partition(key).replicas, runtime.partition(key).isr) == ((2, 3, 4), (4,))


def test_another_order_is_a_change_of_replicas_alone(runtime: ControllerRuntime, key: PartitionKey) -> None:
    reassign(runtime, 3, 2, 1)
    partition = runtime.partition(key)
    assert (partition.replicas, partition.leader, partition.leader_epoch) == ((3, 2, 1), 1, 0)


def test_the_same_replicas_are_no_change(runtime: ControllerRuntime) -> None:
    assert reassign(runtime, 1, 2, 3).error is ErrorCode.NONE
    assert not runtime.records()


def test_a_second_reassignment_replaces_the_first(runtime: ControllerRuntime, key: PartitionKey) -> None:
    reassign(runtime, 1, 2, 4)
    reassign(runtime, 1, 2, 5)
    partition = runtime.partition(key)
    assert partition.replicas == (1, 2, 5, 3, 4) or partition.replicas == (1, 2, 5, 4, 3)
    assert set(partition.adding_replicas) == {4, 5}
    assert set(partition.removing_replicas) == {3, 4}
    cancel(runtime)
    assert runtime.partition(key).replicas == (1, 2, 3)


def test_where_a_replica_goes_the_leader_that_stays_is_named(runtime: ControllerRuntime, key: PartitionKey) -> None:
    """As Kafka does (PartitionChangeBuilder.triggerLeaderEpochBumpForReplicaReassignmentIfNeeded)."""
    reassign(runtime, 1, 3)
    assert runtime.records() == [PartitionChangeRecord(0, key[0], isr=(1, 3), leader=1, replicas=(1, 3))]
    assert runtime.partition(key).leader_epoch == 1


def test_a_change_names_what_it_changes_and_nothing_else(runtime: ControllerRuntime, key: PartitionKey) -> None:
    reassign(runtime, 1, 2, 4)
    reassign(runtime, 2, 1, 4)
    assert runtime.records() == [PartitionChangeRecord(0, key[0], replicas=(2, 1, 4, 3))]


def test_back_to_what_it_was_ends_the_first(runtime: ControllerRuntime, key: PartitionKey) -> None:
    reassign(runtime, 1, 2, 4)
    runtime.alter_isr(key, 1, 2)
    reassign(runtime, 1, 2, 3)
    partition = runtime.partition(key)
    assert (partition.replicas, partition.is_reassigning) == ((1, 2, 3), False)


def test_fencing_may_complete_a_reassignment(runtime: ControllerRuntime, key: PartitionKey) -> None:
    """Every change of the partition tries; only that of the ISR can do it."""
    reassign(runtime, 4, 5)
    runtime.alter_isr(key, 1, 2, 3, 4)
    runtime.heartbeat(1, want_fence=True)
    assert runtime.partition(key).is_reassigning and runtime.partition(key).leader == 4


@pytest.mark.parametrize(
    "replicas, message",
    [((), "needs a replica"), ((1, 1), "named twice"), ((1, 9), "broker 9 is not registered")],
)
def test_what_no_partition_can_be_given(runtime: ControllerRuntime, replicas: tuple[int, ...], message: str) -> None:
    response = reassign(runtime, *replicas)
    assert response.error is ErrorCode.INVALID_REPLICA_ASSIGNMENT and message in response.message
    assert not runtime.records()


def test_no_such_partition(runtime: ControllerRuntime) -> None:
    for topic, partition_id in (("nothing", 0), ("orders", 1)):
        response = runtime.ask(AlterPartitionReassignmentRequest(topic, partition_id, (1,)))
        assert response.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_target_below_min_insync_replicas_is_refused(runtime: ControllerRuntime) -> None:
    runtime.ask(AlterConfigsRequest.of_one(2, "orders", "min.insync.replicas", "2"))
    assert reassign(runtime, 3).error is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    runtime.ask(AlterConfigsRequest.of_one(2, "orders", "min.insync.replicas", "3"))
    assert reassign(runtime, 3, 2).error is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert reassign(runtime, 3, 2, 4).error is ErrorCode.NONE


def test_a_partition_that_never_had_as_many_replicas_may_move(runtime: ControllerRuntime) -> None:
    small = runtime.create((1,), name="small")
    runtime.ask(AlterConfigsRequest.of_one(4, "", "min.insync.replicas", "2"))
    assert runtime.ask(AlterPartitionReassignmentRequest("small", 0, (2,))).error is ErrorCode.NONE
    assert runtime.partition(small).adding_replicas == (2,)


def test_a_cancel_takes_out_what_was_added(runtime: ControllerRuntime, key: PartitionKey) -> None:
    reassign(runtime, 3, 4, 5)
    runtime.alter_isr(key, 1, 2, 3, 4)
    assert cancel(runtime).error is ErrorCode.NONE
    partition = runtime.partition(key)
    assert (partition.isr, partition.is_reassigning) == ((1, 2, 3), False)
    assert set(partition.replicas) == {1, 2, 3}


def test_a_cancel_that_would_leave_nobody_to_lead_is_refused(runtime: ControllerRuntime, key: PartitionKey) -> None:
    reassign(runtime, 4, 5)
    runtime.alter_isr(key, 1, 4)
    runtime.heartbeat(1, want_fence=True)
    assert runtime.partition(key).isr == (4,)
    assert cancel(runtime).error is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert runtime.partition(key).is_reassigning


def test_a_cancel_that_would_take_the_isr_below_its_minimum_is_refused(
    runtime: ControllerRuntime, key: PartitionKey
) -> None:
    runtime.ask(AlterConfigsRequest.of_one(2, "orders", "min.insync.replicas", "2"))
    reassign(runtime, 4, 5)
    runtime.alter_isr(key, 1, 4)
    assert cancel(runtime).error is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    runtime.alter_isr(key, 1, 2, 4)
    assert cancel(runtime).error is ErrorCode.NONE


def test_nothing_to_cancel(runtime: ControllerRuntime) -> None:
    assert cancel(runtime).error is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


def test_list_shows_what_is_under_way(runtime: ControllerRuntime) -> None:
    runtime.create((1, 2), (2, 3), name="others")
    assert listed(runtime) == ()
    reassign(runtime, 1, 2, 4)
    ongoing = OngoingReassignment("orders", 0, (1, 2, 4, 3), (4,), (3,))
    assert listed(runtime) == (ongoing,)
    assert listed(runtime, ("others", 0), ("nothing", 0), ("orders", 0), ("orders", 5)) == (ongoing,)


def test_it_outlives_failovers_and_ends_with_its_topic(runtime: ControllerRuntime) -> None:
    reassign(runtime, 1, 2, 4)
    runtime.fail_over()
    assert len(listed(runtime)) == 1
    runtime.ask(DeleteTopicRequest(name="orders"))
    assert listed(runtime) == () and not runtime.image.reassigning


# Preferred leaders.


def elect(runtime: ControllerRuntime, topic: str = "orders") -> ErrorCode:
    return runtime.ask(ElectPreferredLeaderRequest(topic, 0)).error


def test_the_preferred_leader_gets_the_lead_back(runtime: ControllerRuntime, key: PartitionKey) -> None:
    runtime.heartbeat(1, want_fence=True)
    runtime.heartbeat(1)
    assert elect(runtime) is ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    runtime.alter_isr(key, 2, 3, 1)
    assert elect(runtime) is ErrorCode.NONE
    assert runtime.records() == [PartitionChangeRecord(0, key[0], leader=1)]
    assert (runtime.partition(key).leader, runtime.partition(key).leader_epoch) == (1, 2)
    assert elect(runtime) is ErrorCode.ELECTION_NOT_NEEDED
    assert elect(runtime, "nothing") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_preferred_leader_that_is_fenced_is_not_available(runtime: ControllerRuntime) -> None:
    runtime.create((1,), name="alone")
    runtime.heartbeat(1, want_fence=True)
    assert elect(runtime, "alone") is ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
