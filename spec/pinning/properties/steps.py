"""Steps: who may make a change, and what goes with it. Each says of one kind of step what no state shows afterwards."""

from __future__ import annotations

from checker.lang import Option, transition_invariant
from spec.pinning.actions.operator import is_served
from spec.pinning.decisions.office import is_coming
from spec.pinning.design import Design
from spec.pinning.state import Asked, Cluster, believes_in_office, owns_office, runs
from spec.pinning.types import Answer, Broker, Path, Phase, ProcessState, is_legacy
from spec.zookeeper.sessions import Session
from spec.zookeeper.watches import is_next


@transition_invariant(source="ZooKeeper, Sessions")
def session_is_needed(before: Cluster, after: Cluster) -> bool:
    """A broker without a session does nothing in the election; at most it leaves office."""
    return all(
        before.brokers[b].session is not None
        or after.brokers[b].session is not None
        or before.brokers[b].state != after.brokers[b].state
        or before.brokers[b].phase == after.brokers[b].phase
        or (before.brokers[b].phase == Phase.IN_OFFICE and after.brokers[b].phase == Phase.WATCHING)
        for b in Broker
    )


@transition_invariant(source="ZooKeeper, Sessions")
def session_ends_whole(before: Cluster, after: Cluster) -> bool:
    """All that a session owns goes with it: a live broker that has lost one has no znode of it, and of a dead broker's
    no part goes before the rest."""
    return all(
        before.brokers[b].state != ProcessState.UP
        or after.brokers[b].state != ProcessState.UP
        or before.brokers[b].session == after.brokers[b].session
        or owns_nothing(after, before.brokers[b].session)
        for b in Broker
    ) and (
        (office_ended(before, after) is None or owns_nothing(after, office_ended(before, after)))
        and (ready_ended(before, after) is None or owns_nothing(after, ready_ended(before, after)))
        and all(
            any(n.broker == m.broker for n in after.members)  # that of a former session goes when it registers again
            or (is_nobodys(after, m.owner) and (after.controller is None or after.controller.owner != m.owner))
            for m in before.members
        )
    )


def is_nobodys(s: Cluster, session: Session) -> bool:
    return all(s.brokers[b].session != session for b in Broker)


def office_ended(before: Cluster, after: Cluster) -> Option[Session]:
    """The session of a process that was dead, whose /controller is gone."""
    office = before.controller
    return (
        office.owner if office is not None and after.controller is None and is_nobodys(before, office.owner) else None
    )


def ready_ended(before: Cluster, after: Cluster) -> Option[Session]:
    """The session of a process that was dead, whose `ready` is gone."""
    ready = before.ready
    return ready.owner if ready is not None and after.ready is None and is_nobodys(before, ready.owner) else None


def owns_nothing(s: Cluster, session: Option[Session]) -> bool:
    return (
        (s.controller is None or s.controller.owner != session)
        and (s.ready is None or s.ready.owner != session)
        and all(m.owner != session for m in s.members)
    )


@transition_invariant(source="KIP-39, Handling the admin request (f); Changes in the election code (P2, P3)")
def office_is_left_with_controller(before: Cluster, after: Cluster) -> bool:
    """A broker that owns /controller leaves office and deletes it in one step, in which it handles what it heard; only
    where it has no reply it has yet to find that out."""
    return all(
        not owns_office(before, b)
        or not believes_in_office(before.brokers[b])
        or before.brokers[b].session != after.brokers[b].session
        or before.faults.deletions != after.faults.deletions
        or before.faults.requests != after.faults.requests
        or left_as_it_should(before, after, b)
        for b in Broker
    )


def left_as_it_should(before: Cluster, after: Cluster, broker: Broker) -> bool:
    old, new = before.brokers[broker], after.brokers[broker]
    if owns_office(after, broker):
        return believes_in_office(new)
    if believes_in_office(new):
        return after.controller is not None or before.faults.lost_replies != after.faults.lost_replies
    path = Path.PREFERRED if Design.preferred else Path.READY
    heard = is_next(old.events, path) and path not in new.events and path in new.armed
    return heard or broker in before.unable or not Design.watch_where_absent


@transition_invariant(source="KIP-39, Motivation (the work of a controller) (P1)")
def write_is_of_a_decision(before: Cluster, after: Cluster) -> bool:
    """What is written was decided by who has a session; a decision is written, or goes with the office."""
    return (
        after.written == before.written
        or any(
            runs(before.brokers[b])
            and before.brokers[b].decided == after.written
            and len(after.brokers[b].decided) == 0
            for b in Broker
        )
    ) and all(
        len(before.brokers[b].decided) == 0
        or before.brokers[b].decided == after.brokers[b].decided
        or after.brokers[b].phase != Phase.IN_OFFICE
        or after.written == before.brokers[b].decided
        for b in Broker
    )


