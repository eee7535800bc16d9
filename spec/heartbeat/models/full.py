"""One model with all that goes together: it is for `fencepost simulate`, and does not close.

The other models have a few faults each, so that they can be exhausted. What takes more of them at once, random walks
through this one may find; that they find nothing proves nothing.
Leaves out: legacy brokers and upgrades, whose leaders add whomever they take for caught up; and liveness.
"""

from __future__ import annotations

from checker.lang import Model
from spec.heartbeat import properties
from spec.heartbeat.actions import control, faults, isr, office, registration, replica
from spec.heartbeat.initial import all_active
from spec.heartbeat.models.leases import CONTROL, DOCUMENT, HEARTBEATS, ISR, NOT_MODELLED, RECORD, SAFETY, SILENCE
from spec.heartbeat.models.operations import TERMS
from spec.heartbeat.models.sessions import CRASH

FULL = Model(
    name="full",
    doc="All faults at once: three brokers, two controllers, a record. Does not close: for walks.",
    init=all_active,
    actions=(
        *HEARTBEATS,
        *CONTROL,
        control.move_leadership,
        *ISR,
        isr.ask_again,
        *RECORD,
        replica.send_late_fetch,
        replica.take_late_fetch,
        *CRASH,
        faults.crash_losing_disk,
        registration.expire_session,
        *SILENCE,
        faults.copy_late,
        isr.handle_late_copy,
        faults.request_shutdown,
        office.expire_controller_session,
        office.take_office,
        office.hear_of_expiry,
        office.find_controller,
    ),
    properties=(
        *SAFETY,
        *TERMS,
        properties.leadership.who_exits_leads_nothing,
        properties.incarnations.history_never_goes_back,
        properties.steps.late_fetch_takes_its_way,
    ),
    constants={
        "brokers": 3,
        "controllers": 2,
        "min_insync_replicas": 2,
        "late_fetches": 1,
        "max_silences": 2,
        "max_crashes": 1,
        "max_disk_losses": 1,
        "max_expiries": 2,
        "max_failovers": 2,
        "max_late_copies": 1,
        "max_shutdowns": 1,
    },
    settings=DOCUMENT,
    faults="brokers cut off, dead, without their disk, stopped; sessions that end under brokers and controllers; "
    "late copies and fetches",
    not_modelled=NOT_MODELLED + "; legacy brokers, upgrades, a view of ZooKeeper that lags",
)

MODELS = [FULL]
