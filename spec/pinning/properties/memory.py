"""What a broker remembers, and what it has yet to hear of: soft state that later decisions rest upon.

A decision on what is there no more breaks P2, P8 or P9 much later, in few runs: these say at once that it is out of
date. They hold with the guards that they are for.
"""

from __future__ import annotations

from checker.lang import invariant
from spec.pinning.actions.election import is_barred
from spec.pinning.decisions.office import must_hand_over
from spec.pinning.decisions.watching import seen_in_pull
from spec.pinning.design import Design
from spec.pinning.state import (
    BrokerProcess,
    Cluster,
    Member,
    believes_in_office,
    is_target,
    owns_office,
    runs,
    takes_part,
)
from spec.pinning.types import Broker, Path, Phase, ProcessState, is_legacy, is_preferred


@invariant(source="KIP-39, Changes in the broker startup code; ZooKeeper, Sessions")
def stopped_process_has_forgotten(s: Cluster) -> bool:
    """A broker that is down has no session, one that hangs keeps its own; neither watches anything, or remembers an
    election, a term or a request. No watch outlives its session, nor does, with expiry_first, an event."""
    return all(
        (s.brokers[b].state == ProcessState.UP or is_blank(s.brokers[b]))
        and (s.brokers[b].state != ProcessState.DOWN or s.brokers[b].session is None)
        and (s.brokers[b].state != ProcessState.HUNG or s.brokers[b].session is not None)
        and (s.brokers[b].session is not None or is_deaf(s.brokers[b]))
        for b in Broker
    )


def is_blank(process: BrokerProcess) -> bool:
    return (
        not process.expired
        and process.phase == Phase.WATCHING
        and process.waits_for is None
        and process.epoch is None
        and len(process.decided) == 0
        and len(process.seen) == 0
        and len(process.armed) == 0
        and len(process.events) == 0
    )


def is_deaf(process: BrokerProcess) -> bool:
    return len(process.armed) == 0 and (len(process.events) == 0 or not Design.expiry_first)


@invariant(source="KIP-39, Changes in the election code (b), (c)")
def memory_is_of_the_phase(s: Cluster) -> bool:
    """Who takes no part in an election waits for nobody; who is not in office has no epoch and decides nothing."""
    return all(memory_fits(s.brokers[b], b) for b in Broker)


def memory_fits(process: BrokerProcess, broker: Broker) -> bool:
    return (
        (takes_part(process) or process.waits_for is None)
        and (process.phase != Phase.ABSTAINS or process.waits_for is not None or is_barred(broker))
        and (believes_in_office(process) or process.epoch is None)
        and (process.phase == Phase.IN_OFFICE or len(process.decided) == 0 or not Design.clears_state_on_resign)
        and (not believes_in_office(process) or len(process.seen) == 0)
    )


@invariant(source="KIP-39, Handling the admin request; ZooKeeper, Watches; KAFKA-928")
def watches_are_set(s: Cluster) -> bool:
    """A broker that runs watches /controller or has yet to handle its event, and not both; so one outside the preferred
    set its members. It watches `next`, or has yet to read it: with takeover not both, before an operator's second step.
    """
    return all(
        not runs(s.brokers[b])
        or not Design.watches_after_expiry
        or not Design.loser_watches
        or s.brokers[b].expired
        or watches_what_it_must(s, b)
        for b in Broker
    )


def watches_what_it_must(s: Cluster, broker: Broker) -> bool:
    process = s.brokers[broker]
    # Who was in office until the operator's last step keeps a request for itself beside its watch (settle_request).
    is_either = Design.takeover and s.faults.requests + s.faults.deletions < 2
    return (
        (Path.CONTROLLER in process.armed) != (Path.CONTROLLER in process.events)
        and (not Design.pinning or is_legacy(broker) or Path.NEXT in process.armed or Path.NEXT in process.events)
        and (not is_either or Path.NEXT not in process.armed or Path.NEXT not in process.events)
        and (
            not Design.preferred
            or is_preferred(broker)
            or (Path.PREFERRED in process.armed) != (Path.PREFERRED in process.events)
        )
    )


