"""What processes and controllers remember, and what is under way: soft state that later decisions rest upon.

A decision on what is there no more breaks S1 to S8 much later, in few runs: these say at once that it is out of date.
They hold with the guards that they are for.
"""

from __future__ import annotations

from checker.lang import invariant
from spec.heartbeat.decisions.processes import nobody_seen
from spec.heartbeat.decisions.registry import seen_id
from spec.heartbeat.design import Design
from spec.heartbeat.state import (
    BrokerProcess,
    Cluster,
    ControllerProcess,
    believes_in_office,
    is_legacy,
)
from spec.heartbeat.types import Broker, BrokerState, Controller, Error, Process, RecordStatus, broker_id


@invariant(source="KIP-343, Broker Incarnation ID (identify each instance)")
def stopped_process_has_forgotten(s: Cluster) -> bool:
    """Of a process that is down nothing is left but its disk, and an IsrChange that is under way."""
    return all(s.processes[p].up or (is_blank(s.processes[p]) and p not in s.cut) for p in Process)


def is_blank(process: BrokerProcess) -> bool:
    return (
        process.owned is None
        and (process.incarnation is None or not Design.registration_retried)
        and not process.fenced
        and not process.leads
        and process.leased_by == Controller(0)
        and process.target == BrokerState.ACTIVE
        and process.heartbeat is None
        and process.reply is None
        and process.controller == Controller(0)
        and process.controller_epoch is None
        and process.leader_epoch is None
    )


@invariant(source="KIP-343, Initiating ISR Changes")
def only_leaders_keep_an_isr(s: Cluster) -> bool:
    """Who leads nothing knows no ISR, waits for no answer about one, has seen no follower, and has nothing in hand."""
    return all(
        is_well_informed(s.processes[p]) if s.processes[p].leads else keeps_nothing(s.processes[p]) for p in Process
    )


def keeps_nothing(process: BrokerProcess) -> bool:
    return (
        len(process.isr) == 0
        and process.version is None
        and len(process.proposed) == 0
        and process.isr_reply is None
        and process.followers == nobody_seen()
        and len(process.caught_up) == 0
        and not process.in_hand
    )


def is_well_informed(process: BrokerProcess) -> bool:
    """It runs, in a leader epoch that it was sent; whom it takes for caught up it has seen."""
    return (
        process.up
        and process.leader_epoch is not None
        and process.version is not None
        and all(process.followers[b] is not None for b in process.caught_up)
    )


@invariant(source="KIP-343, Initiating ISR Changes; KIP-497")
def leader_is_as_new_as_its_version(s: Cluster) -> bool:
    """Nobody knows of a later epoch or version than there is; a leader at the newest knows the newest ISR."""
    return all(is_as_new(s, p) for p in Process)


def is_as_new(s: Cluster, number: Process) -> bool:
    process, partition = s.processes[number], s.partition
    leads_newest = (
        process.leads and process.leader_epoch == partition.leader_epoch and partition.leader == broker_id(number)
    )
    return (
        (process.controller_epoch is None or process.controller_epoch <= s.controller_epoch)
        and (process.leader_epoch is None or process.leader_epoch <= partition.leader_epoch)
        and (process.version is None or process.version <= partition.version)
        and (
            not Design.partition_version
            or not leads_newest
            or process.version != partition.version
            or process.isr == partition.isr
        )
    )


@invariant(source="KIP-343, IsrChangeRequest; IsrChangeResponse")
def request_is_what_is_asked_for(s: Cluster) -> bool:
    """While a leader waits, what is under way asks for what it waits for; then comes the answer, and never both."""
    return all(asks_for_it(s.processes[p], p) for p in Process)


