"""Sessions: the dead fetch on, former coordinators act on, and those who leave lose what they consumed."""

from __future__ import annotations

from checker.lang import Bug
from spec.group import models, properties

DEATH, FAILOVER = models.rebalances.DEATH_MODEL, models.rebalances.FAILOVER_MODEL
TIMED = models.timed.TIMED

DEAD_FETCHES = Bug(
    name="dead-consumer-fetches",
    title="A consumer whose answers are lost hears every ping, and fetches on after it was declared dead",
    label="draft only; in Kafka since 0.9 it may fetch, and not commit",
    found_in="Consumer Coordinator, 8, 10",
    story="""The coordinator counts answers, and the consumer counts what it has heard. If only answers are
        lost, or late, the consumer is declared dead, and its partitions are given to another, while it has no
        reason to stop.""",
    model=DEATH,
    constants={"lease_from_answers": False},
    violates=properties.fetching.who_fetches_is_the_owner,
    states=19,
    guard="Both ends count from the sending of the last answer that has arrived.",
)

WAKES = Bug(
    name="waking-consumer",
    title="A consumer wakes, and takes a StartFetcherRequest before it looks at its session",
    label="draft only; in Kafka since 0.9 it may fetch, and not commit",
    found_in="Consumer Coordinator, 8 (5)",
    story="""A consumer is paused for longer than its session, and its partitions are another's by the time it
        wakes. What is in its socket comes before its timers, and its fetchers run until these fire.""",
    model=DEATH,
    constants={"timer_before_requests": False},
    violates=properties.fetching.who_fetches_is_the_owner,
    states=19,
    guard="A consumer looks at its session before it takes a request or a record.",
)

OVERLAP = Bug(
    name="failover-overlaps",
    title="A new coordinator gives away the partitions of consumers that it has not heard of yet",
    label="draft only",
    found_in="Consumer Coordinator, 5, 10; 2 (Co-ordinator 2)",
    story="""Membership is stored nowhere. The new coordinator starts with the first consumer that registers,
        and gives it all partitions, while the others have yet to notice that the former one is gone, and fetch
        on.""",
    model=FAILOVER,
    constants={"waits_out_sessions": False},
    violates=properties.fetching.who_fetches_is_the_owner,
    states=20,
    guard="A new coordinator starts nobody before the longest session that is allowed has passed.",
)

OUTLASTING = Bug(
    name="session-outlasts-failover",
    title="A session is longer than what a new coordinator waits out",
    label="draft only",
    found_in="Consumer Coordinator, 4 (minimum session timeout); 5, 10",
    story="""The document has a least session timeout, and no greatest. A new coordinator that waits for sessions
        to end cannot know for how long: a consumer with a longer one fetches on, and its partitions are given to
        who has registered.""",
    model=FAILOVER,
    constants={"session_maximum": False},
    violates=properties.fetching.who_fetches_is_the_owner,
    states=21,
    guard="A coordinator registers nobody with a longer session than what a new one waits out.",
)

FORMER_RENEWS = Bug(
    name="former-renews",
    title="A former coordinator renews sessions while its successor waits for them to end",
    label="repaired design; no report",
    found_in="the first repair of the failover: a new coordinator waits for the longest session",
    story="""The coordinator is cut off from ZooKeeper only. Its session ends, another is elected, and waits.
        But the former one pings on, and its consumers answer: their sessions never end. Waiting is not enough.""",
    model=FAILOVER,
    constants={"stops_before_expiry": False},
    violates=properties.fetching.who_fetches_is_the_owner,
    states=21,
    guard="A coordinator renews nobody's session by its own clock once its own with ZooKeeper may have ended.",
)

FORMER_WRITES = Bug(
    name="former-coordinator-writes",
    title="A former coordinator writes owners and offsets",
    label="draft only",
    found_in="Consumer Coordinator, 10 (handleNewSession)",
    story="""A broker whose session has ended clears its memory once it hears of that. Until then it goes on
        with its rebalances and commits, over what its successor has written.""",
    model=FAILOVER,
    constants={"fenced_writes": False},
    violates=properties.rebalances.only_the_newest_coordinator_writes,
    states=10,
    guard="Each write is a multi that checks the epoch of the coordinator.",
)

