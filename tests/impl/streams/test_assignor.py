"""The assignor reacts to configurations and received versions, switch by switch: the unit tests of its test plan."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from impl.streams.assignor import Outcome, Said, Sources, assign, on_assignment, subscription
from impl.streams.codec import decode_assignment
from impl.streams.consumer_protocol import (
    ConsumerAssignment,
    ConsumerSubscription,
    assignment_bytes,
    read_assignment,
    read_subscription,
    subscription_bytes,
)
from impl.streams.design import SHIPPED_2_0, Design
from impl.streams.errors import Cause, FatalError, IllegalStateException, TaskAssignmentException
from impl.streams.metadata import AssignmentInfo, HostPartitions, TaskId, TopicPartition
from impl.streams.versions import RELEASES, Release

SOURCES = Sources({0: ("t",)}, {"t": 4})
V3, V4, V8, V9 = (replace(RELEASES[name], design=Design()) for name in ("2.0", "2.3.1", "2.7", "2.8"))
OLD, FIXED, UNFIXED = RELEASES["0.10.0"], RELEASES["1.1.1"], RELEASES["1.1.0"]


def having(release: Release, **switches: bool) -> Release:
    return replace(release, design=replace(release.design, **switches))


def data(release: Release, used: int, number: int, *previous: int, endpoint: str = "") -> bytes:
    said = Said(used, UUID(int=number), [TaskId(0, one) for one in previous], endpoint=endpoint)
    return subscription(release, said)


def assigned(leader: Release, *members: tuple[Release, int]) -> list[tuple[int, int, int]]:
    """Per member the version that it is sent, the supported one, and how many tasks."""
    sent = {f"m{place}": data(release, used, place) for place, (release, used) in enumerate(members)}
    made = assign(leader, SOURCES, sent)
    infos = [decode_assignment(made[member].user_data) for member in sent]
    return [(info.used, info.supported, len(info.active)) for info in infos if isinstance(info, AssignmentInfo)]


def taken(release: Release, sent: int, used: int, supported: int, *, leads: bool = False) -> tuple[int, bool, bool]:
    """The version that a member uses after an assignment, whether it rejoins, and whether it takes the tasks."""
    made = assign(V9, Sources(), {"m": data(V9, used, 0)})["m"]
    made = ConsumerAssignment((), made.user_data[:4] + supported.to_bytes(4) + made.user_data[8:])
    outcome = on_assignment(release, sent, leads, made)
    return outcome.used, outcome.rejoins, outcome.takes


def test_all_are_answered_in_the_lowest_version() -> None:
    assert assigned(V4, (V4, 4), (V4, 3)) == [(3, 4, 2), (3, 4, 2)]
    assert assigned(V4, (V4, 4), (V3, 3)) == [(3, 3, 2), (3, 3, 2)]
    assert assigned(V4, (V4, 4), (FIXED, 2)) == [(2, -1, 2), (2, -1, 2)]
    assert assigned(FIXED, (FIXED, 2), (OLD, 1)) == [(1, -1, 2), (1, -1, 2)]


def test_a_leader_without_the_fix_answers_in_version_2() -> None:
    assert assigned(UNFIXED, (UNFIXED, 2), (OLD, 1)) == [(2, -1, 2), (2, -1, 2)]


@pytest.mark.parametrize("leader", [OLD, UNFIXED, FIXED, having(V3, future_is_probed=False)], ids=lambda one: one.name)
def test_a_future_subscription_kills_a_leader_that_cannot_probe(leader: Release) -> None:
    with pytest.raises(TaskAssignmentException, match=r"upgrade by two bounces, .* upgrade\.from") as died:
        assigned(leader, (leader, leader.latest), (V4, 4))
    assert died.value.cause is Cause.FUTURE_SUBSCRIPTION


def test_a_future_subscription_is_probed() -> None:
    assert assigned(V3, (V3, 3), (V4, 4)) == [(3, 3, 2), (3, 3, 2)]
    assert assigned(having(V3, future_gets_tasks=False), (V3, 3), (V4, 4)) == [(3, 3, 4), (3, 3, 0)]


def test_in_a_probe_without_moves_everybody_keeps_what_it_had() -> None:
    leader = having(V3, probe_moves_tasks=False, future_gets_tasks=False)
    sent = {"m0": data(V3, 3, 0, 1), "m1": data(V3, 3, 1), "m2": data(V4, 4, 2, 0)}
    made = assign(leader, SOURCES, sent)
    assert [made[member].partitions for member in sent] == [(TopicPartition("t", 1),), (), ()]


def test_in_a_probe_2_0_gives_threads_what_their_process_had_and_lists_otherwise() -> None:
    """As StreamsPartitionAssignor.versionProbingAssignment of 2.0.1 and 2.1.1 does; 2.3.1 still lists otherwise."""
    leader = replace(V3, design=SHIPPED_2_0)
    sent = {
        "m0": data(V3, 3, 0, 0, endpoint="h0:1"),
        "m1": data(V3, 3, 0, 1, endpoint="h0:1"),
        "m2": data(V3, 3, 2, endpoint="h2:1"),
        "m3": data(V4, 4, 3, 2, 3),
    }
    both, every = (tuple(TopicPartition("t", number) for number in numbers) for numbers in ((0, 1), (0, 1, 2, 3)))
    made = assign(leader, SOURCES, sent)
    assert [made[member].partitions for member in sent] == [both, both, (), ()]
    info = decode_assignment(made["m0"].user_data)
    assert isinstance(info, AssignmentInfo)
    listed = {partition: host.host for host in info.hosts for partition in host.partitions}
    assert set(listed) == set(every) and "h2" in listed.values(), "as if tasks had been assigned as ever"


def test_a_future_subscription_beside_version_2() -> None:
    assert assigned(V3, (V3, 3), (V4, 4), (FIXED, 2)) == [(2, -1, 2), (2, -1, 0), (2, -1, 2)]
    with pytest.raises(IllegalStateException, match="end the upgrade from version 2 before the next one") as died:
        assigned(having(V3, mixed_is_survived=False), (V3, 3), (V4, 4), (FIXED, 2))
    assert died.value.cause is Cause.FUTURE_BESIDE_OLD


def test_the_supported_version_is_the_minimum() -> None:
    assert assigned(V4, (V4, 3), (V3, 3))[0][1] == 3
    assert assigned(having(V4, group_minimum=False), (V4, 3), (V3, 3))[0][1] == 4
    assert assigned(having(V4, minimum_is_encoded=False), (V4, 3), (V3, 3))[0][1] == 4


def test_an_error_is_in_a_version_that_all_can_read() -> None:
    sent = {"m0": data(V9, 9, 0), "m1": data(V8, 8, 1)}
    for leader, used in ((V9, 8), (having(V9, error_in_readable_version=False), 9)):
        made = assign(leader, Sources({0: ("t", "missing")}, {"t": 1}), sent)
        info = decode_assignment(made["m1"].user_data)
        assert isinstance(info, AssignmentInfo) and (info.used, info.error) == (used, 1)
        assert made["m0"] == made["m1"]


def test_what_an_assignment_does_to_the_used_version() -> None:
    assert taken(V9, 9, 9, 9) == (9, False, True)
    assert taken(V9, 9, 8, 8) == (8, True, True)
    assert taken(V9, 8, 8, 9) == (9, True, True)
    assert taken(V9, 9, 8, 9) == (9, False, True)
    assert taken(having(V9, rejoins_only_on_change=False), 9, 8, 9) == (9, True, True)
    assert taken(V8, 8, 8, 9) == (8, False, True)
    assert taken(having(V8, own_bound=False), 8, 8, 9) == (9, True, True)
    assert taken(having(V9, lower_sender_rises_at_once=False), 8, 8, 9, leads=True) == (9, True, True)
    assert taken(having(V9, lower_sender_rises_at_once=False), 8, 8, 9) == (9, False, True)
    assert taken(replace(V9, design=SHIPPED_2_0), 8, 8, 9, leads=True) == (9, False, True)
    assert taken(having(V9, probe_is_taken=False), 9, 8, 8) == (8, True, False)


@pytest.mark.parametrize("used", [1, 2])
def test_versions_without_probing_change_nothing(used: int) -> None:
    made = assign(FIXED, SOURCES, {"m": data(FIXED, used, 0)})["m"]
    outcome = on_assignment(V9, 9, False, made)
    assert (outcome.used, outcome.rejoins) == (9, False)


def test_what_a_member_dies_of() -> None:
    made = assign(FIXED, SOURCES, {"m": data(FIXED, 2, 0)})["m"]
    with pytest.raises(TaskAssignmentException, match="version 2 has come to a member that sent version 1") as died:
        on_assignment(OLD, 1, False, made)
    assert died.value.cause is Cause.CANNOT_READ
    with pytest.raises(TaskAssignmentException, match=r"^1 partitions and 4 active task ids"):
        on_assignment(FIXED, 2, False, made._replace(partitions=made.partitions[:1]))
    with pytest.raises(TaskAssignmentException, match="version 5 cannot be written") as died:
        subscription(V4, Said(5, UUID(int=0)))
    assert died.value.cause is Cause.CANNOT_ENCODE
    with pytest.raises(FatalError, match="the subscription of m: user endpoint=h: HOST:PORT is expected"):
        assign(V4, SOURCES, {"m": data(V4, 4, 0, endpoint="h")})


def test_endpoints_have_the_partitions_of_their_processes() -> None:
    """Two threads of one process, one of another, one process without an endpoint; standbys beside."""
    sent = {f"m{place}": data(V9, 9, place // 2, endpoint=("a:1", "b:2")[place // 2]) for place in range(3)}
    sent["m3"] = data(V9, 9, 9)
    made = assign(V9, SOURCES, sent, standby_replicas=1)
    partitions = {member: made[member].partitions for member in sent}
    first, last = decode_assignment(made["m0"].user_data), decode_assignment(made["m3"].user_data)
    assert isinstance(first, AssignmentInfo) and isinstance(last, AssignmentInfo)
    assert first.hosts == last.hosts == (
        HostPartitions("a", 1, tuple(sorted(partitions["m0"] + partitions["m1"]))),
        HostPartitions("b", 2, partitions["m2"]),
    )  # fmt: skip
    assert sum(len(host.partitions) for host in first.standby_hosts) + len(last.standby) == 4
    assert [task.partition for task in first.active] == [one.partition for one in partitions["m0"]]


def test_the_consumer_protocol_around_it() -> None:
    assert read_subscription(subscription_bytes(["b", "a"], b"x")) == ConsumerSubscription(("a", "b"), b"x")
    partitions = (TopicPartition("a", 1), TopicPartition("a", 2), TopicPartition("b", 0))
    assert read_assignment(assignment_bytes(partitions, b"x")) == ConsumerAssignment(partitions, b"x")
    assert read_assignment(b"") == ConsumerAssignment((), b"")
    with pytest.raises(TaskAssignmentException, match=r"^byte 2: topics: 4 bytes expected"):
        read_assignment(b"\0\0")


def test_outcomes_have_the_whole_assignment() -> None:
    made = assign(V9, SOURCES, {"m": data(V9, 9, 0)})["m"]
    outcome = on_assignment(V9, 9, True, made)
    assert isinstance(outcome, Outcome) and outcome.info.active == tuple(TaskId(0, number) for number in range(4))
