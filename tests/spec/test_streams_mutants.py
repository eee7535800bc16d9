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
    Mutant("upgrade_from_holds_all_back", "two_bounces", "answer", "own < 3 and not Design.answers_in_lowest",
           "own >= 3"),
    Mutant("each_task_is_assigned_once", "tasks", "share_of", "owners[task] == thread", "owners[task] is not None"),
    Mutant("each_task_is_assigned", "tasks", "share_of", "owners[task] == thread",
           "owners[task] == thread and task in had(s, leader, thread)"),
    Mutant("who_waits_owns_nothing", "tasks", "waiting", "tasks=frozenset()", "tasks=own.tasks"),
    Mutant("tasks_stay", "tasks", "share_of", "had(s, leader, thread)", "frozenset()",
           {"probe_moves_tasks": "false"}),
]  # fmt: skip


@pytest.mark.sample(2)
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_changed_action_breaks_it(mutant: Mutant) -> None:
    assert_broken("streams", mutant)


def test_every_property_can_fail() -> None:
    """By a mutant here, or by a pinned switch, setting or bug of the gallery."""
    assert never_broken("streams", MUTANTS) == set()
