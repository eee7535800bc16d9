"""Requests: the office moves from the controller to the target of a request, while brokers die, hang or fail."""

from __future__ import annotations

from checker.lang import Declared, Model, replace
from spec.pinning import properties
from spec.pinning.actions import election, faults, office, operator, sessions, target
from spec.pinning.design import SETTINGS
from spec.pinning.initial import broker_0_in_office

REQUEST = (operator.request, target.set_ready, target.settle_request, target.hear_of_other)
ANSWERS = (operator.answer_served, operator.answer_timed_out)
ELECTION = (election.hear_controller, election.run, election.lose_election, office.begin_term)
ABSTENTION = (election.hear_ready, election.abstain)
HANDOVER = (office.resign, office.stay)
RESTART = (sessions.end_dead_session, sessions.restart)
TAKEOVER_ACTIONS = (
    operator.request,
    target.settle_request,
    target.hear_of_other,
    target.prepare_takeover,
    target.take_over,
    target.fail_to_take_over,
)
CRASH = (faults.crash, *RESTART, sessions.end_dead_session_of_ready, election.lapse)

OFFICE = (
    properties.office.epoch_has_one_controller,
    properties.office.newest_epoch_is_of_the_owner,
    properties.office.resignation_deletes_own_office,
)
MOVES = (properties.moves.no_move_without_cause, properties.moves.winner_saw_no_other_ready)
SERVED = (
    properties.requests.ready_names_its_owner,
    properties.requests.served_request_is_gone,
    properties.requests.request_is_served_once,
    properties.requests.request_ends_for_cause,
    properties.requests.resigns_for_the_request_that_stands,
)
DEAD = (properties.requests.dead_target_moves_nobody,)
TOLD = (properties.requests.served_is_told_of_served, properties.steps.answer_is_what_was_read)
MEMORY = (
    properties.memory.stopped_process_has_forgotten,
    properties.memory.memory_is_of_the_phase,
    properties.memory.watches_are_set,
    properties.memory.vacancy_is_known_or_heard_of,
)
READY = (properties.memory.pull_is_up_to_date, properties.memory.request_is_known_or_heard_of)
LEFT = (properties.steps.office_is_left_with_controller,)
SESSION = (properties.steps.session_is_needed, properties.steps.session_ends_whole)
LAPSES = (properties.steps.lapse_has_a_cause,)
SETTLED = (
    properties.steps.election_serves_its_own_request,
    properties.steps.request_is_settled_in_office,
    properties.steps.ready_is_taken_back_by_its_owner,
)
LEMMAS = (
    properties.lemmas.session_is_of_one_process,
    properties.lemmas.office_names_its_owner,
    properties.lemmas.term_has_an_epoch,
    properties.lemmas.next_is_watched,
    properties.lemmas.owner_has_yet_to_hear,
    properties.lemmas.standing_request_is_unserved,
    properties.lemmas.believer_has_its_session,
    properties.lemmas.nobody_hangs_in_office,
    properties.lemmas.owner_has_the_newest_epoch,
    properties.lemmas.heard_epoch_was_issued,
    properties.lemmas.expiry_is_handled_first,
)
CASES = (
    properties.witnesses.case_1,
    properties.witnesses.case_2,
    properties.witnesses.case_3,
    properties.witnesses.abstainer_must_run,
)
NOT_MODELLED = "what a controller does in office, unknown outcomes of writes, sessions that end under a live broker"
REQUESTED = {name: SETTINGS[name] for name in ("repaired", "draft")}
"""The settings in which a request is written down."""
WANTED = {**REQUESTED, "unpinned": SETTINGS["unpinned"]}
"""The settings in which an operator asks for a controller."""

PERTURBATIONS = (
    operator.request,
    operator.unpin,
    operator.delete_by_hand,
    faults.crash,
    faults.hang,
    faults.lapse_early,
    sessions.expire,
    sessions.restart,
)


def fairly(*actions: Declared) -> tuple[Declared, ...]:
    """The same actions, weakly fair but for perturbations: what heals happens. Nobody who died has to come back."""
    return tuple(one if one in PERTURBATIONS else replace(one, fair="weak") for one in actions)


