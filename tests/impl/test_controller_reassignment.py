"""Reassignment (KIP-455: alter, cancel, list) and the election of preferred leaders."""

from __future__ import annotations

import pytest

from impl.kraft.errors import ErrorCode
from impl.kraft.image import PartitionKey
from impl.kraft.messages import (
    AlterConfigRequest,
    AlterPartitionReassignmentRequest,
    AlterPartitionReassignmentResponse,
    DeleteTopicRequest,
    ElectPreferredLeaderRequest,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingReassignment,
)
from impl.kraft.records import PartitionChangeRecord
from tests.impl.office import Office


@pytest.fixture
def office() -> Office:
    """Brokers 1 to 5, all active; a partition on 1, 2 and 3, all in its ISR."""
    office = Office()
    office.activate(1, 2, 3, 4, 5)
    office.create((1, 2, 3))
    return office


@pytest.fixture
def key(office: Office) -> PartitionKey:
    [key] = office.image.partitions
    return key


def reassign(office: Office, *replicas: int) -> AlterPartitionReassignmentResponse:
    response = office.ask(AlterPartitionReassignmentRequest("orders", 0, replicas))
    assert isinstance(response, AlterPartitionReassignmentResponse)
    return response


def cancel(office: Office) -> AlterPartitionReassignmentResponse:
    response = office.ask(AlterPartitionReassignmentRequest("orders", 0, None))
    assert isinstance(response, AlterPartitionReassignmentResponse)
    return response


def listed(office: Office, *partitions: tuple[str, int]) -> tuple[OngoingReassignment, ...]:
    response = office.ask(ListPartitionReassignmentsRequest(partitions or None))
    assert isinstance(response, ListPartitionReassignmentsResponse) and response.error is ErrorCode.NONE
    return response.reassignments


def test_the_example_of_the_document(office: Office, key: PartitionKey) -> None:
    """From [1, 2, 3] to [3, 4, 5]; the document's text leaves removingReplicas out."""
    assert reassign(office, 3, 4, 5).error is ErrorCode.NONE
    partition = office.partition(key)
    assert partition.replicas == (3, 4, 5, 1, 2)
    assert (partition.adding_replicas, partition.removing_replicas) == ((4, 5), (1, 2))
    assert partition.isr == (1, 2, 3) and partition.leader == 1
    office.alter_isr(key, 1, 2, 3, 4)
    assert office.partition(key).is_reassigning
    office.alter_isr(key, 1, 2, 3, 4, 5)
    done = office.partition(key)
    assert (done.replicas, done.isr, done.leader) == ((3, 4, 5), (3, 4, 5), 3)
    assert not done.is_reassigning and not office.image.reassigning


def test_a_subset_that_is_in_sync_completes_at_once(office: Office, key: PartitionKey) -> None:
    reassign(office, 2, 3)
    assert office.records() == [PartitionChangeRecord(0, key[0], isr=(2, 3), leader=2, replicas=(2, 3))]
    assert office.partition(key).leader_epoch == 1


def test_more_replicas_wait_for_those_that_are_added(office: Office, key: PartitionKey) -> None:
    reassign(office, 1, 2, 3, 4)
    partition = office.partition(key)
    assert (partition.adding_replicas, partition.removing_replicas) == ((4,), ()) and partition.is_reassigning
    assert office.image.reassigning == {key}
    office.alter_isr(key, 1, 2, 3, 4)
    partition = office.partition(key)
    assert not partition.is_reassigning and partition.leader_epoch == 0, "nothing went"


def test_fewer_replicas_wait_for_every_one_of_them(office: Office, key: PartitionKey) -> None:
    """KAFKA-15665."""
    office.alter_isr(key, 1, 2)
    reassign(office, 2, 3)
    assert office.partition(key).is_reassigning
    office.alter_isr(key, 1, 2, 3)
    assert office.partition(key).replicas == (2, 3)


