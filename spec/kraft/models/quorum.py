"""The models of the metadata quorum: three controllers, what is speculative and what is committed, snapshots.

`elections_end` is of what must eventually happen. `models.failover` is of what brokers do meanwhile.
"""

from __future__ import annotations

from checker.lang import Model, replace
from spec.kraft import properties
from spec.kraft.actions import broker, candidacies, controller, faults, network, quorum, replica, snapshot, topics
from spec.kraft.design import SETTINGS
from spec.kraft.initial import addition_pending, no_leader, no_topic, running_cluster
from spec.kraft.models.replication import CHANGES, LIFECYCLE, REPLIES
from spec.kraft.models.sizes import several_controllers

RAFT = (
    quorum.elect,
    quorum.hear_of_leader,
    quorum.fetch_batch,
    quorum.commit_batch,
    quorum.claim,
)
LOGS = (
    properties.raft.newest_leader_has_what_is_committed,
    properties.raft.logs_match,
    properties.raft.controller_leads_its_epoch,
    properties.failover.image_is_replay_of_log,
    properties.raft.two_controllers_active,
    properties.raft.decision_is_truncated,
    properties.raft.controller_lacks_committed,
    properties.failover.active_after_failover,
)
WAITING = (
    properties.failover.reply_waits_in_one_memory,
    properties.failover.success_waits_for_the_log,
    properties.failover.waiting_reply_moves_nobody,
    properties.failover.broker_turns_to_a_leader,
    properties.failover.another_controller_found,
)
COMMITTED = (
    properties.registration.broker_epochs_rise,
    properties.heartbeat.unfenced_broker_is_ready,
    properties.leader_election.leader_may_lead,
    properties.leader_election.leader_changes_in_replica_order,
    properties.isr.isr_is_never_empty,
    properties.isr.fenced_broker_is_out_of_isr,
    properties.leader_election.epochs_never_go_back,
)
NOT_MODELLED_OF_VOTERS = (
    "how far a standby or the broker's fetch lags behind the high watermark, voters that lose their disk, changes of "
    "the quorum, epochs and offsets that are issued again after a truncation; "
)
KIPS = "unclean election, KIP-704, ELR (KIP-966), KIP-858, KIP-853"
NOT_MODELLED = "controlled shutdown, unregistering, reassignment; " + KIPS
NOT_MODELLED_QUORUM = NOT_MODELLED_OF_VOTERS + "topics; " + NOT_MODELLED

QUORUM = Model(
    name="quorum",
    doc="Three controllers and a broker through its life; two failovers and one crash of the broker.",
    init=running_cluster,
    actions=(
        *RAFT,
        quorum.catch_up,
        quorum.find_controller,
        *LIFECYCLE,
        network.lose_lifecycle_request,
        network.lose_lifecycle_reply,
        faults.crash,
    ),
    properties=(
        *LOGS,
        *WAITING,
        properties.failover.decision_survives_failover,
        *COMMITTED,
        properties.heartbeat.expired_lease_is_of_an_unfenced_broker,
        properties.failover.registration_is_never_truncated,
        properties.failover.no_decision_stays_half_done,
        properties.failover.reply_waits_for_commit,
        properties.failover.reply_waits_in_deposed_controller,
        properties.isr.fenced_last_isr_member,
        properties.registration.duplicate_registration_refused,
    ),
    constants={"controllers": 3, "brokers": 1, "pending_batches": 3, "max_failovers": 2, "max_crashes": 1},
    settings=SETTINGS,
    faults="two failovers and one crash of a broker: a rolling restart of the controllers that goes wrong once",
    not_modelled=NOT_MODELLED_QUORUM,
    assumptions=(several_controllers,),
)

ELECTION = Model(
    name="election",
    doc="Three controllers alone, and one lease that runs out to decide about; three failovers.",
    init=running_cluster,
    actions=(*RAFT, quorum.catch_up, controller.fence_expired, faults.expire_lease_early),
    properties=(
        *LOGS,
        *COMMITTED,
        properties.raft.lagging_controller_keeps_nothing,
        properties.raft.log_follows_its_leader,
        properties.raft.commit_leaves_logs_that_have_it,
        properties.failover.leases_are_for_the_active_controller,
        properties.raft.elected_by_one_that_lags,
        properties.failover.decision_survives_failover,
    ),
    constants={"controllers": 3, "brokers": 1, "pending_batches": 3, "max_failovers": 3, "max_early_expiries": 1},
    settings=SETTINGS,
    faults="three elections in a row, as many as it takes to tell which batches a leader may commit",
    not_modelled=NOT_MODELLED_QUORUM,
    assumptions=(several_controllers,),
)