PIN = Model(
    name="pin",
    doc="Three brokers, one request to move the controller, and one crash.",
    init=broker_0_in_office,
    actions=(*REQUEST, *ELECTION, *ABSTENTION, *HANDOVER, *CRASH),
    properties=(
        *MEMORY,
        *READY,
        *LEFT,
        *SESSION,
        *LAPSES,
        *SETTLED,
        *OFFICE,
        *MOVES,
        *SERVED,
        *DEAD,
        properties.witnesses.handed_over,
        *CASES,
    ),
    constants={"max_requests": 1, "max_crashes": 1},
    settings=REQUESTED,
    faults="one request, one broker that dies at any time and starts again",
    not_modelled=NOT_MODELLED,
    lemmas=LEMMAS,
)

REPIN = Model(
    name="repin",
    doc="Three brokers and two requests; the second may replace the first, one is taken back; the operator waits.",
    init=broker_0_in_office,
    actions=(*REQUEST, operator.unpin, *ANSWERS, *ELECTION, *ABSTENTION, *HANDOVER),
    properties=(
        *OFFICE,
        *MOVES,
        *SERVED,
        *TOLD,
        properties.witnesses.handed_over,
        properties.witnesses.request_replaced_under_way,
    ),
    constants={"max_requests": 2, "answers": 1, "max_unpins": 1},
    settings=REQUESTED,
    faults="two requests, for any brokers, the controller in office too, of which one is taken back; nobody dies",
    not_modelled=NOT_MODELLED,
)

REPIN_CRASH = Model(
    name="repin_crash",
    doc="As repin, and one broker dies.",
    init=broker_0_in_office,
    actions=(*REQUEST, *ANSWERS, *ELECTION, *ABSTENTION, *HANDOVER, *CRASH),
    properties=(
        *OFFICE,
        *MOVES,
        *SERVED,
        *DEAD,
        *TOLD,
        properties.witnesses.handed_over,
        properties.witnesses.request_replaced_under_way,
        *CASES,
    ),
    constants={"max_requests": 2, "answers": 1, "max_crashes": 1},
    settings=REQUESTED,
    faults="two requests, for any brokers, and one broker that dies at any time and starts again",
    not_modelled=NOT_MODELLED,
)

HUNG = Model(
    name="hung",
    doc="Three brokers and one request; one dies, one hangs outside office, one abstention lapses too early.",
    init=broker_0_in_office,
    actions=(*REQUEST, *ANSWERS, *ELECTION, *ABSTENTION, *HANDOVER, *CRASH, faults.hang, faults.lapse_early),
    properties=(
        *MEMORY,
        *READY,
        *LAPSES,
        *OFFICE,
        *MOVES,
        *SERVED,
        *DEAD,
        *TOLD,
        properties.witnesses.handed_over,
        *CASES,
        properties.witnesses.request_given_up,
    ),
    constants={"max_requests": 1, "answers": 1, "max_crashes": 1, "max_hangs": 1, "max_early_lapses": 1},
    settings=REQUESTED,
    faults="one request, one broker that dies, one that hangs for good, one that is too impatient",
    not_modelled=NOT_MODELLED,
)

REFUSED = Model(
    name="refused",
    doc="Three brokers and one request; one broker fails whenever it takes office.",
    init=broker_0_in_office,
    actions=(
        *REQUEST,
        *ANSWERS,
        *ELECTION,
        *ABSTENTION,
        *HANDOVER,
        faults.become_unable,
        office.fail_in_office,
        operator.delete_by_hand,
    ),
    properties=(
        *LEFT,
        properties.memory.nobody_unable_is_in_office,
        *OFFICE,
        *MOVES,
        *SERVED,
        *TOLD,
        properties.witnesses.handed_over,
        properties.witnesses.target_failed_in_office,
    ),
    constants={"max_requests": 1, "answers": 1, "max_office_failures": 1, "max_deletions": 1},
    settings=REQUESTED,
    faults="one request, one broker that cannot serve, /controller deleted by hand once; nobody dies",
    not_modelled=NOT_MODELLED,
)

MODELS = [PIN, REPIN, REPIN_CRASH, HUNG, REFUSED]
