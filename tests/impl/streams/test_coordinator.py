"""The coordinator's time, refusals and offsets: what conformance, which has no time, does not drive."""

from __future__ import annotations

import pytest

from impl.streams.coordinator import Answer, Bounds, Coordinator, Effects, GroupState, SetTimer, Store
from impl.streams.messages import (
    Done,
    ErrorCode,
    Heartbeat,
    JoinedGroup,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    Response,
    SyncedGroup,
    SyncGroup,
)
from impl.streams.metadata import TopicPartition

SESSION_MS, REBALANCE_MS = 10_000, 60_000
PARTITION = TopicPartition("t", 0)


def joining(member: str = "", data: bytes = b"", protocol: str = "stream", session_ms: int = SESSION_MS) -> JoinGroup:
    return JoinGroup(member, "c", session_ms, REBALANCE_MS, "consumer", ((protocol, data),), takes_id_first=False)


def answers(effects: Effects) -> dict[object, Response]:
    return {effect.call: effect.response for effect in effects if isinstance(effect, Answer)}


def timers(effects: Effects) -> list[SetTimer]:
    return [effect for effect in effects if isinstance(effect, SetTimer)]


def stable(*members: str) -> Coordinator:
    """A stable group in generation 1, led by the first member."""
    group = Coordinator()
    for member in members:
        group.on_join(member, joining(), 0, member)
    group.complete_join(0)
    for member in members:
        group.on_sync(member, SyncGroup(member, 1, ((members[0], b"x"),)), 0)
    assert group.state is GroupState.STABLE
    return group


def test_a_member_that_is_new_is_given_its_id_first() -> None:
    group = stable("a")
    wants_id = joining()._replace(takes_id_first=True)
    effects = group.on_join(1, wants_id, 0, "b")
    assert answers(effects) == {1: JoinedGroup(ErrorCode.MEMBER_ID_REQUIRED, "b")}
    assert group.state is GroupState.STABLE and not group.can_complete
    group.on_join(2, joining("a"), 0, "")
    assert not group.can_complete, "it waits for who was given an id"
    group.on_join(3, joining("b"), 0, "")
    done = answers(group.complete_join(0))
    assert sorted(map(repr, done)) == ["2", "3"] and group.leader == "a"


def test_an_id_that_nobody_joins_with_lapses() -> None:
    group = stable("a")
    (timer,) = timers(group.on_join(1, joining()._replace(takes_id_first=True), 0, "b"))
    group.on_join(2, joining("a"), 0, "")
    group.on_timer(timer.timer, timer.at_ms)
    assert group.can_complete


def test_a_session_is_over_once_nothing_was_heard_for_as_long() -> None:
    group = stable("a", "b")
    group.on_heartbeat(1, Heartbeat("b", 1), 6_000)
    assert timers(group.on_timer("b", SESSION_MS)) == [SetTimer("b", 16_000)]
    group.on_timer("b", 16_000)
    assert list(group.members) == ["a"] and group.state is GroupState.PREPARING
    assert answers(group.on_heartbeat(1, Heartbeat("b", 1), 16_000)) == {1: Done(ErrorCode.UNKNOWN_MEMBER_ID)}
    assert answers(group.on_heartbeat(1, Heartbeat("a", 1), 16_000)) == {1: Done(ErrorCode.REBALANCE_IN_PROGRESS)}


def test_who_waits_for_the_coordinator_is_alive() -> None:
    group = stable("a", "b")
    group.on_join(1, joining("a", b"new"), 0, "")
    assert timers(group.on_timer("a", SESSION_MS)) == [SetTimer("a", 2 * SESSION_MS)]
    assert "a" in group.members


def test_a_rebalance_goes_on_without_those_that_do_not_join() -> None:
    group = stable("a", "b")
    effects = group.on_join(1, joining("b", b"new"), 5, "")
    (timer,) = timers(effects)
    assert timer.at_ms == 5 + REBALANCE_MS
    group.on_timer(timer.timer, timer.at_ms)
    done = answers(group.complete_join(timer.at_ms))
    assert list(group.members) == ["b"] and group.leader == "b"
    assert isinstance(done[1], JoinedGroup) and done[1].members == (("b", b"new"),)
    group.on_timer("b", 200_000)
    assert group.state is GroupState.EMPTY