def asks_for_it(process: BrokerProcess, number: Process) -> bool:
    request, reply = process.change, process.isr_reply
    asks = request is None or (
        request.sender == number
        and broker_id(number) in request.isr
        and (
            len(process.proposed) == 0
            or (
                request.isr == process.proposed
                and request.leader_epoch == process.leader_epoch
                and (not Design.partition_version or request.version == process.version)
            )
        )
    )
    answered = reply is None or (request is None and len(process.proposed) > 0)
    return asks and (answered or not Design.partition_version)


@invariant(source="KIP-343, Broker Incarnation ID; Controller Logic")
def message_is_of_its_sender(s: Cluster) -> bool:
    """A heartbeat under way says what its sender is and wants; while its answer is under way no other is sent."""
    return all(is_of_its_sender(s.processes[p]) for p in Process)


def is_of_its_sender(process: BrokerProcess) -> bool:
    heartbeat, reply = process.heartbeat, process.reply
    says_so = heartbeat is None or (
        process.up and heartbeat.incarnation == process.incarnation and heartbeat.target == process.target
    )
    alone = heartbeat is None or reply is None or reply.incarnation != heartbeat.incarnation
    is_own = not Design.czxid_with_create or process.incarnation is None or process.incarnation == process.owned
    return says_so and alone and (is_own or not Design.registration_retried)


@invariant(source="KIP-343, Broker-Side Heartbeat Timeout; Broker State")
def who_is_unregistered_is_fenced(s: Cluster) -> bool:
    """A process without an incarnation is fenced; a legacy one never is, and sends neither heartbeat nor IsrChange."""
    return all(is_fenced_as_it_should(s.processes[p]) for p in Process)


def is_fenced_as_it_should(process: BrokerProcess) -> bool:
    if is_legacy(process):
        return not process.fenced and process.heartbeat is None and process.change is None
    return (
        not process.up
        or process.fenced
        or process.incarnation is not None
        or not Design.reregistration_fences
        or not Design.heartbeats
    )


@invariant(source="KIP-343, Broker Incarnation ID; ZooKeeper, Sessions")
def znode_names_its_process(s: Cluster) -> bool:
    """A znode names the process whose session owns it, and says whether that is a legacy one."""
    return all(names_owner(s, b, p) for b in Broker for p in Process)


def names_owner(s: Cluster, broker: Broker, process: Process) -> bool:
    registration = s.ids[broker]
    return (
        registration is None
        or s.processes[process].owned != registration.czxid
        or (
            registration.process == process
            and broker == broker_id(process)
            and registration.legacy == is_legacy(s.processes[process])
        )
    )


@invariant(source="KIP-343, BrokerState Enum; Controller Logic")
def registry_is_of_the_term(s: Cluster) -> bool:
    """A controller out of office has forgotten the brokers; in office it goes by an incarnation of all but INITIAL."""
    return all(
        has_registry(s, c) if believes_in_office(s.controllers[c]) else has_forgotten(s.controllers[c])
        for c in Controller
    )


def has_forgotten(controller: ControllerProcess) -> bool:
    return (
        all(
            controller.known[b] is None and controller.states[b] == BrokerState.INITIAL and controller.view[b] is None
            for b in Broker
        )
        and len(controller.legacy) == 0
        and len(controller.owed) == 0
        and len(controller.metadata) == 0
        and len(controller.missing) == 0
    )


def has_registry(s: Cluster, controller: Controller) -> bool:
    own = s.controllers[controller]
    return all(
        (own.known[b] is None) == (own.states[b] == BrokerState.INITIAL)
        and (b not in own.missing or seen_id(s, controller, b) is None)
        for b in Broker
    )


@invariant(source="KIP-343, Controller Heartbeat (the current controller); ZooKeeper, Consistency Guarantees")
def copy_is_as_new_as_its_version(s: Cluster) -> bool:
    """Who is in office has the newest epoch; a controller's copy of the partition state is what was written once."""
    return all(
        (s.office != c or s.controllers[c].epoch == s.controller_epoch)
        and s.controllers[c].partition.version <= s.partition.version
        and (
            s.controllers[c].partition.version < s.partition.version
            or not Design.zk_writes_fenced
            or s.controllers[c].partition == s.partition
        )
        for c in Controller
    )


