"""Applications of real Kafka Streams in one group with our members on a real Kafka: KAFKA-8649, from both sides.

Each run is recorded, the application by what it says on the wire, and held against `streams/full`.
"""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from impl.streams.config import read_config
from impl.streams.errors import Cause, FatalError
from tests.cluster.kafka import missing
from tests.impl.streams.real_releases import RealApplication, missing_applications

_NO_KIO = "" if importlib.util.find_spec("kio") else "there is no kio (pip install fencepost[streams])"
WHY = missing() or missing_applications() or _NO_KIO
pytestmark = [
    pytest.mark.long("a Kafka of two JVMs, and one for each application"),
    pytest.mark.skipif(bool(WHY), reason=WHY or "there are applications of Kafka Streams"),
    pytest.mark.xdist_group("streams_broker"),
]
if not WHY:
    from tests.impl.streams.real_group import PARTITIONS, SESSION_MS, TOPIC, Broker, Group, broker, group
    from tests.impl.streams.recorded import RecordedRun
    from tests.impl.streams.wire import WireMember

REAL = 2
"""The number of the application's process, beside two of ours."""
RELEASE_OF = {"2.0.1": "2.0", "2.1.1": "2.1", "2.3.1": "2.3.1"}
"""A row of our table of releases for each of theirs."""


@pytest.fixture(scope="module")
def kafka() -> Iterator[Broker]:
    with broker() as found:
        yield found


def recorded(folder: Path, leader: str, tasks: int) -> RecordedRun:
    """tasks: none where the application leads, as which of several fair shares it gives is its own to say."""
    folder.mkdir()
    return RecordedRun(folder, 3, [("2.0", False), (RELEASE_OF.get(leader, leader), False)], tasks, together=True)


@asynccontextmanager
async def application(
    version: str, kafka: Broker, name: str, folder: Path, run: RecordedRun
) -> AsyncIterator[tuple[RealApplication, WireMember]]:
    (wire, *_) = kafka.wires
    (thread,) = run.starts(REAL, read_config({"application.id": name, "release": RELEASE_OF[version]}))
    member = wire.shows(thread)
    real = RealApplication(version, wire.address, name, TOPIC, SESSION_MS, folder)
    try:
        yield real, member
    finally:
        real.kill()
        await wire.ends()
        run.stops(REAL)


async def is_in(members: Group, real: RealApplication) -> None:
    """The application has joined, and our first member has left it some of its tasks."""
    what = "the application takes its share"
    await members.until(lambda: len(members.owned()) < 3 and real.has_joined(), what)


async def below_one_of_ours(meet: Callable[[int], Awaitable[str | None]]) -> str:
    """Let them meet again where the application leads before it has an assignment of ours, and nobody dies (None).

    A leader of 2.1 leaves the group to join it again as soon as it has assigned; an application that had not yet asked
    for its assignment then is the only member.
    """
    for attempt in range(5):
        printed = await meet(attempt)
        if printed is not None:
            return printed
    raise AssertionError("in five groups the application had no assignment of ours")


@pytest.mark.parametrize(("leader", "dies"), [("2.1", True), ("2.3.1", False)])
def test_a_real_2_0_1_below_our_leader(kafka: Broker, leader: str, dies: bool, tmp_path: Path) -> None:
    """It takes over version 4, which 2.1 offers for itself, and cannot send it; 2.3.1 offers the minimum of all."""

    async def meet(attempt: int) -> str | None:
        name = f"below-{leader}-{attempt}"
        run = recorded(tmp_path / f"traces{attempt}", leader, PARTITIONS)
        async with group(kafka.address, name, run) as members:
            members.start(0, leader)
            await members.settles({4})
            async with application("2.0.1", kafka, name, tmp_path, run) as (real, seen):
                await is_in(members, real)
                members.start(1, leader)
                await members.until(
                    lambda: "died of" in real.printed() or (members.used() == [3, 3] and members.is_at_rest()),
                    "the application dies, or all go on in 3",
                )
                printed = real.printed()
                if "died of" in printed:
                    seen.dies(FatalError(printed, Cause.CANNOT_ENCODE))
                assert dies or len(members.owned()) < PARTITIONS, "the application has a share of this generation"
        run.assert_accepted()
        return None if dies and "died of" not in printed else printed

    printed = asyncio.run(below_one_of_ours(meet))
    assert ("version must be between 1 and 3; was: 4" in printed) is dies
    assert ("died of" in printed) is dies


@pytest.mark.parametrize(("leader", "dies"), [("2.1.1", True), ("2.3.1", False)])
def test_our_2_0_below_a_real_leader(kafka: Broker, leader: str, dies: bool, tmp_path: Path) -> None:
    """The emulated member does what the real one does."""
    name = f"above-{leader}"
    run = recorded(tmp_path / "traces", leader, 0)

    async def meet() -> None:
        async with (
            application(leader, kafka, name, tmp_path, run) as (real, _),
            group(kafka.address, name, run) as members,
        ):
            await members.until(real.has_joined, "the application has all tasks")
            members.start(0, "2.0")
            old = members.members[0]
            await members.until(lambda: bool(old.core.tasks), "our member has its share")
            assert old.core.used == (4 if dies else 3)
            members.start(1, "2.0")
            if dies:
                await members.until(lambda: old.core.death is not None, "our member dies")
                assert old.core.death is not None and old.core.death.cause is Cause.CANNOT_ENCODE
            else:
                await members.until(lambda: members.used() == [3, 3] and members.is_at_rest(), "all go on in 3")
                assert old.core.death is None

    asyncio.run(meet())
    run.assert_accepted()
