"""Steps of processes: who may make a change, and what goes with it. Each says of one kind of step what no state shows
afterwards.
"""

from __future__ import annotations

from checker.lang import transition_invariant
from spec.heartbeat.decisions.leases import is_contact
from spec.heartbeat.decisions.processes import maximal_isr
from spec.heartbeat.design import Design
from spec.heartbeat.state import Cluster, Fetch, is_counted, is_legacy, is_registered, serves
from spec.heartbeat.types import Broker, BrokerState, Controller, Error, Process, RecordStatus, Software, broker_id


def stays_up(before: Cluster, after: Cluster, process: Process) -> bool:
    return before.processes[process].up and after.processes[process].up


@transition_invariant(source="ZooKeeper, Sessions; KIP-343, Broker Incarnation ID")
def znode_goes_with_its_session(before: Cluster, after: Cluster) -> bool:
    """A znode is not overwritten, and goes when its session ends, its process stops, or has died before."""
    return all(
        before.ids[b] is None
        or before.ids[b] == after.ids[b]
        or (
            after.ids[b] is None
            and (
                before.faults.expiries != after.faults.expiries
                or all(
                    not is_registered(before, p) or not stays_up(before, after, p) for p in Process if broker_id(p) == b
                )
            )
        )
        for b in Broker
    )


@transition_invariant(source="KIP-343, Broker Incarnation ID")
def incarnation_is_higher_than_any(before: Cluster, after: Cluster) -> bool:
    """A process registers with a higher incarnation than any it had, and has nothing under way from the former one."""
    return all(
        not after.processes[p].up
        or before.processes[p].owned == after.processes[p].owned
        or registers(before, after, p)
        for p in Process
    )


def registers(before: Cluster, after: Cluster, process: Process) -> bool:
    old, new = before.processes[process].owned, after.processes[process].owned
    return (
        before.processes[process].up
        and before.ids[broker_id(process)] is None
        and new is not None
        and (old is None or old < new)
        and is_registered(after, process)
        and after.processes[process].heartbeat is None
        and after.processes[process].incarnation is None
    )


@transition_invariant(source="KIP-343, Controller Logic; Broker-Side Heartbeat Timeout (S2, S3)")
def fence_falls_by_an_answer(before: Cluster, after: Cluster) -> bool:
    """A process is unfenced by an answer to its own incarnation, of no former controller, that says ACTIVE or
    STOPPING."""
    return all(
        not stays_up(before, after, p)
        or not before.processes[p].fenced
        or after.processes[p].fenced
        or is_answered(before, p, True)
        for p in Process
    )


@transition_invariant(source="KIP-343, Controller Logic; Broker-Side Heartbeat Timeout")
def fence_rises_for_a_cause(before: Cluster, after: Cluster) -> bool:
    """A process fences itself where no answer comes, where one says that it is not in, or where it registers again."""
    return all(
        not stays_up(before, after, p)
        or before.processes[p].fenced
        or not after.processes[p].fenced
        or before.processes[p].owned != after.processes[p].owned
        or not is_contact(before, before.processes[p].controller, p)
        or is_answered(before, p, False)
        for p in Process
    )


def is_answered(s: Cluster, process: Process, unfences: bool) -> bool:
    """An answer is under way that unfences a process, or that fences it."""
    reply, own = s.processes[process].reply, s.processes[process]
    return (
        reply is not None
        and reply.error == Error.NONE
        and is_counted(reply.state) == unfences
        and (reply.incarnation == own.incarnation or not Design.reply_names_incarnation)
        and (
            own.controller_epoch is None
            or own.controller_epoch <= reply.controller_epoch
            or not Design.controller_epoch_in_heartbeat
        )
    )


@transition_invariant(source="KIP-343, Broker State (stopping)")
def process_stops_for_a_cause(before: Cluster, after: Cluster) -> bool:
    """A process stops as it dies, as it is rolled, or as it has the leave to exit; it dies or exits with no other."""
    return all(
        not before.processes[p].up
        or after.processes[p].up
        or before.faults.crashes != after.faults.crashes
        or before.faults.disk_losses != after.faults.disk_losses
        or before.processes[p].software != after.processes[p].software
        or (before.processes[p].target == BrokerState.STOPPING and is_answered(before, p, False))
        for p in Process
    )


