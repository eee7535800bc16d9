"""A property counts only if it can fail: what no design switch breaks, a small change to an action does."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import pytest

from checker.explicit.check import CheckOptions, check
from checker.lang.loader import load, load_spec
from tests.conftest import ROOT, read_pins
from tests.planted import planted


@dataclass(frozen=True)
class Mutant:
    """In an action or helper of the model `new` stands for the fragment `old`, and the property breaks.

    Without `new` the fragment is left out. Fragments are compared as syntax: see tests.fragments.
    """

    breaks: str
    model: str
    function: str
    old: str
    new: str = ""
    changes: dict[str, str] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        return f"{self.model} {self.breaks}"


UNFENCED = "frozenset(b for b, r in image.registrations.items() if r is not None and not r.fenced)"
MUTANTS = [
    Mutant("superseded_incarnation_changes_nothing", "membership", "handle_heartbeat",
           "registration.broker_epoch != request.broker_epoch", "registration.broker_epoch < request.broker_epoch"),
    Mutant("high_watermark_waits_for_the_caught_up", "expansion", "advance_high_watermark",
           "require(all(one.followers & leadership.candidates <= have_it for one in leadership.caught_up))"),
    Mutant("fenced_for_cause", "membership", "fence_expired", "broker in controller.expired_leases",
           "broker not in controller.expired_leases"),
    Mutant("unfenced_broker_is_ready", "membership", "may_be_unfenced", "request.caught_up"),
    Mutant("expired_lease_is_of_an_unfenced_broker", "membership", "fence_expired",
           "controller.expired_leases -= {broker}"),
    Mutant("active_controller_checks_leases", "late", "handle_registration",
           "controller.checks_leases = True\n"
           "if awaits_reply:\n"
           "    sender.reply = RegisterReply(Error.NONE, existing.broker_epoch)",
           "controller.checks_leases = False\n"
           "if awaits_reply:\n"
           "    sender.reply = RegisterReply(Error.NONE, existing.broker_epoch)"),
    Mutant("active_controller_checks_leases", "shutdown", "handle_heartbeat", "controller.checks_leases = True",
           changes={"lease_check_by_timer": "false"}),
    Mutant("shutdown_ends_heartbeats", "restarts", "send_heartbeat", "broker.state != BrokerState.SHUTTING_DOWN"),
    Mutant("heartbeat_renews_lease", "membership", "handle_heartbeat", "controller.expired_leases -= {broker}"),
    Mutant("leaderless_only_without_candidates", "membership", "broker_unfenced",
           "partitions=partitions_with_broker_unfenced(s, image, broker)"),
    Mutant("leader_changes_in_replica_order", "isr", "elect_leader", "partition.leader in isr & active",
           "partition.leader in isr - active"),
    Mutant("epochs_never_go_back", "membership", "build_change",
           "replace(after, partition_epoch=fresh(s, PartitionEpoch))", "replace(after)"),
    Mutant("acknowledged_on_enough_disks", "isr", "advance_high_watermark",
           "maximal_isr(leadership) <= have_it", "node_id(leader) in maximal_isr(leadership)"),
    Mutant("high_watermark_is_in_the_log", "unregistered", "unassigned", "False", "True"),
    Mutant("isr_has_acknowledged_record", "isr", "may_join_isr",
           "has_record or not (leader.high_watermark or leadership.starts_with_record)", "True"),
    Mutant("newest_leader_has_what_is_committed", "election", "may_commit",
           "controller.log[place].epoch == controller.epoch", "controller.log[place].epoch <= controller.epoch"),
    Mutant("newest_leader_has_what_is_committed", "election", "is_on_majority",
           "s.controllers[voter].epoch == epoch and has_batch(s.controllers[voter], batch, place)",
           "has_batch(s.controllers[voter], batch, place)", {"controllers": "5", "pending_batches": "2"}),
    Mutant("newest_leader_has_what_is_committed", "quorum", "is_up_to_date", "wanted < last", "wanted != last"),
    Mutant("newest_leader_has_what_is_committed", "snapshot", "is_up_to_date", "voter.lags_since is not None", "True"),
    Mutant("logs_match", "election", "fetch_batch", "same < len(controller.log)", "same > len(controller.log)"),
    Mutant("image_is_replay_of_log", "election", "stepped_down", "Role.ACTIVE", "Role.ELECTED"),
    Mutant("image_is_replay_of_log", "snapshot", "load_snapshot", "replayed(snapshot.image, snapshot.since)",
           "snapshot.image"),
    Mutant("snapshot_stands_for_log", "snapshot", "stable_image", "Role.ACTIVE", "Role.ELECTED"),
    Mutant("committed_record_is_with_the_isr", "abstract_isr", "expand", "not r.committed", "r.committed"),
    Mutant("exiting_broker_stays_fenced", "shutdown", "handle_heartbeat",
           "controller.image = broker_fenced(s, before, broker)"),
    Mutant("shutdown_waits_for_images", "shutdown", "with_report", "applied is not None and shutdown.offset <= applied",
           "shutdown is not None"),
    Mutant("controlled_shutdown_ends", "shutdown_ends", "broker_in_controlled_shutdown",
           "image.partitions if registration.fenced else partitions_without_broker(s, image, broker, others)",
           "image.partitions"),
    Mutant("leaderless_partition_gets_leader", "unfencing_ends", "broker_unfenced",
           "partitions=partitions_with_broker_unfenced(s, image, broker)"),
    Mutant("pending_change_is_resolved", "changes_end", "new_leadership",
           "None if is_resolved else replica.leadership.pending_change", "replica.leadership.pending_change"),
    Mutant("silent_broker_is_fenced_in_time", "timed", "controller_is_due", "lease_is_over(s)"),
    Mutant("isr_is_within_replicas", "reassignment", "completed", "partition.isr & target", "partition.isr"),
    Mutant("only_what_is_under_way_is_cancelled", "reassignment", "cancel_reassignment", "is_reassigned(partition)"),
    Mutant("new_leader_starts_fresh", "moved_record", "new_leadership",
           "replica.leader_epoch != partition.leader_epoch"),
    Mutant("reply_waits_in_one_memory", "failover_record", "process_after_commit",
           "replica_after_commit(process.replicas[p], voter)", "replace(process.replicas[p])"),
    Mutant("success_waits_for_the_log", "quorum", "handle_heartbeat", "awaits_reply and sender.reply is not None",
           "not awaits_reply and sender.reply is not None"),
    Mutant("waiting_reply_moves_nobody", "quorum", "receive_heartbeat_reply", "not is_deferred(broker.deferral)"),
    Mutant("broker_turns_to_a_leader", "failover_record", "find_controller", "is_raft_leader(found)"),
    Mutant("removed_replica_keeps_nothing", "reassignment", "assigned", "False", "True"),
    Mutant("leader_changes_for_cause", "reassignment", "elect_leader", "partition.leader in isr & active",
           "partition.leader in isr - active"),
    Mutant("no_shutdown_without_request", "stuck_reassignment", "running", "BrokerState.RUNNING",
           "BrokerState.PENDING_CONTROLLED_SHUTDOWN"),
    Mutant("reassignment_completes", "stuck_reassignment", "is_complete",
           "len(target) < len(original_replicas(partition))", "len(target) <= len(original_replicas(partition))"),
    Mutant("no_decision_stays_half_done", "creation", "appended", "Design.atomic_batches", "not Design.atomic_batches"),
    Mutant("some_controller_is_active", "elections_end", "elect",
           "s.controllers[candidate].log + (leader_change(epoch),)", "s.controllers[candidate].log"),
    Mutant("some_controller_is_active", "elections_end", "hear_of_leader", "controller.epoch < source.epoch",
           "controller.epoch > source.epoch"),
    Mutant("topics_are_complete", "topics", "delete_topic",
           "image.partitions = Map({p: None for p in TopicPartition})"),
    Mutant("only_unfenced_brokers_are_listed", "metadata", "listed", "listing.registered - listing.fenced",
           "listing.registered"),
    Mutant("one_request_at_a_time", "membership", "handle_heartbeat", "sender.broker_epoch == request.broker_epoch"),
    Mutant("valid_session_keeps_its_id", "membership", "handle_registration", "has_valid_session(controller, broker)",
           "False"),
    Mutant("registration_reply_is_true", "lifecycle", "handle_registration", "has_valid_session(controller, broker)",
           "is_unfenced(controller.image, broker)"),
    Mutant("registered_process_gets_reply", "lifecycle", "handle_registration", "RegisterReply(Error.NONE, epoch)",
           "None"),
    Mutant("heartbeat_reply_is_true", "lifecycle", "heartbeat_reply",
           "HeartbeatReply(Error.NONE, is_fenced, should_shut_down)",
           "HeartbeatReply(Error.NONE, not is_fenced, should_shut_down)"),
    Mutant("decision_takes_its_request", "lifecycle", "handle_heartbeat",
           "if awaits_reply and sender.reply is not None:\n"
           "    sender.deferral = deferred(controller, voter, sender.reply.error)\n"
           "s.lifecycle = s.lifecycle.remove(request)",
           "if awaits_reply and sender.reply is not None:\n"
           "    sender.deferral = deferred(controller, voter, sender.reply.error)\n"
           "    s.lifecycle = s.lifecycle.remove(request)"),
    Mutant("lease_runs_out_for_silence", "lifecycle", "expire_lease", "require(is_silent(s, voter, broker))"),
    Mutant("process_fits_its_state", "lifecycle", "finish_recovery", "require(broker.broker_epoch is not None)"),
    Mutant("process_follows_the_state_machine", "membership", "receive_heartbeat_reply", "not reply.is_fenced"),
    Mutant("failover_loses_soft_state", "lifecycle", "fail_over", "controller.expired_leases = frozenset()"),
    Mutant("shutdown_ends_with_registration", "restarts", "broker_fenced", "replace(registration, fenced=True)",
           "replace(registration, fenced=True, in_controlled_shutdown=False)"),
    Mutant("starting_process_is_registered", "unfencing_ends", "handle_registration",
           "if awaits_reply:\n"
           "    sender.reply = RegisterReply(Error.NONE, existing.broker_epoch)",
           "if not awaits_reply:\n"
           "    sender.reply = RegisterReply(Error.NONE, existing.broker_epoch)"),
    Mutant("one_change_at_a_time", "unregistered", "handle_alter_isr", "s.alterations = s.alterations.remove(request)"),
    Mutant("alter_isr_reply_is_true", "unregistered", "alter_isr_reply",
           "AlterIsrReply(error, at_new_leader_epoch, after.partition_epoch, after.isr)",
           "AlterIsrReply(error, at_new_leader_epoch, before.partition_epoch, after.isr)"),
    Mutant("isr_gains_only_by_request", "lifecycle", "with_broker_unfenced",
           "not Design.unfencing_joins_no_isr and broker in partition.adding",
           "Design.unfencing_joins_no_isr or broker in partition.adding"),
    Mutant("leads_as_elected", "lifecycle", "assigned", "partition.leader == node_id(process)",
           "node_id(process) in partition.isr"),
    Mutant("leader_state_changes_for_cause", "lifecycle", "new_leadership",
           "partition_epoch=partition.partition_epoch\n"
           "isr=partition.isr\n"
           "pending_change=None if is_resolved else replica.leadership.pending_change",
           "isr=partition.isr\n"
           "pending_change=None if is_resolved else replica.leadership.pending_change"),
    Mutant("leader_epoch_rises_for_cause", "lifecycle", "build_change",
           "not replica_set(partition.replicas) <= replica_set(after.replicas)", "partition.isr != after.isr"),
    Mutant("service_is_remembered", "lifecycle", "first_service", "last.leader_epoch < epoch",
           "last.leader_epoch > epoch"),
    Mutant("record_status_moves_forward", "unregistered", "record_status_after_registration",
           "not s.processes[request.sender].replicas[p].has_record"),
    Mutant("record_comes_from_its_leader", "unregistered", "fetch", "serving.leader_epoch == leader_epoch"),
    Mutant("replicas_with_record_were_seen", "unregistered", "fetch", "fetching.has_record and serving.has_record",
           "serving.has_record"),
    Mutant("controller_leads_its_epoch", "election", "hear_of_leader", "controller.epoch < source.epoch",
           "controller.epoch <= source.epoch"),
    Mutant("lagging_controller_keeps_nothing", "election", "lacking_committed", "log=()"),
    Mutant("log_follows_its_leader", "election", "fetch_batch", "source.log[same : same + 1]", "source.log[same:]"),
    Mutant("commit_leaves_logs_that_have_it", "election", "controller_after_commit",
           "not is_deposed_leader"),
    Mutant("leases_are_for_the_active_controller", "election", "expire_lease_early", "controller.role == Role.ACTIVE",
           "controller.role != Role.ACTIVE"),
    Mutant("every_controller_follows", "elections_end", "fetch_batch", "controller.log[:same]", "controller.log"),
    Mutant("committed_until_the_last_is_lost", "abstract_isr", "forfeit", "r.isr == {last}", "last in r.isr"),
    Mutant("epoch_is_of_one_leader", "abstract_isr", "forfeit", "r.leader = None"),
    Mutant("leader_and_copies_are_in_the_isr", "abstract_isr", "append", "member in r.isr"),
    Mutant("record_is_copied_to_one_at_a_time", "abstract_isr", "elect_from_isr", "r.replicas_with_record & isr",
           "isr"),
    Mutant("lease_is_as_old_as_the_silence", "timed", "arrive", "s.silence = 0"),
    Mutant("heartbeat_takes_its_course", "timed", "process", "s.delay = 0"),
    Mutant("queue_moves_as_a_whole", "timed", "fence", "s.stall == 0"),
    Mutant("clocks_run_alike", "timed", "tick", "max(s.stall - 1, 0)", "0"),
    Mutant("fenced_after_silence", "timed_failover", "change_controller",
           "s.lease_age = 0 if Timing.failover_renews_lease else Timing.session_timeout_ticks"),
    Mutant("broker_turns_to_the_active_controller", "timed_failover", "hear_of_controller",
           "s.exchange != Exchange.SENT"),
    Mutant("deleted_topic_has_no_record", "recreated", "delete_topic",
           "s.produced = Map({p: RecordStatus.UNWRITTEN for p in TopicPartition})"),
    Mutant("removal_is_never_truncated", "deletion", "confirm_removal", "removal.epoch == controller.epoch"),
    Mutant("removal_is_of_what_there_is", "deletion", "delete_topic", "image.topic is not None"),
    Mutant("deleted_topic_changes_nothing", "recreated", "alter_isr_error",
           "Design.kip_516 and image.topic != request.topic", "not Design.kip_516"),
    Mutant("image_is_replay_of_log", "unregistration", "replayed_registration",
           "None if removes_registration(delta, broker) else image.registrations[broker]",
           "image.registrations[broker]"),
    Mutant("snapshot_stands_for_log", "removal", "removed_by_either", "second if len(first) == 0 else first", "first"),
    Mutant("what_is_written_changes_something", "failover_shutdown", "offset_delta", "after == before"),
    Mutant("superseded_incarnation_changes_nothing", "failover_twins", "handle_heartbeat",
           "registration.broker_epoch != request.broker_epoch", "registration.broker_epoch < request.broker_epoch"),
    Mutant("listing_is_true", "failover_reassignment", "list_reassignment", "is_reassigned(partition)",
           "not is_reassigned(partition)"),
    Mutant("acknowledged_records_survive", "epoch_logs", "truncate_to_epoch",
           "replica.log[: min(shared, records_up_to(serving.log, asked))]", "replica.log"),
    Mutant("consumers_read_the_same", "epoch_logs", "truncate_to_epoch",
           "replica.log[: min(shared, records_up_to(serving.log, asked))]", "replica.log"),
    Mutant("epochs_of_a_log_rise", "epoch_logs", "append_record", "replica.log + (epoch,)", "(epoch,) + replica.log"),
    Mutant("log_reaches_its_high_watermark", "epoch_logs", "hear_of_epoch", "log=log", "log=() if leads else log"),
    Mutant("fenced_for_cause", "membership", "handle_registration", "has_valid_session(controller, broker)", "False"),
    Mutant("broker_image_is_committed", "failover_images", "with_image", "listing_of(image)",
           "listing_of(s.controllers[broker.controller].image)"),
    Mutant("broker_image_never_goes_back", "failover_images", "apply_previous_metadata", "broker.lag > 1"),
    Mutant("maximal_isr_covers_committed", "failover_images", "new_leadership",
           "partition.partition_epoch < replica.leadership.partition_epoch", "False"),
    # Two subjects at once: each holds in the models of either alone.
    Mutant("image_is_replay_of_log", "snapshot_reassignment", "load_snapshot",
           "controller.image = replayed(snapshot.image, snapshot.since)",
           "controller.image = replayed(snapshot.image, snapshot.since)\n"
           "for p in controller.image.partitions:\n"
           "    partition = controller.image.partitions[p]\n"
           "    if partition is not None:\n"
           "        partition.removing = ()"),
    Mutant("image_is_replay_of_log", "snapshot_reassignment", "load_snapshot",
           "controller.image = replayed(snapshot.image, snapshot.since)",
           "controller.image = replayed(snapshot.image, snapshot.since)\n"
           "for p in controller.image.partitions:\n"
           "    partition = controller.image.partitions[p]\n"
           "    if partition is not None:\n"
           "        partition.adding = ()"),
    Mutant("leader_may_lead", "operated_shutdown", "reassign", "active_brokers(image)", UNFENCED),
    Mutant("leader_may_lead", "operated_shutdown", "elect_preferred",
           "preferred in partition.isr & active_brokers(image)", f"preferred in partition.isr & {UNFENCED}"),
    Mutant("leader_may_lead", "operated_shutdown", "create_topic", "active_brokers(image)", UNFENCED),
    Mutant("leader_may_lead", "operated_shutdown", "unregister", "active_brokers(image)", UNFENCED),
    Mutant("isr_has_acknowledged_record", "moved_disk", "is_eligible", "member not in partition.isr",
           "member not in partition.isr and member not in partition.adding"),
    Mutant("reassignment_keeps_min_isr", "moved_record", "reassigned", "adding=adding",
           "adding=adding\nisr=partition.isr & wanted"),
    Mutant("controlled_shutdown_ends", "restarts_end", "may_shut_down_now", "shutdown.lagging & active_brokers(image)",
           "shutdown.lagging"),
    Mutant("ready_broker_is_unfenced", "restarts_end", "handle_registration",
           "Registration(request.incarnation, epoch, True, False)",
           "Registration(request.incarnation, epoch, True, existing is not None and existing.in_controlled_shutdown)"),
    Mutant("silent_broker_is_fenced_in_time", "timed_registration", "register",
           "s.retry = Timing.registration_retry_ticks",
           "s.retry = Timing.registration_retry_ticks\ns.lease_age = 0"),
    Mutant("refusals_end_in_time", "timed_registration", "register", "s.fenced",
           "(s.fenced and s.retry > 0)"),
    Mutant("id_is_given_when_its_lease_is_over", "timed_registration", "register",
           "s.lease_age < Timing.session_timeout_ticks", "s.lease_age < Timing.heartbeat_interval_ticks"),
]  # fmt: skip


@pytest.mark.sample(10)
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_changed_action_breaks_it(mutant: Mutant) -> None:
    model = planted(load(f"kraft/{mutant.model}", mutant.changes), mutant.function, mutant.old, mutant.new)
    alone = model.with_properties([p for p in model.model.properties if p.name == mutant.breaks])
    report = check(alone, CheckOptions(threads=2), started=time.perf_counter())
    assert [p.name for p in report.properties if p.verdict == "violated"] == [mutant.breaks]


def test_every_property_can_fail() -> None:
    """By a mutant here, or by a pinned switch or setting."""
    broken = {m.breaks for m in MUTANTS}
    for pin in read_pins(ROOT / "tests" / "pins.toml"):
        if pin.target.startswith("kraft/"):
            broken |= set(pin.expected.get("violated", {}))
    named = {p.name for m in load_spec("kraft").models for p in m.properties if p.kind != "witness"}
    assert named - broken == set()
