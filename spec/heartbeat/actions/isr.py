"""ISR changes by way of the controller: the leader asks, the controller checks, writes and answers."""

from __future__ import annotations

from typing import Annotated

from checker.lang import MemberOf, Option, Set, action, choose, fresh, replace, require, require_some
from spec.heartbeat.decisions.partition import can_write, is_settled, named
from spec.heartbeat.design import Design
from spec.heartbeat.state import (
    BrokerProcess,
    Cluster,
    ControllerProcess,
    IsrChange,
    IsrReply,
    PartitionState,
    is_counted,
    is_legacy,
    serves,
)
from spec.heartbeat.types import Broker, Controller, Error, Incarnation, Process, Version, broker_id

LateCopy = Annotated[IsrChange, MemberOf("late")]


def may_ask(process: BrokerProcess) -> bool:
    """A leader that serves, and has no change outstanding."""
    return serves(process) and len(process.proposed) == 0


def request_of(
    process: Process, own: BrokerProcess, incarnation: Incarnation, isr: Set[Broker], added: Option[Incarnation]
) -> Option[IsrChange]:
    """The request for an ISR. A legacy leader writes it to ZooKeeper itself."""
    if is_legacy(own) or own.leader_epoch is None or own.version is None:
        return None
    return IsrChange(process, incarnation, own.leader_epoch, isr, own.version, added)


@action(who="process {process}", source="KIP-343, Initiating ISR Changes", kafka="Partition.maybeShrinkIsr")
def ask_to_shrink(s: Cluster, process: Process, member: Broker) -> None:
    """The leader asks for an ISR without a member that has not caught up for too long."""
    own = s.processes[process]
    incarnation = require_some(own.incarnation)
    require(may_ask(own) and member != broker_id(process))
    require(member in own.isr and member not in own.caught_up)
    isr = own.isr - {member}
    own.change = request_of(process, own, incarnation, isr, None)
    own.proposed = isr
    own.isr_reply = None


@action(who="process {process}", source="KIP-343, Initiating ISR Changes", kafka="Partition.maybeExpandIsr")
def ask_to_expand(s: Cluster, process: Process, member: Broker) -> None:
    """The leader asks for an ISR with a replica that has caught up, at the incarnation that it has seen."""
    own = s.processes[process]
    incarnation = require_some(own.incarnation)
    seen = require_some(own.followers[member])
    require(may_ask(own) and member not in own.isr and member in own.caught_up)
    isr = own.isr | {member}
    own.change = request_of(process, own, incarnation, isr, seen)
    own.proposed = isr
    own.isr_reply = None


@action(who="process {process}", source="KIP-343, IsrChangeRequest")
def ask_again(s: Cluster, process: Process) -> None:
    """The leader has no answer to what it asked for, and asks for the same again."""
    own = s.processes[process]
    incarnation = require_some(own.incarnation)
    require(serves(own) and len(own.proposed) > 0 and not is_legacy(own))
    require(own.change is None and own.isr_reply is None)
    own.change = request_of(process, own, incarnation, own.proposed, added_seen(own))


def added_seen(process: BrokerProcess) -> Option[Incarnation]:
    """The incarnation at which the leader has seen whom it wants to add."""
    added = process.proposed - process.isr
    return process.followers[choose(b for b in added)] if len(added) > 0 else None


def added_of(request: IsrChange, isr: Set[Broker]) -> Set[Broker]:
    """Who is new in the ISR that is asked for."""
    return request.isr - isr


def isr_error(s: Cluster, controller: Controller, request: IsrChange) -> Error:
    """The error code of an IsrChange: the checks, in this order."""
    own = s.controllers[controller]
    sender = broker_id(request.sender)
    if own.epoch is None:
        return Error.NOT_CONTROLLER
    if own.known[sender] != request.incarnation:
        return Error.INVALID_INCARNATION_ID
    if own.partition.leader != sender or own.partition.leader_epoch != request.leader_epoch:
        return Error.NOT_LEADER_FOR_PARTITION
    if Design.partition_version and own.partition.version != request.version:
        return Error.INVALID_UPDATE_VERSION
    added = added_of(request, own.partition.isr)
    if Design.active_members and not all(is_counted(own.states[b]) for b in added):
        return Error.INELIGIBLE_REPLICA
    if Design.member_incarnations and not all(own.known[b] == request.added for b in added):
        return Error.INELIGIBLE_REPLICA
    return Error.NONE


