"""Who leads is fetched from, and who stands was granted pre-votes, by a majority with itself."""

from __future__ import annotations

import pytest

from impl.kraft.simulation.contact import Contact
from impl.kraft.simulation.invariants import BrokenRuleError


def test_a_leader_is_fetched_from_by_a_majority() -> None:
    contact = Contact(5, limit_ms=100)
    for now_ms in (0, 100, 200, 300):
        contact.hears(0, 1, now_ms)
        contact.hears(0, 2, now_ms)
        contact.hears(0, 7, now_ms + 150)  # an observer
        contact.look_at(0, now_ms, leads=True)
    contact.hears(0, 1, 450)
    contact.look_at(0, 420, leads=True)
    with pytest.raises(BrokenRuleError, match="check_quorum: node 0 leads, and no majority has fetched for 121 ms"):
        contact.look_at(0, 421, leads=True)


def test_time_begins_anew_with_a_term_and_after_a_pause() -> None:
    contact = Contact(3, limit_ms=100)
    contact.look_at(0, 0, leads=True)
    contact.stops(0)
    contact.look_at(0, 1_000, leads=True)
    contact.look_at(0, 1_100, leads=False)
    contact.look_at(0, 2_000, leads=True)


def test_one_voter_alone_needs_nobody() -> None:
    contact = Contact(1, limit_ms=100)
    for now_ms in (0, 1_000):
        contact.look_at(0, now_ms, leads=True)
    contact.stands(0)


def test_who_stands_was_granted_pre_votes() -> None:
    contact = Contact(5, limit_ms=100)
    contact.grants(0, 1)
    contact.grants(0, 2)
    contact.stands(0)
    contact.grants(0, 1)
    with pytest.raises(BrokenRuleError, match=r"prevote: node 0 stands, and only \[1\] would vote for it"):
        contact.stands(0)
