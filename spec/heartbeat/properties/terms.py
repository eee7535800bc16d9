"""Steps of controllers: what a term begins with, what makes a broker active or inactive, what is written and sent."""

from __future__ import annotations

from checker.lang import Option, transition_invariant
from spec.heartbeat.actions.heartbeat import owes_first
from spec.heartbeat.decisions.leases import is_over, is_silent, lives_by_its_znode
from spec.heartbeat.decisions.partition import is_settled
from spec.heartbeat.decisions.registry import czxid_of, is_legacy_registration, seen_id
from spec.heartbeat.design import Design
from spec.heartbeat.state import BrokerProcess, Cluster, IsrChange, believes_in_office, is_counted, is_legacy
from spec.heartbeat.types import Broker, BrokerState, Controller, Error, Process, broker_id


def same_term(before: Cluster, after: Cluster, controller: Controller) -> bool:
    return before.controllers[controller].epoch is not None and (
        before.controllers[controller].epoch == after.controllers[controller].epoch
    )


@transition_invariant(source="KIP-343, Controller Heartbeat (the current controller); BrokerState Enum")
def term_begins_with_what_is_there(before: Cluster, after: Cluster) -> bool:
    """A term begins with a new epoch, and with what ZooKeeper has; the controller owes requests to everybody."""
    return all(
        before.controllers[c].epoch == after.controllers[c].epoch
        or (after.controllers[c].epoch is None and before.office != c)
        or begins(before, after, c)
        for c in Controller
    )


@transition_invariant(source="KIP-343, Controller Heartbeat (the current controller)")
def office_is_taken_while_it_is_vacant(before: Cluster, after: Cluster) -> bool:
    """Who takes office finds nobody in it, and knows that a term of its own is over."""
    return all(
        after.office != c
        or before.controller_epoch == after.controller_epoch
        or (before.office is None and not believes_in_office(before.controllers[c]))
        for c in Controller
    )


def begins(before: Cluster, after: Cluster, controller: Controller) -> bool:
    new = after.controllers[controller]
    return (
        before.controller_epoch < after.controller_epoch
        and new.epoch == after.controller_epoch
        and after.office == controller
        and new.partition == after.partition
        and new.owed == frozenset(Broker)
        and all(is_read(before, after, controller, b) for b in Broker)
        and (Design.controllers > 1 or all(nothing_is_sent(after, p) for p in Process))
    )


def nothing_is_sent(s: Cluster, process: Process) -> bool:
    """What was under way to the former controller is lost, where that is gone."""
    return s.processes[process].heartbeat is None and s.processes[process].change is None


def is_read(before: Cluster, after: Cluster, controller: Controller, broker: Broker) -> bool:
    """A new controller goes by the incarnation that the partition names, or else the one that is registered."""
    new = after.controllers[controller]
    named = before.partition.incarnations[broker]
    registration = before.ids[broker]
    goes_by = new.known[broker] == (czxid_of(registration) if named is None else named)
    is_active = new.states[broker] == BrokerState.ACTIVE or new.known[broker] is None
    return (
        goes_by
        and (broker in new.legacy) == is_legacy_registration(registration)
        and (broker in new.missing) == (new.known[broker] is None)
        and (is_active or not Design.lease_begins_anew)
        and new.view[broker] == (czxid_of(registration) if Design.views > 0 else None)
    )


@transition_invariant(source="KIP-343, Controller-Side Heartbeat Timeout; KIP-380 (L1)")
def broker_goes_out_for_a_cause(before: Cluster, after: Cluster) -> bool:
    """A broker is out once its lease is over, its znode is gone, it has asked for it, or a higher one is waiting."""
    return all(
        not same_term(before, after, c)
        or not is_counted(before.controllers[c].states[b])
        or is_counted(after.controllers[c].states[b])
        or has_cause_to_go(before, after, c, b)
        for c in Controller
        for b in Broker
    )


def has_cause_to_go(before: Cluster, after: Cluster, controller: Controller, broker: Broker) -> bool:
    own = before.controllers[controller]
    if after.controllers[controller].states[broker] != BrokerState.INACTIVE:
        return False
    by_znode = not Design.supersedes_after_lease or lives_by_its_znode(own, broker)
    registered = seen_id(before, controller, broker)
    lease_is_over = is_silent(before, controller, broker) and is_over(before, controller, broker)
    return (
        (lease_is_over and not lives_by_its_znode(own, broker))
        or (
            by_znode
            and registered != own.known[broker]
            and (registered is not None or broker in after.controllers[controller].missing)
        )
        or any(broker_id(p) == broker and has_asked(before, after, controller, p) for p in Process)
    )


