"""Invariants that only proofs ask for: what may be assumed of the state before a step.

For models with one controller, which is in office, without views, legacy brokers, late copies or shutdowns.
"""

from __future__ import annotations

from checker.lang import invariant
from spec.heartbeat.decisions.registry import is_legacy_registration
from spec.heartbeat.state import Cluster, is_counted, is_legacy
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


# What S2 rests on: who leads, or is to, is in while it is unfenced, or is to be.


@invariant(source="KIP-343, BrokerState Enum")
def nobody_stops(s: Cluster) -> bool:
    """Every process targets ACTIVE."""
    return all(targets_active(s, p) for p in Process)


def targets_active(s: Cluster, process: Process) -> bool:
    heartbeat = s.processes[process].heartbeat
    is_active = heartbeat is None or heartbeat.target == BrokerState.ACTIVE
    return is_active and s.processes[process].target == BrokerState.ACTIVE


@invariant(source="KIP-343, Broker Incarnation ID; design switch czxid_with_create")
def incarnation_is_of_its_own_znode(s: Cluster) -> bool:
    """A process goes by the czxid of the znode that it has created, or by none yet; the one that is there is that."""
    return all(s.processes[p].incarnation in (None, s.processes[p].owned) for p in Process) and all(
        is_the_one_there(s, p) for p in Process
    )


def is_the_one_there(s: Cluster, process: Process) -> bool:
    registration = s.ids[broker_id(process)]
    return registration is None or not s.processes[process].up or registration.czxid == s.processes[process].owned


@invariant(source="KIP-343, MetadataHeartbeatRequest")
def heartbeat_is_of_its_sender(s: Cluster) -> bool:
    """A heartbeat under way is of the incarnation that its sender goes by."""
    return all(is_its_own(s, p) for p in Process)


def is_its_own(s: Cluster, process: Process) -> bool:
    heartbeat = s.processes[process].heartbeat
    return heartbeat is None or heartbeat.incarnation == s.processes[process].incarnation


@invariant(source="KIP-343, Compatibility, Deprecation, and Migration Plan")
def nobody_is_legacy(s: Cluster) -> bool:
    """No process is a legacy one, nor has it registered as one, nor is it taken for one."""
    return (
        all(not is_legacy(s.processes[p]) for p in Process)
        and all(not is_legacy_registration(s.ids[b]) for b in Broker)
        and all(len(s.controllers[c].legacy) == 0 for c in Controller)
    )


@invariant(source="KIP-343, Broker Incarnation ID; design switches leader_incarnation, follower_incarnations")
def named_incarnation_is_known(s: Cluster) -> bool:
    """The controller goes by the incarnations that the partition names."""
    return all(
        s.partition.incarnations[b] is None or s.partition.incarnations[b] == s.controllers[c].known[b]
        for c in Controller
        for b in Broker
    )


@invariant(source="KIP-343, Broker State; design switch grant_is_acknowledged")
def who_owes_nothing_knows_who_leads(s: Cluster) -> bool:
    """A process that has acknowledged all control requests knows of the newest leader epoch."""
    return all(knows_the_newest(s, c, p) for c in Controller for p in Process)


def knows_the_newest(s: Cluster, controller: Controller, process: Process) -> bool:
    own = s.processes[process]
    broker = broker_id(process)
    owes = broker in s.controllers[controller].owed or s.controllers[controller].known[broker] != own.owned
    return not own.up or owes or own.leader_epoch == s.partition.leader_epoch


def may_serve(s: Cluster, process: Process) -> bool:
    """It is unfenced, or a reply that unfences it is under way."""
    own = s.processes[process]
    reply = own.reply
    unfences = (
        reply is not None and reply.error == Error.NONE and is_counted(reply.state) and reply.incarnation == own.owned
    )
    return own.up and (unfences or not own.fenced)


@invariant(source="KIP-343, Broker-Side Heartbeat Timeout; Controller-Side Heartbeat Timeout")
def who_may_serve_is_in(s: Cluster) -> bool:
    """A process that may serve, and leads or is to lead, is in, at its incarnation."""
    return all(not may_serve(s, p) or is_in(s, c, p) for c in Controller for p in Process)


def is_in(s: Cluster, controller: Controller, process: Process) -> bool:
    own = s.controllers[controller]
    broker = broker_id(process)
    known, owned = own.known[broker], s.processes[process].owned
    leads = s.processes[process].leads or s.partition.leader == broker
    return known == owned if is_counted(own.states[broker]) else not leads and known in (None, owned)


@invariant(source="KIP-343, Broker-Side Heartbeat Timeout")
def who_leads_no_more_does_not_serve(s: Cluster) -> bool:
    """A process that takes itself for the leader, and is not, is fenced, and stays so."""
    return all(not s.processes[p].leads or s.partition.leader == broker_id(p) or not may_serve(s, p) for p in Process)
