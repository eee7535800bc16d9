"""A property counts only if it can fail: what no design switch breaks, a small change to an action does."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest

from checker.explicit.check import Options, check
from checker.lang.loader import load, load_spec
from tests.conftest import ROOT, read_pins
from tests.planted import planted


@dataclass(frozen=True)
class Mutant:
    """`old`, which stands once in an action or helper of spec/kraft, becomes `new`, and the model's property breaks."""

    breaks: str
    model: str
    file: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.model} {self.breaks}"


ENDS = """    controller.log = appended(controller, before)
    if waits and sender.reply is not None:
        sender.deferral = deferred(controller, voter, sender.reply.error)
    s.lifecycle = s.lifecycle.remove(request)"""
"""How a decision about a registration or heartbeat ends."""

MUTANTS = [
    Mutant("superseded_incarnation_changes_nothing", "membership", "controller.py",
           "registration.broker_epoch != request.broker_epoch:\n        if waits:",
           "registration.broker_epoch < request.broker_epoch:\n        if waits:"),
    Mutant("fenced_for_cause", "membership", "controller.py",
           "require(broker in controller.lapsed and", "require(broker not in controller.lapsed and"),
    Mutant("unfenced_broker_is_ready", "membership", "shutdown.py",
           "return request.caught_up and (", "return ("),
    Mutant("lapsed_broker_is_unfenced", "membership", "controller.py",
           "    controller.shutdowns[broker] = None\n    controller.lapsed -= {broker}",
           "    controller.shutdowns[broker] = None"),
    Mutant("leases_are_looked_after", "late", "controller.py",
           "checks_leases = True\n        if waits:\n            sender.reply = RegisterReply(Error.NONE, existing",
           "checks_leases = False\n        if waits:\n            sender.reply = RegisterReply(Error.NONE, existing"),
    Mutant("who_shuts_down_is_silent", "restarts", "broker.py",
           "require(broker.reply is None and broker.state != BrokerState.SHUTTING_DOWN)",
           "require(broker.reply is None)"),
    Mutant("heartbeat_renews_lease", "membership", "controller.py",
           "or waits_for_others\n        controller.lapsed -= {broker}", "or waits_for_others"),
    Mutant("leaderless_for_want_of_candidates", "membership", "controller.py",
           "if registration.fenced and not fenced:", "if registration.fenced and fenced:"),
    Mutant("leader_changes_in_replica_order", "isr", "partition.py",
           "partition.leader in isr & active:", "partition.leader in isr - active:"),
    Mutant("epochs_never_go_back", "membership", "partition.py",
           "return replace(after, partition_epoch=fresh(s, PartitionEpoch))", "return replace(after)"),
    Mutant("acknowledged_on_enough_disks", "isr", "replica.py",
           "require(maximal_isr(leadership) <= leadership.holders | {node_id(leader)})",
           "require(node_id(leader) in maximal_isr(leadership))"),
    Mutant("high_watermark_is_in_the_log", "unregistered", "state.py", "high_watermark=False", "high_watermark=True"),
    Mutant("isr_has_acknowledged_record", "isr", "replica.py",
           "return has_record or not (leader.high_watermark or leadership.starts_with_record)", "return True"),
    Mutant("newest_leader_has_what_is_committed", "election", "quorum.py",
           "controller.log[place].epoch == controller.epoch", "controller.log[place].epoch <= controller.epoch"),
    Mutant("newest_leader_has_what_is_committed", "quorum", "quorum.py",
           "return wanted < last", "return wanted != last"),
    Mutant("newest_leader_has_what_is_committed", "snapshot", "quorum.py",
           "return voter.behind is not None", "return True"),
    Mutant("logs_match", "election", "quorum.py",
           "if same < len(controller.log):", "if same > len(controller.log):"),
    Mutant("image_is_replay_of_log", "election", "quorum.py",
           "stable if controller.role == Role.ACTIVE else", "stable if controller.role == Role.ELECTED else"),
    Mutant("image_is_replay_of_log", "snapshot", "snapshot.py",
           "replayed(snapshot.image, snapshot.since)", "snapshot.image"),
    Mutant("snapshot_stands_for_log", "snapshot", "snapshot.py",
           "if controller.role == Role.ACTIVE else", "if controller.role == Role.ELECTED else"),
    Mutant("committed_record_is_with_the_isr", "abstract_isr", "abstract_isr.py",
           "require(has_record or not r.committed)", "require(has_record or r.committed)"),
    Mutant("told_broker_stays_fenced", "shutdown", "controller.py", "fenced = stops or decided", "fenced = decided"),
    Mutant("told_once_others_have_seen", "shutdown", "shutdown.py",
           "reaches = applied is not None and shutdown.offset <= applied", "reaches = shutdown is not None"),
    Mutant("controlled_shutdown_ends", "shutdown_ends", "controller.py",
           "if not registration.fenced and (fenced or begins):", "if not registration.fenced and fenced:"),
    Mutant("leaderless_partition_gets_leader", "unfencing_ends", "controller.py",
           "if registration.fenced and not fenced:", "if registration.fenced and fenced:"),
    Mutant("pending_change_is_settled", "changes_end", "broker.py",
           "asked=None if settled else replica.leadership.asked", "asked=replica.leadership.asked"),
    Mutant("silent_broker_is_fenced_in_time", "timed", "timed.py", "s.backlog or lease_is_over(s))", "s.backlog)"),
    Mutant("isr_is_within_replicas", "reassignment", "partition.py",
           "replicas=replicas, isr=partition.isr & target, adding", "replicas=replicas, isr=partition.isr, adding"),
    Mutant("only_what_is_under_way_is_cancelled", "reassignment", "administration.py",
           "require(is_reassigned(partition) and may_be_cancelled(partition))", "require(may_be_cancelled(partition))"),
    Mutant("leader_begins_anew", "moved_record", "broker.py",
           "if replica.leadership is None or replica.leader_epoch != partition.leader_epoch:",
           "if replica.leadership is None:"),
    Mutant("reply_waits_in_one_memory", "failover_record", "quorum.py",
           "replicas=Map({p: after_one_more_of(process.replicas[p], voter) for p in TopicPartition}),",
           "replicas=Map({p: replace(process.replicas[p]) for p in TopicPartition}),"),
    Mutant("success_waits_for_the_log", "quorum", "controller.py", f"should_shut_down=stops)\n{ENDS}",
           f"should_shut_down=stops)\n{ENDS.replace('    if waits and', '    if not waits and')}"),
    Mutant("waiting_reply_moves_nobody", "quorum", "broker.py",
           "require(isinstance(reply, HeartbeatReply) and not is_deferred(broker.deferral))",
           "require(isinstance(reply, HeartbeatReply))"),
    Mutant("broker_turns_to_a_leader", "failover_record", "quorum.py",
           "    require(leads(found) and known.epoch <= found.epoch)\n", "    require(known.epoch <= found.epoch)\n"),
    Mutant("who_is_removed_keeps_nothing", "reassignment", "broker.py",
           "        return unassigned(topic, has_record=False)\n    if partition.leader is None:",
           "        return unassigned(topic, has_record=True)\n    if partition.leader is None:"),
    Mutant("leader_changes_for_cause", "reassignment", "partition.py",
           "partition.leader in isr & active:", "partition.leader in isr - active:"),
    Mutant("nobody_shuts_down_unasked", "stuck_reassignment", "state.py",
           "BrokerState.RUNNING", "BrokerState.PENDING_CONTROLLED_SHUTDOWN"),
    Mutant("reassignment_completes", "stuck_reassignment", "partition.py", "shrinks = len(target) <",
           "shrinks = len(target) <="),
    Mutant("no_decision_stays_half_done", "creation", "log.py",
           "    if Design.atomic_batches:", "    if not Design.atomic_batches:"),
    Mutant("some_controller_is_active", "elections_end", "quorum.py",
           "s.controllers[candidate].log + (leader_change(epoch),)", "s.controllers[candidate].log"),
    Mutant("some_controller_is_active", "elections_end", "quorum.py",
           "require(leads(source) and controller.epoch < source.epoch)",
           "require(leads(source) and controller.epoch > source.epoch)"),
    Mutant("topics_are_complete", "topics", "topics.py",
           "    image.partitions = Map({p: None for p in TopicPartition})\n", ""),
    Mutant("only_active_brokers_are_listed", "metadata", "clients.py",
           "listing.registered - listing.fenced", "listing.registered"),
    Mutant("one_request_at_a_time", "membership", "controller.py",
           "waits = sender.broker_epoch == request.broker_epoch and not request.late", "waits = not request.late"),
    Mutant("valid_session_keeps_its_id", "membership", "controller.py",
           "if not repeated and has_valid_session(controller, broker):", "if not repeated and False:"),
    Mutant("registration_reply_is_true", "lifecycle", "controller.py",
           "if not repeated and has_valid_session(controller, broker):",
           "if not repeated and is_unfenced(controller.image, broker):"),
    Mutant("registered_process_is_told", "lifecycle", "controller.py",
           "sender.reply = RegisterReply(Error.NONE, epoch)", "sender.reply = None"),
    Mutant("heartbeat_reply_is_true", "lifecycle", "controller.py",
           "HeartbeatReply(Error.NONE, fenced, should", "HeartbeatReply(Error.NONE, not fenced, should"),
    Mutant("decision_takes_its_request", "lifecycle", "controller.py", f"should_shut_down=stops)\n{ENDS}",
           f"should_shut_down=stops)\n{ENDS.replace('    s.lifecycle =', '        s.lifecycle =')}"),
    Mutant("lease_runs_out_for_silence", "lifecycle", "controller.py",
           "    require(is_silent(s, voter, broker))\n", ""),
    Mutant("process_fits_its_state", "lifecycle", "broker.py",
           "require(broker.broker_epoch is not None)\n    broker.wants_fence", "broker.wants_fence"),
    Mutant("process_moves_as_told", "membership", "broker.py",
           "broker.state == BrokerState.RECOVERY and not reply.is_fenced", "broker.state == BrokerState.RECOVERY"),
    Mutant("failover_loses_soft_state", "lifecycle", "faults.py", "    controller.lapsed = frozenset()\n", ""),
    Mutant("shutdown_ends_with_registration", "restarts", "controller.py",
           "registration.in_controlled_shutdown = registration.in_controlled_shutdown or waits_for_others",
           "registration.in_controlled_shutdown = waits_for_others"),
    Mutant("starting_process_is_registered", "unfencing_ends", "controller.py",
           "if waits:\n            sender.reply = RegisterReply(Error.NONE, existing.broker_epoch)",
           "if not waits:\n            sender.reply = RegisterReply(Error.NONE, existing.broker_epoch)"),
    Mutant("one_change_at_a_time", "unregistered", "controller.py",
           "deferred(controller, voter, error)\n    s.alterations = s.alterations.remove(request)",
           "deferred(controller, voter, error)"),
    Mutant("alter_isr_reply_is_true", "unregistered", "controller.py",
           "return AlterIsrReply(error, at_new_leader_epoch, after.partition_epoch, after.isr)",
           "return AlterIsrReply(error, at_new_leader_epoch, before.partition_epoch, after.isr)"),
    Mutant("isr_gains_who_is_asked_for", "lifecycle", "partition.py",
           "joins = not Design.unfencing_joins_no_isr and", "joins = Design.unfencing_joins_no_isr or"),
    Mutant("leads_as_elected", "lifecycle", "broker.py",
           "leads = partition.leader == node_id(process)", "leads = node_id(process) in partition.isr"),
    Mutant("leader_keeps_its_word", "lifecycle", "broker.py",
           "partition_epoch=partition.partition_epoch,\n        isr=partition.isr,\n        asked=None if settled",
           "isr=partition.isr,\n        asked=None if settled"),
    Mutant("leader_epoch_rises_for_cause", "lifecycle", "partition.py",
           "or not everyone(partition.replicas) <= everyone(after.replicas):", "or partition.isr != after.isr:"),
    Mutant("service_is_remembered", "lifecycle", "broker.py",
           "last.leader_epoch < epoch else last", "last.leader_epoch > epoch else last"),
    Mutant("record_is_owed_until_lost", "unregistered", "controller.py",
           "if last and not s.processes[request.sender].replicas[p].has_record and", "if last and"),
    Mutant("record_comes_from_its_leader", "unregistered", "replica.py",
           "require(serving.topic == fetching.topic and serving.leader_epoch == leader_epoch)",
           "require(serving.topic == fetching.topic)"),
    Mutant("holders_were_seen", "unregistered", "replica.py",
           "if fetching.has_record and serving.has_record:", "if serving.has_record:"),
    Mutant("office_is_of_one_epoch", "election", "quorum.py",
           "require(leads(source) and controller.epoch < source.epoch)",
           "require(leads(source) and controller.epoch <= source.epoch)"),
    Mutant("nothing_is_kept_of_a_log_with_a_gap", "election", "quorum.py",
           "image=nothing_known(), log=())", "image=nothing_known())"),
    Mutant("log_follows_its_leader", "election", "quorum.py", "source.log[same : same + 1]", "source.log[same:]"),
    Mutant("commit_is_of_who_has_the_batch", "election", "quorum.py",
           "if has_batch(controller, batch, 0) and not (leads(controller) and controller.epoch < epoch):",
           "if has_batch(controller, batch, 0):"),
    Mutant("leases_are_for_the_active_controller", "election", "faults.py", "controller.role == Role.ACTIVE",
           "controller.role != Role.ACTIVE"),
    Mutant("every_controller_follows", "elections_end", "quorum.py",
           "controller.log = controller.log[:same]", "controller.log = controller.log"),
    Mutant("committed_until_the_last_is_lost", "abstract_isr", "abstract_isr.py",
           "require(r.committed and r.isr == {last})", "require(r.committed and last in r.isr)"),
    Mutant("epoch_is_of_one_leader", "abstract_isr", "abstract_isr.py", "    r.leader = None\n", ""),
    Mutant("leader_and_holders_are_in_the_isr", "abstract_isr", "abstract_isr.py",
           "require(member in r.isr and member not in r.holders)", "require(member not in r.holders)"),
    Mutant("record_is_copied_to_one_at_a_time", "abstract_isr", "abstract_isr.py", "r.holders & isr", "isr"),
    Mutant("lease_is_as_old_as_the_silence", "timed", "timed.py",
           "s.exchange = Exchange.QUEUED\n    s.silence = 0", "s.exchange = Exchange.QUEUED"),
    Mutant("heartbeat_takes_its_course", "timed", "timed.py",
           "s.exchange = Exchange.ANSWERED\n        s.delay = 0", "s.exchange = Exchange.ANSWERED"),
    Mutant("queue_moves_as_a_whole", "timed", "timed.py", "require(s.stall == 0 and lease_is_over(s))",
           "require(lease_is_over(s))"),
    Mutant("clocks_run_alike", "timed", "timed.py", "s.stall = max(s.stall - 1, 0)", "s.stall = 0"),
    Mutant("fenced_after_silence", "timed_failover", "timed.py",
           "    s.lease_age = 0 if Timing.lease_begins_anew else Timing.session_timeout_ticks\n", ""),
    Mutant("broker_turns_to_the_active_controller", "timed_failover", "timed.py",
           "require(s.heard < s.failovers and s.exchange != Exchange.SENT)", "require(s.heard < s.failovers)"),
    Mutant("nothing_is_owed_of_a_deleted_topic", "recreated", "topics.py",
           "    s.produced = Map({p: RecordStatus.UNWRITTEN for p in TopicPartition})\n", ""),
    Mutant("removal_is_never_truncated", "deletion", "topics.py", "and removal.epoch == controller.epoch and", "and"),
    Mutant("removal_is_of_what_there_is", "deletion", "topics.py",
           "require(can_decide(controller) and image.topic is not None)", "require(can_decide(controller))"),
    Mutant("deleted_topic_changes_nothing", "deletion", "controller.py",
           "Design.kip_516 and image.topic != request.topic", "not Design.kip_516"),
    Mutant("image_is_replay_of_log", "unregistration", "log.py",
           "kept = None if removes_registration(delta, broker) else", "kept ="),
    Mutant("snapshot_stands_for_log", "removal", "log.py",
           "return second if len(first) == 0 else first", "return first"),
    Mutant("what_is_written_changes_something", "failover_shutdown", "log.py",
           "if after is None or after == before", "if after is None"),
    Mutant("superseded_incarnation_changes_nothing", "failover_twins", "controller.py",
           "registration.broker_epoch != request.broker_epoch:\n        if waits:",
           "registration.broker_epoch < request.broker_epoch:\n        if waits:"),
    Mutant("listing_is_true", "failover_reassignment", "administration.py",
           "ReassignmentListing(p, is_reassigned(partition),", "ReassignmentListing(p, not is_reassigned(partition),"),
]  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_changed_action_breaks_it(mutant: Mutant) -> None:
    model = planted(load(f"kraft/{mutant.model}"), mutant.file, mutant.old, mutant.new)
    alone = model.with_properties([p for p in model.model.properties if p.name == mutant.breaks])
    report = check(alone, Options(threads=2), started=time.perf_counter())
    assert [p.name for p in report.properties if p.verdict == "violated"] == [mutant.breaks]


def test_every_property_can_fail() -> None:
    """By a mutant here, or by a pinned switch or setting."""
    broken = {m.breaks for m in MUTANTS}
    for pin in read_pins(ROOT / "tests" / "pins.toml"):
        if pin.target.startswith("kraft/"):
            broken |= set(pin.expected.get("violated", {}))
    named = {p.name for m in load_spec("kraft").models for p in m.properties if p.kind != "witness"}
    assert named - broken == set()
