"""The pure decisions of the KIP-631 spec, and the steps that are easiest to get wrong, on states made by hand.

What whole models do is pinned in tests/pins.toml.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from checker.lang.declare import bind, replace
from checker.lang.loader import load
from checker.lang.values import Bag, Disabled
from spec.kraft.actions import broker, controller, replica
from spec.kraft.decisions import partition
from spec.kraft.decisions.membership import broker_fenced, broker_fenced_again
from spec.kraft.initial import running_cluster
from spec.kraft.messages import AlterIsr, Heartbeat, Register, RegisterReply
from spec.kraft.metadata import Partition, active_brokers
from spec.kraft.models.replication import MODELS
from spec.kraft.processes import IsrChange, Leadership, maximal_isr, proposed_isr
from spec.kraft.state import Cluster, Controller, committed, is_silent
from spec.kraft.types import (
    Broker,
    BrokerEpoch,
    BrokerState,
    Error,
    Incarnation,
    LeaderEpoch,
    PartitionEpoch,
    Process,
    RecordStatus,
    TopicId,
    TopicPartition,
    Voter,
)

A, B, C = Broker(0), Broker(1), Broker(2)
ONLY, P = Voter(0), TopicPartition(0)


@pytest.fixture
def s() -> Iterator[Cluster]:
    """Three brokers that run, all in the ISR, A leading at leader and partition epoch 0."""
    model = load("kraft/isr")
    model.bind()
    yield running_cluster()
    bind(model.info, {})


def switched(**switches: bool) -> None:
    model = load("kraft/isr")
    model.with_constants(switches).bind()


def active(s: Cluster) -> Controller:
    return s.controllers[ONLY]


def the_partition(s: Cluster) -> Partition:
    partition = active(s).image.partitions[P]
    assert partition is not None
    return partition


def leadership_of(s: Cluster, process: Process) -> Leadership:
    leadership = s.processes[process].replicas[P].leadership
    assert leadership is not None
    return leadership


def fence(s: Cluster, *brokers: Broker) -> None:
    for one in brokers:
        registration = active(s).image.registrations[one]
        assert registration is not None
        registration.fenced = True


class TestElection:
    def test_a_leader_that_may_lead_stays(self, s: Cluster) -> None:
        the_partition(s).leader = B
        assert partition.elect_leader(the_partition(s), {A, B, C}, {A, B, C}) == B

    def test_else_the_first_active_member_in_replica_order_leads(self, s: Cluster) -> None:
        the_partition(s).replicas = (C, A, B)
        assert partition.elect_leader(the_partition(s), {B, C}, {A, B, C}) == C
        assert partition.elect_leader(the_partition(s), {B, C}, {A, B}) == B

    def test_nobody_leads_where_no_member_is_active(self, s: Cluster) -> None:
        assert partition.elect_leader(the_partition(s), {B}, {A, C}) is None


class TestFencing:
    def test_of_a_follower_leaves_the_leader_epoch_alone(self, s: Cluster) -> None:
        after = partition.without_broker(s, the_partition(s), B, {A, C})
        assert (after.isr, after.leader) == ({A, C}, A)
        assert after.leader_epoch == LeaderEpoch(0) and PartitionEpoch(0) < after.partition_epoch

    def test_of_the_leader_elects_another_at_a_new_leader_epoch(self, s: Cluster) -> None:
        after = partition.without_broker(s, the_partition(s), A, {B, C})
        assert (after.isr, after.leader) == ({B, C}, B)
        assert LeaderEpoch(0) < after.leader_epoch and PartitionEpoch(0) < after.partition_epoch

    def test_of_the_last_member_leaves_it_in_the_isr_without_a_leader(self, s: Cluster) -> None:
        the_partition(s).isr = frozenset({A})
        after = partition.without_broker(s, the_partition(s), A, {B, C})
        assert (after.isr, after.leader) == ({A}, None)
        switched(last_member_stays=False)
        assert partition.without_broker(s, the_partition(s), A, {B, C}).isr == frozenset()

    def test_of_one_that_is_in_no_isr_changes_nothing(self, s: Cluster) -> None:
        """Not even where a fenced broker leads, as after a registration over a lapsed session in Kafka 3.9."""
        the_partition(s).isr = frozenset({A})
        fence(s, A)
        assert partition.without_broker(s, the_partition(s), B, {C}) == the_partition(s)

    def test_again_takes_one_out_that_was_fenced_and_led(self, s: Cluster) -> None:
        fence(s, A)
        assert broker_fenced(s, committed(s), A) == committed(s)
        after = broker_fenced_again(s, committed(s), A).partitions[P]
        assert after is not None and (after.isr, after.leader) == ({B, C}, B)

    def test_of_two_in_one_decision_sees_what_the_first_left(self, s: Cluster) -> None:
        the_partition(s).isr = frozenset({A, B})
        active(s).expired_leases = frozenset({A, B})
        controller.fence_two_expired(s, ONLY, A, B)
        assert (the_partition(s).isr, the_partition(s).leader) == ({B}, None)

    def test_of_two_without_kafka_13173_makes_a_fenced_broker_leader(self, s: Cluster) -> None:
        switched(kafka_13173=False)
        the_partition(s).isr = frozenset({A, B})
        active(s).expired_leases = frozenset({A, B})
        controller.fence_two_expired(s, ONLY, A, B)
        assert (the_partition(s).isr, the_partition(s).leader) == ({A}, B)
        assert active_brokers(committed(s)) == {C}


class TestUnfencing:
    def test_adds_to_no_isr(self, s: Cluster) -> None:
        the_partition(s).isr = frozenset({A})
        fence(s, B)
        assert partition.with_broker_unfenced(s, committed(s), the_partition(s), B) == the_partition(s)

    def test_elects_where_there_was_no_leader(self, s: Cluster) -> None:
        the_partition(s).isr, the_partition(s).leader = frozenset({B}), None
        fence(s, B)
        assert partition.with_broker_unfenced(s, committed(s), the_partition(s), B).leader == B

    def test_deposes_no_fenced_leader(self, s: Cluster) -> None:
        fence(s, A, B)
        assert partition.with_broker_unfenced(s, committed(s), the_partition(s), B) == the_partition(s)


class TestRegistration:
    def request(self, s: Cluster, incarnation: int = 7) -> Register:
        request = Register(Process(1), Incarnation(incarnation), late=False, to=Voter(0))
        s.lifecycle = Bag([request])
        s.processes[Process(1)].incarnation = Incarnation(incarnation)
        s.processes[Process(1)].broker_epoch = None
        return request

    def test_over_a_valid_session_is_refused(self, s: Cluster) -> None:
        controller.handle_registration(s, ONLY, self.request(s))
        assert s.processes[Process(1)].reply == RegisterReply(Error.DUPLICATE_BROKER_REGISTRATION, None)
        assert active_brokers(committed(s)) == {A, B, C}

    def test_over_a_lapsed_session_takes_the_old_incarnation_out(self, s: Cluster) -> None:
        active(s).expired_leases = frozenset({B})
        controller.handle_registration(s, ONLY, self.request(s))
        registration = active(s).image.registrations[B]
        assert registration is not None and registration.fenced and BrokerEpoch(2) < registration.broker_epoch
        assert the_partition(s).isr == {A, C}
        assert active(s).expired_leases == frozenset()

    def test_repeated_changes_nothing(self, s: Cluster) -> None:
        controller.handle_registration(s, ONLY, self.request(s, incarnation=1))
        assert s.processes[Process(1)].reply == RegisterReply(Error.NONE, BrokerEpoch(1))
        assert active_brokers(committed(s)) == {A, B, C}

    def test_repeated_without_kafka_16952_gets_a_new_epoch(self, s: Cluster) -> None:
        switched(kafka_16952=False)
        controller.handle_registration(s, ONLY, self.request(s, incarnation=1))
        registration = active(s).image.registrations[B]
        assert registration is not None and registration.fenced and registration.broker_epoch == BrokerEpoch(3)

    def test_of_the_last_replica_standing_from_an_empty_disk_forfeits_the_record(self, s: Cluster) -> None:
        s.produced[P] = RecordStatus.ACKNOWLEDGED
        the_partition(s).isr, the_partition(s).leader = frozenset({B}), None
        fence(s, B)
        controller.handle_registration(s, ONLY, self.request(s))
        assert s.produced[P] == RecordStatus.FORFEITED


class TestHeartbeat:
    def handled(self, s: Cluster, epoch: int = 1, want_fence: bool = False, caught_up: bool = True) -> None:
        request = Heartbeat(
            Process(1), BrokerEpoch(epoch), want_fence, False, caught_up, None, late=False, to=Voter(0), lacks=0
        )
        s.lifecycle = Bag([request])
        controller.handle_heartbeat(s, ONLY, request)

    def test_of_another_epoch_is_stale(self, s: Cluster) -> None:
        s.processes[Process(1)].broker_epoch = BrokerEpoch(9)
        active(s).expired_leases = frozenset({B})
        self.handled(s, epoch=9)
        reply = s.processes[Process(1)].reply
        assert reply is not None and reply.error == Error.STALE_BROKER_EPOCH
        assert active(s).expired_leases == {B}

    def test_renews_a_lapsed_lease(self, s: Cluster) -> None:
        active(s).expired_leases = frozenset({B})
        self.handled(s)
        assert active(s).expired_leases == frozenset() and active_brokers(committed(s)) == {A, B, C}

    @pytest.mark.parametrize(
        ("want_fence", "caught_up", "unfenced"),
        [(False, True, True), (True, True, False), (False, False, False), (True, False, False)],
    )
    def test_unfences_who_wants_it_and_is_caught_up(
        self, s: Cluster, want_fence: bool, caught_up: bool, unfenced: bool
    ) -> None:
        fence(s, B)
        the_partition(s).isr = frozenset({A, C})
        self.handled(s, want_fence=want_fence, caught_up=caught_up)
        assert (B in active_brokers(committed(s))) == unfenced
        assert the_partition(s).isr == {A, C}

    def test_that_wants_the_fence_takes_the_broker_out(self, s: Cluster) -> None:
        self.handled(s, want_fence=True)
        assert active_brokers(committed(s)) == {A, C} and the_partition(s).isr == {A, C}


class TestAlterIsr:
    """A request of the leader A that adds B; each test breaks one thing more, from the last check to the first."""

    def request(self, s: Cluster, **changes: object) -> AlterIsr:
        the_partition(s).isr = frozenset({A, C})
        made = AlterIsr(
            sender=Process(0),
            broker_epoch=BrokerEpoch(0),
            topic=TopicId(0),
            partition=P,
            leader_epoch=LeaderEpoch(0),
            partition_epoch=PartitionEpoch(0),
            isr=frozenset({A, B, C}),
            added_epoch=BrokerEpoch(1),
            late=False,
            to=Voter(0),
        )
        return replace(made, **changes)

    def test_the_first_check_that_fails_names_the_error(self, s: Cluster) -> None:
        request = self.request(s)
        assert controller.alter_isr_error(committed(s), request) == Error.NONE
        fence(s, B)
        assert controller.alter_isr_error(committed(s), request) == Error.INELIGIBLE_REPLICA
        malformed = replace(request, isr=frozenset({B}))
        assert controller.alter_isr_error(committed(s), malformed) == Error.INVALID_REQUEST
        the_partition(s).partition_epoch = PartitionEpoch(1)
        assert controller.alter_isr_error(committed(s), malformed) == Error.INVALID_UPDATE_VERSION
        the_partition(s).leader = C
        assert controller.alter_isr_error(committed(s), malformed) == Error.INVALID_REQUEST
        the_partition(s).leader_epoch = LeaderEpoch(1)
        assert controller.alter_isr_error(committed(s), malformed) == Error.FENCED_LEADER_EPOCH
        ahead = replace(malformed, partition_epoch=PartitionEpoch(2))
        assert controller.alter_isr_error(committed(s), ahead) == Error.NOT_CONTROLLER
        superseded = replace(ahead, broker_epoch=BrokerEpoch(5))
        assert controller.alter_isr_error(committed(s), superseded) == Error.STALE_BROKER_EPOCH

    def test_kip_841_keeps_fenced_replicas_out(self, s: Cluster) -> None:
        request = self.request(s)
        fence(s, B)
        switched(kip_841=False)
        assert controller.alter_isr_error(committed(s), request) == Error.NONE

    def test_kip_903_keeps_replicas_out_that_registered_anew(self, s: Cluster) -> None:
        request = self.request(s, added_epoch=BrokerEpoch(0))
        assert controller.alter_isr_error(committed(s), request) == Error.INELIGIBLE_REPLICA
        switched(kip_903=False)
        assert controller.alter_isr_error(committed(s), request) == Error.NONE

    @pytest.mark.parametrize("raises", [True, False])
    def test_a_refusal_raises_the_partition_epoch(self, s: Cluster, raises: bool) -> None:
        switched(refusal_raises_epoch=raises)
        request = self.request(s)
        fence(s, B)
        s.alterations = Bag([request])
        controller.handle_alter_isr(s, ONLY, request)
        assert (PartitionEpoch(0) < the_partition(s).partition_epoch) == raises
        assert the_partition(s).isr == {A, C}


class TestLeader:
    def test_maximal_isr_has_both_sides_of_a_change(self, s: Cluster) -> None:
        leadership = leadership_of(s, Process(0))
        leadership.isr = frozenset({A, C})
        assert proposed_isr(leadership) == maximal_isr(leadership) == {A, C}
        leadership.pending_change = IsrChange(B, BrokerEpoch(1))
        assert proposed_isr(leadership) == maximal_isr(leadership) == {A, B, C}
        leadership.pending_change = IsrChange(C, None)
        assert (proposed_isr(leadership), maximal_isr(leadership)) == ({A}, {A, C})

    def test_does_not_acknowledge_before_the_whole_maximal_isr_has_the_record(self, s: Cluster) -> None:
        replica.write(s, Process(0), P)
        leadership = leadership_of(s, Process(0))
        leadership.isr, leadership.replicas_with_record = frozenset({A, B}), frozenset({B})
        leadership.pending_change = IsrChange(C, BrokerEpoch(2))
        with pytest.raises(Disabled):
            replica.advance_high_watermark(s, Process(0), P)
        leadership.pending_change = None
        replica.advance_high_watermark(s, Process(0), P)
        assert s.produced[P] == RecordStatus.ACKNOWLEDGED

    def test_asks_to_add_only_a_follower_past_its_high_watermark_and_epoch_start(self, s: Cluster) -> None:
        leader, leadership = s.processes[Process(0)].replicas[P], leadership_of(s, Process(0))
        leadership.isr, leadership.candidates = frozenset({A, B}), frozenset({C})
        assert replica.may_join_isr(leader, leadership, C, has_record=False)
        leader.high_watermark = True
        assert not replica.may_join_isr(leader, leadership, C, has_record=False)
        assert replica.may_join_isr(leader, leadership, C, has_record=True)
        leader.high_watermark, leadership.starts_with_record = False, True
        assert not replica.may_join_isr(leader, leadership, C, has_record=False)
        leadership.candidates = frozenset()
        assert not replica.may_join_isr(leader, leadership, C, has_record=True)

    def test_sees_at_a_fetch_what_the_follower_had_before_it(self, s: Cluster) -> None:
        replica.write(s, Process(0), P)
        replica.fetch(s, Process(1), Process(0), P, True)
        assert (
            leadership_of(s, Process(0)).replicas_with_record == frozenset()
            and s.processes[Process(1)].replicas[P].has_record
        )
        replica.fetch(s, Process(1), Process(0), P, True)
        assert leadership_of(s, Process(0)).replicas_with_record == {B}


class TestMetadata:
    def test_a_newer_partition_settles_what_the_leader_asked_for(self, s: Cluster) -> None:
        leadership = leadership_of(s, Process(0))
        leadership.pending_change = IsrChange(C, None)
        the_partition(s).isr = frozenset({A, B})
        the_partition(s).partition_epoch = PartitionEpoch(1)
        broker.apply_metadata(s, Process(0))
        leadership = leadership_of(s, Process(0))
        assert leadership.pending_change is None and leadership.isr == {A, B}

    def test_a_process_whose_id_was_taken_over_stops(self, s: Cluster) -> None:
        registration = active(s).image.registrations[A]
        assert registration is not None
        registration.broker_epoch = BrokerEpoch(3)
        broker.apply_metadata(s, Process(0))
        stopped = s.processes[Process(0)].replicas[P]
        assert stopped.leadership is None and stopped.leader_epoch is None


def test_a_broker_is_silent_once_no_process_has_its_epoch(s: Cluster) -> None:
    assert not is_silent(s, Voter(0), B)
    s.processes[Process(1)].broker_epoch = None
    assert is_silent(s, Voter(0), B)


def test_a_process_starts_as_a_new_incarnation(s: Cluster) -> None:
    with pytest.raises(Disabled):
        broker.start(s, Process(1))
    s.processes[Process(1)].state = BrokerState.NOT_RUNNING
    broker.start(s, Process(1))
    assert s.processes[Process(1)].incarnation == Incarnation(3)


def test_each_setting_of_each_model_binds() -> None:
    for model in MODELS:
        for setting in model.settings:
            bound = load(f"kraft/{model.name}", setting=setting)
            bound.bind()
            assert len(bound.initial_states()) == 1
