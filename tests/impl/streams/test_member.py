"""A member's heartbeats, offsets, lost connections and deaths: what conformance does not drive."""

from __future__ import annotations

from uuid import UUID

from impl.streams.assignor import Sources, assign
from impl.streams.config import StreamsConfig
from impl.streams.consumer_protocol import assignment_bytes, read_subscription
from impl.streams.errors import Cause
from impl.streams.member import (
    Assigned,
    Effects,
    Ended,
    FindCoordinator,
    Member,
    Revoked,
    Send,
    SetHeartbeat,
    State,
    Timeouts,
)
from impl.streams.messages import (
    Done,
    ErrorCode,
    Heartbeat,
    JoinedGroup,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    Request,
    SyncedGroup,
    SyncGroup,
)
from impl.streams.metadata import OffsetSum, TaskId, TopicPartition
from impl.streams.versions import RELEASES

SOURCES = Sources({0: ("t",)}, {"t": 2})
PARTITIONS = (TopicPartition("t", 0), TopicPartition("t", 1))
TASKS = (TaskId(0, 0), TaskId(0, 1))


def sent(effects: Effects) -> list[Request]:
    return [effect.request for effect in effects if isinstance(effect, Send)]


def member(release: str = "repaired", **more: int) -> Member:
    return Member(StreamsConfig("app", RELEASES[release], **more), "c", UUID(int=1), SOURCES)  # type: ignore[arg-type]  # by name


def joined(one: Member, generation: int = 1) -> Effects:
    """It leads a generation of its own."""
    (request,) = sent(one.poll(0))
    assert isinstance(request, JoinGroup)
    members = (("m", request.protocols[0][1]),)
    return one.on_joined(JoinedGroup(ErrorCode.NONE, "m", generation, "stream", "m", members), 0)


def running(release: str = "repaired") -> Member:
    one = member(release)
    joined(one)
    (request,) = sent(one.poll(0))
    assert isinstance(request, SyncGroup)
    one.on_synced(SyncedGroup(ErrorCode.NONE, dict(request.assignments)["m"]), 0)
    assert one.state is State.RUNNING
    return one


def test_a_leader_alone_gets_all() -> None:
    one = member()
    assert one.poll(0) and one.poll(0) == [], "one request at a time"
    one = member()
    assert joined(one) == [SetHeartbeat(Timeouts().heartbeat_ms)]
    (request,) = sent(one.poll(0))
    assert isinstance(request, SyncGroup)
    effects = one.on_synced(SyncedGroup(ErrorCode.NONE, dict(request.assignments)["m"]), 0)
    assert effects == [Assigned(TASKS, PARTITIONS)] and one.tasks == TASKS
    assert one.poll(0) == []


def test_it_joins_with_the_id_that_it_is_given() -> None:
    one = member()
    one.poll(0)
    one.on_joined(JoinedGroup(ErrorCode.MEMBER_ID_REQUIRED, "given"), 0)
    (request,) = sent(one.poll(0))
    assert isinstance(request, JoinGroup) and request.member_id == "given"


def test_heartbeats_go_on_while_it_is_a_member() -> None:
    one = member()
    assert one.on_heartbeat_time(0) == []
    one = running()
    assert one.on_heartbeat_time(5) == [Send(Heartbeat("m", 1)), SetHeartbeat(5 + Timeouts().heartbeat_ms)]
    assert one.on_done(Heartbeat("m", 0), Done(ErrorCode.UNKNOWN_MEMBER_ID)) == [], "of a generation of before"
    assert one.on_done(one.heartbeat(), Done(ErrorCode.NONE)) == [] and one.poll(0) == []
    one.on_done(one.heartbeat(), Done(ErrorCode.REBALANCE_IN_PROGRESS))
    assert one.tasks == TASKS, "it gives them up as it joins"
    revoked, request = one.poll(0)
    assert revoked == Revoked(TASKS) and isinstance(request, Send)
    assert one.previous == TASKS and not one.tasks


def test_a_removed_member_owns_until_it_hears_so() -> None:
    one = running()
    commit = OffsetCommit("m", 1, ((PARTITIONS[0], 7),))
    assert sent(one.commit({PARTITIONS[0]: 7})) == [commit]
    assert one.on_done(commit, Done(ErrorCode.UNKNOWN_MEMBER_ID)) == [Revoked(TASKS)]
    assert one.state is State.OUT and one.member_id == "" and one.previous == TASKS
    assert one.commit({PARTITIONS[0]: 8}) == []
    assert one.on_heartbeat_time(9) == []


