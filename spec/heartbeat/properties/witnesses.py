"""States that a model must be able to reach; where it cannot, its properties hold vacuously."""

from __future__ import annotations

from checker.lang import witness
from spec.heartbeat.actions.replica import accepts_fetch
from spec.heartbeat.decisions.partition import is_settled
from spec.heartbeat.state import Cluster, is_counted, is_legacy, serves
from spec.heartbeat.types import Broker, BrokerState, Controller, Error, Process, RecordStatus, broker_id


@witness
def inactive(s: Cluster) -> bool:
    """A broker is INACTIVE."""
    return any(s.controllers[c].states[b] == BrokerState.INACTIVE for c in Controller for b in Broker)


@witness
def self_fenced_leader(s: Cluster) -> bool:
    """A process that believes to lead has fenced itself, and the controller goes by its leadership still."""
    return any(
        s.processes[p].up
        and s.processes[p].fenced
        and s.processes[p].leads
        and s.partition.leader_epoch == s.processes[p].leader_epoch
        for p in Process
    )


@witness
def another_serves(s: Cluster) -> bool:
    """A process other than the first leader's serves, and the record is acknowledged."""
    return s.record == RecordStatus.ACKNOWLEDGED and any(
        serves(s.processes[p]) and broker_id(p) != Broker(0) for p in Process
    )


@witness
def expanded_after_return(s: Cluster) -> bool:
    """The first leader is back in the ISR, behind another leader."""
    return s.partition.leader is not None and s.partition.leader != Broker(0) and Broker(0) in s.partition.isr


@witness
def invalid_incarnation(s: Cluster) -> bool:
    """A heartbeat was refused for its incarnation."""
    return any(is_refused(s, p) for p in Process)


def is_refused(s: Cluster, process: Process) -> bool:
    reply = s.processes[process].reply
    return reply is not None and reply.error == Error.INVALID_INCARNATION_ID


@witness
def told_to_wait(s: Cluster) -> bool:
    """A broker whose heartbeat counts is answered that it is out: it has yet to acknowledge, or a lower one to go."""
    return any(is_told_to_wait(s, p) for p in Process)


def is_told_to_wait(s: Cluster, process: Process) -> bool:
    reply = s.processes[process].reply
    return reply is not None and reply.error == Error.NONE and not is_counted(reply.state)


@witness
def acknowledged_alone(s: Cluster) -> bool:
    """A leader that is alone in the ISR has acknowledged the record: nobody else has it."""
    return s.record == RecordStatus.ACKNOWLEDGED and any(not s.processes[p].has_record for p in Process)


@witness
def bounce_shows_in_its_czxid(s: Cluster) -> bool:
    """A broker that is in has registered anew, and nothing says so yet but the czxid of its znode."""
    return any(is_bounced(s, c, b) for c in Controller for b in Broker)


def is_bounced(s: Cluster, controller: Controller, broker: Broker) -> bool:
    own, registration = s.controllers[controller], s.ids[broker]
    known = own.known[broker]
    return (
        is_counted(own.states[broker])
        and broker not in own.missing
        and known is not None
        and registration is not None
        and known < registration.czxid
        and not any(broker_id(p) == broker and s.processes[p].heartbeat is not None for p in Process)
    )


@witness
def adopted_by_a_heartbeat(s: Cluster) -> bool:
    """A controller goes by an incarnation that it has heard of by a heartbeat, and has yet to read."""
    return any(is_ahead_of_view(s, c, b) for c in Controller for b in Broker)


def is_ahead_of_view(s: Cluster, controller: Controller, broker: Broker) -> bool:
    known, read = s.controllers[controller].known[broker], s.controllers[controller].view[broker]
    return known is not None and read is not None and read < known


@witness
def late_copy_is_granted(s: Cluster) -> bool:
    """The copy of an IsrChange was granted before its original came."""
    return s.faults.late_copies > 0 and len(s.late) == 0 and any(is_overtaken(s, p) for p in Process)


def is_overtaken(s: Cluster, process: Process) -> bool:
    request = s.processes[process].change
    return (
        request is not None
        and request.leader_epoch == s.partition.leader_epoch
        and request.isr == s.partition.isr
        and request.version < s.partition.version
    )


@witness
def fetch_outlives_its_sender(s: Cluster) -> bool:
    """A leader would accept a fetch that is under way, whose sender is fenced, or dead."""
    return any(
        accepts_fetch(s.processes[p], request.sender, request.leader_epoch, request.incarnation)
        and not any(broker_id(q) == request.sender and is_unfenced(s, q) for q in Process)
        for request in s.late_fetches
        for p in Process
    )