@transition_invariant(source="KIP-39, Motivation (the work of a controller) (P1)")
def request_is_taken_from_the_sender(before: Cluster, after: Cluster) -> bool:
    """The epoch that a broker hears of is that of a controller in its term, or of its own that begins."""
    return all(
        before.brokers[to].heard == after.brokers[to].heard
        or before.brokers[to].state != ProcessState.UP
        or (before.brokers[to].phase == Phase.ELECTED and after.brokers[to].phase == Phase.IN_OFFICE)
        or any(
            b != to
            and before.brokers[b].state == ProcessState.UP
            and before.brokers[b].phase == Phase.IN_OFFICE
            and after.brokers[to].heard == (before.brokers[b].epoch,)
            for b in Broker
        )
        for to in Broker
    )


@transition_invariant(source="KIP-39, Motivation (minimize controller moves during a rolling bounce) (P2)")
def moves_are_counted(before: Cluster, after: Cluster) -> bool:
    """Each new /controller is a move."""
    made = after.controller is not None and after.controller != before.controller
    return after.moves == (min(before.moves + 1, Design.counted_moves) if made else before.moves)


@transition_invariant(source="KIP-39, New or Changed Public Interfaces (P6, P11)")
def answer_is_what_was_read(before: Cluster, after: Cluster) -> bool:
    """A request is answered once: served, if it stands no more and its target is the controller; else timed out."""
    return all(answered_rightly(before, old, new) for old in before.asked for new in after.asked) and all(
        any(old.request == new.request for old in before.asked)
        or new.served == (before.controller is not None and before.controller.broker == new.target)
        for new in after.asked
    )


def answered_rightly(before: Cluster, old: Asked, new: Asked) -> bool:
    if old.request != new.request or old.answer == new.answer:
        return True
    return old.answer is None and (new.answer == Answer.SERVED) == is_served(before, old)


@transition_invariant(source="design switch abstention_lapses (P8)")
def lapse_has_a_cause(before: Cluster, after: Cluster) -> bool:
    """An abstention lapses, and nothing else; while the one waited for is about to run, only as a perturbation."""
    early = before.faults.early_lapses != after.faults.early_lapses
    return (not early or any(lapsed(before, after, b) for b in Broker)) and all(
        not lapsed(before, after, b)
        or (
            before.brokers[b].phase == Phase.ABSTAINS
            and runs(before.brokers[b])
            and all(before.brokers[b].waits_for != target or is_coming(before, target) == early for target in Broker)
        )
        for b in Broker
    )


def lapsed(before: Cluster, after: Cluster, broker: Broker) -> bool:
    return before.brokers[broker].phase != Phase.LAPSED and after.brokers[broker].phase == Phase.LAPSED


@transition_invariant(source="KIP-39, Changes in the election code (c); Migration (P5)")
def election_serves_its_own_request(before: Cluster, after: Cluster) -> bool:
    """Who is elected is wanted no more, unless it has yet to hear of the request; a legacy broker leaves that alone."""
    elected = after.controller is not None and after.controller != before.controller
    return not elected or all(
        after.controller is None
        or after.controller.broker != b
        or (
            (after.wanted != b or Path.NEXT in after.brokers[b].events)
            and (not is_legacy(b) or (after.next_controller == before.next_controller and after.ready == before.ready))
        )
        for b in Broker
    )


@transition_invariant(source="KIP-39, Proposed Change (P5)")
def request_is_settled_in_office(before: Cluster, after: Cluster) -> bool:
    """A request that goes in a step that elects nobody, and is not taken back, is for the broker in office."""
    standing = before.next_controller
    return (
        standing is None
        or after.next_controller is not None
        or before.faults.unpins != after.faults.unpins
        or (after.controller is not None and after.controller != before.controller)
        or any(standing.target == b and owns_office(before, b) for b in Broker)
    )


@transition_invariant(source="KIP-39, Handling the admin request (e)")
def ready_is_taken_back_by_its_owner(before: Cluster, after: Cluster) -> bool:
    """A `ready` that goes, and is not replaced, goes in a step of its owner's, or with its session."""
    ready = before.ready
    return (
        ready is None
        or after.ready is not None
        or all(
            before.brokers[b].session != ready.owner
            or before.brokers[b].events != after.brokers[b].events
            or before.brokers[b].phase != after.brokers[b].phase
            or before.brokers[b].session != after.brokers[b].session
            or (
                after.controller is not None
                and after.controller != before.controller
                and after.controller.owner == ready.owner
            )
            for b in Broker
        )
    )
