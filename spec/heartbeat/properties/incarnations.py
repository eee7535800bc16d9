"""Incarnations, and the states that a controller keeps of them (S1, S6)."""

from __future__ import annotations

from checker.lang import Option, invariant, transition_invariant
from spec.heartbeat.decisions.partition import counted
from spec.heartbeat.decisions.registry import is_legacy_registration
from spec.heartbeat.state import Cluster, is_counted
from spec.heartbeat.types import Broker, Controller, Error, Incarnation, Process, broker_id


def is_lower(incarnation: Option[Incarnation], highest: Option[Incarnation]) -> bool:
    return incarnation is not None and highest is not None and incarnation < highest


def is_accepted(before: Cluster, after: Cluster, process: Process) -> bool:
    """In this step a heartbeat of a process counted, and was answered."""
    own, new = before.processes[process], after.processes[process]
    reply = new.reply
    return (
        reply is not None
        and reply != own.reply
        and own.heartbeat is not None
        and new.heartbeat is None
        and reply.error == Error.NONE
        and is_counted(reply.state)
    )


@transition_invariant(source="KIP-343, Controller Logic (S1)")
def lower_incarnation_is_refused(before: Cluster, after: Cluster) -> bool:
    """No heartbeat counts of a lower incarnation than any controller ever went by."""
    return all(
        not is_accepted(before, after, p) or not is_lower(incarnation_of(after, p), before.gone_by[broker_id(p)])
        for p in Process
    )


def incarnation_of(s: Cluster, process: Process) -> Option[Incarnation]:
    """The incarnation that a reply is for."""
    reply = s.processes[process].reply
    return None if reply is None else reply.incarnation


@transition_invariant(source="KIP-343, Controller Logic (S1)")
def history_never_goes_back(before: Cluster, after: Cluster) -> bool:
    """The highest incarnation that any controller ever went by stays the highest: S1 is claimed of that."""
    return all(
        before.gone_by[b] == after.gone_by[b]
        or before.gone_by[b] is None
        or is_lower(before.gone_by[b], after.gone_by[b])
        for b in Broker
    )


@transition_invariant(source="KIP-343, IsrChangeRequest (we are now prohibited from changing the ISR) (S1)")
def lower_incarnation_changes_nothing(before: Cluster, after: Cluster) -> bool:
    """No request of a lower incarnation than any controller ever went by changes the partition state."""
    return (
        after.partition.version == before.partition.version
        or after.partition.leader_epoch != before.partition.leader_epoch
        or (
            all(not is_lower(taken_request(before, after, p), before.gone_by[broker_id(p)]) for p in Process)
            and all(
                r in after.late or not is_lower(r.incarnation, before.gone_by[broker_id(r.sender)]) for r in before.late
            )
        )
    )


def taken_request(before: Cluster, after: Cluster, process: Process) -> Option[Incarnation]:
    """The incarnation of an IsrChange of this process that the controller took in this step."""
    request = before.processes[process].change
    return None if request is None or after.processes[process].change is not None else request.incarnation


@invariant(source="KIP-343, Broker State (S6)")
def metadata_lists_who_is_in(s: Cluster) -> bool:
    """A controller lists in the metadata exactly the brokers that are ACTIVE or STOPPING to it."""
    return all(
        s.controllers[c].epoch is None or s.controllers[c].metadata == counted(s.controllers[c].states)
        for c in Controller
    )


@transition_invariant(source="KIP-343, Broker State; KIP-841 (S4)")
def nobody_inactive_is_added(before: Cluster, after: Cluster) -> bool:
    """The ISR gains no broker that is inactive to the controller in office."""
    return all(
        b in before.partition.isr
        or b not in after.partition.isr
        or before.office is None
        or is_counted(before.controllers[before.office].states[b])
        for b in Broker
    )


@invariant(source="KIP-343, Compatibility, Deprecation, and Migration Plan (legacy registration) (L1)")
def legacy_is_who_registered_so(s: Cluster) -> bool:
    """A controller takes a broker for legacy, whose lease never ends, only by the registration that it goes by."""
    return all(
        s.controllers[c].epoch is None or is_legacy_registration(s.ids[b]) == (b in s.controllers[c].legacy)
        for c in Controller
        for b in Broker
        if goes_by_registration(s, c, b)
    )


def goes_by_registration(s: Cluster, controller: Controller, broker: Broker) -> bool:
    registration = s.ids[broker]
    return registration is not None and s.controllers[controller].known[broker] == registration.czxid
