"""KIP-268: what no design switch breaks, a small change to an action does."""

from __future__ import annotations

import pytest

from tests.planted import Mutant, assert_broken, never_broken

MUTANTS = [
    Mutant("upgrade_from_is_obeyed", "two_bounces", "first_used",
           "supported(bounces) if stands_for(bounces) is None else version_of(Design.from_release)",
           "supported(bounces)"),
    Mutant("some_old_member_lives", "two_bounces", "kills", "supports(s, leader) < 3", "supports(s, leader) < 4",
           {"sets_upgrade_from": "false"}),
    Mutant("upgrade_from_holds_all_back", "two_bounces", "version_of_answers",
           "own < 3 and not Design.answers_in_lowest", "own >= 3"),
    Mutant("each_task_is_assigned_once", "tasks", "share_of", "owners[task] == thread", "owners[task] is not None"),
    Mutant("each_task_is_assigned", "tasks", "share_of", "owners[task] == thread",
           "owners[task] == thread and task in had(s, leader, thread)"),
    Mutant("who_waits_owns_nothing", "tasks", "waiting", "tasks=frozenset()", "tasks=own.tasks"),
    Mutant("who_has_it_is_listed", "tasks", "listed", "version > 1", "version > 3"),
    Mutant("tasks_stay", "tasks", "kept_in_probe", "had(s, leader, thread)", "frozenset()",
           {"probe_moves_tasks": "false"}),
    Mutant("tasks_are_shared_out_evenly", "tasks", "fair_share",
           "least + 1 if ahead < Design.tasks % members else least", "Design.tasks"),
    Mutant("as_many_tasks_stay_as_can", "tasks", "keeps", "task in own", "task not in own"),
    Mutant("left_is_what_nobody_is_given", "tasks", "gives", "task in made.tasks", "task not in made.tasks"),
    Mutant("version_rises_as_offered", "three_versions", "used_after",
           "min(assignment.supported, supports(s, thread))", "max(assignment.supported, supports(s, thread))"),
    Mutant("crash_stops_a_process", "crash", "crash",
           "s.processes[process].up and s.faults.crashes < Design.max_crashes",
           "not s.processes[process].up and s.faults.crashes < Design.max_crashes"),
    Mutant("expiry_removes_a_member", "expiry", "expire_early", "s.group = without(s.group, thread)", "pass"),
    Mutant("rollback_takes_a_bounce_back", "rollback", "roll_back", "s.processes[process].bounces = bounces - 1"),
    Mutant("failover_loads_what_was_stored", "failover", "fail_over",
           "leader=s.stored.leader", "leader=s.group.leader"),
    Mutant("owners_are_who_took_last", "tasks", "take_assignment", "s.settled |= {thread}", "pass"),
    Mutant("probe_is_remembered_as_one", "tasks", "assign", "Design.tasks > 0 and is_probe(s, thread)", "True"),
    Mutant("all_are_answered_in_an_old_version", "beside_old", "answer", "not is_mixed(s, leader)", "",
           {"group_minimum": "false"}),
    Mutant("who_does_not_run_has_nothing", "missing_topic", "gone", "wants_to_rejoin=False", "wants_to_rejoin=True"),
    Mutant("group_is_of_its_members", "offline", "without", "GroupState.EMPTY", "GroupState.PREPARING"),
    Mutant("who_waits_is_parked", "offline", "stable", "syncing=frozenset()", "syncing=group.syncing"),
    Mutant("answer_is_under_way_to_who_syncs", "offline", "with_answer", "state=ThreadState.SYNCING",
           "state=own.state"),
    Mutant("every_member_is_assigned_something", "offline", "answer", "s.group.subscriptions[thread] is None", "False"),
    Mutant("stable_group_is_stored", "failover", "assign", "s.stored = stored(s, made, hosts)", "pass"),
    Mutant("who_has_its_id_is_known", "failover", "stored", "s.threads[t].state not in without_id"),
    Mutant("one_process_is_down_at_a_time", "missing_topic", "bounce", "all(s.processes[p].up for p in Process)"),
    Mutant("operator_waits", "two_bounces", "is_settled", "s.threads[t].state == ThreadState.RUNNING"),
    Mutant("who_joins_remembers_its_tasks", "tasks", "subscription_of", "own.state == ThreadState.RUNNING",
           "own.state != ThreadState.RUNNING"),
    Mutant("membership_ends_for_cause", "leaving", "leave", "s.group = without(s.group, thread)", "pass"),
    Mutant("leader_stays_while_it_is_a_member", "offline", "complete_join", "s.group.leader == leader",
           "s.group.leader != leader"),
    Mutant("who_syncs_too_late_joins_again", "tasks", "sync_too_late", "ThreadState.OUT", "ThreadState.RETRY"),
    Mutant("who_loses_an_answer_joins_again", "lost_reply", "lose_reply",
           "s.threads[thread] = waiting(own, ThreadState.RETRY, subscription_of(s, thread))", "pass"),
    Mutant("only_a_new_member_joins_from_outside", "tasks", "may_join", "if not is_member(s, thread): return False",
           "pass"),
    Mutant("unchanged_bytes_disturb_a_stable_group_from_its_leader_only", "failover", "gets_current_generation",
           "s.group.leader != thread", "s.group.leader == thread"),
    Mutant("leader_is_answered", "offline", "with_answer",
           "thread == leader or (thread in s.group.syncing and own.state == ThreadState.SYNCING)",
           "thread in s.group.syncing and own.state == ThreadState.SYNCING"),
]  # fmt: skip


@pytest.mark.sample(1, verify=10)
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_changed_action_breaks_it(mutant: Mutant) -> None:
    assert_broken("streams", mutant)


def test_every_property_can_fail() -> None:
    """By a mutant here, or by a pinned switch, setting or bug of the gallery."""
    assert never_broken("streams", MUTANTS) == set()
