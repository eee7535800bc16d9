"""The two leases: brokers that are cut off from the controller, and come back."""

from __future__ import annotations

from checker.lang import Model
from spec.heartbeat import abstract_isr, properties
from spec.heartbeat.actions import control, faults, heartbeat, isr, replica
from spec.heartbeat.design import SETTINGS
from spec.heartbeat.initial import all_active

HEARTBEATS = (
    heartbeat.send_heartbeat,
    heartbeat.handle_heartbeat,
    heartbeat.take_reply,
    heartbeat.self_fence,
    heartbeat.expire,
)
CONTROL = (control.update_partition, control.take_control_request)
ISR = (isr.ask_to_shrink, isr.ask_to_expand, isr.handle_isr_change, isr.take_isr_reply)
RECORD = (replica.accept_produce, replica.append, replica.acknowledge, replica.fetch)
SILENCE = (faults.cut_off, faults.heal)

INCARNATIONS = (
    properties.incarnations.lower_incarnation_is_refused,
    properties.incarnations.lower_incarnation_changes_nothing,
    properties.incarnations.metadata_lists_who_is_in,
    properties.incarnations.nobody_inactive_is_added,
)
LEADERSHIP = (
    properties.leadership.one_process_serves,
    properties.leadership.fenced_process_accepts_nothing,
    properties.leadership.leader_is_in_the_isr,
    properties.leadership.epochs_never_go_back,
    properties.leadership.each_leader_has_its_epoch,
    properties.leadership.leader_epoch_is_of_one_incarnation,
)
RECORDS = (
    properties.records.acknowledged_record_survives,
    properties.records.maximal_isr_covers_committed,
)
SAFETY = (*INCARNATIONS, *LEADERSHIP, *RECORDS, abstract_isr.as_partition)

LEMMAS = (
    properties.lemmas.controller_is_in_office,
    properties.lemmas.known_incarnation_is_the_highest,
    properties.lemmas.unknown_broker_is_initial,
    properties.lemmas.named_incarnation_is_the_highest,
    properties.lemmas.request_keeps_its_sender,
    properties.lemmas.leader_is_in_its_own_isr,
    properties.lemmas.reply_has_the_leader,
    properties.lemmas.reply_is_awaited,
    properties.lemmas.only_leaders_ask,
    properties.lemmas.leader_epoch_says_who_leads,
    properties.lemmas.stopped_process_leads_nothing,
    properties.lemmas.leader_knows_its_version,
    properties.lemmas.request_is_what_is_proposed,
    properties.lemmas.reply_is_current,
    properties.lemmas.nobody_stops,
    properties.lemmas.incarnation_is_of_its_own_znode,
    properties.lemmas.heartbeat_is_of_its_sender,
    properties.lemmas.nobody_is_legacy,
    properties.lemmas.named_incarnation_is_known,
    properties.lemmas.who_owes_nothing_knows_who_leads,
    properties.lemmas.who_may_serve_is_in,
    properties.lemmas.who_leads_no_more_does_not_serve,
)

DOCUMENT = {name: SETTINGS[name] for name in ("repaired", "draft")}
"""The settings with heartbeats."""

NOT_MODELLED = "clocks (see heartbeat/timed), several partitions, requests whose form is wrong"

LEASES = Model(
    name="leases",
    doc="Two brokers, one record; a broker is cut off from the controller once.",
    init=all_active,
    actions=(*HEARTBEATS, *CONTROL, *ISR, *RECORD, *SILENCE),
    properties=(
        *SAFETY,
        properties.witnesses.inactive,
        properties.witnesses.self_fenced_leader,
        properties.witnesses.another_serves,
        properties.witnesses.expanded_after_return,
    ),
    constants={"max_silences": 1},
    settings=DOCUMENT,
    faults="one broker is cut off from the controller, and comes back in the end",
    not_modelled=NOT_MODELLED + "; sessions that end, crashes, failovers",
    lemmas=LEMMAS,
)

MODELS = [LEASES]
