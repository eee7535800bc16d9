"""Figures of the cores of impl/streams in processor time: an assignment, its size by version, heartbeats."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

from impl.streams.assignor import Said, Sources, assign, subscription
from impl.streams.codec import Format
from impl.streams.consumer_protocol import ConsumerAssignment
from impl.streams.coordinator import Coordinator
from impl.streams.messages import Heartbeat, JoinGroup, SyncGroup
from impl.streams.metadata import TaskId
from impl.streams.versions import RELEASES, Release
from tests.benchmarks.printing import line

MEMBERS, TOPICS, PARTITIONS = 1_000, 100, 100
SIZES = ((100, 10), (300, 30), (1_000, 100))
"""Members, and topics of a hundred partitions each: ten tasks a member."""
ROUNDS = 20
SHOWN_VERSIONS = (1, 2, 4, 5, 7, 11)


def streams() -> None:
    """1.5 s an assignment, linear in members and tasks; 20,000 heartbeats a second, a join of 1,000 members in 1 s."""
    repaired = RELEASES["repaired"]
    for members, topics in SIZES:
        sources = sources_of(topics)
        user_data = subscriptions(repaired, members, {})
        first_s, made = assigned(repaired, sources, user_data)
        again = subscriptions(repaired, members, owned(made))
        again_s, kept = assigned(repaired, sources, again)
        moved = sum(made[member].partitions != kept[member].partitions for member in made)
        name = f"{members:,} members and {topics * PARTITIONS:,} tasks: an assignment"
        line(name, f"{first_s:.2f} s; again {again_s:.2f} s, {moved} members moved", "1.5 s; 0 moved")
        per_task_us = 1e6 * first_s / (members + topics * PARTITIONS)
        line("  by members and tasks together", f"{per_task_us:.0f} us each", "the same for all sizes")
    for version in SHOWN_VERSIONS:
        release = replace(repaired, form=Format(version))
        _, made = assigned(release, sources_of(TOPICS), subscriptions(release, MEMBERS, {}))
        size_bytes = max(len(one.user_data) for one in made.values())
        total_bytes = sum(len(one.user_data) for one in made.values())
        line(f"  in version {version}", f"{size_bytes:,} bytes a member, {total_bytes / 1e6:.0f} MB a group", "")
    coordinator()


def sources_of(topics: int) -> Sources:
    names = [f"topic{number:03d}" for number in range(topics)]
    return Sources({place: (name,) for place, name in enumerate(names)}, dict.fromkeys(names, PARTITIONS))


def subscriptions(release: Release, members: int, previous: Mapping[str, list[TaskId]]) -> dict[str, bytes]:
    """The user data of members in processes of their own, each with an endpoint."""
    return {
        name: subscription(
            release,
            Said(release.latest, UUID(int=number), previous.get(name, []), endpoint=f"host{number:04d}.example:9090"),
        )
        for number, name in ((number, f"m{number:04d}") for number in range(members))
    }


def owned(made: Mapping[str, ConsumerAssignment]) -> dict[str, list[TaskId]]:
    """A topic is a topic group here."""
    return {
        member: [TaskId(int(topic.removeprefix("topic")), partition) for topic, partition in one.partitions]
        for member, one in made.items()
    }


def assigned(
    release: Release, sources: Sources, user_data: Mapping[str, bytes]
) -> tuple[float, dict[str, ConsumerAssignment]]:
    """(seconds of processor time, the assignments): from encoded subscriptions to encoded assignments."""
    started = time.process_time()
    made = assign(release, sources, user_data)
    return time.process_time() - started, made


def coordinator() -> None:
    """A join of 1,000 members, and their heartbeats."""
    group = Coordinator()
    members = [f"m{number}" for number in range(MEMBERS)]
    started = time.process_time()
    for member in members:
        join = JoinGroup("", member, 10_000, 60_000, "consumer", (("stream", bytes(100)),), takes_id_first=False)
        group.on_join(member, join, 0, member)
    group.complete_join(0)
    for member in reversed(members):
        group.on_sync(member, SyncGroup(member, 1, tuple((name, b"") for name in members)), 0)
    line(f"a join of {MEMBERS:,} members", f"{time.process_time() - started:.2f} s", "1 s")
    started = time.process_time()
    for now_ms in range(ROUNDS):
        for member in members:
            group.on_heartbeat(member, Heartbeat(member, 1), now_ms)
    rate = ROUNDS * MEMBERS / (time.process_time() - started)
    line("heartbeats a second through the core", f"{rate:,.0f}", "20,000")