@transition_invariant(source='KIP-343, Compatibility, Deprecation, and Migration Plan (the "double roll")')
def software_changes_with_a_restart(before: Cluster, after: Cluster) -> bool:
    """Who gets the next software was up, and is taken down; the second roll begins once the first is over."""
    first_is_over = all(after.processes[p].software != Software.LEGACY for p in Process) and all(
        after.controllers[c].software != Software.LEGACY for c in Controller
    )
    return all(
        before.processes[p].software == after.processes[p].software
        or (before.processes[p].up and not after.processes[p].up)
        for p in Process
    ) and (
        Design.rolls == 0
        or first_is_over
        or (
            all(is_legacy(after.processes[p]) for p in Process)
            and all(after.controllers[c].software != Software.HEARTBEATS for c in Controller)
        )
    )


@transition_invariant(source="KIP-343, Broker State (stopping)")
def target_is_asked_for(before: Cluster, after: Cluster) -> bool:
    """A process stops targeting ACTIVE when it is told to, and not again; what it had sent before it does not count."""
    return all(
        not stays_up(before, after, p)
        or before.processes[p].target == after.processes[p].target
        or (before.faults.shutdowns != after.faults.shutdowns and after.processes[p].target == BrokerState.STOPPING)
        for p in Process
    )


@transition_invariant(source="KIP-343, MetadataHeartbeatRequest")
def heartbeat_names_the_controller_known(before: Cluster, after: Cluster) -> bool:
    """One heartbeat is under way at a time, sent with the controller epoch that its sender has seen."""
    return all(
        before.processes[p].heartbeat == after.processes[p].heartbeat or is_sent_in_epoch(before, after, p)
        for p in Process
    )


def is_sent_in_epoch(before: Cluster, after: Cluster, process: Process) -> bool:
    heartbeat, seen = after.processes[process].heartbeat, before.processes[process].controller_epoch
    return heartbeat is None or (
        before.processes[process].heartbeat is None
        and heartbeat.controller_epoch == (before.controller_epoch if seen is None else seen)
    )


@transition_invariant(source="KIP-343, Motivation (a node can reach ZooKeeper, but not the current controller)")
def nothing_reaches_who_is_cut_off(before: Cluster, after: Cluster) -> bool:
    """Who is cut off from the controller hears nothing of it, neither answers nor requests."""
    return all(
        p not in before.cut
        or not stays_up(before, after, p)
        or (
            before.processes[p].leader_epoch == after.processes[p].leader_epoch
            and before.processes[p].controller_epoch == after.processes[p].controller_epoch
            and (not before.processes[p].fenced or after.processes[p].fenced)
            and (after.processes[p].reply is None or before.processes[p].reply is not None)
            and (after.processes[p].isr_reply is None or before.processes[p].isr_reply is not None)
            and (
                before.processes[p].isr_reply is None
                or after.processes[p].isr_reply is not None
                or len(before.processes[p].proposed) == 0
            )
        )
        for p in Process
    )


@transition_invariant(source="KIP-343, Motivation; IsrChangeRequest; Broker State (stopping)")
def fault_has_its_effect(before: Cluster, after: Cluster) -> bool:
    """What is spent of a budget goes wrong, and nothing is cut off, copied or lost without."""
    old, new = before.faults, after.faults
    return (
        (old.silences != new.silences) == any(p in after.cut and p not in before.cut for p in Process)
        and (old.late_copies == new.late_copies or len(after.late) > len(before.late))
        and (old.late_copies != new.late_copies or len(after.late) <= len(before.late))
        and (
            (old.crashes == new.crashes and old.disk_losses == new.disk_losses)
            or any(before.processes[p].up and not after.processes[p].up for p in Process)
        )
        and (
            old.disk_losses == new.disk_losses
            or all(not before.processes[p].up or after.processes[p].up or is_empty(after, p) for p in Process)
        )
        and (old.expiries == new.expiries or any(before.ids[b] is not None and after.ids[b] is None for b in Broker))
        and (
            old.shutdowns == new.shutdowns
            or any(before.processes[p].target != after.processes[p].target for p in Process)
        )
        and (old.lost_replies == new.lost_replies or before.partition.version < after.partition.version)
        and (
            old.failovers == new.failovers
            or before.controller_epoch < after.controller_epoch
            or (before.office is not None and after.office is None)
        )
    )


