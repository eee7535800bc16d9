"""Leases in time: a broker that leads and the controller, each with a timer of its own, in ticks of 500 ms.

The broker sends a heartbeat, waits for the answer, and sends the next an interval after it sent the last; where no
answer comes it gives the request up after as long, and sends again. A message takes a tick at most, or longer where the
controller's queue stalls (KAFKA-4453: behind data), or is lost. The broker's clock may be slow: every so many ticks it
misses one. The broker may be paused; on waking its timer comes before any request that waits.
Leaves out: everything but the lease; a pause between looking at the clock and answering.
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import (
    Nat,
    Option,
    Range,
    action,
    assume,
    constants,
    init,
    invariant,
    require,
    state,
    transition_invariant,
    witness,
)


@constants
class Timing:
    """Times in ticks of 500 ms."""

    heartbeat_interval_ticks: int = 4
    "controller.heartbeat.interval.ms, and how long the broker waits for an answer."
    broker_timeout_ticks: int = 12
    "broker.heartbeat.timeout.ms; 24 in the document's order."
    controller_timeout_ticks: int = 18
    "controller.heartbeat.timeout.ms."
    max_stall_ticks: int = 8
    "How long the controller's queue stands still at most."
    max_pause_ticks: int = 20
    "How long the broker is paused at most."
    max_mishaps: int = 2
    "Budget of lost messages, stalls and pauses, together."
    drift_ticks: int = 12
    "The broker's clock misses a tick after so many; 0: it is right."
    lease_from_sending: bool = True
    "The broker counts its lease from sending the heartbeat that was answered. Off: from the reply."


@assume
def timeouts_are_apart() -> bool:
    """a timeout is longer than an interval, and ticks are counted up to 60."""
    longest = max(Timing.broker_timeout_ticks, Timing.controller_timeout_ticks)
    return 1 <= Timing.heartbeat_interval_ticks < Timing.broker_timeout_ticks and longest <= 60


BrokerAge = Annotated[int, Range(0, lambda: Timing.broker_timeout_ticks)]
ControllerAge = Annotated[int, Range(0, lambda: Timing.controller_timeout_ticks)]
Delay = Annotated[int, Range(0, 1)]
Stall = Annotated[int, Range(0, lambda: Timing.max_stall_ticks)]
StallLength = Annotated[int, Range(1, lambda: Timing.max_stall_ticks)]
Pause = Annotated[int, Range(0, lambda: Timing.max_pause_ticks)]
PauseLength = Annotated[int, Range(1, lambda: Timing.max_pause_ticks)]
Mishaps = Annotated[int, Nat(lambda: Timing.max_mishaps)]
Drift = Annotated[int, Range(0, lambda: max(Timing.drift_ticks, 1))]


@state
class Lease:
    """One lease, as both sides count it."""

    request: Option[Delay]  # ticks that the heartbeat has been under way; None: there is none
    queued: bool  # it waits in the controller's queue
    reply: Option[Delay]
    clock: BrokerAge  # of the broker: ticks since it sent its newest heartbeat
    broker_age: BrokerAge  # of the broker: ticks since what its lease counts from
    fenced: bool
    controller_age: ControllerAge  # ticks since the controller handled a heartbeat
    expired: bool  # the controller has declared it inactive: another leads
    stall: Stall
    pause: Pause
    drift: Drift  # ticks until the broker's clock misses one
    mishaps: Mishaps


@init
def just_answered() -> Lease:
    """A heartbeat was just answered."""
    return Lease(
        request=None,
        queued=False,
        reply=None,
        clock=0,
        broker_age=0,
        fenced=False,
        controller_age=0,
        expired=False,
        stall=0,
        pause=0,
        drift=Timing.drift_ticks,
        mishaps=0,
    )


def is_due(s: Lease) -> bool:
    """The broker has something to do at once: to fence itself, to send, to take a reply that can wait no longer."""
    return s.pause == 0 and (must_fence(s) or s.clock >= Timing.heartbeat_interval_ticks or s.reply == 1)


def must_fence(s: Lease) -> bool:
    """The broker's timer has run out."""
    return not s.fenced and s.broker_age >= Timing.broker_timeout_ticks


