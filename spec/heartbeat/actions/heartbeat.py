"""Heartbeats: sent, handled by the controller, answered; and the two timeouts."""

from __future__ import annotations

from checker.lang import Map, action, replace, require, require_some
from spec.heartbeat.decisions.leases import (
    can_read,
    handles_heartbeats,
    has_to_wait,
    is_contact,
    is_over,
    is_silent,
    is_valid,
    lives_by_its_znode,
)
from spec.heartbeat.decisions.partition import is_settled
from spec.heartbeat.decisions.processes import stopped
from spec.heartbeat.decisions.registry import adopting, highest, record_after, with_state
from spec.heartbeat.design import Design
from spec.heartbeat.state import (
    BrokerProcess,
    Cluster,
    ControllerProcess,
    Heartbeat,
    HeartbeatReply,
    believes_in_office,
    is_counted,
    is_legacy,
    is_registered,
)
from spec.heartbeat.types import Broker, BrokerState, Controller, Error, Incarnation, Process, broker_id


@action(who="process {process}", source="KIP-343, Controller Heartbeat; MetadataHeartbeatRequest")
def send_heartbeat(s: Cluster, process: Process) -> None:
    """A process sends a heartbeat with its target: periodically, and at once after registering or with a new target."""
    own = s.processes[process]
    incarnation = require_some(own.incarnation)
    epoch = require_some(own.controller_epoch) if own.controller_epoch is not None else s.controller_epoch
    require(own.up and Design.heartbeats and not is_legacy(own) and own.heartbeat is None)
    require(own.reply is None or own.reply.incarnation != incarnation)
    own.heartbeat = Heartbeat(incarnation, own.target, epoch)


def reached(controller: ControllerProcess, broker: Broker, target: BrokerState) -> BrokerState:
    """The state that the controller determines for a broker whose heartbeat counts."""
    state = controller.states[broker]
    if target == BrokerState.STOPPING and Design.exit_signal:
        leads = controller.partition.leader == broker
        return BrokerState.STOPPING if is_counted(state) and leads else BrokerState.INACTIVE
    if not is_counted(state) and Design.fresh_unfence and broker in controller.owed:
        return BrokerState.INACTIVE
    return target


def owes_first(controller: ControllerProcess, broker: Broker, incarnation: Incarnation) -> bool:
    """An active broker has yet to acknowledge control requests: its heartbeat is handled after that."""
    return (
        Design.grant_is_acknowledged
        and controller.known[broker] == incarnation
        and is_counted(controller.states[broker])
        and broker in controller.owed
    )


@action(
    who="controller {controller}",
    source="KIP-343, Controller Logic",
    deviates="a higher incarnation is adopted where the lower one has failed (bounce_fences), and its lease is over "
    "(supersedes_after_lease); until then the answer is INITIAL: fenced, and without leave to exit",
)
def handle_heartbeat(s: Cluster, controller: Controller, process: Process) -> None:
    """The controller checks the incarnation, then the target, renews the lease, and answers with the state reached."""
    own = s.controllers[controller]
    broker = broker_id(process)
    heartbeat = require_some(s.processes[process].heartbeat)
    epoch = require_some(own.epoch)
    require(process not in s.cut and s.processes[process].controller == controller)
    require(handles_heartbeats(own) and is_settled(own) and can_read(s, controller))
    require(not owes_first(own, broker, heartbeat.incarnation))
    error = Error.NONE
    state = BrokerState.INACTIVE
    if Design.controller_epoch_in_heartbeat and heartbeat.controller_epoch > epoch:
        error = Error.NOT_CONTROLLER
    elif not is_valid(s, controller, broker, heartbeat.incarnation):
        error = Error.INVALID_INCARNATION_ID
    elif has_to_wait(s, controller, broker, heartbeat.incarnation):
        state = BrokerState.INITIAL
    else:
        if own.known[broker] != heartbeat.incarnation:
            s.controllers[controller] = adopting(own, broker, heartbeat.incarnation)
        state = BrokerState.INITIAL
        if s.controllers[controller].known[broker] == heartbeat.incarnation:
            before = s.controllers[controller].states[broker]
            after = reached(s.controllers[controller], broker, heartbeat.target)
            leaves = heartbeat.target == BrokerState.STOPPING and is_counted(before) and after == BrokerState.INACTIVE
            state = BrokerState.STOPPING if leaves else after
            s.controllers[controller] = with_state(s.controllers[controller], broker, after)
            s.gone_by[broker] = highest(s, broker, heartbeat.incarnation)
            s.record = record_after(s, controller, broker)
    s.processes[process].heartbeat = None
    s.processes[process].reply = HeartbeatReply(error, state, heartbeat.incarnation, epoch, controller)


@action(
    who="process {process}",
    source="KIP-343, Broker-Side Heartbeat Timeout; Controller Logic",
    deviates="an error is no answer: the lease runs on, and is not renewed",
)
def take_reply(s: Cluster, process: Process) -> None:
    """A process takes the reply: ACTIVE and STOPPING unfence it, another fences it; INACTIVE is its leave to exit."""
    own = s.processes[process]
    reply = require_some(own.reply)
    broker = broker_id(process)
    require(process not in s.cut)
    seen = own.controller_epoch
    former = Design.controller_epoch_in_heartbeat and seen is not None and reply.controller_epoch < seen
    another = Design.reply_names_incarnation and reply.incarnation != own.incarnation
    exits = (
        own.target == BrokerState.STOPPING
        and Design.exit_signal
        and reply.error == Error.NONE
        and reply.state == BrokerState.INACTIVE
    )
    own.reply = None
    if not former and not another and reply.error == Error.NONE:
        if Design.controller_epoch_in_heartbeat:
            own.controller_epoch = reply.controller_epoch
        own.fenced = not is_counted(reply.state)
        own.leased_by = reply.by
        if exits and is_registered(s, process):
            s.ids[broker] = None
        if exits:
            s.processes[process] = stopped(s.processes[process])


@action(
    who="process {process}",
    source="KIP-343, Broker-Side Heartbeat Timeout",
    deviates="may come before the controller's timeout or after it, unless broker_fences_first",
)
def self_fence(s: Cluster, process: Process) -> None:
    """A process has had no answer for so long that it fences itself: it accepts no new request."""
    own = s.processes[process]
    require(own.up and not own.fenced and Design.heartbeats and not is_legacy(own))
    require(not is_contact(s, own.controller, process))
    own.fenced = True


@action(who="controller {controller}", source="KIP-343, Controller-Side Heartbeat Timeout")
def expire(s: Cluster, controller: Controller, broker: Broker) -> None:
    """The controller has not heard from a broker for so long that it declares it inactive."""
    own = s.controllers[controller]
    require(believes_in_office(own) and is_settled(own) and is_counted(own.states[broker]))
    require(not lives_by_its_znode(own, broker))
    require(is_silent(s, controller, broker) and is_over(s, controller, broker))
    s.controllers[controller] = with_state(own, broker, BrokerState.INACTIVE)
    if Design.broker_fences_first and Design.lease_from_sending:
        s.processes = Map({p: without_late_reply(s, controller, broker, p) for p in Process})


def without_late_reply(s: Cluster, controller: Controller, broker: Broker, process: Process) -> BrokerProcess:
    """A process once its lease is over: a reply of this controller that is under way to it comes too late."""
    reply = s.processes[process].reply
    late = broker_id(process) == broker and reply is not None and reply.by == controller
    return replace(s.processes[process], reply=None if late else reply)