@invariant(source="KIP-39, Handling the admin request (g); ZooKeeper, Watches (P8)")
def vacancy_is_known_or_heard_of(s: Cluster) -> bool:
    """Who has lost the office, or knows of no election where there is no /controller, has yet to hear of it; nobody
    abstains where there is one."""
    return all(
        not runs(s.brokers[b])
        or not Design.watches_after_expiry
        or not Design.loser_watches
        or s.brokers[b].expired
        or Path.CONTROLLER in s.brokers[b].events
        or knows_of_office(s, b)
        for b in Broker
    )


def knows_of_office(s: Cluster, broker: Broker) -> bool:
    process = s.brokers[broker]
    if believes_in_office(process):
        return owns_office(s, broker)
    return process.phase != Phase.WATCHING if s.controller is None else process.phase != Phase.ABSTAINS


@invariant(source="KIP-39, Changes in the election code (a), (b); Possible gotchas (P7, P8)")
def pull_is_up_to_date(s: Cluster) -> bool:
    """Who decides on what it saw in `ready` sees the same now, or has yet to hear that it has changed."""
    return all(
        not runs(s.brokers[b])
        or not reads_ready(b)
        or not Design.pulls_again
        or Path.READY in s.brokers[b].events
        or not takes_part(s.brokers[b])
        or (Path.READY in s.brokers[b].armed and s.brokers[b].waits_for == seen_in_pull(s, b))
        for b in Broker
    )


def reads_ready(broker: Broker) -> bool:
    """It reads `ready` in office and in elections, with watches."""
    return (
        Design.pinning
        and not Design.takeover
        and Design.watch_where_absent
        and Design.office_reads_ready
        and not is_legacy(broker)
    )


@invariant(source="KIP-39, Handling the admin request (c), (d), (f) (P9)")
def request_is_known_or_heard_of(s: Cluster) -> bool:
    """A controller watches `ready`; what it has to resign for, or to settle, it has yet to handle."""
    return all(
        not runs(s.brokers[b])
        or not reads_ready(b)
        or s.brokers[b].phase != Phase.IN_OFFICE
        or (
            (Path.READY in s.brokers[b].events or (Path.READY in s.brokers[b].armed and not owes_resignation(s, b)))
            and (Path.NEXT in s.brokers[b].events or not is_target(s, b) or not Design.request_consumed)
        )
        for b in Broker
    )


def owes_resignation(s: Cluster, broker: Broker) -> bool:
    return s.ready is not None and must_hand_over(s, broker)


@invariant(source="KIP-39, Migration")
def legacy_broker_reads_no_request(s: Cluster) -> bool:
    """A legacy broker watches /controller only, and never waits for anybody."""
    return all(
        not is_legacy(b)
        or (
            all(path == Path.CONTROLLER for path in s.brokers[b].armed)
            and all(path == Path.CONTROLLER for path in s.brokers[b].events)
            and s.brokers[b].waits_for is None
        )
        for b in Broker
    )


@invariant(source="linkedin/kafka, changes 42 and 211")
def members_are_known_or_heard_of(s: Cluster) -> bool:
    """A preferred broker with a session is registered, and waits for nobody; others know of members, or have yet to
    hear of them."""
    return all(
        not Design.preferred
        or s.brokers[b].session is None
        or (is_registered(s, b) and s.brokers[b].waits_for is None if is_preferred(b) else knows_of_members(s, b))
        for b in Broker
    )


def is_registered(s: Cluster, broker: Broker) -> bool:
    session = s.brokers[broker].session
    return session is None or Member(broker, session) in s.members


def knows_of_members(s: Cluster, broker: Broker) -> bool:
    """A broker outside the set that takes part in an election."""
    process = s.brokers[broker]
    if Path.PREFERRED in process.events:
        return True
    if process.phase == Phase.ABSTAINS or process.phase == Phase.LAPSED:
        return len(s.members) > 0 or is_barred(broker)
    return process.phase != Phase.PULLED or (
        len(s.members) == 0 if process.waits_for is None else any(m.broker == process.waits_for for m in s.members)
    )


@invariant(source="KIP-39, Changes in the election code (c)")
def nobody_unable_is_in_office(s: Cluster) -> bool:
    """A broker that cannot serve never begins its term."""
    return all(b not in s.unable or s.brokers[b].phase != Phase.IN_OFFICE for b in Broker)
