"""Steps that messages make: what an answer, a refusal or a control request does to who takes it, and nothing else."""

from __future__ import annotations

from checker.lang import Option, transition_invariant
from spec.heartbeat.design import Design
from spec.heartbeat.properties.steps import is_answered, stays_up
from spec.heartbeat.properties.terms import same_term
from spec.heartbeat.state import BrokerProcess, Cluster, IsrChange, is_counted, serves
from spec.heartbeat.types import Broker, Controller, Error, Process, RecordStatus, broker_id


@transition_invariant(source="KIP-343, Controller Logic; Broker-Side Heartbeat Timeout")
def answer_takes_effect(before: Cluster, after: Cluster) -> bool:
    """An answer fences or unfences who takes it, under the lease of who gave it; a refusal changes nothing, nor does
    what a former controller or another incarnation was answered. It is lost where that lease ends before."""
    return all(
        not stays_up(before, after, p)
        or before.processes[p].reply is None
        or after.processes[p].reply is not None
        or is_too_late(before, after, p)
        or (p not in before.cut and before.controllers == after.controllers and has_effect(before, after, p))
        for p in Process
    )


def has_effect(before: Cluster, after: Cluster, process: Process) -> bool:
    own, new, reply = before.processes[process], after.processes[process], before.processes[process].reply
    if reply is None or not (is_answered(before, process, True) or is_answered(before, process, False)):
        return (
            own.fenced == new.fenced and own.leased_by == new.leased_by and own.controller_epoch == new.controller_epoch
        )
    return (
        new.fenced == (not is_counted(reply.state))
        and new.leased_by == reply.by
        and (new.controller_epoch == reply.controller_epoch or not Design.controller_epoch_in_heartbeat)
    )


def is_too_late(before: Cluster, after: Cluster, process: Process) -> bool:
    """In this step the controller that has answered it declares its broker inactive."""
    reply = before.processes[process].reply
    broker = broker_id(process)
    return reply is not None and any(
        reply.by == c
        and is_counted(before.controllers[c].states[broker])
        and not is_counted(after.controllers[c].states[broker])
        for c in Controller
    )


@transition_invariant(source="KIP-343, Initiating ISR Changes; IsrChangeRequest; KIP-903")
def request_is_sent_by_who_serves(before: Cluster, after: Cluster) -> bool:
    """A leader that serves sends one IsrChange for what it asks for, and names whom it adds as it has seen it."""
    return all(
        after.processes[p].change is None
        or after.processes[p].change == before.processes[p].change
        or is_sent_rightly(before.processes[p], after.processes[p], after.processes[p].change)
        for p in Process
    )


def is_sent_rightly(own: BrokerProcess, new: BrokerProcess, request: Option[IsrChange]) -> bool:
    return (
        request is not None
        and serves(own)
        and (own.change is None or len(own.proposed) == 0)
        and request.isr == new.proposed
        and request.incarnation == own.incarnation
        and (request.added is None or not request.isr <= own.isr)
        and all(b not in request.isr or b in own.isr or request.added == own.followers[b] for b in Broker)
    )


@transition_invariant(source="KIP-343, IsrChangeRequest; KIP-497; KIP-841; KIP-903")
def refusal_names_its_reason(before: Cluster, after: Cluster) -> bool:
    """An IsrChange is refused for the first reason there is, by whom it was sent to, or else granted."""
    return all(
        before.processes[p].isr_reply is not None
        or after.processes[p].isr_reply is None
        or is_right(before, after, p, before.processes[p].change)
        for p in Process
    )


def is_right(before: Cluster, after: Cluster, process: Process, request: Option[IsrChange]) -> bool:
    reply, controller = after.processes[process].isr_reply, before.processes[process].controller
    if request is None or reply is None:
        return False
    own, new = before.controllers[controller], after.controllers[controller].partition
    broker = broker_id(process)
    leads = own.partition.leader == broker and own.partition.leader_epoch == request.leader_epoch
    is_new = own.partition.version == request.version or not Design.partition_version
    eligible = all(
        b in own.partition.isr or b not in request.isr or may_join(before, request, b, process) for b in Broker
    )
    return (
        reply.isr == new.isr
        and reply.version == new.version
        and reply.error
        == (
            Error.NOT_CONTROLLER
            if own.epoch is None
            else Error.INVALID_INCARNATION_ID
            if own.known[broker] != request.incarnation
            else Error.NOT_LEADER_FOR_PARTITION
            if not leads
            else Error.INVALID_UPDATE_VERSION
            if not is_new
            else Error.NONE
            if eligible
            else Error.INELIGIBLE_REPLICA
        )
    )