def is_written(error: Error) -> bool:
    """What was decided changes the partition state."""
    return error == Error.NONE or (error == Error.INELIGIBLE_REPLICA and Design.refusal_raises_version)


def decided(controller: ControllerProcess, request: IsrChange, error: Error, version: Version) -> PartitionState:
    """The partition state that the controller writes: with the ISR that was asked for, or, refused, as it was."""
    partition = controller.partition
    isr = request.isr if error == Error.NONE else partition.isr
    return replace(
        partition,
        isr=isr,
        incarnations=named(controller, partition.leader, isr),
        version=version,
        controller_epoch=partition.controller_epoch if controller.epoch is None else controller.epoch,
    )


def is_answered(process: BrokerProcess, request: IsrChange) -> bool:
    """The process waits for the answer to this request."""
    return process.up and process.leader_epoch == request.leader_epoch and process.proposed == request.isr


def may_answer(s: Cluster, controller: Controller) -> bool:
    """A controller that is in office decides, once all else is decided; one that is not says so at any time."""
    own = s.controllers[controller]
    return own.epoch is None or (is_settled(own) and can_write(s, controller))


@action(who="controller {controller}", source="KIP-343, Initiating ISR Changes; IsrChangeRequest")
def handle_isr_change(s: Cluster, controller: Controller, process: Process) -> None:
    """The controller checks a change of the ISR, and makes it, or refuses it."""
    own = s.controllers[controller]
    request = require_some(s.processes[process].change)
    require(process not in s.cut and s.processes[process].controller == controller)
    require(may_answer(s, controller))
    error = isr_error(s, controller, request)
    if is_written(error):
        own.partition = decided(own, request, error, fresh(s, Version))
        s.partition = s.controllers[controller].partition
    s.processes[process].change = None
    if is_answered(s.processes[process], request):
        partition = s.controllers[controller].partition
        s.processes[process].isr_reply = IsrReply(
            error, request.incarnation, partition.leader_epoch, partition.isr, partition.version
        )


@action(who="controller {controller}", source="KIP-343, IsrChangeRequest (nothing in it tells a late copy apart)")
def handle_late_copy(s: Cluster, controller: Controller, request: LateCopy) -> None:
    """A late copy of an IsrChange reaches the controller. Its answer is no longer awaited."""
    own = s.controllers[controller]
    require(may_answer(s, controller))
    error = isr_error(s, controller, request)
    s.late = s.late.remove(request)
    if is_written(error):
        own.partition = decided(own, request, error, fresh(s, Version))
        s.partition = s.controllers[controller].partition


@action(
    who="process {process}",
    source="KIP-343, IsrChangeRequest",
    kafka="Partition.handleAlterPartitionUpdate, handleAlterPartitionError",
)
def take_isr_reply(s: Cluster, process: Process) -> None:
    """The leader takes the answer: what was made is committed, what was refused is given up."""
    own = s.processes[process]
    reply = require_some(own.isr_reply)
    require(process not in s.cut)
    own.isr_reply = None
    names_state = Design.partition_version and own.version is not None and reply.version > own.version
    if reply.error == Error.INVALID_INCARNATION_ID or reply.error == Error.NOT_LEADER_FOR_PARTITION:
        own.change = own.change
    elif names_state:
        own.isr = reply.isr
        own.version = reply.version
        own.proposed = frozenset()
    elif reply.error != Error.NOT_CONTROLLER:
        own.isr = own.proposed if reply.error == Error.NONE else own.isr
        own.proposed = frozenset()
