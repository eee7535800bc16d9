"""The models of two subjects at once, whose bugs neither shows alone.

A reassignment in a snapshot; what operators ask for while a broker is in controlled shutdown; a reassignment to a
broker that loses its disk. What else composes small subjects stands with the larger of them.
"""

from __future__ import annotations

from checker.lang import Model
from spec.kraft import properties
from spec.kraft.actions import administration, broker, faults, network, quorum, snapshot, topics
from spec.kraft.design import SETTINGS
from spec.kraft.initial import running_cluster
from spec.kraft.models.administration import ADMINISTRATION
from spec.kraft.models.quorum import KIPS, LOGS, NOT_MODELLED_OF_VOTERS, RAFT
from spec.kraft.models.replication import DATA, ISR, LEASES, LIFECYCLE, RECORD, SAFETY
from spec.kraft.models.shutdown import NO_LOG, STOPPED, STOPPING
from spec.kraft.models.sizes import one_controller, several_controllers

MOVED = (
    properties.isr.isr_is_within_replicas,
    properties.reassignment.reassignment_completes_in_sync,
    properties.reassignment.reassignment_keeps_min_isr,
)

SNAPSHOT_REASSIGNMENT = Model(
    name="snapshot_reassignment",
    doc="Three controllers that write and load snapshots, two brokers, one of them spare; a reassignment, a failover.",
    init=running_cluster,
    actions=(
        *RAFT,
        snapshot.write_snapshot,
        snapshot.load_snapshot,
        quorum.find_controller,
        administration.reassign,
        administration.cancel_reassignment,
        *ISR,
        network.refuse_alter_isr,
        broker.apply_metadata,
    ),
    properties=(
        *LOGS,
        properties.failover.decision_survives_failover,
        properties.failover.snapshot_stands_for_log,
        properties.leader_election.leader_may_lead,
        properties.leader_election.epochs_never_go_back,
        *MOVED,
        properties.reassignment.reassignment_can_be_taken_back,
        properties.failover.reassignment_survives_failover,
    ),
    constants={
        "controllers": 3,
        "spare_brokers": 1,
        "pending_batches": 2,
        "snapshots": 1,
        "max_failovers": 1,
        "max_reassignments": 1,
    },
    settings=SETTINGS,
    faults="one reassignment, which may be cancelled, and one failover to a controller that started from a snapshot",
    not_modelled=NOT_MODELLED_OF_VOTERS + "data, fencing, topics, controlled shutdown, unregistering; " + KIPS,
    assumptions=(several_controllers,),
)

# Of the others, one counts leader epochs on from one topic to the next of its name, one knows no preferred leader.
OF_ONE_TOPIC = (
    properties.registration.leader_epoch_has_one_incarnation,
    properties.leader_election.leader_changes_in_replica_order,
)

OPERATED_SHUTDOWN = Model(
    name="operated_shutdown",
    doc="Two brokers, one SIGTERM; operators reassign, elect, unregister, and delete and create the topic. No data.",
    init=running_cluster,
    actions=(
        *ADMINISTRATION,
        topics.create_topic,
        topics.delete_topic,
        topics.unregister,
        *(a for a in LIFECYCLE if a not in LEASES),
        *STOPPING,
    ),
    properties=(
        *(one for one in SAFETY if one not in OF_ONE_TOPIC),
        *STOPPED[:4],
        *MOVED,
        properties.leader_election.leader_changes_for_cause,
        properties.topics.topics_are_complete,
        properties.topics.topic_created_again,
        properties.registration.live_broker_unregistered,
        properties.reassignment.target_is_registered,
        properties.shutdown.shutdown_ends_when_told,
        properties.shutdown.shutdown_is_of_a_registered_broker,
        properties.shutdown.broker_shutting_down,
    ),
    constants={
        "lifecycle_in_flight": 2,
        "max_shutdowns": 1,
        "max_reassignments": 1,
        "max_topics": 1,
        "max_unregistrations": 1,
    },
    settings=SETTINGS,
    faults="an operator restarts a broker, while others reassign its partition, elect a leader, unregister a broker, "
    "and delete and create a topic, each once",
    not_modelled="changes of the ISR, leases that run out, lost messages, data; what is decided is committed at once; "
    + KIPS,
    assumptions=(one_controller,),
)

MOVED_DISK = Model(
    name="moved_disk",
    doc="Two brokers, one of them spare, and a record; one reassignment, and one crash that loses the disk (KIP-903).",
    init=running_cluster,
    actions=(
        administration.reassign,
        *DATA,
        *ISR,
        *LIFECYCLE,
        network.lose_alter_isr,
        network.lose_alter_isr_reply,
        faults.crash_losing_disk,
    ),
    properties=(
        *SAFETY,
        *RECORD,
        *MOVED,
        properties.replication.isr_has_acknowledged_record,
        properties.alter_isr.ineligible_replica_refused,
    ),
    constants={
        "spare_brokers": 1,
        "alter_in_flight": 2,
        "lifecycle_in_flight": 2,
        "max_reassignments": 1,
        "max_crashes": 1,
        "max_disk_losses": 1,
    },
    settings=SETTINGS,
    faults="one reassignment, and one crash that loses the disk, perhaps of the broker that is being added",
    not_modelled="cancels, lost heartbeats and registrations; " + NO_LOG,
    assumptions=(one_controller,),
)

MODELS = [SNAPSHOT_REASSIGNMENT, OPERATED_SHUTDOWN, MOVED_DISK]
