"""Sizes, fault budgets and design switches of the consumer coordinator's spec, and the settings with a name.

A switch that is True has its guard in force; False removes that guard and nothing else. The alternatives are no guards
but other designs. Budgets bound perturbations only (crashes, expiries of live sessions, time-outs, false deaths, early
suspicions): retries, registration, election and the removal of the dead are never bounded.
"""

from __future__ import annotations

from checker.lang import assume, constants


@constants
class Design:
    """The constants of a model, with their defaults: the repaired design, two brokers, two consumers and no faults."""

    brokers: int = 2
    "Brokers. Broker 0 is the coordinator at the start."
    consumers: int = 2
    "Consumers. None is registered at the start."
    groups: int = 1
    "Consumer groups. With 2, consumer 0 is the only one of group 0."
    partitions: int = 2
    "Partitions."
    extra_threads: int = 0
    "Threads of consumer 0 beyond its first. Every other consumer has one."
    handlers: int = 1
    "Threads that rebalance groups (section 4, rebalancing threadpool size)."
    queue: int = 3
    "Requests, and responses, that a connection holds."
    records: int = 0
    "Records of a partition. With 0 nobody consumes, and offsets are left out."
    max_retries: int = 1
    "How often a rebalance that failed is tried again (section 4, maximum rebalance retries)."

    topics: int = 1
    "Topics. With 2, the last partition is topic 1's. Every consumer subscribes to all of them."
    new_partitions: int = 0
    "The last so many partitions are not there at the start. A topic is there once it has one."
    wildcard: int = 0
    "With 1, consumers subscribe by a wildcard: the coordinator looks which topics match. Else by name."
    pings: int = 0
    "With 1, consumers are pinged, and report what they have consumed."
    ping_retries: int = 1
    "How many pings of a consumer may fail in a row before it is dead (section 4)."

    max_crashes: int = 0
    "Budget of consumers that die. They start again."
    max_broker_crashes: int = 0
    "Budget of brokers that die. They start again."
    max_expiries: int = 0
    "Budget of sessions with ZooKeeper that end under a live broker."
    max_time_outs: int = 0
    "Budget of responses that come too late for the rebalance that waits for them (4.2, 4.5)."
    max_false_deaths: int = 0
    "Budget of live consumers that are declared dead."
    max_early_suspicions: int = 0
    "Budget of consumers that suspect a coordinator that serves them."
    max_out_of_range: int = 0
    "Budget of fetchers that stop since their offset is out of range."
    max_shutdowns: int = 0
    "Budget of consumers that are shut down (SIGTERM)."

    attempt_ids: bool = True
    "A response counts for the attempt that its request was of (0.9: generation ids)."
    coordinator_epoch: bool = True
    "A consumer refuses a coordinator that is older than one that it has registered with."
    fenced_writes: bool = True
    "A coordinator writes to ZooKeeper by a multi that checks its epoch. A former one learns so that it is deposed."
    starts_registered: bool = True
    "A rebalance is skipped (3.5) only where every member already fetches its share."
    bit_cleared_first: bool = True
    "The rebalance bit is cleared before a rebalance reads (1). Else once it has succeeded."
    owners_first: bool = True
    "KAFKA-2017: owners are written (4.6) before anybody is started (4.4)."
    waits_out_sessions: bool = True
    "A new coordinator starts nobody before the longest session that is allowed has passed."
    session_maximum: bool = True
    """A coordinator registers nobody with a longer session than what a new one waits out (0.9:
    group.max.session.timeout.ms). Else consumer 0's is longer."""
    lease_from_answers: bool = True
    """Both ends count a session from the sending of the last answer that arrived: once a consumer is declared dead, its
    own session is over. Else it counts from what it has heard last."""
    stops_before_expiry: bool = True
    "A coordinator renews no consumer's session by its own clock once its session with ZooKeeper may have ended."
    timer_before_requests: bool = True
    "A consumer looks at its session before it takes a request or a record, on waking, too."
    failures_in_a_row: bool = True
    "A ping that is answered ends the count of those that failed. Else failures are summed up."
    watch_then_read: bool = True
    "A new coordinator watches topics before it reads them (coordinatorStartup 3 before 2)."
    shutdown_commits: bool = True
    """Pings say what is committed of what was answered, and a consumer that shuts down leaves once its last answer is.
    Else at the second ping (1.2)."""
    counts_answers: bool = True
    "With shutdown_commits, a ping says up to which answer. Else only whether all is, and no answer is awaited."
    retries_resume: bool = True
    "After the last retry a timer tries again."
    commit_is_monotone: bool = True
    "An offset is committed only if it is higher."
    response_first: bool = True
    "The answer to a registration is the first message on its connection."

    auto_commit: bool = True
    "Alternative: without it, consumers report no offsets, and leave at the first ping (1.1)."
    by_sockets: bool = False
    """Alternative (section 2): a rebalance closes all sockets, and the answer to a registration brings the partitions.
    Members are stored in ZooKeeper."""
    join_barrier: bool = False
    """Alternative (0.9): who has not answered in time is removed, and the rebalance goes on with the others. Else it is
    tried again."""