def controller_is_due(s: Lease) -> bool:
    """The controller has something to do at once."""
    return s.stall == 0 and (s.queued or must_expire(s))


def must_expire(s: Lease) -> bool:
    """The controller's timer has run out."""
    return not s.expired and s.controller_age >= Timing.controller_timeout_ticks


def later(ticks: Option[Delay]) -> Option[Delay]:
    """A message that is under way, a tick later."""
    return None if ticks is None else min(ticks + 1, 1)


@action(who="time", source="KIP-343, both timeouts")
def tick(s: Lease) -> None:
    """Half a second passes. Nobody dawdles: who has something to do does it before."""
    require(not is_due(s) and not controller_is_due(s) and s.request != 1)
    runs = Timing.drift_ticks == 0 or s.drift > 0
    s.request = later(s.request)
    s.reply = later(s.reply)
    s.clock = min(s.clock + 1, Timing.broker_timeout_ticks) if runs else s.clock
    s.broker_age = min(s.broker_age + 1, Timing.broker_timeout_ticks) if runs else s.broker_age
    s.controller_age = min(s.controller_age + 1, Timing.controller_timeout_ticks)
    s.stall = max(s.stall - 1, 0)
    s.pause = max(s.pause - 1, 0)
    s.drift = s.drift - 1 if s.drift > 0 else Timing.drift_ticks


@action(who="broker", source="KIP-343, Controller Heartbeat")
def send(s: Lease) -> None:
    """The broker sends a heartbeat; one that was not answered it gives up."""
    require(s.pause == 0 and not must_fence(s) and s.clock >= Timing.heartbeat_interval_ticks)
    s.request = 0
    s.queued = False
    s.reply = None
    s.clock = 0


@action(who="network", source="KIP-343, Controller Heartbeat")
def arrive(s: Lease) -> None:
    """A heartbeat reaches the controller's queue."""
    require(s.request is not None)
    s.request = None
    s.queued = True


@action(who="controller", source="KIP-343, Controller Logic")
def handle(s: Lease) -> None:
    """The controller handles the heartbeat, and renews the lease. Once another leads, it answers INACTIVE."""
    require(s.stall == 0 and s.queued and not must_expire(s))
    s.queued = False
    s.controller_age = 0
    if not s.expired:
        s.reply = 0


@action(who="broker", source="KIP-343, Broker-Side Heartbeat Timeout")
def take_reply(s: Lease) -> None:
    """The broker takes the reply, unless its timer has run out meanwhile: on waking, timers come first."""
    require(s.reply is not None and s.pause == 0 and not must_fence(s))
    s.reply = None
    age = s.clock if Timing.lease_from_sending else 0
    s.broker_age = age
    s.fenced = age >= Timing.broker_timeout_ticks


@action(who="broker", source="KIP-343, Broker-Side Heartbeat Timeout")
def fence(s: Lease) -> None:
    """The broker's timer runs out: it fences itself."""
    require(s.pause == 0 and must_fence(s))
    s.fenced = True


@action(who="controller", source="KIP-343, Controller-Side Heartbeat Timeout")
def expire(s: Lease) -> None:
    """The controller's timer runs out: another leads."""
    require(s.stall == 0 and must_expire(s))
    s.expired = True


@action(who="network", source="KIP-343, Motivation")
def lose(s: Lease) -> None:
    """A heartbeat or its reply is lost."""
    require((s.request is not None or s.reply is not None) and s.mishaps < Timing.max_mishaps)
    s.request = None
    s.reply = None
    s.mishaps += 1


@action(who="controller", source="KAFKA-4453 (control requests queue behind data)")
def stall(s: Lease, ticks: StallLength) -> None:
    """The controller's queue stands still."""
    require(s.stall == 0 and s.mishaps < Timing.max_mishaps)
    s.stall = ticks
    s.mishaps += 1


@action(who="broker", source="KIP-343, Broker-Side Heartbeat Timeout")
def pause(s: Lease, ticks: PauseLength) -> None:
    """The broker is paused: it does nothing, and serves nobody."""
    require(s.pause == 0 and s.mishaps < Timing.max_mishaps)
    s.pause = ticks
    s.mishaps += 1


