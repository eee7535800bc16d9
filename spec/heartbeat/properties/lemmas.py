"""Invariants that only proofs ask for: what may be assumed of the state before a step.

For models with one controller, which is in office, without views, legacy brokers or late copies.
"""

from __future__ import annotations

from checker.lang import invariant
from spec.heartbeat.state import Cluster, is_counted
from spec.heartbeat.types import Broker, BrokerState, Controller, Error, Process, broker_id


@invariant(source="KIP-343, Controller Heartbeat (the current controller)")
def controller_is_in_office(s: Cluster) -> bool:
    """The one controller is in office, at the newest epoch, and its copy of the partition state is the state."""
    return all(
        s.office == c
        and s.controllers[c].epoch == s.controller_epoch
        and s.controllers[c].partition.version == s.partition.version
        and s.controllers[c].partition.leader == s.partition.leader
        and s.controllers[c].partition.leader_epoch == s.partition.leader_epoch
        and s.controllers[c].partition.isr == s.partition.isr
        and s.controllers[c].partition.incarnations == s.partition.incarnations
        for c in Controller
    )


@invariant(source="KIP-343, Controller Logic")
def known_incarnation_is_the_highest(s: Cluster) -> bool:
    """No controller goes by a lower incarnation than any ever did; one that is registered is no lower either."""
    return all(is_highest(s, c, b) for c in Controller for b in Broker)


def is_highest(s: Cluster, controller: Controller, broker: Broker) -> bool:
    known = s.controllers[controller].known[broker]
    gone_by = s.gone_by[broker]
    registration = s.ids[broker]
    return (known is None or known == gone_by) and (
        gone_by is None or registration is None or registration.czxid >= gone_by
    )


@invariant(source="KIP-343, BrokerState Enum")
def unknown_broker_is_initial(s: Cluster) -> bool:
    """A broker is INITIAL exactly while the controller goes by no incarnation of it."""
    return all(
        (s.controllers[c].known[b] is None) == (s.controllers[c].states[b] == BrokerState.INITIAL)
        for c in Controller
        for b in Broker
    )


@invariant(source="KIP-343, IsrChangeRequest")
def request_keeps_its_sender(s: Cluster) -> bool:
    """An IsrChange is under way from the process that sent it, and has it in the ISR that it asks for."""
    return all(is_well_formed(s, p) for p in Process)


def is_well_formed(s: Cluster, process: Process) -> bool:
    request = s.processes[process].change
    return request is None or (request.sender == process and broker_id(process) in request.isr)


@invariant(source="KIP-343, Initiating ISR Changes")
def leader_is_in_its_own_isr(s: Cluster) -> bool:
    """A leader is in the ISR that it knows as committed, and in the one that it has asked for."""
    return all(has_itself(s, p) for p in Process)


def has_itself(s: Cluster, process: Process) -> bool:
    own = s.processes[process]
    broker = broker_id(process)
    return (not own.leads or broker in own.isr) and (len(own.proposed) == 0 or broker in own.proposed)


@invariant(source="KIP-343, IsrChangeResponse")
def reply_has_the_leader(s: Cluster) -> bool:
    """The ISR in a reply has the leader in it whom the reply is for, unless it says that this one leads no more."""
    return all(has_own(s, p) for p in Process)


def has_own(s: Cluster, process: Process) -> bool:
    own = s.processes[process]
    reply = own.isr_reply
    if reply is None or reply.error == Error.INVALID_INCARNATION_ID or reply.error == Error.NOT_LEADER_FOR_PARTITION:
        return True
    return broker_id(process) in reply.isr


@invariant(source="KIP-343, IsrChangeResponse")
def reply_is_awaited(s: Cluster) -> bool:
    """A reply is under way to a leader that waits for one."""
    return all(s.processes[p].isr_reply is None or is_waiting(s, p) for p in Process)


def is_waiting(s: Cluster, process: Process) -> bool:
    return s.processes[process].leads and len(s.processes[process].proposed) > 0


