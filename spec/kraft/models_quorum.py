"""Models."""
from spec.kraft import broker, controller, faults, network, properties, properties_quorum, quorum, replica, witnesses, witnesses_quorum
from spec.kraft.design import SETTINGS
from spec.kraft.models import running_cluster, NOT_MODELLED, LIFECYCLE, ISR, DATA, RECORD
from checker.lang import Model

RAFT = (quorum.elect, quorum.hear_of_leader, quorum.find_controller, quorum.fetch_batch, quorum.catch_up, quorum.commit_batch, quorum.claim)
LOGS = (properties_quorum.newest_leader_has_what_is_committed, properties_quorum.logs_match, properties_quorum.image_is_replay_of_log)
SEEN = (witnesses_quorum.two_controllers_active, witnesses_quorum.decision_survives_failover, witnesses_quorum.decision_is_truncated, witnesses_quorum.controller_lacks_committed, witnesses_quorum.active_after_failover)
PARTITION = (    properties.leader_may_lead,
    properties.leaderless_for_want_of_candidates,
    properties.leader_changes_in_replica_order,
    properties.isr_is_never_empty,
    properties.fenced_broker_is_out_of_isr,
    properties.epochs_never_go_back,
)
QUORUM = Model(
    name="quorum",
    doc="Three controllers and a broker; two failovers.",
    init=running_cluster,
    actions=(*RAFT, *LIFECYCLE, network.lose_lifecycle_request, network.lose_lifecycle_reply, faults.crash, faults.expire_lease_early),
    properties=(*LOGS, properties_quorum.registration_is_never_truncated, *SEEN, witnesses_quorum.reply_waits_for_commit, witnesses_quorum.reply_waits_in_deposed_controller,
    properties.broker_epochs_rise, properties.unfenced_broker_is_ready, properties.lapsed_broker_is_unfenced, *PARTITION),
    constants={"controllers": 3, "brokers": 1, "pending_batches": 3, "max_failovers": 2, "max_crashes": 1, "max_early_expiries": 1},
    settings=SETTINGS,
    faults="two failovers",
    not_modelled=NOT_MODELLED,
)
FAILOVER = Model(
    name="failover",
    doc="Three controllers and two brokers; one failover.",
    init=running_cluster,
    actions=(*RAFT, *DATA, *ISR, broker.apply_metadata, broker.send_heartbeat, controller.handle_heartbeat, controller.expire_lease, controller.fence_lapsed,
     network.lose_lifecycle_request, network.lose_alter_isr, network.lose_alter_isr_reply, faults.expire_lease_early),
    properties=(*LOGS, *SEEN, *PARTITION, properties.maximal_isr_covers_committed, *RECORD, properties.isr_has_acknowledged_record),
    constants={"controllers": 3, "brokers": 2, "pending_batches": 2, "max_failovers": 1, "max_early_expiries": 1},
    settings=SETTINGS,
    faults="two failovers",
    not_modelled=NOT_MODELLED,
)
ELECTION = Model(
    name="election",
    doc="Three controllers; three failovers.",
    init=running_cluster,
    actions=(*RAFT, controller.fence_lapsed, faults.expire_lease_early),
    properties=(*LOGS, *SEEN),
    constants={"controllers": 3, "brokers": 1, "pending_batches": 3, "max_failovers": 3, "max_early_expiries": 1},
    settings=SETTINGS,
    faults="two failovers",
    not_modelled=NOT_MODELLED,
)
MODELS = [QUORUM, FAILOVER, ELECTION]
