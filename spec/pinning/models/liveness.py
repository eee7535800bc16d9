"""Liveness: there is a controller in the end, targets take office, moves end, operators are answered."""

from __future__ import annotations

from checker.lang import Model, replace
from spec.pinning import properties
from spec.pinning.actions import election, faults, office, operator, sessions
from spec.pinning.initial import broker_0_in_office
from spec.pinning.models.requests import (
    ABSTENTION,
    ANSWERS,
    CRASH,
    ELECTION,
    HANDOVER,
    LAPSES,
    NOT_MODELLED,
    REQUEST,
    REQUESTED,
    TAKEOVER_ACTIONS,
    WANTED,
    fairly,
)

ENDS = (
    properties.liveness.there_is_a_controller,
    properties.liveness.target_takes_office,
    properties.liveness.moves_end,
    properties.liveness.ready_is_taken_back,
    properties.liveness.unaware_winner_hands_over,
    properties.liveness.request_is_answered,
)

LIVE = Model(
    name="live",
    doc="Three brokers and two requests; one broker hangs outside office.",
    init=broker_0_in_office,
    actions=fairly(
        *REQUEST, *ANSWERS, *ELECTION, *ABSTENTION, *HANDOVER, election.lapse, faults.hang, faults.lapse_early
    ),
    properties=(*LAPSES, *ENDS),
    constants={"max_requests": 2, "answers": 1, "max_hangs": 1, "max_early_lapses": 1},
    settings=WANTED,
    faults="two requests, one broker that hangs for good, one that is too impatient",
    not_modelled=NOT_MODELLED,
)

LIVE_LATE = Model(
    name="live_late",
    doc="Three brokers and two requests; one is taken back, and a former target removes the `ready` of the next one.",
    init=broker_0_in_office,
    actions=fairly(*REQUEST, operator.unpin, *ELECTION, *ABSTENTION, *HANDOVER, election.lapse),
    properties=ENDS[:-1],
    constants={"max_requests": 2, "max_unpins": 1, "max_late_removals": 1},
    settings=REQUESTED,
    faults="two requests, of which one is taken back, and one `ready` that is removed late; nobody dies",
    not_modelled=NOT_MODELLED,
)

LIVE_CRASH = Model(
    name="live_crash",
    doc="Three brokers and one request; one dies, and the session of a live one ends.",
    init=broker_0_in_office,
    actions=fairly(
        *REQUEST, *ANSWERS, *ELECTION, *ABSTENTION, *HANDOVER, *CRASH, sessions.expire, sessions.renew_session
    ),
    properties=ENDS,
    constants={"max_requests": 1, "answers": 1, "max_crashes": 1, "max_expiries": 1},
    settings=WANTED,
    faults="one request, one broker that dies, one session that ends under a live broker",
    not_modelled=NOT_MODELLED,
)

LIVE_REFUSED = Model(
    name="live_refused",
    doc="Three brokers and one request; one broker fails whenever it takes office.",
    init=broker_0_in_office,
    actions=(
        *fairly(*REQUEST[:-1], *ELECTION[2:], *ABSTENTION, office.resign, office.fail_in_office),
        *(replace(one, fair="strong") for one in ELECTION[:2]),
        faults.become_unable,
    ),
    properties=ENDS[:-1],
    constants={"max_requests": 1, "max_office_failures": 1},
    settings=WANTED,
    faults="one request, one broker that cannot serve; nobody dies, and of brokers that run again and again each wins",
    not_modelled=NOT_MODELLED,
)

LIVE_TAKEOVER = Model(
    name="live_takeover",
    doc="Three brokers and two requests, with takeover; another is elected while the target is about to take over.",
    init=broker_0_in_office,
    actions=fairly(*TAKEOVER_ACTIONS, *ELECTION, operator.delete_by_hand),
    properties=ENDS[:3],
    constants={"takeover": True, "versions_read": 1, "max_requests": 2, "max_deletions": 1},
    settings={"repaired": {}},
    faults="two requests, /controller deleted by hand once; nobody dies",
    not_modelled=NOT_MODELLED,
)

MODELS = [LIVE, LIVE_LATE, LIVE_CRASH, LIVE_REFUSED, LIVE_TAKEOVER]
