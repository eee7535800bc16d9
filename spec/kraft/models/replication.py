"""The models of brokers and their ISR, with one controller: small enough to explore, each with its faults.

Each starts from a cluster that runs (every broker registered, unfenced and in the ISR, broker 0 leading), but
for `membership`, which starts from nothing, so that first registrations are explored too. `lossy` is the home
of KIP-903, `twins` of two processes with one id, `isr` and `isr_spurious` of three brokers, `zombie` of leaders
that were deposed and lead on, `late` of copies that land late; `large` takes minutes, and is for its size. All
budgets are guards: nothing is cut. `models.quorum`, `models.shutdown`, `models.failover` and `models.administration`
go on from here. `models.full` has all faults at once, and does not close.
"""

from __future__ import annotations

from checker.lang import Model
from spec.kraft import abstract_isr, properties
from spec.kraft.actions import broker, coarse_lifecycle, controller, faults, network, replica
from spec.kraft.design import SETTINGS
from spec.kraft.initial import nothing_registered, running_cluster
from spec.kraft.models.sizes import one_controller
from spec.kraft.properties.proof_lemmas import LEMMAS

ISR = (
    replica.fetch,
    replica.send_alter_isr,
    controller.handle_alter_isr,
    replica.receive_alter_isr_reply,
)
DATA = (replica.write, replica.advance_high_watermark, replica.shrink_isr)
LEASES = (controller.expire_lease, controller.fence_expired)
LIFECYCLE = (
    broker.start,
    broker.send_registration,
    controller.handle_registration,
    broker.receive_registration_reply,
    broker.apply_metadata,
    broker.finish_recovery,
    broker.send_heartbeat,
    controller.handle_heartbeat,
    broker.receive_heartbeat_reply,
    *LEASES,
)
LOSS = (
    network.lose_lifecycle_request,
    network.lose_lifecycle_reply,
    network.lose_alter_isr,
    network.lose_alter_isr_reply,
)

SAFETY = (
    properties.registration.superseded_incarnation_changes_nothing,
    properties.registration.leader_epoch_has_one_incarnation,
    properties.registration.broker_epochs_rise,
    properties.registration.valid_session_keeps_its_id,
    properties.heartbeat.fenced_for_cause,
    properties.heartbeat.unfenced_broker_is_ready,
    properties.heartbeat.expired_lease_is_of_an_unfenced_broker,
    properties.heartbeat.active_controller_checks_leases,
    properties.heartbeat.heartbeat_renews_lease,
    properties.leader_election.leader_may_lead,
    properties.leader_election.leaderless_only_without_candidates,
    properties.leader_election.leader_changes_in_replica_order,
    properties.isr.isr_is_never_empty,
    properties.isr.fenced_broker_is_out_of_isr,
    properties.leader_election.epochs_never_go_back,
    properties.isr.maximal_isr_covers_committed,
)
REPLIES = (
    properties.registration.one_request_at_a_time,
    properties.registration.registration_reply_is_true,
    properties.registration.registered_process_gets_reply,
    properties.heartbeat.heartbeat_reply_is_true,
    properties.registration.decision_takes_its_request,
    properties.heartbeat.lease_runs_out_for_silence,
    properties.broker_states.process_fits_its_state,
    properties.broker_states.process_follows_the_state_machine,
    properties.broker_states.recovering_before_registered,
)
CHANGES = (
    properties.alter_isr.one_change_at_a_time,
    properties.alter_isr.alter_isr_reply_is_true,
    properties.isr.isr_gains_only_by_request,
    properties.leadership.leads_as_elected,
    properties.leadership.leader_state_changes_for_cause,
    properties.leader_election.leader_epoch_rises_for_cause,
    properties.leadership.service_is_remembered,
    properties.leadership.new_leader_starts_fresh,
)
RECORD = (
    properties.replication.acknowledged_on_enough_disks,
    properties.replication.high_watermark_is_in_the_log,
    properties.replication.acknowledged_record_survives,
    properties.replication.record_status_moves_forward,
    properties.replication.record_acknowledged,
)
SEEN = (
    properties.broker_states.broker_not_running,
    properties.broker_states.broker_starting,
    properties.broker_states.broker_in_recovery,
    properties.broker_states.broker_runs_again,
    properties.isr.whole_isr_follows_broker_1,
    properties.leader_election.elected_after_fencing,
    properties.leader_election.leaderless_partition,
    properties.isr.fenced_last_isr_member,
    properties.alter_isr.isr_changed_by_leader,
    properties.isr.maximal_isr_beyond_committed,
)

