"""Crashes, sessions that end early, failovers of the coordinator: while a group is upgraded by probing."""

from __future__ import annotations

from checker.lang import Model
from spec.streams import properties
from spec.streams.actions import membership, operator
from spec.streams.initial import all_old
from spec.streams.models.probing import ENDS, GROUP, IN_STEP, PROBES, ROLL, SEEN, VERSIONS, WITHOUT_TASKS

CRASH = Model(
    name="crash",
    doc="As probing; a process dies once, and starts again.",
    init=all_old,
    actions=(*ROLL, *GROUP, operator.crash),
    properties=(*VERSIONS, *ENDS, *SEEN, *IN_STEP, properties.faults.crash_stops_a_process),
    constants={"max_crashes": 1},
    settings=PROBES,
    faults="one process that dies at any time",
    not_modelled=WITHOUT_TASKS + ", sessions that end under a live member",
)

EXPIRY = Model(
    name="expiry",
    doc="As probing; the session of a live member ends once.",
    init=all_old,
    actions=(*ROLL, *GROUP, membership.expire_early, membership.hear_of_removal),
    properties=(
        *VERSIONS,
        *ENDS,
        *SEEN,
        properties.faults.expiry_removes_a_member,
        properties.witnesses.zombie,
    ),
    constants={"max_expiries": 1},
    settings=PROBES,
    faults="one session that ends under a live member",
    not_modelled=WITHOUT_TASKS + ", crashes",
)

BOTH = Model(
    name="both",
    doc="As probing; a process dies once, and the session of a live member ends once.",
    init=all_old,
    actions=(*ROLL, *GROUP, operator.crash, membership.expire_early, membership.hear_of_removal),
    properties=(*VERSIONS, *SEEN, properties.witnesses.zombie),
    constants={"max_crashes": 1, "max_expiries": 1},
    settings=PROBES,
    faults="one process that dies, one session that ends under a live member",
    not_modelled=WITHOUT_TASKS,
)

FAILOVER = Model(
    name="failover",
    doc="As probing; the group coordinator fails over once.",
    init=all_old,
    actions=(*ROLL, *GROUP, membership.fail_over),
    properties=(
        *VERSIONS,
        *ENDS,
        *SEEN,
        *IN_STEP,
        properties.faults.failover_loads_what_was_stored,
        properties.steps.stable_group_is_stored,
        properties.steps.who_has_its_id_is_known,
        properties.steps.unchanged_bytes_disturb_a_stable_group_from_its_leader_only,
        properties.witnesses.rejoined_without_rebalance,
        properties.witnesses.rebalance_is_lost,
    ),
    constants={"max_failovers": 1},
    settings=PROBES,
    faults="one failover of the coordinator while the group rebalances; after a stable group it changes nothing",
    not_modelled=WITHOUT_TASKS + ", crashes, sessions that end under a live member",
)

LOST_REPLY = Model(
    name="lost_reply",
    doc="As probing; the connection of a member that waits for an answer breaks once.",
    init=all_old,
    actions=(*ROLL, *GROUP, membership.lose_reply),
    properties=(
        *VERSIONS,
        *ENDS,
        *SEEN,
        *IN_STEP,
        properties.steps.who_loses_an_answer_joins_again,
        properties.witnesses.rejoined_without_rebalance,
    ),
    constants={"max_lost_replies": 1},
    settings=PROBES,
    faults="one answer that is lost, to a JoinGroup or to a SyncGroup",
    not_modelled=WITHOUT_TASKS + ", crashes, sessions that end under a live member",
)

MODELS = [CRASH, EXPIRY, BOTH, FAILOVER, LOST_REPLY]