SNAPSHOT = Model(
    name="snapshot",
    doc="Three controllers that write and load snapshots, and a broker; one failover and one crash of the broker.",
    init=running_cluster,
    actions=(
        *RAFT,
        snapshot.write_snapshot,
        snapshot.load_snapshot,
        quorum.find_controller,
        *LIFECYCLE,
        faults.crash,
    ),
    properties=(
        *LOGS,
        properties.failover.decision_survives_failover,
        *COMMITTED,
        properties.failover.snapshot_stands_for_log,
        properties.raft.lagging_controller_keeps_nothing,
        properties.raft.log_follows_its_leader,
        properties.failover.registration_is_never_truncated,
        *REPLIES,
    ),
    constants={
        "lifecycle_in_flight": 2,
        "controllers": 3,
        "brokers": 1,
        "pending_batches": 2,
        "snapshots": 1,
        "max_failovers": 1,
        "max_crashes": 1,
    },
    settings=SETTINGS,
    faults="one failover and one crash of a broker",
    not_modelled=NOT_MODELLED_QUORUM,
    assumptions=(several_controllers,),
)

REFUSAL = Model(
    name="refusal",
    doc="A leader has asked twice to add a follower that the controller is about to fence; two failovers.",
    init=addition_pending,
    actions=(
        *RAFT,
        quorum.catch_up,
        faults.expire_lease_early,
        controller.fence_expired,
        controller.handle_alter_isr,
        replica.receive_alter_isr_reply,
    ),
    properties=(
        *LOGS,
        properties.failover.decision_survives_failover,
        *COMMITTED,
        properties.isr.maximal_isr_covers_committed,
        *CHANGES,
        properties.alter_isr.ineligible_replica_refused,
        properties.alter_isr.isr_changed_by_leader,
    ),
    constants={
        "controllers": 3,
        "pending_batches": 3,
        "max_failovers": 2,
        "max_early_expiries": 1,
        "max_duplicates": 1,
    },
    settings=SETTINGS,
    faults="one lease that runs out early, two failovers, and a request that waits in a controller's queue while "
    "the controller is deposed and elected again: hardly ever",
    not_modelled=NOT_MODELLED_QUORUM,
    assumptions=(several_controllers,),
)

CREATION = Model(
    name="creation",
    doc="Three controllers and two brokers; a topic of two partitions is created, one failover (KAFKA-12376).",
    init=no_topic,
    actions=(
        *RAFT,
        quorum.catch_up,
        topics.create_topic,
        controller.fence_expired,
        faults.expire_lease_early,
        broker.apply_metadata,
    ),
    properties=(
        *LOGS,
        properties.failover.decision_survives_failover,
        *COMMITTED,
        properties.topics.topics_are_complete,
        properties.failover.no_decision_stays_half_done,
        properties.failover.creation_survives_failover,
        properties.raft.creation_is_truncated,
    ),
    constants={
        "controllers": 3,
        "partitions": 2,
        "pending_batches": 3,
        "max_failovers": 1,
        "max_topics": 2,
        "max_early_expiries": 1,
    },
    settings=SETTINGS,
    faults="one failover while a client creates a topic and, should that be lost, creates it again; one lease that "
    "runs out early",
    not_modelled=NOT_MODELLED_OF_VOTERS + "the client's wait for the reply, deleting topics; " + NOT_MODELLED,
    assumptions=(several_controllers,),
)

REMOVALS = (
    properties.failover.removal_is_never_truncated,
    properties.failover.removal_is_of_what_there_is,
    properties.failover.removal_survives_failover,
    properties.raft.removal_is_truncated,
    properties.failover.removal_confirmed_after_failover,
)

