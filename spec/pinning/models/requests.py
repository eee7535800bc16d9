"""Requests: the office moves from the controller to the target of a request."""

from __future__ import annotations

from checker.lang import Model
from spec.pinning import properties
from spec.pinning.actions import election, faults, office, operator, sessions, target
from spec.pinning.design import SETTINGS
from spec.pinning.initial import broker_0_in_office

REQUEST = (operator.request, target.set_ready, target.hear_of_other)
ELECTION = (
    election.hear_controller,
    election.hear_ready,
    election.abstain,
    election.run,
    election.lose_election,
    office.begin_term,
)
HANDOVER = (office.resign, office.stay)
DEATH = (sessions.end_dead_session, sessions.restart)
CRASH = (faults.crash, *DEATH, sessions.end_dead_session_of_ready, election.lapse)
SAFETY = (
    properties.office.epoch_has_one_controller,
    properties.office.resignation_deletes_own_office,
    properties.moves.no_move_without_cause,
    properties.moves.winner_saw_no_other_ready,
    properties.requests.ready_names_its_owner,
    properties.requests.served_request_is_gone,
    properties.requests.request_is_served_once,
    properties.requests.request_ends_for_cause,
    properties.requests.dead_target_moves_nobody,
)
NOT_MODELLED = "what a controller does in office; unknown outcomes; KRaft"

PIN = Model(
    name="pin",
    doc="Three brokers, one request to move the controller, and one crash.",
    init=broker_0_in_office,
    actions=(*REQUEST, *ELECTION, *HANDOVER, *CRASH, target.settle_request),
    properties=(
        *SAFETY,
        properties.witnesses.handed_over,
        properties.witnesses.case_1,
        properties.witnesses.case_2,
        properties.witnesses.case_3,
        properties.witnesses.abstainer_must_run,
    ),
    constants={"max_requests": 1, "max_crashes": 1},
    settings=SETTINGS,
    faults="one request, one broker that dies at any time and starts again",
    not_modelled=NOT_MODELLED,
)

MODELS = [PIN]
