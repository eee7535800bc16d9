"""Pings and offsets: what is reported, committed and fetched again, and consumers that are shut down."""

from __future__ import annotations

from checker.lang import Model
from spec.group import properties
from spec.group.actions import coordinator, offsets, pings, shutdown
from spec.group.initial import nobody_registered
from spec.group.models.rebalances import DEATH, ENDS, FAILOVER, JOIN, REBALANCE, SAFETY, SETTINGS_OF_ALL, STEPS, fairly

COMMITS = (
    properties.fetching.committed_offset_never_goes_back,
    properties.fetching.committed_was_consumed,
    properties.fetching.no_record_is_skipped,
    properties.fetching.starts_where_committed,
    properties.memory.reports_stay,
    properties.connections.position_moves_by_a_record,
)
PINGS_AND_COMMITS = (pings.send_ping, pings.take_ping, offsets.consume, offsets.commit)
NOT_MODELLED = "sessions in time (see timed), topics that are new"

OFFSETS = Model(
    name="offsets",
    doc="As failover, and each partition has a record to consume; a committer writes offsets.",
    init=nobody_registered,
    actions=(*JOIN, *REBALANCE, *DEATH, *FAILOVER, coordinator.expire, offsets.consume, offsets.commit),
    properties=(
        *SAFETY,
        *STEPS,
        *COMMITS,
        properties.witnesses.two_coordinators,
    ),
    constants={"max_expiries": 1, "records": 1},
    settings=SETTINGS_OF_ALL,
    faults="one session with ZooKeeper that ends under a live coordinator",
    not_modelled=NOT_MODELLED,
)

PINGS = Model(
    name="pings",
    doc="A consumer is pinged; some pings fail, and an offset may be out of range.",
    init=nobody_registered,
    actions=fairly(*JOIN, *REBALANCE, DEATH[0], *PINGS_AND_COMMITS, pings.fail_ping, pings.find_out_of_range),
    properties=(
        *SAFETY,
        *STEPS,
        *COMMITS,
        properties.fetching.who_answers_lives,
        properties.memory.unanswered_pings_are_under_way,
        properties.memory.ping_fails_on_a_connection,
        *ENDS,
        properties.liveness.suspicions_end,
        properties.witnesses.everything_is_fetched,
        properties.witnesses.ping_failed,
    ),
    constants={"brokers": 1, "consumers": 1, "pings": 1, "records": 2, "max_out_of_range": 1},
    settings=SETTINGS_OF_ALL,
    faults="of the pings of a consumer none fails after another; one offset that is out of range",
    not_modelled=NOT_MODELLED,
)

SHUTDOWN = Model(
    name="shutdown",
    doc="Two consumers are pinged, and one is shut down.",
    init=nobody_registered,
    actions=fairly(*JOIN, *REBALANCE, DEATH[0], *PINGS_AND_COMMITS, shutdown.terminate),
    properties=(
        *SAFETY,
        *STEPS,
        *COMMITS,
        properties.fetching.last_position_is_committed,
        properties.memory.unanswered_pings_are_under_way,
        *ENDS,
        properties.liveness.shutdown_ends,
        properties.witnesses.left_in_order,
    ),
    constants={"brokers": 1, "pings": 1, "records": 1, "max_shutdowns": 1},
    settings=SETTINGS_OF_ALL,
    faults="one shutdown; answers are as late as they like",
    not_modelled=NOT_MODELLED,
)

MODELS = [OFFSETS, PINGS, SHUTDOWN]
