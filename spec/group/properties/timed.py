"""Sessions in time: the dead have stopped (G1), nobody is suspected for nothing (L3)."""

from __future__ import annotations

from checker.lang import invariant, transition_invariant, witness
from spec.group.timed import INTERVAL, Session, Timing, consumer_session, fetches, is_dead, is_over


@invariant(source="Consumer Coordinator, 8 (5), 10 (G1)")
def dead_has_stopped(s: Session) -> bool:
    """A consumer that is declared dead fetches no more."""
    return not s.dead or not fetches(s)


@invariant(source="Consumer Coordinator, 8 (L3)")
def nobody_dies_for_nothing(s: Session) -> bool:
    """A consumer that was neither paused nor cut off is not declared dead."""
    return not s.dead or s.cuts > 0 or s.pause > 0


@invariant(source="Consumer Coordinator, 10 (L3)")
def nobody_stops_for_nothing(s: Session) -> bool:
    """A consumer that was neither paused nor cut off does not stop."""
    return not s.stopped or s.cuts > 0 or s.pause > 0


@transition_invariant(source="Consumer Coordinator, 8 (5), 10")
def nothing_follows_the_end(before: Session, after: Session) -> bool:
    """Once the consumer has stopped, or counts as dead, its session is over at both ends."""
    return after == before or not (before.stopped or before.dead)


@transition_invariant(source="Consumer Coordinator, 8 (3, 4, 5), 10")
def timers_decide(before: Session, after: Session) -> bool:
    """The consumer counts as dead once its answers fail to come, and stops once its own clock says so, if it runs."""
    dies = after.dead and not before.dead
    stops = after.stopped and not before.stopped
    return (not dies or is_dead(before)) and (not stops or (is_over(before) and not before.paused))


def time_passes(before: Session, after: Session) -> bool:
    return after.wait < before.wait


@transition_invariant(source="Consumer Coordinator, 8")
def nobody_dawdles(before: Session, after: Session) -> bool:
    """Time passes while nobody has to act: no timer is due, and no message is as late as it can be."""
    ping_is_due = len(before.requests) > 0 and before.requests[0].age == Timing.max_delay_ticks
    answer_is_due = len(before.responses) > 0 and before.responses[0] == Timing.max_delay_ticks
    return not time_passes(before, after) or (
        not is_dead(before) and not answer_is_due and (before.paused or not (is_over(before) or ping_is_due))
    )


@transition_invariant(source="Consumer Coordinator, 8 (5)")
def time_passes_for_all(before: Session, after: Session) -> bool:
    """A tick is one at both ends, and of a pause."""
    return (
        after.wait == before.wait - 1
        and after.session == min(before.session + 1, consumer_session())
        and after.pause == before.pause + (1 if before.paused else 0)
        if time_passes(before, after)
        else after.pause == before.pause
    )


@transition_invariant(source="Consumer Coordinator, 5 (scheduler.run 1-3), 11 (handlePingRequest)")
def ping_takes_its_way(before: Session, after: Session) -> bool:
    """A ping is sent when it is time, and taken by a consumer that runs, which answers at once."""
    sent = after.unanswered > before.unanswered
    taken = len(after.requests) < len(before.requests) and after.cuts == before.cuts
    return (
        not sent
        or (
            before.wait == 0
            and after.wait == INTERVAL
            and not is_dead(before)
            and (before.requests_cut or after.requests[len(before.requests)].age == 0)
        )
    ) and (
        not taken
        or (
            not before.paused
            and not (is_over(before) and Timing.timer_before_requests)
            and len(after.requests) == len(before.requests) - 1
            and (before.answers_cut or after.responses[len(before.responses)] == 0)
        )
    )


@transition_invariant(source="Consumer Coordinator, 10, 11 (handlePingRequest)")
def lease_is_of_an_answer(before: Session, after: Session) -> bool:
    """A ping renews the session as from the last answer of which it says that it arrived; the draft, from now on."""
    if len(after.requests) >= len(before.requests) or after.cuts != before.cuts:
        return True
    if not Timing.lease_from_answers:
        return after.session == 0
    behind = before.requests[0].behind
    arrived = len(before.answers) - behind
    renewed = before.answers[arrived - 1] if arrived > 0 else before.session
    awaited = min(behind, len(before.answers))
    return after.session == renewed and len(after.answers) == awaited + 1 and after.answers[awaited] == 0


@transition_invariant(source="Consumer Coordinator, 11 (Handling PingResponse 2)")
def answer_is_read_in_time(before: Session, after: Session) -> bool:
    """The coordinator reads an answer unless it has waited for long enough already; each is of one ping."""
    read = len(after.responses) < len(before.responses) and after.cuts == before.cuts
    return (not read and after.unanswered >= before.unanswered) or (
        read and not is_dead(before) and after.unanswered == before.unanswered - 1 and after.silence == 0
    )


@transition_invariant(source="Consumer Coordinator, 8 (5: a soft failure, GC)")
def fault_has_its_effect(before: Session, after: Session) -> bool:
    """There is one pause, of some length; a connection is cut one way at a time, and what is under way is lost."""
    cut = after.cuts > before.cuts
    requests = after.requests_cut and not before.requests_cut
    answers = after.answers_cut and not before.answers_cut
    return (
        (not after.paused or before.paused or before.pause == 0)
        and (after.paused or not before.paused or before.pause > 0)
        and (not cut or (after.cuts == before.cuts + 1 and requests != answers))
        and (cut or (not requests and not answers))
        and (not requests or len(after.requests) == 0)
        and (not answers or len(after.responses) == 0)
        and (not cut or requests or after.requests == before.requests)
        and (not cut or answers or after.responses == before.responses)
    )


@witness
def declared_dead(s: Session) -> bool:
    """A consumer is declared dead."""
    return s.dead


@witness
def stopped(s: Session) -> bool:
    """A consumer has stopped."""
    return s.stopped


@witness
def late(s: Session) -> bool:
    """A ping and an answer are as late as can be."""
    return (
        len(s.requests) > 0
        and s.requests[0].age == Timing.max_delay_ticks
        and len(s.responses) > 0
        and s.responses[0] == Timing.max_delay_ticks
    )


@witness
def answered(s: Session) -> bool:
    """The coordinator has the answer to the only ping that it has sent."""
    return s.unanswered == 0 and len(s.answers) == 1


@witness
def short_pause(s: Session) -> bool:
    """A consumer has stood still for a tick."""
    return not s.paused and s.pause == 1


@witness
def cut_both_ways(s: Session) -> bool:
    """Neither pings nor answers arrive any more."""
    return s.requests_cut and s.answers_cut
