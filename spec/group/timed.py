"""Sessions in time: is a consumer that is declared dead sure to have stopped, and is anybody suspected for nothing?

One consumer and the coordinator, in ticks of a sixth of the consumer's session S: a ping each S/3, which has failed
after 2S/3. With R retries a consumer is dead S + R S/3 after the last ping was sent that it answered (8).
A message takes some ticks at most. The consumer may be paused, or be cut off, one way or both, for good. Nobody
dawdles: time passes only when nobody has something to do at once.
Leaves out: everything but pings (StopFetcher and StartFetcherRequests renew a session as pings do), and what comes
after the consumer has stopped, or was declared dead.
"""

from __future__ import annotations

from typing import Annotated

from checker.lang import AtMost, Nat, Range, Seq, action, assume, constants, init, message, require, state

SESSION = 6
INTERVAL = 2


@constants
class Timing:
    """Times in ticks of S/6, and who counts from when."""

    retries: int = 2
    "How many pings may fail in a row."
    max_delay_ticks: int = 1
    "How long a message is under way at most."
    max_pause_ticks: int = 0
    "How long the consumer stands still at most, once."
    max_cuts: int = 1
    "Ways in which the connection is cut, for good: requests, answers, or both."
    consumer_thirds: int = 3
    "After how many S/3 the consumer stops. The document has S (10), and S/3 (8.5)."
    lease_from_answers: bool = True
    "The consumer counts from its last answer of which it knows that it arrived. Else from what it has heard last."
    counts_answers: bool = True
    "A ping says how many pings before it are unanswered. Else how many have failed: none, for two thirds of S."
    equal_sessions: bool = True
    """The coordinator counts from its reading of the last answer, and so the consumer may count as long as it, from the
    sending. Else the coordinator counts from the sending of the ping that was answered, and the consumer S only."""
    timer_before_requests: bool = True
    "The consumer looks at its session before anything else, on waking, too."


@assume
def times_are_short() -> bool:
    """there are up to three retries, and a message takes less than a session."""
    return 0 <= Timing.retries <= 3 and 0 <= Timing.max_delay_ticks < SESSION


def limit() -> int:
    """Ticks after which a consumer that does not answer is dead."""
    return SESSION + INTERVAL * Timing.retries


def consumer_session() -> int:
    """Ticks after which the consumer stops."""
    return limit() if Timing.equal_sessions else INTERVAL * Timing.consumer_thirds


def queue() -> int:
    """Messages that may be under way, or wait for a consumer that is paused; answers, too, may be late."""
    return limit() + 1


Delay = Annotated[int, Range(0, lambda: Timing.max_delay_ticks)]
Age = Annotated[int, Range(0, consumer_session)]
Unanswered = Annotated[int, Range(0, queue)]
Silence = Annotated[int, Range(0, limit)]
Wait = Annotated[int, Range(0, INTERVAL)]
Paused = Annotated[int, Nat(lambda: Timing.max_pause_ticks)]
Cuts = Annotated[int, Nat(lambda: Timing.max_cuts)]


@message
class Ping:
    """A ping, how long it has been under way, and of how many pings before it the answers are awaited."""

    age: Delay
    behind: Unanswered


Requests = Annotated[Seq[Ping], AtMost(queue)]
Responses = Annotated[Seq[Delay], AtMost(queue)]
Ages = Annotated[Seq[Age], AtMost(queue)]


@state
class Session:
    """The session of a consumer, at both ends."""

    wait: Wait  # ticks until the next ping
    unanswered: Unanswered
    silence: Silence  # ticks since the coordinator read an answer (equal_sessions)
    requests: Requests
    responses: Responses
    session: Age  # ticks that the consumer counts
    answers: Ages  # ticks since it sent each answer of which it does not know that it arrived
    paused: bool
    pause: Paused  # ticks of it
    requests_cut: bool
    answers_cut: bool
    cuts: Cuts
    stopped: bool
    dead: bool


@init
def registered() -> Session:
    """The consumer has just registered."""
    return Session(
        wait=INTERVAL,
        unanswered=0,
        silence=0,
        requests=(),
        responses=(),
        session=0,
        answers=(),
        paused=False,
        pause=0,
        requests_cut=False,
        answers_cut=False,
        cuts=0,
        stopped=False,
        dead=False,
    )


def oldest_unanswered(s: Session) -> int:
    """Ticks since the first ping was sent that is unanswered."""
    return (INTERVAL - s.wait) + INTERVAL * (s.unanswered - 1)


def is_dead(s: Session) -> bool:
    """The coordinator has waited for an answer for long enough."""
    if Timing.equal_sessions:
        return s.silence >= limit()
    return s.unanswered > 0 and oldest_unanswered(s) + INTERVAL >= limit()