def serves(s: Lease) -> bool:
    """A request that comes now is accepted: the broker runs, is not fenced, and its timer has not run out."""
    return s.pause == 0 and not s.fenced and not must_fence(s)


@invariant(source="KIP-343, Broker-Side Heartbeat Timeout; Controller-Side Heartbeat Timeout (S2)")
def nobody_serves_after_expiry(s: Lease) -> bool:
    """Once another leads, the broker does not serve."""
    return not s.expired or not serves(s)


@transition_invariant(source="KIP-343, Broker-Side Heartbeat Timeout; Controller-Side Heartbeat Timeout (S2)")
def timers_decide(before: Lease, after: Lease) -> bool:
    """The broker is fenced only while it runs, another leads only by a queue that moves, once their timers ran out."""
    fences = after.fenced and not before.fenced
    expires = after.expired and not before.expired
    return (not fences or (before.pause == 0 and must_fence(before))) and (
        not expires or (before.stall == 0 and must_expire(before))
    )


# What a step may do to the clocks, the messages and the lease.


def passes(before: Lease, after: Lease) -> bool:
    """Half a second has passed in this step: something has run on, or run down."""
    return (
        before.drift != after.drift
        or before.controller_age < after.controller_age
        or before.broker_age < after.broker_age
        or before.clock < after.clock
        or after.stall < before.stall
        or after.pause < before.pause
    )


@transition_invariant(source="KIP-343, both timeouts")
def nobody_dawdles(before: Lease, after: Lease) -> bool:
    """Time passes only where nobody has anything to do at once, and no message has been under way for a tick."""
    return not passes(before, after) or (
        not is_due(before) and not controller_is_due(before) and before.request != 1 and after.mishaps == before.mishaps
    )


@transition_invariant(source="KIP-343, both timeouts")
def time_passes_for_both(before: Lease, after: Lease) -> bool:
    """Half a second is one tick to the controller, to stalls and to pauses; the broker's clock may miss it."""
    ticks = 1 if Timing.drift_ticks == 0 or before.drift > 0 else 0
    return not passes(before, after) or (
        after.controller_age == min(before.controller_age + 1, Timing.controller_timeout_ticks)
        and after.clock == min(before.clock + ticks, Timing.broker_timeout_ticks)
        and after.broker_age == min(before.broker_age + ticks, Timing.broker_timeout_ticks)
        and after.stall == max(before.stall - 1, 0)
        and after.pause == max(before.pause - 1, 0)
        and after.drift == (before.drift - 1 if before.drift > 0 else Timing.drift_ticks)
        and (before.request is None if after.request is None else after.request == 1)
        and (before.reply is None if after.reply is None else after.reply == 1)
    )


def is_sent(before: Lease, after: Lease) -> bool:
    """The broker, whose interval is over, has sent a heartbeat: its clock starts, and the former one is given up."""
    return (
        before.pause == 0
        and not must_fence(before)
        and before.clock >= Timing.heartbeat_interval_ticks
        and after.clock == 0
        and after.request == 0
        and not after.queued
        and after.reply is None
    )


def is_handled(before: Lease, after: Lease) -> bool:
    """The controller has handled a heartbeat in time: the lease is renewed, and answered unless another leads."""
    return (
        before.stall == 0
        and before.queued
        and not must_expire(before)
        and not after.queued
        and after.controller_age == 0
        and (after.reply == before.reply if before.expired else after.reply == 0)
    )


def is_taken(before: Lease, after: Lease) -> bool:
    """The broker has taken the answer in time: its lease counts from what it was sent for."""
    return (
        before.pause == 0
        and not must_fence(before)
        and before.reply is not None
        and after.reply is None
        and after.broker_age == (before.clock if Timing.lease_from_sending else 0)
        and after.fenced == (after.broker_age >= Timing.broker_timeout_ticks)
    )