def is_unfenced(s: Cluster, process: Process) -> bool:
    return s.processes[process].up and not s.processes[process].fenced


@witness
def stopping(s: Cluster) -> bool:
    """A broker that is STOPPING leads, and serves."""
    return any(
        s.controllers[c].states[b] == BrokerState.STOPPING and s.partition.leader == b
        for c in Controller
        for b in Broker
    )


@witness
def stops_unknown(s: Cluster) -> bool:
    """A broker that is to stop, and leads, has an incarnation that the controller does not go by yet, and hears so."""
    return any(is_stopping_unknown(s, p) for p in Process)


def is_stopping_unknown(s: Cluster, process: Process) -> bool:
    own = s.processes[process]
    reply = own.reply
    return (
        own.target == BrokerState.STOPPING
        and s.partition.leader == broker_id(process)
        and reply is not None
        and reply.incarnation == own.incarnation
        and reply.state == BrokerState.INITIAL
    )


@witness
def stopped_and_replaced(s: Cluster) -> bool:
    """The first leader has been shut down, and another leads."""
    return (
        s.faults.shutdowns > 0
        and not s.processes[Process(0)].up
        and s.partition.leader is not None
        and s.partition.leader != Broker(0)
    )


@witness
def legacy_leads_beside_new(s: Cluster) -> bool:
    """A legacy broker leads, and one with heartbeats is in the ISR."""
    return any(
        serves(s.processes[p]) and is_legacy(s.processes[p]) and len(s.partition.isr) > 1 and has_new(s)
        for p in Process
    )


def has_new(s: Cluster) -> bool:
    return any(s.processes[p].up and not is_legacy(s.processes[p]) for p in Process)


@witness
def controller_is_behind(s: Cluster) -> bool:
    """A legacy leader has written the ISR, and the controller's copy is behind."""
    return any(s.controllers[c].partition.version != s.partition.version for c in Controller)


@witness
def upgraded(s: Cluster) -> bool:
    """Everybody sends heartbeats, and every replica is in the ISR."""
    return s.partition.isr == frozenset(Broker) and all(
        s.processes[p].up and not is_legacy(s.processes[p]) and not s.processes[p].fenced for p in Process
    )


@witness
def former_controller(s: Cluster) -> bool:
    """A former controller has yet to hear of its successor, and would change the partition."""
    return any(
        s.controllers[c].epoch is not None
        and s.controllers[c].epoch != s.controller_epoch
        and not is_settled(s.controllers[c])
        for c in Controller
    )


@witness
def former_controller_declines(s: Cluster) -> bool:
    """A former controller, whose copy nobody brings up to date, has answered a leader that it is not in office."""
    return any(is_declined(s, p) and not is_settled(s.controllers[s.processes[p].controller]) for p in Process)


def is_declined(s: Cluster, process: Process) -> bool:
    reply = s.processes[process].isr_reply
    return reply is not None and reply.error == Error.NOT_CONTROLLER


@witness
def turns_to_the_successor(s: Cluster) -> bool:
    """A process has turned to the successor of the first controller, and has yet to hear of its epoch."""
    return s.office is not None and any(
        s.processes[p].up
        and s.processes[p].controller == s.office
        and s.office != Controller(0)
        and s.processes[p].controller_epoch != s.controller_epoch
        for p in Process
    )


@witness
def former_controller_reaches_nobody(s: Cluster) -> bool:
    """A former controller, which cannot read ZooKeeper, takes a broker for silent that goes by it."""
    return any(
        s.controllers[c].epoch != s.controller_epoch and is_given_up(s, c, p) and s.processes[p].controller == c
        for c in Controller
        for p in Process
    )


@witness
def who_has_not_turned_is_silent(s: Cluster) -> bool:
    """The controller in office takes a broker for silent that goes by its predecessor."""
    return any(
        s.office == c and is_given_up(s, c, p) and s.processes[p].controller != c for c in Controller for p in Process
    )


def is_given_up(s: Cluster, controller: Controller, process: Process) -> bool:
    own = s.controllers[controller]
    is_out = own.states[broker_id(process)] == BrokerState.INACTIVE
    return own.epoch is not None and is_out and s.processes[process].up


@witness
def two_of_one_id(s: Cluster) -> bool:
    """Two processes of one id run, each with an incarnation of its own."""
    return any(
        p != q
        and broker_id(p) == broker_id(q)
        and s.processes[p].up
        and s.processes[q].up
        and s.processes[p].incarnation is not None
        and s.processes[q].incarnation is not None
        for p in Process
        for q in Process
    )