def test_as_many_replicas_do_not_wait_for_one_that_stays_and_is_dead(office: Office, key: PartitionKey) -> None:
    """KAFKA-19975."""
    office.heartbeat(3, want_fence=True)
    reassign(office, 2, 3, 4)
    office.alter_isr(key, 1, 2, 4)
    partition = office.partition(key)
    assert (partition.replicas, partition.isr) == ((2, 3, 4), (2, 4))


def test_it_does_not_end_where_the_isr_would_fall_below_its_minimum(office: Office, key: PartitionKey) -> None:
    office.ask(AlterConfigRequest(2, "orders", "min.insync.replicas", "2"))
    reassign(office, 2, 4)
    office.alter_isr(key, 1, 4)
    reassign(office, 2, 3, 4)
    partition = office.partition(key)
    assert partition.is_reassigning and partition.isr == (1, 4), "2 and 3 are dead, and 4 alone is too few"
    office.alter_isr(key, 1, 4, 3)
    assert (office.partition(key).replicas, office.partition(key).isr) == ((2, 3, 4), (4, 3))


def test_an_isr_below_its_minimum_does_not_hold_a_reassignment_up(office: Office, key: PartitionKey) -> None:
    office.ask(AlterConfigRequest(2, "orders", "min.insync.replicas", "2"))
    office.alter_isr(key, 1)
    reassign(office, 2, 3, 4)
    office.alter_isr(key, 1, 4)
    assert (office.partition(key).replicas, office.partition(key).isr) == ((2, 3, 4), (4,))


def test_another_order_is_a_change_of_replicas_alone(office: Office, key: PartitionKey) -> None:
    reassign(office, 3, 2, 1)
    partition = office.partition(key)
    assert (partition.replicas, partition.leader, partition.leader_epoch) == ((3, 2, 1), 1, 0)


def test_the_same_replicas_are_no_change(office: Office) -> None:
    assert reassign(office, 1, 2, 3).error is ErrorCode.NONE
    assert not office.records()


def test_a_second_reassignment_replaces_the_first(office: Office, key: PartitionKey) -> None:
    reassign(office, 1, 2, 4)
    reassign(office, 1, 2, 5)
    partition = office.partition(key)
    assert partition.replicas == (1, 2, 5, 3, 4) or partition.replicas == (1, 2, 5, 4, 3)
    assert set(partition.adding_replicas) == {4, 5}
    assert set(partition.removing_replicas) == {3, 4}
    cancel(office)
    assert office.partition(key).replicas == (1, 2, 3)


def test_a_change_names_what_it_changes_and_nothing_else(office: Office, key: PartitionKey) -> None:
    reassign(office, 1, 2, 4)
    reassign(office, 2, 1, 4)
    assert office.records() == [PartitionChangeRecord(0, key[0], replicas=(2, 1, 4, 3))]


def test_back_to_what_it_was_ends_the_first(office: Office, key: PartitionKey) -> None:
    reassign(office, 1, 2, 4)
    office.alter_isr(key, 1, 2)
    reassign(office, 1, 2, 3)
    partition = office.partition(key)
    assert (partition.replicas, partition.is_reassigning) == ((1, 2, 3), False)


def test_fencing_may_complete_a_reassignment(office: Office, key: PartitionKey) -> None:
    """Every change of the partition tries; only that of the ISR can do it."""
    reassign(office, 4, 5)
    office.alter_isr(key, 1, 2, 3, 4)
    office.heartbeat(1, want_fence=True)
    assert office.partition(key).is_reassigning and office.partition(key).leader == 4


@pytest.mark.parametrize(
    "replicas, message",
    [((), "needs a replica"), ((1, 1), "named twice"), ((1, 9), "broker 9 is not registered")],
)
def test_what_no_partition_can_be_given(office: Office, replicas: tuple[int, ...], message: str) -> None:
    response = reassign(office, *replicas)
    assert response.error is ErrorCode.INVALID_REPLICA_ASSIGNMENT and message in response.message
    assert not office.records()


