"""Leases in time: when is a broker fenced that still sends heartbeats, and how soon one that does not?

One broker and the active controller, in ticks of 500 ms. The broker sends a heartbeat, waits for the reply, and
sends the next one an interval after it; where no reply comes it gives the request up and sends again. Requests
and replies take a tick at most, or are lost. The controller's queue may stall: heartbeats wait there while the
clock runs. Nobody dawdles: time passes only when neither broker nor controller has something to do at once.
Leaves out: everything but the lease (see the other models, where leases may run out at any time); the
exponential backoff before a request is sent again; two brokers that share the controller's queue.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated

from checker.lang import (
    History,
    Model,
    Nat,
    Range,
    action,
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
    """Times in ticks of 500 ms, with Kafka 3.9's as defaults."""

    heartbeat_interval_ticks: int = 4
    "broker.heartbeat.interval.ms: from a reply to the next heartbeat."
    session_timeout_ticks: int = 18
    "broker.session.timeout.ms: how long a lease lasts."
    request_timeout_ticks: int = 9
    "How long the broker waits for a reply before it sends again (KAFKA-14392: half the session timeout)."
    max_delay_ticks: int = 1
    "How long a request or reply is under way at most."
    max_stall_ticks: int = 24
    "How long the controller's queue stands still at most."
    max_mishaps: int = 1
    "Budget of lost messages and stalls, together."
    lease_from_arrival: bool = True
    """KAFKA-17793: a lease counts from when the heartbeat reaches the controller; else from when it is processed."""


class Exchange(Enum):
    """Where the heartbeat is that the broker waits for."""

    NONE = "NONE"  # the broker has its reply
    SENT = "SENT"
    QUEUED = "QUEUED"
    ANSWERED = "ANSWERED"
    LOST = "LOST"


LeaseAge = Annotated[int, Range(0, lambda: Timing.session_timeout_ticks)]
Clock = Annotated[int, Range(0, lambda: max(Timing.heartbeat_interval_ticks, Timing.request_timeout_ticks))]
Delay = Annotated[int, Range(0, lambda: Timing.max_delay_ticks)]


def longest_silence() -> int:
    """Ticks for which a broker may be silent before it is fenced: a session timeout, and every stall there may be."""
    return Timing.session_timeout_ticks + Timing.max_mishaps * Timing.max_stall_ticks


Stall = Annotated[int, Range(0, lambda: Timing.max_stall_ticks)]
StallLength = Annotated[int, Range(1, lambda: Timing.max_stall_ticks)]
Silence = Annotated[int, Range(0, lambda: longest_silence() + 1), History]
Mishaps = Annotated[int, Nat(lambda: Timing.max_mishaps)]


@state
class Lease:
    """The lease of a broker."""

    alive: bool
    exchange: Exchange
    clock: Clock  # ticks since the broker sent its heartbeat; since its reply came, where there is none under way
    delay: Delay  # ticks that the message has been under way
    backlog: bool  # a heartbeat that the broker gave up is still in the controller's queue
    lease_age: LeaseAge  # ticks since the controller renewed the lease
    stall: Stall  # ticks until the controller's queue moves on
    fenced: bool
    silence: Silence  # ticks since a heartbeat last reached the controller
    mishaps: Mishaps


@init
def just_heard() -> Lease:
    """A heartbeat was just answered."""
    return Lease(
        alive=True,
        exchange=Exchange.NONE,
        clock=0,
        delay=0,
        backlog=False,
        lease_age=0,
        stall=0,
        fenced=False,
        silence=0,
        mishaps=0,
    )


def is_under_way(s: Lease) -> bool:
    return s.exchange in (Exchange.SENT, Exchange.ANSWERED)


def longest_wait(s: Lease) -> int:
    """Ticks after which the broker sends the next heartbeat."""
    return Timing.heartbeat_interval_ticks if s.exchange == Exchange.NONE else Timing.request_timeout_ticks


def broker_is_due(s: Lease) -> bool:
    """The broker has to send its first or next heartbeat now."""
    return s.alive and s.clock >= longest_wait(s)


def lease_is_over(s: Lease) -> bool:
    return not s.fenced and s.lease_age >= Timing.session_timeout_ticks


def controller_is_due(s: Lease) -> bool:
    """The controller has to process a heartbeat, or to fence the broker, now."""
    return s.stall == 0 and (s.exchange == Exchange.QUEUED or s.backlog or lease_is_over(s))


