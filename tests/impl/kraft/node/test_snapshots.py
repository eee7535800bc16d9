"""Snapshots of a quorum: who lacks the log that others have deleted gets one, and goes on from its end."""

from __future__ import annotations

from uuid import UUID

from impl.kraft.messages import BrokerRegistrationRequest
from impl.kraft.snapshot import write_snapshot
from tests.impl.kraft.node.quorum import VOTERS, Quorum

LEADER, BEHIND = 0, 2


def register(quorum: Quorum, broker_id: int, cut_off: tuple[int, ...] = ()) -> None:
    quorum.ask(LEADER, broker_id, BrokerRegistrationRequest(broker_id, "", UUID(int=broker_id)))
    quorum.settle(cut_off)


def one_behind(piece_bytes: int = 1 << 20) -> Quorum:
    """Node 2 has heard of nothing but an election; the others have a snapshot, and no log before it."""
    quorum = Quorum(piece_bytes, segment_bytes=150)
    quorum.elect(LEADER)
    for broker_id in range(5):
        register(quorum, broker_id, (BEHIND,))
    for voter in VOTERS[:2]:
        assert quorum.write_snapshot(voter, deletes=True) == (6, 1)
        assert quorum.storages[voter].log.start_offset == 5, "the segment that is written to is kept"
    return quorum


def are_alike(quorum: Quorum) -> bool:
    images = [write_snapshot(node.controller.committed) for node in quorum.nodes]
    return all(image == images[0] for image in images)


def test_who_is_behind_gets_the_snapshot_in_pieces_and_then_the_log() -> None:
    quorum = one_behind(piece_bytes=100)
    register(quorum, 7, (BEHIND,))
    quorum.settle()
    assert quorum.storages[BEHIND].snapshots.ids == [(6, 1)]
    assert quorum.storages[BEHIND].log.start_offset == 6 and quorum.nodes[BEHIND].applied_end == 7
    assert are_alike(quorum)


def test_who_has_got_a_snapshot_counts_for_the_majority() -> None:
    quorum = one_behind()
    quorum.settle()
    register(quorum, 7, (1,))
    assert 7 in quorum.nodes[BEHIND].controller.committed.registrations
    assert quorum.replies[LEADER][7].error == 0


def test_a_node_starts_from_its_snapshot_and_has_what_is_behind_it_once_it_is_committed() -> None:
    quorum = one_behind()
    quorum.settle()
    register(quorum, 7)
    for voter in (BEHIND, 1):
        quorum.restart(voter)
        assert quorum.nodes[voter].applied_end == 6, "what a snapshot stands for is committed"
        quorum.settle()
    assert are_alike(quorum) and quorum.nodes[BEHIND].applied_end == 7


def test_a_node_that_starts_from_a_snapshot_leads() -> None:
    quorum = one_behind()
    quorum.settle()
    quorum.restart(BEHIND)
    quorum.nodes[LEADER].resign(quorum.now_ms)
    quorum.elect(BEHIND)
    quorum.ask(BEHIND, 9, BrokerRegistrationRequest(9, "", UUID(int=9)))
    quorum.settle()
    assert quorum.replies[BEHIND][9].error == 0 and are_alike(quorum)