@assume
def there_are_a_few_of_each() -> bool:
    """there are one or two brokers, groups and handlers, one to three consumers, and two or three partitions."""
    few = all(1 <= count <= 2 for count in (Design.brokers, Design.groups, Design.handlers))
    return few and 1 <= Design.consumers <= 3 and 2 <= Design.partitions <= 3


@assume
def some_partitions_are_new() -> bool:
    """there are one or two topics, new partitions are some of the partitions, and partition 0 is none of them."""
    return 1 <= Design.topics <= 2 and 0 <= Design.new_partitions < Design.partitions


@assume
def parts_are_there_or_not() -> bool:
    """pings and wildcards are modelled, 1, or not, 0; a shutdown needs pings."""
    return {Design.pings, Design.wildcard} <= {0, 1} and (Design.pings == 1 or Design.max_shutdowns == 0)


@assume
def groups_have_members() -> bool:
    """each group has a consumer."""
    return Design.groups <= Design.consumers


@assume
def connections_hold_something() -> bool:
    """a connection holds a request and a response at least."""
    return Design.queue >= 1


@assume
def budgets_are_counts() -> bool:
    """a budget is 0 or more."""
    return all(
        budget >= 0
        for budget in (
            Design.extra_threads,
            Design.records,
            Design.max_retries,
            Design.max_crashes,
            Design.max_broker_crashes,
            Design.max_expiries,
            Design.max_time_outs,
            Design.max_false_deaths,
            Design.max_early_suspicions,
            Design.max_out_of_range,
            Design.max_shutdowns,
        )
    )


REPAIRED: dict[str, bool | int] = {}
"""Every guard in force."""

DRAFT: dict[str, bool | int] = {
    "attempt_ids": False,
    "coordinator_epoch": False,
    "fenced_writes": False,
    "starts_registered": False,
    "bit_cleared_first": False,
    "owners_first": False,
    "waits_out_sessions": False,
    "session_maximum": False,
    "lease_from_answers": False,
    "stops_before_expiry": False,
    "timer_before_requests": False,
    "failures_in_a_row": False,
    "watch_then_read": False,
    "shutdown_commits": False,
    "counts_answers": False,
    "retries_resume": False,
    "commit_is_monotone": False,
}
"""Sections 5 to 11 as written, read so that the answer to a registration comes first."""

SECTION2: dict[str, bool | int] = {**DRAFT, "by_sockets": True}
"""The other protocol of the document, in its section 2."""

SHIPPED: dict[str, bool | int] = {
    "lease_from_answers": False,
    "stops_before_expiry": False,
    "timer_before_requests": False,
    "shutdown_commits": False,
    "counts_answers": False,
    "commit_is_monotone": False,
    "join_barrier": True,
}
"""Kafka 0.9 as far as it compares: generations, owners stored before anybody is told, a barrier of rejoining."""

SETTINGS: dict[str, dict[str, bool | int]] = {
    "repaired": REPAIRED,
    "draft": DRAFT,
    "section2": SECTION2,
    "shipped": SHIPPED,
}
