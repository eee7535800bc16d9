"""Leases in time: when is a broker fenced that still sends heartbeats, and how soon one that does not?

One broker and the active controller, in ticks of 500 ms. The broker sends a heartbeat, waits for the reply, and
sends the next one an interval after it; where no reply comes it gives the request up and sends again. Requests
and replies take a tick at most, or are lost. The controller's queue may stall: heartbeats wait there while the
clock runs. Nobody dawdles: time passes only when neither broker nor controller has something to do at once.
After a failover the lease starts again with the next active controller. What was sent to the one before is lost, and so
is what the broker sends there until it hears of its successor, or gives a request up.
Leaves out: everything but the lease (see the other models, where leases may run out at any time); the
exponential backoff before a request is sent again; two brokers that share the controller's queue; how long an
election takes (while nobody is active nobody is fenced, and the lease begins when somebody is).
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
    max_failovers: int = 0
    "Budget of failovers of the active controller."
    lease_from_arrival: bool = True
    """KAFKA-17793: a lease counts from when the heartbeat reaches the controller; else from when it is processed."""
    failover_renews_lease: bool = True
    "A new active controller gives the broker a whole lease; else it takes it for one that was silent from the start."
    kafka_18138: bool = True
    """KAFKA-18138: a new active controller knows the lease of every broker; else only of those that it has heard of."""
    lease_check_by_timer: bool = True
    """A new active controller looks for a lease that runs out by itself; else only once a heartbeat was processed
    (as in the other models)."""


@assume
def requests_can_arrive() -> bool:
    """a request is given up later than it may take to arrive, and a stall takes a tick at least."""
    return 0 <= Timing.max_delay_ticks < Timing.request_timeout_ticks and Timing.max_stall_ticks >= 1


class Exchange(Enum):
    """The place of the heartbeat that the broker waits for."""

    NONE = "NONE"  # the broker has its reply
    SENT = "SENT"
    QUEUED = "QUEUED"
    ANSWERED = "ANSWERED"
    LOST = "LOST"


LeaseAge = Annotated[int, Range(0, lambda: Timing.session_timeout_ticks)]
Clock = Annotated[int, Range(0, lambda: max(Timing.heartbeat_interval_ticks, Timing.request_timeout_ticks))]
Delay = Annotated[int, Range(0, lambda: Timing.max_delay_ticks)]


def longest_silence() -> int:
    """Ticks for which a broker may be silent before it is fenced: a lease of every controller, and every stall."""
    leases = (Timing.max_failovers + 1) * Timing.session_timeout_ticks
    return leases + Timing.max_mishaps * Timing.max_stall_ticks


def longest_tenure() -> int:
    """Ticks of tenure after which it no longer matters since when a controller is active. The first always was."""
    return Timing.session_timeout_ticks if Timing.max_failovers > 0 else 0


Stall = Annotated[int, Range(0, lambda: Timing.max_stall_ticks)]
StallLength = Annotated[int, Range(1, lambda: Timing.max_stall_ticks)]
Silence = Annotated[int, Range(0, lambda: longest_silence() + 1), History]
Mishaps = Annotated[int, Nat(lambda: Timing.max_mishaps)]
Failovers = Annotated[int, Nat(lambda: Timing.max_failovers)]
Tenure = Annotated[int, Range(0, lambda: longest_tenure()), History]


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
    silence: Silence  # ticks since a heartbeat last reached a controller that was the active one
    mishaps: Mishaps
    tracked: bool  # the active controller knows the broker's lease
    checks_leases: bool  # it looks for a lease that runs out
    failovers: Failovers
    heard: Failovers  # of how many failovers the broker knows
    tenure: Tenure  # ticks since the active controller is active


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
        tracked=True,
        checks_leases=True,
        failovers=0,
        heard=0,
        tenure=longest_tenure(),
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
    """The controller has found out that the lease is over."""
    return not s.fenced and s.tracked and s.checks_leases and s.lease_age >= Timing.session_timeout_ticks


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
    s.tenure = min(s.tenure + 1, longest_tenure())


@action(who="broker", source="KIP-631, Broker Leases", kafka="BrokerLifecycleManager.sendBrokerHeartbeat")
def send(s: Lease) -> None:
    """The broker sends a heartbeat, or gives one up that was not answered, and sends the next.

    Before that one it looks for the active controller.
    """
    require(broker_is_due(s))
    s.backlog = s.backlog or s.exchange == Exchange.QUEUED
    s.heard = s.heard if s.exchange == Exchange.NONE else s.failovers
    s.exchange = Exchange.SENT
    s.clock = 0
    s.delay = 0


@action(who="network", source="KIP-631, Broker Leases", kafka="ControllerApis.handleBrokerHeartBeatRequest")
def arrive(s: Lease) -> None:
    """A heartbeat reaches the controller, and its queue."""
    require(s.exchange == Exchange.SENT and s.heard == s.failovers)
    s.exchange = Exchange.QUEUED
    s.silence = 0
    if Timing.lease_from_arrival:
        s.lease_age = 0
        s.tracked = True


@action(who="controller", source="KIP-631, Broker Leases", kafka="QuorumController.processBrokerHeartbeat")
def process(s: Lease) -> None:
    """The controller processes what is in its queue. The broker waits for the newest reply only."""
    require(s.stall == 0 and (s.exchange == Exchange.QUEUED or s.backlog))
    if not Timing.lease_from_arrival:
        s.lease_age = 0
        s.tracked = True
    if s.exchange == Exchange.QUEUED:
        s.exchange = Exchange.ANSWERED
        s.delay = 0
    s.backlog = False
    s.checks_leases = True


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
    """A heartbeat or its reply is lost, and the broker does not learn of it."""
    require(is_under_way(s) and s.mishaps < Timing.max_mishaps)
    s.exchange = Exchange.LOST
    s.delay = 0
    s.mishaps += 1


@action(
    who="controller",
    source="KIP-631, Controller Failover",
    kafka="QuorumController.claim, ClusterControlManager.activate",
    deviates="the one before is gone at once, without notice",
)
def change_controller(s: Lease) -> None:
    """Another controller becomes active, and gives the broker a lease. The queue of the one before is lost."""
    require(s.failovers < Timing.max_failovers)
    s.failovers += 1
    s.tenure = 0
    s.lease_age = 0 if Timing.failover_renews_lease else Timing.session_timeout_ticks
    s.tracked = Timing.kafka_18138
    s.checks_leases = Timing.lease_check_by_timer
    s.stall = 0
    s.backlog = False
    if s.exchange == Exchange.QUEUED:
        s.exchange = Exchange.LOST
        s.delay = 0


@action(
    who="network",
    source="KIP-631, Controller Failover",
    kafka="NodeToControllerRequestThread.doWork",
    deviates="a controller that was deposed answers nothing",
)
def miss(s: Lease) -> None:
    """A heartbeat goes to a controller that is no longer active."""
    require(s.exchange == Exchange.SENT and s.heard < s.failovers)
    s.exchange = Exchange.LOST
    s.delay = 0


@action(who="broker", source="KIP-631, Controller Failover", kafka="RaftManager.leaderAndEpoch")
def hear_of_controller(s: Lease) -> None:
    """The broker hears who is the active controller, and sends its next heartbeat there."""
    require(s.heard < s.failovers and s.exchange != Exchange.SENT)
    s.heard = s.failovers


@action(who="broker", source="KIP-631, Broker Leases")
def crash_broker(s: Lease) -> None:
    """The broker dies."""
    require(s.alive)
    s.alive = False


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
    ticked = after.silence > before.silence or after.clock > before.clock or after.tenure > before.tenure
    longest = max(Timing.heartbeat_interval_ticks, Timing.request_timeout_ticks)
    return (
        runs(before.silence, after.silence, longest_silence() + 1, ticked)
        and (
            before.failovers < after.failovers
            or runs(before.lease_age, after.lease_age, Timing.session_timeout_ticks, ticked)
        )
        and runs(before.tenure, after.tenure, longest_tenure(), ticked)
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


ALWAYS = (
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
)

DRAFT = {
    "heartbeat_interval_ticks": 6,
    "session_timeout_ticks": 36,
    "request_timeout_ticks": 60,
    "lease_from_arrival": False,
}

TIMED = Model(
    name="timed",
    doc="One lease in ticks of 500 ms: one lost message, or a queue that stalls for up to 12 s.",
    init=just_heard,
    actions=(tick, send, arrive, process, reply, fence, stall, lose, crash_broker),
    properties=(
        *ALWAYS,
        heartbeats_wait_for_the_queue,
    ),
    settings={
        "repaired": {},
        "shipped": {"lease_from_arrival": False},
        "draft": DRAFT,
    },
    faults="one mishap: a message that the network swallows, or a controller thread that is blocked for up to 12 s",
    not_modelled="everything but the lease of one broker; backoff before a request is sent again. draft: the document "
    "names no request timeout, so Kafka's default of 30 s is taken",
)

TIMED_FAILOVER = Model(
    name="timed_failover",
    doc="One lease in ticks of 500 ms, over two failovers of the active controller; nothing else is lost.",
    init=just_heard,
    actions=(tick, send, arrive, process, reply, fence, change_controller, miss, hear_of_controller, crash_broker),
    properties=(
        *ALWAYS,
        broker_turns_to_the_active_controller,
        hears_while_it_waits,
        silent_for_as_long_as_may_be,
    ),
    constants={"max_failovers": 2, "max_mishaps": 0},
    settings={
        "repaired": {},
        "shipped": {"lease_from_arrival": False, "lease_check_by_timer": False},
        "draft": DRAFT,
    },
    faults="two failovers, each at the worst moment, of controllers that go without a word",
    not_modelled="everything but the lease of one broker; backoff before a request is sent again; lost messages and "
    "stalls besides (see `timed`). draft: as in `timed`",
)
