"""KIP-39: what no design switch breaks, a small change to an action does."""

from __future__ import annotations

import pytest

from tests.planted import Mutant, assert_broken, never_broken

MUTANTS = [
    Mutant("former_controller_is_refused", "zombie", "send_request",
           "require(not has_heard_of_later(s.brokers[to].heard, process.epoch))"),
    Mutant("winner_saw_no_other_ready", "repin", "may_run", "process.waits_for is None"),
    Mutant("request_ends_for_cause", "pin", "request_after_election",
           "None if process.phase == Phase.LAPSED and process.waits_for == standing.target else standing", "None"),
    Mutant("request_ends_for_cause", "repin_crash", "request_after_election", "process.waits_for == standing.target"),
    Mutant("served_is_told_of_served", "repin", "answer_served", "require(is_served(s, s.asked[0]))"),
    Mutant("served_is_told_of_served", "hung", "is_served", "s.controller.broker == asked.target"),
    Mutant("outsider_resigns_for_member", "preferred", "standing_watches",
           "office if is_preferred(broker) else office | {Path.PREFERRED}", "office | {Path.PREFERRED}"),
    Mutant("outsider_resigns_for_member", "preferred", "resign_for_member", "len(s.members) > 0", "",
           {"max_crashes": "2"}),
    Mutant("takeover_leaves_no_gap", "takeover", "take_over", "s.controller = Controller(broker, session)",
           "s.controller = None"),
    Mutant("request_is_answered", "live", "answer_timed_out", "require(not is_served(s, s.asked[0]))",
           "require(s.next_controller is None)", {"max_requests": "1", "max_early_lapses": "0"}),
]  # fmt: skip


@pytest.mark.sample(4)
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_changed_action_breaks_it(mutant: Mutant) -> None:
    assert_broken("pinning", mutant)


def test_every_property_can_fail() -> None:
    """By a mutant here, or by a pinned switch, setting or bug of the gallery."""
    assert never_broken("pinning", MUTANTS) == set()