def is_empty(s: Cluster, process: Process) -> bool:
    return not s.processes[process].has_record


@transition_invariant(source="Kafka, replication: leader, in-sync replicas, acks=all (S5)")
def record_is_copied_from_the_leader(before: Cluster, after: Cluster) -> bool:
    """A disk gains the record as the leader appends it; a follower is then as its leader is, or has lost its disk."""
    return all(
        before.processes[p].has_record == after.processes[p].has_record
        or (before.faults.disk_losses != after.faults.disk_losses and not after.processes[p].has_record)
        or (before.record == RecordStatus.UNWRITTEN and after.record == RecordStatus.WRITTEN)
        or any(is_fetched(before, after, q, p) for q in Process)
        for p in Process
    )


def is_fetched(before: Cluster, after: Cluster, leader: Process, follower: Process) -> bool:
    """A follower that runs, and is not fenced, may have caught up with this leader in the leader epoch of both."""
    other = before.processes[follower]
    return (
        serves(before.processes[leader])
        and other.up
        and not other.leads
        and (not other.fenced or not Design.fetches_unfenced)
        and other.incarnation is not None
        and other.leader_epoch == before.processes[leader].leader_epoch
        and after.processes[follower].has_record == before.processes[leader].has_record
    )


@transition_invariant(source="Kafka, replication: leader, in-sync replicas, acks=all; KIP-903")
def follower_is_seen_as_it_is(before: Cluster, after: Cluster) -> bool:
    """A leader takes for caught up who has fetched from it in this step, or whose fetch has arrived late: in its leader
    epoch, with all that it has, at the incarnation of the fetch, and no lower one."""
    return all(
        not stays_up(before, after, p)
        or (
            before.processes[p].followers[b] == after.processes[p].followers[b]
            and (b in before.processes[p].caught_up or b not in after.processes[p].caught_up)
        )
        or len(after.processes[p].isr) == 0
        or before.processes[p].leader_epoch != after.processes[p].leader_epoch
        or any(broker_id(q) == b and is_fetched(before, after, p, q) and is_seen(before, after, p, q) for q in Process)
        or any(request.sender == b and is_seen_late(before, after, p, request) for request in before.late_fetches)
        for p in Process
        for b in Broker
    )


def is_seen(before: Cluster, after: Cluster, leader: Process, follower: Process) -> bool:
    broker = broker_id(follower)
    seen = before.processes[leader].followers[broker]
    incarnation = before.processes[follower].incarnation
    return (
        broker in after.processes[leader].caught_up
        and after.processes[leader].followers[broker] == incarnation
        and (seen is None or incarnation is None or seen <= incarnation or not Design.fetch_names_incarnation)
    )


def is_seen_late(before: Cluster, after: Cluster, leader: Process, request: Fetch) -> bool:
    own, new = before.processes[leader], after.processes[leader]
    seen = own.followers[request.sender]
    return (
        serves(own)
        and len(after.late_fetches) < len(before.late_fetches)
        and own.leader_epoch == request.leader_epoch
        and own.has_record == request.has_record
        and request.sender in new.caught_up
        and new.followers[request.sender] == request.incarnation
        and (seen is None or seen <= request.incarnation or not Design.fetch_names_incarnation)
    )


@transition_invariant(source="Kafka, replication: leader, in-sync replicas, acks=all; KIP-903")
def late_fetch_takes_its_way(before: Cluster, after: Cluster) -> bool:
    """A late fetch is sent by a follower that may fetch, as it is then, and ends at a process of another broker."""
    if len(after.late_fetches) > len(before.late_fetches):
        return any(is_sent_late(before, p, request) for p in Process for request in after.late_fetches)
    return len(after.late_fetches) == len(before.late_fetches) or any(
        before.processes[p].up and broker_id(p) != request.sender for p in Process for request in before.late_fetches
    )


