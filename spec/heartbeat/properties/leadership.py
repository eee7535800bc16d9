"""Leaders: who serves, leader epochs and versions, and who may write them (S2, S3, S4, S7, S9, S10)."""

from __future__ import annotations

from checker.lang import invariant, transition_invariant
from spec.heartbeat.state import BrokerProcess, Cluster, serves
from spec.heartbeat.types import BrokerState, Controller, Process, broker_id


@invariant(source="KIP-343, Motivation; Broker-Side Heartbeat Timeout (S2)")
def one_process_serves(s: Cluster) -> bool:
    """At most one process is unfenced and believes that it leads."""
    return all(p == q or not serves(s.processes[p]) or not serves(s.processes[q]) for p in Process for q in Process)


@transition_invariant(source="KIP-343, Broker-Side Heartbeat Timeout (new ones will not be accepted) (S3)")
def fenced_process_accepts_nothing(before: Cluster, after: Cluster) -> bool:
    """No request of a client or follower is accepted by a process that is fenced."""
    return all(not before.processes[p].fenced or not accepts(before.processes[p], after.processes[p]) for p in Process)


def accepts(before: BrokerProcess, after: BrokerProcess) -> bool:
    """In this step it accepted a produce request, or a fetch."""
    produced = after.in_hand and not before.in_hand
    return produced or not after.caught_up <= before.caught_up


@invariant(source="KIP-343, IsrChangeRequest (S4)")
def leader_is_in_the_isr(s: Cluster) -> bool:
    """The ISR has members, and the leader is one of them."""
    return len(s.partition.isr) > 0 and (s.partition.leader is None or s.partition.leader in s.partition.isr)


@transition_invariant(source="KIP-343, Initiating ISR Changes (S7)")
def epochs_never_go_back(before: Cluster, after: Cluster) -> bool:
    """Leader epoch and version of the partition never go back, and each change raises the version."""
    old, new = before.partition, after.partition
    same = old.leader == new.leader and old.isr == new.isr and old.leader_epoch == new.leader_epoch
    return old.leader_epoch <= new.leader_epoch and (old.version < new.version or (same and old.version == new.version))


@transition_invariant(source="KIP-343, Initiating ISR Changes (S7)")
def each_leader_has_its_epoch(before: Cluster, after: Cluster) -> bool:
    """Each change of the leader raises the leader epoch."""
    return (
        before.partition.leader == after.partition.leader
        or before.partition.leader_epoch < after.partition.leader_epoch
    )


@invariant(source="KIP-343, Broker Incarnation ID (S7)")
def leader_epoch_is_of_one_incarnation(s: Cluster) -> bool:
    """Nobody serves in a leader epoch that another incarnation has taken up."""
    newest = s.taken_up
    return newest is None or all(
        not serves(s.processes[p])
        or s.processes[p].leader_epoch != newest.leader_epoch
        or s.processes[p].owned == newest.incarnation
        for p in Process
    )


@transition_invariant(source="KIP-343, Broker State (stopping) (S9)")
def who_exits_leads_nothing(before: Cluster, after: Cluster) -> bool:
    """A broker that stops because it was told to exit leads nothing."""
    return all(
        not before.processes[p].up
        or after.processes[p].up
        or before.processes[p].target != BrokerState.STOPPING
        or crashed(before, after)
        or before.partition.leader != broker_id(p)
        for p in Process
    )


def crashed(before: Cluster, after: Cluster) -> bool:
    """Somebody died in this step."""
    return before.faults.crashes != after.faults.crashes or before.faults.disk_losses != after.faults.disk_losses


@transition_invariant(source="KIP-343, Compatibility, Deprecation, and Migration Plan (S11)")
def no_write_is_lost(before: Cluster, after: Cluster) -> bool:
    """Who writes the partition state, the controller or a legacy leader, knows the version that it replaces."""
    return (
        before.partition.version == after.partition.version
        or any(
            before.controllers[c].partition.version == before.partition.version
            and after.controllers[c].partition.version == after.partition.version
            for c in Controller
        )
        or any(
            before.processes[p].version == before.partition.version
            and before.processes[p].proposed == after.partition.isr
            for p in Process
        )
    )


@transition_invariant(source="KIP-343, Controller Heartbeat (the current controller); KAFKA-6082 (S10)")
def former_controller_writes_nothing(before: Cluster, after: Cluster) -> bool:
    """Each write of the partition state is of the newest controller epoch."""
    return (
        before.partition.version == after.partition.version
        or after.partition.controller_epoch == before.controller_epoch
    )


@transition_invariant(source="KIP-343, Controller Heartbeat (the current controller) (S10)")
def former_controller_controls_nobody(before: Cluster, after: Cluster) -> bool:
    """No process takes a control request of a controller once it has taken one of a later controller."""
    return all(not goes_back(before.processes[p], after.processes[p]) for p in Process)


def goes_back(before: BrokerProcess, after: BrokerProcess) -> bool:
    return (
        after.up
        and before.controller_epoch is not None
        and (after.controller_epoch is None or after.controller_epoch < before.controller_epoch)
    )