NOT_MODELLED = (
    "controller failover (what is decided is committed at once), controlled shutdown, unregistering, reassignment, "
    "topics, more than one partition and one record; unclean election, KIP-704, ELR (KIP-966), KIP-858, KIP-853"
)

MEMBERSHIP = Model(
    name="membership",
    doc="Two brokers from their first registration on; one crash, one lease that runs out early. No data.",
    init=nothing_registered,
    actions=(*ISR, *LIFECYCLE, controller.fence_two_expired, *LOSS, faults.expire_lease_early, faults.crash),
    properties=(
        *SAFETY,
        *SEEN,
        *REPLIES,
        *CHANGES,
        properties.alter_isr.member_is_added_as_registered,
        properties.heartbeat.heartbeats_overlap,
        properties.heartbeat.stale_heartbeat_refused,
        properties.registration.duplicate_registration_refused,
        properties.alter_isr.ineligible_replica_refused,
        properties.alter_isr.late_change_refused,
        properties.alter_isr.deposed_leader_refused,
    ),
    constants={"lifecycle_in_flight": 2, "max_crashes": 1, "max_early_expiries": 1},
    settings=SETTINGS,
    faults="one crash and one lease that runs out early (a long pause, a slow network): a bad day of any "
    "cluster; any number of lost messages",
    not_modelled=NOT_MODELLED,
    lemmas=LEMMAS,
    assumptions=(one_controller,),
)

LOSSY = Model(
    name="lossy",
    doc="Two brokers and a record; two crashes, of which one may lose the disk, and one copied request (KIP-903).",
    init=running_cluster,
    actions=(
        *DATA,
        *ISR,
        *LIFECYCLE,
        controller.fence_two_expired,
        *LOSS,
        network.copy_alter_isr,
        faults.crash,
        faults.crash_losing_disk,
    ),
    properties=(
        *SAFETY,
        *RECORD,
        *SEEN,
        properties.registration.duplicate_registration_refused,
        properties.alter_isr.ineligible_replica_refused,
        properties.replication.record_outlives_its_leader,
        properties.replication.record_forfeited,
        properties.alter_isr.late_alter_isr,
        properties.alter_isr.next_change_overtakes_late_one,
        properties.replication.leader_lost_its_disk,
    ),
    constants={"max_crashes": 2, "max_disk_losses": 1, "max_duplicates": 1},
    settings=SETTINGS,
    faults="two crashes, of which one loses the disk (or an operator replaces it), and one request that a retry "
    "leaves under way twice: rare, and KIP-903 reports it from production",
    not_modelled=NOT_MODELLED,
    lemmas=LEMMAS,
    assumptions=(one_controller,),
)

TWINS = Model(
    name="twins",
    doc="Two brokers and a record, a second process for broker 0; a crash that loses the disk, one late registration.",
    init=running_cluster,
    actions=(
        *DATA,
        *ISR,
        *LIFECYCLE,
        *LOSS,
        network.copy_registration,
        faults.start_second,
        faults.crash_losing_disk,
    ),
    properties=(
        *SAFETY,
        *RECORD,
        properties.replication.isr_has_acknowledged_record,
        abstract_isr.as_partition,
        *SEEN,
        properties.registration.two_processes_of_one_id,
        properties.heartbeat.stale_heartbeat_refused,
        properties.registration.duplicate_registration_refused,
    ),
    constants={
        "second_processes": 1,
        "max_second_starts": 1,
        "max_crashes": 1,
        "max_disk_losses": 1,
        "max_duplicates": 1,
    },
    settings=SETTINGS,
    faults="an operator starts a second broker with the same id, one disk is lost, one registration lands late: "
    "a mistake of configuration on top of a failure",
    not_modelled=NOT_MODELLED,
    lemmas=LEMMAS,
    assumptions=(one_controller,),
)

ISR_MODEL = Model(
    name="isr",
    doc="Three brokers and a record, min.insync.replicas 2; one crash that may lose the disk.",
    init=running_cluster,
    actions=(*DATA, *ISR, *LIFECYCLE, *LOSS, faults.crash, faults.crash_losing_disk),
    properties=(
        *SAFETY,
        *RECORD,
        properties.replication.isr_has_acknowledged_record,
        abstract_isr.as_partition,
        *SEEN,
        properties.replication.record_outlives_its_leader,
    ),
    constants={"brokers": 3, "min_insync_replicas": 2, "max_crashes": 1, "max_disk_losses": 1},
    settings=SETTINGS,
    faults="one crash, clean or with loss of the disk: the failure that replication factor 3 with "
    "min.insync.replicas 2 is bought for",
    not_modelled=NOT_MODELLED,
    lemmas=LEMMAS,
    assumptions=(one_controller,),
)

