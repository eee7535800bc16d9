"""The models of replicas' logs with leader epochs: what a follower cuts off when its leader changes."""

from __future__ import annotations

from dataclasses import replace

from checker.lang import Model
from spec.kraft import properties, replica_logs
from spec.kraft.design import SETTINGS

SAME_LOGS = (
    properties.replica_logs.acknowledged_records_survive,
    properties.replica_logs.consumers_read_the_same,
    properties.replica_logs.follower_extends_no_other_log,
    properties.replica_logs.log_reaches_its_high_watermark,
    properties.replica_logs.epochs_of_a_log_rise,
    properties.replica_logs.follower_has_what_no_leader_has,
    properties.replica_logs.deposed_leader_leads_on,
)
FOLLOWING = (
    replica_logs.move_lead,
    replica_logs.hear_of_epoch,
    replica_logs.truncate_to_epoch,
    replica_logs.fetch_record,
    replica_logs.append_record,
    replica_logs.acknowledge_record,
)
NOT_MODELLED = (
    "registrations, leases and requests about the ISR (what the controller decides takes one step), lost disks, "
    "unclean election, ELR (KIP-966), KIP-858"
)

MOVED_LEADS = Model(
    name="moved_leads",
    doc="Three replicas in the ISR, logs of one record with its leader epoch; the lead moves any number of times.",
    init=replica_logs.empty_logs,
    actions=FOLLOWING,
    properties=SAME_LOGS,
    constants={"brokers": 3},
    settings=SETTINGS,
    faults="any number of moves of the lead, each heard of late or never: a rebalancing of leaders, brokers that pause",
    not_modelled="a second record, crashes, changes of the ISR; " + NOT_MODELLED,
)

CHANGES_OF_THE_ISR = (
    replica_logs.remove_slow,
    replica_logs.add_caught_up,
    replica_logs.lose_broker,
    replica_logs.bring_back,
)
CHANGED_ISR = (
    properties.replica_logs.leader_is_in_its_isr,
    properties.replica_logs.only_slow_members_leave,
    properties.replica_logs.only_caught_up_replicas_join,
    properties.replica_logs.acknowledged_by_one,
    properties.replica_logs.slow_follower_has_left,
    properties.replica_logs.follower_has_joined,
)

EPOCH_LOGS = Model(
    name="epoch_logs",
    doc="Two replicas, logs of two records with leader epochs, the ISR and its changes; two crashes.",
    init=replica_logs.empty_logs,
    actions=(
        *(action for action in FOLLOWING if action is not replica_logs.truncate_to_epoch),
        replace(replica_logs.truncate_to_epoch, fair="weak"),
        *CHANGES_OF_THE_ISR,
    ),
    properties=(
        *SAME_LOGS,
        *CHANGED_ISR,
        properties.replica_logs.follower_is_reconciled,
        properties.replica_logs.two_epochs_in_a_log,
    ),
    constants={"records": 2, "max_crashes": 2},
    settings=SETTINGS,
    faults="two crashes, and any number of moves of the lead",
    not_modelled=NOT_MODELLED,
)

JOINING = Model(
    name="joining",
    doc="Three replicas, logs of one record, the ISR and its changes; one crash. Who joins has what others had.",
    init=replica_logs.empty_logs,
    actions=(*FOLLOWING, *CHANGES_OF_THE_ISR),
    properties=(*SAME_LOGS, *CHANGED_ISR),
    constants={"brokers": 3, "max_crashes": 1},
    settings=SETTINGS,
    faults="one crash, and any number of moves of the lead",
    not_modelled="a second record; " + NOT_MODELLED,
)

MODELS = [MOVED_LEADS, EPOCH_LOGS, JOINING]
