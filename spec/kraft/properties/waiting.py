"""Replies that wait in a controller's memory, and whom brokers turn to, over several controllers (S7).

A reply is given with a deferral: how many batches of which controller are to be committed before it leaves.
Leaves out: replies to operators (see `quorum_properties`).
"""

from __future__ import annotations

from checker.lang import invariant, transition_invariant, witness
from spec.kraft.actions.quorum import leads
from spec.kraft.design import Design
from spec.kraft.properties.protocol import is_taken
from spec.kraft.state import BrokerProcess, Cluster, Deferral, is_alive, is_answered, is_deferred
from spec.kraft.types import Error, Process, Role, TopicPartition, Voter


@invariant(source="KIP-631, Controller Failover (S7)")
def reply_waits_in_one_memory(s: Cluster) -> bool:
    """A reply waits in an active controller, for no more batches than are in its log; nothing else waits."""
    return all(
        waits_rightly(s, s.processes[process].deferral, s.processes[process].reply is not None)
        and all(
            waits_rightly(s, s.processes[process].replicas[p].deferral, is_answered(s.processes[process].replicas[p]))
            for p in TopicPartition
        )
        for process in Process
    )


def waits_rightly(s: Cluster, deferral: Deferral, is_given: bool) -> bool:
    keepers = sum(1 for voter in Voter if deferral[voter] > 0)
    return keepers == 0 or (
        is_given
        and keepers == 1
        and all(
            deferral[voter] == 0
            or (s.controllers[voter].role == Role.ACTIVE and deferral[voter] <= len(s.controllers[voter].log))
            for voter in Voter
        )
    )


@transition_invariant(source="KIP-631, Controller Failover (S7)")
def success_waits_for_the_log(before: Cluster, after: Cluster) -> bool:
    """A registration or heartbeat that is granted is answered once all is committed that the controller has written."""
    return not Design.successes_wait or all(
        not is_granted(before.processes[process], after.processes[process])
        or any(
            m.sender == process
            and is_taken(before, after, m)
            and all(waits_for_all(after, voter, after.processes[process].deferral, m.to) for voter in Voter)
            for m in before.lifecycle
        )
        for process in Process
    )


def waits_for_all(s: Cluster, voter: Voter, deferral: Deferral, by: Voter) -> bool:
    return deferral[voter] == (len(s.controllers[voter].log) if voter == by else 0)


def is_granted(old: BrokerProcess, new: BrokerProcess) -> bool:
    return old.reply is None and new.reply is not None and new.reply.error == Error.NONE


@transition_invariant(source="KIP-631, Controller Failover (S7)")
def waiting_reply_moves_nobody(before: Cluster, after: Cluster) -> bool:
    """A process acts on a reply once that has left the controller."""
    return all(
        not is_deferred(before.processes[process].deferral)
        or not is_alive(after.processes[process])
        or is_where_it_was(before.processes[process], after.processes[process])
        for process in Process
    )


def is_where_it_was(old: BrokerProcess, new: BrokerProcess) -> bool:
    return old.broker_epoch == new.broker_epoch and (new.reply is not None or old.state == new.state)


@transition_invariant(source="KIP-631, Controller Failover; KIP-595, LeaderAndEpoch")
def broker_turns_to_a_leader(before: Cluster, after: Cluster) -> bool:
    """A process leaves its controller for one that was elected, and in no older epoch than that one knows of."""
    return all(
        turns_to_a_leader(before, before.processes[process].controller, after.processes[process].controller)
        for process in Process
        if is_alive(after.processes[process])
    )


def turns_to_a_leader(s: Cluster, known: Voter, found: Voter) -> bool:
    is_newer = s.controllers[known].epoch <= s.controllers[found].epoch
    return known == found or (leads(s.controllers[found]) and is_newer)


@witness
def another_controller_found(s: Cluster) -> bool:
    """A process has turned to another controller than the first."""
    return any(is_alive(s.processes[process]) and s.processes[process].controller != Voter(0) for process in Process)