EXPANSION = Model(
    name="expansion",
    doc="Three brokers and a record, two in sync needed; a follower that lags, an early expiry of a lease, a crash.",
    init=running_cluster,
    actions=(
        *DATA,
        *ISR,
        replica.fall_behind,
        broker.apply_metadata,
        network.lose_alter_isr,
        network.lose_alter_isr_reply,
        coarse_lifecycle.go_down,
        coarse_lifecycle.fence_alive,
        coarse_lifecycle.unfence_alive,
    ),
    properties=(
        properties.leader_election.leader_may_lead,
        properties.isr.isr_is_never_empty,
        properties.isr.fenced_broker_is_out_of_isr,
        properties.leader_election.epochs_never_go_back,
        *RECORD,
        properties.replication.high_watermark_waits_for_the_caught_up,
        properties.replication.who_has_all_is_caught_up,
        *CHANGES,
        properties.replication.record_outlives_its_leader,
        properties.replication.only_laggards_are_slow,
        properties.heartbeat.all_unfenced_after_early_expiry,
        properties.replication.slow_member_has_left,
        properties.replication.acknowledged_by_the_whole_isr,
        properties.replication.acknowledged_without_the_slow,
        properties.replication.acknowledged_without_the_fenced,
        properties.isr.maximal_isr_beyond_committed,
    ),
    constants={
        "brokers": 3,
        "min_insync_replicas": 2,
        "lag_is_known": 1,
        "max_lags": 1,
        "max_early_expiries": 1,
        "max_crashes": 1,
    },
    settings=SETTINGS,
    faults="one follower that does not reach the end of its leader's log for replica.lag.time.max.ms and then fetches "
    "again, one lease that runs out early, and one clean crash: overloaded brokers, and a restart",
    not_modelled="what is claimed of the maximal ISR, which other models do; that the dead come back; " + NOT_MODELLED,
    assumptions=(one_controller,),
)

ZOMBIE = Model(
    name="zombie",
    doc="Two brokers and a record; two leases that run out early, so that a deposed leader leads on; one crash.",
    init=running_cluster,
    actions=(
        *DATA,
        *ISR,
        *LIFECYCLE,
        controller.fence_two_expired,
        *LOSS,
        faults.expire_lease_early,
        faults.crash,
        faults.crash_losing_disk,
    ),
    properties=(
        *SAFETY,
        *RECORD,
        properties.replication.isr_has_acknowledged_record,
        abstract_isr.as_partition,
        properties.heartbeat.expired_lease_ends_in_fencing,
        *SEEN,
        properties.alter_isr.deposed_leader_refused,
        properties.replication.record_outlives_its_leader,
    ),
    constants={"max_crashes": 1, "max_disk_losses": 1, "max_early_expiries": 2},
    settings=SETTINGS,
    faults="two leases that run out early and one crash: pauses long enough that a deposed leader serves on, "
    "which garbage collection and frozen machines do",
    not_modelled=NOT_MODELLED,
    lemmas=LEMMAS,
    assumptions=(one_controller,),
)

REFUSED = Model(
    name="refused",
    doc="Two brokers and a record; one copied AlterIsr, one lease that runs out early, one crash.",
    init=running_cluster,
    actions=(
        *DATA,
        *ISR,
        broker.apply_metadata,
        broker.send_heartbeat,
        controller.handle_heartbeat,
        *LEASES,
        network.copy_alter_isr,
        network.lose_alter_isr_reply,
        faults.expire_lease_early,
        faults.crash,
    ),
    properties=(
        properties.leader_election.leader_may_lead,
        properties.isr.isr_is_never_empty,
        properties.isr.fenced_broker_is_out_of_isr,
        properties.leader_election.epochs_never_go_back,
        *RECORD,
        properties.alter_isr.ineligible_replica_refused,
        properties.alter_isr.late_alter_isr,
        properties.replication.record_outlives_its_leader,
    ),
    constants={"max_early_expiries": 1, "max_duplicates": 1, "max_crashes": 1},
    settings=SETTINGS,
    faults="one request that a retry leaves under way twice, one lease that runs out early, and one clean crash",
    not_modelled="what is claimed of the maximal ISR, which other models do; that the dead come back; " + NOT_MODELLED,
    assumptions=(one_controller,),
)

