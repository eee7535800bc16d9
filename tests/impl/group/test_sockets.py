"""The protocol of section 2 in simulated time: who comes back, who does not, and a new coordinator."""

from __future__ import annotations

from dataclasses import replace

import pytest

from impl.group.consumer import State
from impl.group.design import REPAIRED, SECTION2, Design
from impl.group.effects import Effects, Send
from impl.group.protocol import ErrorCode, RegisterConsumerRequest, RegisterConsumerResponse
from impl.group.settings import BrokerSettings, ConsumerSettings
from impl.group.znodes import member_path, members_path
from impl.zookeeper import Create, Delete, Multi, Operation, SetData
from tests.impl.group.simulated import Link, Simulation

S = 6_000
REPAIRED_SECTION2 = replace(REPAIRED, by_sockets=True)


def simulation(design: Design) -> Simulation:
    return Simulation(BrokerSettings(0, "", max_consumer_session_ms=S, design=design), {"t": 4})


def add(run: Simulation, *names: str) -> list[Link]:
    design = run.settings.design
    return [run.add(ConsumerSettings((("h", 1),), "g", name, '{"t": 1}', S, design=design)) for name in names]


def shares(run: Simulation) -> dict[str, int]:
    return {name: len(link.core.fetched) for name, link in run.links.items() if link.core.fetched}


@pytest.fixture(params=[SECTION2, REPAIRED_SECTION2], ids=["section2", "repaired"])
def run(request: pytest.FixtureRequest) -> Simulation:
    return simulation(request.param)


def test_members_are_answered_with_their_share_and_pinged_from_then_on(run: Simulation) -> None:
    add(run, "a", "b")
    assert run.run(60_000, lambda: run.all_fetch(2) and shares(run) == {"a": 2, "b": 2})
    before = run.pinged
    run.run(10 * S)
    assert shares(run) == {"a": 2, "b": 2} and run.pinged - before >= 2 * 29
    assert {path for path in run.zookeeper.tree if path.startswith(members_path("g"))} == {
        members_path("g"), member_path("g", "a"), member_path("g", "b"),
    }  # fmt: skip


def test_who_joins_has_everybody_come_back(run: Simulation) -> None:
    (first,) = add(run, "a")
    assert run.run(60_000, lambda: run.all_fetch(1))
    before = first.connection
    add(run, "b")
    assert run.run(S, lambda: run.all_fetch(2) and shares(run) == {"a": 2, "b": 2})
    assert first.connection != before


def joined_by_a_third_while_the_first_is_silent(run: Simulation) -> bool:
    """Whether the others go on without it."""
    silent, _ = add(run, "a", "b")
    assert run.run(60_000, lambda: run.all_fetch(2))
    silent.requests_cut = silent.answers_cut = True
    add(run, "c")
    return run.run(10 * S, lambda: run.all_fetch(2) and len(shares(run).keys() - {"a"}) == 2)


def test_who_does_not_come_back_is_dead_once_its_own_session_is_over() -> None:
    """Until then it may fetch, as it does not know that its connection was closed."""
    run = simulation(REPAIRED_SECTION2)
    fetched_twice = list[int]()
    coordinate = run.coordinate

    def look(effects: Effects) -> None:
        coordinate(effects)
        held = [of for link in run.links.values() for of in link.core.fetched if not link.core.is_over(run.now_ms)]
        fetched_twice.append(len(held) - len(set(held)))

    run.coordinate = look  # type: ignore[method-assign]  # it looks after each step
    assert joined_by_a_third_while_the_first_is_silent(run)
    assert member_path("g", "a") not in run.zookeeper.tree
    assert len(fetched_twice) > 20 and not any(fetched_twice)
    assert all(run.links[name].core.state is State.JOINED and shares(run)[name] == 2 for name in ("b", "c"))


def test_as_written_nobody_is_answered_after_a_death_within_a_rebalance() -> None:
    """Its bit is still set, so that nobody asks for another."""
    run = simulation(SECTION2)
    assert not joined_by_a_third_while_the_first_is_silent(run)
    assert run.core.groups["g"].bit and run.core.groups["g"].rebalance is None


def test_a_dead_consumers_partitions_go_to_the_others(run: Simulation) -> None:
    _, dies = add(run, "a", "b")
    assert run.run(60_000, lambda: run.all_fetch(2))
    dies.requests_cut = dies.answers_cut = True
    assert run.run(10 * S, lambda: run.all_fetch(1) and shares(run).get("a") == 4)


def test_a_new_coordinator_waits_for_the_members_that_are_stored(run: Simulation) -> None:
    add(run, "a", "b")
    assert run.run(60_000, lambda: run.all_fetch(2))
    run.end_session()
    run.begin_session()
    assert run.members == 0 and run.core.groups["g"].members.keys() == {"a", "b"}
    assert run.run(20 * S, lambda: run.all_fetch(2) and shares(run) == {"a": 2, "b": 2})


UNREADABLE = {
    "empty": b"",
    "no object": b"[]",
    "too few": b'{"topic_count": 1}',
    "no text": b"\xff",
    "deep": b"[" * 100_000,
    "other types": b'{"topic_count": "{}", "auto_commit": 1, "auto_offset_reset": [], "session_timeout_ms": "6000"}',
}


@pytest.mark.parametrize("value", UNREADABLE.values(), ids=UNREADABLE)
def test_a_stored_member_that_cannot_be_read_is_passed_over(value: bytes) -> None:
    run = simulation(SECTION2)
    add(run, "a")
    assert run.run(60_000, lambda: run.all_fetch(1))
    run.write(SetData(member_path("g", "a"), value))
    run.write(Create(member_path("g", "old"), value))
    run.end_session()
    run.begin_session()
    assert run.run(20 * S, lambda: run.all_fetch(1) and shares(run) == {"a": 4})