def may_join(s: Cluster, request: IsrChange, member: Broker, process: Process) -> bool:
    """To the controller that is asked a member is active, at the incarnation that the request names."""
    own = s.controllers[s.processes[process].controller]
    return (is_counted(own.states[member]) or not Design.active_members) and (
        own.known[member] == request.added or not Design.member_incarnations
    )


@transition_invariant(source="KIP-343, IsrChangeResponse; KIP-497 (L4)")
def answer_settles_the_request(before: Cluster, after: Cluster) -> bool:
    """An answer ends the wait for an ISR, unless the leader is to hear otherwise what became of its leadership."""
    return all(
        not takes_isr_answer(before, after, p) or is_settled_by(before.processes[p], after.processes[p])
        for p in Process
    )


def takes_isr_answer(before: Cluster, after: Cluster, process: Process) -> bool:
    return (
        stays_up(before, after, process)
        and before.processes[process].isr_reply is not None
        and after.processes[process].isr_reply is None
        and len(before.processes[process].proposed) > 0
        and before.controllers == after.controllers
    )


def is_settled_by(own: BrokerProcess, new: BrokerProcess) -> bool:
    reply = own.isr_reply
    if reply is None:
        return False
    is_news = Design.partition_version and own.version is not None and own.version < reply.version
    refused = reply.error == Error.INVALID_INCARNATION_ID or reply.error == Error.NOT_LEADER_FOR_PARTITION
    if refused or (reply.error == Error.NOT_CONTROLLER and not is_news):
        return new.proposed == own.proposed and new.isr == own.isr and new.version == own.version
    return len(new.proposed) == 0


# Control requests.


@transition_invariant(source="KIP-343, Motivation (it receives no metadata updates)")
def control_request_loses_nothing(before: Cluster, after: Cluster) -> bool:
    """A control request of the controller that a process has turned to leaves what is under way between the two, and
    what the process waits for while its leadership is as it was."""
    return all(
        not is_controlled(before, after, c, p) or keeps_what_it_had(before.processes[p], after.processes[p])
        for c in Controller
        for p in Process
    )


def is_controlled(before: Cluster, after: Cluster, controller: Controller, process: Process) -> bool:
    """In this step a process takes a control request, of the controller that it had turned to."""
    broker = broker_id(process)
    return (
        same_term(before, after, controller)
        and stays_up(before, after, process)
        and broker in before.controllers[controller].owed
        and broker not in after.controllers[controller].owed
        and before.processes[process].controller == controller
        and before.processes[process].owned == before.controllers[controller].known[broker]
    )


def keeps_what_it_had(own: BrokerProcess, new: BrokerProcess) -> bool:
    is_as_it_was = own.leads and own.leader_epoch == new.leader_epoch and own.version == new.version
    return (
        own.heartbeat == new.heartbeat
        and own.change == new.change
        and (
            not is_as_it_was
            or (own.isr_reply == new.isr_reply and own.proposed == new.proposed and own.in_hand == new.in_hand)
        )
    )


@transition_invariant(source="KIP-343, Initiating ISR Changes; Broker-Side Heartbeat Timeout (S5, S8)")
def leader_begins_each_epoch_anew(before: Cluster, after: Cluster) -> bool:
    """With a new leader epoch a leader has seen nobody, waits for nothing, and has no request in hand. In its epoch it
    completes what it has in hand, and who has caught up stays so but for a new record."""
    return all(
        not stays_up(before, after, p)
        or not after.processes[p].leads
        or (
            keeps_what_it_has_seen(before, after, p)
            if before.processes[p].leader_epoch == after.processes[p].leader_epoch
            else has_just_begun(after.processes[p])
        )
        for p in Process
    )


def has_just_begun(process: BrokerProcess) -> bool:
    return (
        all(process.followers[b] is None for b in Broker)
        and len(process.caught_up) == 0
        and len(process.proposed) == 0
        and process.isr_reply is None
        and not process.in_hand
    )


def keeps_what_it_has_seen(before: Cluster, after: Cluster, process: Process) -> bool:
    own, new = before.processes[process], after.processes[process]
    appends = before.record == RecordStatus.UNWRITTEN and after.record == RecordStatus.WRITTEN
    completes = before.record != after.record and after.record == RecordStatus.ACKNOWLEDGED
    return (own.caught_up <= new.caught_up or appends) and (not own.in_hand or new.in_hand or completes)
