"""Tasks: who owns them while versions are probed, and the threads of a process."""

from __future__ import annotations

from checker.lang import Model
from spec.streams import properties
from spec.streams.actions import membership
from spec.streams.initial import all_old
from spec.streams.models.probing import BY_LEAVING, GROUP, IN_STEP, LEAVES, NOT_MODELLED, PROBES, ROLL, SEEN, VERSIONS

OWNERSHIP = (
    properties.tasks.each_task_is_assigned_once,
    properties.tasks.each_task_is_assigned,
    properties.tasks.who_waits_owns_nothing,
    properties.tasks.each_task_has_one_owner,
    properties.tasks.tasks_wait_for_one_generation,
    properties.tasks.left_is_what_nobody_is_given,
    properties.tasks.who_is_listed_has_it,
    properties.tasks.who_has_it_is_listed,
)

TASKS = Model(
    name="tasks",
    doc="Two processes and three tasks; both are upgraded from 3 to 4, and the session of a live member ends once.",
    init=all_old,
    actions=(*ROLL, *GROUP, membership.expire_early, membership.hear_of_removal),
    properties=(
        *VERSIONS,
        *OWNERSHIP,
        *IN_STEP,
        properties.tasks.tasks_stay,
        properties.tasks.owners_are_who_took_last,
        properties.tasks.probe_is_remembered_as_one,
        properties.tasks.tasks_are_shared_out_evenly,
        properties.tasks.as_many_tasks_stay_as_can,
        properties.tasks.each_task_is_assigned_in_a_probe,
        properties.tasks.each_member_is_assigned_a_task,
        *SEEN,
        properties.witnesses.zombie_owns,
        properties.witnesses.unlisted,
    ),
    constants={"processes": 2, "tasks": 3, "max_expiries": 1},
    settings=PROBES,
    faults="one session that ends under a live member",
    not_modelled=NOT_MODELLED + ", crashes",
)

TASKS_LEAVING = Model(
    name="tasks_leaving",
    doc="Three processes and two tasks; who rejoins leaves the group, and joins as a new member.",
    init=all_old,
    actions=BY_LEAVING,
    properties=(
        *VERSIONS,
        *OWNERSHIP,
        properties.tasks.owners_are_who_took_last,
        properties.tasks.as_many_tasks_stay_as_can,
        *SEEN,
    ),
    constants={"tasks": 2, "rejoin_keeps_membership": False},
    settings=LEAVES,
    faults="none but the bounces, which wait for nothing",
    not_modelled=NOT_MODELLED + ", crashes, sessions that end under a live member",
)

THREADS = Model(
    name="threads",
    doc="Two processes of two threads and three tasks; both are upgraded from 3 to 4.",
    init=all_old,
    actions=(*ROLL, *GROUP),
    properties=(
        *VERSIONS,
        *OWNERSHIP,
        properties.tasks.tasks_stay,
        *SEEN,
        properties.witnesses.versions_differ_in_a_process,
    ),
    constants={"processes": 2, "threads": 2, "tasks": 3},
    settings=PROBES,
    faults="none but the bounces, which wait for nothing",
    not_modelled=NOT_MODELLED + ", crashes, sessions that end under a live member",
)

MODELS = [TASKS, TASKS_LEAVING, THREADS]