def is_sent_late(s: Cluster, process: Process, request: Fetch) -> bool:
    own = s.processes[process]
    return (
        own.up
        and not own.leads
        and (not own.fenced or not Design.fetches_unfenced)
        and broker_id(process) == request.sender
        and own.incarnation == request.incarnation
        and own.leader_epoch == request.leader_epoch
        and own.has_record == request.has_record
    )


@transition_invariant(source="Kafka, replication: leader, in-sync replicas, acks=all (S5)")
def record_takes_its_course(before: Cluster, after: Cluster) -> bool:
    """A leader that has the request in hand appends; it acknowledges once it is unfenced and all members have it."""
    if before.record == after.record:
        return True
    if before.record == RecordStatus.UNWRITTEN:
        return after.record == RecordStatus.WRITTEN and any(
            before.processes[p].in_hand
            and before.processes[p].leads
            and after.processes[p].has_record
            and len(after.processes[p].caught_up) == 0
            for p in Process
        )
    if before.record == RecordStatus.WRITTEN:
        return after.record == RecordStatus.ACKNOWLEDGED and any(may_acknowledge(before, after, p) for p in Process)
    return after.record == RecordStatus.FORFEITED and any(is_last_and_empty(before, after, p) for p in Process)


def is_last_and_empty(before: Cluster, after: Cluster, process: Process) -> bool:
    """A process is the last member of the ISR, by an incarnation that some controller goes by, and has no record."""
    owned = after.processes[process].owned
    broker = broker_id(process)
    return (
        before.partition.isr == frozenset({broker})
        and owned is not None
        and any(after.controllers[c].known[broker] == owned for c in Controller)
        and is_empty(after, process)
    )


def may_acknowledge(before: Cluster, after: Cluster, process: Process) -> bool:
    own = before.processes[process]
    return (
        own.in_hand
        and own.leads
        and own.has_record
        and not after.processes[process].in_hand
        and (not own.fenced or not Design.acknowledges_unfenced)
        and len(own.isr) >= Design.min_insync_replicas
        and all(b == broker_id(process) or b in own.caught_up for b in maximal_isr(own))
    )


@transition_invariant(source="KIP-343, Initiating ISR Changes")
def leader_asks_for_one_member(before: Cluster, after: Cluster) -> bool:
    """A leader that serves asks to drop one who has not caught up, or to add one who has."""
    return all(
        len(before.processes[p].proposed) > 0 or len(after.processes[p].proposed) == 0 or asks_rightly(before, after, p)
        for p in Process
    )


def asks_rightly(before: Cluster, after: Cluster, process: Process) -> bool:
    own = before.processes[process]
    asked = after.processes[process].proposed
    request = after.processes[process].change
    return (
        serves(own)
        and own.isr == after.processes[process].isr
        and broker_id(process) in asked
        and (own.isr <= asked or asked <= own.isr)
        and asked != own.isr
        and all((b in asked) == (b in own.caught_up) for b in Broker if (b in asked) != (b in own.isr))
        and after.processes[process].isr_reply is None
        and (is_legacy(own) == (request is None))
        and (request is None or request.incarnation == own.incarnation)
        and all(request is None or request.added == own.followers[b] for b in Broker if b in asked and b not in own.isr)
    )


@transition_invariant(source="KIP-343, Controller Heartbeat (the current controller)")
def process_turns_to_the_controller(before: Cluster, after: Cluster) -> bool:
    """A process turns to who is in office, or to whose control request it takes; what it had sent is sent again."""
    return all(
        not stays_up(before, after, p)
        or before.processes[p].controller == after.processes[p].controller
        or (
            after.processes[p].heartbeat is None
            and after.processes[p].change is None
            and any(
                after.processes[p].controller == c
                and (before.office == c or before.controllers[c].epoch == after.processes[p].controller_epoch)
                for c in Controller
            )
        )
        for p in Process
    )
