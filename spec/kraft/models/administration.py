"""The models of what operators do: reassign partitions, delete and create topics, unregister brokers, ask for metadata.

Leaves out: all of it at once.
"""

from __future__ import annotations

from checker.lang import Model, replace
from spec.kraft import properties
from spec.kraft.actions import (
    administration,
    broker,
    clients,
    coarse_lifecycle,
    controller,
    faults,
    network,
    replica,
    topics,
)
from spec.kraft.design import SETTINGS
from spec.kraft.initial import running_cluster
from spec.kraft.models.replication import CHANGES, DATA, ISR, LEASES, LIFECYCLE, LOSS, RECORD, REPLIES
from spec.kraft.models.sizes import one_controller

ALTER_LOSS = (network.lose_alter_isr, network.lose_alter_isr_reply)
ADMINISTRATION = (administration.reassign, administration.cancel_reassignment, administration.elect_preferred)
REASSIGNED = (
    properties.leader_election.leader_may_lead,
    properties.leader_election.leaderless_only_without_candidates,
    properties.isr.isr_is_never_empty,
    properties.isr.fenced_broker_is_out_of_isr,
    properties.leader_election.epochs_never_go_back,
    properties.isr.maximal_isr_covers_committed,
    properties.isr.isr_is_within_replicas,
    properties.leader_election.leader_changes_for_cause,
    properties.reassignment.removed_replica_keeps_nothing,
    properties.leadership.new_leader_starts_fresh,
    properties.reassignment.reassignment_ends_as_last_requested,
    properties.reassignment.reassignment_can_be_taken_back,
    properties.reassignment.only_what_is_under_way_is_cancelled,
    properties.reassignment.reassignment_completes_in_sync,
    properties.reassignment.reassignment_keeps_min_isr,
    properties.reassignment.reassignment_under_way,
    properties.reassignment.reassignment_completed,
    properties.reassignment.leader_reassigned_away,
    properties.reassignment.another_isr_than_requested,
)
IN_ONE_STEP = (
    "what happens between a crash, the fencing and the next registration, which are one step (see `membership` and "
    "`lossy`); "
)
NOT_MODELLED = (
    "controller failover (what is decided is committed at once), controlled shutdown; unclean election, KIP-704, "
    "ELR (KIP-966), KIP-858, KIP-853"
)
COPIES = (
    properties.replication.record_comes_from_its_leader,
    properties.replication.replicas_with_record_were_seen,
    properties.replication.high_watermark_spreads,
    properties.replication.follower_with_record_joins,
    properties.alter_isr.follower_falls_behind,
    properties.replication.acknowledged_by_lone_successor,
    properties.registration.reply_of_registration_lost,
    properties.alter_isr.reply_of_change_lost,
)
SMALL_TARGETS = "targets of fewer replicas than min.insync.replicas; "

REASSIGNMENT = Model(
    name="reassignment",
    doc="Three brokers, of which one is spare; two reassignments, and one lease that runs out early. No data.",
    init=running_cluster,
    actions=(
        *ADMINISTRATION,
        *ISR,
        broker.apply_metadata,
        coarse_lifecycle.fence_alive,
        coarse_lifecycle.unfence_alive,
        *ALTER_LOSS,
    ),
    properties=(
        *REASSIGNED,
        properties.heartbeat.all_unfenced_after_early_expiry,
        properties.reassignment.cancel_refused,
        properties.reassignment.cancelled_with_one_in_sync,
        properties.reassignment.replica_only_added,
        properties.reassignment.replica_only_removed,
        properties.reassignment.preferred_replica_elected,
    ),
    constants={"brokers": 3, "spare_brokers": 1, "max_reassignments": 2, "max_early_expiries": 1},
    settings=SETTINGS,
    faults="two reassignments, the second perhaps before the first is complete, as a rebalancing tool that is "
    "restarted asks for; any number of cancels and elections of the preferred leader; one lease that runs out early",
    not_modelled=IN_ONE_STEP + SMALL_TARGETS + NOT_MODELLED,
    assumptions=(one_controller,),
)

MOVED_RECORD = Model(
    name="moved_record",
    doc="Three brokers, of which one is spare, and a record, min.insync.replicas 2; one reassignment, one crash.",
    init=running_cluster,
    actions=(
        administration.reassign,
        administration.cancel_reassignment,
        *DATA,
        *ISR,
        broker.apply_metadata,
        *LEASES,
        faults.crash,
        *ALTER_LOSS,
    ),
    properties=(
        *REASSIGNED,
        properties.alter_isr.alter_isr_reply_is_true,
        properties.replication.acknowledged_record_survives,
        properties.replication.isr_has_acknowledged_record,
        properties.replication.record_acknowledged,
    ),
    constants={
        "brokers": 3,
        "spare_brokers": 1,
        "min_insync_replicas": 2,
        "max_reassignments": 1,
        "max_crashes": 1,
    },
    settings=SETTINGS,
    faults="one reassignment and one crash: a disk that fills up or a broker to be retired, and a bad moment",
    not_modelled="a broker that comes back (see `moved_disk` and `reassignment_ends`), leases that run out early; "
    + SMALL_TARGETS
    + NOT_MODELLED,
    assumptions=(one_controller,),
)

