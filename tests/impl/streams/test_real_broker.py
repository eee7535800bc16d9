"""Members on a real Apache Kafka: upgrades by probing and by two bounces, a leader that dies, a killed broker.

Each run is recorded, and held against `streams/full`. Of the broker nothing is seen: when a rebalance completes, and
whose session is over, are steps that nobody observes.
"""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import pytest

from impl.streams.config import StreamsConfig
from impl.streams.metadata import TaskId
from impl.streams.versions import RELEASES
from tests.cluster.kafka import missing, until

WHY = missing() or ("" if importlib.util.find_spec("kio") else "there is no kio (pip install fencepost[streams])")
pytestmark = [
    pytest.mark.long("a Kafka of two JVMs"),
    pytest.mark.skipif(bool(WHY), reason=WHY or "there is an Apache Kafka"),
    pytest.mark.xdist_group("streams_broker"),
]
if not WHY:
    from impl.streams.errors import Cause
    from impl.streams.member import State
    from tests.impl.streams.real_group import LONG_MS, PARTITIONS, TOPIC, UNENDING_MS, Broker, Group, broker, group
    from tests.impl.streams.recorded import RecordedRun


@pytest.fixture(scope="module")
def kafka() -> Iterator[Broker]:
    with broker() as found:
        yield found


def test_a_group_is_upgraded_by_probing(kafka: Broker, tmp_path: Path) -> None:
    """2.4 to 2.5: version 5 to 6, the leader first."""
    run = RecordedRun(tmp_path, 3, [("2.4", False), ("2.5", False)], PARTITIONS)

    async def upgrade() -> None:
        async with group(kafka.address, "probing", run) as members:
            for process in range(3):
                members.start(process, "2.4")
            await members.settles({5})
            for process in range(3):
                await members.bounce(process, "2.5")
                await members.settles({6} if process == 2 else {5})

    asyncio.run(upgrade())
    run.assert_accepted()


def test_a_group_is_upgraded_by_two_bounces(kafka: Broker, tmp_path: Path) -> None:
    """1.1.1 to the repaired design: version 2 to 11, whose members work in 2 until the last bounce."""
    run = RecordedRun(tmp_path, 2, [("1.1.1", False), ("repaired", True), ("repaired", False)], PARTITIONS)

    async def upgrade() -> None:
        async with group(kafka.address, "two-bounces", run) as members:
            for process in range(2):
                members.start(process, "1.1.1")
            await members.settles({2})
            for process in range(2):
                await members.bounce(process, "repaired", "1.1")
                await members.settles({2})
            for process in range(2):
                await members.bounce(process, "repaired")
                await members.settles({11} if process else {2, 11})

    asyncio.run(upgrade())
    run.assert_accepted()


def test_an_old_leader_dies_where_upgrade_from_is_forgotten(kafka: Broker, tmp_path: Path) -> None:
    run = RecordedRun(tmp_path, 2, [("1.1.1", False), ("2.4", False)], PARTITIONS)

    async def forget() -> None:
        async with group(kafka.address, "forgotten", run) as members:
            members.start(0, "1.1.1")
            await members.settles({2})
            old = members.members[0]
            members.start(1, "2.4")
            await members.until(lambda: old.core.death is not None, "the old leader dies")
            assert old.core.death is not None and old.core.death.cause is Cause.FUTURE_SUBSCRIPTION
            del members.members[0]
            await members.settles({5})

    asyncio.run(forget())
    run.assert_accepted()


