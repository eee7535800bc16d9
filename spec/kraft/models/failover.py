"""The models of brokers that keep running over a failover of the controllers, each with its faults.

Three controllers, and what was decided in one epoch may be truncated in the next: the ISR and a record, a
reassignment, a controlled shutdown, two processes of one id. `models_quorum` is of the controllers themselves.
"""

from __future__ import annotations

from checker.lang import Model
from spec.kraft import abstract_isr, properties
from spec.kraft.actions import administration, broker, controller, faults, network, quorum, snapshot
from spec.kraft.design import SETTINGS
from spec.kraft.initial import running_cluster
from spec.kraft.models.quorum import COMMITTED, KIPS, LOGS, NOT_MODELLED_OF_VOTERS, NOT_MODELLED_QUORUM, RAFT, WAITING
from spec.kraft.models.replication import DATA, ISR, LEASES, LIFECYCLE, RECORD, REPLIES
from spec.kraft.models.shutdown import STOPPED, STOPPING
from spec.kraft.models.sizes import several_controllers

SURVIVAL = (
    *LOGS,
    *WAITING,
    *COMMITTED,
    properties.core.leaderless_for_want_of_candidates,
    properties.core.maximal_isr_covers_committed,
    *RECORD,
    properties.core.isr_has_acknowledged_record,
    abstract_isr.as_partition,
    properties.witnesses.elected_after_fencing,
    properties.witnesses.isr_changed_by_leader,
)

FAILOVER = Model(
    name="failover",
    doc="Three controllers, two brokers that run on, and the ISR of their partition; one failover.",
    init=running_cluster,
    actions=(
        *RAFT,
        quorum.catch_up,
        quorum.find_controller,
        *ISR,
        broker.apply_metadata,
        broker.send_heartbeat,
        controller.handle_heartbeat,
        *LEASES,
        network.lose_lifecycle_request,
        network.lose_alter_isr,
        network.lose_alter_isr_reply,
    ),
    properties=(
        *LOGS,
        *WAITING,
        *COMMITTED,
        properties.core.lapsed_broker_is_unfenced,
        properties.core.leaderless_for_want_of_candidates,
        properties.core.maximal_isr_covers_committed,
        properties.leadership.alter_isr_reply_is_true,
        properties.witnesses.elected_after_fencing,
        properties.witnesses.isr_changed_by_leader,
        properties.witnesses.maximal_isr_beyond_committed,
    ),
    constants={"controllers": 3, "pending_batches": 2, "max_failovers": 1},
    settings=SETTINGS,
    faults="one failover, after which a broker may find the new controller late enough to be fenced; nobody crashes",
    not_modelled=NOT_MODELLED_QUORUM,
    assumptions=(several_controllers,),
)

FAILOVER_RECORD = Model(
    name="failover_record",
    doc="Three controllers, two brokers and a record; one failover, and one lease that runs out early.",
    init=running_cluster,
    actions=(
        *RAFT,
        quorum.catch_up,
        quorum.find_controller,
        *DATA,
        *ISR,
        broker.apply_metadata,
        controller.fence_lapsed,
        faults.expire_lease_early,
    ),
    properties=(*SURVIVAL, properties.witnesses.deposed_leader_refused),
    constants={"controllers": 3, "pending_batches": 2, "max_failovers": 1, "max_early_expiries": 1},
    settings=SETTINGS,
    faults="one failover, and one lease that runs out early, so that a deposed leader leads on; nobody crashes",
    not_modelled="how the fenced broker is unfenced; " + NOT_MODELLED_QUORUM,
    assumptions=(several_controllers,),
)

FAILOVER_REASSIGNMENT = Model(
    name="failover_reassignment",
    doc="Three controllers, two brokers, of which one is spare; one reassignment that operators list, one failover.",
    init=running_cluster,
    actions=(
        *RAFT,
        quorum.catch_up,
        quorum.find_controller,
        administration.reassign,
        administration.cancel_reassignment,
        administration.list_reassignment,
        *ISR,
        broker.apply_metadata,
    ),
    properties=(
        *LOGS,
        properties.quorum_witnesses.decision_survives_failover,
        properties.core.leader_may_lead,
        properties.core.leaderless_for_want_of_candidates,
        properties.core.isr_is_never_empty,
        properties.core.epochs_never_go_back,
        properties.core.maximal_isr_covers_committed,
        properties.leadership.alter_isr_reply_is_true,
        properties.administration.isr_is_within_replicas,
        properties.administration.leader_changes_for_cause,
        properties.administration.reassignment_can_be_taken_back,
        properties.administration.reassignment_completes_in_sync,
        properties.administration.reassignment_keeps_min_isr,
        properties.administration.leader_reassigned_away,
        properties.quorum.listing_is_never_truncated,
        properties.quorum.listing_is_true,
        properties.quorum_witnesses.reassignment_survives_failover,
        properties.quorum_witnesses.end_of_reassignment_is_truncated,
        properties.quorum_witnesses.listed_reassignment_is_over,
    ),
    constants={
        "controllers": 3,
        "spare_brokers": 1,
        "pending_batches": 2,
        "listings": 1,
        "max_failovers": 1,
        "max_reassignments": 1,
    },
    settings=SETTINGS,
    faults="one reassignment, which may be cancelled, and one failover; nobody crashes, and no request is lost",
    not_modelled=NOT_MODELLED_OF_VOTERS + "data, fencing, topics, controlled shutdown, unregistering; " + KIPS,
    assumptions=(several_controllers,),
)

