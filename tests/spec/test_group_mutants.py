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
    Mutant("former_has_forgotten", "topics", "cleared", "new_topics=False", "new_topics=process.new_topics"),
    Mutant("new_coordinator_knows_no_group", "topics", "elect", "s.zookeeper.coordinator is None", "True"),
    Mutant("topics_are_watched", "topics", "with_topics", "new_topics=False", "new_topics=process.new_topics"),
    Mutant("assigned_partition_is_known", "topics", "assigned", "is_interested(s.brokers[broker], topic_of(p))",
           "True"),
    Mutant("phase_has_its_marks", "late", "time_out", "assignment=unowned()", "assignment=current.assignment"),
    Mutant("who_is_asked_for_waits", "join", "begin", "s.brokers[broker].registries[group].bit = False",
           "s.brokers[broker].registries[group].bit = True"),
    Mutant("failure_is_of_the_last_retry", "late", "time_out", "current.retries < Design.max_retries", "False"),
    Mutant("who_is_connected_is_a_member", "crash", "find_dead", "removed_from(s, broker, frozenset({consumer}))",
           "s.channels"),
    Mutant("who_is_away_has_nothing", "crash", "closed_by_consumer", "requests=()", "requests=channel.requests"),
    Mutant("answer_comes_first", "crash", "is_open", "channel.server == broker", "True"),
    Mutant("requests_are_taken_in_order", "crash", "has_registration", "len(channel.requests) == 0", "True"),
    Mutant("request_is_carried_out", "join", "take_answer", "process.heard = answer.epoch"),
    Mutant("member_keeps_its_connection", "topics", "has_registration", "not channel.broken", "True"),
    Mutant("position_moves_by_a_record", "pings", "consume", "position.offset + 1", "position.offset + 2"),
    Mutant("rebalance_is_asked_for_with_reason", "topics", "asked_if", "len(process.registries[group].members) > 0",
           "True"),
    Mutant("rebalance_begins_where_it_is_asked_for", "topics", "begin", "not process.waits_out", "True"),
    Mutant("start_brings_the_share", "three", "is_owner",
           "any(owners[partition] == t for t in Thread if consumer_of(t) == consumer)",
           "all(owners[partition] == t for t in Thread if consumer_of(t) == consumer)"),
    Mutant("session_ends_with_reason", "topics", "after_longest_session", "is_connected(s, broker, consumer)", "False"),
    Mutant("write_needs_the_office", "topics", "commit_and_go_on", "not is_refused(s, broker)", "True"),
    Mutant("office_is_left_with_reason", "topics", "step_down",
           "is_writing or any(has_uncommitted(s, broker, g) for g in Group)", "True"),
    Mutant("event_is_of_a_change", "topics", "create", "partition not in s.zookeeper.partitions", "True"),
    Mutant("fault_hits_whom_it_may", "death", "suspect_early", "process.state == ConsumerState.JOINED", "True"),
    Mutant("reports_stay", "pings", "recorded", "kept | positions", "positions"),
    Mutant("unanswered_pings_are_under_way", "pings", "fail_ping", "registry.unanswered[consumer] > missed", "True"),
    Mutant("ping_fails_on_a_connection", "pings", "fail_ping", "is_open(s, broker, consumer)", "True"),
    Mutant("states_follow", "topics", "started_anew", "process.state == ConsumerState.SHUTTING_DOWN",
           "process.state != ConsumerState.SHUTTING_DOWN"),
    Mutant("members_are_stored", "section2", "register", "s.zookeeper.groups[group].members |= {consumer}"),
    Mutant("who_is_waited_for_has_no_socket", "section2", "close_sockets", "removed_from(s, broker, awaited)",
           "s.channels"),
    Mutant("assignment_waits_for_all", "section2", "complete", "len(current.waits_for) == 0", "True"),
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


@pytest.mark.sample(2, verify=12)
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_changed_action_breaks_it(mutant: Mutant) -> None:
    assert_broken("group", mutant)


def test_every_property_can_fail() -> None:
    """By a mutant here, or by a pinned switch, setting or bug of the gallery."""
    assert never_broken("group", MUTANTS) == set()
