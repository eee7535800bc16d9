"""The registry of a controller: the incarnation and the state of each broker, in memory."""

from __future__ import annotations

from checker.lang import Map, Option, replace
from spec.heartbeat.decisions.partition import counted
from spec.heartbeat.design import Design
from spec.heartbeat.state import Cluster, ControllerProcess, Registration, is_counted
from spec.heartbeat.types import (
    Broker,
    BrokerState,
    Controller,
    ControllerEpoch,
    Incarnation,
    Process,
    RecordStatus,
    Software,
    broker_id,
)


def with_state(controller: ControllerProcess, broker: Broker, state: BrokerState) -> ControllerProcess:
    """A controller for which a broker has reached a state; the metadata that it sends changes with it."""
    states: Map[Broker, BrokerState] = Map({b: state if b == broker else controller.states[b] for b in Broker})
    return replace(controller, states=states, metadata=counted(states))


def adopting(controller: ControllerProcess, broker: Broker, incarnation: Incarnation) -> ControllerProcess:
    """A controller that goes by a higher incarnation, to which it owes all control requests.

    That it is a legacy one is seen by its registration, and not by a heartbeat, which a legacy one does not send.
    With bounce_fences the lower one fails first, and what follows from that is written before the higher one counts.
    """
    if Design.bounce_fences and is_counted(controller.states[broker]):
        return with_state(controller, broker, BrokerState.INACTIVE)
    known: Map[Broker, Option[Incarnation]] = Map(
        {b: incarnation if b == broker else controller.known[b] for b in Broker}
    )
    state = controller.states[broker]
    begun = with_state(controller, broker, BrokerState.INACTIVE if state == BrokerState.INITIAL else state)
    return replace(begun, known=known, owed=controller.owed | {broker}, legacy=controller.legacy - {broker})


def going_by(controller: ControllerProcess, broker: Broker, czxid: Incarnation, legacy: bool) -> ControllerProcess:
    """A controller that has read a higher incarnation in /brokers/ids. Who lives by its znode is active at once."""
    adopted = adopting(controller, broker, czxid)
    if adopted.known[broker] != czxid:
        return adopted
    active = with_state(adopted, broker, BrokerState.ACTIVE) if legacy or not Design.heartbeats else adopted
    return replace(active, legacy=active.legacy | {broker}) if legacy else active


def record_after(s: Cluster, controller: Controller, broker: Broker) -> RecordStatus:
    """The fate of the record once a controller goes by an incarnation: the last member may have lost it."""
    known = s.controllers[controller].known[broker]
    lost = any(
        s.processes[p].owned == known and not s.processes[p].has_record for p in Process if broker_id(p) == broker
    )
    last = s.partition.isr == frozenset({broker}) and known is not None
    return RecordStatus.FORFEITED if s.record == RecordStatus.ACKNOWLEDGED and last and lost else s.record


def record_by_term(s: Cluster, controller: Controller) -> RecordStatus:
    """The fate of the record once a controller has taken office."""
    lost = any(record_after(s, controller, b) == RecordStatus.FORFEITED for b in Broker)
    return RecordStatus.FORFEITED if lost else s.record


def highest(s: Cluster, broker: Broker, incarnation: Option[Incarnation]) -> Option[Incarnation]:
    """The highest incarnation of a broker that any controller ever went by, once one goes by this."""
    before = s.gone_by[broker]
    if incarnation is None or (before is not None and before >= incarnation):
        return before
    return incarnation


def known_on_taking_office(s: Cluster, broker: Broker) -> Option[Incarnation]:
    """The incarnation of a broker that a new controller goes by: the one that the partition names, if it does."""
    incarnation = s.partition.incarnations[broker]
    return incarnation if incarnation is not None else czxid_of(s.ids[broker])


def state_on_taking_office(s: Cluster, broker: Broker) -> BrokerState:
    """A new controller grants each incarnation that it goes by one lease, with lease_begins_anew."""
    registration = s.ids[broker]
    if known_on_taking_office(s, broker) is None:
        return BrokerState.INITIAL
    lives_by_its_znode = registration is not None and (registration.legacy or not Design.heartbeats)
    return BrokerState.ACTIVE if Design.lease_begins_anew or lives_by_its_znode else BrokerState.INACTIVE


def taking_office(s: Cluster, controller: Controller, epoch: ControllerEpoch, software: Software) -> ControllerProcess:
    """A controller that was elected, and has read the ids and the partition. It owes control requests to everybody."""
    states: Map[Broker, BrokerState] = Map({b: state_on_taking_office(s, b) for b in Broker})
    return replace(
        s.controllers[controller],
        epoch=epoch,
        software=software,
        known=Map({b: known_on_taking_office(s, b) for b in Broker}),
        states=states,
        legacy=frozenset(b for b in Broker if is_legacy_registration(s.ids[b])),
        owed=frozenset(Broker),
        metadata=counted(states),
        partition=s.partition,
        view=Map({b: czxid_of(s.ids[b]) if Design.views > 0 else None for b in Broker}),
        missing=frozenset(b for b in Broker if known_on_taking_office(s, b) is None),
    )


def out_of_office(controller: ControllerProcess) -> ControllerProcess:
    """A controller that has left office, and has forgotten its state."""
    return replace(
        controller,
        epoch=None,
        known=Map({b: None for b in Broker}),
        states=Map({b: BrokerState.INITIAL for b in Broker}),
        legacy=frozenset(),
        owed=frozenset(),
        metadata=frozenset(),
        view=Map({b: None for b in Broker}),
        missing=frozenset(),
    )


def is_legacy_registration(registration: Option[Registration]) -> bool:
    return registration is not None and registration.legacy


def czxid_of(registration: Option[Registration]) -> Option[Incarnation]:
    return None if registration is None else registration.czxid


def seen_id(s: Cluster, controller: Controller, broker: Broker) -> Option[Incarnation]:
    """The incarnation in /brokers/ids, as a controller's follower of ZooKeeper has it."""
    return s.controllers[controller].view[broker] if Design.views > 0 else czxid_of(s.ids[broker])