def has_asked(before: Cluster, after: Cluster, controller: Controller, process: Process) -> bool:
    """The heartbeat of a process that stops, and leads nothing, was handled; or that of a higher incarnation."""
    heartbeat = before.processes[process].heartbeat
    own = before.controllers[controller]
    broker = broker_id(process)
    if heartbeat is None or after.processes[process].heartbeat is not None or own.epoch is None:
        return False
    if own.known[broker] != heartbeat.incarnation:
        return not Design.supersedes_after_lease or not is_counted(own.states[broker])
    return (
        heartbeat.target == BrokerState.STOPPING and Design.exit_signal and own.partition.leader != broker
    ) or not Design.exit_signal


@transition_invariant(source="KIP-343, Controller Logic; Broker State (L2)")
def broker_comes_in_by_a_heartbeat(before: Cluster, after: Cluster) -> bool:
    """A broker is active, or stopping, by its heartbeat, once it has acknowledged all; a legacy one by its znode."""
    return all(
        not same_term(before, after, c)
        or before.controllers[c].states[b] == after.controllers[c].states[b]
        or not is_counted(after.controllers[c].states[b])
        or has_cause_to_come(before, after, c, b)
        for c in Controller
        for b in Broker
    )


def has_cause_to_come(before: Cluster, after: Cluster, controller: Controller, broker: Broker) -> bool:
    own, new = before.controllers[controller], after.controllers[controller]
    if not Design.grant_is_acknowledged:  # a broker may then come in with what it has not acknowledged
        return True
    if broker in new.legacy or not Design.heartbeats:
        return new.states[broker] == BrokerState.ACTIVE and new.known[broker] == seen_id(before, controller, broker)
    return (not Design.fresh_unfence or broker not in own.owed) and any(
        broker_id(p) == broker and is_handled(before, after, controller, p) for p in Process
    )


def is_handled(before: Cluster, after: Cluster, controller: Controller, process: Process) -> bool:
    """A heartbeat of the incarnation that the controller goes by was handled, whose target is the state reached."""
    heartbeat = before.processes[process].heartbeat
    new = after.controllers[controller]
    broker = broker_id(process)
    return (
        heartbeat is not None
        and after.processes[process].heartbeat is None
        and process not in before.cut
        and before.processes[process].controller == controller
        and heartbeat.incarnation == new.known[broker]
        and heartbeat.target == new.states[broker]
    )


@transition_invariant(source="KIP-343, MetadataHeartbeatResponse; Controller Logic")
def answer_is_what_was_decided(before: Cluster, after: Cluster) -> bool:
    """A heartbeat is answered once, by whom it was sent to, with the state that its sender has there, or an error."""
    return all(
        after.processes[p].reply is None
        or before.processes[p].heartbeat is None
        or not after.processes[p].up
        or after.processes[p].heartbeat is not None
        or before.processes[p].controller != after.processes[p].controller
        or before.processes[p].owned != after.processes[p].owned
        or before.controller_epoch != after.controller_epoch
        or before.processes[p].target != after.processes[p].target
        or any(before.processes[p].controller == c and is_answer(before, after, c, p) for c in Controller)
        for p in Process
    )


def is_answer(before: Cluster, after: Cluster, controller: Controller, process: Process) -> bool:
    heartbeat, reply = before.processes[process].heartbeat, after.processes[process].reply
    own, new = before.controllers[controller], after.controllers[controller]
    broker = broker_id(process)
    if heartbeat is None or reply is None or own.epoch is None:
        return False
    if owes_first(own, broker, heartbeat.incarnation):
        return False
    goes_by = new.known[broker] == heartbeat.incarnation
    counts = is_counted(new.states[broker])
    registered = czxid_of(before.ids[broker]) == heartbeat.incarnation or not Design.checks_registration
    known = new.known[broker]
    lower = known is None or known <= heartbeat.incarnation
    newer = heartbeat.controller_epoch > own.epoch and Design.controller_epoch_in_heartbeat
    error = Error.NOT_CONTROLLER if newer else Error.NONE if registered and lower else Error.INVALID_INCARNATION_ID
    return (
        reply.incarnation == heartbeat.incarnation
        and reply.controller_epoch == own.epoch
        and reply.by == controller
        and reply.error == error
        and (reply.error == Error.NONE or reply.state == BrokerState.INACTIVE)
        and (
            reply.error != Error.NONE
            or not Design.exit_signal
            or is_counted(reply.state) == (goes_by and (counts or is_counted(own.states[broker])))
        )
        and (reply.error != Error.NONE or (reply.state == BrokerState.INITIAL) == (not goes_by))
    )


