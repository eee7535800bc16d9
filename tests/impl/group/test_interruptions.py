"""A coordinator goes on where something gets in its way: terms, connections, refusals, brokers that move."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from impl.group.effects import Ask, Effect, Send
from impl.group.protocol import (
    BrokerAddress,
    ErrorCode,
    RegisterConsumerRequest,
    StartFetcherRequest,
    StartFetcherResponse,
    StopFetcherRequest,
    StopFetcherResponse,
    TopicPartition,
)
from impl.group.registry import Group, Phase, Rebalance
from impl.group.settings import BrokerSettings, ConsumerSettings
from impl.group.topic_count import Named
from impl.group.work import Item, Work
from impl.group.znodes import (
    TOPICS,
    broker_bytes,
    count_path,
    group_path,
    id_path,
    legacy_ids_path,
    offset_path,
    owners_path,
    topic_path,
)
from impl.zookeeper import (
    Committed,
    Connected,
    Create,
    Delete,
    Failed,
    GetChildren,
    GetData,
    Multi,
    Operation,
    OutOfTouch,
    Result,
    SetData,
    Submit,
)
from impl.zookeeper import ErrorCode as ZooKeeperError
from tests.impl.group.simulated import Link, Simulation

S = 6_000


def simulation(partitions: int = 4, **further: int) -> Simulation:
    return Simulation(BrokerSettings(0, "", max_consumer_session_ms=S, **further), {"t": partitions})  # type: ignore[arg-type]  # settings by name


def joined(run: Simulation, *names: str) -> list[Link]:
    links = [run.add(ConsumerSettings((("h", 1),), "g", name, '{"t": 1}', S)) for name in names]
    assert run.run(60_000, lambda: run.all_fetch(len(names)))
    return links


def test_a_second_term_pings_though_the_timer_of_the_first_came_due_between() -> None:
    run = simulation()
    joined(run, "a")
    run.end_session()
    run.run(S)
    run.begin_session()
    assert run.run(60_000, lambda: run.all_fetch(1))
    before = run.pinged
    run.run(5 * S)
    assert run.pinged - before in (14, 15), "one each third of a session"


def test_a_new_coordinator_has_read_owners_and_offsets_when_former_sessions_are_over() -> None:
    """Thousands of partitions are read in that time, not after it. Each starts where it was committed."""
    run = simulation()
    (link,) = joined(run, "a")
    for of, fetched in link.core.fetched.items():
        link.core.begin_at(of, 0)
        link.core.consume(of, fetched.offset, 20, run.now_ms)
    run.run(30_000)
    run.end_session()
    run.run(S)
    run.begin_session()
    read = list[tuple[bool, str]]()

    def note(operation: Operation) -> bool:
        if isinstance(operation, GetData) and operation.path.startswith(group_path("g")):
            read.append((run.core.waits_out, operation.path))
        return False

    run.refuses = note
    assert run.run(60_000, lambda: run.all_fetch(1))
    assert len(read) == 2 * 4 and all(waits_out for waits_out, _ in read), "an owner and an offset of each"
    assert [fetched.offset for fetched in link.core.fetched.values()] == [20] * 4


@pytest.mark.parametrize("phase", [Phase.COMMITTING, Phase.WRITING], ids=lambda phase: phase.name)
def test_a_write_under_way_is_not_repeated_where_zookeeper_is_in_touch_again_meanwhile(phase: Phase) -> None:
    """Found by a schedule: owners were written twice in one attempt, and everybody was started twice."""
    run = simulation()
    starts = list[StartFetcherRequest]()

    def note(effect: Effect) -> None:
        if isinstance(effect, Send) and isinstance(effect.message, StartFetcherRequest):
            starts.append(effect.message)

    def touch(operation: Operation) -> bool:
        if isinstance(operation, Multi) and any(group.phase is phase for group in run.core.groups.values()):
            run.core.on_event(OutOfTouch(), run.now_ms)
            run.core.on_event(Connected(run.zookeeper.clients[0].session, False), run.now_ms)
        return False

    run.carried_out, run.refuses = note, touch  # type: ignore[method-assign]  # what it is for
    joined(run, "a")
    run.run(S)
    assert len(starts) == 1


def test_topics_are_not_read_twice_where_zookeeper_is_in_touch_again_meanwhile() -> None:
    run = simulation()
    begun = list[str]()

    def touch(operation: Operation) -> bool:
        if isinstance(operation, GetChildren) and operation.path == TOPICS:
            begun.append(operation.path)
            if len(begun) == 1:
                run.core.on_event(OutOfTouch(), run.now_ms)
                run.core.on_event(Connected(run.zookeeper.clients[0].session, False), run.now_ms)
        return False

    run.end_session()
    run.refuses = touch
    run.begin_session()
    run.run(S)
    assert begun == [TOPICS], "the reading that is under way goes on"


def test_a_partition_is_owned_that_was_added_while_the_connection_was_lost() -> None:
    run = simulation()
    (link,) = joined(run, "a")
    run.zookeeper = run.zookeeper.disconnect(0)
    run.coordinate([])
    run.write(SetData(count_path("t", "0"), b"5"))
    run.zookeeper = run.zookeeper.reconnect(0)
    run.coordinate([])
    assert run.run(S, lambda: TopicPartition("t", "0-4") in link.core.fetched)


def test_a_partition_is_owned_of_which_it_was_reading_as_the_connection_was_lost() -> None:
    run = simulation()
    (link,) = joined(run, "a")
    run.refuses = lambda operation: isinstance(operation, GetChildren) and run.now_ms == 100_000
    run.run(100_000 - run.now_ms)
    run.write(SetData(count_path("t", "0"), b"5"))
    run.refuses = lambda operation: False
    run.zookeeper = run.zookeeper.disconnect(0).reconnect(0)
    run.coordinate([])
    assert run.run(S, lambda: TopicPartition("t", "0-4") in link.core.fetched)


@pytest.mark.parametrize("in_touch", [True, False])
def test_the_offsets_of_a_group_that_is_left_meanwhile_are_committed_once_zookeeper_is_back(in_touch: bool) -> None:
    """Found by two schedules: the group was forgotten, with what was to commit, and the commit still waited."""
    run = simulation()
    (link,) = joined(run, "a")
    for of, fetched in link.core.fetched.items():
        link.core.begin_at(of, 0)
        link.core.consume(of, fetched.offset, 20, run.now_ms)
    assert run.run(S, lambda: bool(run.core.groups["g"].uncommitted))
    run.zookeeper = run.zookeeper.disconnect(0)
    run.coordinate([])
    run.run(run.settings.commit_interval_ms if in_touch else 0)
    run.core.on_event(OutOfTouch(), run.now_ms)
    link.paused = []
    run.coordinate(run.core.on_closed(link.connection, run.now_ms))
    run.run(3 * run.settings.commit_interval_ms)
    run.zookeeper = run.zookeeper.reconnect(0)
    run.coordinate([])
    run.run(3 * run.settings.commit_interval_ms)
    committed = [run.zookeeper.tree[offset_path("g", TopicPartition("t", f"0-{i}"))].data for i in range(4)]
    assert committed == [b"20"] * 4 and "g" not in run.core.groups


def test_a_group_for_which_a_commit_waits_is_not_forgotten_though_another_has_written_its_offsets() -> None:
    run = simulation()
    (link,) = joined(run, "a")
    run.zookeeper = run.zookeeper.disconnect(0)
    run.coordinate([])
    run.core.queue.append(Item(Work.COMMIT, "g"))
    link.paused = []
    run.coordinate(run.core.on_closed(link.connection, run.now_ms))
    run.run(3 * run.settings.commit_interval_ms)
    run.zookeeper = run.zookeeper.reconnect(0)
    run.coordinate([])
    run.run(3 * run.settings.commit_interval_ms)
    assert "g" not in run.core.groups


@pytest.mark.parametrize(
    "refused",
    [
        lambda operation: isinstance(operation, GetChildren) and operation.path == owners_path("g"),
        lambda operation: isinstance(operation, Multi),
        lambda operation: isinstance(operation, Create) and operation.path == "/consumers/g",
    ],
    ids=["reading", "writing", "creating"],
)
def test_a_rebalance_that_zookeeper_refuses_is_tried_again(refused: Callable[[Operation], bool]) -> None:
    run = simulation()
    run.refuses = refused
    run.add(ConsumerSettings((("h", 1),), "g", "a", '{"t": 1}', S))
    run.run(run.settings.longest_session_ms - 10 + run.settings.backoff_ms // 2)
    assert run.core.groups["g"].phase is Phase.BACKOFF and not run.all_fetch(1)
    run.refuses = lambda operation: False
    assert run.run(2 * run.settings.backoff_ms, lambda: run.all_fetch(1))


def test_a_registration_that_zookeeper_refuses_after_its_connection_was_closed_is_nobodys() -> None:
    run = simulation()
    request = RegisterConsumerRequest("g", "a", '{"t": 1}', True, "smallest", S)
    (asked,) = [one for one in run.core.on_register(99, request, 0) if isinstance(one, Submit)]
    run.core.on_closed(99, 0)
    effects = run.core.on_event(Result(asked.id, Failed(ZooKeeperError.OTHER)), 0)
    assert not [one for one in effects if isinstance(one, Send)]


def test_who_joins_while_a_rebalance_reads_gets_its_topics_in_that_rebalance() -> None:
    run = simulation()
    joined(run, "a")
    run.write(Multi((Create(topic_path("u"), b""), Create(count_path("u", "0"), b"2"))))
    group, request = run.core.groups["g"], RegisterConsumerRequest("g", "b", '{"u": 1}', True, "smallest", S)

    def joins(operation: Operation) -> bool:
        if operation == GetChildren(owners_path("g")) and "b" not in group.members:
            run.core._add_member(99, request, Named((("u", 1),)))
        return False

    run.refuses = joins
    run.core.rebalances.ask(group, "a test")
    run.coordinate([])
    assert group.rebalance is not None
    assert {of.topic for of, thread in group.rebalance.assignment.items() if thread == "b-0"} == {"u"}


def test_a_rebalance_that_zookeeper_refuses_for_good_is_given_up_and_resumed() -> None:
    run = simulation(max_retries=1)
    run.add(ConsumerSettings((("h", 1),), "g", "a", '{"t": 1}', S))
    run.refuses = lambda operation: isinstance(operation, Multi) and run.core.term is not None
    run.run(run.settings.longest_session_ms + 3 * run.settings.backoff_ms)
    assert run.core.groups["g"].gave_up and run.core.groups["g"].phase is Phase.IDLE
    run.refuses = lambda operation: False
    assert run.run(2 * S, lambda: run.all_fetch(1))


def test_who_cannot_be_checked_against_consumers_of_07_is_refused_and_may_try_again() -> None:
    run = simulation()
    run.refuses = lambda operation: isinstance(operation, GetChildren) and operation.path == legacy_ids_path("g")
    link = run.add(ConsumerSettings((("h", 1),), "g", "a", '{"t": 1}', S))
    run.run(S // 2)
    assert run.members == 0
    run.refuses = lambda operation: False
    assert run.run(60_000, lambda: run.all_fetch(1))
    assert link.core.fetched


def test_a_failed_rebalance_writes_no_owners_beyond_the_part_under_way() -> None:
    """600 partitions take two writes: the second is not begun once another rebalance may have written."""
    run = simulation(600)
    joined(run, "a")
    group, store = run.core.groups["g"], run.core.store
    others = dict.fromkeys(group.owners, "b-0")
    group.rebalance = Rebalance(Phase.WRITING, 9, 0, "", 0, 0, others)
    script = store.write_owners(group, group.rebalance)
    (first,) = next(script)
    assert isinstance(first, Multi) and len(first.operations) == 501
    group.rebalance = None
    with pytest.raises(StopIteration):
        script.send((Result(1, Committed(())),))
    assert set(group.owners.values()) == {"a-0"}, "it knows what it read; the next rebalance reads"


def test_who_fetches_from_a_broker_that_has_moved_is_told_where_it_is() -> None:
    run = simulation()
    (link,) = joined(run, "a")
    moved = BrokerAddress(0, "i", 2)
    run.write(Delete(id_path(0)))
    run.run(1_000)
    assert link.core.brokers[0].host == "h" and run.all_fetch(1)
    run.write(Create(id_path(0), broker_bytes(moved, 0)))
    assert run.run(1_000, lambda: link.core.brokers[0] == moved and run.all_fetch(1))
    before = run.core.rebalances._attempts
    run.write(Create(id_path(7), broker_bytes(BrokerAddress(7, "j", 3), 0)))
    run.run(1_000)
    assert run.core.rebalances._attempts == before, "nobody fetches from that one"


def stopping(run: Simulation) -> Group:
    """A consumer joins, and another one does not hear that it is to stop."""
    (link,) = joined(run, "a")
    link.requests_cut = True
    run.add(ConsumerSettings((("h", 1),), "g", "b", '{"t": 1}', S))
    group = run.core.groups["g"]
    assert run.run(100, lambda: group.phase is Phase.STOPPING)
    return group


def test_a_watcher_that_is_due_while_out_of_touch_fires_later() -> None:
    run = simulation()
    group = stopping(run)
    run.zookeeper = run.zookeeper.out_of_touch(0)
    run.coordinate([])
    run.run(2 * S // 3 + 500)
    assert group.phase is Phase.STOPPING
    run.core.is_in_touch = True
    assert run.run(1_000, lambda: group.phase is Phase.BACKOFF)


def test_an_attempt_that_is_older_than_the_last_is_refused() -> None:
    run = simulation()
    (link,) = joined(run, "a")
    fetched = dict(link.core.fetched)
    for request in (StopFetcherRequest("a", 1, 0), StartFetcherRequest("a", (), (), 1, 0)):
        (answer,) = [one.message for one in link.core.on_request(request, run.now_ms) if isinstance(one, Ask)]
        assert isinstance(answer, StopFetcherResponse | StartFetcherResponse)
        assert answer.error_code == ErrorCode.STALE_ATTEMPT and link.core.fetched == fetched


def test_a_response_that_refuses_counts_for_nothing() -> None:
    run = simulation()
    group = stopping(run)
    assert group.rebalance is not None and "a" in group.rebalance.waits_for
    refused = StopFetcherResponse(ErrorCode.STALE_ATTEMPT, "a", (), 1, group.rebalance.attempt)
    run.coordinate(run.core.on_response(group.members["a"].connection, refused, run.now_ms))
    assert "a" in group.rebalance.waits_for
