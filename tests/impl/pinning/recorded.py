"""The model that traces of real runs are validated on: every step that brokers take, and room for many faults."""

from __future__ import annotations

from checker.lang import Model
from spec.pinning.actions import election, faults, office, operator, sessions, target
from spec.pinning.initial import broker_0_in_office

ANY = 60
"""More than a schedule can have: on a slow machine sessions of a second end again and again."""

MODELS = [
    Model(
        name="recorded",
        doc="Three brokers, any faults: for traces that were recorded.",
        init=broker_0_in_office,
        actions=(
            operator.request,
            operator.unpin,
            operator.delete_by_hand,
            target.set_ready,
            target.settle_request,
            target.hear_of_other,
            target.prepare_takeover,
            target.take_over,
            target.fail_to_take_over,
            election.hear_controller,
            election.hear_ready,
            election.abstain,
            election.lapse,
            election.run,
            election.lose_election,
            election.find_own_office,
            office.begin_term,
            office.resign,
            office.stay,
            office.decide,
            office.write,
            office.write_refused,
            sessions.end_dead_session,
            sessions.end_dead_session_of_ready,
            sessions.expire,
            sessions.renew_session,
            sessions.restart,
            faults.crash,
            faults.lapse_early,
        ),
        properties=(),
        constants={
            "writes": 1,
            "max_requests": 12,
            "max_unpins": 12,
            "max_crashes": 12,
            "max_expiries": ANY,
            "max_early_lapses": ANY,
            "max_lost_replies": ANY,
            "max_deletions": 12,
        },
    )
]