@transition_invariant(source="KIP-343, Controller Heartbeat; Controller Logic")
def heartbeat_takes_its_way(before: Lease, after: Lease) -> bool:
    """A heartbeat is sent, arrives, is handled and answered; it goes nowhere else but in a mishap."""
    sent = is_sent(before, after)
    lost = before.mishaps < after.mishaps
    arrived = before.request is not None and after.request is None and after.queued
    return (
        (before.clock <= after.clock or sent)
        and (before.request is not None or after.request is None or sent)
        and (before.request is None or after.request is not None or arrived or lost)
        and (before.queued or not after.queued or arrived)
        and (not before.queued or after.queued or sent or is_handled(before, after))
        and (before.reply is not None or after.reply is None or is_handled(before, after))
        and (before.reply is None or after.reply is not None or sent or lost or is_taken(before, after))
    )


@transition_invariant(source="KIP-343, Broker-Side Heartbeat Timeout; Controller-Side Heartbeat Timeout (S2)")
def lease_is_renewed_by_a_heartbeat(before: Lease, after: Lease) -> bool:
    """The controller's timer starts anew by a heartbeat that it handles, the broker's, and its fence, by an answer."""
    return (before.controller_age <= after.controller_age or is_handled(before, after)) and (
        (before.broker_age <= after.broker_age and (not before.fenced or after.fenced)) or is_taken(before, after)
    )


@transition_invariant(source="KIP-343, Motivation; KAFKA-4453")
def mishap_has_its_effect(before: Lease, after: Lease) -> bool:
    """A mishap, which counts once, loses what is under way, or begins a stall or a pause; these begin with no other."""
    loses = (before.request is not None or before.reply is not None) and after.request is None and after.reply is None
    stalls = before.stall == 0 and after.stall > 0
    pauses = before.pause == 0 and after.pause > 0
    if before.mishaps < after.mishaps:
        return after.mishaps == before.mishaps + 1 and (loses or stalls or pauses)
    return before.stall >= after.stall and before.pause >= after.pause


@invariant(source="KIP-343, Broker-Side Heartbeat Timeout; Controller-Side Heartbeat Timeout")
def undisturbed_broker_serves(s: Lease) -> bool:
    """Without a mishap neither timer runs out."""
    return s.mishaps > 0 or (serves(s) and not s.expired)


@invariant(source="KIP-343, Broker-Side Heartbeat Timeout; KAFKA-4453, KIP-291")
def reachable_broker_serves(s: Lease) -> bool:
    """A broker that runs, and whose messages arrive, serves: the controller's queue takes no lease from it."""
    return serves(s) and not s.expired


@witness
def clock_misses_a_tick(s: Lease) -> bool:
    """Heartbeats have been answered until the broker's clock is to miss a tick, and nothing went wrong."""
    return s.mishaps == 0 and s.drift == 0


@witness
def fenced_and_back(s: Lease) -> bool:
    """A broker has fenced itself, and its next heartbeat is answered before the controller's timer runs out."""
    return s.fenced and s.reply is not None


@witness
def woken_late(s: Lease) -> bool:
    """A broker wakes, and its timer has run out."""
    return s.expired and s.pause == 0 and must_fence(s)


@witness
def waits_in_the_queue(s: Lease) -> bool:
    """A heartbeat has waited in the controller's queue for longer than it was under way."""
    return s.queued and s.clock > 1


@witness
def heartbeat_is_repeated(s: Lease) -> bool:
    """Since the last answer a heartbeat was given up, and the next one is under way."""
    return s.broker_age > 2 * Timing.heartbeat_interval_ticks and not nothing_is_under_way(s)


@witness
def heard_of_again(s: Lease) -> bool:
    """The controller hears of a broker that it has declared inactive."""
    return s.expired and s.controller_age == 0


def nothing_is_under_way(s: Lease) -> bool:
    return s.request is None and not s.queued and s.reply is None


@witness
def heartbeat_is_lost(s: Lease) -> bool:
    """The newest heartbeat is gone, and the controller has not handled it."""
    return nothing_is_under_way(s) and s.clock < Timing.heartbeat_interval_ticks and s.clock + 1 < s.controller_age


@witness
def answer_is_lost(s: Lease) -> bool:
    """The newest heartbeat was handled, and its answer is gone before the broker took it."""
    return nothing_is_under_way(s) and not s.expired and s.controller_age < s.clock and s.clock < s.broker_age
