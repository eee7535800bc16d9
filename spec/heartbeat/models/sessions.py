"""Sessions, crashes, failovers, late copies, second processes: what makes one incarnation follow another."""

from __future__ import annotations

from checker.lang import Model
from spec.heartbeat import properties
from spec.heartbeat.actions import control, faults, heartbeat, isr, registration, replica
from spec.heartbeat.design import SETTINGS
from spec.heartbeat.initial import all_active
from spec.heartbeat.models.leases import (
    CONTROL,
    DOCUMENT,
    HEARTBEATS,
    ISR,
    LEMMAS,
    NOT_MODELLED,
    RECORD,
    SAFETY,
    SILENCE,
)

REGISTRATION = (registration.register, registration.take_incarnation, registration.read_ids)
SESSION = (registration.expire_session, *REGISTRATION)
CRASH = (faults.crash, faults.start, registration.end_dead_session, *REGISTRATION)

SESSIONS = Model(
    name="sessions",
    doc="Two brokers, one record; the session of a live one ends, and the controller reads /brokers/ids late.",
    init=all_active,
    actions=(*HEARTBEATS, *CONTROL, *ISR, *RECORD, *SESSION, registration.catch_up),
    properties=(
        *SAFETY,
        properties.witnesses.inactive,
        properties.witnesses.invalid_incarnation,
        properties.witnesses.adopted_by_a_heartbeat,
        properties.witnesses.bounce_shows_in_its_czxid,
    ),
    constants={"max_expiries": 1, "views": 1},
    settings=DOCUMENT,
    faults="one session that ends under a live broker, which registers again",
    not_modelled=NOT_MODELLED + "; crashes, silences, failovers",
)

FAILOVER = Model(
    name="failover",
    doc="As sessions, and one failover of the controller.",
    init=all_active,
    actions=(*HEARTBEATS, *CONTROL, *ISR, *RECORD, *SESSION, control.fail_over, isr.ask_again),
    properties=(
        *SAFETY,
        properties.incarnations.history_never_goes_back,
        properties.witnesses.inactive,
        properties.witnesses.invalid_incarnation,
    ),
    constants={"max_expiries": 1, "max_failovers": 1},
    settings=DOCUMENT,
    faults="one session that ends under a live broker, which registers again, and one failover of the controller",
    not_modelled=NOT_MODELLED + "; crashes, silences",
    lemmas=LEMMAS,
)

LATE = Model(
    name="late",
    doc="Two brokers, one record; one broker dies and comes back, and one IsrChange arrives twice.",
    init=all_active,
    actions=(
        *HEARTBEATS[:3],
        heartbeat.expire,
        *CONTROL,
        *ISR,
        *RECORD,
        *CRASH,
        faults.copy_late,
        isr.handle_late_copy,
    ),
    properties=(*SAFETY, properties.witnesses.inactive, properties.witnesses.another_serves),
    constants={"max_crashes": 1, "max_late_copies": 1},
    settings=SETTINGS,
    faults="one broker that dies and starts again, one late copy of an IsrChange",
    not_modelled=NOT_MODELLED + "; sessions that end under a live broker, silences, failovers",
)

REFUSED = Model(
    name="refused",
    doc="As leases, and one IsrChange arrives twice: what was refused may be granted later.",
    init=all_active,
    actions=(*HEARTBEATS, *CONTROL, *ISR, *RECORD, *SILENCE, faults.copy_late, isr.handle_late_copy),
    properties=(
        *SAFETY,
        properties.witnesses.inactive,
        properties.witnesses.another_serves,
        properties.witnesses.late_copy_is_granted,
        properties.witnesses.acknowledged_alone,
    ),
    constants={"max_silences": 1, "max_late_copies": 1},
    settings=DOCUMENT,
    faults="one broker is cut off from the controller, and comes back in the end; one late copy of an IsrChange",
    not_modelled=NOT_MODELLED + "; sessions that end, crashes, failovers",
)

MIXED = Model(
    name="mixed",
    doc="Two brokers, one record; a silence, a crash, and a session that ends under a live broker.",
    init=all_active,
    actions=(*HEARTBEATS, *CONTROL, *ISR, *RECORD, *CRASH, registration.expire_session, *SILENCE),
    properties=(*SAFETY, properties.witnesses.inactive, properties.witnesses.invalid_incarnation),
    constants={"max_silences": 1, "max_crashes": 1, "max_expiries": 1},
    settings=DOCUMENT,
    faults="one broker that is cut off, one that dies and starts again, one session that ends under a live broker",
    not_modelled=NOT_MODELLED + "; failovers",
)