DELETION = Model(
    name="deletion",
    doc="The topic is deleted and created again, while its leader has asked twice to add a follower; one failover.",
    init=addition_pending,
    actions=(
        *RAFT,
        quorum.catch_up,
        topics.create_topic,
        topics.delete_topic,
        topics.confirm_removal,
        controller.handle_alter_isr,
        replica.receive_alter_isr_reply,
        broker.apply_metadata,
    ),
    properties=(
        *LOGS,
        properties.failover.decision_survives_failover,
        *COMMITTED,
        *REMOVALS,
        properties.isr.maximal_isr_covers_committed,
        *CHANGES,
        properties.topics.topics_are_complete,
        properties.topics.deleted_topic_changes_nothing,
        properties.failover.next_topic_is_led,
        properties.topics.unknown_topic_refused,
        properties.topics.change_outlives_topic,
        properties.alter_isr.isr_changed_by_leader,
    ),
    constants={
        "controllers": 3,
        "pending_batches": 2,
        "removals": 1,
        "max_failovers": 1,
        "max_topics": 1,
        "max_duplicates": 1,
    },
    settings=SETTINGS,
    faults="one failover while a topic is deleted and created again, and a request about it that lands twice",
    not_modelled=NOT_MODELLED_OF_VOTERS + "data, fencing, the wait for the reply to a creation; " + NOT_MODELLED,
    assumptions=(several_controllers,),
)

UNREGISTRATION = Model(
    name="unregistration",
    doc="Three controllers and a broker through its life; it is unregistered, one failover and one crash.",
    init=running_cluster,
    actions=(
        *RAFT,
        quorum.catch_up,
        topics.unregister,
        topics.confirm_removal,
        quorum.find_controller,
        *LIFECYCLE,
        faults.crash,
    ),
    properties=(
        *LOGS,
        properties.failover.decision_survives_failover,
        *COMMITTED,
        *REMOVALS,
        properties.failover.registration_is_never_truncated,
        properties.failover.no_decision_stays_half_done,
        properties.failover.stale_process_is_superseded,
        *REPLIES,
        properties.registration.live_broker_unregistered,
        properties.registration.last_member_unregistered,
        properties.failover.unregistered_broker_is_back,
        properties.heartbeat.stale_heartbeat_refused,
    ),
    constants={
        "lifecycle_in_flight": 2,
        "controllers": 3,
        "brokers": 1,
        "pending_batches": 2,
        "removals": 1,
        "max_failovers": 1,
        "max_crashes": 1,
        "max_unregistrations": 1,
    },
    settings=SETTINGS,
    faults="one failover and one crash, while an operator unregisters the broker, dead or alive",
    not_modelled=NOT_MODELLED_OF_VOTERS + "lost messages, topics, controlled shutdown, reassignment; " + KIPS,
    assumptions=(several_controllers,),
)

REMOVAL = Model(
    name="removal",
    doc="Three controllers and their snapshots; a topic is deleted, created, deleted, two brokers unregistered.",
    init=running_cluster,
    actions=(
        *RAFT,
        snapshot.write_snapshot,
        snapshot.load_snapshot,
        topics.delete_topic,
        topics.unregister,
        topics.confirm_removal,
        topics.create_topic,
    ),
    properties=(
        *LOGS,
        properties.failover.decision_survives_failover,
        *COMMITTED,
        *REMOVALS,
        properties.failover.snapshot_stands_for_log,
        properties.failover.no_decision_stays_half_done,
        properties.topics.topics_are_complete,
    ),
    constants={
        "controllers": 3,
        "pending_batches": 2,
        "snapshots": 1,
        "removals": 1,
        "max_topics": 1,
        "max_failovers": 1,
        "max_unregistrations": 2,
    },
    settings=SETTINGS,
    faults="one failover while operators remove all that there is, and controllers start again from snapshots",
    not_modelled=NOT_MODELLED_OF_VOTERS + "what brokers do, controlled shutdown, reassignment; " + KIPS,
    assumptions=(several_controllers,),
)

ELECTIONS_END = Model(
    name="elections_end",
    doc="Three controllers that nobody leads yet, and a topic to create; four elections: one is active, all follow.",
    init=no_leader,
    actions=(
        *(replace(action, fair="weak") for action in (*RAFT, quorum.catch_up)),
        topics.create_topic,
    ),
    properties=(properties.raft.some_controller_is_active, properties.raft.every_controller_follows),
    constants={"controllers": 3, "brokers": 1, "pending_batches": 3, "max_failovers": 4, "max_topics": 2},
    settings=SETTINGS,
    faults="four elections, each perhaps while the leader before has yet to commit what it decided, as many as it "
    "takes for both followers to have what their leader has not; after these, no timeout runs out in the quorum",
    not_modelled=NOT_MODELLED_OF_VOTERS + "brokers, deleting topics; " + NOT_MODELLED,
    assumptions=(several_controllers,),
)

