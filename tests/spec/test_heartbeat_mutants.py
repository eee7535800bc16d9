"""KIP-343: what no design switch breaks, a small change to an action does."""

from __future__ import annotations

import pytest

from tests.planted import Mutant, assert_broken, never_broken

MUTANTS = [
    Mutant("lower_incarnation_is_refused", "twins", "is_valid", "known is None or known <= incarnation", "True",
           {"checks_registration": "false"}),
    Mutant("lower_incarnation_changes_nothing", "sessions", "isr_error", "own.known[sender] != request.incarnation",
           "False", {"supersedes_after_lease": "false", "bounce_fences": "false"}),
    Mutant("metadata_lists_who_is_in", "leases", "with_state", "metadata=counted(states)",
           "metadata=controller.metadata"),
    Mutant("fenced_process_accepts_nothing", "leases", "serves", "process.up and process.leads and not process.fenced",
           "process.up and process.leads"),
    Mutant("leader_is_in_the_isr", "leases", "remaining_isr", "kept if len(kept) > 0 else isr", "kept"),
    Mutant("epochs_never_go_back", "leases", "decided", "version=version", "version=partition.version"),
    Mutant("each_leader_has_its_epoch", "leases", "update_partition",
           "own.partition.leader_epoch = fresh(s, LeaderEpoch)"),
    Mutant("who_exits_leads_nothing", "stopping", "handle_heartbeat", "BrokerState.STOPPING if leaves else after",
           "after", {"controller_epoch_in_heartbeat": "false"}),
    Mutant("no_write_is_lost", "legacy", "can_write", "own.partition.version == s.partition.version", "True"),
    Mutant("former_controller_controls_nobody", "zombie", "is_sent",
           "seen is None or own.epoch is None or seen <= own.epoch", "True"),
    Mutant("legacy_is_who_registered_so", "upgrade", "adopting", "legacy=controller.legacy - {broker}"),
    Mutant("as_partition", "disk_and_failover", "record_after",
           "s.partition.isr == frozenset({broker}) and known is not None", "known is not None"),
    Mutant("timers_decide", "timed", "fence", "must_fence(s)", "True"),
    Mutant("nobody_dawdles", "timed", "tick", "controller_is_due(s)", "False"),
    Mutant("time_passes_for_both", "timed", "tick", "max(s.stall - 1, 0)", "s.stall"),
    Mutant("heartbeat_takes_its_way", "timed", "send", "s.reply = None"),
    Mutant("lease_is_renewed_by_a_heartbeat", "timed", "handle", "not must_expire(s)", "True"),
    Mutant("mishap_has_its_effect", "timed", "stall", "s.stall = ticks"),
    Mutant("undisturbed_broker_serves", "timed", "take_reply", "s.broker_age = age"),
    Mutant("deadlock_free", "timed", "take_reply", "s.pause == 0", "s.pause != 0"),
    # What processes and controllers remember, and what steps do.
    Mutant("stopped_process_has_forgotten", "late", "stopped",
           "target=BrokerState.ACTIVE", "target=BrokerState.STOPPING"),
    Mutant("only_leaders_keep_an_isr", "leases", "informed",
           "proposed=frozenset() if newer or not leads else process.proposed"),
    Mutant("leader_is_as_new_as_its_version", "leases", "take_isr_reply", "own.isr = reply.isr"),
    Mutant("request_is_what_is_asked_for", "leases", "handle_isr_change", "s.processes[process].change = None"),
    Mutant("message_is_of_its_sender", "stopping", "request_shutdown", "s.processes[process].heartbeat = None"),
    Mutant("who_is_unregistered_is_fenced", "sessions", "register", "own.fenced = True"),
    Mutant("znode_names_its_process", "legacy", "register",
           "Registration(process, issued, is_legacy(own))", "Registration(process, issued, True)"),
    Mutant("registry_is_of_the_term", "sessions", "adopting",
           "BrokerState.INACTIVE if state == BrokerState.INITIAL else state", "BrokerState.INITIAL"),
    Mutant("copy_is_as_new_as_its_version", "leases", "update_partition",
           "s.partition = s.controllers[controller].partition", "s.partition.version = own.partition.version"),
    Mutant("history_has_the_highest", "sessions", "handle_heartbeat",
           "s.gone_by[broker] = highest(s, broker, heartbeat.incarnation)"),
    Mutant("who_has_acknowledged_is_informed", "leases", "update_partition", "own.owed = frozenset(Broker)"),
    Mutant("partition_names_who_is_known", "leases", "is_named", "return Design.leader_incarnation", "return False"),
    Mutant("record_is_where_it_was_written", "leases", "acknowledge", "own.in_hand = False"),
    Mutant("answer_is_of_a_version", "leases", "decided",
           "request.isr if error == Error.NONE else partition.isr", "partition.isr"),
    Mutant("znode_goes_with_its_session", "late", "end_dead_session", "s.processes[p].up", "False"),
    Mutant("incarnation_is_higher_than_any", "sessions", "register", "own.heartbeat = None"),
    Mutant("fence_falls_by_an_answer", "leases", "take_reply",
           "own.fenced = reply.state == BrokerState.INACTIVE", "own.fenced = False"),
    Mutant("fence_rises_for_a_cause", "leases", "self_fence", "not is_contact(s, own.controller, process)", "True"),
    Mutant("process_stops_for_a_cause", "stopping", "take_reply", "own.target == BrokerState.STOPPING", "True"),
    Mutant("target_is_asked_for", "stopping", "request_shutdown", "s.faults.shutdowns += 1"),
    Mutant("heartbeat_names_the_controller_known", "failover", "send_heartbeat",
           "Heartbeat(incarnation, own.target, epoch)", "Heartbeat(incarnation, own.target, s.controller_epoch)"),
    Mutant("nothing_reaches_who_is_cut_off", "leases", "is_sent", "process not in s.cut", "True"),
    Mutant("fault_has_its_effect", "leases", "cut_off", "s.faults.silences += 1"),
    Mutant("record_is_copied_from_the_leader", "leases", "fetch", "own.leader_epoch", "other.leader_epoch"),
    Mutant("follower_is_seen_as_it_is", "leases", "fetch", "own.followers[broker] = incarnation"),
    Mutant("record_takes_its_course", "leases", "acknowledge",
           "not own.fenced or not Design.acknowledges_unfenced", "True"),
    Mutant("leader_asks_for_one_member", "leases", "ask_to_shrink", "member not in own.caught_up", "True"),
    Mutant("process_turns_to_the_controller", "zombie", "goes_to",
           "process.heartbeat if same else None", "process.heartbeat"),
    Mutant("term_begins_with_what_is_there", "failover", "taking_office", "owed=frozenset(Broker)"),
    Mutant("broker_goes_out_for_a_cause", "leases", "expire", "is_silent(s, controller, broker)", "True"),
    Mutant("broker_comes_in_by_a_heartbeat", "leases", "reached", "broker in controller.owed", "False"),
    Mutant("answer_is_what_was_decided", "leases", "handle_heartbeat",
           "HeartbeatReply(error, state, heartbeat.incarnation, epoch, controller)",
           "HeartbeatReply(error, BrokerState.ACTIVE, heartbeat.incarnation, epoch, controller)"),
    Mutant("incarnation_follows_a_lower_one", "sessions", "adopting", "owed=controller.owed | {broker}"),
    Mutant("isr_changes_for_a_cause", "leases", "decided",
           "request.isr if error == Error.NONE else partition.isr", "partition.isr - request.isr"),
    Mutant("request_is_acknowledged_by_who_takes_it", "leases", "take_control_request",
           "own.owed -= {broker}", "own.owed = frozenset()"),
    Mutant("leader_takes_the_answer", "leases", "take_isr_reply", "own.isr = reply.isr"),
    Mutant("unsettled_controller_writes_first", "leases", "may_answer", "is_settled(own)", "True"),
    Mutant("history_never_goes_back", "failover", "highest", "return before", "return incarnation"),
    Mutant("software_changes_with_a_restart", "upgrade", "may_roll",
           "s.processes[p].software != Software.LEGACY", "True"),
    Mutant("follower_catches_up", "live_record", "fetch", "seen <= incarnation", "seen < incarnation"),
    Mutant("request_in_hand_is_completed", "live_record", "fetch", "seen <= incarnation", "seen < incarnation"),
    # What messages do.
    Mutant("answer_takes_effect", "leases", "take_reply",
           "own.fenced = reply.state == BrokerState.INACTIVE", "own.fenced = False"),
    Mutant("request_is_sent_by_who_serves", "failover", "ask_again", "serves(own)", "True"),
    Mutant("refusal_names_its_reason", "leases", "isr_error",
           "return Error.NOT_LEADER_FOR_PARTITION", "return Error.INVALID_UPDATE_VERSION"),
    Mutant("answer_settles_the_request", "leases", "take_isr_reply",
           "reply.error == Error.NOT_LEADER_FOR_PARTITION", "False"),
    Mutant("control_request_loses_nothing", "failover", "goes_to",
           "process.change if same else None", "None"),
    Mutant("leader_begins_each_epoch_anew", "leases", "informed",
           "process.in_hand and leads and not begins", "process.in_hand and leads"),
]  # fmt: skip


@pytest.mark.sample(4)
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_changed_action_breaks_it(mutant: Mutant) -> None:
    assert_broken("heartbeat", mutant)


def test_every_property_can_fail() -> None:
    """By a mutant here, or by a pinned switch, setting or bug of the gallery."""
    assert never_broken("heartbeat", MUTANTS) == set()
