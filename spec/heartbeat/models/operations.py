"""Shutdown, legacy brokers, upgrades, former controllers: what operators meet."""

from __future__ import annotations

from checker.lang import Model
from spec.heartbeat import properties
from spec.heartbeat.actions import control, faults, heartbeat, isr, legacy, office, registration, replica
from spec.heartbeat.initial import all_active
from spec.heartbeat.models.leases import (
    CONTROL,
    DOCUMENT,
    HEARTBEATS,
    INCARNATIONS,
    ISR,
    LEADERSHIP,
    NOT_MODELLED,
    RECORD,
    SAFETY,
    SILENCE,
)
from spec.heartbeat.models.sessions import CRASH, REGISTRATION

TERMS = (
    properties.leadership.former_controller_writes_nothing,
    properties.leadership.former_controller_controls_nobody,
)
LEGACY_ISR = (legacy.write_isr, legacy.reread_isr, control.reread_partition)
WITHOUT_LEGACY = tuple(one for one in SAFETY if one is not properties.incarnations.nobody_inactive_is_added)
"""A legacy leader adds whomever it takes for caught up."""

STOPPING = Model(
    name="stopping",
    doc="Two brokers, one record; one broker is shut down, and the controller fails over.",
    init=all_active,
    actions=(
        *HEARTBEATS[:3],
        heartbeat.expire,
        *CONTROL,
        *ISR,
        *RECORD,
        *REGISTRATION,
        faults.start,
        faults.request_shutdown,
        control.move_leadership,
        control.fail_over,
        isr.ask_again,
    ),
    properties=(
        *SAFETY,
        properties.leadership.who_exits_leads_nothing,
        properties.incarnations.history_never_goes_back,
        properties.witnesses.stopping,
        properties.witnesses.stopped_and_replaced,
    ),
    constants={"max_shutdowns": 1, "max_failovers": 1},
    settings=DOCUMENT,
    faults="one broker that is shut down and may come back, and one failover of the controller",
    not_modelled=NOT_MODELLED + "; crashes, silences, sessions that end under a live broker",
)

STOPPING_SESSION = Model(
    name="stopping_session",
    doc="As stopping, and the session of a live broker ends, which registers again, instead of a failover.",
    init=all_active,
    actions=(*(one for one in STOPPING.actions if one is not control.fail_over), registration.expire_session),
    properties=(
        *SAFETY,
        properties.leadership.who_exits_leads_nothing,
        properties.witnesses.stopping,
        properties.witnesses.stopped_and_replaced,
        properties.witnesses.stops_unknown,
    ),
    constants={"max_shutdowns": 1, "max_expiries": 1},
    settings=DOCUMENT,
    faults="one broker that is shut down and may come back, one session that ends under a live broker",
    not_modelled=NOT_MODELLED + "; crashes, silences, failovers",
)

LEGACY = Model(
    name="legacy",
    doc="A legacy broker that leads and one with heartbeats, one record; a silence, a crash, a lost reply.",
    init=all_active,
    actions=(*HEARTBEATS, *CONTROL, *ISR, *RECORD, *CRASH, *SILENCE, *LEGACY_ISR),
    properties=(
        *WITHOUT_LEGACY,
        properties.leadership.no_write_is_lost,
        properties.incarnations.legacy_is_who_registered_so,
        properties.witnesses.legacy_leads_beside_new,
        properties.witnesses.controller_is_behind,
    ),
    constants={"legacy_brokers": 1, "max_silences": 1, "max_crashes": 1, "max_lost_replies": 1},
    settings=DOCUMENT,
    faults="one broker that is cut off, one that dies and starts again, one write whose reply is lost",
    not_modelled=NOT_MODELLED + "; failovers; sessions that end under a live broker: a legacy one never fences itself",
)

UPGRADE = Model(
    name="upgrade",
    doc="Two brokers and the controller are upgraded by two rolling restarts, in any order.",
    init=all_active,
    actions=(
        *HEARTBEATS[:3],
        heartbeat.expire,
        *CONTROL,
        *ISR,
        replica.fetch,
        *REGISTRATION,
        faults.start,
        legacy.write_isr,
        control.reread_partition,
        legacy.roll,
        legacy.roll_controller,
        isr.ask_again,
    ),
    properties=(
        *WITHOUT_LEGACY,
        properties.leadership.no_write_is_lost,
        properties.incarnations.legacy_is_who_registered_so,
        properties.steps.software_changes_with_a_restart,
        properties.witnesses.upgraded,
    ),
    constants={"legacy_brokers": 2, "rolls": 2, "records": 0},
    settings=DOCUMENT,
    faults="every process is restarted twice",
    not_modelled=NOT_MODELLED + "; the record, crashes, silences, sessions that end under a live broker",
)

UPGRADE_FAULTS = Model(
    name="upgrade_faults",
    doc="As upgrade, with one record; a broker may die, and start again, at any point of the two rolls.",
    init=all_active,
    actions=(*UPGRADE.actions, *RECORD[:3], faults.crash, registration.end_dead_session),
    properties=(
        *UPGRADE.properties,
        properties.witnesses.another_serves,
    ),
    constants={"legacy_brokers": 2, "rolls": 2, "max_crashes": 1},
    settings=DOCUMENT,
    faults="every process is restarted twice; one broker dies and starts again",
    not_modelled=NOT_MODELLED + "; silences, sessions that end under a live broker, other failovers",
)

ZOMBIE = Model(
    name="zombie",
    doc="Two brokers and two controllers; the session of the one in office ends, and a broker is cut off.",
    init=all_active,
    actions=(
        *HEARTBEATS,
        *CONTROL,
        isr.ask_to_shrink,
        isr.handle_isr_change,
        isr.take_isr_reply,
        *SILENCE,
        office.expire_controller_session,
        office.take_office,
        office.hear_of_expiry,
        office.find_controller,
        isr.ask_again,
    ),
    properties=(
        *SAFETY,
        *TERMS,
        properties.witnesses.former_controller,
        properties.witnesses.former_controller_declines,
    ),
    constants={"controllers": 2, "records": 0, "max_failovers": 1, "max_silences": 1},
    settings=DOCUMENT,
    faults="one session of the controller that ends under it, one broker that is cut off",
    not_modelled=NOT_MODELLED + "; the record, crashes, an ISR that grows",
)

FORMER = Model(
    name="former",
    doc="As zombie, and nobody is cut off: what becomes of a controller that has lost its office, and of its brokers.",
    init=all_active,
    actions=(
        *HEARTBEATS,
        *CONTROL,
        office.expire_controller_session,
        office.take_office,
        office.hear_of_expiry,
        office.find_controller,
    ),
    properties=(
        *INCARNATIONS,
        *LEADERSHIP,
        *TERMS,
        properties.terms.office_is_taken_while_it_is_vacant,
        properties.witnesses.turns_to_the_successor,
        properties.witnesses.former_controller_reaches_nobody,
        properties.witnesses.who_has_not_turned_is_silent,
    ),
    constants={"controllers": 2, "records": 0, "max_failovers": 1},
    settings=DOCUMENT,
    faults="one session of the controller that ends under it",
    not_modelled=NOT_MODELLED + "; silences, the record, crashes, an ISR that brokers change",
)

MODELS = [STOPPING, STOPPING_SESSION, LEGACY, UPGRADE, UPGRADE_FAULTS, ZOMBIE, FORMER]
