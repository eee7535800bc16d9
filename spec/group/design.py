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
    lease_from_answers: bool = True
    """Both ends count a session from the sending of the last answer that arrived: once a consumer is declared dead, its
    own session is over. Else it counts from what it has heard last."""
    stops_before_expiry: bool = True
    "A coordinator renews no consumer's session by its own clock once its session with ZooKeeper may have ended."
    timer_before_requests: bool = True
    "A consumer looks at its session before it takes a request or a record, on waking, too."
    retries_resume: bool = True
    "After the last retry a timer tries again."
    commit_is_monotone: bool = True
    "An offset is committed only if it is higher."
    response_first: bool = True
    "The answer to a registration is the first message on its connection."

    join_barrier: bool = False
    """Alternative (0.9): who has not answered in time is removed, and the rebalance goes on with the others. Else it is
    tried again."""


@assume
def there_are_a_few_of_each() -> bool:
    """there are one or two brokers, groups and handlers, one to three consumers, and two or three partitions."""
    few = all(1 <= count <= 2 for count in (Design.brokers, Design.groups, Design.handlers))
    return few and 1 <= Design.consumers <= 3 and 2 <= Design.partitions <= 3


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
    "lease_from_answers": False,
    "stops_before_expiry": False,
    "timer_before_requests": False,
    "retries_resume": False,
    "commit_is_monotone": False,
}
"""Sections 5 to 11 as written, read so that the answer to a registration comes first."""

SHIPPED: dict[str, bool | int] = {
    "lease_from_answers": False,
    "stops_before_expiry": False,
    "timer_before_requests": False,
    "commit_is_monotone": False,
    "join_barrier": True,
}
"""Kafka 0.9 as far as it compares: generations, owners stored before anybody is told, a barrier of rejoining."""

SETTINGS: dict[str, dict[str, bool | int]] = {"repaired": REPAIRED, "draft": DRAFT, "shipped": SHIPPED}
