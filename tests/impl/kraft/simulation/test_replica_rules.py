"""Rules of partitions' replicas: what brokers may do is taken, and each rule is broken by one event."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

import pytest

from impl.kraft.image import PartitionKey
from impl.kraft.simulation.invariants import BrokenRuleError
from impl.kraft.simulation.replica_rules import ReplicaRules
from impl.kraft.storage.batches import Entry

KEY = UUID(int=1), 0
OLD, NEW = Entry(1, 0, 10), Entry(2, 0, 11)
OTHER = Entry(2, 1, 12)
A, B, C = 1, 2, 3
Event = Callable[[ReplicaRules], None]


def rules() -> ReplicaRules:
    """A leads B and C, all have a record that is committed; A and B have another one."""
    found = ReplicaRules()
    found.lead(A, KEY, 0)
    for broker in (B, C):
        found.follow(broker, KEY, 0)
    for broker in (A, B, C):
        found.append(broker, KEY, [OLD])
    found.decide(KEY, (A, B, C))
    found.serve(KEY, 0, B, 1)
    found.commit(A, KEY, 1, [A, B, C])
    found.commit(B, KEY, 1, None)
    for broker in (A, B):
        found.append(broker, KEY, [NEW])
    return found


def go_over_to_c(found: ReplicaRules) -> None:
    found.decide(KEY, (B, C))
    found.lead(C, KEY, 1)
    found.append(C, KEY, [OTHER])
    found.follow(B, KEY, 1)
    found.truncate(B, KEY, 1)
    found.append(B, KEY, [OTHER])
    found.commit(C, KEY, 2, [B, C])
    found.commit(B, KEY, 2, None)


def test_what_is_not_committed_may_be_cut() -> None:
    go_over_to_c(rules())


def test_a_process_may_die_in_a_write() -> None:
    for left in ([OLD], [OLD, NEW]):
        rules().start(A, {KEY: left})
    for left in ([OLD], [OLD, NEW]):
        found = rules()
        found.truncate(B, KEY, 1)
        found.start(B, {KEY: left})


@pytest.mark.parametrize("logs", [{}, {KEY: []}, {KEY: [OLD, NEW]}], ids=["gone", "empty", "as it was"])
def test_a_process_may_die_as_it_deletes_a_log(logs: dict[PartitionKey, list[Entry]]) -> None:
    found = rules()
    found.delete(B, KEY)
    found.start(B, logs)


def test_who_is_no_replica_any_more_lacks_what_a_late_leader_commits() -> None:
    found = rules()
    found.decide(KEY, (A, B))
    found.delete(C, KEY)
    found.commit(A, KEY, 2, [A, B, C])
    found.follow(C, KEY, 0)
    with pytest.raises(BrokenRuleError, match="D3"):
        found.commit(A, KEY, 2, [A, B, C])


def test_an_unclean_election_loses_what_was_committed() -> None:
    found = rules()
    found.decide(KEY, (A, B))
    found.commit(A, KEY, 2, [A, B])
    found.lead(C, KEY, 1, is_recovering=True)
    found.decide(KEY, (C,))
    found.append(C, KEY, [OTHER])
    found.commit(C, KEY, 2, [C])


def commit_without_c(found: ReplicaRules) -> None:
    found.decide(KEY, (A, B))
    found.commit(A, KEY, 2, [A, B])


def lead_c(found: ReplicaRules) -> None:
    found.lead(C, KEY, 1)


BROKEN: dict[str, tuple[str, Sequence[Event]]] = {
    "two leaders": ("D1", [lambda found: found.lead(B, KEY, 0)]),
    "another batch": ("D2", [lambda found: found.append(C, KEY, [Entry(2, 0, 99)])]),
    "an epoch that goes down": ("D2", [go_over_to_c, lambda found: found.append(B, KEY, [Entry(3, 0, 9)])]),
    "committed without a member of the ISR": ("D3", [lambda found: found.commit(A, KEY, 2, [A, B, C])]),
    "committed beyond the log": ("D3", [lambda found: found.commit(C, KEY, 2, None)]),
    "committed by a follower": ("D3", [lambda found: found.commit(B, KEY, 2, None)]),
    "a leader without what is committed": ("D4", [commit_without_c, lead_c]),
    "committed without the newest leader": ("D4", [lead_c, commit_without_c]),
    "what is committed is cut": ("D5", [lambda found: found.truncate(B, KEY, 0)]),
    "more than a follower has": ("D6", [lambda found: found.serve(KEY, 0, C, 2)]),
    "a log that is gone": ("D7", [lambda found: found.start(B, {})]),
    "a record that is gone": ("D7", [lambda found: found.start(B, {KEY: []})]),
    "another record": ("D7", [lambda found: found.start(C, {KEY: [Entry(1, 0, 99)]})]),
    "a record that was never written": ("D7", [lambda found: found.start(C, {KEY: [OLD, NEW]})]),
    "a member of the ISR without what is committed": ("D8", [lambda found: found.commit(A, KEY, 2, [A, B])]),
    "metadata that goes back": ("D9", [lambda found: found.apply(A, 7), lambda found: found.apply(A, 6)]),
    "who joins the ISR without it": ("D8", [commit_without_c, lambda found: found.decide(KEY, (A, B, C))]),
}


@pytest.mark.parametrize(("rule", "events"), BROKEN.values(), ids=BROKEN)
def test_each_rule_can_be_broken(rule: str, events: Sequence[Event]) -> None:
    found, (*before, last) = rules(), events
    for event in before:
        event(found)
    with pytest.raises(BrokenRuleError, match=rule):
        last(found)