WIDE = (candidacies.renounce_epoch, candidacies.stand_in_vain, candidacies.learn_of_epoch)
WIDE_LOGS = (
    *(one for one in LOGS if one is not properties.raft.controller_leads_its_epoch),
    properties.raft.one_controller_leads_an_epoch,
    properties.raft.controller_leads_an_epoch_once,
    properties.raft.nobody_leads_the_newest_epoch,
    properties.raft.deposed_by_nobody_commits,
    properties.failover.decision_survives_failover,
)

CANDIDACIES = Model(
    name="candidacies",
    doc="Three controllers alone: leaders that step down, epochs that nobody leads, batches that are lost.",
    init=running_cluster,
    actions=(
        *RAFT,
        quorum.catch_up,
        *WIDE,
        candidacies.lose_batch,
        controller.fence_expired,
        faults.expire_lease_early,
    ),
    properties=(
        *WIDE_LOGS,
        *COMMITTED,
        properties.raft.lagging_controller_keeps_nothing,
        properties.raft.commit_leaves_logs_that_have_it,
        properties.failover.leases_are_for_the_active_controller,
    ),
    constants={
        "controllers": 3,
        "brokers": 1,
        "pending_batches": 3,
        "max_failovers": 3,
        "max_early_expiries": 1,
        "max_crashes": 1,
    },
    settings=SETTINGS,
    faults="three candidacies, won or not, resignations, and a batch that a standby loses",
    not_modelled=NOT_MODELLED_QUORUM,
    assumptions=(several_controllers,),
)

CANDIDACIES_REPLY = Model(
    name="candidacies_reply",
    doc="Three controllers and a broker through its life: candidacies that nobody wins, leaders that step down.",
    init=running_cluster,
    actions=(
        *RAFT,
        quorum.catch_up,
        *WIDE,
        quorum.find_controller,
        *LIFECYCLE,
        faults.crash,
    ),
    properties=(
        *WIDE_LOGS,
        *WAITING,
        *COMMITTED,
        properties.failover.registration_is_never_truncated,
        properties.failover.no_decision_stays_half_done,
        properties.failover.reply_waits_for_commit,
        properties.failover.reply_waits_in_deposed_controller,
    ),
    constants={"controllers": 3, "brokers": 1, "pending_batches": 2, "max_failovers": 2, "max_crashes": 1},
    settings=SETTINGS,
    faults="two candidacies, won or not, resignations, and one crash of a broker",
    not_modelled=NOT_MODELLED_QUORUM,
    assumptions=(several_controllers,),
)

CANDIDACIES_END = Model(
    name="candidacies_end",
    doc="As elections_end, with leaders that step down, and candidacies that nobody wins.",
    init=no_leader,
    actions=(
        *(replace(action, fair="weak") for action in (*RAFT, quorum.catch_up, candidacies.learn_of_epoch)),
        candidacies.renounce_epoch,
        candidacies.stand_in_vain,
        topics.create_topic,
    ),
    properties=(properties.raft.some_controller_is_active, properties.raft.every_controller_follows),
    constants={"controllers": 3, "brokers": 1, "pending_batches": 4, "max_failovers": 3, "max_topics": 1},
    settings=SETTINGS,
    faults="three candidacies, won or not, and resignations; after the last, which is won, no "
    "timeout runs out in the quorum",
    not_modelled=NOT_MODELLED_OF_VOTERS + "brokers, deleting topics; " + NOT_MODELLED,
    assumptions=(several_controllers,),
)

MODELS = [
    QUORUM,
    ELECTION,
    SNAPSHOT,
    REFUSAL,
    CREATION,
    DELETION,
    UNREGISTRATION,
    REMOVAL,
    ELECTIONS_END,
    CANDIDACIES,
    CANDIDACIES_REPLY,
    CANDIDACIES_END,
]
