"""The models of brokers that keep running over a failover of the controllers, each with its faults.

Three controllers, and what was decided in one epoch may be truncated in the next: the ISR and a record, a
reassignment, a controlled shutdown, two processes of one id. `models.quorum` is of the controllers themselves.
"""

from __future__ import annotations

from checker.lang import Model, replace
from spec.kraft import abstract_isr, properties
from spec.kraft.actions import (
    administration,
    broker,
    clients,
    controller,
    faults,
    network,
    quorum,
    replica,
    shutdown,
    snapshot,
)
from spec.kraft.design import SETTINGS
from spec.kraft.initial import addition_pending, running_cluster
from spec.kraft.models.quorum import COMMITTED, KIPS, LOGS, NOT_MODELLED_OF_VOTERS, NOT_MODELLED_QUORUM, RAFT, WAITING
from spec.kraft.models.replication import DATA, ISR, LEASES, LIFECYCLE, RECORD, REPLIES
from spec.kraft.models.shutdown import STOPPED, STOPPING, fairly
from spec.kraft.models.sizes import several_controllers

SURVIVAL = (
    *LOGS,
    *WAITING,
    properties.failover.stale_process_is_superseded,
    *COMMITTED,
    properties.leader_election.leaderless_only_without_candidates,
    properties.isr.maximal_isr_covers_committed,
    *RECORD,
    properties.replication.isr_has_acknowledged_record,
    abstract_isr.as_partition,
    properties.leader_election.elected_after_fencing,
    properties.alter_isr.isr_changed_by_leader,
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
        properties.failover.stale_process_is_superseded,
        *COMMITTED,
        properties.heartbeat.expired_lease_is_of_an_unfenced_broker,
        properties.leader_election.leaderless_only_without_candidates,
        properties.isr.maximal_isr_covers_committed,
        properties.alter_isr.alter_isr_reply_is_true,
        properties.alter_isr.awaited_metadata_is_there,
        properties.leader_election.elected_after_fencing,
        properties.alter_isr.isr_changed_by_leader,
        properties.isr.maximal_isr_beyond_committed,
    ),
    constants={
        "lifecycle_in_flight": 2,
        "alter_in_flight": 2,
        "controllers": 3,
        "pending_batches": 2,
        "max_failovers": 1,
    },
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
        controller.fence_expired,
        faults.expire_lease_early,
    ),
    properties=(*SURVIVAL, properties.alter_isr.deposed_leader_refused),
    constants={"controllers": 3, "pending_batches": 2, "max_failovers": 1, "max_early_expiries": 1},
    settings=SETTINGS,
    faults="one failover, and one lease that runs out early, so that a deposed leader leads on; nobody crashes",
    not_modelled="how the fenced broker is unfenced; " + NOT_MODELLED_QUORUM,
    assumptions=(several_controllers,),
)