HEALING = (replica.fetch, coarse_lifecycle.alter_isr_at_once, broker.apply_metadata)

STUCK_REASSIGNMENT = Model(
    name="stuck_reassignment",
    doc="Three brokers, of which one is spare; one reassignment, and one crash, perhaps for good. Liveness (L5).",
    init=running_cluster,
    actions=(
        administration.reassign,
        *(replace(action, fair="weak") for action in HEALING),
        coarse_lifecycle.go_down,
        coarse_lifecycle.come_back,
    ),
    properties=(
        properties.reassignment.reassignment_completes,
        properties.leader_election.leader_may_lead,
        properties.leader_election.leaderless_only_without_candidates,
        properties.heartbeat.unfenced_broker_is_ready,
        properties.proof_lemmas.no_shutdown_without_request,
        properties.leader_election.epochs_never_go_back,
        properties.isr.isr_is_within_replicas,
        properties.leader_election.leader_changes_for_cause,
        properties.reassignment.reassignment_ends_as_last_requested,
        properties.reassignment.reassignment_completes_in_sync,
        properties.reassignment.reassignment_keeps_min_isr,
        properties.leadership.leads_as_elected,
        properties.leadership.leader_state_changes_for_cause,
        properties.leader_election.leader_epoch_rises_for_cause,
        properties.reassignment.reassignment_completed,
        properties.reassignment.reassigned_to_fewest,
    ),
    constants={"brokers": 3, "spare_brokers": 1, "max_reassignments": 1, "max_crashes": 1},
    settings=SETTINGS,
    faults="one reassignment and one crash, after which the broker may never come back",
    not_modelled="AlterIsr under way, cancels, data; " + IN_ONE_STEP + NOT_MODELLED,
    assumptions=(one_controller,),
)

REASSIGNMENT_ENDS = Model(
    name="reassignment_ends",
    doc="Three brokers, of which one is spare; one reassignment, and one crash with all that follows. Liveness (L5).",
    init=running_cluster,
    actions=(
        administration.reassign,
        broker.start,
        *(replace(action, fair="strong") for action in (*LIFECYCLE[1:], *ISR)),
        faults.crash,
    ),
    properties=(
        properties.reassignment.reassignment_completes,
        properties.leader_election.leader_may_lead,
        properties.leader_election.leaderless_only_without_candidates,
        properties.isr.isr_is_never_empty,
        properties.isr.fenced_broker_is_out_of_isr,
        properties.isr.maximal_isr_covers_committed,
        properties.isr.isr_is_within_replicas,
        properties.reassignment.reassignment_completes_in_sync,
        properties.reassignment.reassignment_keeps_min_isr,
        properties.reassignment.reassignment_completed,
        properties.reassignment.reassigned_to_fewest,
    ),
    constants={"brokers": 3, "spare_brokers": 1, "max_reassignments": 1, "max_crashes": 1},
    settings=SETTINGS,
    faults="one reassignment and one crash, after which the broker may never come back",
    not_modelled="lost messages, cancels, data; " + NOT_MODELLED,
    assumptions=(one_controller,),
)

TOPICS = Model(
    name="topics",
    doc="Two brokers, two partitions; the topic is deleted and created twice, and a partition reassigned. No data.",
    init=running_cluster,
    actions=(
        topics.create_topic,
        topics.delete_topic,
        administration.reassign,
        *ISR,
        broker.apply_metadata,
        broker.send_heartbeat,
        controller.handle_heartbeat,
        controller.fence_expired,
        faults.expire_lease_early,
        *ALTER_LOSS,
    ),
    properties=(
        properties.leader_election.leader_may_lead,
        properties.leader_election.leaderless_only_without_candidates,
        properties.isr.isr_is_never_empty,
        properties.isr.fenced_broker_is_out_of_isr,
        properties.leader_election.epochs_never_go_back,
        properties.isr.maximal_isr_covers_committed,
        properties.isr.isr_is_within_replicas,
        properties.reassignment.reassignment_ends_as_last_requested,
        properties.reassignment.reassignment_completes_in_sync,
        properties.topics.topics_are_complete,
        properties.topics.deleted_topic_changes_nothing,
        properties.topics.topic_created_again,
        properties.topics.unknown_topic_refused,
        properties.topics.change_outlives_topic,
    ),
    constants={"alter_in_flight": 2, "partitions": 2, "max_topics": 2, "max_reassignments": 1, "max_early_expiries": 1},
    settings=SETTINGS,
    faults="the topic deleted and created again twice, as test suites and stream processors do, one reassignment, "
    "and one lease that runs out early",
    not_modelled="data, crashes and registrations (see `recreated`); " + NOT_MODELLED,
    assumptions=(one_controller,),
)