@invariant(source="KIP-343, Controller Logic (S1, S7)")
def history_has_the_highest(s: Cluster) -> bool:
    """No controller goes by, and nobody leads by, more than history knows: S1 and S7 are claimed of that."""
    return all(is_in_history(s, c, b) for c in Controller for b in Broker) and all(
        not s.processes[p].leads or leads_in_history(s, s.processes[p]) for p in Process
    )


def is_in_history(s: Cluster, controller: Controller, broker: Broker) -> bool:
    known, gone_by = s.controllers[controller].known[broker], s.gone_by[broker]
    return known is None or (gone_by is not None and known <= gone_by)


def leads_in_history(s: Cluster, process: BrokerProcess) -> bool:
    newest, epoch = s.taken_up, process.leader_epoch
    return epoch is None or (newest is not None and epoch <= newest.leader_epoch)


@invariant(source="KIP-343, Broker State; Motivation (it receives no metadata updates)")
def who_has_acknowledged_is_informed(s: Cluster) -> bool:
    """Who owes a controller no acknowledgement knows of the newest leader epoch that this controller has written."""
    return all(is_informed(s, c, p) for c in Controller for p in Process)


def is_informed(s: Cluster, controller: Controller, process: Process) -> bool:
    own = s.controllers[controller]
    broker = broker_id(process)
    if not believes_in_office(own) or broker in own.owed or not s.processes[process].up:
        return True
    epoch = s.processes[process].leader_epoch
    known = own.known[broker]
    return (
        known is None
        or known != s.processes[process].owned
        or (epoch is not None and epoch >= own.partition.leader_epoch)
    )


@invariant(source="KIP-343, Broker Incarnation ID; design switches leader_incarnation, follower_incarnations")
def partition_names_who_is_known(s: Cluster) -> bool:
    """Where nobody is a legacy broker, the partition state names its leader, and names members by what is known."""
    return Design.legacy_brokers > 0 or (
        (s.partition.leader is None or not Design.leader_incarnation or is_named(s))
        and all(s.partition.incarnations[b] is None or b in s.partition.isr for b in Broker)
        and all(
            s.office != c
            or not Design.zk_writes_fenced
            or s.partition.incarnations[b] is None
            or s.partition.incarnations[b] == s.controllers[c].known[b]
            for c in Controller
            for b in Broker
        )
    )


def is_named(s: Cluster) -> bool:
    return all(s.partition.leader != b or s.partition.incarnations[b] is not None for b in Broker)


@invariant(source="Kafka, replication: leader, in-sync replicas, acks=all (S5)")
def record_is_where_it_was_written(s: Cluster) -> bool:
    """One request is in hand at most, and none once it is acknowledged; what is not written is on no disk."""
    return all(
        (s.record != RecordStatus.UNWRITTEN or not s.processes[p].has_record)
        and (
            not s.processes[p].in_hand
            or (
                (s.record == RecordStatus.UNWRITTEN or s.record == RecordStatus.WRITTEN)
                and all(p == q or not s.processes[q].in_hand for q in Process)
            )
        )
        for p in Process
    )


@invariant(source="KIP-343, IsrChangeResponse; KIP-497")
def answer_is_of_a_version(s: Cluster) -> bool:
    """The answer to a leader says what was written: what it asked for, or what it does not know yet."""
    return all(is_answer(s, s.processes[p]) for p in Process)


def is_answer(s: Cluster, process: BrokerProcess) -> bool:
    reply = process.isr_reply
    return reply is None or (
        reply.version <= s.partition.version
        and (reply.version != s.partition.version or not Design.zk_writes_fenced or reply.isr == s.partition.isr)
        and (
            reply.error != Error.NONE
            or not Design.partition_version
            or (reply.isr == process.proposed and (process.version is None or process.version < reply.version))
        )
    )
