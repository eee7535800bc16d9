"""Sessions: they end under live brokers, former controllers go on for a while, replies to writes are lost."""

from __future__ import annotations

from checker.lang import Model
from spec.pinning import properties
from spec.pinning.actions import election, office, operator, sessions
from spec.pinning.initial import broker_0_in_office
from spec.pinning.models.requests import (
    ABSTENTION,
    ANSWERS,
    CASES,
    CRASH,
    ELECTION,
    HANDOVER,
    LEFT,
    LEMMAS,
    MEMORY,
    MOVES,
    OFFICE,
    READY,
    REQUEST,
    REQUESTED,
    SERVED,
    SESSION,
    SETTLED,
    TAKEOVER_ACTIONS,
    TOLD,
    WANTED,
    fairly,
)

WRITES = (office.decide, office.write, office.write_refused, office.send_request, office.refuse_request)
WRITTEN = (properties.office.only_newest_epoch_writes, properties.office.former_controller_is_refused)
SESSIONS = (sessions.expire, sessions.renew_session)

EXPIRY = Model(
    name="expiry",
    doc="Three brokers and one request; one broker dies, and the session of a live one ends.",
    init=broker_0_in_office,
    actions=(*REQUEST, *ELECTION, *ABSTENTION, *HANDOVER, *CRASH, *SESSIONS),
    properties=(*MEMORY, *READY, *LEFT, *SESSION, *OFFICE, *MOVES, *SERVED, properties.witnesses.handed_over, *CASES),
    constants={"max_requests": 1, "max_crashes": 1, "max_expiries": 1},
    settings=REQUESTED,
    faults="one request, one broker that dies, one session that ends under a live broker (a pause, a cut)",
    not_modelled="what a controller does in office, unknown outcomes of writes",
    lemmas=LEMMAS,
)

ZOMBIE = Model(
    name="zombie",
    doc="Two brokers, writes and requests of the controller; two sessions end, and /controller is deleted, under it.",
    init=broker_0_in_office,
    actions=(*ELECTION, *SESSIONS, *WRITES, operator.delete_by_hand),
    properties=(
        *MEMORY,
        *LEFT,
        *SESSION,
        properties.steps.write_is_of_a_decision,
        properties.steps.request_is_taken_from_the_sender,
        properties.witnesses.request_taken,
        *OFFICE,
        *WRITTEN,
        properties.moves.no_move_without_cause,
        properties.witnesses.zombie,
        properties.witnesses.zombie_heard_of_newer,
    ),
    constants={"brokers": 2, "writes": 1, "max_expiries": 2, "max_deletions": 1},
    settings=WANTED,
    faults="two sessions that end under live brokers, and /controller deleted by hand: who was in office goes on",
    not_modelled="requests to move the controller, crashes",
    lemmas=LEMMAS,
)

LOST_REPLY = Model(
    name="lost_reply",
    doc="Two brokers and two requests; one write to ZooKeeper happens, and its reply is lost.",
    init=broker_0_in_office,
    actions=fairly(*REQUEST, *ANSWERS, *ELECTION, *ABSTENTION, *HANDOVER, election.find_own_office),
    properties=(
        *MEMORY,
        *READY,
        *LEFT,
        *SETTLED,
        properties.witnesses.resignation_unknown,
        properties.witnesses.ready_unknown,
        properties.witnesses.request_missed,
        *OFFICE,
        *MOVES,
        *SERVED,
        *TOLD,
        properties.liveness.there_is_a_controller,
        properties.liveness.target_takes_office,
        properties.witnesses.handed_over,
        properties.witnesses.office_unknown,
    ),
    constants={"brokers": 2, "max_requests": 2, "answers": 1, "max_lost_replies": 1},
    settings=REQUESTED,
    faults="two requests, and one write of any kind whose reply is lost: nobody dies",
    not_modelled="the write of the request itself: the operator asks again; sessions that end under a live broker",
)

LOST_TAKEOVER = Model(
    name="lost_takeover",
    doc="Two brokers and three requests, with takeover; one multi that takes the office happens, its reply is lost.",
    init=broker_0_in_office,
    actions=fairly(
        *TAKEOVER_ACTIONS, operator.unpin, *ANSWERS, *ELECTION, election.find_own_office, operator.delete_by_hand
    ),
    properties=(
        *MEMORY,
        *OFFICE,
        *MOVES,
        *SERVED,
        *TOLD,
        properties.liveness.there_is_a_controller,
        properties.liveness.target_takes_office,
        properties.witnesses.handed_over,
        properties.witnesses.office_unknown,
        properties.witnesses.takeover_unknown,
    ),
    constants={
        "brokers": 2,
        "takeover": True,
        "versions_read": 1,
        "max_requests": 3,
        "answers": 1,
        "max_unpins": 1,
        "max_deletions": 1,
        "max_lost_replies": 1,
    },
    settings={"repaired": {}},
    faults="three requests, of which one is taken back, /controller deleted by hand, one multi whose reply is lost",
    not_modelled="the write of the request itself: the operator asks again; sessions that end under a live broker",
)

MODELS = [EXPIRY, ZOMBIE, LOST_REPLY, LOST_TAKEOVER]
