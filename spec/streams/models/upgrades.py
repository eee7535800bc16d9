"""Two bounces, offline, back again, two upgrades at once, releases that behave in different ways: what operators do."""

from __future__ import annotations

from checker.lang import Model
from spec.streams import properties
from spec.streams.actions import assignment, operator
from spec.streams.design import SETTINGS
from spec.streams.initial import all_old
from spec.streams.models.probing import (
    BY_LEAVING,
    ENDS,
    GROUP,
    IN_STEP,
    LEAVES,
    PROBES,
    ROLL,
    SEEN,
    VERSIONS,
    WITHOUT_TASKS,
)
from spec.streams.releases import Behaviour, Release

NO_FAULTS = WITHOUT_TASKS + ", crashes, sessions that end under a live member"
CONFIGURED = (
    *VERSIONS,
    properties.versions.upgrade_from_is_obeyed,
    properties.versions.some_old_member_lives,
    *ENDS,
    properties.liveness.upgrade_from_holds_all_back,
)
LEMMAS = (
    properties.lemmas.rolls_are_in_step,
    properties.lemmas.used_version_is_as_started,
    properties.lemmas.subscription_is_of_its_sender,
    properties.lemmas.assignment_is_for_its_subscription,
)
OLD = {"from_release": Release.R1_1, "to_release": Release.R1_2}

TWO_BOUNCES = Model(
    name="two_bounces",
    doc="Three processes are upgraded from 2 to 3 by two bounces each, the first one with upgrade.from.",
    init=all_old,
    actions=(*ROLL, *GROUP),
    properties=(
        *CONFIGURED,
        properties.steps.operator_waits,
        properties.witnesses.upgraded,
        properties.witnesses.settled_in_between,
    ),
    constants={**OLD, "waits_for_stable": True},
    settings={name: SETTINGS[name] for name in ("repaired", "pre_kip")},
    faults="none but the bounces, which may end half-way for ever",
    not_modelled=NO_FAULTS,
    lemmas=LEMMAS,
)

TWO_BOUNCES_CRASH = Model(
    name="two_bounces_crash",
    doc="As two_bounces, without waiting; a process dies once, and starts again.",
    init=all_old,
    actions=(*ROLL, *GROUP, operator.crash),
    properties=(*CONFIGURED, properties.witnesses.upgraded),
    constants={**OLD, "max_crashes": 1},
    settings={name: SETTINGS[name] for name in ("repaired", "pre_kip")},
    faults="one process that dies at any time; the bounces wait for nothing",
    not_modelled=WITHOUT_TASKS + ", sessions that end under a live member",
    lemmas=LEMMAS,
)

OFFLINE = Model(
    name="offline",
    doc="All three processes are stopped, and started with the new release: from 2 to 3, without upgrade.from.",
    init=all_old,
    actions=(operator.stop_all, operator.start, *GROUP),
    properties=(
        *VERSIONS,
        *ENDS,
        *IN_STEP,
        properties.witnesses.upgraded,
        properties.witnesses.dead_session_ends,
        properties.witnesses.follower_waits_for_leader,
    ),
    constants={**OLD, "offline": True},
    settings={name: SETTINGS[name] for name in ("repaired", "pre_kip")},
    faults="none; former memberships end in any order",
    not_modelled=NO_FAULTS,
)

ROLLBACK = Model(
    name="rollback",
    doc="As probing; a process is put back to the old release once, at any time.",
    init=all_old,
    actions=(*ROLL, *GROUP, operator.roll_back),
    properties=(
        *VERSIONS,
        *ENDS,
        properties.liveness.everybody_sends_what_all_support,
        properties.faults.rollback_takes_a_bounce_back,
        *SEEN,
    ),
    constants={"max_rollbacks": 1},
    settings=PROBES,
    faults="one process that is rolled back",
    not_modelled=NO_FAULTS,
)

THREE_VERSIONS = Model(
    name="three_versions",
    doc="Three processes are upgraded from 3 to 4 and on to 5; the second roll begins before the first is over.",
    init=all_old,
    actions=(*ROLL, *GROUP),
    properties=(
        *VERSIONS,
        properties.versions.version_rises_as_offered,
        *ENDS,
        properties.liveness.everybody_sends_what_all_support,
        *SEEN,
        properties.witnesses.three_versions_meet,
        properties.witnesses.rises_by_two,
    ),
    constants={"then_release": Release.LATER, "rolls_in_turn": False, "first_roll_ends": False},
    settings=PROBES,
    faults="none but the bounces, which wait for nothing",
    not_modelled=NO_FAULTS,
)

BESIDE_OLD = Model(
    name="beside_old",
    doc="Two processes are upgraded from 2 to 3 and on to 4; the second upgrade begins before the first is over.",
    init=all_old,
    actions=(*ROLL, *GROUP),
    properties=(
        *CONFIGURED,
        properties.versions.all_are_answered_in_an_old_version,
        properties.witnesses.upgraded,
        properties.witnesses.two_bounces_apart,
    ),
    constants={**OLD, "processes": 2, "then_release": Release.POST_1_2, "rolls_in_turn": False},
    settings=PROBES,
    faults="the operator does not wait for the first upgrade to end",
    not_modelled=NO_FAULTS,
)

MIXED_RELEASES = Model(
    name="mixed_releases",
    doc="Three processes of 2.0 are upgraded by one bounce each: to a 2.4, a 2.6 and the repaired design.",
    init=all_old,
    actions=BY_LEAVING,
    properties=(*VERSIONS, *ENDS, *SEEN),
    constants={"meet": Behaviour.ALL_FIXED},
    settings={**PROBES, **LEAVES},
    faults="none but the bounces, which wait for nothing",
    not_modelled=NO_FAULTS,
)

MISSING_TOPIC = Model(
    name="missing_topic",
    doc="Two processes are upgraded from 3 to 4; a leader finds once that a source topic is missing.",
    init=all_old,
    actions=(*ROLL, *GROUP, assignment.assign_errors),
    properties=(
        *VERSIONS,
        *SEEN,
        *IN_STEP,
        properties.steps.one_process_is_down_at_a_time,
        properties.witnesses.stopped_in_order,
        properties.witnesses.stopped_session_ends,
    ),
    constants={"processes": 2, "max_missing_topics": 1},
    settings=PROBES,
    faults="a source topic that is missing for one assignment",
    not_modelled=NO_FAULTS,
)

MODELS = [
    TWO_BOUNCES,
    TWO_BOUNCES_CRASH,
    OFFLINE,
    ROLLBACK,
    THREE_VERSIONS,
    BESIDE_OLD,
    MIXED_RELEASES,
    MISSING_TOPIC,
]
