"""Applications of real Kafka Streams in one group with our members on a real Kafka: KAFKA-8649, from both sides."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from impl.streams.errors import Cause
from impl.streams.recording import GroupWatch
from tests.cluster.kafka import Node, missing
from tests.impl.streams.real_releases import RealApplication, missing_applications

_NO_KIO = "" if importlib.util.find_spec("kio") else "there is no kio (pip install fencepost[streams])"
WHY = missing() or missing_applications() or _NO_KIO
pytestmark = [
    pytest.mark.long("a Kafka of two JVMs, and one for each application"),
    pytest.mark.skipif(bool(WHY), reason=WHY or "there are applications of Kafka Streams"),
    pytest.mark.xdist_group("streams_broker"),
]
if not WHY:
    from impl.runtime.client import Address
    from tests.impl.streams.real_group import PARTITIONS, SESSION_MS, TOPIC, Group, broker, group


@pytest.fixture(scope="module")
def kafka() -> Iterator[tuple[Address, Node]]:
    with broker() as found:
        yield found


def application(version: str, address: Address, name: str, folder: Path) -> RealApplication:
    return RealApplication(version, f"{address[0]}:{address[1]}", name, TOPIC, SESSION_MS, folder)


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
def test_a_real_2_0_1_below_our_leader(kafka: tuple[Address, Node], leader: str, dies: bool, tmp_path: Path) -> None:
    """It takes over version 4, which 2.1 offers for itself, and cannot send it; 2.3.1 offers the minimum of all."""

    async def meet(attempt: int) -> str | None:
        name = f"below-{leader}-{attempt}"
        async with group(kafka[0], name, GroupWatch()) as members:
            members.start(0, leader)
            await members.settles({4})
            real = application("2.0.1", kafka[0], name, tmp_path)
            try:
                await is_in(members, real)
                members.start(1, leader)
                await members.until(
                    lambda: "died of" in real.printed() or (members.used() == [3, 3] and members.is_at_rest()),
                    "the application dies, or all go on in 3",
                )
                if dies and "died of" not in real.printed():
                    return None
                assert dies or len(members.owned()) < PARTITIONS, "the application has a share of this generation"
                return real.printed()
            finally:
                real.kill()

    printed = asyncio.run(below_one_of_ours(meet))
    assert ("version must be between 1 and 3; was: 4" in printed) is dies
    assert ("died of" in printed) is dies


@pytest.mark.parametrize(("leader", "dies"), [("2.1.1", True), ("2.3.1", False)])
def test_our_2_0_below_a_real_leader(kafka: tuple[Address, Node], leader: str, dies: bool, tmp_path: Path) -> None:
    """The emulated member does what the real one does."""
    name = f"above-{leader}"

    async def meet() -> None:
        real = application(leader, kafka[0], name, tmp_path)
        try:
            async with group(kafka[0], name, GroupWatch()) as members:
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
        finally:
            real.kill()

    asyncio.run(meet())
