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
    Mutant("leader_changes_for_cause", "reassignment", "partition.py",
           "partition.leader in isr & active:", "partition.leader in isr - active:"),
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
]  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_changed_action_breaks_it(mutant: Mutant) -> None:
    model = planted(load(f"kraft/{mutant.model}"), mutant.file, mutant.old, mutant.new)
    alone = model.with_properties([p for p in model.model.properties if p.name == mutant.breaks])
    report = check(alone, Options(threads=2), started=time.perf_counter())
    assert [p.name for p in report.properties if p.verdict == "violated"] == [mutant.breaks]


BY_MUTATION = {
    "alter_isr_reply_is_true",
    "clocks_run_alike",
    "committed_until_the_last_is_lost",
    "decision_takes_its_request",
    "epoch_is_of_one_leader",
    "failover_loses_soft_state",
    "heartbeat_reply_is_true",
    "heartbeat_takes_its_course",
    "isr_gains_who_is_asked_for",
    "leader_and_holders_are_in_the_isr",
    "leader_epoch_rises_for_cause",
    "leader_keeps_its_word",
    "leads_as_elected",
    "lease_is_as_old_as_the_silence",
    "lease_runs_out_for_silence",
    "office_is_of_one_epoch",
    "one_change_at_a_time",
    "one_request_at_a_time",
    "process_fits_its_state",
    "process_moves_as_told",
    "queue_moves_as_a_whole",
    "record_is_copied_to_one_at_a_time",
    "record_is_owed_until_lost",
    "registered_process_is_told",
    "registration_reply_is_true",
    "service_is_remembered",
    "shutdown_ends_with_registration",
    "starting_process_is_registered",
}
"""Written for survivors of `fencepost mutate`, which shows what they object to (`make mutate`): no mutant of theirs is
pinned here yet."""


def test_every_property_can_fail() -> None:
    """By a mutant here, by a pinned switch or setting, or by what `fencepost mutate` showed."""
    broken = {m.breaks for m in MUTANTS}
    for pin in read_pins(ROOT / "tests" / "pins.toml"):
        if pin.target.startswith("kraft/"):
            broken |= set(pin.expected.get("violated", {}))
    named = {p.name for m in load_spec("kraft").models for p in m.properties if p.kind != "witness"}
    assert named - broken == BY_MUTATION