def is_over(s: Session) -> bool:
    """The consumer's session is over by its own clock."""
    return s.session >= consumer_session()


def fetches(s: Session) -> bool:
    """It fetches, or will before it looks at its session."""
    return not s.stopped and not (is_over(s) and Timing.timer_before_requests)


def somebody_is_due(s: Session) -> bool:
    """Somebody has something to do now."""
    if s.wait == 0 or is_dead(s):
        return True
    if not s.paused and (is_over(s) or (len(s.requests) > 0 and s.requests[0].age == Timing.max_delay_ticks)):
        return True
    return len(s.responses) > 0 and s.responses[0] == Timing.max_delay_ticks


def goes_on(s: Session) -> bool:
    return not s.stopped and not s.dead


@action(who="time", source="Consumer Coordinator, 8")
def tick(s: Session) -> None:
    """A sixth of a session passes."""
    require(goes_on(s) and not somebody_is_due(s))
    require(not s.paused or s.pause < Timing.max_pause_ticks)
    s.wait -= 1
    s.requests = tuple(Ping(min(p.age + 1, Timing.max_delay_ticks), p.behind) for p in s.requests)
    s.responses = tuple(min(age + 1, Timing.max_delay_ticks) for age in s.responses)
    s.silence = min(s.silence + 1, limit()) if Timing.equal_sessions else 0
    s.session = min(s.session + 1, consumer_session())
    s.answers = tuple(min(age + 1, consumer_session()) for age in s.answers)
    s.pause = s.pause + 1 if s.paused else s.pause


@action(who="coordinator", source="Consumer Coordinator, 5 (scheduler.run 1-3), 8 (1)")
def send_ping(s: Session) -> None:
    """The coordinator sends the next ping, whether or not the last one was answered."""
    require(goes_on(s) and s.wait == 0 and not is_dead(s))
    failed = sum(1 for n in range(12) if n < s.unanswered and INTERVAL * (n + 1) >= SESSION - INTERVAL)
    behind = s.unanswered if Timing.counts_answers else (0 if failed == 0 else s.unanswered)
    s.wait = INTERVAL
    s.unanswered += 1
    if not s.requests_cut:
        s.requests = s.requests + (Ping(0, behind),)


@action(who="consumer", source="Consumer Coordinator, 11 (handlePingRequest)")
def take_ping(s: Session) -> None:
    """The consumer takes a ping, and answers. It counts its session from an answer that has arrived."""
    require(goes_on(s) and not s.paused and len(s.requests) > 0)
    require(not (is_over(s) and Timing.timer_before_requests))
    arrived = len(s.answers) - s.requests[0].behind
    if not Timing.lease_from_answers:
        s.session = 0
    elif arrived > 0:
        s.session = s.answers[arrived - 1]
        s.answers = s.answers[arrived:]
    if Timing.lease_from_answers:
        s.answers = s.answers + (0,)
    s.requests = s.requests[1:]
    if not s.answers_cut:
        s.responses = s.responses + (0,)


@action(who="coordinator", source="Consumer Coordinator, 11 (Handling PingResponse 2)")
def take_answer(s: Session) -> None:
    """The coordinator reads the answer to the first ping that is unanswered."""
    require(goes_on(s) and len(s.responses) > 0 and not is_dead(s))
    s.responses = s.responses[1:]
    s.unanswered -= 1
    s.silence = 0


@action(who="coordinator", source="Consumer Coordinator, 8 (3, 4)")
def declare_dead(s: Session) -> None:
    """More pings have failed than are retried: the consumer is dead."""
    require(goes_on(s) and is_dead(s))
    s.dead = True


@action(who="consumer", source="Consumer Coordinator, 8 (5), 10")
def stop(s: Session) -> None:
    """The consumer's session is over: it stops."""
    require(goes_on(s) and not s.paused and is_over(s))
    s.stopped = True


@action(who="consumer", source="Consumer Coordinator, 8 (5: a soft failure, GC)")
def pause(s: Session) -> None:
    """The consumer stands still."""
    require(goes_on(s) and not s.paused and s.pause == 0 and Timing.max_pause_ticks > 0)
    s.paused = True


@action(who="consumer", source="Consumer Coordinator, 8 (5: a soft failure, GC)")
def wake(s: Session) -> None:
    """The consumer goes on."""
    require(goes_on(s) and s.paused and s.pause > 0)
    s.paused = False


@action(who="network", source="Consumer Coordinator, 8")
def cut(s: Session, requests: bool) -> None:
    """From now on requests, or answers, are lost; so is what is under way."""
    require(goes_on(s) and s.cuts < Timing.max_cuts)
    require(not s.requests_cut if requests else not s.answers_cut)
    s.cuts += 1
    if requests:
        s.requests_cut = True
        s.requests = ()
    else:
        s.answers_cut = True
        s.responses = ()