ISR_SPURIOUS = Model(
    name="isr_spurious",
    doc="Three brokers and a record, min.insync.replicas 2; nobody crashes, one lease runs out early.",
    init=running_cluster,
    actions=(
        *DATA,
        *ISR,
        broker.apply_metadata,
        broker.send_heartbeat,
        controller.handle_heartbeat,
        controller.fence_expired,
        network.lose_lifecycle_request,
        network.lose_alter_isr,
        network.lose_alter_isr_reply,
        faults.expire_lease_early,
    ),
    properties=(
        *SAFETY,
        *RECORD,
        properties.replication.isr_has_acknowledged_record,
        abstract_isr.as_partition,
        properties.leader_election.elected_after_fencing,
        properties.isr.whole_isr_follows_broker_1,
        properties.alter_isr.isr_changed_by_leader,
        properties.alter_isr.deposed_leader_refused,
        properties.alter_isr.late_change_refused,
        properties.replication.record_outlives_its_leader,
    ),
    constants={"brokers": 3, "min_insync_replicas": 2, "max_early_expiries": 1},
    settings=SETTINGS,
    faults="one lease that runs out early, nobody crashes",
    not_modelled=NOT_MODELLED,
    lemmas=LEMMAS,
    assumptions=(one_controller,),
)

LATE = Model(
    name="late",
    doc="Two brokers without data; two crashes, and a copy of a registration or heartbeat that lands late.",
    init=running_cluster,
    actions=(*ISR, *LIFECYCLE, *LOSS, network.copy_registration, network.copy_heartbeat, faults.crash),
    properties=(
        *SAFETY,
        *SEEN,
        *REPLIES,
        properties.heartbeat.stale_heartbeat_refused,
        properties.registration.duplicate_registration_refused,
        properties.registration.late_registration,
        properties.heartbeat.newer_heartbeat_overtakes_late_one,
    ),
    constants={"lifecycle_in_flight": 2, "max_crashes": 2, "max_duplicates": 1},
    settings=SETTINGS,
    faults="two crashes, and one registration or heartbeat that the network delivers a second time, late",
    not_modelled=NOT_MODELLED,
    lemmas=LEMMAS,
    assumptions=(one_controller,),
)

TWINS_SPURIOUS = Model(
    name="twins_spurious",
    doc="Two brokers without data, a second process for broker 0; one crash, and one lease that runs out early.",
    init=running_cluster,
    actions=(*ISR, *LIFECYCLE, *LOSS, faults.start_second, faults.expire_lease_early, faults.crash),
    properties=(
        *SAFETY,
        *SEEN,
        *REPLIES,
        *CHANGES,
        properties.registration.two_processes_of_one_id,
        properties.alter_isr.superseded_leader_refused,
    ),
    constants={"second_processes": 1, "max_second_starts": 1, "max_crashes": 1, "max_early_expiries": 1},
    settings=SETTINGS,
    faults="an operator starts a second broker with the same id, one crash, and one lease that runs out early",
    not_modelled=NOT_MODELLED,
    lemmas=LEMMAS,
    assumptions=(one_controller,),
)

LARGE = Model(
    name="large",
    doc="Three brokers and a record: one crash, and one lease that runs out early. Minutes.",
    init=running_cluster,
    actions=(
        *DATA,
        *ISR,
        *LIFECYCLE,
        controller.fence_two_expired,
        *LOSS,
        faults.expire_lease_early,
        faults.crash,
    ),
    properties=(
        *SAFETY,
        *RECORD,
        properties.replication.isr_has_acknowledged_record,
        *SEEN,
        properties.alter_isr.deposed_leader_refused,
        properties.replication.record_outlives_its_leader,
    ),
    constants={
        "brokers": 3,
        "min_insync_replicas": 2,
        "lifecycle_in_flight": 2,
        "max_crashes": 1,
        "max_early_expiries": 1,
    },
    settings=SETTINGS,
    faults="one crash and one lease that runs out early: a bad day of any cluster of three",
    not_modelled=NOT_MODELLED,
    lemmas=LEMMAS,
    assumptions=(one_controller,),
)

MODELS = [MEMBERSHIP, LOSSY, TWINS, ISR_MODEL, EXPANSION, REFUSED, ISR_SPURIOUS, ZOMBIE, LATE, TWINS_SPURIOUS, LARGE]