FAILOVER_IMAGES = Model(
    name="failover_images",
    doc="Three controllers, two brokers that apply metadata by batches and answer clients; one failover, one expiry.",
    init=addition_pending,
    actions=(
        *RAFT,
        quorum.catch_up,
        quorum.find_controller,
        replica.fetch,
        controller.handle_alter_isr,
        replica.receive_alter_isr_reply,
        broker.apply_metadata,
        broker.apply_previous_metadata,
        clients.answer_metadata,
        controller.fence_expired,
        faults.expire_lease_early,
    ),
    properties=(
        *LOGS,
        properties.failover.decision_survives_failover,
        *COMMITTED,
        properties.failover.broker_image_is_committed,
        properties.failover.broker_image_never_goes_back,
        properties.failover.lag_counts_batches,
        properties.leadership.service_is_remembered,
        properties.isr.maximal_isr_covers_committed,
        properties.alter_isr.alter_isr_reply_is_true,
        clients.only_unfenced_brokers_are_listed,
        clients.fenced_broker_listed,
        properties.failover.image_older_than_a_reply,
        properties.failover.image_between_two_batches,
    ),
    constants={
        "controllers": 3,
        "pending_batches": 2,
        "previous_images": 1,
        "metadata_responses": 1,
        "max_failovers": 1,
        "max_early_expiries": 1,
        "max_duplicates": 1,
    },
    settings=SETTINGS,
    faults="one failover and one lease that runs out early, while brokers apply what is committed batch by batch",
    not_modelled="data, crashes, how a fenced broker is unfenced; metadata cache and replica manager at two offsets; "
    + NOT_MODELLED_QUORUM,
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
        properties.failover.decision_survives_failover,
        properties.leader_election.leader_may_lead,
        properties.leader_election.leaderless_only_without_candidates,
        properties.isr.isr_is_never_empty,
        properties.leader_election.epochs_never_go_back,
        properties.isr.maximal_isr_covers_committed,
        properties.alter_isr.alter_isr_reply_is_true,
        properties.isr.isr_is_within_replicas,
        properties.leader_election.leader_changes_for_cause,
        properties.reassignment.reassignment_can_be_taken_back,
        properties.reassignment.reassignment_completes_in_sync,
        properties.reassignment.reassignment_keeps_min_isr,
        properties.reassignment.leader_reassigned_away,
        properties.failover.listing_is_never_truncated,
        properties.failover.listing_is_true,
        properties.failover.reassignment_survives_failover,
        properties.raft.end_of_reassignment_is_truncated,
        properties.failover.listed_reassignment_is_over,
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
    properties=(*SURVIVAL, properties.replication.record_outlives_its_leader),
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
        network.refuse_lifecycle_request,
        *STOPPING,
    ),
    properties=(
        *LOGS,
        *WAITING,
        properties.failover.stale_process_is_superseded,
        properties.failover.decision_survives_failover,
        *COMMITTED,
        properties.failover.what_is_written_changes_something,
        properties.failover.snapshot_stands_for_log,
        properties.failover.registration_is_never_truncated,
        properties.failover.no_decision_stays_half_done,
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
    faults="an operator restarts a broker, and the active controller fails over meanwhile; no message is lost but "
    "for what a controller refuses that is not active",
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
        network.refuse_lifecycle_request,
        faults.start_second,
        faults.expire_lease_early,
    ),
    properties=(
        *LOGS,
        *WAITING,
        properties.failover.stale_process_is_superseded,
        properties.failover.decision_survives_failover,
        properties.registration.superseded_incarnation_changes_nothing,
        properties.registration.leader_epoch_has_one_incarnation,
        *COMMITTED,
        properties.heartbeat.expired_lease_is_of_an_unfenced_broker,
        properties.failover.registration_is_never_truncated,
        properties.failover.no_decision_stays_half_done,
        *REPLIES,
        properties.registration.two_processes_of_one_id,
        properties.heartbeat.stale_heartbeat_refused,
        properties.registration.duplicate_registration_refused,
    ),
    constants={
        "lifecycle_in_flight": 2,
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

FAILOVER_ENDS = Model(
    name="failover_ends",
    doc="Three controllers and a broker that restarts and crashes; one failover: what must eventually happen does.",
    init=running_cluster,
    actions=(
        quorum.elect,
        *(replace(action, fair="weak") for action in (*RAFT[1:], quorum.catch_up)),
        broker.start,
        *fairly(
            quorum.find_controller,
            *LIFECYCLE[1:],
            shutdown.finish_shutdown,
            network.lose_lifecycle_request,
        ),
        shutdown.sigterm,
        faults.crash,
    ),
    properties=(
        properties.raft.some_controller_is_active,
        properties.heartbeat.silent_broker_is_fenced,
        properties.heartbeat.ready_broker_is_unfenced,
        properties.shutdown.controlled_shutdown_ends,
        properties.leader_election.leaderless_partition_gets_leader,
    ),
    constants={
        "controllers": 3,
        "brokers": 1,
        "pending_batches": 2,
        "max_failovers": 1,
        "max_shutdowns": 1,
        "max_crashes": 1,
    },
    settings=SETTINGS,
    faults="a restart by an operator, a crash after which the broker may stay away, and a failover meanwhile; "
    "after that no timeout runs out in the quorum",
    not_modelled="a second broker, lost replies but for those of deposed controllers; " + NOT_MODELLED_QUORUM,
    assumptions=(several_controllers,),
)

FAILOVER_CHANGES = Model(
    name="failover_changes",
    doc="Three controllers, two brokers that run on, and the ISR of their partition; one failover. Liveness (L4).",
    init=running_cluster,
    actions=(
        quorum.elect,
        *(replace(action, fair="weak") for action in (*RAFT[1:], quorum.catch_up)),
        *fairly(
            quorum.find_controller,
            broker.apply_metadata,
            *ISR[1:],
            broker.send_heartbeat,
            controller.handle_heartbeat,
            *LEASES,
            network.lose_lifecycle_request,
            network.lose_alter_isr,
        ),
        replica.fetch,
        network.lose_alter_isr_reply,
    ),
    properties=(properties.alter_isr.pending_change_is_resolved,),
    constants={"controllers": 3, "pending_batches": 2, "max_failovers": 1},
    settings=SETTINGS,
    faults="one failover, after which a broker may find the new controller late enough to be fenced, and lost replies; "
    "nobody crashes, and after the failover no timeout runs out in the quorum",
    not_modelled=NOT_MODELLED_QUORUM,
    assumptions=(several_controllers,),
)

MODELS = [
    FAILOVER_ENDS,
    FAILOVER_CHANGES,
    FAILOVER,
    FAILOVER_RECORD,
    FAILOVER_CRASH,
    FAILOVER_IMAGES,
    FAILOVER_REASSIGNMENT,
    FAILOVER_SHUTDOWN,
    FAILOVER_TWINS,
]
