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
MEMORY = (
    properties.memory.stopped_process_has_forgotten,
    properties.memory.only_leaders_keep_an_isr,
    properties.memory.leader_is_as_new_as_its_version,
    properties.memory.request_is_what_is_asked_for,
    properties.memory.message_is_of_its_sender,
    properties.memory.who_is_unregistered_is_fenced,
    properties.memory.znode_names_its_process,
    properties.memory.registry_is_of_the_term,
    properties.memory.copy_is_as_new_as_its_version,
    properties.memory.history_has_the_highest,
    properties.memory.who_has_acknowledged_is_informed,
    properties.memory.partition_names_who_is_known,
    properties.memory.record_is_where_it_was_written,
    properties.memory.answer_is_of_a_version,
)
STEPS = (
    properties.steps.znode_goes_with_its_session,
    properties.steps.incarnation_is_higher_than_any,
    properties.steps.fence_falls_by_an_answer,
    properties.steps.fence_rises_for_a_cause,
    properties.steps.process_stops_for_a_cause,
    properties.steps.target_is_asked_for,
    properties.steps.heartbeat_names_the_controller_known,
    properties.steps.nothing_reaches_who_is_cut_off,
    properties.steps.fault_has_its_effect,
    properties.steps.record_is_copied_from_the_leader,
    properties.steps.follower_is_seen_as_it_is,
    properties.steps.record_takes_its_course,
    properties.steps.leader_asks_for_one_member,
    properties.steps.process_turns_to_the_controller,
)
TERM_STEPS = (
    properties.terms.term_begins_with_what_is_there,
    properties.terms.broker_goes_out_for_a_cause,
    properties.terms.broker_comes_in_by_a_heartbeat,
    properties.terms.answer_is_what_was_decided,
    properties.terms.incarnation_follows_a_lower_one,
    properties.terms.isr_changes_for_a_cause,
    properties.terms.request_is_acknowledged_by_who_takes_it,
    properties.terms.leader_takes_the_answer,
    properties.terms.unsettled_controller_writes_first,
)
MESSAGES = (
    properties.messages.answer_takes_effect,
    properties.messages.request_is_sent_by_who_serves,
    properties.messages.refusal_names_its_reason,
    properties.messages.answer_settles_the_request,
    properties.messages.control_request_loses_nothing,
    properties.messages.leader_begins_each_epoch_anew,
)
SOFT_STATE = (*MEMORY, *STEPS, *TERM_STEPS, *MESSAGES)
SAFETY = (*INCARNATIONS, *LEADERSHIP, *RECORDS, *SOFT_STATE, abstract_isr.as_partition)

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
        properties.witnesses.told_to_wait,
    ),
    constants={"max_silences": 1},
    settings=DOCUMENT,
    faults="one broker is cut off from the controller, and comes back in the end",
    not_modelled=NOT_MODELLED + "; sessions that end, crashes, failovers",
    lemmas=LEMMAS,
)

MODELS = [LEASES]