@action(who="time", source="KIP-631, Broker Leases")
def tick(s: Lease) -> None:
    """Half a second passes."""
    require(not broker_is_due(s) and not controller_is_due(s))
    require(not is_under_way(s) or s.delay < Timing.max_delay_ticks)
    s.clock = min(s.clock + 1, max(Timing.heartbeat_interval_ticks, Timing.request_timeout_ticks))
    s.delay = s.delay + 1 if is_under_way(s) else 0
    s.lease_age = min(s.lease_age + 1, Timing.session_timeout_ticks)
    s.stall = max(s.stall - 1, 0)
    s.silence = min(s.silence + 1, longest_silence() + 1)


@action(who="broker", source="KIP-631, Broker Leases", kafka="BrokerLifecycleManager.sendBrokerHeartbeat")
def send(s: Lease) -> None:
    """The broker sends a heartbeat, or gives one up that was not answered, and sends the next."""
    require(broker_is_due(s))
    s.backlog = s.backlog or s.exchange == Exchange.QUEUED
    s.exchange = Exchange.SENT
    s.clock = 0
    s.delay = 0


@action(who="network", source="KIP-631, Broker Leases", kafka="ControllerApis.handleBrokerHeartBeatRequest")
def arrive(s: Lease) -> None:
    """A heartbeat reaches the controller, and its queue."""
    require(s.exchange == Exchange.SENT)
    s.exchange = Exchange.QUEUED
    s.silence = 0
    if Timing.lease_from_arrival:
        s.lease_age = 0


@action(who="controller", source="KIP-631, Broker Leases", kafka="QuorumController.processBrokerHeartbeat")
def process(s: Lease) -> None:
    """The controller processes what is in its queue. The broker waits for the newest reply only."""
    require(s.stall == 0 and (s.exchange == Exchange.QUEUED or s.backlog))
    if not Timing.lease_from_arrival:
        s.lease_age = 0
    if s.exchange == Exchange.QUEUED:
        s.exchange = Exchange.ANSWERED
        s.delay = 0
    s.backlog = False


@action(who="network", source="KIP-631, Broker Leases")
def reply(s: Lease) -> None:
    """The reply reaches the broker."""
    require(s.exchange == Exchange.ANSWERED)
    s.exchange = Exchange.NONE
    s.clock = 0
    s.delay = 0


@action(who="controller", source="KIP-631, Broker Leases", kafka="ReplicationControlManager.maybeFenceOneStaleBroker")
def fence(s: Lease) -> None:
    """The controller fences the broker. The check may overtake heartbeats that wait in the queue."""
    require(s.stall == 0 and lease_is_over(s))
    s.fenced = True


@action(who="controller", source="KAFKA-17793 (the main controller thread gets blocked for several seconds)")
def stall(s: Lease, ticks: StallLength) -> None:
    """The controller's queue stands still for a while."""
    require(s.stall == 0 and s.mishaps < Timing.max_mishaps)
    s.stall = ticks
    s.mishaps += 1


@action(who="network", source="KAFKA-14392")
def lose(s: Lease) -> None:
    """A heartbeat or its reply is lost, and nobody tells the broker."""
    require(is_under_way(s) and s.mishaps < Timing.max_mishaps)
    s.exchange = Exchange.LOST
    s.delay = 0
    s.mishaps += 1


@action(who="broker", source="KIP-631, Broker Leases")
def crash(s: Lease) -> None:
    """The broker dies."""
    require(s.alive)
    s.alive = False


@transition_invariant(source="KIP-631, Broker Leases (S9)")
def fenced_after_silence(before: Lease, after: Lease) -> bool:
    """A broker is fenced only when none of its heartbeats reached the controller for a whole session timeout."""
    return before.fenced or not after.fenced or before.silence >= Timing.session_timeout_ticks


@invariant(source="KIP-631, Broker Leases; KAFKA-14392; KAFKA-17793 (S9)")
def live_broker_is_not_fenced(s: Lease) -> bool:
    """A broker that is alive is not fenced: a lease outlasts the mishaps of the budget."""
    return not s.fenced or not s.alive


@invariant(source="KIP-631, Broker Leases (L1)")
def silent_broker_is_fenced_in_time(s: Lease) -> bool:
    """A broker of which nothing was heard for a session timeout, and for as long as the queue stalled, is fenced."""
    return s.fenced or s.silence <= longest_silence()