def test_an_illegal_generation_costs_the_tasks_and_not_the_id() -> None:
    one = running()
    assert one.on_done(one.heartbeat(), Done(ErrorCode.ILLEGAL_GENERATION)) == [Revoked(TASKS)]
    (request,) = sent(one.poll(0))
    assert isinstance(request, JoinGroup) and request.member_id == "m"


def test_a_lost_connection_is_tried_again_with_the_same_id() -> None:
    one = running()
    assert one.on_disconnected() == [FindCoordinator()]
    assert (one.state, one.tasks, one.poll(0)) == (State.RUNNING, TASKS, [])
    one.on_coordinator()
    one.on_done(one.heartbeat(), Done(ErrorCode.REBALANCE_IN_PROGRESS))
    one.poll(0)
    one.on_disconnected()
    assert one.state is State.RETRY and one.poll(0) == []
    one.on_coordinator()
    (request,) = sent(one.poll(0))
    assert isinstance(request, JoinGroup) and request.member_id == "m"
    one.on_joined(JoinedGroup(ErrorCode.NOT_COORDINATOR, "m"), 0)
    assert one.state is State.RETRY and not one.has_coordinator


def test_it_unsubscribes_where_the_release_does() -> None:
    one = running("2.3.1")
    one.wants_to_rejoin = True
    assert one.poll(0) == [Send(LeaveGroup("m")), Revoked(TASKS)]
    (request,) = sent(one.poll(0))
    assert isinstance(request, JoinGroup) and request.member_id == ""


def test_what_differs_in_a_subscription_that_is_wished_for() -> None:
    """KAFKA-10455: otherwise the coordinator would see no change."""
    for release, differs in (("2.6.1", True), ("2.6.0", False)):
        one = running(release)
        datas = []
        for _ in range(2):
            one.state, one.tasks, one.wants_to_rejoin = State.RUNNING, TASKS, True
            (request,) = sent(one.poll(0))
            assert isinstance(request, JoinGroup)
            datas.append(request.protocols)
        assert (datas[0] != datas[1]) is differs


def test_deaths_say_why() -> None:
    old = member("1.1.1")
    old.poll(0)
    future = sent(member("2.4").poll(0))[0]
    assert isinstance(future, JoinGroup)
    members = (("m", future.protocols[0][1]),)
    old.on_joined(JoinedGroup(ErrorCode.NONE, "m", 1, "stream", "m", members), 0)
    (ended,) = old.poll(0)
    assert isinstance(ended, Ended) and ended.reason.startswith(
        "a subscription of version 5 has come to a leader that supports versions up to 2: upgrade by two bounces"
    )
    assert old.state is State.DEAD and old.death is not None and old.death.cause is Cause.FUTURE_SUBSCRIPTION
    assert old.poll(0) == [] and old.on_disconnected() == []
    refused = member()
    refused.poll(0)
    (ended,) = refused.on_joined(JoinedGroup(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, ""), 0)
    assert ended == Ended("the coordinator refuses this member: INCONSISTENT_GROUP_PROTOCOL")


def test_bytes_that_cannot_be_read_end_a_member() -> None:
    one = member()
    joined(one)
    one.poll(0)
    (ended,) = one.on_synced(SyncedGroup(ErrorCode.NONE, assignment_bytes((), b"\0")), 0)
    assert ended == Ended("byte 0: version: 4 bytes expected, 1 there") and one.state is State.DEAD


def test_a_missing_topic_stops_it() -> None:
    one = member()
    one.sources = Sources({0: ("t",)})
    joined(one)
    (request,) = sent(one.poll(0))
    assert isinstance(request, SyncGroup)
    (ended,) = one.on_synced(SyncedGroup(ErrorCode.NONE, dict(request.assignments)["m"]), 0)
    assert ended == Ended("a source topic is missing") and one.state is State.STOPPED and one.death is None


def test_standby_tasks_are_reported_with_the_next_subscription() -> None:
    """What it keeps on disk of them decides who is preferred."""
    first, second = member(standby_replicas=1), member(standby_replicas=1)
    second.process_id = UUID(int=2)
    data = {}
    for name, one in (("m", first), ("n", second)):
        (request,) = sent(one.poll(0))
        assert isinstance(request, JoinGroup)
        data[name] = read_subscription(request.protocols[0][1]).user_data
    made = assign(first.config.release, SOURCES, data, 1)
    first.on_joined(JoinedGroup(ErrorCode.NONE, "m", 1, "stream", "n"), 0)
    first.poll(0)
    first.on_synced(SyncedGroup(ErrorCode.NONE, assignment_bytes(*made["m"])), 0)
    assert first.tasks == TASKS[:1] and first.on_disk == (OffsetSum(TASKS[1]),)
