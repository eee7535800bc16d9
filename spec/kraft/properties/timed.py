"""Properties of leases in time (S9, L1), and states that its models must be able to reach."""

from __future__ import annotations

from checker.lang import invariant, transition_invariant, witness
from spec.kraft.timed import (
    Exchange,
    Lease,
    Timing,
    is_under_way,
    longest_silence,
    longest_tenure,
    longest_wait,
    longest_wait_for_id,
)


@transition_invariant(source="KIP-631, Broker Leases (S9)")
def fenced_after_silence(before: Lease, after: Lease) -> bool:
    """A broker is fenced only when none of its heartbeats reached the controller for a whole session timeout, in all of
    which this was the active one.
    """
    silent = before.silence >= Timing.session_timeout_ticks and before.tenure == longest_tenure()
    return before.fenced or not after.fenced or silent


@invariant(source="KIP-631, Broker Leases; KAFKA-14392; KAFKA-17793 (S9)")
def live_broker_is_not_fenced(s: Lease) -> bool:
    """A broker that is alive is not fenced: a lease outlasts the mishaps of the budget."""
    return not s.fenced or not s.alive


@invariant(source="KIP-631, Broker Leases (L1)")
def silent_broker_is_fenced_in_time(s: Lease) -> bool:
    """A broker is fenced of which nothing was heard for as long as its leases last together, one of each controller,
    and for as long as the queue stalled.
    """
    return s.fenced or s.silence <= longest_silence()


@invariant(source="KAFKA-17793 (S9)")
def lease_is_as_old_as_the_silence(s: Lease) -> bool:
    """Where it counts from the arrival of heartbeats, a lease is as old as the last that arrived, or as the tenure of
    the active controller.
    """
    if not Timing.lease_from_arrival or not Timing.failover_renews_lease:
        return True
    age = min(s.silence, Timing.session_timeout_ticks)
    return s.lease_age == (age if Timing.max_failovers == 0 else min(age, s.tenure))


@transition_invariant(source="KIP-631, Broker Leases; KAFKA-14392")
def heartbeat_takes_its_course(before: Lease, after: Lease) -> bool:
    """A heartbeat is sent when it is due, queued, answered by a queue that moves; what is under way may be lost.

    Only what is sent to the active controller is queued; a failover loses what waits there.
    """
    if before.exchange == after.exchange:
        on_its_way = not is_under_way(before) or before.delay <= after.delay
        return on_its_way and (before.mishaps == after.mishaps or before.stall < after.stall)
    if after.exchange == Exchange.SENT:
        return after.delay == 0 and after.clock == 0 and before.clock >= longest_wait(before)
    if after.exchange == Exchange.QUEUED:
        return before.exchange == Exchange.SENT and before.heard == before.failovers
    if after.exchange == Exchange.ANSWERED:
        return before.exchange == Exchange.QUEUED and before.stall == 0 and after.delay == 0
    if after.exchange == Exchange.NONE:
        return before.exchange == Exchange.ANSWERED and after.delay == 0 and after.clock == 0
    if before.exchange == Exchange.QUEUED:
        return before.failovers < after.failovers and after.delay == 0
    misses = before.exchange == Exchange.SENT and before.heard < before.failovers
    return is_under_way(before) and (misses or before.mishaps < after.mishaps) and after.delay == 0


@transition_invariant(source="KIP-631, Controller Failover")
def broker_turns_to_the_active_controller(before: Lease, after: Lease) -> bool:
    """A broker looks for the active controller when it gives a request up, or hears of it. Nothing that it has sent
    changes its way.
    """
    if before.exchange != Exchange.SENT and after.exchange == Exchange.SENT:
        return after.heard == (before.heard if before.exchange == Exchange.NONE else before.failovers)
    return after.heard == before.heard or (after.heard == before.failovers and before.exchange != Exchange.SENT)


@transition_invariant(source="KAFKA-17793 (the main controller thread gets blocked for several seconds)")
def queue_moves_as_a_whole(before: Lease, after: Lease) -> bool:
    """A given-up request waits in the queue until that moves; while it stands still nothing leaves it, and nobody is
    fenced. A failover leaves nothing in it.
    """
    if before.failovers < after.failovers:
        return not after.backlog and after.exchange != Exchange.QUEUED and after.stall == 0
    if after.backlog and not before.backlog:
        return before.exchange == Exchange.QUEUED and after.exchange == Exchange.SENT
    leaves = (before.backlog and not after.backlog) or after.fenced != before.fenced
    answers = before.exchange == Exchange.QUEUED and after.exchange == Exchange.ANSWERED
    return (before.stall == 0 or not leaves) and not (answers and after.backlog)