BACK_TO_FORMER = Bug(
    name="back-to-the-former",
    title="A consumer goes back to a former coordinator",
    label="draft only",
    found_in="Consumer Coordinator, 7 (consumerStartup 1-3)",
    story="""A consumer that looks for the coordinator asks any broker. The former coordinator believes to be
        it, says so, and takes the registration.""",
    model=models.rebalances.FORMER,
    constants={"coordinator_epoch": False},
    violates=properties.rebalances.former_coordinator_is_not_obeyed,
    states=10,
    guard="The answer to a registration carries the coordinator's epoch, and a consumer refuses one that is lower.",
)

SUMMED_UP = Bug(
    name="failures-summed-up",
    title="Late answers are summed up, and everybody is dead in the end",
    label="draft only, where it is read in the wrong way",
    found_in="Consumer Coordinator, 8 (4)",
    story="""A consumer is dead once a ping "has failed more than the maximum number of ping retries". If
        answers in between do not start the count again, each consumer is declared dead after some time.""",
    model=models.pings.PINGS,
    constants={"failures_in_a_row": False},
    violates=properties.fetching.who_answers_lives,
    states=10,
    guard="Failures count in a row.",
)

SECOND_PING = Bug(
    name="second-ping",
    title="The next ping does not prove that the last answer has arrived",
    label="draft only",
    found_in="Consumer Coordinator, 11 (handlePingRequest 1.2)",
    story="""A consumer that shuts down answers a ping with its last offsets, and leaves at the next ping, "to
        make sure" that the answer was received. But a ping is sent each third of a session, whether or not the
        last one was answered: the next one may be in its socket already. And an offset that was received is not
        yet committed.""",
    model=models.pings.SHUTDOWN,
    constants={"shutdown_commits": False},
    violates=properties.fetching.last_position_is_committed,
    states=16,
    guard="Pings say what is committed, and a consumer leaves once its last answer is.",
)

COMMITTED_FLAG = Bug(
    name="committed-flag",
    title="A ping that only says whether all is committed never lets a slow consumer go",
    label="repaired design; no report",
    found_in="the first repair of the shutdown: a flag in the ping",
    story="""A flag can be set only while no answer is awaited: it does not say which answers it covers. A
        consumer that takes longer than a third of a session to answer always has a ping ahead of its answer,
        and never leaves.""",
    model=models.pings.SHUTDOWN,
    constants={"counts_answers": False},
    violates=properties.liveness.shutdown_ends,
    states=33,
    guard="A ping says of how many pings before it the answers are awaited.",
)

RETRIES_LIE = Bug(
    name="retries-are-late",
    title="A count of failed pings tells a consumer too late that its answers are lost",
    label="repaired design; no report",
    found_in="Consumer Coordinator, 11 (PingRequest: num_retries)",
    story="""A ping fails two thirds of a session after it was sent, and two more pings are sent until then,
        with no retries to tell of. The consumer takes each for the proof that its last answer has arrived, and
        counts from there.""",
    model=TIMED,
    constants={"counts_answers": False},
    violates=properties.timed.dead_has_stopped,
    states=20,
    guard="A ping says how many pings before it are unanswered, not how many have failed.",
)

STOPS_EARLY = Bug(
    name="stops-for-nothing",
    title="A consumer that counts a session from its last acknowledged answer stops for nothing",
    label="repaired design; no report",
    found_in="the first repair of sessions: the consumer counts S, the coordinator S + R S/3 from an answered ping",
    story="""An answer is acknowledged by a later ping: with messages that take a sixth of a session, a session
        is over before the next acknowledgement. A longer session at the consumer is no way out: after a pause
        it counts from an answer that is much later than its ping, from which the coordinator counts.""",
    model=TIMED,
    constants={"equal_sessions": False},
    violates=properties.timed.nobody_stops_for_nothing,
    states=13,
    guard="The coordinator counts from its reading of an answer, and the consumer as long as it from the sending.",
)

BUGS = [
    DEAD_FETCHES,
    WAKES,
    OVERLAP,
    OUTLASTING,
    FORMER_RENEWS,
    FORMER_WRITES,
    BACK_TO_FORMER,
    SUMMED_UP,
    SECOND_PING,
    COMMITTED_FLAG,
    RETRIES_LIE,
    STOPS_EARLY,
]
