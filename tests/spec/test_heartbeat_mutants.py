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
]  # fmt: skip


@pytest.mark.sample(4)
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_changed_action_breaks_it(mutant: Mutant) -> None:
    assert_broken("heartbeat", mutant)


def test_every_property_can_fail() -> None:
    """By a mutant here, or by a pinned switch, setting or bug of the gallery."""
    assert never_broken("heartbeat", MUTANTS) == set()