@transition_invariant(source="KIP-343, Controller Logic; KIP-380 (S1)")
def incarnation_follows_a_lower_one(before: Cluster, after: Cluster) -> bool:
    """In a term a controller goes by a higher incarnation than before, which is registered, or which has a heartbeat;
    the lower one is out by then, and the higher one is owed all control requests."""
    return all(
        not same_term(before, after, c)
        or before.controllers[c].known[b] == after.controllers[c].known[b]
        or follows(before, after, c, b)
        for c in Controller
        for b in Broker
    )


def follows(before: Cluster, after: Cluster, controller: Controller, broker: Broker) -> bool:
    own, new = before.controllers[controller], after.controllers[controller]
    known, higher = own.known[broker], new.known[broker]
    return (
        higher is not None
        and (known is None or known < higher)
        and (not is_counted(own.states[broker]) or not Design.bounce_fences)
        and broker in new.owed
        and (czxid_of(before.ids[broker]) == higher or Design.views > 0 or not Design.checks_registration)
        and after.gone_by[broker] == higher
    )


@transition_invariant(source="KIP-343, Broker State; Initiating ISR Changes (S4, S7)")
def isr_changes_for_a_cause(before: Cluster, after: Cluster) -> bool:
    """In a leader epoch the ISR becomes what its leader has asked for, at the version that it knows, or, refused, only
    the version is raised; with the next leader epoch it loses who is out."""
    old, new = before.partition, after.partition
    if old == new:
        return True
    if old.leader_epoch != new.leader_epoch:
        return any(is_led_anew(before, after, c) for c in Controller)
    if old.leader != new.leader:
        return False
    return (
        any(asks_for(before, p, before.processes[p].change, after) for p in Process)
        or any(request not in after.late and is_decided(before, request, after) for request in before.late)
        or any(is_legacy_write(before, after, p) for p in Process)
    )


def asks_for(before: Cluster, process: Process, request: Option[IsrChange], after: Cluster) -> bool:
    return (
        request is not None
        and process not in before.cut
        and after.processes[process].change is None
        and is_decided(before, request, after)
    )


def is_decided(before: Cluster, request: IsrChange, after: Cluster) -> bool:
    """The partition state is as a request asks for, which knows the one before; or the request was refused by it."""
    is_refused = before.partition.isr == after.partition.isr and Design.refusal_raises_version
    return (
        (request.isr == after.partition.isr or is_refused)
        and request.leader_epoch == before.partition.leader_epoch
        and (request.version == before.partition.version or not Design.partition_version)
    )


def is_legacy_write(before: Cluster, after: Cluster, process: Process) -> bool:
    """A legacy leader's write, of the ISR that it asks for, and no incarnation; it knows, or its reply is lost."""
    own, new = before.processes[process], after.processes[process]
    learns = new.version == after.partition.version and new.isr == after.partition.isr and len(new.proposed) == 0
    return (
        is_legacy(own)
        and own.proposed == after.partition.isr
        and own.version == before.partition.version
        and all(after.partition.incarnations[b] is None for b in Broker)
        and learns == (before.faults.lost_replies == after.faults.lost_replies)
    )


def is_led_anew(before: Cluster, after: Cluster, controller: Controller) -> bool:
    """This controller's write: with a leader that is in, and without who is out, unless they are the last."""
    own, new = before.controllers[controller], after.partition
    return (
        own.epoch is not None
        and own.epoch == new.controller_epoch
        and (not is_settled(own) or any(own.states[b] == BrokerState.STOPPING for b in Broker))
        and after.controllers[controller].partition == new
        and after.controllers[controller].owed == frozenset(Broker)
        and before.partition.version < new.version
        and all(b not in before.partition.isr or b in new.isr or not is_counted(own.states[b]) for b in Broker)
        and new.isr <= before.partition.isr
        and all(new.leader != b or (is_counted(own.states[b]) and b in new.isr) for b in Broker)
        and all(
            before.partition.leader != b
            or new.leader == b
            or not is_counted(own.states[b])
            or (is_active_besides(before, controller, b) and (new.leader is None or not Design.handover_acknowledged))
            for b in Broker
        )
        and all(
            before.partition.leader != b
            or is_counted(own.states[b])
            or (new.leader is not None) == is_active_besides(before, controller, b)
            for b in Broker
        )
    )


def is_active_besides(s: Cluster, controller: Controller, broker: Broker) -> bool:
    """To a controller some other member of the ISR is active: it can lead."""
    return any(
        b != broker and b in s.partition.isr and s.controllers[controller].states[b] == BrokerState.ACTIVE
        for b in Broker
    )


@transition_invariant(source="KIP-343, Controller Logic; Kafka, the controller (one event after another)")
def unsettled_controller_writes_first(before: Cluster, after: Cluster) -> bool:
    """Where the brokers' states ask for a change of the partition, a controller decides, answers and sends nothing
    before it has written that."""
    return all(
        not same_term(before, after, c) or is_settled(before.controllers[c]) or only_writes(before, after, c)
        for c in Controller
    )


