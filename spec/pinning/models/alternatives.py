"""Alternatives, migration and rolling restarts: legacy brokers, preferred controllers, takeover by one multi."""

from __future__ import annotations

from checker.lang import Model
from spec.pinning import properties
from spec.pinning.actions import election, faults, operator, preferred, rolling, sessions
from spec.pinning.design import SETTINGS
from spec.pinning.initial import broker_0_in_office
from spec.pinning.models.requests import (
    ABSTENTION,
    ANSWERS,
    CRASH,
    DEAD,
    ELECTION,
    HANDOVER,
    LAPSES,
    LEFT,
    LEMMAS,
    MEMORY,
    MOVES,
    NOT_MODELLED,
    OFFICE,
    READY,
    REQUEST,
    REQUESTED,
    RESTART,
    SERVED,
    SESSION,
    SETTLED,
    TAKEOVER_ACTIONS,
    TOLD,
    fairly,
)

MIXED = Model(
    name="mixed",
    doc="Two brokers and a legacy broker, one request, one crash, /controller deleted by hand.",
    init=broker_0_in_office,
    actions=(*REQUEST, *ELECTION, *ABSTENTION, *HANDOVER, *CRASH, operator.delete_by_hand),
    properties=(
        *MEMORY,
        *READY,
        *SETTLED,
        properties.memory.legacy_broker_reads_no_request,
        *OFFICE,
        *MOVES,
        *SERVED,
        *DEAD,
        properties.witnesses.handed_over,
        properties.witnesses.legacy_in_office_while_ready_stands,
    ),
    constants={"legacy_brokers": 1, "max_requests": 1, "max_crashes": 1, "max_deletions": 1},
    settings=REQUESTED,
    faults="one request, one broker that dies, /controller deleted once; one broker is yet to be upgraded",
    not_modelled=NOT_MODELLED,
)

PREFERRED = Model(
    name="preferred",
    doc="Two preferred controllers of four brokers; two brokers die, one hangs outside office.",
    init=broker_0_in_office,
    actions=(
        *fairly(*ELECTION, election.abstain, election.lapse, *RESTART),
        *fairly(preferred.hear_preferred, preferred.resign_for_member, preferred.end_dead_session_of_member),
        faults.crash,
        faults.hang,
    ),
    properties=(
        *MEMORY,
        *LEFT,
        *SESSION,
        *LAPSES,
        properties.memory.members_are_known_or_heard_of,
        *OFFICE,
        properties.moves.outsider_resigns_for_member,
        properties.moves.outsider_hears_of_member,
        properties.liveness.there_is_a_controller,
        properties.liveness.moves_end,
        properties.liveness.change_of_members_is_handled,
        properties.witnesses.outsider_in_office,
        properties.witnesses.outsider_waited_in_vain,
    ),
    constants={
        "brokers": 4,
        "preferred_brokers": 2,
        "preferred": True,
        "pinning": False,
        "max_crashes": 2,
        "max_hangs": 1,
    },
    settings={"shipped": SETTINGS["shipped"]},
    faults="two brokers that die, and may come back, one that hangs for good",
    not_modelled=NOT_MODELLED,
)

TAKEOVER = Model(
    name="takeover",
    doc="Three requests, and targets that take the office over by one multi: there is no `ready`, nobody abstains.",
    init=broker_0_in_office,
    actions=(*TAKEOVER_ACTIONS, operator.unpin, *ANSWERS, *ELECTION, faults.crash, *RESTART),
    properties=(
        properties.memory.stopped_process_has_forgotten,
        *OFFICE,
        *MOVES,
        *SERVED,
        *DEAD,
        *TOLD,
        properties.moves.takeover_leaves_no_gap,
        properties.witnesses.handed_over,
    ),
    constants={
        "takeover": True,
        "versions_read": 1,
        "max_requests": 3,
        "answers": 1,
        "max_unpins": 1,
        "max_crashes": 1,
    },
    settings={"repaired": {}},
    faults="three requests, for any brokers, of which one is taken back; one broker dies at any time and starts again",
    not_modelled=NOT_MODELLED,
    lemmas=(
        *LEMMAS,
        properties.lemmas.seen_is_of_the_request,
        properties.lemmas.nobody_is_ready,
        properties.lemmas.target_in_office_was_served,
    ),
)

ROLLING = Model(
    name="rolling",
    doc="Three brokers are restarted one after the other, with a request or without: how often does the office move?",
    init=broker_0_in_office,
    actions=(
        *REQUEST,
        *ELECTION,
        *ABSTENTION,
        *HANDOVER,
        rolling.stop_next,
        sessions.restart,
    ),
    properties=(
        *MEMORY,
        *READY,
        properties.steps.moves_are_counted,
        *OFFICE,
        *MOVES,
        properties.moves.moves_are_few,
        properties.witnesses.rolled,
    ),
    constants={"max_restarts": 3, "max_requests": 1, "counted_moves": 6},
    settings=REQUESTED,
    faults="no faults: an operator restarts every broker once, and asks for a controller at any time, or never",
    not_modelled=NOT_MODELLED,
)

ROLLING_TAKEOVER = Model(
    name="rolling_takeover",
    doc="As rolling, with targets that take the office over by one multi.",
    init=broker_0_in_office,
    actions=(*TAKEOVER_ACTIONS, *ELECTION, rolling.stop_next, sessions.restart),
    properties=(
        *MEMORY,
        properties.steps.moves_are_counted,
        *OFFICE,
        *MOVES,
        properties.moves.moves_are_few,
        properties.witnesses.rolled,
    ),
    constants={"takeover": True, "versions_read": 1, "max_restarts": 3, "max_requests": 1, "counted_moves": 6},
    settings={"repaired": {}},
    faults="no faults: an operator restarts every broker once, and asks for a controller at any time, or never",
    not_modelled=NOT_MODELLED,
)

MODELS = [MIXED, PREFERRED, TAKEOVER, ROLLING, ROLLING_TAKEOVER]
