"""Decisions of the controller on a broker that wants to shut down, on states made by hand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from checker.lang.declare import bind
from checker.lang.loader import load
from checker.lang.values import Disabled
from spec.kraft import timed
from spec.kraft.actions import faults, shutdown
from spec.kraft.actions.shutdown import BrokerControlState
from spec.kraft.initial import running_cluster
from spec.kraft.messages import Heartbeat
from spec.kraft.metadata import Registration
from spec.kraft.state import Cluster, Controller, Shutdown
from spec.kraft.types import Broker, BrokerEpoch, BrokerState, MetadataOffset, Process, TopicPartition, Voter

A, B = Broker(0), Broker(1)
NOW, LATER = MetadataOffset(0), MetadataOffset(1)


@pytest.fixture
def s() -> Iterator[Cluster]:
    """Two brokers that run, A leading."""
    model = load("kraft/shutdown")
    model.bind()
    yield running_cluster()
    bind(model.info, {})


def switched(**switches: bool) -> None:
    load("kraft/shutdown").with_constants(switches).bind()


def controller_of(s: Cluster) -> Controller:
    return s.controllers[Voter(0)]


def registration_of(s: Cluster, broker: Broker) -> Registration:
    registration = controller_of(s).image.registrations[broker]
    assert registration is not None
    return registration


def decided(
    s: Cluster, broker: Broker, *, shut_down: bool = True, fence: bool = False, caught_up: bool = True
) -> BrokerControlState:
    """The decision of the controller on a heartbeat of `broker`."""
    epoch = registration_of(s, broker).broker_epoch
    request = Heartbeat(
        Process(broker.index), epoch, fence, shut_down, caught_up, None, late=False, to=Voter(0), lacks=0
    )
    return shutdown.next_broker_state(controller_of(s), registration_of(s, broker), broker, request)


def depose(s: Cluster) -> None:
    """B leads instead of A."""
    partition = controller_of(s).image.partitions[TopicPartition(0)]
    assert partition is not None
    partition.leader, partition.isr = B, frozenset({B})


class TestFirstRequest:
    def test_of_a_leader_begins_a_controlled_shutdown(self, s: Cluster) -> None:
        assert decided(s, A) == BrokerControlState.CONTROLLED_SHUTDOWN

    def test_of_a_leader_that_wants_the_fence_too_is_granted_at_once(self, s: Cluster) -> None:
        switched(idle_shutdown_waits=False)
        assert decided(s, A, fence=True) == BrokerControlState.SHUTDOWN_NOW

    @pytest.mark.parametrize("waits", [True, False])
    def test_of_a_broker_that_leads_nothing(self, s: Cluster, waits: bool) -> None:
        switched(idle_shutdown_waits=waits)
        assert (decided(s, B) == BrokerControlState.CONTROLLED_SHUTDOWN) == waits

    @pytest.mark.parametrize("waits", [True, False])
    def test_of_a_fenced_broker(self, s: Cluster, waits: bool) -> None:
        switched(fenced_shutdown_waits=waits)
        registration_of(s, B).fenced = True
        assert (decided(s, B) == BrokerControlState.CONTROLLED_SHUTDOWN) == waits

    def test_of_a_fenced_leader_is_granted_at_once(self, s: Cluster) -> None:
        """In Kafka 3.9 one that registers over its lapsed session is both."""
        switched(fenced_shutdown_waits=False)
        registration_of(s, A).fenced = True
        assert decided(s, A) == BrokerControlState.SHUTDOWN_NOW

    @pytest.mark.parametrize("waits", [True, False])
    def test_after_a_failover(self, s: Cluster, waits: bool) -> None:
        switched(shutdown_outlives_soft_state=waits, idle_shutdown_waits=False)
        depose(s)
        registration_of(s, A).in_controlled_shutdown = True
        controller_of(s).shutdowns[A] = Shutdown(NOW, lagging=frozenset({B}))
        faults.fail_over(s, Voter(0))
        assert controller_of(s).shutdowns[A] is None
        assert (decided(s, A) == BrokerControlState.CONTROLLED_SHUTDOWN) == waits


class TestControlledShutdown:
    @pytest.mark.parametrize("knows", [True, False])
    def test_waits_for_one_that_a_failover_made_active(self, s: Cluster, knows: bool) -> None:
        switched(failover_knows_shutdowns=knows)
        depose(s)
        registration_of(s, A).in_controlled_shutdown = True
        registration_of(s, B).in_controlled_shutdown = True
        controller_of(s).shutdowns[A] = Shutdown(NOW, lagging=frozenset({B}))
        assert (decided(s, A) == BrokerControlState.SHUTDOWN_NOW) == knows
        controller_of(s).shutdowns[B] = Shutdown(NOW, lagging=frozenset())
        assert decided(s, A) == BrokerControlState.SHUTDOWN_NOW

    def test_waits_for_active_brokers_only(self, s: Cluster) -> None:
        depose(s)
        registration_of(s, A).in_controlled_shutdown = True
        controller_of(s).shutdowns[A] = Shutdown(NOW, lagging=frozenset({A, B}))
        assert decided(s, A) == BrokerControlState.CONTROLLED_SHUTDOWN
        registration_of(s, B).fenced = True
        assert decided(s, A) == BrokerControlState.SHUTDOWN_NOW

    def test_waits_while_the_broker_leads(self, s: Cluster) -> None:
        controller_of(s).shutdowns[A] = Shutdown(NOW, lagging=frozenset())
        assert decided(s, A) == BrokerControlState.CONTROLLED_SHUTDOWN

    @pytest.mark.usefixtures("s")  # another test may have left a model of one broker
    @pytest.mark.parametrize(("applied", "lagging"), [(None, {A, B}), (NOW, {A, B}), (LATER, {A})])
    def test_is_behind_whose_last_heartbeat_did_not_reach_the_offset(
        self, applied: MetadataOffset | None, lagging: set[Broker]
    ) -> None:
        known = shutdown.with_report(Shutdown(LATER, lagging=frozenset({A})), B, applied)
        assert known is not None and known.lagging == lagging


class TestUnfencing:
    @pytest.mark.parametrize("final", [True, False])
    def test_of_a_broker_that_was_told_to_shut_down(self, s: Cluster, final: bool) -> None:
        switched(shutdown_is_final=final)
        registration = registration_of(s, B)
        registration.fenced = registration.in_controlled_shutdown = True
        assert decided(s, B, shut_down=False) == (BrokerControlState.FENCED if final else BrokerControlState.UNFENCED)

    @pytest.mark.parametrize("merged", [True, False])
    def test_while_the_log_grows(self, s: Cluster, merged: bool) -> None:
        switched(kafka_13959=merged)
        registration_of(s, B).fenced = True
        controller_of(s).image.offset = NOW
        assert (decided(s, B, shut_down=False) == BrokerControlState.UNFENCED) == merged
        assert decided(s, B, shut_down=False, caught_up=False) == BrokerControlState.FENCED


class TestSigterm:
    def test_a_running_broker_asks_first(self, s: Cluster) -> None:
        shutdown.sigterm(s, Process(0))
        assert s.processes[Process(0)].state == BrokerState.PENDING_CONTROLLED_SHUTDOWN
        assert s.processes[Process(0)].broker_epoch == BrokerEpoch(0)
        with pytest.raises(Disabled):
            shutdown.sigterm(s, Process(0))

    def test_any_other_just_stops(self, s: Cluster) -> None:
        s.processes[Process(0)].state = BrokerState.RECOVERY
        shutdown.sigterm(s, Process(0))
        assert s.processes[Process(0)].state == BrokerState.NOT_RUNNING


def test_a_registration_that_is_refused_makes_nobody_look_for_leases() -> None:
    model = load("kraft/timed_registration", setting="shipped")
    model.bind()
    lease = timed.just_heard()
    lease.alive, lease.applicants, lease.checks_leases = False, 1, False
    timed.register(lease)
    assert (lease.retry > 0, lease.fenced, lease.checks_leases) == (True, False, False)
    bind(model.info, {})
