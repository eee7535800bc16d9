"""One model with all that goes together: it is for `fencepost simulate`, and does not close.

The other models have a few faults each, so that they can be exhausted. What takes more of them at once, random walks
through this one may find; that they find nothing proves nothing.
Leaves out: section 2, whose members are stored and whose answers bring the partitions; and liveness.
"""

from __future__ import annotations

from checker.lang import Model
from spec.group import properties
from spec.group.actions import coordinator, failure, pings, shutdown, topics
from spec.group.initial import nobody_registered
from spec.group.models.extents import TOPICS_READ
from spec.group.models.pings import COMMITS, PINGS_AND_COMMITS
from spec.group.models.rebalances import DEATH, FAILOVER, JOIN, REBALANCE, SAFETY, SETTINGS_OF_ALL, STEPS, TIME_OUTS

FULL = Model(
    name="full",
    doc="All faults at once: three consumers, two brokers, records and pings. Does not close: for walks.",
    init=nobody_registered,
    actions=(
        *JOIN,
        *REBALANCE,
        *DEATH,
        *FAILOVER,
        *TIME_OUTS,
        *TOPICS_READ,
        *PINGS_AND_COMMITS,
        coordinator.expire,
        coordinator.crash_broker,
        coordinator.restart_broker,
        failure.declare_dead,
        failure.suspect_early,
        failure.crash,
        failure.restart,
        pings.fail_ping,
        pings.find_out_of_range,
        shutdown.terminate,
        topics.create,
    ),
    properties=(
        *SAFETY,
        *STEPS,
        *COMMITS,
        properties.fetching.last_position_is_committed,
        properties.memory.unanswered_pings_are_under_way,
        properties.memory.ping_fails_on_a_connection,
    ),
    constants={
        "consumers": 3,
        "partitions": 3,
        "topics": 2,
        "new_partitions": 2,
        "extra_threads": 1,
        "pings": 1,
        "records": 2,
        "max_crashes": 1,
        "max_broker_crashes": 1,
        "max_expiries": 1,
        "max_time_outs": 2,
        "max_false_deaths": 1,
        "max_early_suspicions": 1,
        "max_out_of_range": 1,
        "max_shutdowns": 1,
    },
    settings=SETTINGS_OF_ALL,
    faults="consumers and brokers that die, sessions with ZooKeeper that end, false deaths, early suspicions, offsets "
    "out of range, shutdowns, each once; two time-outs",
    not_modelled="sessions in time (see timed), section 2",
)

MODELS = [FULL]