RECREATED = Model(
    name="recreated",
    doc="Two brokers and a record; the topic is deleted and created again, and a broker crashes.",
    init=running_cluster,
    actions=(topics.create_topic, topics.delete_topic, *DATA, *ISR, *LIFECYCLE, *LOSS, faults.crash),
    properties=(
        properties.leader_election.leader_may_lead,
        properties.leader_election.leaderless_only_without_candidates,
        properties.isr.isr_is_never_empty,
        properties.isr.fenced_broker_is_out_of_isr,
        properties.leader_election.epochs_never_go_back,
        properties.isr.maximal_isr_covers_committed,
        properties.replication.acknowledged_record_survives,
        properties.replication.isr_has_acknowledged_record,
        properties.topics.deleted_topic_changes_nothing,
        properties.topics.deleted_log_stays_deleted,
        properties.topics.acknowledged_after_recreation,
        properties.topics.deleted_topic_has_no_record,
        properties.topics.log_outlives_its_topic,
        properties.topics.topic_created_again,
        properties.replication.record_acknowledged,
    ),
    constants={"max_topics": 1, "max_crashes": 1},
    settings=SETTINGS,
    faults="a topic deleted and created again while a broker is down, as in KAFKA-14616",
    not_modelled="more than one partition; " + NOT_MODELLED,
    assumptions=(one_controller,),
)

UNREGISTERED = Model(
    name="unregistered",
    doc="Two brokers and a record; one broker, dead or alive, is unregistered, and one crashes.",
    init=running_cluster,
    actions=(topics.unregister, *DATA, *ISR, *LIFECYCLE, *LOSS, faults.crash),
    properties=(
        properties.registration.superseded_incarnation_changes_nothing,
        properties.registration.leader_epoch_has_one_incarnation,
        properties.heartbeat.expired_lease_is_of_an_unfenced_broker,
        properties.leader_election.leader_may_lead,
        properties.leader_election.leaderless_only_without_candidates,
        properties.isr.isr_is_never_empty,
        properties.isr.fenced_broker_is_out_of_isr,
        properties.leader_election.epochs_never_go_back,
        properties.isr.maximal_isr_covers_committed,
        *RECORD,
        properties.replication.isr_has_acknowledged_record,
        properties.heartbeat.stale_heartbeat_refused,
        properties.leader_election.elected_after_fencing,
        properties.registration.live_broker_unregistered,
        properties.registration.last_member_unregistered,
        properties.registration.unregistered_broker_returns,
        *REPLIES,
        *CHANGES,
        *COPIES,
    ),
    constants={"lifecycle_in_flight": 2, "alter_in_flight": 2, "max_unregistrations": 1, "max_crashes": 1},
    settings=SETTINGS,
    faults="an operator unregisters a broker, perhaps the wrong one, and one broker crashes",
    not_modelled=NOT_MODELLED,
    assumptions=(one_controller,),
)

METADATA = Model(
    name="metadata",
    doc="Two brokers that answer clients; one crash, one lease that runs out early, one broker unregistered. No data.",
    init=running_cluster,
    actions=(
        clients.answer_metadata,
        topics.unregister,
        *LIFECYCLE,
        network.lose_lifecycle_request,
        network.lose_lifecycle_reply,
        faults.expire_lease_early,
        faults.crash,
    ),
    properties=(
        clients.only_unfenced_brokers_are_listed,
        clients.fenced_broker_listed,
        clients.restarted_broker_lists_itself,
        properties.registration.live_broker_unregistered,
    ),
    constants={"metadata_responses": 1, "max_crashes": 1, "max_early_expiries": 1, "max_unregistrations": 1},
    settings=SETTINGS,
    faults="one crash, one lease that runs out early, one broker unregistered",
    not_modelled="AlterIsr; " + NOT_MODELLED,
    assumptions=(one_controller,),
)

MODELS = [REASSIGNMENT, MOVED_RECORD, STUCK_REASSIGNMENT, REASSIGNMENT_ENDS, TOPICS, RECREATED, UNREGISTERED, METADATA]