def only_writes(before: Cluster, after: Cluster, controller: Controller) -> bool:
    own, new = before.controllers[controller], after.controllers[controller]
    return (
        own.states == new.states
        and own.known == new.known
        and own.owed <= new.owed
        and (
            own.partition == new.partition
            or new.partition == before.partition
            or own.partition.leader_epoch < new.partition.leader_epoch
        )
        and (len(before.late) <= len(after.late) or is_anothers(before, controller))
        and all(hears_nothing(before, after, controller, p) for p in Process)
    )


def is_anothers(s: Cluster, controller: Controller) -> bool:
    """Another controller may take what is under way: it has nothing to write, or is not in office, and says so."""
    return any(c != controller and (s.controllers[c].epoch is None or is_settled(s.controllers[c])) for c in Controller)


def hears_nothing(before: Cluster, after: Cluster, controller: Controller, process: Process) -> bool:
    """A process is not answered by a controller, which takes no IsrChange of it, either."""
    own, new = before.processes[process], after.processes[process]
    return (new.reply is None or new.reply == own.reply or new.reply.by != controller) and (
        own.controller != controller
        or new.controller != controller
        or own.change is None
        or new.change is not None
        or before.controllers != after.controllers
    )


@transition_invariant(source="KIP-343, Motivation (it receives no metadata updates); Broker State")
def request_is_acknowledged_by_who_takes_it(before: Cluster, after: Cluster) -> bool:
    """A controller is owed an acknowledgement no more by who has taken its partition state in this step."""
    return all(
        not same_term(before, after, c)
        or b not in before.controllers[c].owed
        or b in after.controllers[c].owed
        or any(broker_id(p) == b and has_taken(before, after, c, p) for p in Process)
        for c in Controller
        for b in Broker
    ) and all(
        not after.processes[p].up
        or before.processes[p].leader_epoch == after.processes[p].leader_epoch
        or any(has_taken(before, after, c, p) for c in Controller)
        for p in Process
    )


def has_taken(before: Cluster, after: Cluster, controller: Controller, process: Process) -> bool:
    own, new = before.controllers[controller], after.processes[process]
    broker = broker_id(process)
    epoch = new.leader_epoch
    return (
        own.epoch is not None
        and broker in own.owed
        and own.known[broker] is not None
        and own.known[broker] == new.owned
        and process not in before.cut
        and new.controller == controller
        and new.controller_epoch == own.epoch
        and epoch is not None
        and (
            new.leads == (own.partition.leader == broker)
            if epoch == own.partition.leader_epoch
            else epoch > own.partition.leader_epoch
        )
        and (
            not new.leads
            or epoch != own.partition.leader_epoch
            or (new.version is not None and own.partition.version <= new.version)
        )
    )


@transition_invariant(source="KIP-343, IsrChangeResponse; KIP-497 (L4)")
def leader_takes_the_answer(before: Cluster, after: Cluster) -> bool:
    """A leader that takes an answer knows the ISR that it names, and waits no more, unless it is to hear of its fate
    otherwise."""
    return all(
        not Design.partition_version
        or before.processes[p].leader_epoch != after.processes[p].leader_epoch
        or not after.processes[p].leads
        or (
            before.processes[p].version == after.processes[p].version
            and not gives_up_its_own(before.processes[p], after.processes[p])
        )
        or is_told_of_version(before, after, p)
        for p in Process
    )


def gives_up_its_own(own: BrokerProcess, new: BrokerProcess) -> bool:
    """A legacy leader waits no more for the ISR that it wanted to write."""
    return is_legacy(own) and len(own.proposed) > 0 and len(new.proposed) == 0


def is_told_of_version(before: Cluster, after: Cluster, process: Process) -> bool:
    """By the answer, or by a control request that is owed to it; a legacy leader reads, once it is behind, and writes
    itself."""
    own, new = before.processes[process], after.processes[process]
    is_news = before.partition != after.partition or own.version != before.partition.version
    reads = is_legacy(new) and is_news and new.isr == after.partition.isr and new.version == after.partition.version
    sent = any(
        broker_id(process) in before.controllers[c].owed
        and before.controllers[c].partition.version == new.version
        and before.controllers[c].partition.isr == new.isr
        for c in Controller
    )
    return len(new.proposed) == 0 and (reads or sent or is_named_in_answer(before, after, process))


def is_named_in_answer(before: Cluster, after: Cluster, process: Process) -> bool:
    reply, new = before.processes[process].isr_reply, after.processes[process]
    return reply is not None and reply.isr == new.isr and reply.version == new.version
