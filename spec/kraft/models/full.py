"""One model with all that goes together: it is for `fencepost simulate`, and does not close.

The other models are small, so that they can be exhausted, and each has a few faults. What takes more of them at once,
random walks through this one may find; that they find nothing proves nothing.
Leaves out: what removes records (deleting topics, unregistering brokers), which has no place in a log that is not
committed; second processes, metadata responses, snapshots, and what must eventually happen.
"""

from __future__ import annotations

from checker.lang import Model
from spec.kraft import properties
from spec.kraft.actions import administration, controller, faults, network, quorum, topics
from spec.kraft.design import SETTINGS
from spec.kraft.initial import no_topic
from spec.kraft.models.quorum import COMMITTED, NOT_MODELLED_OF_VOTERS, RAFT
from spec.kraft.models.replication import DATA, ISR, LIFECYCLE, LOSS
from spec.kraft.models.shutdown import STOPPING

FULL = Model(
    name="full",
    doc="All faults at once: three controllers, three brokers, a topic, a record. Does not close: for simulation.",
    init=no_topic,
    actions=(
        *RAFT,
        quorum.catch_up,
        quorum.find_controller,
        topics.create_topic,
        administration.reassign,
        administration.cancel_reassignment,
        administration.elect_preferred,
        *DATA,
        *ISR,
        *LIFECYCLE,
        controller.fence_two_expired,
        *STOPPING,
        *LOSS,
        network.copy_registration,
        network.copy_heartbeat,
        network.copy_alter_isr,
        faults.expire_lease_early,
        faults.crash,
        faults.crash_losing_disk,
    ),
    properties=(
        properties.raft.newest_leader_has_what_is_committed,
        properties.raft.logs_match,
        properties.failover.image_is_replay_of_log,
        properties.failover.registration_is_never_truncated,
        properties.failover.no_decision_stays_half_done,
        *(p for p in COMMITTED if p is not properties.leader_election.leader_changes_in_replica_order),
        properties.registration.leader_epoch_has_one_incarnation,
        properties.heartbeat.expired_lease_is_of_an_unfenced_broker,
        properties.leader_election.leaderless_only_without_candidates,
        properties.isr.maximal_isr_covers_committed,
        properties.replication.acknowledged_on_enough_disks,
        properties.replication.acknowledged_record_survives,
        properties.replication.isr_has_acknowledged_record,
        properties.topics.topics_are_complete,
        properties.isr.isr_is_within_replicas,
        properties.leader_election.leader_changes_for_cause,
        properties.reassignment.reassignment_can_be_taken_back,
        properties.reassignment.reassignment_completes_in_sync,
        properties.reassignment.reassignment_keeps_min_isr,
        properties.shutdown.exiting_broker_leads_nothing,
        properties.shutdown.exiting_broker_stays_fenced,
        properties.shutdown.shutdown_waits_for_images,
    ),
    constants={
        "controllers": 3,
        "brokers": 3,
        "min_insync_replicas": 2,
        "lifecycle_in_flight": 2,
        "pending_batches": 3,
        "max_crashes": 2,
        "max_disk_losses": 1,
        "max_early_expiries": 1,
        "max_duplicates": 1,
        "max_shutdowns": 1,
        "max_failovers": 2,
        "max_reassignments": 2,
        "max_topics": 2,
    },
    settings=SETTINGS,
    faults="two failovers, two crashes of which one loses the disk, a lease that runs out early, a request that lands "
    "twice, a restart by an operator, two reassignments: a bad week of any cluster, in no time",
    not_modelled=NOT_MODELLED_OF_VOTERS + "more than one partition, deleting topics, unregistering, processes that "
    "share an id; unclean election, KIP-704, ELR (KIP-966), KIP-858, KIP-853",
)

MODELS = [FULL]
