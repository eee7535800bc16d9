"""Rebalances: consumers join, answer late, die, and the coordinator fails over."""

from __future__ import annotations

from checker.lang import Declared, Model, replace
from spec.group import properties
from spec.group.actions import coordinator, failure, fetching, offsets, pings, rebalance, shutdown, startup, topics
from spec.group.design import SETTINGS
from spec.group.initial import nobody_registered

JOIN = (startup.connect, startup.register, startup.take_answer)
REBALANCE = (
    rebalance.begin,
    rebalance.commit_and_go_on,
    rebalance.write_owners,
    fetching.take_stop,
    fetching.take_start,
    fetching.take_response,
)
DEATH = (failure.find_dead, failure.suspect)
FAILOVER = (
    coordinator.elect,
    coordinator.wait_out_sessions,
    coordinator.handle_new_session,
    offsets.step_down,
)
TIME_OUTS = (rebalance.time_out, rebalance.resume)

PERTURBATIONS = (
    coordinator.expire,
    coordinator.crash_broker,
    coordinator.restart_broker,
    failure.declare_dead,
    failure.suspect_early,
    failure.crash,
    failure.restart,
    rebalance.time_out,
    offsets.consume,
    pings.find_out_of_range,
    pings.fail_ping,
    shutdown.terminate,
    topics.create,
)


def fairly(*actions: Declared) -> tuple[Declared, ...]:
    """The same actions, weakly fair but for perturbations: what heals happens. Nobody who died has to come back."""
    return tuple(one if one in PERTURBATIONS else replace(one, fair="weak") for one in actions)


SAFETY = (
    properties.fetching.one_consumer_fetches,
    properties.fetching.who_fetches_is_the_owner,
    properties.rebalances.only_the_newest_coordinator_writes,
    properties.rebalances.former_coordinator_is_not_obeyed,
    properties.rebalances.each_partition_is_assigned,
    properties.rebalances.threads_get_their_turn,
    properties.rebalances.response_clears_its_own_watcher,
    properties.rebalances.one_rebalance_at_a_time,
)
STEPS = (
    properties.memory.former_has_forgotten,
    properties.memory.new_coordinator_knows_no_group,
    properties.memory.topics_are_watched,
    properties.memory.assigned_partition_is_known,
    properties.memory.phase_has_its_marks,
    properties.memory.who_is_asked_for_waits,
    properties.memory.failure_is_of_the_last_retry,
    properties.connections.who_is_connected_is_a_member,
    properties.connections.who_is_away_has_nothing,
    properties.connections.answer_comes_first,
    properties.connections.requests_are_taken_in_order,
    properties.connections.request_is_carried_out,
    properties.connections.member_keeps_its_connection,
    properties.steps.rebalance_is_asked_for_with_reason,
    properties.steps.rebalance_begins_where_it_is_asked_for,
    properties.steps.start_brings_the_share,
    properties.steps.session_ends_with_reason,
    properties.steps.write_needs_the_office,
    properties.steps.office_is_left_with_reason,
    properties.steps.event_is_of_a_change,
    properties.steps.states_follow,
    properties.steps.fault_hits_whom_it_may,
)
QUEUE = (
    properties.rebalances.waiting_group_has_its_bit_set,
    properties.rebalances.who_is_asked_for_is_not_given_up,
    properties.rebalances.nobody_is_stopped_for_nothing,
)
ENDS = (
    properties.liveness.partition_is_fetched,
    properties.liveness.every_group_fetches,
    properties.liveness.every_member_has_its_share,
    properties.liveness.rebalance_ends,
)
NOT_MODELLED = "pings and retries in time, what is consumed, topics that are new, orderly shutdowns"
SETTINGS_OF_ALL = {name: SETTINGS[name] for name in ("repaired", "draft", "shipped")}
WITHOUT_BARRIER = {name: SETTINGS[name] for name in ("repaired", "draft")}
"""Settings in which nobody is removed for being late, whose way back some models have not."""

JOIN_MODEL = Model(
    name="join",
    doc="Two consumers join a group; one coordinator, and nothing fails.",
    init=nobody_registered,
    actions=fairly(*JOIN, *REBALANCE),
    properties=(
        *SAFETY,
        *STEPS,
        *QUEUE,
        *ENDS,
        properties.witnesses.everything_is_fetched,
        properties.witnesses.committing,
        properties.witnesses.writing,
    ),
    constants={"brokers": 1},
    settings=SETTINGS_OF_ALL,
    faults="none",
    not_modelled=NOT_MODELLED,
)

LATE = Model(
    name="late",
    doc="As join, and two responses come too late for their rebalance.",
    init=nobody_registered,
    actions=fairly(*JOIN, *REBALANCE, *TIME_OUTS),
    properties=(
        *SAFETY,
        *STEPS,
        *QUEUE,
        *ENDS,
        properties.liveness.given_up_is_tried_again,
        properties.witnesses.everything_is_fetched,
        properties.witnesses.backing_off,
        properties.witnesses.stop_is_late,
        properties.witnesses.start_is_late,
        properties.witnesses.retrying,
        properties.witnesses.gave_up,
        properties.witnesses.late_response,
    ),
    constants={"brokers": 1, "max_time_outs": 2},
    settings=SETTINGS_OF_ALL,
    faults="two time-outs of 4.2 or 4.5",
    not_modelled=NOT_MODELLED,
)

