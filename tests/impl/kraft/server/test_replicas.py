"""What a leader remembers of those that fetch: where they are, and when they had all that there was."""

from __future__ import annotations

from impl.kraft.server.replicas import OBSERVER_SESSION_MS, Replica, Replicas

VOTERS = (1, 2)


def test_who_has_reached_the_end_is_caught_up() -> None:
    assert Replica().fetched(5, 5, 100) == Replica(5, 100, 100, 5)


def test_who_reaches_the_end_of_its_last_fetch_was_caught_up_then() -> None:
    behind = Replica().fetched(3, 5, 100)
    assert behind.caught_up_ms == -1
    assert behind.fetched(4, 9, 200).caught_up_ms == -1
    assert behind.fetched(5, 9, 200).caught_up_ms == 100


def test_of_another_epoch_nothing_is_known() -> None:
    replicas = Replicas()
    replicas.note(3, 1, 5, 5, 100)
    assert replicas.of(3) == {1: Replica(5, 100, 100, 5)} and replicas.of(4) == {}
    replicas.note(4, 2, 6, 6, 200)
    assert set(replicas.of(4)) == {2} and replicas.of(3) == {}


def test_observers_are_no_voters_have_an_id_and_fetch() -> None:
    replicas = Replicas()
    for replica_id in (12, 1, 11, -1):
        replicas.note(3, replica_id, 5, 5, 100 + replica_id)
    assert list(replicas.observers(3, VOTERS, 200)) == [11, 12]
    assert list(replicas.observers(3, VOTERS, 111 + OBSERVER_SESSION_MS)) == [12]
