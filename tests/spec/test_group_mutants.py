"""The consumer coordinator: what no design switch breaks, a small change to an action does."""

from __future__ import annotations

import pytest

from tests.planted import Mutant, assert_broken, never_broken

MUTANTS = [
    Mutant("one_consumer_fetches", "death", "declare_dead", "s.consumers[consumer].lapsed = True",
           "s.consumers[consumer].lapsed = False"),
    Mutant("each_partition_is_assigned", "crash", "without_member",
           "idle(process.handlers[h].queue) if process.handlers[h].group == group else replace(process.handlers[h])",
           "replace(process.handlers[h])"),
    Mutant("threads_get_their_turn", "three", "thread_for",
           "choose(t for t in threads if is_in_run(rank, len(alike), rank_in(threads, t), len(threads)))",
           "choose(t for t in threads)"),
    Mutant("one_rebalance_at_a_time", "join", "handler_for",
           "any(has_group(process.handlers[h], group) for h in Handler)", "False", {"handlers": "2"}),
    Mutant("waiting_group_has_its_bit_set", "join", "asked_to_rebalance", "bit=True", "bit=False"),
    Mutant("who_is_asked_for_is_not_given_up", "join", "asked_to_rebalance", "gave_up=False", "gave_up=True"),
    Mutant("nobody_is_stopped_for_nothing", "crash", "begin", "has_nothing_to_do(s, broker, group, computed)", "False"),
    Mutant("committed_offset_never_goes_back", "offsets", "committed_offset",
           "max(there, reported) if Design.commit_is_monotone else reported", "0 if there > 0 else reported"),
    Mutant("committed_was_consumed", "offsets", "recorded", "kept | positions",
           "kept | frozenset(Position(p.partition, Design.records) for p in positions)"),
    Mutant("no_record_is_skipped", "offsets", "share_of", "start_offset(s, broker, group, p)", "Design.records"),
    Mutant("starts_where_committed", "offsets", "share_of", "start_offset(s, broker, group, p)", "0"),
    Mutant("dead_are_removed", "crash", "find_dead", "not is_connected(s, broker, consumer)",
           "s.channels[consumer].peer is not None"),
    Mutant("nobody_dies_for_nothing", "timed", "is_dead", "s.silence >= limit()", "s.silence >= INTERVAL"),
    Mutant("nothing_follows_the_end", "timed", "pause", "goes_on(s)", "True"),
    Mutant("timers_decide", "timed", "declare_dead", "is_dead(s)", "s.silence > 0"),
    Mutant("nobody_dawdles", "timed", "somebody_is_due", "is_over(s)", "False"),
    Mutant("time_passes_for_all", "timed", "tick", "s.pause + 1", "s.pause"),
    Mutant("ping_takes_its_way", "timed", "take_ping", "not s.paused", "True"),
    Mutant("lease_is_of_an_answer", "timed", "take_ping", "s.answers[arrived:]", "s.answers"),
    Mutant("answer_is_read_in_time", "timed", "take_answer", "not is_dead(s)", "True"),
    Mutant("fault_has_its_effect", "timed", "cut", "s.requests = ()", "s.requests = s.requests"),
]  # fmt: skip


@pytest.mark.sample(4)
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_changed_action_breaks_it(mutant: Mutant) -> None:
    assert_broken("group", mutant)


def test_every_property_can_fail() -> None:
    """By a mutant here, or by a pinned switch, setting or bug of the gallery."""
    assert never_broken("group", MUTANTS) == set()
