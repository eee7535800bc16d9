"""Leases in time: when is a broker fenced that still sends heartbeats, and how soon one that does not?

One broker and the active controller, in ticks of 500 ms. The broker sends a heartbeat, waits for the reply, and
sends the next one an interval after it; where no reply comes it gives the request up and sends again. Requests
and replies take a tick at most, or are lost. The controller's queue may stall: heartbeats wait there while the
clock runs. Nobody dawdles: time passes only when neither broker nor controller has something to do at once.
After a failover the lease starts again with the next active controller. What was sent to the one before is lost, and so
is what the broker sends there until it hears of its successor, or gives a request up.
A dead broker's place may be taken by a new incarnation, which asks for the id until it gets it.
Leaves out: everything but the lease (see the other models, where leases may run out at any time); the
exponential backoff before a request is sent again; how a registration travels, and what may be lost of it; two
brokers that share the controller's queue; how long an election takes (while nobody is active nobody is fenced, and
the lease begins when somebody is).
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated

from checker.lang import (
    History,
    Nat,
    Range,
    action,
    assume,
    constants,
    init,
    require,
    state,
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
    max_restarts: int = 0
    "Budget of new incarnations that ask for the id of the broker once it is dead: 0 or 1."
    registration_retry_ticks: int = 2
    "How long a new incarnation waits after a refusal before it asks again."
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


def longest_wait_for_id() -> int:
    """Ticks of silence after which a new incarnation has the id: it asks again a while after it was refused."""
    return longest_silence() + (Timing.registration_retry_ticks if Timing.max_restarts > 0 else 0)


def longest_tenure() -> int:
    """Ticks of tenure after which it no longer matters since when a controller is active. The first always was."""
    return Timing.session_timeout_ticks if Timing.max_failovers > 0 else 0


Stall = Annotated[int, Range(0, lambda: Timing.max_stall_ticks)]
StallLength = Annotated[int, Range(1, lambda: Timing.max_stall_ticks)]
Restarts = Annotated[int, Nat(lambda: Timing.max_restarts)]
Retry = Annotated[int, Range(0, lambda: Timing.registration_retry_ticks if Timing.max_restarts > 0 else 0)]
Silence = Annotated[int, Range(0, lambda: longest_wait_for_id() + 1), History]
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
    applicants: Restarts  # new incarnations that ask for the id
    retry: Retry  # ticks until the new incarnation asks again
    restarts: Restarts


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
        applicants=0,
        retry=0,
        restarts=0,
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
    """The controller has to process a heartbeat or a registration, or to fence the broker, now."""
    return s.stall == 0 and (s.exchange == Exchange.QUEUED or s.backlog or lease_is_over(s) or is_asked_for_id(s))


def is_asked_for_id(s: Lease) -> bool:
    """The registration of a new incarnation is in the controller's queue."""
    return s.applicants > 0 and s.retry == 0


@action(who="time", source="KIP-631, Broker Leases")
def tick(s: Lease) -> None:
    """Half a second passes."""
    require(not broker_is_due(s) and not controller_is_due(s))
    require(not is_under_way(s) or s.delay < Timing.max_delay_ticks)
    s.clock = min(s.clock + 1, max(Timing.heartbeat_interval_ticks, Timing.request_timeout_ticks))
    s.delay = s.delay + 1 if is_under_way(s) else 0
    s.lease_age = min(s.lease_age + 1, Timing.session_timeout_ticks)
    s.stall = max(s.stall - 1, 0)
    s.retry = max(s.retry - 1, 0)
    s.silence = min(s.silence + 1, longest_wait_for_id() + 1)
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


@action(who="new incarnation", source="KIP-631, Broker Registration", kafka="BrokerServer.startup")
def start_again(s: Lease) -> None:
    """A new incarnation of the broker that died asks for the id."""
    require(not s.alive and s.restarts < Timing.max_restarts)
    s.applicants = 1
    s.restarts += 1


@action(
    who="controller",
    source="KIP-631, Broker Registration; Handling Broker ID Conflicts",
    kafka="ClusterControlManager.registerBroker",
    deviates="how the request travels is left out; of the new incarnation, fenced, no more is said",
)
def register(s: Lease) -> None:
    """The controller gives the id to the new incarnation, unless it is still leased: then it refuses, by an exception
    after which it neither renews a lease nor looks for one that runs out.
    """
    require(s.stall == 0 and is_asked_for_id(s))
    if not s.fenced and (not s.tracked or s.lease_age < Timing.session_timeout_ticks):
        s.retry = Timing.registration_retry_ticks
    else:
        s.fenced = True
        s.applicants = 0
