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
    Mutant("outsider_resigns_for_member", "preferred", "resign_for_member", "len(s.members) > 0"),
    Mutant("takeover_leaves_no_gap", "takeover", "take_over", "s.controller = Controller(broker, session)",
           "s.controller = None"),
    Mutant("request_is_answered", "live", "answer_timed_out", "require(not is_served(s, s.asked[0]))",
           "require(s.next_controller is None)", {"max_requests": "1", "max_early_lapses": "0"}),
    Mutant("answer_is_what_was_read", "lost_reply", "answer_served", "Answer.SERVED", "Answer.REQUEST_TIMED_OUT"),
    Mutant("election_serves_its_own_request", "mixed", "wanted_after_election", "s.wanted == broker"),
    Mutant("lapse_has_a_cause", "pin", "is_coming", "Path.CONTROLLER in process.events"),
    Mutant("legacy_broker_reads_no_request", "mixed", "after_pull", "not is_legacy(broker)"),
    Mutant("members_are_known_or_heard_of", "preferred", "seen_in_pull", "is_preferred(broker)"),
    Mutant("memory_is_of_the_phase", "lost_reply", "abstain", "process.waits_for = None", "pass"),
    Mutant("moves_are_counted", "rolling_takeover", "take_over", "s.moves + 1", "s.moves"),
    Mutant("nobody_unable_is_in_office", "refused", "begin_term", "broker not in s.unable"),
    Mutant("office_is_left_with_controller", "lost_reply", "resign", "out_of_office(process)", "process"),
    Mutant("outsider_hears_of_member", "preferred", "concerns", "return len(s.members) > 0",
           "return len(s.members) > 1"),
    Mutant("change_of_members_is_handled", "preferred", "resign_for_member", "process.phase == Phase.IN_OFFICE",
           "process.phase == Phase.WATCHING"),
    Mutant("resigns_for_the_request_that_stands", "lost_reply", "must_hand_over",
           "standing.request == s.ready.request"),
    Mutant("pull_is_up_to_date", "lost_reply", "hear_of_other", "frozenset({Path.READY})", "frozenset({Path.NEXT})"),
    Mutant("ready_is_taken_back_by_its_owner", "lost_reply", "resign", "s.controller = None", "s.ready = None"),
    Mutant("ready_is_taken_back_by_its_owner", "pin", "ready_after_election", "spent and owns_ready(s, broker)",
           "spent"),
    Mutant("request_is_known_or_heard_of", "lost_reply", "stay",
           "process.armed = with_ready(s, process.armed)", "pass"),
    Mutant("request_is_settled_in_office", "mixed", "settle_request", "owns_office(s, broker)"),
    Mutant("request_is_taken_from_the_sender", "zombie", "send_request", "process.phase == Phase.IN_OFFICE"),
    Mutant("session_ends_whole", "zombie", "expire", "s.controller = None", "pass"),
    Mutant("session_is_needed", "zombie", "begin_term", "runs(process)"),
    Mutant("stopped_process_has_forgotten", "pin", "crash", "forgotten(process)", "process"),
    Mutant("vacancy_is_known_or_heard_of", "lost_reply", "after_change",
           "Phase.WATCHING if abstains_no_more else process.phase", "process.phase"),
    Mutant("watches_are_set", "pin", "standing_watches", "office | {Path.NEXT}", "{Path.NEXT}"),
    Mutant("write_is_of_a_decision", "zombie", "write", "process.decided = ()", "pass"),
]  # fmt: skip


@pytest.mark.sample(2, verify=12)
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_changed_action_breaks_it(mutant: Mutant) -> None:
    assert_broken("pinning", mutant)


def test_every_property_can_fail() -> None:
    """By a mutant here, or by a pinned switch, setting or bug of the gallery."""
    assert never_broken("pinning", MUTANTS) == set()
