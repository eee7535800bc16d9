"""Bytes against real releases of Kafka Streams: each reads what we write, and we read what it writes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from impl.streams.codec import decode_assignment, decode_subscription, encode_assignment, encode_subscription
from impl.streams.metadata import (
    UNKNOWN,
    AssignmentInfo,
    HostPartitions,
    OffsetSum,
    StandbyTask,
    SubscriptionInfo,
    TaskId,
    TopicPartition,
)
from tests.impl.streams.real_releases import LATEST, missing, round_trips

pytestmark = [
    pytest.mark.long("a JVM for each release"),
    pytest.mark.skipif(bool(missing()), reason=missing() or "there are jars of Kafka Streams"),
    pytest.mark.xdist_group("streams_releases"),
]
PROCESS = UUID("81020304-0506-0708-9112-131415161718")
T1, T2, NAMED = TopicPartition("t", 1), TopicPartition("t\u00e9", 2), TopicPartition("\0\U0001f600", 3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("java")


def subscriptions(used: int, latest: int) -> list[SubscriptionInfo]:
    """Of a version: with as much as it carries, and with nothing."""
    supported = latest if used >= 3 else UNKNOWN
    empty = SubscriptionInfo(used, supported, PROCESS)
    offset_sum = 1 << 40 if used >= 7 else -3
    full = replace(
        empty,
        previous=(TaskId(0, 1), TaskId(0, 2), TaskId(3, 0)),
        standby=(OffsetSum(TaskId(2, 3), offset_sum),),
        endpoint="h:80" if used >= 2 else "",
        unique=-7 if used >= 8 else 0,
        tags=((b"zone", b"a"),) if used >= 11 else (),
    )
    return [empty, full]


def assignments(used: int, latest: int) -> list[AssignmentInfo]:
    supported = latest if used >= 3 else UNKNOWN
    empty = AssignmentInfo(used, supported)
    full = replace(
        empty,
        active=(TaskId(0, 1), TaskId(0, 1), TaskId(3, 0)),
        standby=(StandbyTask(TaskId(2, 3), (T1, T2)),),
        hosts=(HostPartitions("h", 80, (T1, T2)), HostPartitions("i", 81, (NAMED,))) if used >= 2 else (),
        standby_hosts=(HostPartitions("i", 81, (T1,)),) if used >= 6 else (),
        next_rebalance_ms=5_000 if used >= 7 else empty.next_rebalance_ms,
    )
    return [empty, full]


def ordered(info: SubscriptionInfo | AssignmentInfo) -> SubscriptionInfo | AssignmentInfo:
    """Releases write sets in the order of their hashes; the endpoint of version 1 is a tail that nobody reads."""
    if isinstance(info, SubscriptionInfo):
        return replace(info, previous=tuple(sorted(info.previous)), standby=tuple(sorted(info.standby)))
    hosts = [
        tuple(sorted(one._replace(partitions=tuple(sorted(one.partitions))) for one in half))
        for half in (info.hosts, info.standby_hosts)
    ]
    standby = tuple(sorted(one._replace(partitions=tuple(sorted(one.partitions))) for one in info.standby))
    return replace(info, standby=standby, hosts=hosts[0], standby_hosts=hosts[1])


@pytest.mark.parametrize("version", LATEST)
def test_what_is_read_and_written(version: str, folder: Path) -> None:
    latest = LATEST[version]
    infos: list[SubscriptionInfo | AssignmentInfo] = []
    for used in range(1, latest + 1):
        infos += [*subscriptions(used, latest), *assignments(used, latest)]
    lines = [
        ("SubscriptionInfo", encode_subscription(info))
        if isinstance(info, SubscriptionInfo)
        else ("AssignmentInfo", encode_assignment(info))
        for info in infos
    ]
    answers = round_trips(version, lines, folder)
    assert len(answers) == len(infos)
    for info, answer in zip(infos, answers, strict=True):
        assert isinstance(answer, bytes), (info, answer)
        decode = decode_subscription if isinstance(info, SubscriptionInfo) else decode_assignment
        again = decode(answer)
        assert isinstance(again, SubscriptionInfo | AssignmentInfo)
        assert ordered(again) == ordered(as_written(version, info))


def as_written(version: str, info: SubscriptionInfo | AssignmentInfo) -> SubscriptionInfo | AssignmentInfo:
    """KAFKA-6054: without its back port, assignments are written in version 2 whatever they were."""
    is_unfixed = version == "0.10.1.1" and isinstance(info, AssignmentInfo)
    return replace(info, used=2) if is_unfixed else info


@pytest.mark.parametrize("version", LATEST)
def test_what_is_refused(version: str, folder: Path) -> None:
    """A later version kills what cannot probe; later on a subscription of one is read, and an assignment never."""
    later = LATEST[version] + 1 if LATEST[version] < 11 else 12
    subscription = later.to_bytes(4) + later.to_bytes(4)
    lines = [("SubscriptionInfo", subscription), ("AssignmentInfo", later.to_bytes(4) + later.to_bytes(4))]
    read, refused = round_trips(version, lines, folder)
    assert isinstance(refused, str), "nobody reads an assignment of a later version"
    if LATEST[version] < 3:
        assert read == "!TaskAssignmentException"
