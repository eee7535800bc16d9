"""The models of replicas' logs with leader epochs: what a follower cuts off when its leader changes."""

from __future__ import annotations

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

EPOCH_LOGS = Model(
    name="epoch_logs",
    doc="Two replicas, logs of two records with leader epochs, the ISR and its changes; two crashes.",
    init=replica_logs.empty_logs,
    actions=(
        *FOLLOWING,
        replica_logs.remove_slow,
        replica_logs.add_caught_up,
        replica_logs.lose_broker,
        replica_logs.bring_back,
    ),
    properties=(
        *SAME_LOGS,
        properties.replica_logs.two_epochs_in_a_log,
        properties.replica_logs.acknowledged_by_one,
    ),
    constants={"records": 2, "max_crashes": 2},
    settings=SETTINGS,
    faults="two crashes, and any number of moves of the lead",
    not_modelled=NOT_MODELLED,
)

MODELS = [MOVED_LEADS, EPOCH_LOGS]