FAILOVER_CRASH = Model(
    name="failover_crash",
    doc="Three controllers, two brokers and a record; one failover, and one broker that dies and stays away.",
    init=running_cluster,
    actions=(
        *RAFT,
        quorum.catch_up,
        quorum.find_controller,
        *DATA,
        *ISR,
        broker.apply_metadata,
        *LEASES,
        faults.crash,
    ),
    properties=(*SURVIVAL, properties.witnesses.record_outlives_its_leader),
    constants={"controllers": 3, "pending_batches": 1, "max_failovers": 1, "max_crashes": 1},
    settings=SETTINGS,
    faults="one broker that dies for good, with its disk or without, and one failover",
    not_modelled="how a broker comes back; " + NOT_MODELLED_QUORUM,
    assumptions=(several_controllers,),
)

FAILOVER_SHUTDOWN = Model(
    name="failover_shutdown",
    doc="Three controllers and their snapshots, two brokers, of which one is restarted; one failover.",
    init=running_cluster,
    actions=(
        *RAFT,
        snapshot.write_snapshot,
        snapshot.load_snapshot,
        quorum.find_controller,
        *(a for a in LIFECYCLE if a not in LEASES),
        *STOPPING,
    ),
    properties=(
        *LOGS,
        *WAITING,
        properties.quorum_witnesses.decision_survives_failover,
        *COMMITTED,
        properties.log.what_is_written_changes_something,
        properties.quorum.snapshot_stands_for_log,
        properties.quorum.registration_is_never_truncated,
        properties.quorum.no_decision_stays_half_done,
        *STOPPED,
    ),
    constants={
        "controllers": 3,
        "pending_batches": 2,
        "snapshots": 1,
        "max_failovers": 1,
        "max_shutdowns": 1,
    },
    settings=SETTINGS,
    faults="an operator restarts a broker, and the active controller fails over meanwhile; no message is lost",
    not_modelled=NOT_MODELLED_OF_VOTERS
    + "data, changes of the ISR, leases, topics, unregistering, reassignment; "
    + KIPS,
    assumptions=(several_controllers,),
)

FAILOVER_TWINS = Model(
    name="failover_twins",
    doc="Three controllers, a broker and a second process with its id; one failover, one lease that runs out early.",
    init=running_cluster,
    actions=(
        *RAFT,
        quorum.catch_up,
        quorum.find_controller,
        *LIFECYCLE[1:],
        faults.start_second,
        faults.expire_lease_early,
    ),
    properties=(
        *LOGS,
        *WAITING,
        properties.quorum_witnesses.decision_survives_failover,
        properties.core.superseded_incarnation_changes_nothing,
        properties.core.leader_epoch_has_one_incarnation,
        *COMMITTED,
        properties.core.lapsed_broker_is_unfenced,
        properties.quorum.registration_is_never_truncated,
        properties.quorum.no_decision_stays_half_done,
        *REPLIES,
        properties.witnesses.two_processes_of_one_id,
        properties.witnesses.stale_heartbeat_refused,
        properties.witnesses.duplicate_registration_refused,
    ),
    constants={
        "controllers": 3,
        "brokers": 1,
        "second_processes": 1,
        "pending_batches": 2,
        "max_failovers": 1,
        "max_second_starts": 1,
        "max_early_expiries": 1,
    },
    settings=SETTINGS,
    faults="an operator starts a second broker with the same id while the first is taken for dead, and the active "
    "controller fails over; no message is lost",
    not_modelled="processes that end; " + NOT_MODELLED_QUORUM,
    assumptions=(several_controllers,),
)

MODELS = [FAILOVER, FAILOVER_RECORD, FAILOVER_CRASH, FAILOVER_REASSIGNMENT, FAILOVER_SHUTDOWN, FAILOVER_TWINS]
