"""Tasks of topics, and who gets which: everything once, evenly, and where it was."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impl.streams.metadata import TaskId, TopicPartition
from impl.streams.tasks import Candidate, Shares, missing_topics, shared_out, tasks_of

TASKS = [TaskId(group, number) for group in range(2) for number in range(3)]


def candidates(count: int, processes: int) -> list[Candidate]:
    return [Candidate(f"m{place}", UUID(int=place % processes)) for place in range(count)]


def having(shares: Shares, those: list[Candidate]) -> list[Candidate]:
    """The same members, in the next generation."""
    return [one._replace(previous=shares.active[one.member], on_disk=shares.standby[one.member]) for one in those]


def test_tasks_are_numbered_by_group_and_partition() -> None:
    groups = {0: ("b", "a"), 1: ("c",)}
    found = tasks_of(groups, {"a": 1, "b": 2, "c": 1, "other": 9})
    assert found == {
        TaskId(0, 0): [TopicPartition("a", 0), TopicPartition("b", 0)],
        TaskId(0, 1): [TopicPartition("b", 1)],
        TaskId(1, 0): [TopicPartition("c", 0)],
    }
    assert missing_topics(groups, {"a": 1, "b": 0}) == ["b", "c"]


def test_members_get_tasks_in_turn() -> None:
    shares = shared_out(TASKS, candidates(3, 3))
    assert shares.active == {f"m{place}": [TaskId(0, place), TaskId(1, place)] for place in range(3)}


def test_a_task_goes_to_who_has_it_on_disk_and_has_room() -> None:
    first, second = candidates(2, 2)
    shares = shared_out(TASKS[:2], [first._replace(on_disk=TASKS[1:2]), second])
    assert shares.active == {"m0": [TASKS[1]], "m1": [TASKS[0]]}
    full = first._replace(previous=TASKS[:1], on_disk=TASKS[1:2])
    assert shared_out(TASKS[:2], [full, second]).active == {"m0": [TASKS[0]], "m1": [TASKS[1]]}


def test_of_two_that_had_a_task_the_first_keeps_it() -> None:
    both = [one._replace(previous=TASKS[:1]) for one in candidates(2, 2)]
    assert shared_out(TASKS[:2], both).active == {"m0": [TASKS[0]], "m1": [TASKS[1]]}


def test_a_new_member_gets_tasks_where_they_do_not_divide_evenly() -> None:
    first, second, new = candidates(3, 3)
    had = [first._replace(previous=TASKS[:2]), second._replace(previous=TASKS[2:4]), new]
    assert shared_out(TASKS[:4], had).active == {"m0": TASKS[:2], "m1": TASKS[2:3], "m2": TASKS[3:4]}


@pytest.mark.long("hundreds of groups")
@settings(max_examples=150, deadline=None)
@given(st.integers(1, 6), st.integers(1, 4), st.integers(0, 12), st.integers(0, 3), st.data())
def test_shares(members: int, processes: int, tasks: int, replicas: int, data: st.DataObject) -> None:
    """Every task has one owner and its standbys on other processes, evenly; and nothing moves without a reason."""
    order = [TaskId(number % 3, number) for number in range(tasks)]
    those = candidates(members, processes)
    shares = shared_out(order, those, replicas)
    assert sorted(task for tasks in shares.active.values() for task in tasks) == sorted(order)
    counts = [len(tasks) for tasks in shares.active.values()]
    assert max(counts) - min(counts) <= 1
    process = {one.member: one.process for one in those}
    for task in order:
        holders = [process[m] for half in shares for m, tasks in half.items() if task in tasks]
        assert len(holders) == len(set(holders)) == min(replicas, min(members, processes) - 1) + 1
    assert shared_out(order, having(shares, those), replicas) == shares
    leaver = data.draw(st.integers(0, members - 1))
    left = [one for place, one in enumerate(having(shares, those)) if place != leaver]
    after = shared_out(order, left, replicas).active
    assert all(set(one.previous) <= set(after[one.member]) for one in left)
    joined = [*having(shares, those), Candidate("n", UUID(int=99))]
    after = shared_out(order, joined, replicas).active
    for one in joined[:-1]:
        assert set(after[one.member]) <= set(one.previous)
    counts = [len(tasks) for tasks in after.values()]
    assert max(counts) - min(counts) <= 1
    assert sum(counts) == tasks