TWINS = Model(
    name="twins",
    doc="Two brokers and a second process of broker 0, one record; a silence, and a session that ends.",
    init=all_active,
    actions=(*HEARTBEATS, *CONTROL, *ISR, *RECORD, *SESSION, faults.start, *SILENCE),
    properties=(*SAFETY, properties.witnesses.invalid_incarnation, properties.witnesses.two_of_one_id),
    constants={"spare_processes": 1, "max_silences": 1, "max_expiries": 1},
    settings=DOCUMENT,
    faults="a second process with the id of broker 0, one broker that is cut off, one session that ends",
    not_modelled=NOT_MODELLED + "; crashes, failovers",
)

SUPERSEDED = Model(
    name="superseded",
    doc="As twins, without a record, and nobody is cut off: a lower incarnation's lease runs out first.",
    init=all_active,
    actions=(*HEARTBEATS, *CONTROL, *SESSION, faults.start),
    properties=(*SAFETY, properties.witnesses.invalid_incarnation, properties.witnesses.two_of_one_id),
    constants={"spare_processes": 1, "max_expiries": 1, "records": 0},
    settings=DOCUMENT,
    faults="a second process with the id of broker 0, one session that ends",
    not_modelled=NOT_MODELLED + "; an ISR that brokers change, silences, crashes, failovers",
)

ISR_OF_THREE = Model(
    name="isr",
    doc="Three brokers, min.insync.replicas 2, one record; one broker dies and loses its disk.",
    init=all_active,
    actions=(
        *HEARTBEATS[:3],
        heartbeat.expire,
        *CONTROL,
        *ISR,
        *RECORD,
        faults.crash_losing_disk,
        *CRASH[1:],
    ),
    properties=(*SAFETY, properties.witnesses.inactive, properties.witnesses.another_serves),
    constants={"brokers": 3, "min_insync_replicas": 2, "max_disk_losses": 1},
    settings=SETTINGS,
    faults="one broker that dies, loses its disk, and starts again",
    not_modelled=NOT_MODELLED + "; sessions that end under a live broker, silences, failovers",
)

DISK_AND_FAILOVER = Model(
    name="disk_and_failover",
    doc="Two brokers, one record; one broker dies with its disk, and the controller fails over.",
    init=all_active,
    actions=(
        *HEARTBEATS[:3],
        heartbeat.expire,
        *CONTROL,
        *ISR,
        *RECORD,
        faults.crash_losing_disk,
        *CRASH[1:],
        control.fail_over,
        isr.ask_again,
    ),
    properties=(
        *SAFETY,
        properties.incarnations.history_never_goes_back,
        properties.witnesses.inactive,
        properties.witnesses.another_serves,
    ),
    constants={"max_disk_losses": 1, "max_failovers": 1},
    settings=DOCUMENT,
    faults="one broker that dies, loses its disk, and starts again, and one failover of the controller",
    not_modelled=NOT_MODELLED + "; sessions that end under a live broker, silences",
)

LATE_FETCH = Model(
    name="late_fetch",
    doc="Two brokers, one record; a silence, a broker that dies with its disk; a fetch may outlive its sender.",
    init=all_active,
    actions=(
        *HEARTBEATS,
        *CONTROL,
        *ISR,
        *RECORD,
        replica.send_late_fetch,
        replica.take_late_fetch,
        faults.crash_losing_disk,
        *CRASH[1:],
        *SILENCE,
    ),
    properties=(
        *SAFETY,
        properties.steps.late_fetch_takes_its_way,
        properties.witnesses.inactive,
        properties.witnesses.another_serves,
        properties.witnesses.fetch_outlives_its_sender,
    ),
    constants={"late_fetches": 1, "max_disk_losses": 1, "max_silences": 1},
    settings=SETTINGS,
    faults="one broker that is cut off, one that dies, loses its disk, and starts again, one late fetch at a time",
    not_modelled=NOT_MODELLED + "; sessions that end under a live broker, failovers",
)

MODELS = [SESSIONS, FAILOVER, LATE, REFUSED, MIXED, TWINS, SUPERSEDED, ISR_OF_THREE, DISK_AND_FAILOVER, LATE_FETCH]
