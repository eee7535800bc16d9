"""Liveness: silent brokers go, brokers that are back serve, shutdowns and ISR changes end."""

from __future__ import annotations

from checker.lang import Declared, Model, replace
from spec.heartbeat import properties
from spec.heartbeat.actions import control, faults, heartbeat, isr, legacy, registration, replica
from spec.heartbeat.design import SETTINGS
from spec.heartbeat.initial import all_active
from spec.heartbeat.models.leases import CONTROL, DOCUMENT, HEARTBEATS, ISR, NOT_MODELLED, RECORD, SILENCE
from spec.heartbeat.models.operations import LEGACY_ISR
from spec.heartbeat.models.sessions import CRASH, REGISTRATION

PERTURBATIONS = (
    *SILENCE,
    faults.crash,
    faults.start,
    faults.request_shutdown,
    registration.expire_session,
    control.fail_over,
    isr.ask_to_shrink,
    replica.accept_produce,
    legacy.roll,
    legacy.roll_controller,
)


def fairly(*actions: Declared) -> tuple[Declared, ...]:
    """The same actions, weakly fair but for perturbations: what heals happens."""
    return tuple(one if one in PERTURBATIONS else replace(one, fair="weak") for one in actions)


ENDS = (
    properties.liveness.silent_broker_is_inactive,
    properties.liveness.registered_broker_is_active,
    properties.liveness.process_is_registered,
    properties.liveness.isr_change_is_resolved,
    properties.liveness.cut_off_leader_is_replaced,
    properties.liveness.partition_gets_a_leader,
)

LIVE = Model(
    name="live",
    doc="Two brokers; one is cut off from the controller, and the session of one ends.",
    init=all_active,
    actions=fairly(*HEARTBEATS, *CONTROL, *ISR, replica.fetch, *SILENCE, registration.expire_session, *REGISTRATION),
    properties=(*ENDS, properties.liveness.follower_catches_up),
    constants={"records": 0, "max_silences": 1, "max_expiries": 1},
    settings=SETTINGS,
    faults="one broker that is cut off, for good or not, one session that ends under a live broker",
    not_modelled=NOT_MODELLED + "; the record, crashes, failovers",
)

LIVE_CRASH = Model(
    name="live_crash",
    doc="Two brokers; one is cut off from the controller, one dies, and the controller fails over.",
    init=all_active,
    actions=fairly(*HEARTBEATS, *CONTROL, *SILENCE, *CRASH, control.fail_over),
    properties=tuple(one for one in ENDS if one is not properties.liveness.isr_change_is_resolved),
    constants={"records": 0, "max_silences": 1, "max_crashes": 1, "max_failovers": 1},
    settings=SETTINGS,
    faults="one broker that is cut off, for good or not, one that dies, for good or not, one failover",
    not_modelled=NOT_MODELLED
    + "; the record, changes of the ISR that leaders ask for, sessions that end under a live broker",
)

LIVE_STOPPING = Model(
    name="live_stopping",
    doc="Two brokers; one is shut down, and the controller fails over.",
    init=all_active,
    actions=fairly(
        *HEARTBEATS[:3],
        heartbeat.expire,
        *CONTROL,
        *ISR,
        replica.fetch,
        faults.request_shutdown,
        control.move_leadership,
        control.fail_over,
        isr.ask_again,
    ),
    properties=(
        properties.liveness.shutdown_ends,
        properties.liveness.isr_change_is_resolved,
        properties.liveness.partition_gets_a_leader,
    ),
    constants={"records": 0, "max_shutdowns": 1, "max_failovers": 1},
    settings=DOCUMENT,
    faults="one broker that is shut down, one failover",
    not_modelled=NOT_MODELLED + "; the record, crashes, silences, sessions that end under a live broker",
)

LIVE_LEGACY = Model(
    name="live_legacy",
    doc="A legacy broker that leads and one with heartbeats; a crash, and a lost reply of ZooKeeper.",
    init=all_active,
    actions=fairly(*HEARTBEATS[:3], heartbeat.expire, *CONTROL, *ISR, replica.fetch, *CRASH, *LEGACY_ISR),
    properties=(
        properties.liveness.registered_broker_is_active,
        properties.liveness.process_is_registered,
        properties.liveness.isr_change_is_resolved,
        properties.liveness.partition_gets_a_leader,
    ),
    constants={"legacy_brokers": 1, "records": 0, "max_crashes": 1, "max_lost_replies": 1},
    settings=DOCUMENT,
    faults="one broker that dies, for good or not, one write whose reply is lost",
    not_modelled=NOT_MODELLED + "; the record, silences, failovers",
)

LIVE_UPGRADE = Model(
    name="live_upgrade",
    doc="Two brokers and the controller are upgraded by two rolling restarts, which may stop halfway.",
    init=all_active,
    actions=fairly(
        *HEARTBEATS[:3], heartbeat.expire, *CONTROL, *REGISTRATION, faults.start, legacy.roll, legacy.roll_controller
    ),
    properties=(
        properties.liveness.registered_broker_is_active,
        properties.liveness.process_is_registered,
        properties.liveness.partition_gets_a_leader,
    ),
    constants={"legacy_brokers": 2, "rolls": 2, "records": 0},
    settings=DOCUMENT,
    faults="every process is restarted twice, or less often",
    not_modelled=NOT_MODELLED + "; the record, changes of the ISR that leaders ask for, crashes, silences",
)

LIVE_RECORD = Model(
    name="live_record",
    doc="Two brokers, one record; the leader may ask for an ISR without its follower, and takes it in again.",
    init=all_active,
    actions=fairly(*ISR, *RECORD),
    properties=(
        properties.liveness.follower_catches_up,
        properties.liveness.request_in_hand_is_completed,
        properties.liveness.isr_change_is_resolved,
    ),
    constants={},
    settings=DOCUMENT,
    faults="none",
    not_modelled=NOT_MODELLED + "; heartbeats, crashes, sessions that end, failovers",
)

MODELS = [LIVE, LIVE_RECORD, LIVE_CRASH, LIVE_STOPPING, LIVE_LEGACY, LIVE_UPGRADE]
