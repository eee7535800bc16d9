"""The state that models start from: every broker is active, broker 0 leads, every replica is in the ISR."""

from __future__ import annotations

from checker.lang import Bag, Map, init
from spec.heartbeat.design import Design
from spec.heartbeat.state import (
    BrokerProcess,
    Cluster,
    ControllerProcess,
    Faults,
    Leadership,
    PartitionState,
    Registration,
)
from spec.heartbeat.types import (
    Broker,
    BrokerState,
    Controller,
    ControllerEpoch,
    Incarnation,
    LeaderEpoch,
    Process,
    RecordStatus,
    Software,
    Version,
    broker_id,
)


@init
def all_active() -> Cluster:
    """Every broker is active, broker 0 leads, every replica is in the ISR, and nothing is written."""
    return Cluster(
        ids=Map({b: Registration(Process(b.index), Incarnation(b.index), starts_legacy(b)) for b in Broker}),
        office=Controller(0),
        controller_epoch=ControllerEpoch(0),
        partition=first_partition(),
        controllers=Map({c: first_controller(c) for c in Controller}),
        processes=Map({p: first_process(p) for p in Process}),
        cut=frozenset(),
        late=Bag(),
        late_fetches=Bag(),
        record=RecordStatus.UNWRITTEN,
        gone_by=Map({b: Incarnation(b.index) for b in Broker}),
        taken_up=Leadership(LeaderEpoch(0), Incarnation(0)),
        faults=Faults(0, 0, 0, 0, 0, 0, 0, 0),
    )


def starts_legacy(broker: Broker) -> bool:
    return broker.index < Design.legacy_brokers


def first_partition() -> PartitionState:
    return PartitionState(
        leader=Broker(0),
        leader_epoch=LeaderEpoch(0),
        isr=frozenset(Broker),
        version=Version(0),
        incarnations=Map(
            {
                b: Incarnation(b.index)
                if (Design.leader_incarnation if b == Broker(0) else Design.follower_incarnations)
                else None
                for b in Broker
            }
        ),
        controller_epoch=ControllerEpoch(0),
    )


def first_controller(controller: Controller) -> ControllerProcess:
    """Controller 0 is in office, and owes nothing to anybody."""
    in_office = controller == Controller(0)
    return ControllerProcess(
        epoch=ControllerEpoch(0) if in_office else None,
        software=Software.LEGACY if Design.rolls > 0 else Software.HEARTBEATS,
        known=Map({b: Incarnation(b.index) if in_office else None for b in Broker}),
        states=Map({b: BrokerState.ACTIVE if in_office else BrokerState.INITIAL for b in Broker}),
        legacy=frozenset(b for b in Broker if starts_legacy(b) and in_office),
        owed=frozenset(),
        metadata=frozenset(Broker) if in_office else frozenset(),
        partition=first_partition(),
        view=Map({b: Incarnation(b.index) if Design.views > 0 and in_office else None for b in Broker}),
        missing=frozenset(),
    )


def first_process(process: Process) -> BrokerProcess:
    """One process of each broker runs; a second one of broker 0 is yet to be started."""
    broker = broker_id(process)
    up = process.index < Design.brokers
    leads = process == Process(0)
    return BrokerProcess(
        up=up,
        software=Software.LEGACY if starts_legacy(broker) else Software.HEARTBEATS,
        owned=Incarnation(broker.index) if up else None,
        incarnation=Incarnation(broker.index) if up else None,
        fenced=False,
        leased_by=Controller(0),
        target=BrokerState.ACTIVE,
        heartbeat=None,
        reply=None,
        controller=Controller(0),
        controller_epoch=ControllerEpoch(0) if up else None,
        leader_epoch=LeaderEpoch(0) if up else None,
        leads=leads,
        isr=frozenset(Broker) if leads else frozenset(),
        version=Version(0) if leads else None,
        proposed=frozenset(),
        change=None,
        isr_reply=None,
        followers=Map({b: None for b in Broker}),
        caught_up=frozenset(),
        in_hand=False,
        has_record=False,
    )