def test_an_id_that_is_in_use_is_refused() -> None:
    run = simulation(REPAIRED_SECTION2)
    (first,) = add(run, "a")
    assert run.run(60_000, lambda: run.all_fetch(1))
    second = run.add(first.core.settings)
    before = first.connection
    run.run(S)
    assert first.connection == before and shares(run) == {} and len(first.core.fetched) == 4
    assert second.core.state is not State.JOINED


def registration(auto_offset_reset: str) -> RegisterConsumerRequest:
    return RegisterConsumerRequest("g", "a", '{"t": 1}', True, auto_offset_reset, S)


def test_who_registers_while_another_does_as_the_same_is_refused_and_not_stored(run: Simulation) -> None:
    run.run(30_000)
    first = run.core.on_register(98, registration("smallest"), run.now_ms)
    second = run.core.on_register(99, registration("largest"), run.now_ms)
    (answer,) = [one.message for one in second if isinstance(one, Send)]
    assert isinstance(answer, RegisterConsumerResponse) and answer.error_code == ErrorCode.UNKNOWN
    run.coordinate([*first, *second])
    assert b"smallest" in (run.zookeeper.tree[member_path("g", "a")].data or b"")


def test_a_member_that_cannot_be_stored_is_none(run: Simulation) -> None:
    run.refuses = lambda operation: isinstance(operation, Multi) and "members/a" in repr(operation)
    add(run, "a")
    assert not run.run(60_000, lambda: run.all_fetch(1))
    assert "g" not in run.core.groups or not run.core.groups["g"].members


def writes(operation: Operation, kind: type[Create | Delete]) -> bool:
    """Whether it stores, or deletes, the member a."""
    parts = operation.operations if isinstance(operation, Multi) else (operation,)
    return any(isinstance(part, kind) and part.path == member_path("g", "a") for part in parts)


def once(run: Simulation, kind: type[Create | Delete], *, is_done: bool) -> None:
    """The connection is lost with the first such write."""

    def loses(operation: Operation) -> bool | None:
        if not writes(operation, kind):
            return None
        run.loses = lambda other: None
        return is_done

    run.loses = loses


def test_who_leaves_while_it_is_stored_is_not_left_in_zookeeper(run: Simulation) -> None:
    run.run(30_000)

    def leaves(operation: Operation) -> bool:
        if writes(operation, Create):
            run.core.on_closed(98, run.now_ms)
        return False

    run.refuses = leaves
    run.coordinate(run.core.on_register(98, registration("smallest"), run.now_ms))
    assert members_path("g") in run.zookeeper.tree and member_path("g", "a") not in run.zookeeper.tree


@pytest.mark.parametrize("is_done", [True, False])
def test_who_is_stored_as_the_connection_is_lost_is_not_left_in_zookeeper(run: Simulation, is_done: bool) -> None:
    """Its registration got no answer; perhaps it never comes again, and every later coordinator would wait for it."""
    run.run(30_000)
    once(run, Create, is_done=is_done)
    run.coordinate(run.core.on_register(98, registration("smallest"), run.now_ms))
    assert members_path("g") in run.zookeeper.tree and member_path("g", "a") not in run.zookeeper.tree


@pytest.mark.parametrize("is_done", [True, False])
def test_a_deletion_that_is_lost_with_the_connection_is_repeated(run: Simulation, is_done: bool) -> None:
    (dies, _) = add(run, "a", "b")
    assert run.run(60_000, lambda: run.all_fetch(2))
    once(run, Delete, is_done=is_done)
    run.coordinate(run.core.on_closed(dies.connection, run.now_ms))
    assert "a" not in run.core.groups["g"].members
    assert member_path("g", "a") not in run.zookeeper.tree and member_path("g", "b") in run.zookeeper.tree


def test_who_has_registered_again_is_not_deleted_with_the_next_connection() -> None:
    """ZooKeeper refuses to delete it as it dies; it is a member again by the time that this is tried again."""
    run = simulation(REPAIRED_SECTION2)
    add(run, "a")
    assert run.run(60_000, lambda: run.all_fetch(1))
    run.refuses = lambda operation: writes(operation, Delete)
    run.coordinate(run.core.on_closed(run.links["a"].connection, run.now_ms))
    assert member_path("g", "a") in run.zookeeper.tree
    run.refuses = lambda operation: False
    run.coordinate(run.core.on_register(98, registration("smallest"), run.now_ms))
    run.zookeeper = run.zookeeper.disconnect(0).reconnect(0)
    run.coordinate([])
    assert "a" in run.core.groups["g"].members and member_path("g", "a") in run.zookeeper.tree


def test_who_comes_back_before_it_is_waited_for_is_refused_and_comes_again() -> None:
    """A new coordinator lets former sessions end first: until then a stored id is in use (7, the first check)."""
    run = simulation(REPAIRED_SECTION2)
    add(run, "a")
    assert run.run(60_000, lambda: run.all_fetch(1))
    run.end_session()
    run.begin_session()
    assert run.core.waits_out and run.core.groups["g"].members.keys() == {"a"}
    answers = run.core.on_register(98, registration("smallest"), run.now_ms)
    sent = list[object]()
    run.carried_out = lambda effect: sent.append(effect)  # type: ignore[method-assign]  # it notes what is sent
    run.coordinate(answers)
    codes = [one.message.error_code for one in sent if isinstance(one, Send) and one.connection == 98]  # type: ignore[union-attr]  # an answer
    assert codes == [ErrorCode.CONSUMER_ID_IN_USE]
    assert run.run(20 * S, lambda: run.all_fetch(1) and shares(run) == {"a": 4})