@pytest.mark.parametrize("ours_leads", [True, False])
def test_another_client_runs_the_assignor(kafka: Broker, ours_leads: bool, tmp_path: Path) -> None:
    """kafka-python beside our member: each leads a group of both."""
    from kafka import KafkaConsumer  # it takes a second to be imported, which the quick tier does not pay

    from tests.impl.streams.kafka_python import StreamsAssignor

    host, port = kafka.address
    run = RecordedRun(tmp_path, 3, [("2.4", False), ("2.5", False)], PARTITIONS)
    config = StreamsConfig("other", RELEASES["2.4"])
    assignor = StreamsAssignor(config, UUID(int=99), TOPIC, *run.starts(1, config))
    consumer = KafkaConsumer(
        TOPIC,
        bootstrap_servers=f"{host}:{port}",
        group_id=f"both-{ours_leads}",
        partition_assignment_strategy=[assignor],
        session_timeout_ms=30_000,  # it does not show that it was removed
        heartbeat_interval_ms=200,
        enable_auto_commit=False,
    )
    until(lambda: bool(consumer.partitions_for_topic(TOPIC)), "it knows the topic: else its assignment is an error")

    async def share() -> None:
        async with group(kafka.address, f"both-{ours_leads}", run) as members:
            if ours_leads:
                members.start(0, "2.4")
                await members.settles({5})
            else:
                await polled(lambda: assignor.outcome is not None and len(assignor.outcome.info.active) == PARTITIONS)
                members.start(0, "2.4")
            await polled(lambda: 0 < len(members.owned()) < PARTITIONS and assignor.outcome is not None)
            assert assignor.outcome is not None
            tasks = sorted({*members.owned(), *assignor.outcome.info.active})
            assert tasks == [TaskId(0, number) for number in range(PARTITIONS)]
            assert (assignor.outcome.info.used, assignor.has_led) == (5, not ours_leads)

    async def polled(holds: Callable[[], bool]) -> None:
        for _ in range(200):
            await asyncio.to_thread(consumer.poll, 100)
            if holds():
                return
        raise TimeoutError("both members share the tasks")

    try:
        asyncio.run(share())
    finally:
        consumer.close(autocommit=False)
    run.assert_accepted()


async def killed(kafka: Broker, members: Group, run: RecordedRun) -> None:
    """The broker is killed, and starts again with the group as it is stored, once all have lost it."""
    node = kafka.node
    node.kill()
    cores = [one.core for one in members.members.values()]
    await members.until(lambda: not any(core.has_coordinator for core in cores), "they have lost the broker")
    run.fails_over()
    (node.folder / "log").write_text("")
    node.start()
    await asyncio.to_thread(until, node.has_started, "the broker starts again")


def test_members_survive_a_broker_that_is_killed(kafka: Broker, tmp_path: Path) -> None:
    """While the group is stable: the members keep their ids, and are in the next generation with a new one.

    Sessions begin anew when the broker loads the group, which on a busy machine is long before it answers: none ends.
    """
    run = RecordedRun(tmp_path, 3, [("2.4", False), ("2.5", False)], PARTITIONS, failovers=1)

    async def survive() -> None:
        async with group(kafka.address, "killed", run) as members:
            for process in range(2):
                members.start(process, "2.4", session_ms=UNENDING_MS)
            await members.settles({5})
            ids = {one.core.member_id for one in members.members.values()}
            await killed(kafka, members, run)
            members.start(2, "2.4")
            await members.settles({5})
            assert ids < {one.core.member_id for one in members.members.values()}

    asyncio.run(survive())
    run.assert_accepted()


def test_a_rebalance_goes_on_after_a_broker_that_is_killed(kafka: Broker, tmp_path: Path) -> None:
    """While the group waits for the session of a member that is gone. It is long enough for all else to come first."""
    run = RecordedRun(tmp_path, 3, [("2.4", False), ("2.5", False)], PARTITIONS, failovers=1)

    async def survive() -> None:
        async with group(kafka.address, "killed in between", run) as members:
            members.start(0, "2.4", session_ms=UNENDING_MS)
            members.start(1, "2.4", session_ms=LONG_MS)
            await members.settles({5})
            member_id = members.members[0].core.member_id
            await members.stop(1)
            members.start(2, "2.4")
            await members.until(lambda: members.members[0].core.state is State.JOINING, "the rebalance begins")
            await killed(kafka, members, run)
            members.start(1, "2.4")
            await members.settles({5})
            assert members.members[0].core.member_id == member_id

    asyncio.run(survive())
    run.assert_accepted()
