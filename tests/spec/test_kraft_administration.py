"""Reassignments, topics and registrations that operators change, on states made by hand.

What whole models do is pinned in tests/pins.toml.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from checker.lang.declare import bind, replace
from checker.lang.loader import load
from checker.lang.values import Bag, Disabled
from spec.kraft.actions import administration, broker, clients, coarse_lifecycle, controller, topics
from spec.kraft.decisions.partition import build_change, cancelled, completed, original_replicas, reassigned
from spec.kraft.initial import running_cluster
from spec.kraft.messages import AlterIsr
from spec.kraft.metadata import Partition, Replicas, active_brokers
from spec.kraft.processes import IsrChange, Leadership
from spec.kraft.state import Cluster, committed
from spec.kraft.types import (
    Broker,
    BrokerEpoch,
    Error,
    LeaderEpoch,
    PartitionEpoch,
    Process,
    RecordStatus,
    TopicId,
    TopicPartition,
    Voter,
)

BROKERS = tuple(Broker(i) for i in range(5))
A, B, C, D, E = BROKERS
ONLY, P = Voter(0), TopicPartition(0)
CONSTANTS = {"brokers": 5, "spare_brokers": 2, "max_reassignments": 9, "max_topics": 2, "max_crashes": 9}


@pytest.fixture
def s() -> Iterator[Cluster]:
    """Five brokers that run, the first three the replicas of the partition, A leading, all epochs 0."""
    yield with_switches()
    bind(load("kraft").info, {})


def with_switches(**switches: object) -> Cluster:
    load("kraft/reassignment").with_constants({**CONSTANTS, **switches}).bind()
    cluster: Cluster = running_cluster()
    return cluster


def the_partition(s: Cluster) -> Partition:
    partition = committed(s).partitions[P]
    assert partition is not None
    return partition


def leads(s: Cluster) -> Leadership:
    leadership = s.processes[Process(0)].replicas[P].leadership
    assert leadership is not None
    return leadership


def alter_isr(s: Cluster, isr: set[Broker], added: Broker) -> None:
    """A leads, asks for an ISR that adds one broker, and the controller answers."""
    broker.apply_metadata(s, Process(0))
    epochs = the_partition(s).leader_epoch, the_partition(s).partition_epoch
    epoch = BrokerEpoch(added.index)
    request = AlterIsr(Process(0), BrokerEpoch(0), TopicId(0), P, *epochs, frozenset(isr), epoch, late=False, to=ONLY)
    s.alterations = Bag([request])
    leads(s).isr = frozenset(isr) - {added}
    leads(s).pending_change = IsrChange(added, epoch)
    controller.handle_alter_isr(s, ONLY, request)


class TestReassignment:
    def test_of_the_document_adds_first_and_removes_when_all_are_in_sync(self, s: Cluster) -> None:
        administration.reassign(s, ONLY, P, (C, D, E))
        partition = the_partition(s)
        assert (partition.replicas, partition.adding, partition.removing) == ((C, D, E, A, B), (D, E), (A, B))
        assert (partition.isr, partition.leader, partition.leader_epoch) == ({A, B, C}, A, LeaderEpoch(0))
        alter_isr(s, {A, B, C, D}, added=D)
        assert the_partition(s).isr == {A, B, C, D} and leads(s).reply is not None
        alter_isr(s, {A, B, C, D, E}, added=E)
        partition = the_partition(s)
        assert (partition.replicas, partition.adding, partition.removing) == ((C, D, E), (), ())
        assert (partition.isr, partition.leader) == ({C, D, E}, C) and LeaderEpoch(0) < partition.leader_epoch

    def test_that_takes_the_leader_out_tells_it_to_wait(self, s: Cluster) -> None:
        administration.reassign(s, ONLY, P, (C, D))
        alter_isr(s, {A, B, C, D}, added=D)
        reply = leads(s).reply
        assert reply is not None and reply.error == Error.NEW_LEADER_ELECTED

    def test_that_keeps_the_leader_replies_with_another_isr(self, s: Cluster) -> None:
        administration.reassign(s, ONLY, P, (A, B, D))
        alter_isr(s, {A, B, C, D}, added=D)
        reply = leads(s).reply
        assert reply is not None and (reply.error, reply.isr) == (Error.NONE, {A, B, D})
        assert reply.at_new_leader_epoch

    def test_of_fewer_replicas_waits_for_all_that_stay(self, s: Cluster) -> None:
        the_partition(s).isr = frozenset({A, C})
        administration.reassign(s, ONLY, P, (B, C))
        assert the_partition(s).isr == {A, C} and the_partition(s).removing == (A,)

    def test_of_as_many_replicas_does_not_wait_for_one_that_was_there(self, s: Cluster) -> None:
        wanted = replace(reassigned(the_partition(s), (A, B, D)), isr=frozenset({A, D}))
        assert completed(wanted, fewest=1).replicas == (A, B, D)
        s = with_switches(kafka_19975=False)
        assert completed(wanted, fewest=1).replicas == (A, B, D, C)

    def test_completes_with_one_in_sync_without_kafka_15665(self) -> None:
        s = with_switches(kafka_15665=False)
        the_partition(s).isr = frozenset({A, C})
        administration.reassign(s, ONLY, P, (B, C))
        assert (the_partition(s).replicas, the_partition(s).isr) == ((B, C), {C})

    @pytest.mark.parametrize("target", [(A, B, E), (A, B, C, D), (A, B, C), (D, E)])
    def test_replaced_whole_can_go_back_to_where_the_first_began(self, s: Cluster, target: Replicas) -> None:
        first = reassigned(the_partition(s), (A, B, D))
        second = reassigned(first, target)
        assert original_replicas(second) == {A, B, C}
        assert {r for r in second.replicas if r not in second.removing} == set(target)

    def test_replaced_in_part_removes_what_was_asked_to_stay(self) -> None:
        s = with_switches(reassignment_replaced=False)
        second = reassigned(reassigned(the_partition(s), (A, B, D)), (A, B, C, D))
        assert (second.adding, second.removing) == ((D,), (C,))


class TestCancel:
    def test_takes_what_was_added_out(self, s: Cluster) -> None:
        administration.reassign(s, ONLY, P, (A, D, E))
        the_partition(s).isr = frozenset({A, B, D})
        administration.cancel_reassignment(s, ONLY, P)
        assert (the_partition(s).replicas, the_partition(s).isr) == ((A, B, C), {A, B})
        assert LeaderEpoch(0) < the_partition(s).leader_epoch

    def test_is_refused_where_nobody_could_lead(self, s: Cluster) -> None:
        administration.reassign(s, ONLY, P, (A, D, E))
        the_partition(s).isr = frozenset({D})
        with pytest.raises(Disabled):
            administration.cancel_reassignment(s, ONLY, P)

    @pytest.mark.parametrize("refused", [True, False])
    def test_is_refused_where_the_isr_would_fall_below_its_minimum(self, refused: bool) -> None:
        s = with_switches(min_insync_replicas=2, cancel_keeps_min_isr=refused)
        administration.reassign(s, ONLY, P, (A, D, E))
        the_partition(s).isr = frozenset({A, D})
        assert administration.may_be_cancelled(the_partition(s)) == (not refused)

    def test_may_change_the_preferred_leader(self, s: Cluster) -> None:
        assert cancelled(reassigned(the_partition(s), (B, A, D))).replicas == (B, A, C)


def test_the_preferred_replica_gets_the_lead_only_where_it_may(s: Cluster) -> None:
    the_partition(s).replicas = (B, A, C)
    administration.elect_preferred(s, ONLY, P)
    assert the_partition(s).leader == B and LeaderEpoch(0) < the_partition(s).leader_epoch
    the_partition(s).replicas, the_partition(s).isr = (C, A, B), frozenset({A, B})
    with pytest.raises(Disabled):
        administration.elect_preferred(s, ONLY, P)


def test_unfencing_adds_nobody_but_in_the_draft() -> None:
    for joins in (False, True):
        s = with_switches(unfencing_joins_no_isr=not joins)
        administration.reassign(s, ONLY, P, (A, B, D))
        coarse_lifecycle.go_down(s, ONLY, Process(3))
        coarse_lifecycle.come_back(s, ONLY, Process(3))
        assert (D in the_partition(s).isr) == joins


def test_a_leader_asks_to_add_replicas_only(s: Cluster) -> None:
    administration.reassign(s, ONLY, P, (A, B, C, D))
    broker.apply_metadata(s, Process(0))
    assert leads(s).candidates == {A, B, C, D}


class TestTopics:
    def test_created_again_starts_with_the_active_brokers_and_the_first_epochs(self, s: Cluster) -> None:
        coarse_lifecycle.go_down(s, ONLY, Process(0))
        topics.delete_topic(s, ONLY)
        assert committed(s).topic is None and committed(s).partitions[P] is None
        topics.create_topic(s, ONLY, BROKERS)
        partition = the_partition(s)
        assert (partition.replicas, partition.isr, partition.leader) == (BROKERS, {B, C, D, E}, B)
        assert (partition.leader_epoch, partition.partition_epoch) == (LeaderEpoch(0), PartitionEpoch(0))
        assert committed(s).topic == TopicId(1)

    def test_an_older_topic_of_the_name_is_unknown(self, s: Cluster) -> None:
        epochs = LeaderEpoch(0), PartitionEpoch(0)
        alone = frozenset({A})
        request = AlterIsr(Process(0), BrokerEpoch(0), TopicId(0), P, *epochs, alone, None, late=False, to=ONLY)
        topics.delete_topic(s, ONLY)
        topics.create_topic(s, ONLY, BROKERS)
        assert controller.alter_isr_error(committed(s), request) == Error.UNKNOWN_TOPIC_ID
        s = with_switches(kip_516=False)
        assert controller.alter_isr_error(committed(s), request) == Error.NONE

    @pytest.mark.parametrize("reconciled", [True, False])
    def test_a_log_that_missed_the_deletion_is_deleted_at_the_start(self, reconciled: bool) -> None:
        s = with_switches(kafka_14616=reconciled)
        s.processes[Process(1)].replicas[P].has_record = True
        coarse_lifecycle.go_down(s, ONLY, Process(1))
        topics.delete_topic(s, ONLY)
        topics.create_topic(s, ONLY, BROKERS)
        coarse_lifecycle.come_back(s, ONLY, Process(1))
        broker.apply_metadata(s, Process(1))
        replica = s.processes[Process(1)].replicas[P]
        assert (replica.topic, replica.has_record) == (TopicId(1), not reconciled)
        assert s.produced[P] == RecordStatus.UNWRITTEN


def test_an_unregistered_broker_leads_and_follows_nobody() -> None:
    s = with_switches(max_unregistrations=1)
    topics.unregister(s, ONLY, A)
    assert (the_partition(s).isr, the_partition(s).leader) == ({B, C}, B)
    broker.apply_metadata(s, Process(0))
    assert s.processes[Process(0)].replicas[P].leader_epoch is None
    with pytest.raises(Disabled):
        topics.unregister(s, ONLY, A)


def test_a_broker_lists_who_is_active_in_its_image() -> None:
    s = with_switches(metadata_responses=1)
    with pytest.raises(Disabled):
        clients.answer_metadata(s, Process(0))
    broker.apply_metadata(s, Process(0))
    coarse_lifecycle.go_down(s, ONLY, Process(1))
    clients.answer_metadata(s, Process(0))
    assert s.answer[0].brokers == set(BROKERS) and B not in active_brokers(committed(s))
    broker.apply_metadata(s, Process(0))
    clients.answer_metadata(s, Process(0))
    assert s.answer[0].brokers == {A, C, D, E}


def test_a_change_that_changes_nothing_is_no_record(s: Cluster) -> None:
    before = the_partition(s)
    assert build_change(s, before, before, active_brokers(committed(s))) == before