def test_joins_that_are_refused() -> None:
    group = stable("a")
    for request, error in (
        (joining("x"), ErrorCode.UNKNOWN_MEMBER_ID),
        (joining(session_ms=1), ErrorCode.INVALID_SESSION_TIMEOUT),
        (joining(protocol="range"), ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (joining()._replace(protocols=()), ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (joining()._replace(protocol_type="connect"), ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ):
        assert answers(group.on_join(1, request, 0, "b")) == {1: JoinedGroup(error, request.member_id)}
    assert group.state is GroupState.STABLE and list(group.members) == ["a"]
    assert not answers(Coordinator(Bounds(1, 1)).on_join(1, joining(session_ms=1), 0, "b"))


def test_a_protocol_has_to_be_common_to_all() -> None:
    group = Coordinator()
    group.on_join(1, joining()._replace(protocols=(("x", b""), ("y", b""))), 0, "a")
    group.on_join(2, joining(protocol="y"), 0, "b")
    refused = JoinedGroup(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
    assert answers(group.on_join(3, joining(protocol="x"), 0, "c")) == {3: refused}
    group.complete_join(0)
    assert group.protocol == "y"


def test_the_next_leader_is_the_one_that_is_named() -> None:
    group = stable("a", "b", "c")
    group.on_leave(1, LeaveGroup("a"), 0)
    for member in ("b", "c"):
        group.on_join(member, joining(member), 0, "")
    group.complete_join(0, "c")
    assert (group.leader, group.generation) == ("c", 2)


def test_syncs_of_another_time_are_refused() -> None:
    group = stable("a", "b")
    assert answers(group.on_sync(1, SyncGroup("b", 0), 0)) == {1: SyncedGroup(ErrorCode.ILLEGAL_GENERATION)}
    assert answers(group.on_sync(1, SyncGroup("a", 1), 0)) == {1: SyncedGroup(ErrorCode.NONE, b"x")}
    group.on_join(1, joining("a", b"new"), 0, "")
    assert answers(group.on_sync(1, SyncGroup("b", 1), 0)) == {1: SyncedGroup(ErrorCode.REBALANCE_IN_PROGRESS)}


def test_a_sync_that_waits_fails_when_a_rebalance_begins_or_its_member_leaves() -> None:
    group = stable("a", "b", "c")
    for member in ("a", "b", "c"):
        group.on_join(member, joining(member, b"new"), 0, "")
    group.complete_join(0)
    group.on_sync("of b", SyncGroup("b", 2), 0)
    group.on_sync("of c", SyncGroup("c", 2), 0)
    assert answers(group.on_leave("left", LeaveGroup("b"), 0)) == {
        "of b": SyncedGroup(ErrorCode.UNKNOWN_MEMBER_ID),
        "of c": SyncedGroup(ErrorCode.REBALANCE_IN_PROGRESS),
        "left": Done(ErrorCode.NONE),
    }
    assert answers(group.on_leave(1, LeaveGroup("b"), 0)) == {1: Done(ErrorCode.UNKNOWN_MEMBER_ID)}


def test_a_zombie_commits_nothing() -> None:
    group = stable("a", "b")
    commit = OffsetCommit("b", 1, ((PARTITION, 5),))
    assert answers(group.on_commit(1, commit, 0)) == {1: Done(ErrorCode.NONE)}
    group.expire("b", 0)
    late = OffsetCommit("b", 1, ((PARTITION, 4),))
    assert answers(group.on_commit(1, late, 0)) == {1: Done(ErrorCode.UNKNOWN_MEMBER_ID)}
    group.on_join(1, joining("a"), 0, "")
    group.complete_join(0)
    for generation, error in ((1, ErrorCode.ILLEGAL_GENERATION), (2, ErrorCode.REBALANCE_IN_PROGRESS)):
        assert answers(group.on_commit(1, OffsetCommit("a", generation, late.offsets), 0)) == {1: Done(error)}
    assert group.offsets == {PARTITION: 5}


@pytest.mark.parametrize("is_stored", [True, False])
def test_another_coordinator_takes_over(is_stored: bool) -> None:
    group = stable("a", "b")
    group.on_join("a", joining("a", b"new"), 0, "")
    group.on_join("b", joining("b", b"new"), 0, "")
    group.complete_join(0)
    effects = group.on_sync("a", SyncGroup("a", 2, (("b", b"y"),)), 0)
    (stored,) = [effect.group for effect in effects if isinstance(effect, Store)]
    loaded = Coordinator.load(stored if is_stored else None, 100)
    assert [timer.at_ms for timer in timers(loaded.session_timers())] == ([100 + SESSION_MS] * 2 if is_stored else [])
    answered = answers(loaded.on_sync(1, SyncGroup("b", 2), 100))[1]
    expected = SyncedGroup(ErrorCode.NONE, b"y") if is_stored else SyncedGroup(ErrorCode.UNKNOWN_MEMBER_ID)
    assert answered == expected