DEATH_MODEL = Model(
    name="death",
    doc="As join, and a live consumer is declared dead, or suspects the coordinator.",
    init=nobody_registered,
    actions=fairly(*JOIN, *REBALANCE, *DEATH, failure.declare_dead, failure.suspect_early),
    properties=(
        *SAFETY,
        *STEPS,
        *ENDS,
        properties.liveness.suspicions_end,
        properties.witnesses.zombie_consumer,
        properties.witnesses.group_without_members,
    ),
    constants={"brokers": 1, "max_false_deaths": 1, "max_early_suspicions": 1},
    settings=SETTINGS_OF_ALL,
    faults="one false death, one early suspicion",
    not_modelled=NOT_MODELLED,
)

GIVEN_UP = Model(
    name="given_up",
    doc="As late, with one consumer and no retry; it dies, and may start again.",
    init=nobody_registered,
    actions=fairly(*JOIN, *REBALANCE, *TIME_OUTS, failure.find_dead, failure.crash, failure.restart),
    properties=(
        *SAFETY,
        *STEPS,
        *QUEUE,
        *ENDS,
        properties.liveness.given_up_is_tried_again,
        properties.witnesses.gave_up,
        properties.witnesses.group_without_members,
    ),
    constants={"brokers": 1, "consumers": 1, "max_retries": 0, "max_time_outs": 1, "max_crashes": 1},
    settings=WITHOUT_BARRIER,
    faults="one time-out of 4.2 or 4.5, one consumer that dies",
    not_modelled=NOT_MODELLED,
)

CRASH = Model(
    name="crash",
    doc="As join, and a consumer dies at any time, and may start again.",
    init=nobody_registered,
    actions=fairly(*JOIN, *REBALANCE, failure.find_dead, failure.crash, failure.restart),
    properties=(
        *SAFETY,
        *STEPS,
        *QUEUE,
        *ENDS,
        properties.liveness.dead_are_removed,
        properties.witnesses.back_from_the_dead,
        properties.witnesses.group_without_members,
    ),
    constants={"brokers": 1, "max_crashes": 1},
    settings=SETTINGS_OF_ALL,
    faults="one consumer that dies",
    not_modelled=NOT_MODELLED,
)

FAILOVER_MODEL = Model(
    name="failover",
    doc="As join, with two brokers: the coordinator's session ends under it.",
    init=nobody_registered,
    actions=fairly(*JOIN, *REBALANCE, *DEATH, *FAILOVER, coordinator.expire),
    properties=(
        *SAFETY,
        *STEPS,
        *ENDS,
        properties.liveness.suspicions_end,
        properties.witnesses.two_coordinators,
        properties.witnesses.zombie_consumer,
    ),
    constants={"max_expiries": 1},
    settings=SETTINGS_OF_ALL,
    faults="one session with ZooKeeper that ends under a live coordinator",
    not_modelled=NOT_MODELLED,
    lemmas=(properties.lemmas.partitions_stay, properties.lemmas.only_pings_are_answered),
)

FORMER = Model(
    name="former",
    doc="As failover, and a consumer suspects the coordinator that serves it.",
    init=nobody_registered,
    actions=(*JOIN, *REBALANCE, *DEATH, *FAILOVER, coordinator.expire, failure.suspect_early),
    properties=(*SAFETY, *STEPS, properties.witnesses.two_coordinators),
    constants={"max_expiries": 1, "max_early_suspicions": 1},
    settings=SETTINGS_OF_ALL,
    faults="one session with ZooKeeper that ends under a live coordinator, one early suspicion",
    not_modelled=NOT_MODELLED,
)

MIXED = Model(
    name="mixed",
    doc="A time-out, a failover and a consumer that dies.",
    init=nobody_registered,
    actions=(
        *JOIN,
        *REBALANCE,
        *DEATH,
        *FAILOVER,
        rebalance.time_out,
        coordinator.expire,
        failure.crash,
        failure.restart,
    ),
    properties=(
        *SAFETY,
        properties.witnesses.two_coordinators,
        properties.witnesses.zombie_consumer,
        properties.witnesses.group_without_members,
    ),
    constants={"max_time_outs": 1, "max_expiries": 1, "max_crashes": 1},
    settings=SETTINGS_OF_ALL,
    faults="one time-out of 4.2 or 4.5, one session that ends under a live coordinator, one consumer that dies",
    not_modelled=NOT_MODELLED,
)

MODELS = [JOIN_MODEL, LATE, DEATH_MODEL, GIVEN_UP, CRASH, FAILOVER_MODEL, FORMER, MIXED]