@transition_invariant(source="KIP-631, Broker Leases")
def clocks_run_alike(before: Lease, after: Lease) -> bool:
    """All clocks run on by a tick at once, or stand still, or start again; a message's only while it is under way.

    Of the age that a lease has at a failover, see `lease_is_as_old_as_the_silence`.
    """
    ticked = has_ticked(before, after)
    longest = max(Timing.heartbeat_interval_ticks, Timing.request_timeout_ticks)
    return (
        runs(before.silence, after.silence, longest_wait_for_id() + 1, ticked)
        and (
            before.failovers < after.failovers
            or runs(before.lease_age, after.lease_age, Timing.session_timeout_ticks, ticked)
        )
        and runs(before.tenure, after.tenure, longest_tenure(), ticked)
        and runs(before.clock, after.clock, longest, ticked)
        and (not ticked or after.stall == max(before.stall - 1, 0))
        and (not ticked or after.retry == max(before.retry - 1, 0))
        and (not ticked or after.delay == (before.delay + 1 if is_under_way(before) else 0))
    )


def has_ticked(before: Lease, after: Lease) -> bool:
    return after.silence > before.silence or after.clock > before.clock or after.tenure > before.tenure


def runs(before: int, after: int, limit: int, ticked: bool) -> bool:
    return after == min(before + 1, limit) if ticked else after in (before, 0)


@transition_invariant(source="KIP-631, Handling Broker ID Conflicts; Kafka, ClusterControlManager.registerBroker")
def id_is_given_when_its_lease_is_over(before: Lease, after: Lease) -> bool:
    """A new incarnation gets the id of one that is fenced, or of which nothing was heard for a session timeout."""
    if after.applicants >= before.applicants:
        return True
    return after.fenced and (before.fenced or before.silence >= Timing.session_timeout_ticks)


@transition_invariant(source="KIP-631, Handling Broker ID Conflicts; Kafka, ClusterControlManager.registerBroker")
def successor_asks_for_the_id(before: Lease, after: Lease) -> bool:
    """A new incarnation asks once the old one is dead. Only who asks is refused, and only while the id is leased."""
    asks, refused = before.applicants < after.applicants, before.retry < after.retry
    leased = not before.fenced and (not before.tracked or before.lease_age < Timing.session_timeout_ticks)
    return (not asks or not before.alive) and (not refused or (leased and before.applicants > 0 and before.retry == 0))


@transition_invariant(source="KIP-631, Handling Broker ID Conflicts")
def registration_waits_for_a_stall_only(before: Lease, after: Lease) -> bool:
    """While the controller's queue moves, no time passes with a registration in it."""
    return not has_ticked(before, after) or before.stall > 0 or before.applicants == 0 or before.retry > 0


@invariant(source="KIP-631, Handling Broker ID Conflicts (L1)")
def refusals_end_in_time(s: Lease) -> bool:
    """A new incarnation no longer waits after a refusal when the old one was silent for all its leases and stalls."""
    return s.retry == 0 or s.silence <= longest_wait_for_id()


@witness
def registration_is_refused(s: Lease) -> bool:
    """A new incarnation waits after a refusal: the lease of the old one is not over."""
    return s.applicants > 0 and s.retry > 0 and not s.fenced


@witness
def registered_after_its_predecessor(s: Lease) -> bool:
    """A new incarnation has the id."""
    return s.restarts > 0 and s.applicants == 0


@witness
def message_takes_its_time(s: Lease) -> bool:
    """A message is under way for as long as it may be."""
    return s.exchange == Exchange.SENT and s.delay == Timing.max_delay_ticks


@witness
def answered_at_once(s: Lease) -> bool:
    """Nothing goes wrong, and the first heartbeat is answered."""
    return s.exchange == Exchange.ANSWERED and s.mishaps == 0 and not s.backlog


@witness
def dead_broker_fenced(s: Lease) -> bool:
    """A broker that died is fenced, and nothing went wrong besides."""
    return s.fenced and s.mishaps == 0


@witness
def hears_while_it_waits(s: Lease) -> bool:
    """A broker knows who is active, and waits for the reply of one that was: it has yet to give its request up."""
    return s.exchange == Exchange.LOST and s.heard == s.failovers


@witness
def silent_for_as_long_as_may_be(s: Lease) -> bool:
    """A broker that died is to be fenced at the latest moment: each controller went just before it would have."""
    return not s.fenced and not s.alive and s.silence == longest_silence()


@witness
def heartbeats_wait_for_the_queue(s: Lease) -> bool:
    """The broker has sent again, and both heartbeats wait in the controller's queue."""
    return s.backlog and s.exchange == Exchange.QUEUED