@invariant(source="KAFKA-17793 (S9)")
def lease_is_as_old_as_the_silence(s: Lease) -> bool:
    """Where it counts from the arrival of heartbeats, a lease is as old as the last that arrived."""
    return not Timing.lease_from_arrival or s.lease_age == min(s.silence, Timing.session_timeout_ticks)


@transition_invariant(source="KIP-631, Broker Leases; KAFKA-14392")
def heartbeat_takes_its_course(before: Lease, after: Lease) -> bool:
    """A heartbeat is sent when it is due, queued, answered by a queue that moves; what is under way may be lost."""
    if before.exchange == after.exchange:
        return before.mishaps == after.mishaps or before.stall < after.stall
    if after.exchange == Exchange.SENT:
        return after.delay == 0 and after.clock == 0 and before.clock >= longest_wait(before)
    if after.exchange == Exchange.QUEUED:
        return before.exchange == Exchange.SENT
    if after.exchange == Exchange.ANSWERED:
        return before.exchange == Exchange.QUEUED and before.stall == 0 and after.delay == 0
    if after.exchange == Exchange.NONE:
        return before.exchange == Exchange.ANSWERED and after.delay == 0 and after.clock == 0
    return is_under_way(before) and before.mishaps < after.mishaps and after.delay == 0


@transition_invariant(source="KAFKA-17793 (the main controller thread gets blocked for several seconds)")
def queue_moves_as_a_whole(before: Lease, after: Lease) -> bool:
    """What was given up waits in the queue until that moves; while it stands still nothing leaves it, and nobody is
    fenced.
    """
    if after.backlog and not before.backlog:
        return before.exchange == Exchange.QUEUED and after.exchange == Exchange.SENT
    leaves = (before.backlog and not after.backlog) or after.fenced != before.fenced
    answers = before.exchange == Exchange.QUEUED and after.exchange == Exchange.ANSWERED
    return (before.stall == 0 or not leaves) and not (answers and after.backlog)


@transition_invariant(source="KIP-631, Broker Leases")
def clocks_run_alike(before: Lease, after: Lease) -> bool:
    """All clocks run on by a tick at once, or stand still, or start anew; a message's only while it is under way."""
    ticked = after.silence > before.silence or after.clock > before.clock
    longest = max(Timing.heartbeat_interval_ticks, Timing.request_timeout_ticks)
    return (
        runs(before.silence, after.silence, longest_silence() + 1, ticked)
        and runs(before.lease_age, after.lease_age, Timing.session_timeout_ticks, ticked)
        and runs(before.clock, after.clock, longest, ticked)
        and (not ticked or after.stall == max(before.stall - 1, 0))
        and (not ticked or after.delay == (before.delay + 1 if is_under_way(before) else 0))
    )


def runs(before: int, after: int, limit: int, ticked: bool) -> bool:
    return after == min(before + 1, limit) if ticked else after in (before, 0)


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
def heartbeats_wait_for_the_queue(s: Lease) -> bool:
    """The broker has sent again, and both heartbeats wait in the controller's queue."""
    return s.backlog and s.exchange == Exchange.QUEUED


TIMED = Model(
    name="timed",
    doc="One lease in ticks of 500 ms: one lost message, or a queue that stalls for up to 12 s.",
    init=just_heard,
    actions=(tick, send, arrive, process, reply, fence, stall, lose, crash),
    properties=(
        fenced_after_silence,
        live_broker_is_not_fenced,
        silent_broker_is_fenced_in_time,
        lease_is_as_old_as_the_silence,
        heartbeat_takes_its_course,
        queue_moves_as_a_whole,
        clocks_run_alike,
        message_takes_its_time,
        answered_at_once,
        dead_broker_fenced,
        heartbeats_wait_for_the_queue,
    ),
    settings={
        "repaired": {},
        "shipped": {"lease_from_arrival": False},
        "draft": {
            "heartbeat_interval_ticks": 6,
            "session_timeout_ticks": 36,
            "request_timeout_ticks": 60,
            "lease_from_arrival": False,
        },
    },
    faults="one mishap: a message that the network swallows, or a controller thread that is blocked for up to 12 s",
    not_modelled="everything but the lease of one broker; backoff before a request is sent again. draft: the document "
    "names no request timeout, so Kafka's default of 30 s is taken",
)
