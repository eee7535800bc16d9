"""Two controllers: one loses its session and has yet to hear of it, the other takes office."""

from __future__ import annotations

from checker.lang import Map, action, fresh, replace, require, require_some
from spec.heartbeat.decisions.processes import goes_to
from spec.heartbeat.decisions.registry import highest, out_of_office, record_by_term, taking_office
from spec.heartbeat.design import Design
from spec.heartbeat.state import BrokerProcess, Cluster, believes_in_office
from spec.heartbeat.types import Broker, Controller, ControllerEpoch, Process


@action(who="ZooKeeper", source="ZooKeeper, Sessions; KAFKA-6082")
def expire_controller_session(s: Cluster) -> None:
    """The session of the controller in office ends, and /controller with it. It has yet to learn of that."""
    require(s.office is not None and s.faults.failovers < Design.max_failovers)
    s.office = None
    s.faults.failovers += 1


@action(
    who="controller {controller}",
    source="KIP-343, Controller Heartbeat (the current controller)",
    kafka="KafkaController.elect, onControllerFailover",
)
def take_office(s: Cluster, controller: Controller) -> None:
    """A controller creates /controller and raises the epoch in one multi; each lease begins anew with it."""
    require(s.office is None and not believes_in_office(s.controllers[controller]))
    issued = fresh(s, ControllerEpoch)
    s.office = controller
    s.controller_epoch = issued
    s.controllers[controller] = taking_office(s, controller, issued, s.controllers[controller].software)
    s.gone_by = Map({b: highest(s, b, s.controllers[controller].known[b]) for b in Broker})
    s.record = record_by_term(s, controller)
    if Design.lease_begins_anew:
        s.processes = Map({p: covered_by(s.processes[p], controller) for p in Process})


def covered_by(process: BrokerProcess, controller: Controller) -> BrokerProcess:
    """A process that runs: its lease, and that of a reply under way to it, is over before one that begins now."""
    reply = process.reply
    leased_by = controller if process.up else process.leased_by
    return replace(process, leased_by=leased_by, reply=None if reply is None else replace(reply, by=controller))


@action(
    who="controller {controller}",
    source="KIP-343, Controller Heartbeat (the current controller)",
    kafka="KafkaController.maybeResign, ControllerMovedException",
)
def hear_of_expiry(s: Cluster, controller: Controller) -> None:
    """A former controller learns that it is not in office any more."""
    require(believes_in_office(s.controllers[controller]) and s.office != controller)
    s.controllers[controller] = out_of_office(s.controllers[controller])


@action(who="process {process}", source="KIP-343, Controller Heartbeat (the current controller)")
def find_controller(s: Cluster, process: Process) -> None:
    """A process reads /controller, and turns to whom it names."""
    office = require_some(s.office)
    require(s.processes[process].up and s.processes[process].controller != office)
    s.processes[process] = goes_to(s.processes[process], office)
