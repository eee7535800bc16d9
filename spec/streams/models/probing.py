"""One bounce a process, by probing: from a version that can probe to the next one."""

from __future__ import annotations

from checker.lang import Model
from spec.streams import properties
from spec.streams.actions import assignment, membership, operator
from spec.streams.design import SETTINGS
from spec.streams.initial import all_old

ROLL = (operator.bounce, operator.start)
GROUP = (
    membership.join,
    membership.complete_join,
    membership.sync,
    membership.sync_too_late,
    membership.expire,
    assignment.assign,
    assignment.take_assignment,
)
BY_LEAVING = (*ROLL, *GROUP, membership.leave)
VERSIONS = (
    properties.versions.nobody_dies_of_a_version,
    properties.versions.everybody_can_read_its_assignment,
    properties.versions.everybody_supports_what_it_uses,
)
IN_STEP = (
    properties.steps.who_does_not_run_has_nothing,
    properties.steps.group_is_of_its_members,
    properties.steps.who_waits_is_parked,
    properties.steps.answer_is_under_way_to_who_syncs,
    properties.steps.every_member_is_assigned_something,
    properties.steps.who_joins_remembers_its_tasks,
    properties.steps.membership_ends_for_cause,
    properties.steps.leader_stays_while_it_is_a_member,
    properties.steps.who_syncs_too_late_joins_again,
    properties.steps.only_a_new_member_joins_from_outside,
    properties.steps.leader_is_answered,
)
"""What is claimed of members and their coordinator, whatever their versions."""
ENDS = (properties.liveness.upgrade_ends, properties.liveness.group_settles)
SEEN = (properties.witnesses.probe, properties.witnesses.downgrade, properties.witnesses.upgraded)
ORDERS = (
    properties.witnesses.leader_was_first,
    properties.witnesses.leader_in_between,
    properties.witnesses.leader_comes_last,
)

PROBES = {name: SETTINGS[name] for name in ("repaired", "shipped_2_6")}
"""The settings that probe, and rejoin with their member ids."""

LEAVES = {name: SETTINGS[name] for name in ("repaired", "draft", "shipped_2_0", "shipped_2_3_1", "shipped_2_4")}
"""The settings that probe, and rejoin by unsubscribing, or may."""

NOT_MODELLED = "the bytes of the messages, standby tasks, state stores"
WITHOUT_TASKS = NOT_MODELLED + "; tasks"

PROBING = Model(
    name="probing",
    doc="Three processes are upgraded by one bounce each, from 3 to 4.",
    init=all_old,
    actions=(*ROLL, *GROUP),
    properties=(
        *VERSIONS,
        *ENDS,
        properties.rebalances.a_wish_causes_a_rebalance,
        properties.liveness.everybody_sends_what_all_support,
        properties.witnesses.rise_together,
        *SEEN,
        *ORDERS,
    ),
    settings=PROBES,
    faults="none but the bounces, which wait for nothing",
    not_modelled=WITHOUT_TASKS + ", crashes, sessions that end under a live member",
)

LEAVING = Model(
    name="leaving",
    doc="As probing; who rejoins leaves the group, and joins as a new member.",
    init=all_old,
    actions=BY_LEAVING,
    properties=(
        *VERSIONS,
        *ENDS,
        *SEEN,
        *ORDERS,
        *IN_STEP,
        properties.witnesses.leader_unsubscribed,
    ),
    constants={"rejoin_keeps_membership": False},
    settings=LEAVES,
    faults="none but the bounces, which wait for nothing",
    not_modelled=WITHOUT_TASKS + ", crashes, sessions that end under a live member",
)

MODELS = [PROBING, LEAVING]