@invariant(source="KIP-343, Broker Incarnation ID; design switches leader_incarnation, follower_incarnations")
def named_incarnation_is_the_highest(s: Cluster) -> bool:
    """The partition names its leader, and whom it names by the highest incarnation that any controller went by."""
    return all(s.partition.leader != b or s.partition.incarnations[b] is not None for b in Broker) and all(
        s.partition.incarnations[b] is None or s.partition.incarnations[b] == s.gone_by[b] for b in Broker
    )


@invariant(source="KIP-343, Initiating ISR Changes")
def only_leaders_ask(s: Cluster) -> bool:
    """Who does not lead waits for no change of the ISR."""
    return all(s.processes[p].leads or len(s.processes[p].proposed) == 0 for p in Process)


@invariant(source="KIP-343, Broker State")
def leader_epoch_says_who_leads(s: Cluster) -> bool:
    """Who knows the newest leader epoch knows whether it leads; nobody knows a later one."""
    return all(knows_its_part(s, p) for p in Process)


def knows_its_part(s: Cluster, process: Process) -> bool:
    own = s.processes[process]
    newest = s.partition.leader_epoch
    if own.leader_epoch is None or own.leader_epoch < newest:
        return own.leader_epoch is not None or not own.leads
    return own.leader_epoch == newest and own.leads == (s.partition.leader == broker_id(process))


@invariant(source="KIP-343, Controller Logic (the target state)")
def target_is_active_or_stopping(s: Cluster) -> bool:
    """Nobody targets INITIAL or INACTIVE."""
    return all(aims_high(s, p) for p in Process)


def aims_high(s: Cluster, process: Process) -> bool:
    heartbeat = s.processes[process].heartbeat
    return is_counted(s.processes[process].target) and (heartbeat is None or is_counted(heartbeat.target))


# What S8 rests on: a leader of the newest leader epoch, and what it has under way.


def leads_newest(s: Cluster, process: Process) -> bool:
    """It leads, and knows of the newest leader epoch."""
    return s.processes[process].leads and s.processes[process].leader_epoch == s.partition.leader_epoch


@invariant(source="KIP-343, Broker State")
def stopped_process_leads_nothing(s: Cluster) -> bool:
    """A process that is down does not lead."""
    return all(s.processes[p].up or not s.processes[p].leads for p in Process)


@invariant(source="KIP-343, Initiating ISR Changes; KIP-497")
def leader_knows_its_version(s: Cluster) -> bool:
    """A leader knows of no version that is yet to be, and with the newest version the ISR."""
    return all(not s.processes[p].leads or knows_its_isr(s, p) for p in Process)


def knows_its_isr(s: Cluster, process: Process) -> bool:
    own = s.processes[process]
    if own.version is None or own.version > s.partition.version:
        return False
    return not leads_newest(s, process) or own.version < s.partition.version or own.isr == s.partition.isr


@invariant(source="KIP-343, IsrChangeRequest; KIP-497")
def request_is_what_is_proposed(s: Cluster) -> bool:
    """Of the IsrChanges under way, one that can be granted asks for the ISR that its leader reckons with."""
    return all(asks_for_its_own(s, p) for p in Process)


def asks_for_its_own(s: Cluster, process: Process) -> bool:
    own = s.processes[process]
    request = own.change
    if request is None or not own.up:
        return True
    is_former = own.leader_epoch is not None and request.leader_epoch < own.leader_epoch
    is_proposed = request.isr == own.proposed and own.version == request.version
    can_be_granted = leads_newest(s, process) and request.version == s.partition.version
    is_of_now = own.leader_epoch == request.leader_epoch and request.version <= s.partition.version
    return is_former or (is_of_now and (is_proposed or not can_be_granted))


@invariant(source="KIP-343, IsrChangeResponse; KIP-497")
def reply_is_current(s: Cluster) -> bool:
    """A reply under way to a leader says what the partition state is, and what was made is news to it."""
    return all(is_current(s, p) for p in Process)


def is_current(s: Cluster, process: Process) -> bool:
    own = s.processes[process]
    reply = own.isr_reply
    if reply is None:
        return True
    if not leads_newest(s, process):
        return reply.version <= s.partition.version
    says_it = reply.version == s.partition.version and reply.isr == s.partition.isr
    is_news = reply.error != Error.NONE or own.version is None or own.version < reply.version
    return own.change is None and says_it and is_news