def test_no_such_partition(office: Office) -> None:
    for topic, partition_id in (("nothing", 0), ("orders", 1)):
        response = office.ask(AlterPartitionReassignmentRequest(topic, partition_id, (1,)))
        assert response.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_target_below_min_insync_replicas_is_refused(office: Office) -> None:
    office.ask(AlterConfigRequest(2, "orders", "min.insync.replicas", "2"))
    assert reassign(office, 3).error is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    office.ask(AlterConfigRequest(2, "orders", "min.insync.replicas", "3"))
    assert reassign(office, 3, 2).error is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert reassign(office, 3, 2, 4).error is ErrorCode.NONE


def test_a_partition_that_never_had_as_many_replicas_may_move(office: Office) -> None:
    small = office.create((1,), name="small")
    office.ask(AlterConfigRequest(4, "", "min.insync.replicas", "2"))
    assert office.ask(AlterPartitionReassignmentRequest("small", 0, (2,))).error is ErrorCode.NONE
    assert office.partition(small).adding_replicas == (2,)


def test_a_cancel_takes_out_what_was_added(office: Office, key: PartitionKey) -> None:
    reassign(office, 3, 4, 5)
    office.alter_isr(key, 1, 2, 3, 4)
    assert cancel(office).error is ErrorCode.NONE
    partition = office.partition(key)
    assert (partition.isr, partition.is_reassigning) == ((1, 2, 3), False)
    assert set(partition.replicas) == {1, 2, 3}


def test_a_cancel_that_would_leave_nobody_to_lead_is_refused(office: Office, key: PartitionKey) -> None:
    reassign(office, 4, 5)
    office.alter_isr(key, 1, 4)
    office.heartbeat(1, want_fence=True)
    assert office.partition(key).isr == (4,)
    assert cancel(office).error is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert office.partition(key).is_reassigning


def test_a_cancel_that_would_take_the_isr_below_its_minimum_is_refused(office: Office, key: PartitionKey) -> None:
    office.ask(AlterConfigRequest(2, "orders", "min.insync.replicas", "2"))
    reassign(office, 4, 5)
    office.alter_isr(key, 1, 4)
    assert cancel(office).error is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    office.alter_isr(key, 1, 2, 4)
    assert cancel(office).error is ErrorCode.NONE


def test_nothing_to_cancel(office: Office) -> None:
    assert cancel(office).error is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


def test_list_shows_what_is_under_way(office: Office) -> None:
    office.create((1, 2), (2, 3), name="others")
    assert listed(office) == ()
    reassign(office, 1, 2, 4)
    ongoing = OngoingReassignment("orders", 0, (1, 2, 4, 3), (4,), (3,))
    assert listed(office) == (ongoing,)
    assert listed(office, ("others", 0), ("nothing", 0), ("orders", 0), ("orders", 5)) == (ongoing,)


def test_it_outlives_failovers_and_ends_with_its_topic(office: Office) -> None:
    reassign(office, 1, 2, 4)
    office.fail_over()
    assert len(listed(office)) == 1
    office.ask(DeleteTopicRequest(name="orders"))
    assert listed(office) == () and not office.image.reassigning


# Preferred leaders.


def elect(office: Office, topic: str = "orders") -> ErrorCode:
    return office.ask(ElectPreferredLeaderRequest(topic, 0)).error


def test_the_preferred_leader_gets_the_lead_back(office: Office, key: PartitionKey) -> None:
    office.heartbeat(1, want_fence=True)
    office.heartbeat(1)
    assert elect(office) is ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    office.alter_isr(key, 2, 3, 1)
    assert elect(office) is ErrorCode.NONE
    assert office.records() == [PartitionChangeRecord(0, key[0], leader=1)]
    assert (office.partition(key).leader, office.partition(key).leader_epoch) == (1, 2)
    assert elect(office) is ErrorCode.ELECTION_NOT_NEEDED
    assert elect(office, "nothing") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_preferred_leader_that_is_fenced_is_not_available(office: Office) -> None:
    office.create((1,), name="alone")
    office.heartbeat(1, want_fence=True)
    assert elect(office, "alone") is ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
