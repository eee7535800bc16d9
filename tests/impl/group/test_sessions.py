"""Sessions in time: who is declared dead has stopped by then, and nobody is suspected for nothing (8, 10)."""

from __future__ import annotations

import random

import pytest

from impl.group.consumer import Consumer, State
from impl.group.design import DRAFT, REPAIRED, Design
from impl.group.effects import Connect
from impl.group.protocol import BrokerAddress, ClusterMetadataResponse, ErrorCode, RegisterConsumerRequest
from impl.group.registration import judge
from impl.group.settings import BrokerSettings, ConsumerSettings
from impl.group.znodes import COORDINATOR_EPOCH
from impl.zookeeper import SetData, Submit
from tests.impl.group.simulated import Link, Simulation

S = 6_000
TOPIC = '{"t": 1}'


def simulation(retries: int = 1, design: Design = REPAIRED, **further: int) -> Simulation:
    settings = BrokerSettings(0, "", max_failed_pings=retries, design=design, max_consumer_session_ms=S, **further)  # type: ignore[arg-type]  # by name
    return Simulation(settings, {"t": 4})


def consumer(run: Simulation, name: str = "a", group: str = "g", *, auto_commit: bool = True) -> Link:
    return run.add(
        ConsumerSettings((("h", 1),), group, name, TOPIC, S, auto_commit=auto_commit, design=run.settings.design)
    )


def joined(run: Simulation, *names: str) -> list[Link]:
    links = [consumer(run, name) for name in names]
    assert run.run(60_000, lambda: run.all_fetch(len(names)))
    return links


def test_no_session_is_longer_than_a_new_coordinator_waits() -> None:
    """But in the draft, which has no greatest one."""
    request = RegisterConsumerRequest("g", "a", TOPIC, True, "smallest", 10 * S)
    for design, code in ((REPAIRED, ErrorCode.SESSION_TIMEOUT_OUT_OF_BOUNDS), (DRAFT, ErrorCode.NONE)):
        assert judge(request, None, simulation(design=design).settings).code == code


@pytest.mark.parametrize("retries", [0, 1, 2, 3])
@pytest.mark.parametrize("way", ["requests", "answers", "both", "pause"])
def test_who_is_declared_dead_has_stopped(retries: int, way: str) -> None:
    """Whatever is cut, and when; with no delay, and with one of nearly S/6."""
    for delay_ms in (1, 900):
        for seed in range(5):
            cut_off(retries, way, delay_ms, 10_000 + random.Random(seed).randrange(2_000))


def cut_off(retries: int, way: str, delay_ms: int, after_ms: int) -> None:
    run = simulation(retries)
    (link,) = joined(run, "a")
    link.delay_ms = delay_ms
    run.run(after_ms)
    assert link.core.fetched and run.members == 1
    link.requests_cut = way in ("requests", "both")
    link.answers_cut = way in ("answers", "both")
    link.paused = [] if way == "pause" else None
    assert run.run(5 * S, lambda: run.members == 0)
    assert not link.core.fetched or link.core.is_over(run.now_ms)


def test_the_draft_fetches_on_where_its_answers_are_lost() -> None:
    """It hears pings, and never stops."""
    run = simulation(design=DRAFT)
    (link,) = joined(run, "a")
    run.run(10_000)
    link.answers_cut = True
    assert run.run(5 * S, lambda: run.members == 0)
    assert link.core.state is State.JOINED and not link.core.is_over(run.now_ms)


@pytest.mark.parametrize("delay_ms", [1, 500, 950])
def test_nobody_is_suspected_for_nothing(delay_ms: int) -> None:
    run = simulation(retries=0)
    links = joined(run, "a", "b")
    for link in links:
        link.delay_ms = delay_ms
    run.run(20 * S)
    assert [link.core.state for link in links] == [State.JOINED] * 2 and run.members == 2
    assert {link.core.coordinator_epoch for link in links} == {1} and run.core.pings.failed_pings == 0


def test_on_waking_the_session_is_looked_at_before_what_is_queued() -> None:
    run = simulation()
    (link,) = joined(run, "a")
    run.run(10_000)
    link.paused = []
    run.run(3 * S)
    assert link.paused
    run.wake(link)
    assert link.core.fetched == {}
    assert run.run(4 * S, lambda: run.all_fetch(1))


def test_a_new_coordinator_starts_nobody_before_the_longest_session_is_over() -> None:
    run = simulation()
    consumer(run)
    assert not run.run(run.settings.longest_session_ms - 1, lambda: bool(run.links["a"].core.fetched))
    assert run.run(100, lambda: bool(run.links["a"].core.fetched))


def test_out_of_touch_it_pings_nobody_and_buries_nobody() -> None:
    run = simulation()
    joined(run, "a")
    run.zookeeper = run.zookeeper.out_of_touch(0)
    run.coordinate([])
    run.run(10)  # a ping may be under way
    before = run.pinged
    run.run(4 * S)
    assert run.pinged == before and run.links["a"].core.fetched == {}, "its session is over by its own clock"


def test_a_consumer_asks_brokers_too_that_it_has_been_told_of() -> None:
    asked = Consumer(ConsumerSettings((("h", 1),), "g", "a", TOPIC, S))
    asked.start(0)
    told = (BrokerAddress(0, "h", 1), BrokerAddress(1, "i", 2))
    effects = asked.on_metadata(ClusterMetadataResponse(8, brokers=told), 0)
    assert ("i", 2) in {(one.host, one.port) for one in effects if isinstance(one, Connect)}


def test_an_epoch_that_was_changed_by_hand_costs_a_term_not_the_office() -> None:
    run = simulation()
    joined(run, "a")
    before = run.core.term
    run.zookeeper = run.zookeeper.submit(0, Submit(1 << 50, SetData(COORDINATOR_EPOCH, b"7"))).serve(0)
    consumer(run, "b")
    assert run.run(60_000, lambda: run.core.term not in (None, before))
    assert run.core.term is not None and run.core.term.epoch == 8
    assert run.run(60_000, lambda: run.all_fetch(2))


def test_without_auto_commit_who_shuts_down_leaves_at_the_first_ping() -> None:
    run = simulation()
    link = consumer(run, auto_commit=False)
    assert run.run(60_000, lambda: run.all_fetch(1))
    run.consumes(link, link.core.stop(run.now_ms))
    assert run.run(S // 3 + 10, lambda: link.core.state is State.LEFT)
    assert run.run(10, lambda: run.members == 0)


def test_a_group_of_fifty_is_started_at_once() -> None:
    run = simulation(rebalance_threads=4)
    for number in range(50):
        consumer(run, f"c{number}")
    run.run(run.settings.longest_session_ms)
    began_ms = run.now_ms
    assert run.run(1_000, lambda: run.all_fetch(50)), "of fifty, four have a partition; all have heard so"
    assert run.now_ms - began_ms < 100
