"""Everything at once: too large to be explored. Walks go through it, and recorded runs are held against it."""

from __future__ import annotations

from checker.lang import Model
from spec.streams.actions import assignment, membership, operator
from spec.streams.design import SETTINGS
from spec.streams.initial import nobody, nobody_of_any_release
from spec.streams.models.probing import BY_LEAVING, GROUP, NOT_MODELLED, VERSIONS
from spec.streams.models.tasks import OWNERSHIP

FULL = Model(
    name="full",
    doc="Four processes of two threads start, and are upgraded, with every fault: for walks and for traces.",
    init=nobody,
    actions=(
        *BY_LEAVING,
        operator.crash,
        operator.roll_back,
        membership.expire_early,
        membership.hear_of_removal,
        membership.fail_over,
        membership.lose_reply,
        assignment.assign_errors,
    ),
    properties=(*VERSIONS, *OWNERSHIP),
    constants={
        "processes": 4,
        "threads": 2,
        "tasks": 3,
        "max_crashes": 2,
        "max_expiries": 2,
        "max_failovers": 2,
        "max_rollbacks": 2,
        "max_missing_topics": 1,
        "max_lost_replies": 2,
    },
    settings=SETTINGS,
    faults="crashes, sessions that end under a live member, failovers, rollbacks, a missing topic, lost answers",
    not_modelled=NOT_MODELLED,
)

REPLACED = Model(
    name="replaced",
    doc="As full, of operators who wait for nothing: a process that is bounced is another one.",
    init=nobody_of_any_release,
    actions=(
        operator.start,
        *GROUP,
        membership.leave,
        operator.crash,
        membership.expire_early,
        membership.hear_of_removal,
        membership.fail_over,
        membership.lose_reply,
        assignment.assign_errors,
    ),
    properties=(*VERSIONS, *OWNERSHIP),
    constants={**FULL.constants, "threads": 1, "max_rollbacks": 0},
    settings=SETTINGS,
    faults="crashes, which are the operator's stops, too; sessions that end under a live member, failovers, a missing \
topic, lost answers",
    not_modelled=NOT_MODELLED,
)

MODELS = [FULL, REPLACED]
